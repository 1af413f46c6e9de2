package cloudtest

import (
	"errors"
	"slices"
	"sync"

	"example.com/cluster-autoscaler/cloudprovider"
)

// workers is how many calls a check makes at once; it is more than the room that the groups have.
const workers = 8

func concurrencyChecks() []Check {
	return []Check{
		{
			Name:   "increases at once never pass the maximum and are all counted",
			groups: []Group{{ID: "a", Max: 6, Target: 1}}, run: increasesAtOnce,
		},
		{
			Name:   "deletions at once never pass the minimum",
			groups: []Group{{ID: "a", Min: 3, Max: 9, Target: workers}}, run: deletionsAtOnce,
		},
		{
			Name:   "all methods may be called at once",
			groups: []Group{{ID: "a", Max: 30, Target: 4}, {ID: "b", Max: 30, Target: 4}}, run: everythingAtOnce,
		},
	}
}

// atOnce calls f for 0 to workers-1 at the same time and waits for all.
func atOnce(f func(i int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range workers {
		group.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	group.Wait()
}

// retryable tells whether an error only says that the cloud was busy.
func retryable(err error) bool {
	e, ok := errors.AsType[*cloudprovider.TransientError](err)
	return ok && !e.OutcomeUnknown
}

func increasesAtOnce(r *rig) {
	r.refresh()
	g := r.group("a")
	granted := make([]int, workers)
	errs := make([]error, workers)
	atOnce(func(i int) { granted[i], errs[i] = g.IncreaseSize(r.Context(), 1) })
	sum := 0
	for i, n := range granted {
		sum += n
		switch {
		case n == 1 && errs[i] == nil, n == 0 && retryable(errs[i]):
		case n == 0 && errs[i] != nil:
			r.wantBounds(errs[i])
		default:
			r.Errorf("IncreaseSize(1) = %d, %v; want 1 and no error or 0 and an error", n, errs[i])
		}
	}
	if sum < 1 || sum > 5 {
		r.Errorf("granted %d in all with room for 5", sum)
	}
	r.wantTarget(1 + sum)
}

func deletionsAtOnce(r *rig) {
	r.refresh()
	g := r.group("a")
	machines := r.truth("a").Machines
	ended := make([]bool, workers)
	errs := make([]error, workers)
	atOnce(func(i int) {
		outcomes, err := g.DeleteNodes(r.Context(), refsOf(machines[i]))
		if err == nil && len(outcomes) == 1 {
			err = outcomes[0].Err
			ended[i] = err == nil
		}
		errs[i] = err
	})
	var left []string
	for i, id := range machines {
		if !ended[i] {
			left = append(left, id)
			if !retryable(errs[i]) {
				r.wantBounds(errs[i])
			}
		}
	}
	if len(left) < 3 || len(left) == workers {
		r.Errorf("%d machines are left, want at least the minimum of 3 and some gone", len(left))
	}
	r.wantTruth("a", Truth{Target: len(left), Machines: left})
}

func everythingAtOnce(r *rig) {
	r.refresh()
	a, b := r.truth("a").Machines, r.truth("b").Machines
	groupB := r.group("b")
	var lock sync.Mutex
	granted := map[cloudprovider.GroupID]int{}
	atOnce(func(i int) {
		for range 5 {
			_ = r.cloud.Refresh(r.Context())
			_ = r.cloud.GroupErrors()
			_, _ = r.cloud.GroupOf(nodeOf(a[0]))
			for _, g := range r.cloud.NodeGroups() {
				_ = listed(g.State())
				_, _ = g.Templates(r.Context())
				n, _ := g.IncreaseSize(r.Context(), 1)
				_, _ = g.DecreaseTargetSize(r.Context(), 1)
				lock.Lock()
				granted[g.ID()] += n
				lock.Unlock()
			}
			if checker, ok := r.cloud.(cloudprovider.InstanceChecker); ok {
				_, _ = checker.InstanceExists(nodeOf(b[0]))
			}
		}
		_, _ = groupB.DeleteNodes(r.Context(), refsOf(b[i%len(b)]))
	})
	r.harness.Settle()
	r.refresh()
	for id, before := range map[cloudprovider.GroupID][]string{"a": a, "b": b} {
		truth := r.truth(id)
		if got := r.group(id).State().Target; got != truth.Target {
			r.Errorf("target of %q = %d in the view, %d in the cloud", id, got, truth.Target)
		}
		kept := len(before) // of the machines that were there before
		for _, machine := range before {
			if !slices.Contains(truth.Machines, machine) {
				kept--
			}
		}
		if truth.Target != kept+granted[id] {
			r.Errorf("target of %q = %d, want the %d that were kept and the %d that were granted", id, truth.Target, kept, granted[id])
		}
	}
	if got := len(r.truth("a").Machines); got < len(a) {
		r.Errorf("%d machines in a, from which nothing was deleted, want at least %d", got, len(a))
	}
}
