package core_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
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
