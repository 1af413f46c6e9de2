package config

import (
	goflag "flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // makes the logging library add its flags for JSON
	"k8s.io/klog/v2"
)

// contractRow is one line of testdata/flags.tsv.
type contractRow struct {
	Name, Type, Default, Need string
}

// contract reads the flags that the compatibility contract lists.
func contract(t *testing.T) []contractRow {
	t.Helper()
	data, err := os.ReadFile("testdata/flags.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows []contractRow
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 4 {
			t.Fatalf("testdata/flags.tsv: %d cells in %q, want 4", len(cells), line)
		}
		rows = append(rows, contractRow{Name: cells[0], Type: cells[1], Default: cells[2], Need: cells[3]})
	}
	if len(rows) < 160 {
		t.Fatalf("testdata/flags.tsv has %d rows, which cannot be all", len(rows))
	}
	return rows
}

// registered returns a flag set as Parse uses it.
func registered(t *testing.T) *pflag.FlagSet {
	t.Helper()
	set, err := newFlagSet(Table(), &draft{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// canonical makes defaults comparable that are written in several ways.
func canonical(t *testing.T, valueType, text string) string {
	t.Helper()
	switch valueType {
	case "duration":
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	case "arr", "list":
		return "[" + text + "]"
	}
	return text
}

func TestEveryFlagOfTheContractIsRegisteredWithItsTypeAndDefault(t *testing.T) {
	// The words of the contract, in the words of pflag.
	pflagTypes := map[string]string{
		"string": "string", "bool": "bool", "int": "int", "uint": "uint64", "float": "float64", "duration": "duration",
		"arr": "stringArray", "list": "stringSlice", "level": "level", "severity": "severity", "vmodule": "pattern=N,...",
		"trace": "file:line", "quantity": "quantity", "gates": "Name=true|false,...", "cidrs": "CIDR,...",
	}
	set := registered(t)
	var want, got []contractRow
	for _, row := range contract(t) {
		want = append(want, contractRow{Name: row.Name, Type: pflagTypes[row.Type], Default: canonical(t, row.Type, row.Default)})
		if flag := set.Lookup(row.Name); flag != nil {
			got = append(got, contractRow{Name: flag.Name, Type: flag.Value.Type(), Default: flag.DefValue})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags differ from the contract (-want +got):\n%s", diff)
	}
}

func TestTheTableHoldsNothingBeyondTheContractButOwnAndRemovedFlags(t *testing.T) {
	known := map[string]bool{}
	for _, row := range contract(t) {
		known[row.Name] = true
	}
	var beyond []string
	for _, flag := range Table() {
		if !known[flag.Name] && flag.State != StateRemoved {
			beyond = append(beyond, flag.Name)
		}
		if flag.Own == known[flag.Name] && flag.State != StateRemoved {
			t.Errorf("--%s: Own is %t, but the contract says %t", flag.Name, flag.Own, known[flag.Name])
		}
	}
	if diff := cmp.Diff([]string{"persist-state", "aws-price-overrides", "aws-discovery-match", "aws-refresh-interval", "aws-pause-by-tag", "health-scope-all-nodes", "simulator-fast-path"}, beyond); diff != "" {
		t.Errorf("flags beyond the contract (-want +got):\n%s", diff)
	}
}

func TestFlagsThatAnOperatorNeedsAreNeverMarkedAsWithoutEffect(t *testing.T) {
	// Where the state is not what the need column alone would say, and why.
	exceptions := map[string]State{
		"user-agent":                      StateActive,   // our Kubernetes clients use it
		"leader-elect-resource-namespace": StateNoEffect, // the contract itself says that it is ignored
		"fastpath-binpacking-enabled":     StateNoEffect, // exact packing is fast
		// affinity by host name is looked up in an index
		"enable-inter-pod-affinity-hostname-fast-path": StateNoEffect,
	}
	states := map[string]State{}
	for _, flag := range Table() {
		states[flag.Name] = flag.State
	}
	for _, row := range contract(t) {
		state := states[row.Name]
		if want, ok := exceptions[row.Name]; ok {
			if state != want {
				t.Errorf("--%s is %s, want %s", row.Name, state, want)
			}
			continue
		}
		without := state == StateOtherCloud || state == StateNoEffect
		if without != (row.Need == "C") {
			t.Errorf("--%s is %s, which doesn't go with need %s", row.Name, state, row.Need)
		}
	}
}

func TestTheTableIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	lastGroup := GroupUnset
	for _, flag := range Table() {
		if names[flag.Name] {
			t.Errorf("--%s is there twice", flag.Name)
		}
		names[flag.Name] = true
		if flag.Name != strings.ToLower(flag.Name) || strings.ContainsAny(flag.Name, "_ ") {
			t.Errorf("--%s: the name is not in lower case with dashes", flag.Name)
		}
		if !strings.HasSuffix(flag.Help, ".") || len(flag.Help) < 10 {
			t.Errorf("--%s: help text %q is not a sentence", flag.Name, flag.Help)
		}
		if flag.Type == TypeUnset || flag.Type.String() == "unset" || flag.Type.wants() == "" {
			t.Errorf("--%s: type %d has no name", flag.Name, flag.Type)
		}
		if flag.Group.String() == "unset" || flag.State.String() == "unset" {
			t.Errorf("--%s: group %d or state %d has no name", flag.Name, flag.Group, flag.State)
		}
		if flag.Group < lastGroup {
			t.Errorf("--%s: its group comes back after another one", flag.Name)
		}
		lastGroup = flag.Group
		if flag.State == StateActive && flag.bind == nil {
			t.Errorf("--%s is active, but its value goes nowhere", flag.Name)
		}
		if flag.State == StateRemoved && flag.Note == "" {
			t.Errorf("--%s was removed, but nothing says what to do instead", flag.Name)
		}
		if flag.bound != boundNone && flag.Range != flag.bound.wants() {
			t.Errorf("--%s: range %q hides that it must be %s", flag.Name, flag.Range, flag.bound.wants())
		}
		if _, isNumber := number(flag.target(&draft{})); flag.bound != boundNone && !isNumber {
			t.Errorf("--%s has a bound, but is no number", flag.Name)
		}
	}
}

func TestOnlyVAndHAreShort(t *testing.T) {
	var short []string
	for _, flag := range Table() {
		if flag.Short != "" {
			short = append(short, flag.Short+" "+flag.Name)
		}
	}
	if diff := cmp.Diff([]string{"v v"}, short); diff != "" {
		t.Errorf("short flags beside pflag's own -h (-want +got):\n%s", diff)
	}
}

// presets are the flags whose default differs from the library's, with the library's one.
func presets() map[string]string {
	return map[string]string{"stderrthreshold": "2", "legacy-stderr-threshold-behavior": "true"}
}

func TestEveryFlagOfKlogIsRegistered(t *testing.T) {
	var library goflag.FlagSet
	klog.InitFlags(&library)
	set := registered(t)
	library.VisitAll(func(flag *goflag.Flag) {
		ours := set.Lookup(flag.Name)
		if ours == nil {
			t.Errorf("klog has -%s and we don't", flag.Name)
			return
		}
		want := flag.DefValue
		if preset, ok := presets()[ours.Name]; ok {
			if want != preset {
				t.Errorf("klog's default of -%s is now %s", flag.Name, want)
			}
			return
		}
		if ours.Value.Type() == "severity" {
			want = severityNames()[0]
		}
		if ours.DefValue != want {
			t.Errorf("--%s: default %q, klog's is %q", ours.Name, ours.DefValue, want)
		}
	})
}

func TestEveryFlagOfTheLoggingLibraryIsRegistered(t *testing.T) {
	library := pflag.NewFlagSet("library", pflag.ContinueOnError)
	logsapi.AddFlags(logsapi.NewLoggingConfiguration(), library)
	set := registered(t)
	seen := 0
	library.VisitAll(func(flag *pflag.Flag) {
		seen++
		ours := set.Lookup(flag.Name)
		switch {
		case ours == nil:
			t.Errorf("the logging library has --%s and we don't", flag.Name)
		case ours.DefValue != flag.DefValue || ours.Shorthand != flag.Shorthand:
			t.Errorf("--%s: default %q short %q, the library has %q and %q", flag.Name, ours.DefValue, ours.Shorthand, flag.DefValue, flag.Shorthand)
		}
	})
	if seen < 8 {
		t.Errorf("the logging library added %d flags, its JSON flags are missing", seen)
	}
}

func TestLogValuesAreTakenAndRefusedAsTheLibrariesDo(t *testing.T) {
	var library goflag.FlagSet
	klog.InitFlags(&library)
	threshold := library.Lookup("stderrthreshold").Value
	before := threshold.String()
	t.Cleanup(func() { _ = threshold.Set(before) })
	for _, text := range []string{"info", "INFO", "Warning", "ERROR", "fatal", "0", "3", "-1", "7", "", "warn", "1.5", "99999999999"} {
		var ours string
		if got, want := (&severityValue{&ours}).Set(text), threshold.Set(text); (got == nil) != (want == nil) {
			t.Errorf("severity %q: we say %v, klog says %v", text, got, want)
		}
	}
	for _, text := range []string{"", ",", "a=1", "a=1,", "a=1,b*=2", "a", "a=", "=1", "a=-1", "a=1=2", "a=2147483647", "a=2147483648", "a=x"} {
		var theirs logsapi.VModuleConfiguration
		var ours []VModule
		want := logsapi.VModuleConfigurationPflag(&theirs).Set(text)
		got := (&vmoduleValue{&ours}).Set(text)
		if (got == nil) != (want == nil) {
			t.Errorf("vmodule %q: we say %v, the library says %v", text, got, want)
		}
		if got == nil && (&vmoduleValue{&ours}).String() != logsapi.VModuleConfigurationPflag(&theirs).String() {
			t.Errorf("vmodule %q: %v, the library has %v", text, ours, theirs)
		}
	}
	for _, text := range []string{"0", "4", "2147483647", "2147483648", "-1", "", "x", "0x4", "4.0"} {
		var theirs logsapi.VerbosityLevel
		var ours int32
		want := logsapi.VerbosityLevelPflag(&theirs).Set(text)
		if got := (&levelValue{&ours}).Set(text); (got == nil) != (want == nil) || int32(theirs) != ours {
			t.Errorf("verbosity %q: %d %v, the library says %d %v", text, ours, got, theirs, want)
		}
	}
}

func TestKlogTakesEverySettingThatWeHandOver(t *testing.T) {
	var library goflag.FlagSet
	klog.InitFlags(&library)
	var names []string
	library.VisitAll(func(flag *goflag.Flag) {
		names = append(names, flag.Name)
		if flag.Name != "v" && flag.Name != "vmodule" { // nothing here sets these
			before := flag.Value.String()
			if flag.Name == "log_backtrace_at" {
				before = ""
			}
			t.Cleanup(func() { _ = flag.Value.Set(before) })
		}
	})
	parsed, err := Parse([]string{
		"--logtostderr=false", "--legacy-stderr-threshold-behavior", "--stderrthreshold=error", "--alsologtostderr",
		"--alsologtostderrthreshold=warning", "--log-file=some.log", "--log-dir=some", "--log-file-max-size=7", "--log-backtrace-at=loop.go:12",
		"--add-dir-header", "--skip-headers", "--skip-log-headers", "--one-output",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, setting := range parsed.Options.Logging.KlogSettings() {
		if err := library.Set(setting.Name, setting.Value); err != nil {
			t.Errorf("klog refuses %s=%q: %v", setting.Name, setting.Value, err)
			continue
		}
		got[setting.Name] = library.Lookup(setting.Name).Value.String()
	}
	want := map[string]string{
		"logtostderr": "false", "legacy_stderr_threshold_behavior": "true", "stderrthreshold": "2", "alsologtostderr": "true",
		"alsologtostderrthreshold": "1", "log_file": "some.log", "log_dir": "some", "log_file_max_size": "7", "log_backtrace_at": "loop.go:12",
		"add_dir_header": "true", "skip_headers": "true", "skip_log_headers": "true", "one_output": "true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("klog's flags (-want +got):\n%s", diff)
	}
	for _, name := range names {
		if _, ok := got[name]; !ok && name != "v" && name != "vmodule" {
			t.Errorf("klog's -%s is not handed over", name)
		}
	}
}

func TestUsageShowsEveryLivingFlagInItsSection(t *testing.T) {
	usage := Usage()
	section := ""
	shown := map[string]string{}
	for line := range strings.Lines(usage) {
		line = strings.TrimSuffix(line, "\n")
		if len([]rune(line)) > usageWidth && !strings.Contains(line, "--") {
			t.Errorf("line of %d characters: %s", len([]rune(line)), line)
		}
		if title, ok := strings.CutSuffix(line, ":"); ok && !strings.HasPrefix(line, " ") {
			section = title
		}
		if strings.HasPrefix(line, "  -") {
			_, name, _ := strings.Cut(line, "--")
			name, _, _ = strings.Cut(name, " ")
			shown[name] = section
		}
	}
	want := map[string]string{"help": "Other"}
	for _, flag := range Table() {
		if flag.State != StateRemoved {
			want[flag.Name] = flag.Group.String()
		}
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("flags shown (-want +got):\n%s", diff)
	}
	const entry = `  --max-nodes-total int
        Largest number of nodes in the whole cluster; 0 means no limit. (in nodes; 0 or more;
        default 0)
`
	if !strings.Contains(usage, entry) {
		t.Errorf("usage has no entry\n%s\nin\n%s", entry, usage)
	}
	const other = `  --gce-concurrent-refreshes int
        Refreshes at the same time. (default 1) [other cloud: GCE]
`
	if !strings.Contains(usage, other) {
		t.Errorf("usage has no entry\n%s", other)
	}
}

func TestChangingTheTableChangesNobodyElsesTable(t *testing.T) {
	Table()[0].Name = "changed"
	if slices.ContainsFunc(Table(), func(f Flag) bool { return f.Name == "changed" }) {
		t.Error("a caller's change shows in the next table")
	}
}
