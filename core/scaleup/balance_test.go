package scaleup_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// balanced are the flags' defaults with balancing switched on.
func balanced() *config.Balancing {
	options := config.Defaults().Balancing
	options.Enabled = true
	return &options
}

// by compares groups by one label only.
func by(label string) *config.Balancing {
	options := balanced()
	options.Labels = []string{label}
	return options
}

// zone is a group of machines of 2 cores in a zone of its own.
func zone(id cloudprovider.GroupID, target, max int) group {
	return group{id: id, target: target, max: max, variants: []simtest.NodeBuilder{simtest.Node("cloud").CPU("2").Memory("8Gi").Zone(string(id))}}
}

// pooled is a group of machines with a label by which they are compared, and with more of them.
func pooled(id cloudprovider.GroupID, target, max int, labels ...string) group {
	node := simtest.Node("cloud").CPU("2").Memory("8Gi").Label("pool", "x")
	for i := 0; i+1 < len(labels); i += 2 {
		node = node.Label(labels[i], labels[i+1])
	}
	return group{id: id, target: target, max: max, variants: []simtest.NodeBuilder{node}}
}

func big(n int) []simtest.PodBuilder { return many(n, "p", "2") }

func TestBalancing(t *testing.T) {
	device := func(id cloudprovider.GroupID, target int) group {
		g := pooled(id, target, 10, gpuLabel, "t4")
		g.variants[0] = g.variants[0].Resource("nvidia.com/gpu", "1")
		return g
	}
	tainted := func(g group, key string) group {
		g.variants[0] = g.variants[0].Taint(key, "", corev1.TaintEffectNoSchedule)
		return g
	}
	for name, tc := range map[string]struct {
		world
		sizes []string
	}{
		"E13: similar groups lend their room to the estimate": {
			world: world{groups: []group{zone("a", 3, 5), zone("b", 8, 10)}, pods: big(10), balancing: balanced()},
			sizes: []string{"a 3->5", "b 8->10"},
		},
		"E14: without balancing they do not": {
			world: world{groups: []group{zone("a", 3, 5)}, pods: big(10), balancing: nil}, sizes: []string{"a 3->5"},
		},
		"E15: groups above their maximum lend none": {
			world: world{
				groups: []group{zone("a", 0, 10), zone("b", 5, 10), zone("c", 50, 100), zone("d", 4, 6), zone("e", 9, 7)},
				pods:   many(100, "p", "2"), balancing: balanced(),
			},
			sizes: []string{"d 4->6", "a 0->10", "b 5->10", "c 50->100"}, // 67 nodes
		},
		"the smallest group grows first, whichever the expander took": {
			world: world{groups: []group{zone("a", 5, 10), zone("b", 1, 10)}, pods: big(3), balancing: balanced()},
			sizes: []string{"b 1->4"},
		},
		"each gets its share": {
			world: world{groups: []group{zone("a", 0, 10), zone("b", 0, 10), zone("c", 0, 10)}, pods: big(7), balancing: balanced()},
			sizes: []string{"a 0->3", "b 0->2", "c 0->2"},
		},
		"without the flag one group takes all": {
			world: world{groups: []group{zone("a", 0, 10), zone("b", 2, 10)}, pods: big(4)},
			sizes: []string{"a 0->4"},
		},
		"B09: what a limit cuts off one group is not given to another": {
			world: world{
				groups: []group{pooled("a", 2, 10), device("b", 2), pooled("c", 2, 10)}, pods: big(6), limits: map[string]int64{"t4": 1}, balancing: by("pool"),
			},
			sizes: []string{"a 2->4", "b 2->3", "c 2->4"},
		},
		"B10: a group without any room left by a limit is left out": {
			world: world{
				groups: []group{pooled("a", 2, 10), device("b", 2), pooled("c", 2, 10)}, pods: big(6), limits: map[string]int64{"t4": 0}, balancing: by("pool"),
			},
			sizes: []string{"a 2->5", "c 2->5"},
		},
		"similar groups use up a limit together": {
			world: world{
				groups: []group{pooled("a", 0, 10), device("b", 0), device("c", 0)}, pods: big(6), limits: map[string]int64{"t4": 3}, balancing: by("pool"),
			},
			sizes: []string{"a 0->2", "b 0->2", "c 0->1"},
		},
		"B11: so is one in back-off": {
			world: world{
				groups:    []group{zone("a", 2, 10), {id: "b", target: 2, max: 10, variants: zone("b", 0, 0).variants, state: backedOff}, zone("c", 2, 10)},
				balancing: balanced(), pods: big(6),
			},
			sizes: []string{"a 2->5", "c 2->5"},
		},
		"and one that is unhealthy": {
			world: world{
				groups: []group{zone("a", 2, 10), {
					id: "b", target: 2, max: 10, variants: zone("b", 0, 0).variants, state: func(s *clusterstate.GroupState) { s.Healthy = false },
				}},
				balancing: balanced(), pods: big(6),
			},
			sizes: []string{"a 2->8"},
		},
		"B12: one that cannot run all pods that the other one can": {
			world: world{
				groups: []group{pooled("a", 0, 10, "disk", "ssd"), tainted(pooled("b", 0, 10), "x")}, balancing: by("pool"),
				pods: append(many(2, "a", "2"), pod("b", "2").NodeSelector("disk", "ssd"), pod("b2", "2").Tolerates("x")),
			},
			sizes: []string{"a 0->4"},
		},
		"B12: one that can run more": {
			world: world{
				groups: []group{tainted(pooled("a", 0, 10), "x"), pooled("b", 0, 10)}, balancing: by("pool"), pods: func() []simtest.PodBuilder {
					var out []simtest.PodBuilder
					for _, p := range many(4, "p", "2") {
						out = append(out, p.Tolerates("x"))
					}
					return append(out, pod("q", "3")) // fits nowhere
				}(),
			},
			sizes: []string{"a 0->2", "b 0->2"},
		},
		"one that grows as a whole only": {
			world: world{
				groups: []group{zone("a", 0, 10), {id: "b", max: 4, atomic: true, variants: zone("b", 0, 0).variants}}, pods: big(2), balancing: balanced(),
			},
			sizes: []string{"a 0->2"},
		},
		"B05: groups that a label tells apart": {
			world: world{groups: []group{pooled("a", 0, 10, "team", "x"), pooled("b", 0, 10, "team", "y")}, pods: big(4), balancing: balanced()},
			sizes: []string{"a 0->4"},
		},
		"B17, replaced: unless it is ignored, whatever the cloud": {
			world: world{
				groups: []group{pooled("a", 0, 10, "team", "x"), pooled("b", 0, 10, "team", "y")}, pods: big(4),
				balancing: func() *config.Balancing { o := balanced(); o.IgnoreLabels = []string{"team"}; return o }(),
			},
			sizes: []string{"a 0->2", "b 0->2"},
		},
		"C36: labels that only the cloud's bookkeeping needs": {
			world: world{
				groups: []group{pooled("a", 1, 9, "aws:stack", "1"), pooled("b", 1, 9, "aws:stack", "2"), pooled("c", 1, 9)}, pods: big(6),
				balancing: balanced(), bookkeeping: []string{"aws:*"},
			},
			sizes: []string{"a 1->3", "b 1->3", "c 1->3"},
		},
		"the number of nodes of the cluster caps all groups together": {
			world: world{groups: []group{zone("a", 0, 10), zone("b", 0, 10)}, pods: big(9), balancing: balanced(), maxNodes: 5},
			sizes: []string{"a 0->3", "b 0->2"},
		},
		"a limit of cores does": {
			world: world{groups: []group{zone("a", 0, 10), zone("b", 0, 10)}, pods: big(9), balancing: balanced(), limits: map[string]int64{"cpu": 11}},
			sizes: []string{"a 0->3", "b 0->2"},
		},
		"sizes are compared in nodes and written in units": {
			world: world{
				groups:    []group{{id: "a", target: 8, max: 20, weight: 4, variants: zone("a", 0, 0).variants}, zone("b", 1, 10)},
				balancing: balanced(), pods: big(5),
			},
			sizes: []string{"b 1->4", "a 8->16"}, // 2 and 1 nodes become 4 and 4
		},
		"a group that does not exist yet takes part": {
			world: world{
				groups: []group{zone("a", 0, 10), {id: "b", max: 10, theoretical: true, variants: zone("b", 0, 0).variants}}, pods: big(4), balancing: balanced(),
			},
			sizes: []string{"a 0->2", "b 0->2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.first = true
			grown := tc.grow(t)
			if diff := cmp.Diff(tc.sizes, sizes(grown)); diff != "" {
				t.Errorf("sizes: %s", diff)
			}
			if grown.Err != nil || grown.Result != report.ScaleUpSuccessful {
				t.Errorf("%s, %v", grown.Result, grown.Err)
			}
			checkCredits(t, grown)
		})
	}
}

// checkCredits demands that every pod for which a group grew names one that did, and that every node that was bought is for some pod.
func checkCredits(t *testing.T, grown report.ScaleUp) {
	t.Helper()
	pods := map[cloudprovider.GroupID]int{}
	for _, v := range grown.Pods {
		if v.Fate == report.PodTriggered {
			pods[v.Grown]++
		}
	}
	granted := map[cloudprovider.GroupID]int{}
	for _, o := range grown.Outcomes {
		granted[o.Group] += o.Granted
	}
	for id, n := range pods {
		if granted[id] == 0 {
			t.Errorf("%d pods are told that %s grew for them, which it did not", n, id)
		}
	}
	for id, n := range granted {
		if n > 0 && pods[id] == 0 {
			t.Errorf("%s grew by %d for no pod", id, n)
		}
	}
}

func TestPodsAreToldWhichOfSimilarGroupsGrewForThem(t *testing.T) {
	grown := world{groups: []group{zone("a", 0, 10), zone("b", 1, 10)}, pods: big(3), balancing: balanced(), first: true}.grow(t)
	want := map[string]string{"p-00": "Triggered by a", "p-01": "Triggered by a", "p-02": "Triggered by b"}
	if diff := cmp.Diff(want, verdicts(grown)); diff != "" {
		t.Error(diff)
	}
	options := []report.Option{
		{Group: "a", Similar: []cloudprovider.GroupID{"b"}, Nodes: 3, Pods: 3, Waste: 0.5, Chosen: true},
		{Group: "b", Similar: []cloudprovider.GroupID{"a"}, Nodes: 3, Pods: 3, Waste: 0.5},
	}
	if diff := cmp.Diff(options, grown.Options); diff != "" {
		t.Error(diff)
	}
}

func TestAPodThatOnlySomeVariantsOfTheSimilarGroupFitKeepsItApart(t *testing.T) {
	half := mixed(5)
	half.id = "half"
	half.variants[0] = half.variants[0].Label("local", "yes").Zone("x")
	whole := mixed(5)
	for i := range whole.variants {
		whole.variants[i] = whole.variants[i].Label("local", "yes")
	}
	options := balanced()
	options.IgnoreLabels = []string{"local"}
	w := world{
		groups: []group{whole, half}, balancing: options, expanders: []config.Expander{config.ExpanderLeastNodes},
		pods: []simtest.PodBuilder{pod("p", "2").NodeSelector("local", "yes"), pod("q", "2").NodeSelector("local", "yes")},
	}
	in := w.in(t)
	c, err := scaleup.Options(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range c.Options {
		got = append(got, fmt.Sprint(o.Group, o.Similar))
	}
	if diff := cmp.Diff([]string{"mix[]", "half[mix]"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAGroupThatHasHadItsAttemptTakesNoPart(t *testing.T) {
	one, other := mixed(5), mixed(5)
	other.id = "other"
	w := world{
		groups: []group{one, other}, balancing: balanced(), pods: []simtest.PodBuilder{pod("p", "2").NodeSelector(corev1.LabelInstanceTypeStable, "k2")},
	}
	for name, tc := range map[string]struct {
		tried cloudprovider.GroupID
		want  string
	}{
		"without an attempt they are similar": {"", "[mix [other]] [other [mix]]"},
		"for the pod that it was made for":    {"other", "[mix []]"},
	} {
		t.Run(name, func(t *testing.T) {
			w.attempts = map[scaleup.Attempt]time.Time{{Pod: "pod-default-p", Group: tc.tried}: now.Add(time.Minute)}
			c, err := scaleup.Options(t.Context(), w.in(t))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range c.Options {
				got = append(got, fmt.Sprint([]any{o.Group, o.Similar}))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAllOrNothing(t *testing.T) {
	whole := func(g ...group) world { return world{groups: g, whole: true} }
	with := func(w world, n int) world { w.pods = big(n); return w }
	atomic := group{id: "g", max: 3, atomic: true, variants: machine("2")}
	for name, tc := range map[string]struct {
		world
		sizes []string
		no    string // what the first pod is told; empty: it is helped
	}{
		"V14: not all pods fit": {
			with(whole(zone("a", 0, 5)), 7), nil,
			"Unschedulable; a: not all pods would fit and scale-up is using all-or-nothing strategy",
		},
		"V15: similar groups hold them together": {
			with(world{groups: []group{zone("a", 0, 5), zone("b", 0, 5)}, whole: true, balancing: balanced()}, 7), []string{"a 0->4", "b 0->3"}, "",
		},
		"V19: a group that grows as a whole holds them": {with(whole(atomic), 3), []string{"g 0->3"}, ""},
		"V19: or does not": {
			with(whole(atomic), 4), nil, "Unschedulable; g: not all pods would fit and scale-up is using all-or-nothing strategy",
		},
		"a group that would be created too small is only taken beside another one": {
			with(world{
				groups: []group{{id: "new", max: 2, theoretical: true, variants: zone("new", 0, 0).variants}, zone("b", 0, 2)}, whole: true, balancing: balanced(), first: true,
			}, 4), []string{"b 0->2", "new 0->2"}, "",
		},
		"a limit that cuts the plan forbids it": {
			with(world{groups: []group{zone("a", 0, 5)}, whole: true, limits: map[string]int64{"cpu": 4}}, 3), nil,
			"Unschedulable; a: not all pods would fit and scale-up is using all-or-nothing strategy",
		},
		"one that cuts a similar group too": {
			with(world{
				groups: []group{pooled("a", 0, 3), func() group {
					g := pooled("b", 0, 3, gpuLabel, "t4")
					g.variants[0] = g.variants[0].Resource("nvidia.com/gpu", "1")
					return g
				}()}, whole: true, limits: map[string]int64{"t4": 1}, balancing: by("pool"), first: true,
			}, 6), nil, "Unschedulable; a: not all pods would fit and scale-up is using all-or-nothing strategy; b: not all pods would fit and scale-up is using all-or-nothing strategy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			grown := tc.grow(t)
			if diff := cmp.Diff(tc.sizes, sizes(grown)); diff != "" {
				t.Error(diff)
			}
			got := verdict(grown.Pods[0])
			if tc.no != "" {
				if got != tc.no || grown.Result != report.ScaleUpNoOptionsAvailable {
					t.Errorf("%s: %s, want %s", grown.Result, got, tc.no)
				}
				return
			}
			for _, o := range grown.Outcomes {
				if !o.Atomic {
					t.Errorf("a part of the growth of %s is accepted", o.Group)
				}
			}
			for _, v := range grown.Pods {
				if v.Fate != report.PodTriggered {
					t.Errorf("%s: %s", v.Pod, verdict(v))
				}
			}
		})
	}
}

func TestGroupsThatDoNotExistYetAreNotTold(t *testing.T) {
	// R07
	w := world{
		groups: []group{
			{id: "a", max: 5, variants: machine("2")}, {id: "b", max: 5, variants: machine("2"), theoretical: true},
			{id: "c", max: 5, variants: machine("2"), state: backedOff},
		},
		pods: many(1, "p", "4"),
	}
	grown := w.grow(t)
	want := map[string]string{"p-00": "Unschedulable; a: Insufficient cpu; c: in backoff after failed scale-up"}
	if diff := cmp.Diff(want, verdicts(grown)); diff != "" || grown.Considered != 2 {
		t.Errorf("%d groups considered: %s", grown.Considered, diff)
	}
	w.pods, w.groups[1].variants, w.groups[0].max, w.groups[0].variants = many(2, "p", "4"), machine("2"), 1, machine("4")
	want = map[string]string{
		"p-00": "Triggered by a; c: in backoff after failed scale-up", "p-01": "Awaiting; a: estimate ended at 1 nodes; c: in backoff after failed scale-up",
	}
	if diff := cmp.Diff(want, verdicts(w.grow(t))); diff != "" {
		t.Errorf("with a reason of its own: %s", diff)
	}
	w.pods, w.groups[0].max, w.groups[0].variants = many(1, "p", "2"), 0, machine("2")
	if diff := cmp.Diff([]string{"b 0->1"}, sizes(w.grow(t))); diff != "" {
		t.Error(diff)
	}
}

func TestMinSizesAreNoneOfGroupsThatDoNotExist(t *testing.T) {
	w := world{groups: []group{{id: "a", min: 2, max: 5, variants: machine("2"), theoretical: true}}}
	if got := scaleup.MinSizes(w.in(t), report.ScaleUp{}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// TestBalancingPassesNoLimit is invariant 3 with similar groups of which some refuse.
func TestBalancingPassesNoLimit(t *testing.T) {
	bought, again := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := randomWorld(r)
		w.balancing, w.parallel = balanced(), r.IntN(2) == 0
		w.refuse, w.grants = map[cloudprovider.GroupID]error{}, map[cloudprovider.GroupID]int{}
		for i := range w.groups {
			g := &w.groups[i]
			if r.IntN(2) == 0 {
				g.variants = machine("4")
			}
			g.weight = 1 + r.IntN(2)
			switch r.IntN(5) {
			case 0:
				w.refuse[g.id] = &cloudprovider.OutOfResourcesError{Group: g.id, Err: errors.New("none left")}
				w.grants[g.id] = r.IntN(3)
			case 1:
				w.refuse[g.id] = &cloudprovider.TransientError{OutcomeUnknown: r.IntN(2) == 0, Err: errors.New("busy")}
			}
		}
		in := w.in(t)
		grown := scaleup.Grow(t.Context(), in, w.choose(t), w.act)
		if in.Snapshot.Depth() != 0 || in.Snapshot.Len() != len(w.nodes) {
			t.Fatalf("seed %d: the snapshot is not as it was", seed)
		}
		nodes, cores, total := len(w.nodes), int64(0), map[cloudprovider.GroupID]int{}
		for _, n := range w.nodes {
			cores += n.Status.Capacity.Cpu().Value()
		}
		for _, o := range grown.Outcomes {
			if o.From != in.State.Groups[index(in, o.Group)].Target+total[o.Group] {
				t.Fatalf("seed %d: %s is resized from %d", seed, o.Group, o.From)
			}
			weight := in.Templates[o.Group].Weight()
			units := o.Granted
			if transient, lost := errors.AsType[*cloudprovider.TransientError](o.Err); lost && transient.OutcomeUnknown {
				units = o.To - o.From // it may have been carried out
			}
			total[o.Group] += units
			bought += units
			nodes += units / weight
			cores += int64(units/weight) * in.Templates[o.Group].Variants[0].Node.Status.Capacity.Cpu().Value()
			if o.To > o.Max || o.To <= o.From {
				t.Fatalf("seed %d: %s is resized from %d to %d, its maximum is %d", seed, o.Group, o.From, o.To, o.Max)
			}
			if o.Err != nil {
				again++
			}
		}
		if len(grown.Outcomes) > 0 && ((w.maxNodes > 0 && nodes > max(w.maxNodes, len(w.nodes))) || cores > w.limits["cpu"]) {
			t.Fatalf("seed %d: %d nodes of %d and %d cores of %d after %v", seed, nodes, w.maxNodes, cores, w.limits["cpu"], sizes(grown))
		}
		if len(grown.Pods) != len(w.pods) {
			t.Fatalf("seed %d: %d pods have a verdict, want %d", seed, len(grown.Pods), len(w.pods))
		}
		for _, v := range grown.Pods {
			if v.Fate == report.PodTriggered && total[v.Grown] == 0 {
				t.Fatalf("seed %d: %s is told that %s grew", seed, v.Pod, v.Grown)
			}
		}
	}
	if bought < 200 || again < 50 {
		t.Errorf("%d nodes were bought in all, %d times one was refused: the worlds prove little", bought, again)
	}
}

func index(in scaleup.In, id cloudprovider.GroupID) int {
	for i := range in.State.Groups {
		if in.State.Groups[i].Group == id {
			return i
		}
	}
	return -1
}
