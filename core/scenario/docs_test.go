package scenario_test

import (
	"os"
	"strings"
	"testing"
)

func TestTheReferenceOfTheDocsPlaysAsItSays(t *testing.T) {
	text, err := os.ReadFile("../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, behind, found := strings.Cut(string(text), "```yaml\n")
	reference, _, closed := strings.Cut(behind, "```\n")
	if !found || !closed {
		t.Fatal("there is no reference")
	}
	if lines, result := play(t, "docs/simulate.md", reference, nil); result.Failed > 0 {
		t.Errorf("%d expectations are not met:\n%s", result.Failed, lines)
	}
}

func TestTheDocsNameEveryExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range examples(t) {
		if !strings.Contains(string(text), "](examples/"+name+".yaml)") {
			t.Errorf("docs/simulate.md does not name the example %s", name)
		}
	}
}
