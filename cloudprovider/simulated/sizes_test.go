package simulated_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

// variant is a template with a key of its own.
func variant(key, zone string, promise cloudprovider.Promise, weight int) cloudprovider.TemplateVariant {
	v := template(zone)
	v.Key, v.Promise, v.Weight = key, promise, weight
	return v
}

func TestMachinesComeInTheVariantsThatCanBeHad(t *testing.T) {
	const certain, possible = cloudprovider.PromiseCertain, cloudprovider.PromisePossible
	zones := []cloudprovider.TemplateVariant{template("z1"), template("z2"), template("z3")}
	types := []cloudprovider.TemplateVariant{variant("k1", "z1", possible, 1), variant("k2", "z1", possible, 1), variant("k3", "z2", possible, 1)}
	tests := map[string]struct {
		templates []cloudprovider.TemplateVariant
		stock     map[string]int
		fates     []simulated.Fate
		fate      simulated.Fate
		want      []string // variants of five machines; with a minus those that fail
	}{
		"certain ones in turn":              {templates: zones, want: []string{"z1", "z2", "z3", "z1", "z2"}},
		"none where the stock is empty":     {templates: zones, stock: map[string]int{"": 0}, want: []string{"-z1", "-z2", "-z3", "-z1", "-z2"}},
		"no more than the stock in all":     {templates: zones, stock: map[string]int{"": 3}, want: []string{"z1", "z2", "z3", "-z1", "-z2"}},
		"around a zone that is out":         {templates: zones, stock: map[string]int{"z2": 1}, want: []string{"z1", "z2", "z3", "z1", "z3"}},
		"no more than the stocks of zones":  {templates: zones, stock: map[string]int{"z1": 1, "z2": 0, "z3": 2}, want: []string{"z1", "z3", "z3", "-z2", "-z1"}},
		"the first of possible ones":        {templates: types, want: []string{"k1", "k1", "k1", "k1", "k1"}},
		"the next type when one is out":     {templates: types, stock: map[string]int{"k1": 2, "k2": 1}, want: []string{"k1", "k1", "k2", "k3", "k3"}},
		"the next type when a zone is out":  {templates: types, stock: map[string]int{"z1": 2}, want: []string{"k1", "k1", "k3", "k3", "k3"}},
		"possible ones after certain ones":  {templates: append([]cloudprovider.TemplateVariant{types[0]}, zones[1:]...), stock: map[string]int{"z2": 1, "z3": 1}, want: []string{"z2", "z3", "k1", "k1", "k1"}},
		"what the fate says, stock or none": {templates: types, stock: map[string]int{"k2": 0}, fates: []simulated.Fate{{Variant: "k2"}, {Variant: "k3"}}, want: []string{"k2", "k3", "k1", "k1", "k1"}},
		"failing ones use up no stock": {
			templates: zones[:1], stock: map[string]int{"": 2},
			fates: []simulated.Fate{{Error: &cloudprovider.InstanceError{Code: "X"}}, {Error: &cloudprovider.InstanceError{Code: "X"}}},
			want:  []string{"-z1", "-z1", "z1", "z1", "-z1"},
		},
		"failing ones that exist use up stock": {
			templates: zones[:1], stock: map[string]int{"": 2},
			fates: []simulated.Fate{{Error: &cloudprovider.InstanceError{Code: "X"}, Exists: true}},
			want:  []string{"-z1", "z1", "-z1", "-z1", "-z1"},
		},
		"the fate of the group after those of the next": {
			templates: zones[:1], fates: []simulated.Fate{{}, {}}, fate: simulated.Fate{Error: &cloudprovider.InstanceError{Code: "X"}},
			want: []string{"z1", "z1", "-z1", "-z1", "-z1"},
		},
		"certain is what nothing is said about": {
			templates: []cloudprovider.TemplateVariant{variant("u", "z1", cloudprovider.PromiseUnset, 0), variant("c", "z2", certain, 0)},
			want:      []string{"u", "c", "u", "c", "u"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := group()
			g.Templates, g.Stock, g.Fate = test.templates, test.stock, test.fate
			w := newWorld(t, g)
			w.must(w.Next("g", test.fates...))
			w.increase(5)
			var got []string
			for _, m := range w.Machines() {
				if m.Instance.Error != nil {
					got = append(got, "-"+m.Variant)
				} else {
					got = append(got, m.Variant)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("variants (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMachineThatCannotBeHadSaysWhatIsMissing(t *testing.T) {
	g := group()
	g.Stock = map[string]int{"z1": 0}
	w := newWorld(t, g)
	w.increase(1)
	want := &cloudprovider.InstanceError{
		Class: cloudprovider.ErrorClassOutOfResources, Code: "InsufficientCapacity", Message: "there are no more four.core in z1",
	}
	if diff := cmp.Diff(want, w.Machines()[0].Instance.Error); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestTheStockIsWhatIsLeft(t *testing.T) {
	g := group()
	g.Stock = map[string]int{"": 5}
	w := newWorld(t, g)
	w.increase(2)
	w.delete(w.Machines()[0].Instance.ID) // doesn't return to the stock
	if now, _ := w.Group("g"); now.Stock[""] != 3 {
		t.Errorf("stock = %d, want 3", now.Stock[""])
	}
	if g.Stock[""] != 5 {
		t.Errorf("the caller's stock was changed to %d", g.Stock[""])
	}
}

func TestMachinesOfWeightCountAsTheyWeigh(t *testing.T) {
	g := group()
	g.Templates = []cloudprovider.TemplateVariant{
		variant("c.2xl", "z1", cloudprovider.PromisePossible, 1), variant("c.4xl", "z1", cloudprovider.PromisePossible, 2),
	}
	g.Min, g.Target = 2, 4
	g.Existing = []simulated.Existing{{NodeName: "big", Variant: "c.4xl"}, {NodeName: "small-1"}, {NodeName: "small-2"}}
	w := newWorld(t, g)
	if got := len(w.Machines()); got != 3 {
		t.Fatalf("%d machines make 4 units, want 3", got)
	}
	// A heavy one comes for one unit: the target stays, and what is too much is nothing to repair.
	w.must(w.Next("g", simulated.Fate{Variant: "c.4xl"}))
	w.increase(1)
	w.wantTarget(5)
	if got := len(w.Machines()); got != 4 {
		t.Fatalf("%d machines, want 4", got)
	}
	lowered, err := w.group("g").DecreaseTargetSize(t.Context(), 1)
	if lowered != 0 || err != nil {
		t.Errorf("DecreaseTargetSize = %d, %v; want 0", lowered, err)
	}
	// The unit beyond the target goes first and lowers nothing.
	w.delete("simulated:///z1/small-1")
	w.wantTarget(5)
	w.delete("simulated:///z1/big")
	w.wantTarget(3)
	_, err = w.group("g").DeleteNodes(t.Context(), refs("simulated:///z1/g-0001"))
	if stale, ok := errors.AsType[*cloudprovider.StaleBoundsError](err); !ok || stale.Asked != 2 || stale.Room != 1 {
		t.Errorf("DeleteNodes of two units above the minimum by one: %v, want a StaleBoundsError with 2 and 1", err)
	}
}

func TestAForeignLoweringTakesWhatCostsLeastAndThenTheOldest(t *testing.T) {
	tests := map[string]struct {
		keep      bool
		target    int
		want      []string
		wantEnded []string
	}{
		"failed requests first": {
			target: 5,
			want:   []string{"g-0001 running registered", "g-0002 running registered", "g-0003 creating", "placeholder-g-0005 creating placeholder", "placeholder-g-0006 creating placeholder"},
		},
		"then the youngest requests": {
			target: 4,
			want:   []string{"g-0001 running registered", "g-0002 running registered", "g-0003 creating", "placeholder-g-0005 creating placeholder"},
		},
		"then the oldest machines": {
			target:    2,
			want:      []string{"g-0001 deleting registered", "g-0002 running registered", "g-0003 creating"},
			wantEnded: []string{"g-0001 running registered"},
		},
		"all of them": {
			target:    0,
			want:      []string{"g-0001 deleting registered", "g-0002 deleting registered", "g-0003 deleting"},
			wantEnded: []string{"g-0001 running registered", "g-0002 running registered", "g-0003 creating"},
		},
		"none that exist where a surplus is kept": {
			keep: true, target: 0,
			want: []string{"g-0001 running registered", "g-0002 running registered", "g-0003 creating"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := slow()
			g.Target, g.KeepSurplus = 2, test.keep
			w := newWorld(t, g)
			w.increase(2)
			w.to(5 * time.Second)
			w.increase(2) // young when the first two have come
			w.must(w.Break("simulated:///z1/placeholder-g-0004", cloudprovider.InstanceError{Code: "X"}))
			w.to(12 * time.Second)
			ended := w.setTarget(test.target)
			strip := func(lines []string) []string {
				for i := range lines {
					lines[i] = lines[i][len("simulated:///z1/"):]
				}
				return lines
			}
			if diff := cmp.Diff(test.want, strip(told(w.Machines()))); diff != "" {
				t.Errorf("machines (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantEnded, strip(told(ended))); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
			w.wantTarget(test.target)
			if got := len(w.Writes()); got != 2 {
				t.Errorf("%d writes, want the two of the autoscaler only", got)
			}
		})
	}
}

func TestASurplusGoesWithoutLoweringTheTarget(t *testing.T) {
	g := group()
	g.Min, g.Target, g.KeepSurplus = 2, 4, true
	w := newWorld(t, g)
	w.setTarget(2)
	w.delete("simulated:///z1/g-0001", "simulated:///z1/g-0002")
	w.wantTarget(2)
	_, err := w.group("g").DeleteNodes(t.Context(), refs("simulated:///z1/g-0003"))
	if stale, ok := errors.AsType[*cloudprovider.StaleBoundsError](err); !ok || stale.Asked != 1 || stale.Room != 0 {
		t.Errorf("DeleteNodes at the minimum: %v, want a StaleBoundsError with 1 and 0", err)
	}
}

func TestALostMachineIsReplacedAndTheTargetStays(t *testing.T) {
	g := slow()
	g.Target = 2
	w := newWorld(t, g)
	w.must(w.Lose("simulated:///z1/g-0001"))
	w.wantTarget(2)
	w.wantMachines("simulated:///z1/g-0002 running registered", "simulated:///z1/placeholder-g-0003 creating placeholder")
	w.to(time.Minute)
	w.wantMachines("simulated:///z1/g-0002 running registered", "simulated:///z1/g-0003 running registered")
	if err := w.Lose("simulated:///z1/g-0001"); err == nil {
		t.Error("losing it again: no error, want one")
	}
}

func TestALossWithoutStockLeavesAFailedRequest(t *testing.T) {
	g := slow()
	g.Target, g.Stock = 1, map[string]int{"": 0}
	w := newWorld(t, g)
	w.must(w.Lose("simulated:///z1/g-0001"))
	w.to(20 * time.Second)
	w.wantMachines("simulated:///z1/placeholder-g-0002 creating placeholder InsufficientCapacity")
	// With new stock the cloud tries again, if it does.
	w.update(func(g *simulated.Group) { g.Stock = nil })
	w.must(w.Retry("g"))
	w.wantMachines("simulated:///z1/placeholder-g-0003 creating placeholder")
	w.to(time.Hour)
	w.wantMachines("simulated:///z1/g-0003 running registered")
	w.wantTarget(1)
}

func TestAForeignTerminationLowersTheTarget(t *testing.T) {
	g := slow()
	g.Min, g.Target = 2, 2
	w := newWorld(t, g)
	w.must(w.Terminate("simulated:///z1/g-0002"))
	w.wantTarget(1) // the bounds of the autoscaler bind nobody else
	w.wantMachines("simulated:///z1/g-0001 running registered", "simulated:///z1/g-0002 deleting registered")
	w.to(15 * time.Second)
	w.wantMachines("simulated:///z1/g-0001 running registered")
}

func TestABrokenMachineShowsItsErrorAndGoesNoFurther(t *testing.T) {
	g := slow()
	g.Target = 1
	w := newWorld(t, g)
	w.increase(1)
	w.to(15 * time.Second)
	w.must(w.Break("simulated:///z1/g-0001", cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOther, Code: "Burnt"}))
	w.must(w.Break("simulated:///z1/g-0002", cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOther, Code: "Smoky"}))
	w.to(time.Hour)
	w.wantMachines("simulated:///z1/g-0001 running Burnt registered", "simulated:///z1/g-0002 creating Smoky")
	lowered, err := w.group("g").DecreaseTargetSize(t.Context(), 2)
	if lowered != 0 || err != nil {
		t.Errorf("DecreaseTargetSize = %d, %v; want 0, as both exist", lowered, err)
	}
}

func TestAPartialGrantGivesTheRoomThereIs(t *testing.T) {
	for partial, want := range map[bool]int{true: 4, false: 0} {
		g := group()
		g.Max, g.PartialGrants = 4, partial
		w := newWorld(t, g)
		granted, err := w.group("g").IncreaseSize(t.Context(), 6)
		stale, ok := errors.AsType[*cloudprovider.StaleBoundsError](err)
		if granted != want || !ok || stale.Asked != 6 || stale.Room != 4 {
			t.Errorf("partial %t: IncreaseSize(6) = %d, %v; want %d and a StaleBoundsError with 6 and 4", partial, granted, err, want)
		}
		w.wantTarget(want)
	}
}

func TestAnAtomicIncreaseNeedsStockForAll(t *testing.T) {
	g := group()
	g.Templates = []cloudprovider.TemplateVariant{template("z1"), template("z2")}
	g.Stock = map[string]int{"z1": 1, "z2": 1}
	w := newWorld(t, g)
	atomic := w.group("g").(cloudprovider.AtomicIncreaser)
	granted, err := atomic.IncreaseSizeAtomically(t.Context(), 3)
	if short, ok := errors.AsType[*cloudprovider.OutOfResourcesError](err); granted != 0 || !ok || short.Group != "g" || short.Code != "InsufficientCapacity" {
		t.Errorf("IncreaseSizeAtomically(3) = %d, %v; want 0 and an OutOfResourcesError", granted, err)
	}
	w.wantTarget(0)
	if granted, err := atomic.IncreaseSizeAtomically(t.Context(), 2); granted != 2 || err != nil {
		t.Errorf("IncreaseSizeAtomically(2) = %d, %v; want 2", granted, err)
	}
	w.wantMachines("simulated:///z1/g-0001 running registered", "simulated:///z2/g-0002 running registered")
}

func TestAForcedDeletionAtTheMinimumIsReplaced(t *testing.T) {
	g := group()
	g.Min, g.Target = 2, 3
	w := newWorld(t, g)
	outcomes, err := w.group("g").(cloudprovider.ForceDeleter).ForceDeleteNodes(t.Context(), refs("simulated:///z1/g-0001", "simulated:///z1/g-0002"))
	if err != nil || len(outcomes) != 2 || outcomes[0].Err != nil || outcomes[1].Err != nil {
		t.Errorf("ForceDeleteNodes = %v, %v; want two successes", outcomes, err)
	}
	w.wantTarget(2)
	w.wantMachines("simulated:///z1/g-0003 running registered", "simulated:///z1/g-0004 running registered")
}

func TestAGroupBelowItsMinimumMayStillGrow(t *testing.T) {
	g := group()
	g.Target = 1
	w := newWorld(t, g)
	w.update(func(g *simulated.Group) { g.Min = 3 })
	w.wantTarget(1)
	w.increase(1)
	w.wantTarget(2)
}
