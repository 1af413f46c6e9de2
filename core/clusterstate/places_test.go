package clusterstate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// variants are templates of a group, one for each place.
func variants(places ...nodeinfos.Place) []cloudprovider.TemplateVariant {
	var out []cloudprovider.TemplateVariant
	for _, place := range places {
		node := simtest.Node("template").Zone(place.Zone).Label("node.kubernetes.io/instance-type", place.Type).Build()
		out = append(out, cloudprovider.TemplateVariant{Key: place.Zone + "/" + place.Type, Node: node})
	}
	return out
}

// short is an instance for which the cloud has no machine there.
func short(zone, kind string, class cloudprovider.ErrorClass) func(*cloudprovider.Instance) {
	return func(i *cloudprovider.Instance) {
		i.Zone, i.Type = zone, kind
		i.Error = &cloudprovider.InstanceError{Class: class, Code: "Q", Message: "none"}
	}
}

func TestAShortageInOnePlaceLeavesTheOthersOfTheGroup(t *testing.T) {
	const stock, other = cloudprovider.ErrorClassOutOfResources, cloudprovider.ErrorClassOther
	two := []nodeinfos.Place{{Zone: "a", Type: "m"}, {Zone: "b", Type: "m"}}
	four := append(two, nodeinfos.Place{Zone: "a", Type: "c"}, nodeinfos.Place{Zone: "b", Type: "c"})
	failed := func(zone, kind string) clusterstate.FailedPlace {
		return clusterstate.FailedPlace{Zone: zone, Type: kind, Until: after(5 * time.Minute), Code: "Q"}
	}
	for name, test := range map[string]struct {
		places  []nodeinfos.Place
		fail    []func(*cloudprovider.Instance)
		want    []clusterstate.FailedPlace
		backoff bool
	}{
		"one zone of two":                   {two, []func(*cloudprovider.Instance){short("a", "", stock)}, []clusterstate.FailedPlace{failed("a", "")}, false},
		"one zone of two, with the type":    {two, []func(*cloudprovider.Instance){short("a", "m", stock)}, []clusterstate.FailedPlace{failed("a", "m")}, false},
		"both zones at once":                {two, []func(*cloudprovider.Instance){short("b", "m", stock), short("a", "m", stock)}, []clusterstate.FailedPlace{failed("a", "m"), failed("b", "m")}, true},
		"one type of two":                   {four, []func(*cloudprovider.Instance){short("", "m", stock)}, []clusterstate.FailedPlace{failed("", "m")}, false},
		"one type in one zone":              {four, []func(*cloudprovider.Instance){short("a", "m", stock), short("a", "m", stock)}, []clusterstate.FailedPlace{failed("a", "m")}, false},
		"a type, and a zone of the other":   {four, []func(*cloudprovider.Instance){short("", "m", stock), short("a", "c", stock)}, []clusterstate.FailedPlace{failed("", "m"), failed("a", "c")}, false},
		"the only place of the group":       {two[:1], []func(*cloudprovider.Instance){short("a", "m", stock)}, nil, true},
		"a place that is not told":          {two, []func(*cloudprovider.Instance){short("", "", stock)}, nil, true},
		"a place that the group lacks":      {two, []func(*cloudprovider.Instance){short("z", "m", stock)}, nil, true},
		"something that is no shortage":     {two, []func(*cloudprovider.Instance){short("a", "m", other)}, nil, true},
		"a group of which nothing is known": {nil, []func(*cloudprovider.Instance){short("a", "m", stock)}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, len(test.fail))
			f.group.Variants = variants(test.places...)
			for _, change := range test.fail {
				f.instances(1, change)
			}
			r := newRegistry()
			state := r.Observe(see(t0, f))
			got := groupOf(state, f)
			if diff := cmp.Diff(test.want, got.FailedPlaces); diff != "" {
				t.Errorf("failed places (-want +got):\n%s", diff)
			}
			if (got.Backoff != nil) != test.backoff || (got.SafeToScaleUp() != nil) != test.backoff {
				t.Errorf("back-off %+v, want one: %t", got.Backoff, test.backoff)
			}
			if len(state.Failed) != 1 || state.Failed[0].Count != len(test.fail) {
				t.Errorf("news %+v, want all instances in one", state.Failed)
			}
			seen := see(after(5*time.Minute), f)
			if diff := cmp.Diff(test.want, groupOf(restarted(t, r.Save(), seen, t0).Observe(seen), f).FailedPlaces); diff != "" {
				t.Errorf("after a restart (-want +got):\n%s", diff)
			}
			if got := groupOf(r.Observe(see(after(5*time.Minute+time.Second), f)), f); len(got.FailedPlaces) != 0 || got.Backoff != nil {
				t.Errorf("later: failed places %v, back-off %v; want none", got.FailedPlaces, got.Backoff)
			}
		})
	}
}

func TestAPlaceThatFailsAgainIsAvoidedForLonger(t *testing.T) {
	f := newFleet("g", 0, 10, 1)
	f.group.Variants = variants(nodeinfos.Place{Zone: "a"}, nodeinfos.Place{Zone: "b"})
	f.instances(1, short("a", "", cloudprovider.ErrorClassOutOfResources))
	r := newRegistry()
	r.Observe(see(t0, f))
	f.instances(1, short("a", "", cloudprovider.ErrorClassOutOfResources))
	got := groupOf(r.Observe(see(after(6*time.Minute), f)), f)
	if len(got.FailedPlaces) != 1 || !got.FailedPlaces[0].Until.Equal(after(16*time.Minute)) {
		t.Errorf("failed places %+v, want a until 16m", got.FailedPlaces)
	}
	f.machines = nil
	r.Observe(see(after(4*time.Hour), f))
	f.instances(1, short("a", "", cloudprovider.ErrorClassOutOfResources))
	got = groupOf(r.Observe(see(after(4*time.Hour), f)), f)
	if len(got.FailedPlaces) != 1 || !got.FailedPlaces[0].Until.Equal(after(4*time.Hour+5*time.Minute)) {
		t.Errorf("failed places %+v, want a for five minutes again", got.FailedPlaces)
	}
}

// The cloud chooses the place. Where it chooses the same one for what is bought after it failed, buying on would never end.
func TestAGroupWhoseCloudInsistsOnThePlaceIsBackedOff(t *testing.T) {
	for name, test := range map[string]struct {
		buy     bool
		at      time.Duration
		backoff bool
	}{
		"bought again while the place is to be avoided": {true, time.Minute, true},
		"bought again after that":                       {true, 6 * time.Minute, false},
		"a late failure of the first purchase":          {false, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 1)
			f.group.Variants = variants(nodeinfos.Place{Zone: "a"}, nodeinfos.Place{Zone: "b"})
			f.instances(1, short("a", "", cloudprovider.ErrorClassOutOfResources))
			r := newRegistry()
			r.Observe(see(t0, f))
			if test.buy {
				r.AfterScaleUp(grown(f, 1, after(test.at-10*time.Second)), nil)
				f.group.Target++
			}
			f.instances(1, short("a", "", cloudprovider.ErrorClassOutOfResources))
			if got := groupOf(r.Observe(see(after(test.at), f)), f); (got.Backoff != nil) != test.backoff || len(got.FailedPlaces) != 1 {
				t.Errorf("back-off %+v, failed places %+v; want a back-off: %t", got.Backoff, got.FailedPlaces, test.backoff)
			}
		})
	}
}

func TestWhichFailureConcernsAVariant(t *testing.T) {
	g := clusterstate.GroupState{FailedPlaces: []clusterstate.FailedPlace{
		{Type: "m", Until: after(time.Minute)}, {Zone: "a", Type: "c", Until: after(time.Hour)}, {Zone: "b", Until: after(2 * time.Minute)},
	}}
	for name, test := range map[string]struct {
		place nodeinfos.Place
		until time.Duration // 0: no failure
	}{
		"its type":                         {nodeinfos.Place{Zone: "z", Type: "m"}, time.Minute},
		"its type and its zone":            {nodeinfos.Place{Zone: "b", Type: "m"}, 2 * time.Minute},
		"its type in its zone":             {nodeinfos.Place{Zone: "a", Type: "c"}, time.Hour},
		"its type in another zone":         {nodeinfos.Place{Zone: "z", Type: "c"}, 0},
		"a variant that names no zone":     {nodeinfos.Place{Type: "c"}, time.Hour},
		"another type in the failing zone": {nodeinfos.Place{Zone: "b", Type: "x"}, 2 * time.Minute},
		"neither":                          {nodeinfos.Place{Zone: "z", Type: "x"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := g.FailedAt(test.place)
			if ok != (test.until > 0) || ok && !got.Until.Equal(after(test.until)) {
				t.Errorf("failure %+v, %t", got, ok)
			}
		})
	}
}

// A shortage anywhere says that what was bought may not come.
func TestAShortageInOnePlaceEndsTheWaitForAPurchase(t *testing.T) {
	f := newFleet("g", 0, 10, 0)
	f.group.Variants = variants(nodeinfos.Place{Zone: "a"}, nodeinfos.Place{Zone: "b"})
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 2, t0), triggered)
	f.group.Target = 2
	f.creating(1).instances(1, short("a", "", cloudprovider.ErrorClassOutOfResources))
	r.Observe(see(after(10*time.Second), f))
	if got := r.Observe(see(after(20*time.Second), f)).Purchases; len(got) != 0 {
		t.Errorf("purchases %+v", got)
	}
}

func TestWhatTheCloudHasLearntElsewhereCountsAsFailedWhileItLasts(t *testing.T) {
	f := newFleet("g", 0, 10, 0)
	f.group.Shortages = []cloudprovider.Shortage{
		{Zone: "b", Type: "m", Until: after(time.Minute), Code: "short"}, {Zone: "a", Type: "m", Until: after(time.Hour), Code: "short"},
	}
	r := newRegistry()
	want := []clusterstate.FailedPlace{{Zone: "a", Type: "m", Until: after(time.Hour), Code: "short"}, {Zone: "b", Type: "m", Until: after(time.Minute), Code: "short"}}
	if diff := cmp.Diff(want, groupOf(r.Observe(see(t0, f)), f).FailedPlaces); diff != "" {
		t.Errorf("failed places (-want +got):\n%s", diff)
	}
	got := groupOf(r.Observe(see(after(2*time.Minute), f)), f)
	if diff := cmp.Diff(want[:1], got.FailedPlaces); diff != "" || got.Backoff != nil {
		t.Errorf("two minutes later (-want +got):\n%s", diff)
	}
}
