package checker

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded is a log that the demo has saved. The doctored logs are that one with a few lines taken out or put in: what the autoscaler
// would have left behind if it had done this or that wrong. See doctor.
const recorded = "testdata/demo.jsonl"

func load(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func parse(t *testing.T, lines []string) Log {
	t.Helper()
	log, err := Read(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// doctor applies an edit file: a line that begins with - is in the log and is taken out, one that begins with + is put in, at its time.
func doctor(t *testing.T, lines []string, path string) Log {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines = slices.Clone(lines)
	edits := bufio.NewScanner(bytes.NewReader(text))
	edits.Buffer(nil, maxLine)
	for edits.Scan() {
		edit := edits.Text()
		switch edit[0] {
		case '-':
			at := slices.Index(lines, edit[1:])
			if at < 0 {
				t.Fatalf("%s takes out a line that isn't in the log: %s", path, edit)
			}
			lines = slices.Delete(lines, at, at+1)
		case '+':
			lines = append(lines, edit[1:])
		case '#':
		default:
			t.Fatalf("%s: want a line that begins with -, + or #, got %s", path, edit)
		}
	}
	log := parse(t, lines)
	log.Sort()
	return log
}

// failed returns the faults by rule, without their times.
func failed(verdicts []Verdict) map[string][]string {
	faults := map[string][]string{}
	for _, v := range verdicts {
		for _, fault := range v.Faults {
			if len(fault) > len("15:04:05.000: ") && fault[2] == ':' && fault[5] == ':' {
				fault = fault[len("15:04:05.000: "):]
			}
			faults[v.Rule] = append(faults[v.Rule], fault)
		}
	}
	return faults
}

func TestARecordedStoryPassesEveryRule(t *testing.T) {
	verdicts := Check(parse(t, load(t)))
	if diff := cmp.Diff(map[string][]string{}, failed(verdicts)); diff != "" || !Passed(verdicts) {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for _, v := range verdicts {
		if !strings.HasPrefix(v.String(), "ok    "+v.Rule) {
			t.Errorf("verdict %q", v)
		}
	}
}

func TestADoctoredLogShowsTheFaultsThatWerePutIntoItAndNoOthers(t *testing.T) {
	tests := wantFaults()
	files, err := filepath.Glob("testdata/doctored/*.edit")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(tests) {
		t.Errorf("%d doctored logs and %d expectations", len(files), len(tests))
	}
	lines := load(t)
	covered := map[string]bool{}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			verdicts := Check(doctor(t, lines, filepath.Join("testdata/doctored", name+".edit")))
			if diff := cmp.Diff(want, failed(verdicts)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if Passed(verdicts) {
				t.Error("passed")
			}
		})
		for rule := range want {
			covered[rule] = true
		}
	}
	for _, rule := range rules() {
		if !covered[rule.name] {
			t.Errorf("no doctored log breaks the rule that %s", rule.name)
		}
	}
}

func TestALogThatIsCutShortNeverPasses(t *testing.T) {
	lines := load(t)
	for _, n := range []int{0, 1, 100, len(lines) / 2, len(lines) - 1} {
		if Passed(Check(parse(t, lines[:n]))) {
			t.Errorf("the first %d of %d lines pass", n, len(lines))
		}
	}
	if Passed(Check(parse(t, lines[1:]))) {
		t.Error("the log passes without the story")
	}
	if Passed(nil) {
		t.Error("no verdicts pass")
	}
}

func TestCheckingChangesNothing(t *testing.T) {
	lines := load(t)
	log := parse(t, lines)
	slices.Reverse(log[1 : len(log)-1])
	before := slices.Clone(log)
	first := Check(log)
	if diff := cmp.Diff(first, Check(log)); diff != "" {
		t.Errorf("the second judgement differs: %s", diff)
	}
	if diff := cmp.Diff(before, log); diff != "" {
		t.Errorf("the log has changed: %s", diff)
	}
	if !Passed(first) {
		t.Errorf("the order of the lines matters: %v", first)
	}
}
