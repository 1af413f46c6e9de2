package digitalocean_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

func TestARefusalForTheMinuteIsObeyedAndTheLoopGoesOn(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 1))
	r.refresh()
	r.server.Inject(dotest.Fault{Status: 429, RetryAfter: 40})
	r.after(10 * time.Second)
	r.server.ForgetCalls()
	r.after(10 * time.Second)
	if got := r.increase("web", 1); got != "0 Transient" {
		t.Errorf("IncreaseSize = %s, want 0 and a TransientError", got)
	}
	r.after(10 * time.Second)
	if got := len(r.server.Calls()); got != 0 {
		t.Errorf("%d calls before the time that the API asked for, want none", got)
	}
	r.after(25 * time.Second)
	if got := r.increase("web", 1); got != "1 ok" {
		t.Errorf("IncreaseSize = %s afterwards, want 1 ok", got)
	}
}

func TestARefusalForTheHourIsWaitedForLongerEachTime(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 1))
	r.refresh()
	r.server.SpendRequests(dotest.DefaultToken, 5000)
	r.server.ForgetCalls()
	for range 12 { // two minutes
		r.clock.Step(10 * time.Second)
		_ = r.provider.Refresh(r.ctx())
	}
	if got := len(r.server.Calls()); got < 1 || got > 3 {
		t.Errorf("%d calls in two minutes of refusals, want 1 to 3", got)
	}
}

func TestTheViewServesForTwoMinutesOfRefusalsAndThenRefreshFails(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 1))
	r.refresh()
	r.server.Inject(dotest.Fault{Operation: dotest.ListNodePools, Status: 503, Count: dotest.Always})
	for range 11 {
		r.after(10 * time.Second)
		if got := r.state("web").Target; got != 1 {
			t.Errorf("target %d, want 1", got)
		}
	}
	r.clock.Step(10 * time.Second)
	if err := r.provider.Refresh(r.ctx()); kind(err) != "Transient" {
		t.Errorf("Refresh after two minutes: %v, want a TransientError", err)
	}
}

func TestWithFewRequestsLeftTemplatesAreNotReadAndListingsAreRare(t *testing.T) {
	r := newRigOf(t, dotest.Config{Limits: dotest.Limits{PerHour: 1000, PerMinute: 1000}}, digitalocean.Options{}, on("web", 0, 9, 1))
	r.refresh()
	r.server.SpendRequests(dotest.DefaultToken, 920)
	r.after(10 * time.Second)
	r.server.ForgetCalls()
	for range 12 {
		if _, err := r.group("web").Templates(r.ctx()); kind(err) != "Transient" {
			t.Errorf("Templates: %v, want a TransientError", err)
		}
		r.after(10 * time.Second)
	}
	if got := r.server.Calls(); len(got) != 4 || r.server.Count(dotest.ListNodePools) != 4 {
		t.Errorf("%d calls in two minutes, %d of them listings; want 4 listings", len(got), r.server.Count(dotest.ListNodePools))
	}
	if got := r.increase("web", 1); got != "1 ok" {
		t.Errorf("IncreaseSize = %s, want 1 ok: writes come first", got)
	}
}

func TestOurOwnShareOfTheLimitIsKept(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 1))
	r.provider = r.connect(digitalocean.Options{CloudConfig: r.with(`"api_budget_percent": 2`)}) // 100 an hour
	for range 6 * 60 {
		r.clock.Step(10 * time.Second)
		_ = r.provider.Refresh(r.ctx())
	}
	if got := len(r.server.Calls()); got < 100 || got > 135 { // the burst of 30 comes on top
		t.Errorf("%d calls in an hour, want 100 and the burst", got)
	}
}

// callsPerHour counts the requests of an hour, by operation, while the loop runs every ten seconds as core does it.
func (r *rig) callsPerHour(each func(loop int)) map[string]int {
	r.t.Helper()
	r.server.ForgetCalls()
	for loop := range 6 * 60 {
		r.after(10 * time.Second)
		for _, g := range r.provider.NodeGroups() {
			if _, err := g.Templates(r.ctx()); err != nil && kind(err) != "Transient" {
				r.t.Fatal(err)
			}
		}
		each(loop)
	}
	counts := map[string]int{}
	for _, call := range r.server.Calls() {
		counts[call.Operation]++
		counts["all"]++
	}
	return counts
}

func TestCallsPerHourStayWellBelowTheLimit(t *testing.T) {
	t.Log("pools | idle: all, listings, templates | scaling: all, writes with their reads | upstream, idle | limit")
	for _, pools := range []int{1, 5, 13, 41} {
		t.Run(fmt.Sprintf("%d pools", pools), func(t *testing.T) {
			var list []dotest.Pool
			for i := range pools {
				list = append(list, on(fmt.Sprintf("p-%02d", i), 0, 1000, 1))
			}
			r := newRig(t, list...)
			r.refresh()
			idle := r.callsPerHour(func(int) {})
			// One pool grows every minute, and a node of another is deleted.
			scaling := r.callsPerHour(func(loop int) {
				if loop%6 != 0 {
					return
				}
				id := fmt.Sprintf("p-%02d", loop/6%pools)
				if got := r.increase(id, 2); got != "2 ok" {
					t.Fatalf("loop %d: raising %s: %s", loop, id, got)
				}
				if got := outcomes(r.group(id).DeleteNodes(r.ctx(), refs(r.node(id, 0)))); got != "ok" {
					t.Fatalf("loop %d: deleting a node of %s: %s", loop, id, got)
				}
			})
			writes := scaling[dotest.UpdateNodePool] + scaling[dotest.DeleteNode] + scaling[dotest.GetNodePool]
			t.Logf("%5d | %4d %4d %4d | %5d %4d | %6d | 5000", pools, idle["all"], idle[dotest.ListNodePools], idle[dotest.GetTemplate], scaling["all"], writes, 360*(1+pools))
			if idle["all"] > 360+12+2*pools+2 {
				t.Errorf("%d calls an hour while idle, want a listing per loop and few others", idle["all"])
			}
			if scaling["all"] > 2500 {
				t.Errorf("%d calls an hour while scaling, want at most half of the limit", scaling["all"])
			}
			for _, call := range r.server.Calls() {
				if call.Status == 429 {
					t.Errorf("a request was refused at %s", call.Time)
				}
			}
		})
	}
}

func TestFastLoopsDoNotListMoreOften(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 1))
	r.refresh()
	r.server.ForgetCalls()
	for range 60 {
		r.after(time.Second)
	}
	if got := r.server.Count(dotest.ListNodePools); got > 8 {
		t.Errorf("%d listings in a minute while idle, want at most 8", got)
	}
	r.increase("web", 1)
	r.server.ForgetCalls()
	for range 60 {
		r.after(time.Second)
	}
	if got := r.server.Count(dotest.ListNodePools); got < 10 || got > 15 {
		t.Errorf("%d listings in a minute while a machine is in creation, want 10 to 15", got)
	}
}

func TestEachRequestIsReported(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 2))
	r.refresh()
	r.template("web")
	r.server.Inject(dotest.Fault{Operation: dotest.UpdateNodePool, Status: 422})
	r.increase("web", 1)
	r.server.Inject(dotest.Fault{Operation: dotest.GetNodePool, Status: 503})
	r.increase("web", 1)
	r.group("web").DeleteNodes(r.ctx(), refs(r.node("web", 0)))
	want := []string{
		"ListNodePools success", "GetCluster success", "ListSizes success", "GetNodePoolTemplate success", "GetNodePool success",
		"UpdateNodePool unprocessable_entity", "GetNodePool service_unavailable", "GetNodePool success", "UpdateNodePool success",
		"GetNodePool success", "DeleteNode success",
	}
	if diff := cmp.Diff(want, r.observed.list()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// hang lets one request hang, and steps the clock to the deadline once it does. done is called in a goroutine of the test's.
func (r *rig) hang(operation string, done func()) {
	r.t.Helper()
	reached := make(chan struct{})
	r.server.Inject(dotest.Fault{Operation: operation, Hold: make(chan struct{}), Before: func() { close(reached) }})
	var over sync.WaitGroup
	over.Go(done)
	<-reached
	r.clock.Step(11 * time.Second)
	over.Wait()
}

func TestACallThatHangsIsGivenUp(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 2))
	r.refresh()
	r.clock.Step(10 * time.Second)
	r.hang(dotest.ListNodePools, func() {
		if err := r.provider.Refresh(r.ctx()); err != nil {
			t.Errorf("Refresh: %v, want the old view to serve", err)
		}
	})
	r.hang(dotest.UpdateNodePool, func() {
		if got := r.increase("web", 1); got != "0 Unknown" {
			t.Errorf("IncreaseSize = %s, want 0 and nobody knows", got)
		}
	})
	r.hang(dotest.DeleteNode, func() {
		if got := outcomes(r.group("web").DeleteNodes(r.ctx(), refs(r.node("web", 0)))); got != "Unknown" {
			t.Errorf("DeleteNodes: %s, want nobody knows", got)
		}
	})
	r.hang(dotest.GetTemplate, func() {
		if _, err := r.group("web").Templates(r.ctx()); kind(err) != "Transient" || !strings.Contains(err.Error(), "no answer within 10s") {
			t.Errorf("Templates: %v, want a TransientError that tells the deadline", err)
		}
	})
}

func TestNothingStaysBehindWhenTheProviderIsStopped(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 2))
	r.refresh()
	reached := make(chan struct{})
	r.server.Inject(dotest.Fault{Operation: dotest.UpdateNodePool, Hold: make(chan struct{}), Before: func() { close(reached) }})
	var over sync.WaitGroup
	var err error
	over.Go(func() { _, err = r.group("web").IncreaseSize(r.ctx(), 1) })
	<-reached
	if stopped := r.provider.Cleanup(r.ctx()); stopped != nil {
		t.Errorf("Cleanup: %v", stopped)
	}
	over.Wait()
	if err == nil || !strings.Contains(err.Error(), "has been stopped") {
		t.Errorf("the write under way: %v, want that the provider was stopped", err)
	}
	r.clock.Step(10 * time.Second)
	if err := r.provider.Refresh(r.ctx()); err == nil {
		t.Error("Refresh after Cleanup: no error")
	}
}

func TestDeletionsOfManyAtOnceAreAllCounted(t *testing.T) {
	r := newRig(t, on("web", 0, 40, 30))
	r.refresh()
	nodes := r.server.Nodes("web")
	var over sync.WaitGroup
	results := make([]string, 10)
	for i := range results {
		over.Go(func() { results[i] = outcomes(r.group("web").DeleteNodes(r.ctx(), refs(nodes[i]))) })
	}
	over.Wait()
	if slices.ContainsFunc(results, func(o string) bool { return o != "ok" }) {
		t.Errorf("outcomes %q", results)
	}
	r.after(10 * time.Second)
	if got := r.state("web").Target; got != 20 || r.server.Pool("web").Count != 20 {
		t.Errorf("target %d, count %d; want 20", got, r.server.Pool("web").Count)
	}
}

var _ cloudprovider.CallObserver = (*observed)(nil)
