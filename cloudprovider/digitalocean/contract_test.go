package digitalocean_test

import (
	"slices"
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/cloudtest"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

// harness lets the contract test play with DOKS over the wire.
type harness struct {
	*rig
	remove []func()
}

// bystander is a pool without managed autoscaling; DOKS wants one CPU pool with a node.
const bystander = "system"

func newHarness(t testing.TB, adapt func(*dotest.Pool), groups ...cloudtest.Group) *harness {
	t.Helper()
	h := &harness{rig: newRigOf(t, dotest.Config{Limits: dotest.Limits{PerMinute: 100_000, PerHour: 1_000_000}}, digitalocean.Options{})}
	h.add(dotest.Pool{ID: bystander, Count: 1})
	t.Cleanup(h.wantNoChoice) // whatever a check does, DOKS never has to choose which nodes go
	for _, g := range groups {
		pool := on(string(g.ID), g.Min, g.Max, g.Target)
		adapt(&pool)
		h.add(pool)
	}
	return h
}

func (h *harness) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) Provider() cloudprovider.CloudProvider { return h.provider }
func (h *harness) RefreshInterval() time.Duration        { return 10 * time.Second }
func (h *harness) Advance(d time.Duration)               { h.clock.Step(d) }
func (h *harness) Settle()                               { h.settle() }

func (h *harness) Truth(id cloudprovider.GroupID) cloudtest.Truth {
	truth := cloudtest.Truth{Target: h.server.Pool(string(id)).Count}
	for _, node := range h.server.Nodes(string(id)) {
		if node.DropletID != "" && !node.Ending() {
			truth.Machines = append(truth.Machines, node.ProviderID())
		}
	}
	slices.Sort(truth.Machines)
	return truth
}

func (h *harness) SetBounds(id cloudprovider.GroupID, minimum, maximum int) {
	h.must(h.server.UpdatePool(string(id), func(p *dotest.Pool) { p.Min, p.Max = minimum, maximum }))
}

func (h *harness) SetTarget(id cloudprovider.GroupID, target int) {
	h.must(h.server.UpdatePool(string(id), func(p *dotest.Pool) { p.Count = target }))
}

func (h *harness) SetStock(id cloudprovider.GroupID, machines int) {
	h.must(h.server.UpdatePool(string(id), func(p *dotest.Pool) { p.Stock = &machines }))
}

func (h *harness) FailGroup(id cloudprovider.GroupID) {
	h.must(h.server.UpdatePool(string(id), func(p *dotest.Pool) { p.Spoiled = true }))
}

func (h *harness) HealGroup(id cloudprovider.GroupID) {
	h.must(h.server.UpdatePool(string(id), func(p *dotest.Pool) { p.Spoiled = false }))
}

func (h *harness) FailCloud() { h.server.RevokeToken(dotest.DefaultToken) }
func (h *harness) HealCloud() { h.server.AcceptToken(dotest.DefaultToken) }

func (h *harness) inject(f dotest.Fault) { h.remove = append(h.remove, h.server.Inject(f)) }

func (h *harness) RefuseWrites(reason cloudtest.Refusal) {
	fault := map[cloudtest.Refusal]dotest.Fault{
		cloudtest.RefusalThrottled: {Status: 429, RetryAfter: 1},
		cloudtest.RefusalDenied:    {Status: 403},
		cloudtest.RefusalQuota:     {Status: 422, Message: "validation error: 1 additional node is needed beyond the droplet limit of 25"},
	}[reason]
	fault.Count = dotest.Always
	for _, operation := range []string{dotest.UpdateNodePool, dotest.DeleteNode} {
		fault.Operation = operation
		h.inject(fault)
	}
}

func (h *harness) AllowWrites() {
	for _, remove := range h.remove {
		remove()
	}
	h.remove = nil
	h.clock.Step(2 * time.Second) // what the API asked for after a refusal
}

// LoseAnswers carries writes out and cuts the connection, for the look after the write as well.
func (h *harness) LoseAnswers() {
	for _, operation := range []string{dotest.UpdateNodePool, dotest.DeleteNode} {
		h.inject(dotest.Fault{Operation: operation, Count: dotest.Always, Carried: true, Cut: true, After: func() {
			h.server.Inject(dotest.Fault{Operation: dotest.GetNodePool, Status: 503, Count: 2})
		}})
	}
}

func (h *harness) KeepAnswers() { h.AllowWrites() }

func (h *harness) RemoveGroup(id cloudprovider.GroupID) { h.must(h.server.RemovePool(string(id))) }

func TestTheContractHolds(t *testing.T) {
	for name, adapt := range map[string]func(*dotest.Pool){
		"nodes are listed at once":                 func(*dotest.Pool) {},
		"nodes are listed late":                    func(p *dotest.Pool) { p.Delays.List = 40 * time.Second },
		"nodes that end are refused when repeated": func(p *dotest.Pool) { p.GoneTwice = true },
	} {
		t.Run(name, func(t *testing.T) {
			cloudtest.Run(t, func(tb testing.TB, groups ...cloudtest.Group) cloudtest.Harness {
				tb.Helper()
				return newHarness(tb, adapt, groups...)
			})
		})
	}
}
