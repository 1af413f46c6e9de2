package act_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/scaledown"
)

// adversary is a world in which everything goes wrong at random: pods appear on nodes that are being removed, unseen by the informers or
// not; evictions and updates are refused for a while; the cloud fails; the minimum is raised; the process dies.
type adversary struct {
	*stage
	random *rand.Rand
}

func (v adversary) within(limit time.Duration) time.Duration {
	return time.Duration(v.random.Int64N(int64(limit)))
}

// schedule prepares what will go wrong.
func (v adversary) schedule(nodes []string) {
	for i := range v.random.IntN(6) {
		name, on := fmt.Sprintf("late%d", i), nodes[v.random.IntN(len(nodes))]
		v.hidden[name] = v.random.IntN(2) == 0
		v.later(v.within(5*time.Minute), func() {
			if v.nodes[on] != nil {
				v.pods[name] = pod(name, on).Build()
			}
		})
	}
	for name := range v.pods {
		v.stops[name] = v.within(time.Minute)
		if v.random.IntN(8) == 0 {
			until := v.within(4 * time.Minute)
			v.refuse[name] = func() error {
				if v.time.Since(start) < until {
					return tooManyRequests()
				}
				return nil
			}
		}
	}
	for _, g := range v.groups {
		for range v.random.IntN(3) {
			g.errs = append(g.errs, []error{nil, errors.New("no"), &cloudprovider.TransientError{Err: errors.New("busy")}}[v.random.IntN(3)])
		}
		if v.random.IntN(4) == 0 {
			v.later(v.within(time.Minute), func() { g.state.Min++ })
		}
	}
	if v.random.IntN(3) == 0 {
		broken := nodes[v.random.IntN(len(nodes))]
		v.later(v.within(time.Minute), func() { v.unmarkErr[broken] = errors.New("away") })
		v.later(time.Minute+v.within(3*time.Minute), func() { delete(v.unmarkErr, broken) })
	}
	if v.random.IntN(4) == 0 {
		contended, times := nodes[v.random.IntN(len(nodes))], 1+v.random.IntN(3)
		v.later(time.Second, func() { v.conflicts[contended] = times }) // nobody moves the clock while nodes are tainted
	}
}

// populate makes two groups of nodes and a plan that removes some of them.
func (v adversary) populate() (plan scaledown.Plan, nodes []string) {
	for _, id := range []cloudprovider.GroupID{"g", "h"} {
		whole := v.random.IntN(3) == 0
		for i := range 1 + v.random.IntN(4) {
			name := fmt.Sprintf("%s%d", id, i)
			nodes = append(nodes, name)
			v.add(id, node(name))
			var pods []string
			for j := range v.random.IntN(3) {
				pods = append(pods, fmt.Sprintf("%s-%d", name, j))
				v.run(pod(pods[j], name))
			}
			candidate := v.candidate(id, name, pods...)
			candidate.Atomic = whole
			if whole || v.random.IntN(4) > 0 {
				part := planOf(candidate)
				plan.Empty, plan.Drain = append(plan.Empty, part.Empty...), append(plan.Drain, part.Drain...)
			}
		}
		v.groups[id].state.Min = v.random.IntN(2)
	}
	return plan, nodes
}

func TestWhateverGoesWrongNoUndrainedMachineEndsAndNothingIsLeftBehind(t *testing.T) {
	removed, failed := 0, 0
	for seed := range uint64(1500) {
		v := adversary{newStage(t, defaults()), rand.New(rand.NewPCG(seed, 7))}
		plan, nodes := v.populate()
		v.schedule(nodes)
		killed := v.random.IntN(3) == 0
		if killed { // in the middle of everything; what it did so far stays
			v.Shrink(silent(t), plan)
			v.play(v.within(3 * time.Minute))
			v.restart(t)
		} else {
			v.Shrink(silent(t), plan)
			v.play(time.Hour)
		}
		v.check(t, seed, nodes, killed)
		for _, line := range v.takeLog() {
			if strings.Contains(line, "delete") && strings.HasSuffix(line, "<nil>") {
				removed++
			}
		}
		for _, event := range v.events {
			if strings.HasPrefix(event, "ended") && !strings.HasSuffix(event, "Ok") {
				failed++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d orders carried out, %d removals given up", removed, failed)
	if removed < 300 || failed < 300 {
		t.Errorf("%d orders, %d given up: the test proves nothing", removed, failed)
	}
}

// restart is a successor that finds the nodes as they are.
func (v adversary) restart(t *testing.T) {
	v.time.Step(10 * time.Minute)
	v.plans = nil
	successor := newActuator(v.world, v.time, defaults())
	seen := observation.Observation{At: v.time.Now(), Members: map[string]cloudprovider.GroupID{}}
	seen.Nodes, _ = v.Nodes(silent(t))
	clear(v.unmarkErr)
	clear(v.conflicts)
	for _, n := range seen.Nodes {
		seen.Members[n.Name] = cloudprovider.GroupID(n.Name[:1])
	}
	if err := successor.CleanLeftovers(silent(t), seen); err != nil {
		t.Errorf("cleaning: %v", err)
	}
}

func (v adversary) check(t *testing.T, seed uint64, nodes []string, killed bool) {
	for _, name := range nodes {
		if got := v.look(name); got != unmarked && got != "gone" {
			t.Errorf("node %s is left as %s", name, got)
		}
	}
	for id, g := range v.groups {
		if g.lowest < 0 {
			t.Errorf("group %s fell below its minimum by %d", id, -g.lowest)
		}
	}
	if killed {
		return
	}
	begun, over := 0, 0
	for _, event := range v.events {
		if strings.HasPrefix(event, "begun") {
			begun++
		}
		if strings.HasPrefix(event, "ended") {
			over++
		}
	}
	if begun != over || slices.ContainsFunc(v.Deletions(), func(d observation.Deletion) bool { return !d.Accepted }) {
		t.Errorf("seed %d: %d removals began and %d ended; in progress: %v", seed, begun, over, v.Deletions())
	}
}
