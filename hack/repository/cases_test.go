package repository_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// workedCases are how many worked cases the behaviour pages have of each prefix: a letter for the loop and scale-up, SD for scale-down.
var workedCases = map[string]int{
	"L": 38, "S": 35, "T": 16, "P": 23, "E": 24, "V": 21, "B": 20, "X": 15, "R": 15, "Q": 25,
	"SD": 230,
}

// laterCases belong to what is not built yet: CapacityQuotas, capacity buffers, ProvisioningRequests and dynamic resource allocation.
var laterCases = map[string]string{
	"V06": "CapacityQuotas", "V07": "CapacityQuotas", "V20": "CapacityQuotas",
	"Q05": "capacity buffers", "Q06": "capacity buffers", "Q07": "capacity buffers", "Q08": "capacity buffers",
	"Q09": "ProvisioningRequests", "Q10": "ProvisioningRequests", "Q11": "ProvisioningRequests", "Q12": "ProvisioningRequests",
	"Q13": "ProvisioningRequests", "Q14": "ProvisioningRequests", "Q15": "ProvisioningRequests", "Q16": "ProvisioningRequests",
	"Q21": "ProvisioningRequests", "Q24": "ProvisioningRequests",
	"Q17": "resource claims", "Q18": "resource claims", "Q19": "resource claims", "Q23": "resource claims",
	"SD032": "resource claims", "SD033": "resource claims", "SD034": "resource claims", "SD035": "resource claims", "SD036": "resource claims",
}

// caseID are the digits behind a prefix: three behind SD, two behind a letter.
const caseID = `(?:SD[0-9]{3}|[LSTPEVBXRQ][0-9]{2})`

// Behaviour that was worked out case by case is tested case by case: each is named by a test, or by an example, which is one too.
func TestEveryWorkedCaseIsNamedByATest(t *testing.T) {
	id, span := regexp.MustCompile(`\b`+caseID+`\b`), regexp.MustCompile(`\b(`+caseID+`) to (`+caseID+`)\b`)
	named := map[string]bool{}
	walk(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "hack/repository/") || !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "docs/examples/") {
			return
		}
		for _, found := range id.FindAllString(string(text), -1) {
			named[found] = true
		}
		for _, found := range span.FindAllStringSubmatch(string(text), -1) {
			prefix, from := splitCase(found[1])
			other, to := splitCase(found[2])
			if prefix != other || from >= to {
				t.Errorf("%s: %q is no span of cases", path, found[0])
			}
			for n := from; n <= to; n++ {
				named[caseName(prefix, n)] = true
			}
		}
	})
	known := map[string]bool{}
	for prefix, count := range workedCases {
		for n := 1; n <= count; n++ {
			name := caseName(prefix, n)
			known[name] = true
			if why, later := laterCases[name]; named[name] == later {
				t.Errorf("case %s: named by a test %t, belongs to a later step %t (%s); want one of the two", name, named[name], later, why)
			}
		}
	}
	for name := range named {
		if strings.HasPrefix(name, "SD") && !known[name] {
			t.Errorf("case %s: named by a test, and there is none", name)
		}
	}
}

// caseName is the prefix and the number with as many digits as the prefix has.
func caseName(prefix string, n int) string {
	if prefix == "SD" {
		return fmt.Sprintf("SD%03d", n)
	}
	return fmt.Sprintf("%s%02d", prefix, n)
}

// splitCase takes a name apart. The number is 0 if it cannot be read.
func splitCase(name string) (prefix string, n int) {
	prefix = strings.TrimRight(name, "0123456789")
	n, _ = strconv.Atoi(strings.TrimPrefix(name, prefix)) // the pattern lets digits through only
	return prefix, n
}
