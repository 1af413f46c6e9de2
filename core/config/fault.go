package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Exit codes of the process (operator-surface §7.3).
const (
	ExitOK      = 0
	ExitSetup   = 1   // the server of the expander grpc cannot be asked: no address, no certificate
	ExitUsage   = 2   // the command line cannot be understood, or the lease timings contradict each other
	ExitInvalid = 255 // understood and refused
)

// ErrHelp says that the help text is wanted: print Usage on stdout and end with ExitOK.
var ErrHelp = errors.New("help requested")

// UsageError says that the command line cannot be understood. The caller prints it and a hint at --help on stderr and ends with
// ExitUsage.
type UsageError struct {
	Message string // one line: flag, value, what is expected
	Err     error  // the cause; nil if there is no more to tell
}

// Error returns the message.
func (e *UsageError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Fault is one value that was understood and is refused.
type Fault struct {
	Flag  string // name without dashes
	Value string // what was given, or the default
	Want  string // what is expected

	code int
}

// Error returns one line that names flag, value and what is expected.
func (f Fault) Error() string { return fmt.Sprintf("--%s=%q: want %s", f.Flag, f.Value, f.Want) }

// ValidationError holds all faults of a command line, never none, by flag name. The caller prints it, one line per fault, and ends
// with ExitCode.
type ValidationError struct {
	Faults []Fault
}

// Error returns the lines of all faults.
func (e *ValidationError) Error() string {
	lines := make([]string, 0, len(e.Faults))
	for _, fault := range e.Faults {
		lines = append(lines, fault.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults, so that errors.As finds a Fault.
func (e *ValidationError) Unwrap() []error {
	faults := make([]error, 0, len(e.Faults))
	for _, fault := range e.Faults {
		faults = append(faults, fault)
	}
	return faults
}

// ExitCode returns ExitUsage when all faults are about lease timings, else ExitInvalid: other faults would be met first.
func (e *ValidationError) ExitCode() int {
	if slices.ContainsFunc(e.Faults, func(f Fault) bool { return f.code != ExitUsage }) {
		return ExitInvalid
	}
	return ExitUsage
}

// ExitCode returns the exit code for what Parse returned, and ExitInvalid for any other error.
func ExitCode(err error) int {
	if err == nil || errors.Is(err, ErrHelp) {
		return ExitOK
	}
	if _, ok := errors.AsType[*UsageError](err); ok {
		return ExitUsage
	}
	if invalid, ok := errors.AsType[*ValidationError](err); ok {
		return invalid.ExitCode()
	}
	return ExitInvalid
}

// Warning tells about a flag that was accepted although it has no or another effect than its name says.
type Warning struct {
	Flag string // name without dashes
	Text string
}

// String returns one line for people.
func (w Warning) String() string { return fmt.Sprintf("--%s: %s", w.Flag, w.Text) }

// findings collects what validation has to say.
type findings struct {
	faults   []Fault
	warnings map[string]string // text by flag name, so that no flag is warned about twice
}

// refuse notes a fault.
func (f *findings) refuse(flag, value, want string) {
	f.faults = append(f.faults, Fault{Flag: flag, Value: value, Want: want, code: ExitInvalid})
}

// refuseTiming notes a fault in the lease timings.
func (f *findings) refuseTiming(flag, value, want string) {
	f.faults = append(f.faults, Fault{Flag: flag, Value: value, Want: want, code: ExitUsage})
}

// warn notes a warning; a second one about the same flag is joined to the first.
func (f *findings) warn(flag, text string) {
	if f.warnings == nil {
		f.warnings = map[string]string{}
	}
	if before := f.warnings[flag]; before != "" {
		text = before + "; " + text
	}
	f.warnings[flag] = text
}

// err returns the faults as one error, or nil.
func (f *findings) err() error {
	if len(f.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(f.faults, func(a, b Fault) int { return strings.Compare(a.Flag, b.Flag) })
	return &ValidationError{Faults: f.faults}
}

// warned returns the warnings by flag name.
func (f *findings) warned() []Warning {
	var warnings []Warning
	for _, flag := range sortedKeys(f.warnings) {
		warnings = append(warnings, Warning{Flag: flag, Text: f.warnings[flag]})
	}
	return warnings
}

// sortedKeys returns the keys in ascending order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
