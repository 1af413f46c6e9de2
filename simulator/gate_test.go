package simulator_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func gatedScheduler(t *testing.T, disabled func(string) bool, objects ...runtime.Object) *simulator.Scheduler {
	t.Helper()
	scheduler, err := simulator.NewScheduler(t.Context(), simtest.Factory(t, objects...), simulator.Options{Parallelism: 1, Disabled: disabled})
	if err != nil {
		t.Fatal(err)
	}
	return scheduler
}

func TestAGateKeepsEveryPluginWhereItIs(t *testing.T) {
	wantPreFilter, wantFilter := simulator.ActiveFilters(simtest.Scheduler(t))
	preFilter, filter := simulator.ActiveFilters(gatedScheduler(t, func(string) bool { return false }))
	if diff := cmp.Diff(wantPreFilter, preFilter); diff != "" {
		t.Errorf("plug-ins at PreFilter (-without gate +with):\n%s", diff)
	}
	if diff := cmp.Diff(wantFilter, filter); diff != "" {
		t.Errorf("plug-ins at Filter (-without gate +with):\n%s", diff)
	}
}

// Each pod is refused by one plug-in alone, so that it fits exactly while that plug-in is off.
func TestAPluginThatIsOffRefusesNothing(t *testing.T) {
	tests := map[string]struct {
		plugin  string
		node    simtest.NodeBuilder
		running []simtest.PodBuilder
		pod     simtest.PodBuilder
	}{
		"at PreFilter and Filter: the claim of the pod does not exist": {
			plugin: "VolumeBinding", node: simtest.Node("n"),
			// Other plug-ins refuse a lost claim too; they are off all the time here.
			pod: simtest.Pod("p").Claim("lost"),
		},
		"at PreFilter and Filter: the node is too small": {
			plugin: "NodeResourcesFit", node: simtest.Node("n").CPU("1"), pod: simtest.Pod("p").Requests("2", ""),
		},
		"at Filter only: the taint is not tolerated": {
			plugin: "TaintToleration", node: simtest.Node("n").Taint("own", "1", corev1.TaintEffectNoSchedule), pod: simtest.Pod("p"),
		},
		"at PreFilter and Filter: the neighbour is not wanted": {
			plugin: "InterPodAffinity", node: simtest.Node("n"),
			running: []simtest.PodBuilder{simtest.Pod("q").Label("app", "a").On("n")},
			pod:     simtest.Pod("p").AntiAffinity(corev1.LabelHostname, "app", "a"),
		},
	}
	needClaims := map[string]bool{}
	for _, name := range simulator.PluginsNeeding("persistentvolumeclaims") {
		needClaims[name] = true
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var off atomic.Bool
			scheduler := gatedScheduler(t, func(plugin string) bool {
				if plugin == test.plugin {
					return off.Load()
				}
				return needClaims[test.plugin] && needClaims[plugin]
			})
			var pods []*corev1.Pod
			for _, pod := range test.running {
				pods = append(pods, pod.Build())
			}
			snapshot := simtest.Snapshot(t, []*corev1.Node{test.node.Build()}, pods)
			fits := func() bool {
				t.Helper()
				rejection, err := scheduler.Check(t.Context(), snapshot, test.pod.Build(), "n")
				if err != nil {
					t.Fatal(err)
				}
				if rejection != nil && rejection.Plugin != test.plugin {
					t.Fatalf("plug-in %s refuses, want %s", rejection.Plugin, test.plugin)
				}
				return rejection == nil
			}
			for _, state := range []bool{false, true, false, true} {
				off.Store(state)
				if fits() != state {
					t.Fatalf("with the plug-in off=%t the pod fits=%t", state, !state)
				}
			}
		})
	}
}

func TestWithoutClaimsTheirPluginsAreOffTogether(t *testing.T) {
	var off atomic.Bool
	scheduler := gatedScheduler(t, func(plugin string) bool {
		return off.Load() && slices.Contains(simulator.PluginsNeeding("persistentvolumeclaims"), plugin)
	})
	snapshot := simtest.Snapshot(t, []*corev1.Node{simtest.Node("n").Build()}, nil)
	pod := simtest.Pod("p").Claim("unreadable").Build()
	for _, state := range []bool{true, false, true} {
		off.Store(state)
		rejection, err := scheduler.Check(t.Context(), snapshot, pod, "n")
		if err != nil {
			t.Fatal(err)
		}
		if (rejection == nil) != state {
			t.Errorf("claims off=%t: rejection %v", state, rejection)
		}
	}
}
