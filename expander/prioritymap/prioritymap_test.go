package prioritymap_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/expander/prioritymap"
)

func TestGroupsGetTheHighestPriorityThatMatches(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want map[string]string // by group; empty: none
	}{
		"an expression matches anywhere in the id": {
			text: "10: [spot]",
			want: map[string]string{"my-spot-1": `"spot" of priority 10`, "on-demand": ""},
		},
		"X09: a group in two lists counts by the higher one": {
			text: "10: [a]\n50: [^a$]",
			want: map[string]string{"a": `"^a$" of priority 50`, "aa": `"a" of priority 10`},
		},
		"C40: quoted numbers are numbers": {
			text: `{"10": [ng-x], "50": [ng-y]}`,
			want: map[string]string{"ng-x": `"ng-x" of priority 10`, "ng-y": `"ng-y" of priority 50`},
		},
		"priorities below -1 are priorities": {
			text: "-20: [.*]\n-5: [^b$]",
			want: map[string]string{"a": `".*" of priority -20`, "b": `"^b$" of priority -5`},
		},
		"a number as expression matches as it is written":              {text: "1: [42]", want: map[string]string{"pool-42": `"42" of priority 1`}},
		"a priority whose expressions are commented out gives nothing": {text: "1:\n2: [b]", want: map[string]string{"a": "", "b": `"b" of priority 2`}},
		"an empty map matches nothing":                                 {text: "{}", want: map[string]string{"a": ""}},
		"lists can be shared by an alias":                              {text: "1: &l [a]\n2: *l", want: map[string]string{"a": `"a" of priority 2`}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := prioritymap.Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for group := range tc.want {
				got[group] = ""
				if by, ok := m.Of(group); ok {
					got[group] = by.String()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMistakesAreNamedInOneLine(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                       {" \n", "it is empty, want a YAML map of whole numbers to lists of regular expressions"},
		"comments":                      {"# 10: [a]\n", "it holds nothing but comments, want a YAML map of whole numbers to lists of regular expressions"},
		"no YAML":                       {"10: [a", "it is no YAML: yaml: line 1: did not find expected ',' or ']'"},
		"a list":                        {"- a", "line 1 is a list, want a YAML map of whole numbers to lists of regular expressions"},
		"a word":                        {"spot", `line 1 is the value "spot", want a YAML map of whole numbers to lists of regular expressions`},
		"C40: a word as key":            {"10: [a]\nhigh: [ng-x]", `line 2 has the key "high", want a priority, which is a whole number`},
		"a fraction as key":             {"1.5: [a]", `line 1 has the key "1.5", want a priority, which is a whole number`},
		"a number without bounds":       {"99999999999999999999: [a]", `line 1 has the key "99999999999999999999", want a priority, which is a whole number`},
		"an expression that isn't one":  {"10:\n- a\n- 'b('", `priority 10 has "b(" in line 3, want a regular expression: error parsing regexp: missing closing ): ` + "`b(`"},
		"an expression in place of one": {"10: spot", `priority 10 in line 1 has the value "spot", want a list of regular expressions`},
		"a list in a list":              {"10: [[a]]", "priority 10 has a list in line 1, want a regular expression"},
		"nothing in a list":             {"10:\n-\n", "priority 10 has nothing in line 2, want a regular expression"},
		"a priority twice":              {"10: [a]\n\"10\": [b]", "priority 10 stands in line 1 and again in line 2, want it once with all its expressions"},
		"two documents":                 {"10: [a]\n---\n20: [b]", "it has several YAML documents, want one"},
		"more expressions than groups":  {repeated(), "it has more than 10000 expressions by priority 101 in line 102, want fewer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := prioritymap.Parse(tc.text)
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// repeated has the same hundred expressions at more than a hundred priorities.
func repeated() string {
	text := "1: &l [" + strings.TrimSuffix(strings.Repeat("a,", 100), ",") + "]\n"
	var more strings.Builder
	for i := range 110 {
		fmt.Fprintf(&more, "%d: *l\n", i+1+1)
	}
	return "# shared\n" + text + more.String()
}

func TestExpressionsThatMatchNoGroupAreFound(t *testing.T) {
	m, err := prioritymap.Parse("10: [spot, gone]\n50: [^a$, ^b$]")
	if err != nil {
		t.Fatal(err)
	}
	want := []prioritymap.Expression{{Priority: 50, Text: "^b$"}, {Priority: 10, Text: "gone"}}
	if diff := cmp.Diff(want, m.Unused([]string{"a", "spot-1"})); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"10: [a]\n20: ['b.*']", `{"1": []}`, "1: &l [a]\n2: *l", "&a [*a]", "? [x]\n: y", "<<: {1: [a]}", "---\n...\n", "1: !!binary aGk="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := prioritymap.Parse(text)
		if err != nil {
			if message := err.Error(); message == "" || strings.ContainsAny(message, "\n\r") {
				t.Errorf("the mistake is told as %q, want one line", message)
			}
			return
		}
		for _, group := range []string{"", "a", "spot-1"} {
			by, ok := m.Of(group)
			for _, unused := range m.Unused([]string{group}) {
				if ok && unused == by {
					t.Errorf("%s matches %q and is unused at the same time", by, group)
				}
			}
		}
	})
}
