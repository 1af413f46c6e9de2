package digitalocean_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

// wantWrites compares the writes with what they should be.
func (r *rig) wantWrites(want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.writes()); diff != "" {
		r.t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// wantNoChoice wants that DOKS never had to choose nodes that go.
func (r *rig) wantNoChoice() {
	r.t.Helper()
	for _, e := range r.server.Endings() {
		if e.Cause == dotest.CauseChoice && e.Node.Listed {
			r.t.Errorf("DOKS chose node %s in state %s", e.Node.ID, e.Node.State)
		}
	}
}

// increase is the outcome of IncreaseSize in a word.
func (r *rig) increase(id string, delta int) string {
	granted, err := r.group(id).IncreaseSize(r.ctx(), delta)
	return fmt.Sprintf("%d %s", granted, kind(err))
}

func (r *rig) decrease(id string, by int) string {
	lowered, err := r.group(id).DecreaseTargetSize(r.ctx(), by)
	return fmt.Sprintf("%d %s", lowered, kind(err))
}

func TestTheBoundsOfARaise(t *testing.T) {
	for name, test := range map[string]struct {
		maximum, delta int
		want           string
	}{
		"to the maximum": {maximum: 5, delta: 3, want: "3 ok"}, "beyond it": {maximum: 5, delta: 4, want: "0 StaleBounds(3 of 4)"},
		"with none allowed": {maximum: 0, delta: 1, want: "0 StaleBounds(0 of 1)"}, "by nothing": {maximum: 5, want: "0 Other"},
		"by less": {maximum: 5, delta: -1, want: "0 Other"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := on("web", 0, test.maximum, 2)
			r := newRig(t, pool)
			r.refresh()
			if got := r.increase("web", test.delta); got != test.want {
				t.Errorf("IncreaseSize = %s, want %s", got, test.want)
			}
			wrote := len(r.server.Writes()) > 0
			if wrote != (test.want == "3 ok") {
				t.Errorf("writes %q", r.writes())
			}
		})
	}
}

func TestARaiseSendsNothingButTheCount(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 2))
	r.refresh()
	r.increase("web", 1)
	r.wantWrites(`PUT web {"count":3}`)
}

func TestARaiseThatIsGrantedInPartIsToldAndNoMoreIsAskedForAWhile(t *testing.T) {
	for grant, want := range map[int]string{0: "0 OutOfResources CAPACITY", 2: "2 StaleBounds(2 of 3)", 3: "3 ok"} {
		t.Run(want, func(t *testing.T) {
			pool := on("web", 0, 9, 1)
			pool.Grant = &grant
			r := newRig(t, pool, on("api", 0, 9, 1))
			r.refresh()
			if got := r.increase("web", 3); got != want {
				t.Errorf("IncreaseSize = %s, want %s", got, want)
			}
			r.after(10 * time.Second)
			if s := r.state("web"); s.Target != 1+grant || grant < 3 && s.Max != 1+grant {
				t.Errorf("target %d of at most %d, want %d", s.Target, s.Max, 1+grant)
			}
			if grant == 3 {
				return
			}
			if got := r.notices(); len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf("3 more nodes, a count of 4, and answered with a count of %d", 1+grant)) {
				t.Errorf("notices %q, want one with all numbers", got)
			}
			r.server.ForgetCalls()
			if got := r.increase("web", 1); got != "0 StaleBounds(0 of 1)" || len(r.server.Writes()) != 0 {
				t.Errorf("again: %s with the writes %q, want a refusal without any", got, r.writes())
			}
			if got := r.increase("api", 3); got != "3 ok" {
				t.Errorf("another pool: %s, want 3 ok", got)
			}
			r.after(6 * time.Minute)
			if got := r.state("web").Max; got != 9 {
				t.Errorf("maximum %d after a while, want 9", got)
			}
		})
	}
}

func TestAResizeThatFailsForGoodIsNoTransientErrorC13(t *testing.T) {
	r := newRig(t, on("a", 0, 5, 1), on("b", 0, 5, 1))
	r.refresh()
	r.server.Inject(dotest.Fault{Operation: dotest.UpdateNodePool, Pool: "a", Status: 500, Count: dotest.Always})
	if got := r.increase("a", 1); got != "0 Other" { // core backs the group off
		t.Errorf("IncreaseSize = %s, want 0 and an error that backs off", got)
	}
	if got := r.server.Count(dotest.UpdateNodePool); got != 1 {
		t.Errorf("%d resizes, want 1", got)
	}
	if got := r.increase("b", 1); got != "1 ok" {
		t.Errorf("the other pool: %s, want 1 ok", got)
	}
}

func TestAResizeWhoseErrorIsWrongCountsAsCarriedOutC13(t *testing.T) {
	for name, fault := range map[string]dotest.Fault{
		"500": {Status: 500, Carried: true}, "cut": {Cut: true, Carried: true}, "half": {Half: true}, "nothing": {Body: new("")},
		"an empty object": {Body: new("{}")}, "no JSON": {Body: new("<html>")}, "a pool without id": {Body: new(`{"node_pool":{"count":9}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, on("a", 0, 5, 1))
			r.refresh()
			fault.Operation = dotest.UpdateNodePool
			r.server.Inject(fault)
			if got := r.increase("a", 2); got != "2 ok" {
				t.Errorf("IncreaseSize = %s, want 2 ok", got)
			}
			r.after(10 * time.Second)
			if s := r.state("a"); s.Target != 3 || len(s.Instances) != 3 {
				t.Errorf("target %d with %d instances, want 3 and 3", s.Target, len(s.Instances))
			}
		})
	}
}

func TestAnOldListingDoesNotTakeBackWhatWasWritten(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 3))
	r.clock.Step(time.Minute)
	r.refresh()
	r.increase("web", 2)
	victim := r.node("web", 0)
	if got := outcomes(r.group("web").DeleteNodes(r.ctx(), refs(victim))); got != "ok" {
		t.Fatalf("DeleteNodes: %s", got)
	}
	r.server.Inject(dotest.Fault{Operation: dotest.ListNodePools, Stale: 20 * time.Second, Count: dotest.Always})
	r.after(10 * time.Second)
	s := r.state("web")
	if s.Target != 4 {
		t.Errorf("target %d by an old listing, want 4", s.Target)
	}
	if got := len(r.server.Calls()); got == 0 || r.server.Calls()[got-1].Operation != dotest.ListNodePools {
		t.Error("the old listing was not the last that was read")
	}
	for _, i := range s.Instances {
		if i.ID == victim.ProviderID() && i.State != cloudprovider.InstanceDeleting {
			t.Errorf("the node that ends is %s", i.State)
		}
	}
	r.after(30 * time.Second)
	if got := r.state("web").Target; got != 4 {
		t.Errorf("target %d by a newer listing, want 4", got)
	}
	must(t, r.server.UpdatePool("web", func(p *dotest.Pool) { p.Count = 3 }))
	r.after(30 * time.Second)
	if got := r.state("web").Target; got != 3 {
		t.Errorf("target %d after somebody else's change, want 3", got)
	}
}

func TestDeletionsGoByTheIDOfTheDOKSNode(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 5), on("api", 0, 9, 1))
	r.refresh()
	nodes := r.server.Nodes("web")
	list := refs(nodes[:4]...)
	list[1].Labels = nil                         // by its Droplet
	list[2].Labels, list[2].ProviderID = nil, "" // by its name
	list[3].ProviderID, list[3].Name = "", ""    // by its label
	if got := outcomes(r.group("web").DeleteNodes(r.ctx(), list)); got != "ok ok ok ok" {
		t.Errorf("outcomes %s", got)
	}
	var want []string
	for _, node := range nodes[:4] {
		want = append(want, "DELETE web "+node.ID)
	}
	if diff := cmp.Diff(sorted(want), sorted(r.writes())); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if got := r.server.Pool("web").Count; got != 1 {
		t.Errorf("count %d, want 1", got)
	}
}

func TestANodeWithoutTheLabelThatNothingElseTellsIsOneClearError(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 2))
	r.refresh()
	odd := cloudprovider.NodeRef{Name: "stray", ProviderID: "digitalocean://9"}
	list, err := r.group("web").DeleteNodes(r.ctx(), append([]cloudprovider.NodeRef{odd}, refs(r.node("web", 0))...))
	if got := outcomes(list, err); got != "Other ok" {
		t.Fatalf("outcomes %s, want an error and ok", got)
	}
	for _, want := range []string{"stray", "digitalocean://9", "web", "doks.digitalocean.com/node-id"} {
		if !strings.Contains(list[0].Err.Error(), want) {
			t.Errorf("error %q doesn't name %q", list[0].Err, want)
		}
	}
}

func TestNodesOfAnotherPoolAreNotDeleted(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 2), on("api", 0, 9, 1), dotest.Pool{ID: "system", Count: 1})
	r.refresh()
	api, system := refs(r.node("api", 0))[0], refs(r.node("system", 0))[0]
	bare := api
	bare.Labels = nil
	pending := cloudprovider.NodeRef{Name: "digitalocean://pending-x", ProviderID: "digitalocean://placeholder-api-0"}
	if got := outcomes(r.group("web").DeleteNodes(r.ctx(), []cloudprovider.NodeRef{api, bare, system, pending})); got != "Other Other Other Other" {
		t.Errorf("outcomes %s, want four errors", got)
	}
	r.wantWrites()
}

func TestAMachineWhoseNodeObjectWasDeletedEndsByItsOwnNodeC39(t *testing.T) {
	r := newRig(t, on("p", 1, 3, 2))
	r.refresh()
	lost := r.node("p", 1)
	ref := cloudprovider.RefOfInstance(r.state("p").Instances[1])
	if ref.ProviderID != lost.ProviderID() {
		t.Fatalf("instance %q, want %q", ref.ProviderID, lost.ProviderID())
	}
	if got := outcomes(r.group("p").DeleteNodes(r.ctx(), []cloudprovider.NodeRef{ref})); got != "ok" {
		t.Errorf("outcomes %s", got)
	}
	r.wantWrites("DELETE p " + lost.ID + "?skip_drain=1") // nothing to drain
	if got := r.server.Pool("p").Count; got != 1 {
		t.Errorf("count %d, want 1", got)
	}
}

func TestDrainedNodesAreDrainedOnceMoreOnlyIfTheConfigDoesNotForbidIt(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 2))
	r.provider = r.connect(digitalocean.Options{CloudConfig: r.with(`"skip_drain_on_delete": true`)})
	r.refresh()
	node := r.node("web", 0)
	r.group("web").DeleteNodes(r.ctx(), refs(node))
	r.wantWrites("DELETE web " + node.ID + "?skip_drain=1")
}

func TestANodeThatIsStuckWithoutADropletIsDeletedByItsID(t *testing.T) {
	pool := on("web", 0, 9, 1)
	pool.Stuck = dotest.StuckNoDroplet
	r := newRig(t, pool)
	r.refresh()
	r.increase("web", 2)
	r.after(20 * time.Minute)
	stuck := r.server.Nodes("web")[1:]
	r.server.ForgetCalls()
	if got := outcomes(r.group("web").DeleteNodes(r.ctx(), places(r.state("web")))); got != "ok ok" {
		t.Errorf("outcomes %s", got)
	}
	want := []string{"DELETE web " + stuck[0].ID + "?skip_drain=1", "DELETE web " + stuck[1].ID + "?skip_drain=1"}
	if diff := cmp.Diff(sorted(want), sorted(r.writes())); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if got := r.server.Pool("web").Count; got != 1 {
		t.Errorf("count %d, want 1", got)
	}
}

func TestAPlaceIsGivenUpOnlyAfterAWhileAndOnlyByProofThatNothingIsListedForIt(t *testing.T) {
	pool := on("web", 0, 9, 1)
	pool.Delays.List = time.Hour
	r := newRig(t, pool, dotest.Pool{ID: "system", Count: 1})
	r.refresh()
	r.increase("web", 2)
	r.after(10 * time.Second)
	if got := shape(r.state("web")); got != "running creating* creating*" {
		t.Fatalf("instances %s, want two places", got)
	}
	two := places(r.state("web"))
	if got := outcomes(r.group("web").DeleteNodes(r.ctx(), two)); got != "Transient Transient" {
		t.Errorf("at once: %s, want to wait", got)
	}
	if got := r.decrease("web", 2); got != "0 ok" {
		t.Errorf("at once: lowered %s, want 0 ok", got)
	}
	r.after(6 * time.Minute)
	r.server.ForgetCalls()
	if got := outcomes(r.group("web").DeleteNodes(r.ctx(), two[:1])); got != "ok" {
		t.Errorf("later: %s, want ok", got)
	}
	if got := r.decrease("web", 5); got != "1 ok" {
		t.Errorf("later: lowered %s, want 1 ok", got)
	}
	r.wantWrites(`PUT web {"count":2}`, `PUT web {"count":1}`)
	if got := outcomes(r.group("web").DeleteNodes(r.ctx(), two)); got != "ok ok" {
		t.Errorf("places that are gone: %s, want ok", got)
	}
	r.wantNoChoice()
}

func TestANodeThatIsListedRightBeforeItsPlaceIsWithdrawnKeepsIt(t *testing.T) {
	pool := on("web", 0, 9, 1)
	pool.Delays.List = time.Hour
	r := newRig(t, pool)
	r.refresh()
	r.increase("web", 1)
	r.after(10 * time.Minute)
	late := r.node("web", 1)
	r.server.Inject(dotest.Fault{Operation: dotest.GetNodePool, Skip: 1, Before: func() {
		must(t, r.server.UpdateNode(late.ID, func(n *dotest.Node) { n.Listed = true }))
	}})
	r.server.ForgetCalls()
	if got := r.decrease("web", 1); got != "0 ok" {
		t.Errorf("lowered %s, want 0 ok", got)
	}
	r.wantWrites()
	r.wantNoChoice()
}

func TestANodeThatIsListedWhileItsPlaceIsWithdrawnMakesTheCountRiseAgain(t *testing.T) {
	pool := on("web", 0, 9, 1)
	pool.Delays.List, pool.Delays.Drain = time.Hour, time.Hour
	r := newRig(t, pool)
	r.refresh()
	r.increase("web", 1)
	r.after(10 * time.Minute)
	// The answer shows one more node than the count: DOKS has not chosen yet.
	body := fmt.Sprintf(`{"node_pool":{"id":"web","name":"web","count":1,"auto_scale":true,"max_nodes":9,"nodes":[
		{"id":%q,"status":{"state":"running"},"droplet_id":"1"},{"id":"new","status":{"state":"provisioning"},"droplet_id":""}]}}`, r.node("web", 0).ID)
	r.server.Inject(dotest.Fault{Operation: dotest.UpdateNodePool, Body: &body})
	r.server.ForgetCalls()
	if got := r.decrease("web", 1); got != "0 ok" {
		t.Errorf("lowered %s, want 0 ok", got)
	}
	r.wantWrites(`PUT web {"count":1}`, `PUT web {"count":2}`)
}

func TestADecreaseWithdrawsFailedNodesByTheirIDsAndStopsAtTheMinimum(t *testing.T) {
	pool, none := on("web", 2, 9, 1), 0
	pool.Stock, pool.Min = &none, 1
	r := newRig(t, pool)
	r.refresh()
	r.increase("web", 3)
	r.settle()
	r.after(10 * time.Second)
	if got := shape(r.state("web")); got != "running creating*!CAPACITY creating*!CAPACITY creating*!CAPACITY" {
		t.Fatalf("instances %s", got)
	}
	must(t, r.server.UpdatePool("web", func(p *dotest.Pool) { p.Min = 2 }))
	r.server.ForgetCalls()
	if got := r.decrease("web", 5); got != "2 ok" {
		t.Errorf("lowered %s, want 2 ok", got)
	}
	for _, write := range r.writes() {
		if !strings.HasPrefix(write, "DELETE web ") {
			t.Errorf("write %q, want deletions by id", write)
		}
	}
	if got := r.decrease("web", 1); got != "0 ok" {
		t.Errorf("at the minimum: lowered %s, want 0 ok", got)
	}
	r.wantNoChoice()
}

func TestADecreaseNeverLowersTheCountBelowWhatIsListed(t *testing.T) {
	r := newRig(t, on("web", 0, 20, 3))
	r.refresh()
	r.increase("web", 5) // four join, one fails: the request is given back as a whole
	r.settle()
	r.after(15 * time.Minute)
	r.server.ForgetCalls()
	if got := r.decrease("web", 5); got != "0 ok" {
		t.Errorf("lowered %s, want 0 ok", got)
	}
	r.wantWrites()
	r.wantNoChoice()
}

func TestADeletionThatIsAnsweredOddlyIsLookedAfter(t *testing.T) {
	for name, test := range map[string]struct {
		fault dotest.Fault
		want  string
	}{
		"gone already":                {fault: dotest.Fault{Status: 404, Carried: true}, want: "ok"},
		"ending already":              {fault: dotest.Fault{Status: 422, Carried: true}, want: "ok"},
		"busy, and it ends":           {fault: dotest.Fault{Status: 409, Carried: true}, want: "ok"},
		"busy":                        {fault: dotest.Fault{Status: 409}, want: "Transient"},
		"an error that was none":      {fault: dotest.Fault{Status: 500, Carried: true}, want: "ok"},
		"an error":                    {fault: dotest.Fault{Status: 500}, want: "Transient"},
		"cut behind the effect":       {fault: dotest.Fault{Cut: true, Carried: true}, want: "ok"},
		"cut before it":               {fault: dotest.Fault{Cut: true}, want: "Unknown"},
		"refused":                     {fault: dotest.Fault{Status: 422, Message: "validation error: last node"}, want: "Configuration"},
		"refused for want of a scope": {fault: dotest.Fault{Status: 403}, want: "Configuration"},
		"too many requests":           {fault: dotest.Fault{Status: 429, RetryAfter: 1}, want: "Transient"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, on("web", 0, 9, 3))
			r.refresh()
			nodes := r.server.Nodes("web")
			test.fault.Operation = dotest.DeleteNode
			r.server.Inject(test.fault)
			if got := outcomes(r.group("web").DeleteNodes(r.ctx(), refs(nodes[0]))); got != test.want {
				t.Errorf("outcome %s, want %s", got, test.want)
			}
			want := 3
			if test.fault.Carried {
				want = 2
			}
			r.after(10 * time.Second)
			if got := r.state("web").Target; got != want {
				t.Errorf("target %d, want %d", got, want)
			}
			r.clock.Step(2 * time.Second)
			if got := outcomes(r.group("web").DeleteNodes(r.ctx(), refs(nodes[0], nodes[1]))); got != "ok ok" {
				t.Errorf("again with another: %s, want ok ok", got)
			}
			if got := r.server.Pool("web").Count; got != 1 {
				t.Errorf("count %d, want 1", got)
			}
		})
	}
}

func TestOneNodeThatCannotBeDeletedLeavesTheOthersAlone(t *testing.T) {
	r := newRig(t, on("web", 0, 20, 12))
	r.refresh()
	nodes := r.server.Nodes("web")
	r.server.Inject(dotest.Fault{Operation: dotest.DeleteNode, Status: 500, Skip: 3})
	got := strings.Fields(outcomes(r.group("web").DeleteNodes(r.ctx(), refs(nodes[:10]...))))
	if failed := len(slices.DeleteFunc(got, func(o string) bool { return o == "ok" })); failed != 1 {
		t.Errorf("%d failures, want 1", failed)
	}
	if got := r.server.Pool("web").Count; got != 3 {
		t.Errorf("count %d, want 3", got)
	}
}

func TestAForcedDeletionAtTheMinimumHasTheNodesReplaced(t *testing.T) {
	r := newRig(t, on("web", 2, 9, 2))
	r.refresh()
	nodes := r.server.Nodes("web")
	if got := outcomes(r.group("web").DeleteNodes(r.ctx(), refs(nodes[0]))); got != "refused: StaleBounds(0 of 1)" {
		t.Errorf("without force: %s, want a refusal", got)
	}
	r.wantWrites()
	forced := r.group("web").(cloudprovider.ForceDeleter)
	if got := outcomes(forced.ForceDeleteNodes(r.ctx(), refs(nodes[0]))); got != "ok" {
		t.Errorf("with force: %s", got)
	}
	r.wantWrites("DELETE web "+nodes[0].ID+"?skip_drain=1", `PUT web {"count":2}`)
}

func TestTheStateOfAGroupCanBeReadNow(t *testing.T) {
	r := newRig(t, on("web", 1, 9, 2))
	r.refresh()
	must(t, r.server.UpdatePool("web", func(p *dotest.Pool) { p.Min = 2 }))
	s, err := r.group("web").(cloudprovider.StateReader).ReadState(r.ctx())
	if err != nil || s.Min != 2 {
		t.Errorf("minimum %d, %v; want 2", s.Min, err)
	}
	if got := r.state("web").Min; got != 1 {
		t.Errorf("minimum %d in the view, want 1 until the next refresh", got)
	}
}

func TestTheAccountsLimitIsAQuotaThatIsNamed(t *testing.T) {
	r := newRigOf(t, dotest.Config{DropletLimit: 3}, digitalocean.Options{}, on("web", 0, 9, 2))
	r.refresh()
	granted, err := r.group("web").IncreaseSize(r.ctx(), 2)
	if granted != 0 || kind(err) != "Quota DROPLET_LIMIT" || !strings.Contains(err.Error(), "droplet limit of 3") || !strings.Contains(err.Error(), "req-") {
		t.Errorf("IncreaseSize = %d, %v; want a quota with the limit and the request", granted, err)
	}
}

func TestSeveralGroupsAreReadByOneListing(t *testing.T) {
	r := newRig(t, on("a", 0, 9, 1), on("b", 0, 9, 1), on("c", 0, 9, 1))
	r.refresh()
	must(t, r.server.UpdatePool("b", func(p *dotest.Pool) { p.Min = 1 }))
	r.server.ForgetCalls()
	r.provider.ReadGroups(r.ctx(), []cloudprovider.GroupID{"a", "b", "nobody"})
	minima := func(id string) int {
		t.Helper()
		s, err := r.group(id).(cloudprovider.StateReader).ReadState(r.ctx())
		must(t, err)
		return s.Min
	}
	if minima("a") != 0 || minima("b") != 1 || minima("c") != 0 {
		t.Error("the minima are not those of the API")
	}
	if lists, reads := r.server.Count(dotest.ListNodePools), r.server.Count(dotest.GetNodePool); lists != 1 || reads != 1 {
		t.Errorf("%d listings and %d readings, want one for a and b and one for c", lists, reads)
	}
	minima("b")
	if got := r.server.Count(dotest.GetNodePool); got != 2 {
		t.Errorf("%d readings, want one more: a listing stands for one reading only", got)
	}
	r.provider.ReadGroups(r.ctx(), []cloudprovider.GroupID{"a", "b"})
	r.clock.Step(6 * time.Second)
	minima("a")
	if got := r.server.Count(dotest.GetNodePool); got != 3 {
		t.Errorf("%d readings, want one more: the listing is too old", got)
	}
}

func TestAChangeBackBySomebodyElseIsBelievedOnceThePoolItselfShowsIt(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 3))
	r.refresh()
	read := func() int {
		t.Helper()
		s, err := r.group("web").(cloudprovider.StateReader).ReadState(r.ctx())
		must(t, err)
		return s.Target
	}
	r.increase("web", 2)
	if got := read(); got != 5 {
		t.Errorf("target %d after the raise, want 5", got)
	}
	must(t, r.server.UpdatePool("web", func(p *dotest.Pool) { p.Count = 3 }))
	if got := read(); got != 3 {
		t.Errorf("target %d after somebody else's change, want 3", got)
	}
	r.after(10 * time.Second)
	if got := r.state("web").Target; got != 3 {
		t.Errorf("target %d in the view, want 3", got)
	}
}

func TestANodeThatTookOverTheNameOfAnotherIsNotDeletedForIt(t *testing.T) {
	r := newRig(t, on("web", 0, 9, 2))
	r.refresh()
	old := refs(r.node("web", 0))
	bare := old[0]
	bare.Labels = nil
	must(t, r.server.LoseNode(r.node("web", 0).ID))
	r.settle()
	heir := r.node("web", 1)
	must(t, r.server.UpdateNode(heir.ID, func(n *dotest.Node) { n.Name = old[0].Name }))
	r.after(10 * time.Second)
	if got := outcomes(r.group("web").DeleteNodes(r.ctx(), append(old, bare))); got != "ok ok" {
		t.Errorf("outcomes %s, want ok: the machine is gone", got)
	}
	if e := r.server.Endings(); len(e) != 0 || r.server.Pool("web").Count != 2 {
		t.Errorf("endings %+v, count %d; want none and 2", e, r.server.Pool("web").Count)
	}
}
