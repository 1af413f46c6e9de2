package core_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

func TestAGroupWhoseNewNodesCannotBeDescribedIsToldOfBeforeAPodNeedsIt(t *testing.T) {
	w := newWorld(t, nil, group("broken", 0, 5, 0), group("good", 0, 5, 1))
	w.cloud.Inject(simulated.Fault{On: simulated.ReadTemplates, Group: "broken", Err: &cloudprovider.ConfigurationError{
		Group: "broken", Err: errors.New("launch template lt-1 names no instance type"),
	}})
	w.to(0)
	for _, got := range w.last.Groups {
		told := got.SetAside != nil && strings.Contains(got.SetAside.Error, "names no instance type")
		if want := got.Group == "broken"; told != want {
			t.Errorf("group %s is set aside: %v, want it told: %v", got.Group, got.SetAside, want)
		}
	}
	if len(w.last.Groups) != 2 {
		t.Errorf("the report tells of %d groups, want 2", len(w.last.Groups))
	}
}

// A group that is set aside is told of when that begins, when its reason changes, and not in every iteration.
func TestAGroupThatIsSetAsideIsToldOfOnce(t *testing.T) {
	w := newWorld(t, nil, group("broken", 0, 5, 0), group("good", 0, 5, 1))
	fail := func(text string) {
		w.cloud.Inject(simulated.Fault{On: simulated.ReadSize, Group: "broken", Err: errors.New(text)})
	}
	count := func(text string) int {
		events := 0
		for _, event := range w.events {
			if strings.Contains(event, "NodeGroupSetAside") && strings.Contains(event, "broken") && strings.Contains(event, text) {
				events++
			}
		}
		return events
	}
	fail("no such group")
	w.to(5 * time.Minute)
	if got := count("no such group"); got != 1 {
		t.Errorf("the group is told of %d times in 31 iterations, want once: %v", got, w.events)
	}
	if lines := strings.Count(w.logs.String(), "Set node group aside"); lines != 1 {
		t.Errorf("the log has %d lines about it, want one", lines)
	}
	if w.event("NodeGroupSetAside", "good") {
		t.Errorf("the other group is told of, too: %v", w.events)
	}
}

func TestARepairIsNoReasonToTellOfAGroup(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 5, 1))
	w.must(w.cloud.Next("g", simulated.Fate{Stuck: true}))
	_, err := w.cloud.SetTarget("g", 2)
	w.must(err)
	w.to(20 * time.Minute)
	if len(w.writes()) == 0 {
		t.Fatal("nothing was repaired")
	}
	if w.event("NodeGroupSetAside") {
		t.Errorf("events %v", w.events)
	}
}
