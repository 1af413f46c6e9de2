package checker

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestALogIsWrittenAsItIsRead(t *testing.T) {
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	log, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := log.Write(&again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), again.String()); diff != "" {
		t.Errorf("the text differs: %s", diff)
	}
}

func TestLinesThatNobodyCanJudgeAreErrors(t *testing.T) {
	tests := map[string]struct{ log, want string }{
		"not JSON":       {"nonsense", "line 1: invalid character"},
		"unknown field":  {`{"time":"2026-01-01T10:00:00Z","pod":{"colour":"red"}}`, `line 1: json: unknown field "colour"`},
		"nothing":        {`{"time":"2026-01-01T10:00:00Z","act":{"name":"x"}}` + "\n" + `{"time":"2026-01-01T10:00:00Z"}`, "line 2: want exactly one thing that was seen, got 0"},
		"several things": {`{"time":"2026-01-01T10:00:00Z","act":{"name":"x"},"event":{}}`, "line 1: want exactly one thing that was seen, got 2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(test.log)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestTheFiguresOfARecordedStory(t *testing.T) {
	got := Measure(parse(t, load(t)))
	want := Figures{
		Took: got.Took, PodsPeak: 56, Pods: 8, Waiting: 1, Evictions: 5, PeakRSS: got.PeakRSS,
		Median: got.Median, Slowest: got.Slowest, Counted: got.Counted,
	}
	for i, g := range got.Groups { // their predictions are another test's business
		want.Groups = append(want.Groups, GroupFigures{
			Group: g.Group, Peak: []int{7, 1, 3}[i], Now: []int{1, 1, 0}[i], Bought: []int{6, 1, 3}[i], Ended: []int{6, 0, 3}[i],
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if got.Took < time.Minute || got.Took > 2*time.Minute || got.PeakRSS < 20<<20 {
		t.Errorf("took %v with %d bytes", got.Took, got.PeakRSS)
	}
	if got.Counted < 40 || got.Median <= 0 || got.Slowest < got.Median || got.Slowest > 5*time.Second {
		t.Errorf("waits of %d pods: median %v, slowest %v", got.Counted, got.Median, got.Slowest)
	}
}

func TestAPodWaitsForThePurchaseOfItsMachine(t *testing.T) {
	pod := func(seconds float64, uid, node string) Record {
		return Record{Time: at(seconds), Pod: &Pod{UID: uid, Name: uid, Node: node, Phase: "Pending", Unschedulable: node == ""}}
	}
	raise := func(seconds float64, group string) Record {
		return Record{Time: at(seconds), Call: &Call{Group: group, DesiredFrom: 1, DesiredTo: 2}}
	}
	log := Log{
		{Time: at(0), Story: &Story{Groups: []Group{{Name: "g", First: []string{"i-1"}}, {Name: "h"}}}},
		{Time: at(1), Node: &Node{Name: "old", Provider: "i-1"}},
		pod(2, "early", ""), pod(3, "late", ""), pod(3, "lucky", ""), pod(3, "unserved", ""),
		raise(3.5, "h"), raise(4, "g"), raise(6, "g"),
		{Time: at(5), Cloud: &Cloud{Kind: Launched, Group: "g", Instance: "i-2"}},
		{Time: at(7), Node: &Node{Name: "new", Provider: "i-2"}},
		pod(3.9, "lucky", "old"),                      // before anything was bought for it
		pod(8, "early", "new"), pod(8, "late", "new"), // the first purchase in their group counts
		pod(5, "coming", ""), pod(5.5, "coming", "new"), // its machine was on its way
	}
	f := Measure(log)
	if f.Counted != 2 || f.Median != 2*time.Second || f.Slowest != 2*time.Second {
		t.Errorf("%d pods, median %v, slowest %v; want 2 pods that waited for 1 and 2 s", f.Counted, f.Median, f.Slowest)
	}
}
