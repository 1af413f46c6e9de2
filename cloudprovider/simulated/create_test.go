package simulated_test

import (
	"errors"
	"testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

// theoretical is a group that does not exist.
func theoretical(t *testing.T) (*world, cloudprovider.NodeGroup) {
	t.Helper()
	g := group()
	g.Theoretical = true
	w := newWorld(t, g)
	return w, w.group("g")
}

func create(t *testing.T, g cloudprovider.NodeGroup) (cloudprovider.NodeGroup, error) {
	t.Helper()
	creator, ok := g.(cloudprovider.GroupCreator)
	if !ok {
		t.Fatal("the group cannot be created")
	}
	return creator.Create(t.Context())
}

func TestAGroupThatDoesNotExistCannotGrow(t *testing.T) {
	_, g := theoretical(t)
	_, err := g.IncreaseSize(t.Context(), 1)
	if _, gone := errors.AsType[*cloudprovider.GoneError](err); !gone {
		t.Errorf("got %v, want that there is no such group", err)
	}
}

func TestAGroupThatIsCreatedExistsAndGrows(t *testing.T) {
	w, g := theoretical(t)
	created, err := create(t, g)
	if err != nil {
		t.Fatal(err)
	}
	if state := created.State(); state.Theoretical || !state.Autoprovisioned || created.ID() != "g" {
		t.Errorf("group %s: %+v, want one that exists", created.ID(), state)
	}
	if granted, err := created.IncreaseSize(t.Context(), 2); granted != 2 || err != nil {
		t.Errorf("granted %d, %v", granted, err)
	}
	if err := w.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state := w.group("g").State(); state.Theoretical || state.Target != 2 {
		t.Errorf("after a refresh: %+v", state)
	}
	writes := w.Writes()
	if len(writes) != 2 || !writes[0].Created || writes[0].Operation != simulated.CreateGroup {
		t.Errorf("writes: %+v", writes)
	}
	if _, err := create(t, g); err != nil || len(w.Writes()) != 2 {
		t.Errorf("creating it again: %v, %d writes; want a success that does nothing", err, len(w.Writes()))
	}
}

func TestCreatingAGroupMayFail(t *testing.T) {
	w, g := theoretical(t)
	w.Inject(simulated.Fault{On: simulated.CreateGroup, Err: errors.New("boom"), Count: 1})
	if _, err := create(t, g); err == nil {
		t.Error("no error")
	}
	if err := w.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !w.group("g").State().Theoretical {
		t.Error("the group exists")
	}
}
