package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tag is one condition of a rule.
type Tag struct {
	Key string
	// Value must be equal; empty: any value, also an empty one.
	Value string
}

// String renders the tag as in the flag.
func (t Tag) String() string {
	if t.Value == "" {
		return t.Key
	}
	return t.Key + "=" + t.Value
}

// Rule is a set of conditions that a group must all meet, sorted by key, no key twice.
type Rule []Tag

// String renders the rule as in the flag.
func (r Rule) String() string {
	items := make([]string, 0, len(r))
	for _, tag := range r {
		items = append(items, tag.String())
	}
	return "asg:tag=" + strings.Join(items, ",")
}

// Matches tells whether a group with these tags meets all conditions. An empty rule matches nothing: it would be every group of
// the account.
func (r Rule) Matches(tags map[string]string) bool {
	for _, tag := range r {
		value, has := tags[tag.Key]
		if !has || (tag.Value != "" && tag.Value != value) {
			return false
		}
	}
	return len(r) > 0
}

// Filter is a condition in the form that DescribeAutoScalingGroups takes.
type Filter struct {
	Name   string
	Values []string
}

// Filters renders the rule for DescribeAutoScalingGroups, sorted, so that equal rules make equal requests.
func (r Rule) Filters() []Filter {
	filters := make([]Filter, 0, len(r))
	for _, tag := range r {
		if tag.Value == "" {
			filters = append(filters, Filter{Name: "tag-key", Values: []string{tag.Key}})
			continue
		}
		filters = append(filters, Filter{Name: "tag:" + tag.Key, Values: []string{tag.Value}})
	}
	slices.SortFunc(filters, func(a, b Filter) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Values, b.Values))
	})
	return filters
}

// Merge makes one rule that asks for everything that the rules ask for; where two rules name the same key, the later value wins.
// Merging no rules gives an empty rule.
func Merge(rules []Rule) Rule {
	values := map[string]string{}
	for _, rule := range rules {
		for _, tag := range rule {
			values[tag.Key] = tag.Value
		}
	}
	return ruleOf(values)
}

func ruleOf(values map[string]string) Rule {
	rule := make(Rule, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		rule = append(rule, Tag{Key: key, Value: values[key]})
	}
	return rule
}

// ParseAutoDiscovery reads the values of --node-group-auto-discovery, asg:tag=KEY[=VALUE][,KEY[=VALUE]…] each, and gives one rule per
// value. White space round an item is dropped, because folded YAML leaves it there. The error joins what is wrong with every value.
func ParseAutoDiscovery(values []string) ([]Rule, error) {
	var rules []Rule
	var faults []error
	for _, value := range values {
		rule, err := parseRule(value)
		if err != nil {
			faults = append(faults, fmt.Errorf("--node-group-auto-discovery=%q: %w", value, err))
			continue
		}
		rules = append(rules, rule)
	}
	return rules, errors.Join(faults...)
}

func parseRule(value string) (Rule, error) {
	discoverer, rest, found := strings.Cut(strings.TrimSpace(value), ":")
	if !found {
		return nil, errors.New("want asg:tag=KEY[=VALUE][,KEY[=VALUE]…]")
	}
	if discoverer != "asg" {
		return nil, fmt.Errorf("the discoverer %q is not supported, only asg is", discoverer)
	}
	parameter, list, found := strings.Cut(rest, "=")
	if !found {
		return nil, fmt.Errorf("%q is not a pair of the form tag=KEY[=VALUE]", rest)
	}
	if parameter != "tag" {
		return nil, fmt.Errorf("the parameter %q is not supported, only tag is", parameter)
	}
	if strings.TrimSpace(list) == "" {
		return nil, errors.New("no tag is given after tag=")
	}
	values := map[string]string{}
	for i, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			return nil, fmt.Errorf("tag %d of the list is empty: is there a comma too many?", i+1)
		}
		key, want, _ := strings.Cut(item, "=")
		if key == "" {
			return nil, fmt.Errorf("tag %d of the list, %q, has no key", i+1, item)
		}
		values[key] = want
	}
	return ruleOf(values), nil
}
