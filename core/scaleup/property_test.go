package scaleup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// anyWorld is a random world in which each pod needs half of the smallest machine at least.
func anyWorld(seed uint64) world {
	r := rand.New(rand.NewPCG(seed, 11))
	w := world{refuse: refusing{}, grants: map[cloudprovider.GroupID]int{}, first: r.IntN(2) == 0, parallel: r.IntN(2) == 0}
	zones := []string{"a", "b", "c"}
	for i := range 2 + r.IntN(4) {
		in := zones[i%len(zones)]
		g := zone(cloudprovider.GroupID(fmt.Sprintf("%s%d", in, i)), r.IntN(4), 1+r.IntN(9))
		g.variants = []simtest.NodeBuilder{simtest.Node("cloud").CPU([]string{"2", "2", "2", "4"}[r.IntN(4)]).Memory("8Gi").Zone(in)}
		switch r.IntN(12) {
		case 0:
			g.atomic = true
		case 1:
			g.weight = 2
		case 2:
			g.variants = append(g.variants, simtest.Node("cloud").CPU("2").Memory("8Gi").Zone(zones[(i+1)%len(zones)]))
		}
		switch r.IntN(6) {
		case 0:
			w.refuse[g.id] = none(g.id)
		case 1:
			w.refuse[g.id] = &cloudprovider.TransientError{Err: errors.New("busy")}
		case 2:
			w.refuse[g.id] = &cloudprovider.TransientError{OutcomeUnknown: true, Err: errors.New("cut off")}
		}
		w.grants[g.id] = r.IntN(3)
		w.groups = append(w.groups, g)
	}
	for _, in := range zones {
		w = w.on("", simtest.Node("old-"+in).CPU("1").Zone(in), "1")
	}
	if r.IntN(2) == 0 {
		w.balancing = balanced()
	}
	if r.IntN(2) == 0 {
		w.salvo = spent(false)
	}
	if r.IntN(3) == 0 {
		w.maxNodes = 4 + r.IntN(12)
	}
	if r.IntN(3) == 0 {
		w.limits = map[string]int64{"cpu": int64(6 + r.IntN(30))}
	}
	w.options.MaxNodesPerScaleUp = []int{0, 0, 1, 5}[r.IntN(4)]
	for kind := range 1 + r.IntN(4) {
		name, change := fmt.Sprintf("p%d", kind), func(b simtest.PodBuilder) simtest.PodBuilder { return b }
		switch r.IntN(4) {
		case 0, 1:
			change = func(b simtest.PodBuilder) simtest.PodBuilder {
				return b.Label("app", name).Spread(corev1.LabelTopologyZone, 1, "app", name)
			}
		case 2:
			in := zones[r.IntN(len(zones))]
			change = func(b simtest.PodBuilder) simtest.PodBuilder { return b.NodeSelector(corev1.LabelTopologyZone, in) }
		}
		for _, b := range many(1+r.IntN(9), name, []string{"1500m", "2", "3"}[r.IntN(3)]) {
			w.pods = append(w.pods, change(b))
		}
	}
	return w
}

// audit checks each request to the cloud of one round.
type audit struct {
	*testing.T
	world
	target  map[cloudprovider.GroupID]int // with what may have been bought
	nodes   int
	cores   int64
	refused map[cloudprovider.GroupID]bool
	bought  int // nodes, also those that may have been
}

func (w world) audit(t *testing.T) *audit {
	a := &audit{T: t, world: w, target: map[cloudprovider.GroupID]int{}, refused: map[cloudprovider.GroupID]bool{}, nodes: len(w.nodes), cores: int64(len(w.nodes))}
	for _, g := range w.groups {
		a.target[g.id] = g.target
	}
	return a
}

func (a *audit) act(ctx context.Context, resizes []report.Resize) ([]report.ResizeOutcome, error) {
	outcomes, err := a.world.act(ctx, resizes)
	for i, r := range resizes {
		var g group
		for _, other := range a.groups {
			if other.id == r.Group {
				g = other
			}
		}
		weight := max(1, g.weight)
		if a.refused[r.Group] {
			a.Errorf("%s refused and is asked again", r.Group)
		}
		if r.From != a.target[r.Group] || r.To <= r.From || r.To > g.max {
			a.Errorf("%s is to grow from %d to %d with a target of %d and a maximum of %d", r.Group, r.From, r.To, a.target[r.Group], g.max)
		}
		if i >= len(outcomes) {
			continue
		}
		units := outcomes[i].Granted
		if outcomes[i].Err != nil {
			a.refused[r.Group] = true
			if lost, ok := errors.AsType[*cloudprovider.TransientError](outcomes[i].Err); ok && lost.OutcomeUnknown {
				units = r.To - r.From
			}
		}
		a.target[r.Group] += units
		nodes := (units + weight - 1) / weight
		a.nodes, a.bought = a.nodes+nodes, a.bought+nodes
		cores := int64(0)
		for _, v := range g.variants {
			cores = max(cores, v.Build().Status.Capacity.Cpu().Value())
		}
		a.cores += cores * int64(nodes)
	}
	if a.maxNodes > 0 && a.nodes > max(a.maxNodes, len(a.world.nodes)) {
		a.Errorf("the cluster gets %d nodes, more than %d", a.nodes, a.maxNodes)
	}
	if limit := a.limits["cpu"]; limit > 0 && a.cores > limit {
		a.Errorf("the cluster gets %d cores, more than %d", a.cores, limit)
	}
	return outcomes, err
}

func (a *audit) grow() report.ScaleUp {
	a.Helper()
	in := a.in(a.T)
	grown := scaleup.Grow(a.Context(), in, a.choose(a.T), a.act)
	if in.Snapshot.Depth() != 0 || in.Snapshot.Len() != len(a.world.nodes) {
		a.Error("the snapshot is not as it was before the round")
	}
	return grown
}

func (a *audit) check(grown report.ScaleUp) {
	a.Helper()
	if grown.Err != nil {
		a.Error(grown.Err)
	}
	granted := map[cloudprovider.GroupID]int{}
	for _, o := range grown.Outcomes {
		granted[o.Group] += o.Granted
	}
	if len(grown.Pods) != len(a.pods) {
		a.Errorf("%d of %d pods have a verdict", len(grown.Pods), len(a.pods))
	}
	helped := map[cloudprovider.GroupID]int{}
	for _, v := range grown.Pods {
		if (v.Fate == report.PodTriggered) != (v.Grown != "") || v.Fate == report.PodTriggered && granted[v.Grown] < 1 {
			a.Errorf("%s is told %s, while %v was granted", v.Pod.Name, verdict(v), granted)
		}
		helped[v.Grown]++
	}
	atomic := false
	for _, g := range a.groups {
		atomic = atomic || g.atomic
		if granted[g.id] >= max(1, g.weight) && helped[g.id] == 0 {
			a.Errorf("%s grew by %d for no pod", g.id, granted[g.id])
		}
	}
	if a.bought > len(a.pods) && !atomic {
		a.Errorf("%d nodes were bought for %d pods", a.bought, len(a.pods))
	}
}

// Invariants 3 and 7: limits hold, whatever the cloud refuses, grants in part, or leaves unanswered, and nothing is bought twice.
func TestARandomRoundKeepsTheLimitsAndBuysNothingTwice(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a := anyWorld(seed).audit(t)
			grown := a.grow()
			a.check(grown)
			again := anyWorld(seed).audit(t).grow()
			if diff := cmp.Diff(grown, again, cmp.Comparer(func(x, y error) bool { return fmt.Sprint(x) == fmt.Sprint(y) })); diff != "" {
				t.Errorf("the same round ends in another way (-first +second):\n%s", diff)
			}
		})
	}
}
