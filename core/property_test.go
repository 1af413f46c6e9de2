package core_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// chaos is whoever makes trouble in a random world.
type chaos struct {
	*world
	*rand.Rand
	groups  []cloudprovider.GroupID
	pods    int
	injects bool // whether the ReplicaSet is at times short of pods for which room is made
}

func (c *chaos) group() cloudprovider.GroupID { return c.groups[c.IntN(len(c.groups))] }

// stir makes a few random things happen.
func (c *chaos) stir() {
	for range c.IntN(3) {
		switch c.IntN(11) {
		case 0, 1, 2:
			c.deploy()
		case 3, 4:
			c.finish()
		case 5:
			if machines := c.cloud.Machines(c.group()); len(machines) > 0 {
				_ = c.cloud.Lose(machines[c.IntN(len(machines))].ProviderID) // one that is ending cannot be lost
			}
		case 6:
			c.must(c.cloud.Next(c.group(), simulated.Fate{Error: noCapacity(), Exists: c.IntN(2) == 0}, simulated.Fate{Stuck: c.IntN(4) == 0, Delay: time.Duration(c.IntN(200)) * time.Second}))
		case 7:
			c.fault()
		case 8:
			id := c.group()
			c.must(c.cloud.Update(id, func(g *simulated.Group) { g.Min, g.Max = c.IntN(3), 3+c.IntN(8) }))
		case 9:
			_, err := c.cloud.SetTarget(c.group(), c.IntN(6)) // somebody else, who may end busy machines
			c.must(err)
		case 10:
			if c.IntN(3) == 0 {
				c.boot()
			}
		}
	}
}

func (c *chaos) deploy() {
	cpu := []string{"500m", "1", "2", "3500m"}[c.IntN(4)]
	spread := c.IntN(3) == 0
	for range 1 + c.IntN(8) {
		c.pods++
		builder := pod(fmt.Sprintf("p-%04d", c.pods), cpu)
		if c.IntN(3) == 0 {
			builder = builder.NodeSelector("group", string(c.group()))
		}
		if c.IntN(10) == 0 {
			builder = builder.Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")
		}
		if spread {
			builder = builder.Label("app", "spread").Spread(corev1.LabelTopologyZone, 1, "app", "spread")
		}
		c.put(builder.CreatedAt(c.clock.Now()).Build())
	}
	if c.injects {
		c.wants(int32(len(c.source.pods().List()) + c.IntN(4))) //nolint:gosec // a handful
	}
}

func (c *chaos) finish() {
	var names []string
	for _, pod := range all[*corev1.Pod](c.source.pods()) {
		if c.IntN(3) == 0 {
			names = append(names, pod.Name)
		}
	}
	c.leave(names...)
}

func (c *chaos) fault() {
	operations := []simulated.Operation{
		simulated.Refresh, simulated.ReadSize, simulated.ListInstances, simulated.ReadTemplates, simulated.IncreaseSize, simulated.DecreaseTargetSize, simulated.DeleteNodes,
	}
	fault := simulated.Fault{On: operations[c.IntN(len(operations))], Count: 1 + c.IntN(3), Lost: c.IntN(3) == 0}
	switch c.IntN(4) {
	case 0:
		fault.Err = errors.New("out of order")
	case 1:
		fault.Err = &cloudprovider.OutOfResourcesError{Err: errors.New("none left")}
	case 2:
		fault.Err = &cloudprovider.ConfigurationError{Err: errors.New("denied")}
	}
	if fault.On != simulated.Refresh {
		fault.Group = c.group()
	}
	c.cloud.Inject(fault)
}

// rest is how long a world takes at most until nothing happens any more once nobody makes trouble.
const rest = 70 * time.Minute

// anyFlags are those of a random world: the first one has none but what makes it hurry.
func anyFlags(seed uint64) []string {
	flags := []string{"--scale-down-unneeded-time=2m", "--scale-down-delay-after-add=1m", "--max-node-provision-time=5m", "--max-nodes-total=20"}
	r := rand.New(rand.NewPCG(seed, 3))
	for _, flag := range []string{
		"--balance-similar-node-groups", "--parallel-scale-up", "--salvo-scale-up", "--enable-proactive-scaleup", "--enforce-node-group-min-size",
		"--persist-state=false", "--max-nodes-per-scaleup=3", "--scaleup-simulation-for-skipped-node-groups-enabled",
	} {
		if on := r.IntN(2) == 0; on && seed > 0 {
			flags = append(flags, flag)
		}
	}
	return flags
}

// play lets a random world go on for so many iterations with trouble, and then without it until all is at rest.
func play(t *testing.T, seed uint64, iterations int) *world {
	t.Helper()
	flags := anyFlags(seed)
	w := newWorld(t, flags, of(group("a", 1, 8, 2), simtest.Node("t").Zone("a")), of(group("b", 0, 8, 1), simtest.Node("t").CPU("8").Zone("a")),
		of(group("c", 0, 6, 0), simtest.Node("t").Zone("c")))
	c := &chaos{world: w, Rand: rand.New(rand.NewPCG(seed, 7)), groups: []cloudprovider.GroupID{"a", "b", "c"}}
	c.injects = w.options.ProactiveScaleUp.Enabled
	w.refuse = func(string, string) error {
		if c.IntN(10) == 0 {
			return errors.New("the API server is busy")
		}
		return nil
	}
	for i := range iterations {
		c.stir()
		w.to(time.Duration(i+1) * scanInterval)
	}
	w.refuse = nil
	w.wants(0)
	for _, id := range c.groups {
		w.must(w.cloud.Update(id, func(g *simulated.Group) { g.Min, g.Max = 0, 20 }))
		w.must(w.cloud.ForgetNext(id))
	}
	for _, on := range []simulated.Operation{
		simulated.Refresh, simulated.ReadSize, simulated.ListInstances, simulated.ReadTemplates, simulated.IncreaseSize, simulated.DecreaseTargetSize, simulated.DeleteNodes,
	} {
		for _, id := range append(c.groups, "") {
			w.cloud.Clear(on, id)
		}
	}
	w.to(time.Duration(iterations)*scanInterval + rest)
	return w
}

func TestARandomWorldKeepsTheInvariantsAndComesToRest(t *testing.T) {
	seeds, iterations := 8, 150
	if testing.Short() {
		seeds, iterations = 2, 100
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := play(t, uint64(seed), iterations) //nolint:gosec // small
			if err := errors.Join(append(w.last.Errors, w.err)...); err != nil {
				t.Errorf("the last iteration met %v", err)
			}
			for _, node := range all[*corev1.Node](w.source.nodes()) {
				if tainted(node, taints.ToBeDeleted) || node.Spec.Unschedulable {
					t.Errorf("node %s was left behind with taints %v, cordoned %t", node.Name, node.Spec.Taints, node.Spec.Unschedulable)
				}
			}
			if waiting := w.waiting(); len(waiting) > 0 && len(all[*corev1.Node](w.source.nodes())) < 20 {
				t.Errorf("pods %v wait for ever, the first for %v", waiting, w.reasons(waiting[0]))
			}
			for _, id := range []cloudprovider.GroupID{"a", "b", "c"} {
				if nodes := len(w.cloud.Nodes(id)); nodes != w.target(id) {
					t.Errorf("%s has %d nodes and a target of %d", id, nodes, w.target(id))
				}
			}
			if late := w.cloud.Writes(); len(late) > 0 && w.clock.Since(late[len(late)-1].At) < 10*time.Minute {
				t.Errorf("it does not come to rest: %v", w.writes()[max(0, len(late)-5):])
			}
			if t.Failed() {
				t.Log(anyFlags(uint64(seed))) //nolint:gosec // small
			}
		})
	}
}

func TestARandomWorldIsTheSameEachTime(t *testing.T) {
	first, second := play(t, 3, 60), play(t, 3, 60)
	if diff := cmp.Diff(first.writes(), second.writes()); diff != "" {
		t.Errorf("writes differ:\n%s", diff)
	}
	if diff := cmp.Diff(first.events, second.events); diff != "" {
		t.Errorf("events differ:\n%s", diff)
	}
	if len(first.writes()) < 10 || !slices.ContainsFunc(first.writes(), func(line string) bool { return strings.Contains(line, "refused") }) {
		t.Errorf("little happens in this world: %v", first.writes())
	}
}

// failures keeps what a test complains about.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

func TestTheWorldNoticesWritesThatBreakAnInvariant(t *testing.T) {
	w := newWorld(t, []string{"--max-nodes-total=5"}, group("g", 1, 9, 3))
	w.fill("g")
	machine := w.cloud.Machines("g")[0]
	for want, write := range map[string]simulated.Write{
		"above its maximum":           {Group: "g", From: 3, To: 10},
		"above the limit 5":           {Group: "g", From: 3, To: 6},
		"below its minimum":           {Group: "g", From: 3, To: 0},
		"that exist or may still arr": {Group: "g", From: 3, To: 2},
		"was ended with pod":          {Group: "g", From: 3, To: 3, Ended: []simulated.Machine{machine}},
	} {
		heard := &failures{TB: t}
		w.TB = heard
		w.checkWrite(write)
		w.TB = t
		if !slices.ContainsFunc(heard.texts, func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("a write of %+v makes it complain %q, want %q", write, heard.texts, want)
		}
	}
}
