package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
)

// register adds the flag to the set, with its default, and lets its value go into the draft. An error is a mistake in the table.
func (f Flag) register(set *pflag.FlagSet, d *draft) error {
	switch p := f.target(d).(type) {
	case *string:
		set.StringVarP(p, f.Name, f.Short, "", f.Help)
	case *bool:
		set.BoolVarP(p, f.Name, f.Short, false, f.Help)
	case *int:
		set.IntVarP(p, f.Name, f.Short, 0, f.Help)
	case *uint64:
		set.Uint64VarP(p, f.Name, f.Short, 0, f.Help)
	case *float64:
		set.Float64VarP(p, f.Name, f.Short, 0, f.Help)
	case *time.Duration:
		set.DurationVarP(p, f.Name, f.Short, 0, f.Help)
	case *[]string:
		if f.Type == TypeList {
			set.StringSliceVarP(p, f.Name, f.Short, nil, f.Help)
		} else {
			set.StringArrayVarP(p, f.Name, f.Short, nil, f.Help)
		}
	case pflag.Value:
		set.VarP(p, f.Name, f.Short, f.Help)
	default:
		return fmt.Errorf("flag table: --%s has no value of type %s", f.Name, f.Type)
	}
	registered := set.Lookup(f.Name)
	if f.Default != "" {
		if err := registered.Value.Set(f.Default); err != nil {
			return fmt.Errorf("flag table: default %q of --%s: %w", f.Default, f.Name, err)
		}
	}
	registered.DefValue = registered.Value.String()
	return nil
}

// target returns where the value goes: a place in the draft, or one of the flag's type that nobody reads.
func (f Flag) target(d *draft) any {
	if f.bind != nil {
		return f.bind(d)
	}
	switch f.Type {
	case TypeString:
		return new(string)
	case TypeBool:
		return new(bool)
	case TypeInt:
		return new(int)
	case TypeFloat:
		return new(float64)
	case TypeDuration:
		return new(time.Duration)
	case TypeCIDRs:
		return new(cidrsValue)
	case TypeUint, TypeArray, TypeList, TypeLevel, TypeSeverity, TypeVModule, TypeTrace, TypeQuantity, TypeGates, TypeUnset:
	}
	return nil
}

// levelValue is a log verbosity, limited to what klog takes.
type levelValue struct{ target *int32 }

func (v *levelValue) Set(text string) error {
	level, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return fmt.Errorf("parsing verbosity %q: %w", text, err)
	}
	*v.target = int32(level)
	return nil
}

func (v *levelValue) String() string { return strconv.FormatInt(int64(*v.target), 10) }

func (v *levelValue) Type() string { return TypeLevel.String() }

// severityNames are klog's severities by number.
func severityNames() []string { return []string{"INFO", "WARNING", "ERROR", "FATAL"} }

// severityValue is one of the names, kept in upper case, or a number that stands for one of them. Any other number is kept as it
// is, because klog takes it as well.
type severityValue struct{ target *string }

func (v *severityValue) Set(text string) error {
	names := severityNames()
	for _, name := range names {
		if strings.EqualFold(text, name) {
			*v.target = name
			return nil
		}
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return fmt.Errorf("parsing severity %q: %w", text, err)
	}
	if number >= 0 && int(number) < len(names) {
		*v.target = names[number]
		return nil
	}
	*v.target = strconv.FormatInt(number, 10)
	return nil
}

func (v *severityValue) String() string { return *v.target }

func (v *severityValue) Type() string { return TypeSeverity.String() }

// vmoduleValue is pattern=N,...; several occurrences add up.
type vmoduleValue struct{ target *[]VModule }

func (v *vmoduleValue) Set(text string) error {
	var parsed []VModule
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue // as klog does: a comma at the end is no fault
		}
		pattern, number, ok := strings.Cut(part, "=")
		if !ok || pattern == "" {
			return fmt.Errorf("%q is not of the form pattern=N", part)
		}
		level, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return fmt.Errorf("%q is not of the form pattern=N: %w", part, err)
		}
		parsed = append(parsed, VModule{Pattern: pattern, Verbosity: int32(level)})
	}
	*v.target = append(*v.target, parsed...)
	return nil
}

func (v *vmoduleValue) String() string {
	parts := make([]string, 0, len(*v.target))
	for _, module := range *v.target {
		parts = append(parts, fmt.Sprintf("%s=%d", module.Pattern, module.Verbosity))
	}
	return strings.Join(parts, ",")
}

func (v *vmoduleValue) Type() string { return TypeVModule.String() }

// traceOff is how klog writes "no line".
const traceOff = ":0"

// traceValue is file.go:line; "" and traceOff switch it off.
type traceValue struct{ target *string }

func (v *traceValue) Set(text string) error {
	if text == "" || text == traceOff {
		*v.target = ""
		return nil
	}
	file, line, ok := strings.Cut(text, ":")
	if !ok || !strings.Contains(file, ".") {
		return fmt.Errorf("%q is not of the form file.go:line", text)
	}
	if number, err := strconv.Atoi(line); err != nil || number <= 0 {
		return fmt.Errorf("%q is not a line number", line)
	}
	*v.target = text
	return nil
}

func (v *traceValue) String() string {
	if *v.target == "" {
		return traceOff
	}
	return *v.target
}

func (v *traceValue) Type() string { return TypeTrace.String() }

// quantityValue is a Kubernetes quantity, kept in whole bytes and shown as it was written.
type quantityValue struct {
	target *int64
	text   string
}

func (v *quantityValue) Set(text string) error {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return fmt.Errorf("parsing quantity %q: %w", text, err)
	}
	*v.target = quantity.Value()
	v.text = quantity.String()
	return nil
}

func (v *quantityValue) String() string { return v.text }

func (v *quantityValue) Type() string { return TypeQuantity.String() }

// gatesValue is Name=true|false,...; several occurrences add up, and the last word on a name counts.
type gatesValue struct{ target *map[string]bool }

func (v *gatesValue) Set(text string) error {
	parsed := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, word, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return fmt.Errorf("%q is not of the form Name=true|false", part)
		}
		enabled, err := strconv.ParseBool(strings.TrimSpace(word))
		if err != nil {
			return fmt.Errorf("%q is not of the form Name=true|false", part)
		}
		parsed[name] = enabled
	}
	for name, enabled := range parsed {
		if *v.target == nil {
			*v.target = map[string]bool{}
		}
		(*v.target)[name] = enabled
	}
	return nil
}

func (v *gatesValue) String() string {
	parts := make([]string, 0, len(*v.target))
	for _, name := range sortedKeys(*v.target) {
		parts = append(parts, fmt.Sprintf("%s=%t", name, (*v.target)[name]))
	}
	return strings.Join(parts, ",")
}

func (v *gatesValue) Type() string { return TypeGates.String() }

// cidrsValue is CIDR,...; the last occurrence counts.
type cidrsValue struct{ prefixes []netip.Prefix }

func (v *cidrsValue) Set(text string) error {
	var parsed []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("parsing CIDR %q: %w", part, err)
		}
		parsed = append(parsed, prefix)
	}
	v.prefixes = parsed
	return nil
}

func (v *cidrsValue) String() string {
	parts := make([]string, 0, len(v.prefixes))
	for _, prefix := range v.prefixes {
		parts = append(parts, prefix.String())
	}
	return strings.Join(parts, ",")
}

func (v *cidrsValue) Type() string { return TypeCIDRs.String() }
