package scenario_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/core/scenario"
)

// The files of cases begin with the case and what happens in it. Text that the lines must have somewhere, or nowhere, stands in comments.
var (
	caseHead  = regexp.MustCompile(`^# C[0-9]{2}[^:\n]*: [^\n]+\.\n`)
	caseTells = regexp.MustCompile(`(?m)^# (tells|tells not): (.+)$`)
)

// caseFiles are the reported cases, by the name of their file.
func caseFiles(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
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

func TestReportedCasesEndAsTheyShouldAndTellTheSameEveryTime(t *testing.T) {
	for name, text := range caseFiles(t) {
		t.Run(name, func(t *testing.T) {
			if !caseHead.MatchString(text) || !strings.HasPrefix(text, "# C"+name[1:3]) {
				t.Error("the file does not begin with its case and a sentence")
			}
			choose := func(o *scenario.Options) {
				if o.Controller.Cloud.Provider == "aws" { // as the command does
					o.BookkeepingLabels = aws.BookkeepingLabels()
				}
			}
			once, result := play(t, name, text, choose)
			if result.Failed > 0 {
				t.Errorf("%d expectations are not met", result.Failed)
			}
			for _, line := range caseTells.FindAllStringSubmatch(text, -1) {
				if told := strings.Contains(string(once), line[2]); told != (line[1] == "tells") {
					t.Errorf("told %t: %s", told, line[2])
				}
			}
			if t.Failed() {
				t.Logf("the play:\n%s", once)
			}
			again, _ := play(t, name, text, choose)
			if diff := cmp.Diff(string(once), string(again)); diff != "" {
				t.Errorf("the second play differs (-first +second):\n%s", diff)
			}
		})
	}
}
