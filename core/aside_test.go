package core_test

import (
	"errors"
	"strings"
	"testing"

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
