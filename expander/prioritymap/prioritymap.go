package prioritymap

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Key is the key of the ConfigMap's data under which the map stands.
const Key = "priorities"

// maxExpressions bounds how many expressions a map may have. No cluster has as many groups; it keeps a map that repeats a list by means of YAML
// aliases from taking all memory.
const maxExpressions = 10_000

// Map gives node groups their priorities. The zero value matches no group. It is not changed after it is made.
type Map struct {
	// tiers are in descending order of priority.
	tiers []tier
}

type tier struct {
	priority    int
	expressions []*regexp.Regexp
}

// Expression is one regular expression of a map and the priority that it gives.
type Expression struct {
	Priority int
	Text     string
}

// String is how it is told to people.
func (e Expression) String() string { return fmt.Sprintf("%q of priority %d", e.Text, e.Priority) }

// Parse reads a map: YAML, whose keys are whole numbers (quoted or not) and whose values are lists of regular expressions in Go's syntax. The
// error is one line that names what is wrong, where, and what is expected.
func Parse(text string) (Map, error) {
	if strings.TrimSpace(text) == "" {
		return Map{}, errors.New("it is empty, want a YAML map of whole numbers to lists of regular expressions")
	}
	root, err := document(text)
	if err != nil {
		return Map{}, err
	}
	if root.Kind != yaml.MappingNode {
		return Map{}, fmt.Errorf("line %d is %s, want a YAML map of whole numbers to lists of regular expressions", root.Line, kindOf(root))
	}
	var m Map
	lines := map[int]int{} // of the priorities
	count := 0
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		priority, err := priorityOf(key)
		if err != nil {
			return Map{}, err
		}
		if before, twice := lines[priority]; twice {
			return Map{}, fmt.Errorf("priority %d stands in line %d and again in line %d, want it once with all its expressions", priority, before, key.Line)
		}
		lines[priority] = key.Line
		expressions, err := expressionsOf(priority, value, maxExpressions-count)
		if err != nil {
			return Map{}, err
		}
		count += len(expressions)
		m.tiers = append(m.tiers, tier{priority: priority, expressions: expressions})
	}
	slices.SortFunc(m.tiers, func(a, b tier) int { return cmp.Compare(b.priority, a.priority) })
	return m, nil
}

// document is the root of the only document.
func document(text string) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var first yaml.Node
	if err := decoder.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it holds nothing but comments, want a YAML map of whole numbers to lists of regular expressions")
		}
		return nil, fmt.Errorf("it is no YAML: %s", oneLine(err))
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has several YAML documents, want one")
	}
	return resolve(first.Content[0]), nil
}

func priorityOf(key *yaml.Node) (int, error) {
	resolved := resolve(key)
	if resolved.Kind == yaml.ScalarNode {
		if priority, err := strconv.Atoi(strings.TrimSpace(resolved.Value)); err == nil {
			return priority, nil
		}
	}
	return 0, fmt.Errorf("line %d has the key %q, want a priority, which is a whole number", key.Line, resolved.Value)
}

func expressionsOf(priority int, value *yaml.Node, atMost int) ([]*regexp.Regexp, error) {
	list := resolve(value)
	if list.Kind == yaml.ScalarNode && list.Tag == "!!null" {
		return nil, nil // all expressions are commented out
	}
	if list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("priority %d in line %d has %s, want a list of regular expressions", priority, value.Line, kindOf(list))
	}
	if len(list.Content) > atMost {
		return nil, fmt.Errorf("it has more than %d expressions by priority %d in line %d, want fewer", maxExpressions, priority, value.Line)
	}
	out := make([]*regexp.Regexp, 0, len(list.Content))
	for _, item := range list.Content {
		text := resolve(item)
		if text.Kind != yaml.ScalarNode || text.Tag == "!!null" {
			return nil, fmt.Errorf("priority %d has %s in line %d, want a regular expression", priority, kindOf(text), item.Line)
		}
		expression, err := regexp.Compile(text.Value)
		if err != nil {
			return nil, fmt.Errorf("priority %d has %q in line %d, want a regular expression: %s", priority, text.Value, item.Line, oneLine(err))
		}
		out = append(out, expression)
	}
	return out, nil
}

// Of is the highest priority that some expression gives the group, and the first such expression; ok is false if none matches. Expressions match
// anywhere in the id.
func (m Map) Of(group string) (by Expression, ok bool) {
	for _, t := range m.tiers {
		for _, expression := range t.expressions {
			if expression.MatchString(group) {
				return Expression{Priority: t.priority, Text: expression.String()}, true
			}
		}
	}
	return Expression{}, false
}

// Unused are the expressions that match none of the groups, highest priority first.
func (m Map) Unused(groups []string) []Expression {
	var unused []Expression
	for _, t := range m.tiers {
		for _, expression := range t.expressions {
			if !slices.ContainsFunc(groups, expression.MatchString) {
				unused = append(unused, Expression{Priority: t.priority, Text: expression.String()})
			}
		}
	}
	return unused
}

// resolve follows an alias.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

func kindOf(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a map"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return "nothing"
	case node.Kind == yaml.ScalarNode:
		return fmt.Sprintf("the value %q", node.Value)
	default:
		return "something else"
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
