package simulator_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

const header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scheduler.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAProfileThatCannotBeUsedIsAnErrorThatNamesTheFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"two profiles":              {text: header + "profiles: [{schedulerName: a}, {schedulerName: b}]", want: "it has 2 profiles, exactly one is expected"},
		"an unknown field":          {text: header + "profils: []", want: "profils"},
		"an unknown plug-in":        {text: header + "profiles: [{plugins: {filter: {enabled: [{name: Mine}]}}}]", want: `unknown plug-ins ["Mine"]`},
		"an unknown multi-plug-in":  {text: header + "profiles: [{plugins: {multiPoint: {enabled: [{name: Ours}, {name: Mine}]}}}]", want: `unknown plug-ins ["Mine" "Ours"]`},
		"an unknown version":        {text: "apiVersion: kubescheduler.config.k8s.io/v9\nkind: KubeSchedulerConfiguration", want: "v9"},
		"another kind":              {text: "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs", want: "NodeAffinityArgs"},
		"something else altogether": {text: "hello", want: "couldn't get version/kind"},
		"a bad value":               {text: header + "parallelism: -1", want: "parallelism"},
	} {
		path := write(t, c.text)
		_, err := simulator.LoadProfile(path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one with %q and the name of the file", name, err, c.want)
		}
	}
	if _, err := simulator.LoadProfile("missing.yaml"); err == nil || !strings.Contains(err.Error(), "missing.yaml") {
		t.Errorf("error = %v, want one that names the missing file", err)
	}
}

func TestAnEmptyConfigurationIsTheDefaultProfile(t *testing.T) {
	t.Parallel()
	profile, err := simulator.LoadProfile(write(t, header))
	must(t, err)
	if got := profile.SchedulerName(); got != "default-scheduler" {
		t.Errorf("scheduler name = %q", got)
	}
	loaded, err := simulator.NewScheduler(t.Context(), simtest.Factory(t), simulator.Options{Profile: profile, Parallelism: 1})
	must(t, err)
	wantPre, wantFilter := simulator.ActiveFilters(simtest.Scheduler(t))
	gotPre, gotFilter := simulator.ActiveFilters(loaded)
	if diff := cmp.Diff([][]string{wantPre, wantFilter}, [][]string{gotPre, gotFilter}); diff != "" {
		t.Errorf("plug-ins (-default +loaded):\n%s", diff)
	}
}

func TestTheProfileDecidesWhatIsAsked(t *testing.T) {
	t.Parallel()
	addedAffinity := header + `
profiles:
- schedulerName: strict
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [a]}]}]`
	ignoredResource := header + `
profiles:
- pluginConfig:
  - {name: NodeResourcesFit, args: {ignoredResources: [example.com/device]}}`
	spread := header + `
profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]`
	tainted := simtest.Node("n").Taint("t", "", corev1.TaintEffectNoSchedule)
	for name, c := range map[string]struct {
		text    string
		without []string
		node    simtest.NodeBuilder
		pod     simtest.PodBuilder
		want    simulator.FilterCode // empty: it fits
	}{
		"the default profile looks at taints": {text: header, node: tainted, pod: simtest.Pod("p"), want: simulator.TaintNotTolerated},
		"a plug-in that is switched off at its point": {
			text: header + "profiles: [{plugins: {filter: {disabled: [{name: TaintToleration}]}}}]", node: tainted, pod: simtest.Pod("p"),
		},
		"a plug-in that is switched off everywhere": {
			text: header + "profiles: [{plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}}]", node: tainted, pod: simtest.Pod("p"),
		},
		"a plug-in that is left out": {text: header, without: []string{"TaintToleration"}, node: tainted, pod: simtest.Pod("p")},
		"plug-ins that are left out of their own points": {
			text:    header + "profiles: [{plugins: {preFilter: {enabled: [{name: VolumeBinding}]}, filter: {enabled: [{name: VolumeBinding}]}}}]",
			without: simulator.PluginsNeeding("persistentvolumeclaims"), node: simtest.Node("n"), pod: simtest.Pod("p").Claim("unreadable"),
		},
		"an unknown plug-in that only scores":       {text: header + "profiles: [{plugins: {score: {enabled: [{name: Mine}]}}}]", node: tainted, pod: simtest.Pod("p"), want: simulator.TaintNotTolerated},
		"an affinity that the scheduler adds":       {text: addedAffinity, node: simtest.Node("n"), pod: simtest.Pod("p"), want: simulator.NodeAffinityMismatch},
		"an ignored resource":                       {text: ignoredResource, node: simtest.Node("n"), pod: simtest.Pod("p").Request("example.com/device", "1")},
		"an ignored resource beside a missing one":  {text: ignoredResource, node: simtest.Node("n"), pod: simtest.Pod("p").Request("example.com/device", "1").Requests("9", ""), want: simulator.InsufficientResource},
		"a default spread needs a pod of a service": {text: spread, node: simtest.Node("n"), pod: simtest.Pod("p")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profile, err := simulator.LoadProfile(write(t, c.text))
			must(t, err)
			options := simulator.Options{Profile: profile, Parallelism: 1, Without: c.without}
			scheduler, err := simulator.NewScheduler(t.Context(), simtest.Factory(t), options)
			must(t, err)
			rejection, err := scheduler.Check(t.Context(), simtest.Snapshot(t, []*corev1.Node{c.node.Build()}, nil), c.pod.Build(), "n")
			must(t, err)
			switch {
			case rejection == nil && c.want != "":
				t.Errorf("the pod fits, want %s", c.want)
			case rejection != nil && rejection.Filter != c.want:
				t.Errorf("rejection = %+v, want %q", rejection, c.want)
			case rejection != nil && len(rejection.Short) > 1:
				t.Errorf("an ignored resource is among those that are short: %+v", rejection.Short)
			}
		})
	}
}

func TestOrderedProfilesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	profile, err := simulator.LoadProfile(write(t, header+`
profiles:
- plugins:
    filter: {enabled: [{name: NodeResourcesFit}, {name: NodePorts}], disabled: [{name: "*"}]}
    preFilter: {enabled: [{name: NodePorts}, {name: NodeResourcesFit}], disabled: [{name: "*"}]}`))
	must(t, err)
	scheduler, err := simulator.NewScheduler(t.Context(), simtest.Factory(t), simulator.Options{Profile: profile, Parallelism: 1})
	must(t, err)
	preFilter, filter := simulator.ActiveFilters(scheduler)
	want := [][]string{{"NodePorts", "NodeResourcesFit"}, {"NodeResourcesFit", "NodePorts"}}
	if diff := cmp.Diff(want, [][]string{preFilter, filter}); diff != "" {
		t.Errorf("plug-ins (-want +got):\n%s", diff)
	}
}

func TestASchedulerNeedsParallelism(t *testing.T) {
	t.Parallel()
	if _, err := simulator.NewScheduler(t.Context(), simtest.Factory(t), simulator.Options{}); err == nil || !strings.Contains(err.Error(), "at least 1") {
		t.Errorf("error = %v, want one that says what is expected", err)
	}
}

// Where claims can't be read, pods with claims are placed as if they had none; with the plug-ins they would be refused.
func TestPluginsThatNeedWhatIsAbsentCanBeLeftOut(t *testing.T) {
	t.Parallel()
	pod := simtest.Pod("p").Claim("unreadable").Build()
	for name, c := range map[string]struct {
		without []string
		fits    bool
	}{
		"with all plug-ins":               {},
		"without those that need claims":  {without: simulator.PluginsNeeding("persistentvolumeclaims"), fits: true},
		"without those that need volumes": {without: simulator.PluginsNeeding("persistentvolumes")},
	} {
		scheduler, err := simulator.NewScheduler(t.Context(), simtest.Factory(t), simulator.Options{Parallelism: 1, Without: c.without})
		must(t, err)
		rejection, err := scheduler.Check(t.Context(), simtest.Snapshot(t, nodes("n"), nil), pod, "n")
		must(t, err)
		if fits := rejection == nil; fits != c.fits {
			t.Errorf("%s: rejection = %+v, expected to fit: %t", name, rejection, c.fits)
		}
	}
	if got := simulator.PluginsNeeding("services"); got != nil {
		t.Errorf("plug-ins that need services = %v, want none", got)
	}
	if !slices.Contains(simulator.PluginsNeeding("storageclasses.storage.k8s.io"), "VolumeBinding") {
		t.Error("VolumeBinding needs storage classes")
	}
}
