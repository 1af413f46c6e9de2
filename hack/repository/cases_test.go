package repository_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// workedCases are how many worked cases the behaviour page of the loop and of scale-up has of each letter.
var workedCases = map[string]int{"L": 38, "S": 35, "T": 16, "P": 23, "E": 24, "V": 21, "B": 20, "X": 15, "R": 15, "Q": 25}

// laterCases belong to what is not built yet: CapacityQuotas, capacity buffers, ProvisioningRequests, dynamic resource allocation.
var laterCases = map[string]string{
	"V06": "CapacityQuotas", "V07": "CapacityQuotas", "V20": "CapacityQuotas",
	"Q05": "capacity buffers", "Q06": "capacity buffers", "Q07": "capacity buffers", "Q08": "capacity buffers",
	"Q09": "ProvisioningRequests", "Q10": "ProvisioningRequests", "Q11": "ProvisioningRequests", "Q12": "ProvisioningRequests",
	"Q13": "ProvisioningRequests", "Q14": "ProvisioningRequests", "Q15": "ProvisioningRequests", "Q16": "ProvisioningRequests",
	"Q21": "ProvisioningRequests", "Q24": "ProvisioningRequests",
	"Q17": "resource claims", "Q18": "resource claims", "Q19": "resource claims", "Q23": "resource claims",
}

// Behaviour that was worked out case by case is tested case by case: each is named by a test, or by an example, which is one too.
func TestEveryWorkedCaseIsNamedByATest(t *testing.T) {
	id := regexp.MustCompile(`\b[LSTPEVBXRQ][0-9]{2}\b`)
	span := regexp.MustCompile(`\b([LSTPEVBXRQ])([0-9]{2}) to ([LSTPEVBXRQ])([0-9]{2})\b`)
	named := map[string]bool{}
	walk(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "hack/repository/") || !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "docs/examples/") {
			return
		}
		for _, found := range id.FindAllString(string(text), -1) {
			named[found] = true
		}
		for _, found := range span.FindAllStringSubmatch(string(text), -1) {
			var from, to int
			if _, err := fmt.Sscan(strings.TrimLeft(found[2], "0")+" "+strings.TrimLeft(found[4], "0"), &from, &to); err != nil || found[1] != found[3] {
				t.Errorf("%s: %q is no span of cases", path, found[0])
			}
			for n := from; n <= to; n++ {
				named[fmt.Sprintf("%s%02d", found[1], n)] = true
			}
		}
	})
	for letter, count := range workedCases {
		for n := 1; n <= count; n++ {
			name := fmt.Sprintf("%s%02d", letter, n)
			if why, later := laterCases[name]; named[name] == later {
				t.Errorf("case %s: named by a test %t, belongs to a later step %t (%s); want one of the two", name, named[name], later, why)
			}
		}
	}
}
