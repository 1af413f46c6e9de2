package config

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// accepted parses a command line that must be accepted.
func accepted(t *testing.T, args ...string) Parsed {
	t.Helper()
	parsed, err := Parse(args)
	if err != nil {
		t.Fatalf("%q is refused: %v", args, err)
	}
	return parsed
}

// effective returns the value of a flag in the end.
func effective(t *testing.T, parsed Parsed, name string) string {
	t.Helper()
	for _, setting := range parsed.Settings {
		if setting.Name == name {
			return setting.Value
		}
	}
	t.Fatalf("no setting of --%s", name)
	return ""
}

func TestValuesAreReadAsTheContractSays(t *testing.T) {
	tests := map[string]struct {
		args []string
		flag string
		want string
	}{
		"a value behind the equals sign":           {[]string{"--max-nodes-total=7"}, "max-nodes-total", "7"},
		"a value as the next word":                 {[]string{"--max-nodes-total", "7"}, "max-nodes-total", "7"},
		"an underscore in a name is a dash":        {[]string{"--max_nodes_total=7"}, "max-nodes-total", "7"},
		"underscores and dashes mixed":             {[]string{"--max_nodes-total", "7"}, "max-nodes-total", "7"},
		"a bare bool is true":                      {[]string{"--force-ds"}, "force-ds", "true"},
		"a bool with a value":                      {[]string{"--leader-elect=false"}, "leader-elect", "false"},
		"a short word for a bool":                  {[]string{"--leader-elect=F"}, "leader-elect", "false"},
		"a word behind a bool is not its value":    {[]string{"--leader-elect", "false"}, "leader-elect", "true"},
		"the last of two scalars wins":             {[]string{"--expander=random", "--expander=least-waste"}, "expander", "least-waste"},
		"a bool given back its default":            {[]string{"--force-ds", "--force-ds=false"}, "force-ds", "false"},
		"a duration":                               {[]string{"--scan-interval=1h30m"}, "scan-interval", "1h30m0s"},
		"a bare zero is a duration":                {[]string{"--node-delete-delay-after-taint=0"}, "node-delete-delay-after-taint", "0s"},
		"a hexadecimal number":                     {[]string{"--max-nodes-total=0x10"}, "max-nodes-total", "16"},
		"an octal number":                          {[]string{"--max-nodes-total=0o17"}, "max-nodes-total", "15"},
		"a binary number":                          {[]string{"--max-nodes-total=0b101"}, "max-nodes-total", "5"},
		"a negative number as the next word":       {[]string{"--expendable-pods-priority-cutoff", "-20"}, "expendable-pods-priority-cutoff", "-20"},
		"an array keeps its commas":                {[]string{"--nodes=1:2:a,b"}, "nodes", `["1:2:a,b"]`},
		"an array takes every occurrence":          {[]string{"--nodes=1:2:a", "--nodes=3:4:b"}, "nodes", "[1:2:a,3:4:b]"},
		"a list is split and takes every one":      {[]string{"--allowed-scheduler-names=a,b", "--allowed_scheduler_names=c"}, "allowed-scheduler-names", "[a,b,c]"},
		"the short verbosity with a space":         {[]string{"-v", "4"}, "v", "4"},
		"the short verbosity with an equals sign":  {[]string{"-v=4"}, "v", "4"},
		"the short verbosity without anything":     {[]string{"-v4"}, "v", "4"},
		"the long verbosity":                       {[]string{"--v=4"}, "v", "4"},
		"a severity in lower case":                 {[]string{"--stderrthreshold=info"}, "stderrthreshold", "INFO"},
		"a severity by number":                     {[]string{"--stderrthreshold=2"}, "stderrthreshold", "ERROR"},
		"positional words are ignored":             {[]string{"one", "--max-nodes-total=7", "two"}, "max-nodes-total", "7"},
		"flags behind two dashes are words":        {[]string{"--max-nodes-total=7", "--", "--max-nodes-total=8"}, "max-nodes-total", "7"},
		"an empty text is a value":                 {[]string{"--cloud-config="}, "cloud-config", ""},
		"module verbosities add up":                {[]string{"--vmodule=a=1", "--vmodule=b*=2"}, "vmodule", "a=1,b*=2"},
		"feature gates add up":                     {[]string{"--feature-gates=B=true, A=false", "--feature-gates=B=false"}, "feature-gates", "A=false,B=false"},
		"the default line for stack traces is off": {[]string{"--log-backtrace-at=:0"}, "log-backtrace-at", ":0"},
		"CIDRs": {[]string{"--cloud-provider-gce-lb-src-cidrs=10.0.0.0/8, ::/0"}, "cloud-provider-gce-lb-src-cidrs", "10.0.0.0/8,::/0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := effective(t, accepted(t, test.args...), test.flag); got != test.want {
				t.Errorf("%q makes --%s %q, want %q", test.args, test.flag, got, test.want)
			}
		})
	}
}

func TestWhatCannotBeReadIsAUsageErrorThatNamesFlagValueAndWhatIsExpected(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":               {[]string{"--no-such-flag=1"}, `unknown flag "--no-such-flag"`},
		"a typo":                        {[]string{"--scan_intervall=5s"}, `unknown flag "--scan_intervall"; did you mean --scan-interval?`},
		"names are case sensitive":      {[]string{"--Nodes=1:2:a"}, `unknown flag "--Nodes"; did you mean --nodes?`},
		"a long name with one dash":     {[]string{"-scan-interval=5s"}, `unknown short flag in "-scan-interval=5s": long names take two dashes, "--scan-interval=5s"`},
		"a short flag that isn't there": {[]string{"-x"}, `unknown short flag "-x" in "-x"`},
		"a bare number as duration":     {[]string{"--scan-interval=10"}, `--scan-interval="10": want a duration with its unit, such as 90s, 10m or 1h30m`},
		"a word for a number":           {[]string{"--max-nodes-total=many"}, `--max-nodes-total="many": want a whole number`},
		"a fraction for a number":       {[]string{"--max-nodes-total=1.5"}, `--max-nodes-total="1.5": want a whole number`},
		"a number too large":            {[]string{"--max-nodes-total=99999999999999999999"}, `--max-nodes-total="99999999999999999999": want a whole number`},
		"a word for a fraction":         {[]string{"--kube-client-qps=fast"}, `--kube-client-qps="fast": want a number such as 0.5`},
		"a word for a bool":             {[]string{"--force-ds=yes"}, `--force-ds="yes": want true or false`},
		"a negative verbosity":          {[]string{"--v=-1"}, `--v="-1": want a verbosity, 0 or more`},
		"letters behind the short one":  {[]string{"-vv"}, `--v="v": want a verbosity, 0 or more`},
		"an unknown severity":           {[]string{"--stderrthreshold=low"}, `--stderrthreshold="low": want INFO, WARNING, ERROR or FATAL`},
		"a pattern without a number":    {[]string{"--vmodule=loop"}, `--vmodule="loop": want pattern=N pairs joined by commas`},
		"a gate without a value":        {[]string{"--feature-gates=A"}, `--feature-gates="A": want Name=true or Name=false pairs joined by commas`},
		"a gate that is neither":        {[]string{"--feature-gates=A=maybe"}, `--feature-gates="A=maybe": want Name=true or Name=false pairs joined by commas`},
		"a line without a file":         {[]string{"--log-backtrace-at=12"}, `--log-backtrace-at="12": want file.go:line`},
		"a line that is no number":      {[]string{"--log-backtrace-at=a.go:x"}, `--log-backtrace-at="a.go:x": want file.go:line`},
		"a quantity with a wrong unit":  {[]string{"--log-text-info-buffer-size=4X"}, `--log-text-info-buffer-size="4X": want a quantity in bytes, such as 512, 4K or 2Mi`},
		"a negative size":               {[]string{"--log-file-max-size=-1"}, `--log-file-max-size="-1": want a whole number, 0 or more`},
		"an address for a CIDR":         {[]string{"--cloud-provider-gce-lb-src-cidrs=10.0.0.1"}, `--cloud-provider-gce-lb-src-cidrs="10.0.0.1": want CIDRs joined by commas`},
		"a missing value":               {[]string{"--max-nodes-total"}, "--max-nodes-total: its value is missing, want a whole number"},
		"a missing short value":         {[]string{"-v"}, "--v: its value is missing, want a verbosity, 0 or more"},
		"three dashes":                  {[]string{"---v=1"}, `"---v=1" is not a flag, want --name=value`},
		"the first fault is told":       {[]string{"--force-ds=yes", "--no-such-flag"}, `--force-ds="yes": want true or false`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(test.args)
			if _, ok := errors.AsType[*UsageError](err); !ok {
				t.Fatalf("%q gives %v, want a usage error", test.args, err)
			}
			if err.Error() != test.want {
				t.Errorf("message %q, want %q", err, test.want)
			}
			if ExitCode(err) != 2 {
				t.Errorf("exit code %d, want 2", ExitCode(err))
			}
		})
	}
}

func TestHelpIsAskedForInThreeWays(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"--max-nodes-total=7", "--help", "--no-such-flag"}, {"--max-nodes-total=-7", "-h"}} {
		_, err := Parse(args)
		if !errors.Is(err, ErrHelp) || ExitCode(err) != 0 {
			t.Errorf("%q gives %v with exit code %d, want help with 0", args, err, ExitCode(err))
		}
	}
	if _, err := Parse([]string{"--no-such-flag", "--help"}); ExitCode(err) != 2 {
		t.Errorf("help behind an unknown flag gives %v, want a usage error", err)
	}
}

func TestExitCodesFollowTheKindOfError(t *testing.T) {
	if got := ExitCode(nil); got != 0 {
		t.Errorf("no error: %d", got)
	}
	if got := ExitCode(errors.New("port in use")); got != 255 {
		t.Errorf("any other error: %d, want 255", got)
	}
}

func TestTheCommandLineOfTheChartIsAcceptedWithoutAWarning(t *testing.T) {
	parsed := accepted(t,
		"--cloud-provider=aws",
		"--namespace=autoscaling",
		"--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/demo",
		"--logtostderr=true",
		"--stderrthreshold=info",
		"--v=4",
	)
	want := Defaults()
	want.Process.Namespace = "autoscaling"
	want.Cloud.Provider = "aws"
	want.Cloud.AutoDiscovery = []string{"asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/demo"}
	want.Logging.Verbosity = 4
	if diff := cmp.Diff(want, parsed.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if len(parsed.Warnings) != 0 {
		t.Errorf("warnings: %v", parsed.Warnings)
	}
}

func TestTheCommandLineOfTheRawManifestsIsAcceptedWithoutAWarning(t *testing.T) {
	parsed := accepted(t,
		"--v=4", "--stderrthreshold=info", "--cloud-provider=aws", "--skip-nodes-with-local-storage=false", "--expander=least-waste",
		"--nodes=1:10:first", "--nodes=1:3:second",
	)
	want := Defaults()
	want.Cloud.Provider = "aws"
	want.Cloud.Nodes = []string{"1:10:first", "1:3:second"}
	want.ScaleDown.SkipNodesWithLocalStorage = false
	want.Logging.Verbosity = 4
	if diff := cmp.Diff(want, parsed.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if len(parsed.Warnings) != 0 {
		t.Errorf("warnings: %v", parsed.Warnings)
	}
}

func TestEveryFlagReturnsUnderItsNameInTheSettings(t *testing.T) {
	parsed := accepted(t, "--v=2", "--scan_interval=20s", "--max-empty-bulk-delete=3", "--max-inactivity=1h", "--gpu-total=t4:0:2")
	var want []string
	for _, flag := range Table() {
		if flag.State != StateRemoved || flag.Name == "max-empty-bulk-delete" {
			want = append(want, flag.Name)
		}
	}
	slices.Sort(want)
	var got, given []string
	for _, setting := range parsed.Settings {
		got = append(got, setting.Name)
		if setting.Given {
			given = append(given, setting.Name+"="+setting.Value)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"gpu-total=[t4:0:2]", "max-empty-bulk-delete=3", "max-inactivity=1h0m0s", "scan-interval=20s", "v=2"}, given); diff != "" {
		t.Errorf("settings given (-want +got):\n%s", diff)
	}
	if got := effective(t, parsed, "max-startup-time"); got != "1h0m0s" {
		t.Errorf("--max-startup-time is shown as %s and not as it was raised to", got)
	}
}

// otherThanDefault returns a value that the flag accepts and that isn't its default.
func otherThanDefault(flag Flag) string {
	if flag.Type == TypeBool && flag.Default == "true" {
		return "false"
	}
	values := map[ValueType]string{TypeBool: "true", TypeInt: "77", TypeFloat: "0.77", TypeDuration: "77m", TypeCIDRs: "10.0.0.0/8"}
	if value, ok := values[flag.Type]; ok {
		return value
	}
	return "other"
}

func TestAFlagWithoutItsFullEffectIsWarnedAboutExactlyOnce(t *testing.T) {
	for _, flag := range Table() {
		if flag.State == StateActive {
			continue
		}
		arg := "--" + flag.Name + "=" + otherThanDefault(flag)
		sameAgain := "--" + strings.ReplaceAll(flag.Name, "-", "_") + "=" + otherThanDefault(flag)
		var about []Warning
		for _, warning := range accepted(t, arg, sameAgain).Warnings {
			if warning.Flag == flag.Name {
				about = append(about, warning)
			}
		}
		want := []Warning{{Flag: flag.Name, Text: flag.warning()}}
		if diff := cmp.Diff(want, about); diff != "" || want[0].Text == "" {
			t.Errorf("%s (%s): warnings (-want +got):\n%s", arg, flag.State, diff)
		}
		if !strings.Contains(want[0].Text, flag.Note) {
			t.Errorf("%s: the warning %q doesn't say %q", arg, want[0].Text, flag.Note)
		}
	}
}

func TestAFlagGivenItsDefaultIsWarnedAboutOnlyWhenItNeverDoesAnything(t *testing.T) {
	for _, flag := range Table() {
		if flag.Default == "" {
			continue // given as empty it would be refused, or is no value
		}
		want := 0
		if slices.Contains([]State{StateOtherCloud, StateNoEffect, StateRemoved}, flag.State) {
			want = 1
		}
		if got := accepted(t, "--"+flag.Name+"="+flag.Default).Warnings; len(got) != want {
			t.Errorf("--%s=%s (%s): warnings %v, want %d", flag.Name, flag.Default, flag.State, got, want)
		}
	}
}

func TestNothingGivenMeansNoWarning(t *testing.T) {
	if got := accepted(t).Warnings; len(got) != 0 {
		t.Errorf("warnings: %v", got)
	}
}

func TestWarningsReadAsOneLineAndComeByName(t *testing.T) {
	parsed := accepted(t, "--max-empty-bulk-delete=3", "--gce-concurrent-refreshes=2", "--ignore-taint=a", "--enable-provisioning-requests",
		"--cluster-snapshot-parallelism=4", "--scale-down-enabled=false")
	var got []string
	for _, warning := range parsed.Warnings {
		got = append(got, warning.String())
	}
	want := []string{
		"--cluster-snapshot-parallelism: has no effect: the snapshot is kept up to date between iterations",
		"--enable-provisioning-requests: not available in this release yet, the value is ignored",
		"--gce-concurrent-refreshes: belongs to another cloud and has no effect: GCE",
		"--ignore-taint: deprecated: use --startup-taint",
		"--max-empty-bulk-delete: no longer exists and has no effect: use --max-scale-down-parallelism",
		"--scale-down-enabled: deprecated: it still works, and false keeps all nodes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestParseReadsNoEnvironment(t *testing.T) {
	before := accepted(t)
	for _, name := range []string{"NAMESPACE", "POD_NAMESPACE", "CLOUD_PROVIDER", "KUBECONFIG", "AWS_REGION", "V"} {
		t.Setenv(name, "changed")
	}
	if diff := cmp.Diff(before, accepted(t)); diff != "" {
		t.Errorf("the environment changed (-want +got):\n%s", diff)
	}
	if os.Getenv("KUBECONFIG") != "changed" {
		t.Fatal("the environment isn't set")
	}
}

func TestManyCommandLinesAreParsedAtOnceWithoutTouchingEachOther(t *testing.T) {
	var group sync.WaitGroup
	got := make([]Parsed, 8)
	for i := range got {
		group.Go(func() {
			args := []string{"--nodes=1:2:a", "--feature-gates=A=true", "--scan-interval=" + (time.Duration(i+1) * time.Second).String()}
			got[i], _ = Parse(args)
		})
	}
	group.Wait()
	for i, parsed := range got {
		want := Defaults()
		want.Cloud.Nodes = []string{"1:2:a"}
		want.FeatureGates = map[string]bool{"A": true}
		want.Loop.ScanInterval = time.Duration(i+1) * time.Second
		if diff := cmp.Diff(want, parsed.Options); diff != "" {
			t.Errorf("command line %d (-want +got):\n%s", i, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("--v=4|--nodes=1:2:a|--expander=random")
	f.Add("-v|4|--gpu-total=t4:0:2|--drain-priority-config=1:2,3:4")
	f.Add("--kubernetes=https://h:1?inClusterConfig=false&auth=f|--feature-gates=A=true")
	f.Add("--cores-total=0:9223372036854775807|--memory-total=1:9223372036854775807|--scan-interval=-1s")
	f.Add("--kube-client-qps=NaN|--startup-taint-prefix=|--leader-elect-retry-period=0s|---|--=|-")
	f.Add("--max-graceful-termination-sec=-9223372036854775808|--vmodule=a=1|--logging-format=json")
	for _, flag := range Table() {
		f.Add("--" + flag.Name + "=" + flag.Default)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "|")
		parsed, err := Parse(args)
		if err != nil {
			checkError(t, err)
			return
		}
		again, err := Parse(args)
		if err != nil {
			t.Fatalf("the second time it is refused: %v", err)
		}
		if diff := cmp.Diff(parsed, again); diff != "" {
			t.Errorf("the second time it differs (-first +second):\n%s", diff)
		}
		checkParsed(t, parsed)
	})
}

// checkError demands an error of one of the three kinds, worded in single lines.
func checkError(t *testing.T, err error) {
	t.Helper()
	usage, isUsage := errors.AsType[*UsageError](err)
	invalid, isInvalid := errors.AsType[*ValidationError](err)
	switch {
	case errors.Is(err, ErrHelp):
	case isUsage && usage.Message != "" && !strings.Contains(usage.Message, "\n"):
	case isInvalid && len(invalid.Faults) > 0:
		for _, fault := range invalid.Faults {
			if strings.Contains(fault.Error(), "\n") || fault.Want == "" {
				t.Errorf("the fault is not one line with what is wanted: %q", fault.Error())
			}
		}
	default:
		t.Errorf("error of no known kind: %v", err)
	}
}

// checkParsed demands what every reader of options relies on.
func checkParsed(t *testing.T, parsed Parsed) {
	t.Helper()
	warned := map[string]bool{}
	for _, warning := range parsed.Warnings {
		if warned[warning.Flag] || warning.Text == "" {
			t.Errorf("two warnings about --%s, or an empty one", warning.Flag)
		}
		warned[warning.Flag] = true
	}
	o := parsed.Options
	if o.Loop.ScanInterval <= 0 || o.Loop.MaxStartupTime < o.Loop.MaxInactivity || o.Loop.MaxStartupTime < o.Loop.MaxFailingTime {
		t.Errorf("loop: %+v", o.Loop)
	}
	for _, limit := range append(o.Limits.GPUs, GPULimit{Count: o.Limits.Cores}, GPULimit{Count: o.Limits.Memory}) {
		if limit.Count.Min < 0 || limit.Count.Max < limit.Count.Min {
			t.Errorf("limit %+v", limit)
		}
	}
	if len(o.ScaleUp.Expanders) == 0 || o.Simulation.Parallelism < 1 {
		t.Errorf("expanders %v, parallelism %d", o.ScaleUp.Expanders, o.Simulation.Parallelism)
	}
	if slices.Contains(o.Templates.StartupTaintPrefixes, "") {
		t.Error("an empty prefix matches every taint")
	}
	if !slices.IsSortedFunc(o.Drain.PriorityGroups, func(a, b DrainGroup) int { return int(int64(a.Priority) - int64(b.Priority)) }) {
		t.Errorf("drain groups %v", o.Drain.PriorityGroups)
	}
}
