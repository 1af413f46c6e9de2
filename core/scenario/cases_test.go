package scenario_test

import (
	"regexp"
	"strings"
	"testing"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/core/scenario"
)

// The files of cases begin with the case and what happens in it. Text that the lines must have somewhere, or nowhere, stands in comments.
var (
	caseHead  = regexp.MustCompile(`^# C[0-9]{2}[^:\n]*: [^\n]+\.\n`)
	caseTells = regexp.MustCompile(`(?m)^# (tells|tells not): (.+)$`)
)

func TestReportedCasesEndAsTheyShouldAndTellTheSameEveryTime(t *testing.T) {
	for name, text := range filesOf(t, "testdata/cases/*.yaml") {
		t.Run(name, func(t *testing.T) {
			if !caseHead.MatchString(text) || !strings.HasPrefix(text, "# C"+name[1:3]) {
				t.Error("the file does not begin with its case and a sentence")
			}
			choose := func(o *scenario.Options) {
				if o.Controller.Cloud.Provider == "aws" { // as the command does
					o.BookkeepingLabels = aws.BookkeepingLabels()
				}
			}
			once := playTwice(t, name, text, choose)
			for _, line := range caseTells.FindAllStringSubmatch(text, -1) {
				if told := strings.Contains(string(once), line[2]); told != (line[1] == "tells") {
					t.Errorf("told %t: %s", told, line[2])
				}
			}
			if t.Failed() {
				t.Logf("the play:\n%s", once)
			}
		})
	}
}
