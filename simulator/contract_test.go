package simulator_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// The whole default profile, with scores and preemption, asks the same plug-ins in the same order as the part of it that is
// built here. It fails when a Kubernetes version brings another filter plug-in.
func TestTheDefaultProfileHasNoOtherFilters(t *testing.T) {
	t.Parallel()
	configuration, err := latest.Default()
	must(t, err)
	wantPre, wantFilter := simulator.ActiveFilters(simtest.Scheduler(t)) // makes the metrics, too
	whole, err := runtime.NewFramework(t.Context(), plugins.NewInTreeRegistry(), &configuration.Profiles[0],
		runtime.WithInformerFactory(simtest.Factory(t)), runtime.WithSnapshotSharedLister(simulator.EmptyLister()),
		runtime.WithSharedDRAManager(simulator.EmptyDRAManager()))
	must(t, err)
	var gotPre, gotFilter []string
	for _, plugin := range whole.ListPlugins().PreFilter.Enabled {
		gotPre = append(gotPre, plugin.Name)
	}
	for _, plugin := range whole.ListPlugins().Filter.Enabled {
		gotFilter = append(gotFilter, plugin.Name)
	}
	if diff := cmp.Diff([][]string{wantPre, wantFilter}, [][]string{gotPre, gotFilter}); diff != "" {
		t.Errorf("plug-ins (-here +in the whole profile):\n%s", diff)
	}
	known := simulator.FilterPluginNames()
	for _, name := range slices.Concat(gotPre, gotFilter) {
		if !slices.Contains(known, name) {
			t.Errorf("plug-in %s is not in the contract", name)
		}
	}
}

// The scheduler asks a node for a feature only up to the feature's last version, and takes its own version from the linker, which
// sets none in this program. As long as no feature has a last version, that makes no difference.
func TestNoNodeFeatureEndsWithAVersion(t *testing.T) {
	t.Parallel()
	for _, feature := range features.AllFeatures {
		if last := feature.MaxVersion(); last != nil {
			t.Errorf("feature %s ends with version %s: the scheduler has to be told which version it is", feature.Name(), last)
		}
	}
}
