package scenario_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"github.com/go-logr/logr"

	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/scenario"
	"example.com/cluster-autoscaler/core/scenario/document"
)

// update rewrites the files with the lines that examples are to tell.
var update = flag.Bool("update", false, "rewrite testdata")

// cluster reads a scenario.
func cluster(t testing.TB, name, text string) document.Cluster {
	t.Helper()
	input, warnings, err := document.Read([]document.Source{{Name: name, Reader: strings.NewReader(text)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range warnings {
		t.Errorf("warning %v", warning)
	}
	resolved, err := document.Resolve(input)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// play plays a scenario and returns its lines as JSON and how it ended.
func play(t testing.TB, name, text string, change func(*scenario.Options)) ([]byte, scenario.Result) {
	t.Helper()
	c := cluster(t, name, text)
	parsed, err := config.Parse(c.Scenario.Flags)
	if err != nil {
		t.Fatal(err)
	}
	options := scenario.Options{Controller: parsed.Options}
	if change != nil {
		change(&options)
	}
	var out bytes.Buffer
	lines := scenario.NewJSON(&out)
	result, err := scenario.Play(klog.NewContext(t.Context(), logr.Discard()), c, options, lines.Tell)
	if err != nil {
		t.Fatal(err)
	}
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), result
}

// examples are the files for users, by name.
func examples(t testing.TB) map[string]string {
	t.Helper()
	return filesOf(t, "../../docs/examples/*.yaml")
}

// filesOf are the texts of the files that the pattern matches, by their name without its ending.
func filesOf(t testing.TB, pattern string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(path), ".yaml")] = string(text)
	}
	return texts
}

// playTwice plays a scenario whose expectations are met, and which tells the same each time. It returns what is told.
func playTwice(t *testing.T, name, text string, change func(*scenario.Options)) []byte {
	t.Helper()
	once, result := play(t, name, text, change)
	if result.Failed > 0 {
		t.Errorf("%d expectations are not met", result.Failed)
	}
	again, _ := play(t, name, text, change)
	if diff := cmp.Diff(string(once), string(again)); diff != "" {
		t.Errorf("the second play differs (-first +second):\n%s", diff)
	}
	return once
}

func TestExamplesMeetTheirExpectationsAndTellTheSameEveryTime(t *testing.T) {
	for name, text := range examples(t) {
		t.Run(name, func(t *testing.T) {
			once := playTwice(t, name, text, nil)
			golden := filepath.Join("testdata", "examples", name+".jsonl")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, once, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(once)); diff != "" {
				t.Errorf("lines (-want +got; -update accepts them):\n%s", diff)
			}
		})
	}
}

func TestSecondsInWhichNothingCanHappenCanBeSkipped(t *testing.T) {
	for name, text := range examples(t) {
		t.Run(name, func(t *testing.T) {
			shorten := func(o *scenario.Options) {
				if name == "office-hours" { // a day of them is enough here
					o.Duration = 20 * time.Hour
				}
			}
			skipped, _ := play(t, name, text, shorten)
			all, _ := play(t, name, text, func(o *scenario.Options) {
				shorten(o)
				o.EverySecond = true
			})
			if diff := cmp.Diff(string(all), string(skipped)); diff != "" {
				t.Errorf("skipping changes the play (-every second +skipped):\n%s", diff)
			}
		})
	}
}

func BenchmarkTwoDaysOfOfficeHours(b *testing.B) {
	text := examples(b)["office-hours"]
	for b.Loop() {
		if _, result := play(b, "office-hours", text, nil); result.Failed > 0 || result.Iterations < 17_000 {
			b.Fatalf("%+v", result)
		}
	}
}
