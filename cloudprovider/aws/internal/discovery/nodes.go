package discovery

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Named is a group that was named by --nodes. The bounds are in the units of the group's own bounds.
type Named struct {
	Name     string
	Min, Max int // 0 <= Min <= Max
}

// ParseNodes reads the values of --nodes, MIN:MAX:NAME each. Of a name given twice the first one stays. The error joins what is
// wrong with every value.
func ParseNodes(values []string) ([]Named, error) {
	var groups []Named
	var faults []error
	known := map[string]bool{}
	for _, value := range values {
		group, err := parseNamed(value)
		if err != nil {
			faults = append(faults, fmt.Errorf("--nodes=%q: %w", value, err))
			continue
		}
		if !known[group.Name] {
			known[group.Name] = true
			groups = append(groups, group)
		}
	}
	return groups, errors.Join(faults...)
}

func parseNamed(value string) (Named, error) {
	parts := strings.SplitN(value, ":", 3)
	if len(parts) < 3 {
		return Named{}, errors.New("want MIN:MAX:NAME, for example 1:10:workers")
	}
	lowest, err := strconv.Atoi(parts[0])
	if err != nil {
		return Named{}, fmt.Errorf("the minimum %q is not a whole number", parts[0])
	}
	highest, err := strconv.Atoi(parts[1])
	if err != nil {
		return Named{}, fmt.Errorf("the maximum %q is not a whole number", parts[1])
	}
	name := strings.TrimSpace(parts[2])
	switch {
	case lowest < 0:
		return Named{}, fmt.Errorf("the minimum %d is below 0", lowest)
	case highest < lowest:
		return Named{}, fmt.Errorf("the maximum %d is below the minimum %d", highest, lowest)
	case name == "":
		return Named{}, errors.New("the name of the Auto Scaling group is missing")
	case strings.Contains(name, ":"):
		return Named{}, fmt.Errorf("the name %q has a colon, which no Auto Scaling group has", name)
	}
	return Named{Name: name, Min: lowest, Max: highest}, nil
}
