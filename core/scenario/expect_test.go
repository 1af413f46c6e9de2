package scenario_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/scenario/document"
)

// failures are what a play tells of expectations that are not met, as "seconds got".
func failures(t *testing.T, lines []byte) []string {
	t.Helper()
	var out []string
	for text := range strings.Lines(string(lines)) {
		var line struct {
			At   json.Number
			Type string
			Got  string
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if line.Type == "ExpectationFailed" {
			out = append(out, line.At.String()+" "+line.Got)
		}
	}
	return out
}

// The story of these tests: at 0 one machine runs two pods and nothing is pending; at 5m two more pods come and the group grows from 1 to 2;
// the pods run from 6m on. At 10m they go, and the second machine with them at about 20m.
const growing = `
  duration: 25m
  timeline:
    - {at: 5m, scale: {kind: Pods, name: web, count: 4}}
    - {at: 10m, scale: {kind: Pods, name: web, count: 2}}
  expect:
`

func TestExpectationsAreMetOrNot(t *testing.T) {
	for name, test := range map[string]struct {
		expect string
		want   []string // failures
	}{
		"by: it becomes true in time":                    {expect: "{by: 6m, nodeGroup: workers, targetSize: 2}"},
		"by: it becomes true too late":                   {expect: "{by: 4m, nodeGroup: workers, targetSize: 2}", want: []string{"240 targetSize 1"}},
		"by: it was true from the start":                 {expect: "{by: 4m, nodeGroup: workers, targetSize: 1}", want: []string{"240 targetSize 1 from the start"}},
		"by: that it was true already is enough":         {expect: "{by: 4m, nodeGroup: workers, targetSize: 1, orAlready: true}"},
		"by: it is true again after the last entry":      {expect: "{by: 24m, nodeGroup: workers, targetSize: 1}"},
		"by: it was true before the last entry only":     {expect: "{by: 11m, pendingPods: 2}", want: []string{"660 pendingPods 0"}},
		"at: it is true":                                 {expect: "{at: 9m, nodeGroup: workers, targetSize: 2}"},
		"at: it is not":                                  {expect: "{at: 1m, nodeGroup: workers, targetSize: 2}", want: []string{"60 targetSize 1"}},
		"at: several conditions, of which one fails":     {expect: "{at: 9m, nodeGroup: workers, targetSize: 2, pendingPods: 3}", want: []string{"540 targetSize 2, pendingPods 0"}},
		"at: after the end":                              {expect: "{at: 30m, nodeGroup: workers, targetSize: 1}", want: []string{"1500 targetSize 1, and the play ended before"}},
		"always: it is":                                  {expect: "{always: true, nodeGroup: workers, minTargetSize: 1, maxTargetSize: 2}"},
		"always: it is not, and that is told once":       {expect: "{always: true, nodeGroup: workers, maxTargetSize: 1}", want: []string{"301 targetSize 2"}},
		"never: it is not":                               {expect: "{never: true, nodeGroup: workers, targetSize: 3}"},
		"never: it is":                                   {expect: "{never: true, nodeGroup: workers, targetSize: 2}", want: []string{"301 targetSize 2"}},
		"never removed":                                  {expect: "{never: true, removed: [workers-0]}"},
		"never removed, of several":                      {expect: "{never: true, removed: [workers-0, workers-1]}", want: []string{"1233 removed [workers-1]"}},
		"removed in time":                                {expect: "{by: 22m, removed: [workers-1]}"},
		"not removed in time":                            {expect: "{by: 15m, removed: [workers-1]}", want: []string{"900 removed []"}},
		"an event":                                       {expect: "{by: 22m, event: ScaleDown, node: workers-1, nodeGroup: workers}"},
		"an event that tells of pods":                    {expect: "{by: 22m, event: ScaleUp, pod: default/web-3}"},
		"an event that tells of another pod":             {expect: "{by: 22m, event: ScaleUp, pod: default/web-0}", want: []string{"1320 no such line"}},
		"an event with another reason":                   {expect: "{by: 22m, event: NodeKept, node: workers-0, reason: BlockedByPod}", want: []string{"1320 no such line"}},
		"an event that must not happen":                  {expect: "{never: true, event: ScaleDown}", want: []string{"1223 it happened"}},
		"totals":                                         {expect: "{total: true, nodeGroup: workers, increases: 1, deletes: 1, evictions: 0}"},
		"totals that are wrong":                          {expect: "{total: true, increases: 2, deletes: 1}", want: []string{"1500 increases 1, deletes 1"}},
		"no machine was ended undrained, asked for":      {expect: "{always: true, undrainedEnded: 0}"},
		"no machine was ended undrained, but one wanted": {expect: "{at: 24m, undrainedEnded: 1}", want: []string{"1440 undrainedEnded 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := group(", nodes: 1") + pods("2", "workers-0") + head + growing + "    - " + test.expect + "\n"
			lines, result := play(t, name, text, nil)
			if diff := cmp.Diff(test.want, failures(t, lines)); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if result.Failed != len(test.want) {
				t.Errorf("%d failures counted, want %d", result.Failed, len(test.want))
			}
		})
	}
}

func TestWhateverAPlayTellsCanBeExpected(t *testing.T) {
	packages, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, path := range packages {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			name := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			if literal, ok := call.Args[0].(*ast.BasicLit); ok && name == "about" {
				told[strings.Trim(literal.Value, `"`)] = true
			}
			return true
		})
	}
	delete(told, "ExpectationFailed") // what is wrong with the expectations
	delete(told, "Summary")           // is not something that happened
	if len(told) < 14 {
		t.Fatalf("only %d types of lines were found: %v", len(told), told)
	}
	for event := range told {
		text := head + "  expect: [{never: true, event: " + event + "}]\n"
		if _, _, err := document.Read([]document.Source{{Name: "s.yaml", Reader: strings.NewReader(text)}}); err != nil {
			t.Errorf("%s: %v", event, err)
		}
	}
}
