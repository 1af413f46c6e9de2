package core_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/processors/status"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// balance are the flags under which the groups of these stories are similar.
func balance(more ...string) []string {
	return append([]string{"--balance-similar-node-groups", "--balancing-ignore-label=group"}, more...)
}

func TestNewNodesAreSpreadOverSimilarGroups(t *testing.T) {
	for name, tc := range map[string]struct {
		flags []string
		want  []string
	}{
		"so that their sizes converge":       {balance(), []string{"0 IncreaseSize a 0->3", "0 IncreaseSize b 1->3"}},
		"all at once":                        {balance("--parallel-scale-up"), []string{"0 IncreaseSize a 0->3", "0 IncreaseSize b 1->3"}},
		"not without the flag":               {[]string{"--balancing-ignore-label=group", "--expander=least-nodes"}, nil},
		"nor if a label tells them apart":    {[]string{"--balance-similar-node-groups"}, nil},
		"nor if the deciding label does not": {[]string{"--balance-similar-node-groups", "--balancing-label=group"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.flags, group("a", 0, 9, 0), group("b", 0, 9, 1))
			w.fill("b")
			w.arrive(pods(5, "p", "4")...)
			w.to(10 * time.Minute)
			if tc.want == nil {
				if got := w.writes(); len(got) != 1 {
					t.Errorf("writes %v, want one group to take all", got)
				}
			} else if diff := cmp.Diff(tc.want, w.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if left := w.waiting(); len(left) > 0 {
				t.Errorf("pods %v still wait", left)
			}
		})
	}
}

func TestWhatASimilarGroupRefusesTheOthersTakeOverAtOnceAndNothingIsBoughtTwice(t *testing.T) {
	// C28 with the differences to R01 and R02.
	for _, mode := range []string{"--parallel-scale-up=false", "--parallel-scale-up"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, balance(mode), group("a", 0, 9, 0), group("b", 0, 9, 0), group("c", 0, 9, 0))
			w.cloud.Inject(simulated.Fault{
				On: simulated.IncreaseSize, Group: "b", Err: &cloudprovider.OutOfResourcesError{Group: "b", Err: errors.New("none left")},
			})
			w.arrive(pods(6, "p", "4")...)
			w.to(0)
			if got := w.target("a") + w.target("c"); got != 6 || w.target("b") != 0 {
				t.Errorf("a and c have %d nodes, want 6; writes %v", got, w.writes())
			}
			w.to(10 * time.Minute)
			if got := w.target("a") + w.target("c"); got != 6 || w.target("b") != 0 {
				t.Errorf("later a and c have %d nodes, want 6; writes %v", got, w.writes())
			}
			if left := w.waiting(); len(left) > 0 {
				t.Errorf("pods %v still wait", left)
			}
			if !w.event("Pod/p-00 TriggeredScaleUp") {
				t.Errorf("events: %v", w.events)
			}
		})
	}
}

func TestTheStatusTellsWhatTheCloudSaidWhenItRefused(t *testing.T) {
	// R12 and R13.
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.cloud.Inject(simulated.Fault{On: simulated.IncreaseSize, Err: errors.New("out of order")})
	w.arrive(pods(1, "p", "3")...)
	w.to(0)
	if !w.event("FailedToScaleUpGroup", "Scale-up failed for group g: failed to increase node group size: out of order") || w.event("Pod/p-00") {
		t.Errorf("events %v; want one about the group and none about the pod", w.events)
	}
	w.to(10 * time.Second)
	if !w.event("Pod/p-00 NotTriggerScaleUp", "pod didn't trigger scale-up: 1 in backoff after failed scale-up") {
		t.Errorf("the pod hears nothing of it: %v", w.events)
	}
	var got status.Document
	if err := yaml.Unmarshal([]byte(w.object().Data["status"]), &got); err != nil {
		t.Fatal(err)
	}
	info := status.BackoffInfo{ErrorCode: "cloudProviderError", ErrorMessage: "failed to increase node group size: out of order"}
	if up := got.NodeGroups[0].ScaleUp; up.Status != "Backoff" || up.BackoffInfo != info || got.ClusterWide.ScaleUp.Status != "NoActivity" {
		t.Errorf("the group is %s, %+v, the cluster %s", up.Status, up.BackoffInfo, got.ClusterWide.ScaleUp.Status)
	}
}

func TestAGroupIsCreatedWhenItIsTheOneToGrow(t *testing.T) {
	g := group("new", 0, 9, 0)
	g.Theoretical = true
	w := newWorld(t, nil, g)
	w.arrive(pods(2, "p", "4")...)
	w.to(5 * time.Minute)
	if diff := cmp.Diff([]string{"0 CreateGroup new 0->0", "0 IncreaseSize new 0->2"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if left := w.waiting(); len(left) > 0 {
		t.Errorf("pods %v still wait", left)
	}
}

func TestAGroupThatCannotBeCreatedIsBackedOff(t *testing.T) {
	g := group("new", 0, 9, 0)
	g.Theoretical = true
	w := newWorld(t, []string{"--expander=least-waste"}, g, of(group("other", 0, 9, 0), simtest.Node("t").CPU("8")))
	w.cloud.Inject(simulated.Fault{On: simulated.CreateGroup, Err: &cloudprovider.QuotaError{Group: "new", Err: errors.New("too many groups")}})
	w.arrive(pods(1, "p", "4")...)
	w.to(time.Minute)
	if diff := cmp.Diff([]string{"0 CreateGroup new 0->0 refused", "0 IncreaseSize other 0->1"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
