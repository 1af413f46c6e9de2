package config

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Parsed is an accepted command line.
type Parsed struct {
	Options  Options
	Warnings []Warning // by flag name, at most one per flag; to be logged at start
	Settings []Setting // every flag by name with its effective value; flags of older releases only when given
}

// Setting is the value that a flag has in the end.
type Setting struct {
	Name  string // without dashes
	Value string
	Given bool // stood on the command line
}

// draft is what the flags write into. Values whose form is checked by validation, and not by the parser, land beside the options.
type draft struct {
	opts Options

	kubernetes       string
	cores, memory    string
	gpus             []string
	expander         string
	startupTaints    []string
	ignoreTaints     []string
	startupPrefixes  []string
	statusTaints     []string
	dynamicResources bool
	maxGraceSeconds  int
	drainPriority    string
	resourceLock     string
	loggingFormat    string
	discovery        string
}

// Parse reads a command line without the program's name. Words that are no flags are ignored, as are all words behind "--".
// The error is ErrHelp, a *UsageError (the first thing that cannot be understood) or a *ValidationError (everything that is
// refused); ExitCode tells them apart. Parse is pure and may be called at once from several goroutines. The provider's name,
// --nodes, --node-group-auto-discovery and the names of feature gates are not judged here, but where they are used.
func Parse(args []string) (Parsed, error) {
	d := &draft{}
	table := Table()
	set, err := newFlagSet(table, d)
	if err != nil {
		return Parsed{}, err
	}
	if err := set.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return Parsed{}, ErrHelp
		}
		return Parsed{}, usageError(err, table)
	}
	found := &findings{}
	warnStates(table, set, found)
	validate(d, table, set, found)
	if err := found.err(); err != nil {
		return Parsed{}, err
	}
	return Parsed{Options: d.opts, Warnings: found.warned(), Settings: settings(table, set)}, nil
}

// Defaults returns the options of an empty command line.
func Defaults() Options {
	parsed, _ := Parse(nil) // only a mistake in the table could make this fail, and a test excludes that
	return parsed.Options
}

// newFlagSet returns a flag set with all flags of the table, which writes into the draft.
func newFlagSet(table []Flag, d *draft) (*pflag.FlagSet, error) {
	set := pflag.NewFlagSet("cluster-autoscaler", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {} // the caller prints the help text
	set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	for _, flag := range table {
		if err := flag.register(set, d); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// warnStates warns about flags that were given and don't do all that their name says.
func warnStates(table []Flag, set *pflag.FlagSet, found *findings) {
	for _, flag := range table {
		given := set.Lookup(flag.Name)
		if !given.Changed || flag.State.quietAtDefault() && given.Value.String() == given.DefValue {
			continue
		}
		if text := flag.warning(); text != "" {
			found.warn(flag.Name, text)
		}
	}
}

// settings returns the effective values by name.
func settings(table []Flag, set *pflag.FlagSet) []Setting {
	removed := map[string]bool{}
	for _, flag := range table {
		removed[flag.Name] = flag.State == StateRemoved
	}
	var all []Setting
	set.VisitAll(func(flag *pflag.Flag) { // in order of name
		if flag.Changed || !removed[flag.Name] {
			all = append(all, Setting{Name: flag.Name, Value: flag.Value.String(), Given: flag.Changed})
		}
	})
	return all
}

// usageError words what pflag found: the flag, its value, and what is expected.
func usageError(err error, table []Flag) *UsageError {
	message := err.Error()
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		message = unknownFlag(unknown, table)
	}
	if bad, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		message = fmt.Sprintf("%q is not a flag, want --name=value", bad.GetSpecifiedFlag())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		message = fmt.Sprintf("--%s: its value is missing, want %s", missing.GetFlag().Name, typeOf(missing.GetFlag().Name, table).wants())
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		name := invalid.GetFlag().Name
		message = fmt.Sprintf("--%s=%q: want %s", name, invalid.GetValue(), typeOf(name, table).wants())
	}
	return &UsageError{Message: message, Err: err}
}

// typeOf returns the type of the flag of that name, or TypeUnset.
func typeOf(name string, table []Flag) ValueType {
	for _, flag := range table {
		if flag.Name == name {
			return flag.Type
		}
	}
	return TypeUnset
}

// unknownFlag names the flag that does not exist, and the one that may be meant.
func unknownFlag(unknown *pflag.NotExistError, table []Flag) string {
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		name, _, _ := strings.Cut(short, "=")
		if typeOf(strings.ReplaceAll(name, "_", "-"), table) != TypeUnset {
			return fmt.Sprintf("unknown short flag in %q: long names take two dashes, %q", "-"+short, "--"+short)
		}
		return fmt.Sprintf("unknown short flag %q in %q", "-"+unknown.GetSpecifiedName(), "-"+short)
	}
	name := unknown.GetSpecifiedName()
	message := fmt.Sprintf("unknown flag %q", "--"+name)
	if near := nearest(strings.ReplaceAll(name, "_", "-"), table); near != "" {
		message += fmt.Sprintf("; did you mean --%s?", near)
	}
	return message
}

// maxTypos is how many letters a name may be off for us to think that another one was meant.
const maxTypos = 2

// nearest returns the name of the table that is at most maxTypos off and nearest; "" if there is none.
func nearest(name string, table []Flag) string {
	best, bestDistance := "", maxTypos+1
	for _, flag := range table {
		if len(flag.Name)-len(name) > maxTypos || len(name)-len(flag.Name) > maxTypos || len(flag.Name) <= maxTypos {
			continue
		}
		if distance := editDistance(name, flag.Name); distance < bestDistance {
			best, bestDistance = flag.Name, distance
		}
	}
	return best
}

// editDistance returns the number of letters to insert, drop or replace to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
