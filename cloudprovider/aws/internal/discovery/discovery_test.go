package discovery_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/discovery"
)

func TestParseNodes(t *testing.T) {
	tests := map[string]struct {
		values []string
		want   []discovery.Named
		errs   []string // each must occur
	}{
		"no flag, no group":               {},
		"one group":                       {values: []string{"1:10:workers"}, want: []discovery.Named{{Name: "workers", Min: 1, Max: 10}}},
		"a group may start at zero":       {values: []string{"0:0:idle"}, want: []discovery.Named{{Name: "idle"}}},
		"white space round the name":      {values: []string{"0:1: a \n"}, want: []discovery.Named{{Name: "a", Max: 1}}},
		"a name with slashes and percent": {values: []string{"0:1:team/a%b"}, want: []discovery.Named{{Name: "team/a%b", Max: 1}}},
		"of the same name twice the first one stays": {
			values: []string{"1:2:a", "3:4:a"}, want: []discovery.Named{{Name: "a", Min: 1, Max: 2}},
		},
		"every fault is told at once": {
			values: []string{"1:2", "x:2:a", "1:y:a", "-1:2:a", "3:2:a", "1:2: ", "1:2:a:b", "1:2:good"},
			want:   []discovery.Named{{Name: "good", Min: 1, Max: 2}},
			errs: []string{
				`--nodes="1:2": want MIN:MAX:NAME`, `minimum "x" is not a whole number`, `maximum "y" is not a whole number`,
				"minimum -1 is below 0", "maximum 2 is below the minimum 3", "name of the Auto Scaling group is missing", "has a colon",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := discovery.ParseNodes(test.values)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			checkError(t, err, test.errs)
		})
	}
}

func TestParseAutoDiscovery(t *testing.T) {
	tests := map[string]struct {
		values []string
		want   []discovery.Rule
		errs   []string
	}{
		"no flag, no rule": {},
		"a key alone and a key with a value": {
			values: []string{"asg:tag=b=x,a"}, want: []discovery.Rule{{{Key: "a"}, {Key: "b", Value: "x"}}},
		},
		"a key with an empty value means any value": {values: []string{"asg:tag=a="}, want: []discovery.Rule{{{Key: "a"}}}},
		"a value may hold equals signs":             {values: []string{"asg:tag=a=b=c"}, want: []discovery.Rule{{{Key: "a", Value: "b=c"}}}},
		"a key may hold slashes and colons": {
			values: []string{"asg:tag=k8s.io/cluster-autoscaler/enabled,x:y=1"},
			want:   []discovery.Rule{{{Key: "k8s.io/cluster-autoscaler/enabled"}, {Key: "x:y", Value: "1"}}},
		},
		"line breaks of folded YAML are dropped": {
			values: []string{" asg:tag=a,\n  b=x\n"}, want: []discovery.Rule{{{Key: "a"}, {Key: "b", Value: "x"}}},
		},
		"of the same key twice the last value wins": {values: []string{"asg:tag=a=1,a=2"}, want: []discovery.Rule{{{Key: "a", Value: "2"}}}},
		"one rule per flag": {
			values: []string{"asg:tag=a", "asg:tag=b"}, want: []discovery.Rule{{{Key: "a"}}, {{Key: "b"}}},
		},
		"every fault is told at once": {
			values: []string{"asg", "mig:tag=a", "asg:tag", "asg:name=a", "asg:tag=", "asg:tag=a,,b", "asg:tag=a,", "asg:tag==v"},
			errs: []string{
				`--node-group-auto-discovery="asg": want asg:tag=KEY`, `discoverer "mig" is not supported, only asg is`,
				`"tag" is not a pair of the form tag=KEY`, `parameter "name" is not supported, only tag is`, "no tag is given after tag=",
				`"asg:tag=a,,b": tag 2 of the list is empty`, `"asg:tag=a,": tag 2 of the list is empty`, `tag 1 of the list, "=v", has no key`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := discovery.ParseAutoDiscovery(test.values)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			checkError(t, err, test.errs)
		})
	}
}

func TestMergedRulesAskForEverythingAndTheLaterValueWins(t *testing.T) {
	rules := []discovery.Rule{{{Key: "b", Value: "1"}, {Key: "z"}}, {{Key: "a"}, {Key: "b", Value: "2"}}}
	want := discovery.Rule{{Key: "a"}, {Key: "b", Value: "2"}, {Key: "z"}}
	if diff := cmp.Diff(want, discovery.Merge(rules)); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	if got := discovery.Merge(nil); len(got) != 0 {
		t.Errorf("merging nothing gives %v", got)
	}
}

func TestRuleMatches(t *testing.T) {
	rule := discovery.Rule{{Key: "any"}, {Key: "exact", Value: "x"}}
	tests := map[string]struct {
		rule discovery.Rule
		tags map[string]string
		want bool
	}{
		"all tags there":              {rule: rule, tags: map[string]string{"any": "v", "exact": "x", "more": ""}, want: true},
		"an empty value is any value": {rule: rule, tags: map[string]string{"any": "", "exact": "x"}, want: true},
		"one key missing":             {rule: rule, tags: map[string]string{"exact": "x"}},
		"another value":               {rule: rule, tags: map[string]string{"any": "v", "exact": "X"}},
		"no rule matches nothing":     {tags: map[string]string{"any": "v"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.rule.Matches(test.tags); got != test.want {
				t.Errorf("Matches = %v, want %v", got, test.want)
			}
		})
	}
}

func TestFiltersAreSortedAndKeepTheForm(t *testing.T) {
	rule := discovery.Rule{{Key: "a"}, {Key: "b", Value: "x"}, {Key: "c"}}
	want := []discovery.Filter{{Name: "tag-key", Values: []string{"a"}}, {Name: "tag-key", Values: []string{"c"}}, {Name: "tag:b", Values: []string{"x"}}}
	if diff := cmp.Diff(want, rule.Filters()); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	if got := rule.String(); got != "asg:tag=a,b=x,c" {
		t.Errorf("String = %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"asg:tag=a,b=x", "asg:tag=a=b=c", "asg:tag= a ,", "1:2:name", "0:1:a:b", "::"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := discovery.ParseAutoDiscovery([]string{text})
		if err == nil {
			if len(rules) != 1 || len(rules[0]) == 0 {
				t.Fatalf("%q gives %v without an error: it would match every group", text, rules)
			}
			again, err := discovery.ParseAutoDiscovery([]string{rules[0].String()})
			if err != nil || !cmp.Equal(rules, again) {
				t.Errorf("%q reads back as %v (%v), want %v", text, again, err, rules)
			}
		}
		groups, err := discovery.ParseNodes([]string{text})
		if err == nil && (len(groups) != 1 || groups[0].Name == "" || groups[0].Min < 0 || groups[0].Max < groups[0].Min) {
			t.Errorf("%q gives %v without an error", text, groups)
		}
	})
}

func checkError(t *testing.T, err error, wants []string) {
	t.Helper()
	if len(wants) == 0 {
		if err != nil {
			t.Errorf("unexpected error: %v", err)
		}
		return
	}
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}
