package checker

import (
	"fmt"
	"strings"
)

// Verdict is the outcome of one rule.
type Verdict struct {
	Rule   string   // what must hold, as a sentence without a full stop
	Seen   string   // what was looked at, with numbers
	Faults []string // where it doesn't hold; empty: it holds
}

// String is one line, and one more for each fault.
func (v Verdict) String() string {
	var b strings.Builder
	mark := "ok  "
	if len(v.Faults) > 0 {
		mark = "FAIL"
	}
	fmt.Fprintf(&b, "%s  %s (%s)", mark, v.Rule, v.Seen)
	for _, fault := range v.Faults {
		fmt.Fprintf(&b, "\n        %s", fault)
	}
	return b.String()
}

// Passed tells whether all rules hold. Without any verdict nothing is proved.
func Passed(verdicts []Verdict) bool {
	for _, v := range verdicts {
		if len(v.Faults) > 0 {
			return false
		}
	}
	return len(verdicts) > 0
}

// rule judges a history: it says what it looked at, and what is wrong.
type rule struct {
	name  string
	judge func(h *history) (seen string, faults []string)
}

func rules() []rule {
	return []rule{
		{"the record is complete and agrees with itself", complete}, // first: the others rely on it
		{"the cluster ended as predicted", endedAsPredicted},
		{"no machine was ended while it held a pod that had to move", nothingUndrainedEnded},
		{"no desired size was lowered below the machines that existed or were on their way", nothingCutOff},
		{"no group left its bounds", withinBounds},
		{"every machine was bought once, and for pods that then ran on it", nothingBoughtTwice},
		{"no disruption budget was overdrawn", budgetsKept},
		{"no taint and no cordon stayed behind", nothingLeftBehind},
		{"the autoscaler did it all, by evicting pods and through the cloud", nobodyElse},
		{"a pod that fits nowhere was told why", toldWhy},
	}
}

// Check judges a log by all rules; always in the same order. It changes nothing in the log.
func Check(log Log) []Verdict {
	h := read(log)
	var verdicts []Verdict
	for _, r := range rules() {
		seen, faults := r.judge(h)
		verdicts = append(verdicts, Verdict{Rule: r.name, Seen: seen, Faults: faults})
	}
	return verdicts
}
