package config

import "time"

// Flag is one row of the flag table: all that help, docs, parser and validation know about a flag. The table is data; what a flag
// does is decided by the reader of the option.
type Flag struct {
	Name    string // without dashes, words joined with "-"
	Short   string // one letter that a single dash takes too; "" means none
	Type    ValueType
	Default string // as an operator would write it; "" for an empty string or an empty list
	Unit    string // of a bare number; "" means none
	Range   string // what is accepted beyond the type; "" means everything
	Help    string // what it does
	Group   Group
	State   State
	Note    string // for every state but StateActive: the cloud, the reason or what to use now; "" means nothing to add
	Own     bool   // ours; upstream has no such flag

	bound bound
	bind  func(*draft) any // where the value goes; nil means that nobody reads it
}

// ValueType is the form of a flag's value.
type ValueType int

// The value types. A flag of another type than Array, List, VModule or Gates takes the last value when it is given twice.
const (
	TypeUnset    ValueType = iota
	TypeString             // any text
	TypeBool               // bare, or one of the words of strconv.ParseBool behind "="
	TypeInt                // decimal, 0x, 0o or 0b
	TypeUint               // same, not negative
	TypeFloat              // decimal
	TypeDuration           // Go syntax
	TypeArray              // text; every occurrence is one element, commas are not split
	TypeList               // text; every occurrence is split at commas
	TypeLevel              // log verbosity, 0 or more
	TypeSeverity           // INFO, WARNING, ERROR or FATAL in any case, or a number
	TypeVModule            // pattern=N,...
	TypeTrace              // file.go:line
	TypeQuantity           // Kubernetes quantity
	TypeGates              // Name=true|false,...
	TypeCIDRs              // CIDR,...
)

// String returns the short name that help and docs use.
func (t ValueType) String() string {
	switch t {
	case TypeString:
		return "string"
	case TypeBool:
		return "bool"
	case TypeInt:
		return "int"
	case TypeUint:
		return "uint"
	case TypeFloat:
		return "float"
	case TypeDuration:
		return "duration"
	case TypeArray:
		return "string, repeatable"
	case TypeList:
		return "comma list, repeatable"
	case TypeLevel:
		return "level"
	case TypeSeverity:
		return "severity"
	case TypeVModule:
		return "pattern=N,..."
	case TypeTrace:
		return "file:line"
	case TypeQuantity:
		return "quantity"
	case TypeGates:
		return "Name=true|false,..."
	case TypeCIDRs:
		return "CIDR,..."
	case TypeUnset:
	}
	return "unset"
}

// wants says in words what a value of the type looks like.
func (t ValueType) wants() string {
	switch t {
	case TypeBool:
		return "true or false"
	case TypeInt:
		return "a whole number"
	case TypeUint:
		return "a whole number, 0 or more"
	case TypeFloat:
		return "a number such as 0.5"
	case TypeDuration:
		return "a duration with its unit, such as 90s, 10m or 1h30m"
	case TypeLevel:
		return "a verbosity, 0 or more"
	case TypeSeverity:
		return "INFO, WARNING, ERROR or FATAL"
	case TypeVModule:
		return "pattern=N pairs joined by commas"
	case TypeTrace:
		return "file.go:line"
	case TypeQuantity:
		return "a quantity in bytes, such as 512, 4K or 2Mi"
	case TypeGates:
		return "Name=true or Name=false pairs joined by commas"
	case TypeCIDRs:
		return "CIDRs joined by commas"
	case TypeString, TypeArray, TypeList, TypeUnset:
	}
	return "a text"
}

// Group is the section of help and docs in which a flag stands.
type Group int

// The groups, in the order of help and docs.
const (
	GroupUnset Group = iota
	GroupProcess
	GroupCloud
	GroupLoop
	GroupLimits
	GroupScaleUp
	GroupScaleDown
	GroupDrain
	GroupStatus
	GroupRequests
	GroupElection
	GroupLogging
	GroupRemoved
)

// String returns the section's title.
func (g Group) String() string {
	switch g {
	case GroupProcess:
		return "Process and Kubernetes API"
	case GroupCloud:
		return "Cloud provider"
	case GroupLoop:
		return "Main loop and health"
	case GroupLimits:
		return "Cluster limits and cluster state"
	case GroupScaleUp:
		return "Scale-up"
	case GroupScaleDown:
		return "Scale-down"
	case GroupDrain:
		return "Drain and node deletion"
	case GroupStatus:
		return "Status, events and debugging"
	case GroupRequests:
		return "ProvisioningRequests, capacity buffers and quotas"
	case GroupElection:
		return "Leader election"
	case GroupLogging:
		return "Logging and feature gates"
	case GroupRemoved:
		return "Flags of older releases"
	case GroupUnset:
	}
	return "unset"
}

// State says whether a flag has an effect, and when Parse warns about it.
type State int

// The states. "Changed" means: given with a value other than its default.
const (
	StateUnset      State = iota
	StateActive           // works; no warning
	StatePending          // the feature isn't there yet; warning when changed
	StateOtherCloud       // of a cloud that we don't have; warning when given
	StateNoEffect         // nothing needs or reads it; warning when given
	StateDeprecated       // works, but should go; warning when changed
	StateRemoved          // of an older release; warning when given; not shown in help
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case StateActive:
		return "active"
	case StatePending:
		return "pending"
	case StateOtherCloud:
		return "other cloud"
	case StateNoEffect:
		return "no effect"
	case StateDeprecated:
		return "deprecated"
	case StateRemoved:
		return "removed"
	case StateUnset:
	}
	return "unset"
}

// quietAtDefault reports whether a flag of the state needs no warning while its value is its default: then it gets what it asks for.
func (s State) quietAtDefault() bool {
	return s == StatePending || s == StateDeprecated
}

// warning returns what to tell about the flag when it is given, or "" when it simply works.
func (f Flag) warning() string {
	text := ""
	switch f.State {
	case StatePending:
		text = "not available in this release yet, the value is ignored"
	case StateOtherCloud:
		text = "belongs to another cloud and has no effect"
	case StateNoEffect:
		text = "has no effect"
	case StateDeprecated:
		text = "deprecated"
	case StateRemoved:
		text = "no longer exists and has no effect"
	case StateActive, StateUnset:
		return ""
	}
	if f.Note != "" {
		text += ": " + f.Note
	}
	return text
}

// bound is the simple range of a number or duration, checked for every flag that has one.
type bound int

const (
	boundNone bound = iota
	boundNotNegative
	boundPositive
	boundOneOrMore
)

// wants says the bound in words.
func (b bound) wants() string {
	switch b {
	case boundNotNegative:
		return "0 or more"
	case boundPositive:
		return "more than 0"
	case boundOneOrMore:
		return "1 or more"
	case boundNone:
	}
	return ""
}

// holds reports whether a number lies within the bound; a duration is passed in nanoseconds.
func (b bound) holds(n float64) bool {
	switch b {
	case boundNotNegative:
		return n >= 0
	case boundPositive:
		return n > 0
	case boundOneOrMore:
		return n >= 1
	case boundNone:
	}
	return true
}

// number returns the value behind a pointer as a number; ok is false for anything that isn't a signed number or a duration.
func number(target any) (n float64, ok bool) {
	switch p := target.(type) {
	case *int:
		return float64(*p), true
	case *float64:
		return *p, true
	case *time.Duration:
		return float64(*p), true
	}
	return 0, false
}

// Table returns all flags in the order of help: those of the compatibility contract, our own ones, and those of older releases.
// The caller may change what it gets.
func Table() []Flag {
	sections := []struct {
		group Group
		flags []Flag
	}{
		{GroupProcess, processFlags()},
		{GroupCloud, cloudFlags()},
		{GroupLoop, loopFlags()},
		{GroupLimits, limitFlags()},
		{GroupScaleUp, scaleUpFlags()},
		{GroupScaleUp, podFlags()},
		{GroupScaleUp, simulationFlags()},
		{GroupScaleDown, scaleDownFlags()},
		{GroupDrain, drainFlags()},
		{GroupStatus, statusFlags()},
		{GroupRequests, requestFlags()},
		{GroupElection, electionFlags()},
		{GroupLogging, loggingFlags()},
		{GroupRemoved, removedFlags()},
	}
	var table []Flag
	for _, section := range sections {
		for _, flag := range section.flags {
			flag.Group = section.group
			if flag.State == StateUnset {
				flag.State = StateActive // the usual case is left out of the rows
			}
			if flag.Range == "" {
				flag.Range = flag.bound.wants()
			}
			table = append(table, flag)
		}
	}
	return table
}
