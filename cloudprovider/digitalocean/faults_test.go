package digitalocean_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

// faultKinds are what can go wrong with a call, in the order of the table.
var faultKinds = []struct {
	name  string
	fault dotest.Fault
	hang  bool
}{
	{name: "400", fault: dotest.Fault{Status: 400}},
	{name: "401", fault: dotest.Fault{Status: 401}},
	{name: "403", fault: dotest.Fault{Status: 403}},
	{name: "404", fault: dotest.Fault{Status: 404}},
	{name: "409", fault: dotest.Fault{Status: 409}},
	{name: "422", fault: dotest.Fault{Status: 422}},
	{name: "422 limit", fault: dotest.Fault{Status: 422, Message: "validation error: beyond the droplet limit"}},
	{name: "429 minute", fault: dotest.Fault{Status: 429, RetryAfter: 5}},
	{name: "429 hour", fault: dotest.Fault{Status: 429}},
	{name: "500", fault: dotest.Fault{Status: 500}},
	{name: "500 lie", fault: dotest.Fault{Status: 500, Carried: true}},
	{name: "502 HTML", fault: dotest.Fault{Status: 502, HTML: true}},
	{name: "cut before", fault: dotest.Fault{Cut: true}},
	{name: "cut after", fault: dotest.Fault{Cut: true, Carried: true}},
	{name: "half answer", fault: dotest.Fault{Half: true}},
	{name: "no JSON", fault: dotest.Fault{Body: new("<html>")}},
	{name: "empty", fault: dotest.Fault{Body: new("")}},
	{name: "{}", fault: dotest.Fault{Body: new("{}")}},
	{name: "null", fault: dotest.Fault{Body: new("null")}},
	{name: "hangs", hang: true},
}

// outcome is a cell of the matrix: what becomes of the pool whose call goes wrong, of a healthy pool, and of health.
type outcome struct{ faulty, healthy, health string }

// healthyPool is what the healthy pool must look like whatever happens to the other: it is raised by one and describes its node.
const healthyPool = "1 ok, target 2, template ok"

// stays are the outcomes of an operation, by the name of the fault; "" stands for those that are not named.
type stays map[string]string

// faultMatrix says, per operation, what becomes of the faulty pool, and where it isn't "ok", what Refresh returns.
var faultMatrix = []struct {
	operation string
	// pool restricts the fault to the faulty pool; calls about no single pool hit both.
	pool   bool
	act    func(r *rig) string
	faulty stays
	health stays
}{
	{
		operation: dotest.ListNodePools, act: (*rig).looks,
		faulty: stays{"": "target 1, 1 instances"},
		health: stays{"": "ok", "400": "Configuration", "401": "Configuration", "403": "Configuration", "404": "Configuration", "422": "Configuration", "422 limit": "Configuration"},
	},
	{
		operation: dotest.GetNodePool, pool: true, act: (*rig).grows,
		faulty: stays{
			"": "0 Transient, target 1", "400": "0 Configuration, target 1", "401": "0 Configuration, target 1", "403": "0 Configuration, target 1",
			"404": "0 Gone, target 1", "422": "0 Configuration, target 1", "422 limit": "0 Configuration, target 1",
		},
		health: stays{"": "ok"},
	},
	{
		operation: dotest.UpdateNodePool, pool: true, act: (*rig).grows,
		faulty: stays{
			"400": "0 Configuration, target 1", "401": "0 Configuration, target 1", "403": "0 Configuration, target 1", "404": "0 Gone, target 1",
			"409": "0 Transient, target 1", "422": "0 Configuration, target 1", "422 limit": "0 Quota DROPLET_LIMIT, target 1",
			"429 minute": "0 Transient, target 1", "429 hour": "0 Transient, target 1", "500": "0 Other, target 1", "502 HTML": "0 Other, target 1",
			"cut before": "0 Unknown, target 1", "hangs": "0 Unknown, target 1", "": "1 ok, target 2",
		},
		health: stays{"": "ok"},
	},
	{
		operation: dotest.DeleteNode, pool: true, act: (*rig).shrinks,
		faulty: stays{
			"400": "Configuration, target 1", "401": "Configuration, target 1", "403": "Configuration, target 1", "404": "ok, target 1",
			"409": "Transient, target 1", "422": "Configuration, target 1", "422 limit": "Quota DROPLET_LIMIT, target 1",
			"429 minute": "Transient, target 1", "429 hour": "Transient, target 1", "500": "Transient, target 1", "502 HTML": "Transient, target 1",
			"cut before": "Unknown, target 1", "hangs": "Unknown, target 1", "": "ok, target 0",
		},
		health: stays{"": "ok"},
	},
	{
		operation: dotest.GetTemplate, pool: true, act: (*rig).describes,
		faulty: stays{
			"": "Transient, target 1", "400": "Configuration, target 1", "401": "Configuration, target 1", "403": "Configuration, target 1",
			"404": "Configuration, target 1", "422": "Configuration, target 1", "422 limit": "Configuration, target 1",
		},
		health: stays{"": "ok"},
	},
	{
		operation: dotest.GetCluster, act: (*rig).looks,
		faulty: stays{"": "target 1, 1 instances"}, health: stays{"": "ok"},
	},
	{
		operation: dotest.ListSizes, act: (*rig).looks,
		faulty: stays{"": "target 1, 1 instances"}, health: stays{"": "ok"},
	},
}

func (s stays) of(fault string) string {
	if text, ok := s[fault]; ok {
		return text
	}
	return s[""]
}

// looks is the faulty pool as the view has it.
func (r *rig) looks() string {
	s := r.state("bad")
	return fmt.Sprintf("target %d, %d instances", s.Target, len(s.Instances))
}

func (r *rig) grows() string {
	return r.increase("bad", 1)
}

func (r *rig) shrinks() string {
	return outcomes(r.group("bad").DeleteNodes(r.ctx(), refs(r.node("bad", 0))))
}

func (r *rig) describes() string {
	_, err := r.group("bad").Templates(r.ctx())
	return kind(err)
}

// TestOneFailingCallSetsItsPoolAsideAndNothingElse plays each fault of each call and prints what came of it. Each cell asserts the outcome for the pool
// that is hit, for a healthy pool, and for health, which goes by what Refresh returns.
func TestOneFailingCallSetsItsPoolAsideAndNothingElse(t *testing.T) {
	var table strings.Builder
	cells := 0
	for _, row := range faultMatrix {
		fmt.Fprintf(&table, "\n%s\n", row.operation)
		for _, k := range faultKinds {
			t.Run(row.operation+" "+k.name, func(t *testing.T) {
				want := outcome{faulty: row.faulty.of(k.name), healthy: healthyPool, health: row.health.of(k.name)}
				got := playFault(t, row.operation, row.pool, k.fault, k.hang, row.act)
				if got != want {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
				fmt.Fprintf(&table, "  %-12s | %-32s | %s | %s\n", k.name, got.faulty, got.healthy, got.health)
				cells++
			})
		}
	}
	t.Logf("call, fault | the pool that is hit | the healthy pool | Refresh%s\n%d cells", table.String(), cells)
	if want := len(faultMatrix) * len(faultKinds); cells != want {
		t.Errorf("%d cells, want %d", cells, want)
	}
}

// playFault lets one call of the faulty pool, or one listing, go wrong, each second try included.
func playFault(t *testing.T, operation string, ofPool bool, fault dotest.Fault, hang bool, act func(r *rig) string) outcome {
	t.Helper()
	r := newRig(t, on("bad", 0, 5, 1), on("good", 0, 5, 1))
	r.refresh()
	fault.Operation, fault.Count = operation, dotest.Always
	if ofPool {
		fault.Pool = "bad"
	}
	step := func(do func()) { do() }
	if hang {
		reached := make(chan struct{}, 10)
		fault.Hold, fault.Before = make(chan struct{}), func() { reached <- struct{}{} }
		step = func(do func()) {
			var over sync.WaitGroup
			over.Go(do)
			<-reached
			r.clock.Step(11 * time.Second)
			over.Wait()
		}
	}
	if operation == dotest.GetCluster || operation == dotest.ListSizes {
		r.clock.Step(13 * time.Hour) // until they are read again
	} else {
		r.clock.Step(10 * time.Second)
	}
	remove := r.server.Inject(fault)
	var got outcome
	if ofPool {
		got.health = kind(r.provider.Refresh(r.ctx()))
		step(func() { got.faulty = act(r) })
	} else {
		step(func() { got.health = kind(r.provider.Refresh(r.ctx())) })
		got.faulty = act(r)
	}
	remove()
	r.clock.Step(90 * time.Second) // what a refusal asks for
	if err := r.provider.Refresh(r.ctx()); err != nil && got.health == "ok" {
		got.health = "later " + kind(err)
	}
	if ofPool {
		got.faulty += fmt.Sprintf(", target %d", r.state("bad").Target)
	}
	_, described := r.group("good").Templates(r.ctx())
	healthy := r.increase("good", 1)
	r.after(10 * time.Second)
	got.healthy = fmt.Sprintf("%s, target %d, template %s", healthy, r.state("good").Target, kind(described))
	return got
}

func TestAPoolThatCannotBeAsTheAPITellsItKeepsItsLastGoodDataAndIsReported(t *testing.T) {
	r := newRig(t, on("bad", 0, 5, 1), on("good", 0, 5, 1))
	r.refresh()
	must(t, r.server.UpdatePool("bad", func(p *dotest.Pool) { p.Spoiled, p.Count = true, 3 }))
	r.after(10 * time.Second)
	if got := r.errs(); !slices.Equal(got, []string{"bad: Configuration"}) {
		t.Errorf("group errors %q, want one about bad", got)
	}
	if got := r.state("bad").Target; got != 1 {
		t.Errorf("target %d, want the last good 1", got)
	}
	if got := r.increase("bad", 1); got != "0 Configuration" {
		t.Errorf("IncreaseSize = %s, want a refusal", got)
	}
	if got := r.increase("good", 1); got != "1 ok" {
		t.Errorf("the other pool: %s, want 1 ok", got)
	}
}
