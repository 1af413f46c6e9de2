package scenario_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/scenario"
)

// shown is what people see of a play.
func shown(t *testing.T, name, text string, explain bool) string {
	t.Helper()
	c := cluster(t, name, text)
	parsed, err := config.Parse(c.Scenario.Flags)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	lines := scenario.NewText(&out, explain)
	if _, err := scenario.Play(klog.NewContext(t.Context(), logr.Discard()), c, scenario.Options{Controller: parsed.Options}, lines.Tell); err != nil {
		t.Fatal(err)
	}
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheTimelineIsForPeople(t *testing.T) {
	all := examples(t)
	for _, name := range []string{"tainted-group", "spot-loss"} {
		for suffix, explain := range map[string]bool{"": false, "-explained": true} {
			t.Run(name+suffix, func(t *testing.T) {
				got := shown(t, name, all[name], explain)
				golden := filepath.Join("testdata", "text", name+suffix+".txt")
				if *update {
					if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("timeline (-want +got; -update accepts it):\n%s", diff)
				}
			})
		}
	}
}

func TestTheTimelineOfADocumentedPageIsWhatIsPlayed(t *testing.T) {
	page, err := os.ReadFile("../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(t, "max-size", examples(t)["max-size"], false); !strings.Contains(string(page), got) {
		t.Errorf("docs/simulate.md does not show this:\n%s", got)
	}
	for name := range examples(t) {
		if !strings.Contains(string(page), "examples/"+name+".yaml") {
			t.Errorf("docs/simulate.md does not name the example %s", name)
		}
	}
}

// broken fails to write.
type broken struct{}

var errBroken = errors.New("no space left")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestAnOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	for name, lines := range map[string]interface {
		Tell(line scenario.Line)
		Close() error
	}{"text": scenario.NewText(broken{}, false), "json": scenario.NewJSON(broken{})} {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, "max-size", examples(t)["max-size"])
			if _, err := scenario.Play(klog.NewContext(t.Context(), logr.Discard()), c, scenario.Options{Controller: config.Defaults()}, lines.Tell); err != nil {
				t.Fatal(err)
			}
			if err := lines.Close(); !errors.Is(err, errBroken) {
				t.Errorf("error %v", err)
			}
		})
	}
}
