package scaleup_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/processors/pendingpods"
	"example.com/cluster-autoscaler/simulator/simtest"
)

const gpuLabel = "example.com/accelerator"

var now = simtest.Epoch.Add(time.Hour)

// group is one node group of a world; its nodes exist as far as world.nodes names them.
type group struct {
	id               cloudprovider.GroupID
	min, max, target int
	variants         []simtest.NodeBuilder
	weight           int
	templateErr      error
	atomic           bool
	stale            error
	suspended        string
	theoretical      bool
	state            func(*clusterstate.GroupState)
}

// world is a cluster as one round of growth sees it.
type world struct {
	groups      []group
	groupErrors []cloudprovider.GroupError
	nodes       []*corev1.Node
	members     map[string]cloudprovider.GroupID
	running     []*corev1.Pod
	pods        []simtest.PodBuilder
	limits      map[string]int64
	maxNodes    int
	attempts    map[scaleup.Attempt]time.Time
	options     config.ScaleUp
	expanders   []config.Expander // empty: least-waste
	budget      scaleup.Budget
	refuse      map[cloudprovider.GroupID]error
	// grants is how much groups grant that refuse the rest.
	grants map[cloudprovider.GroupID]int
	// renames are the ids of groups since they were created.
	renames  map[cloudprovider.GroupID]cloudprovider.GroupID
	parallel bool // whether the cloud is asked for all at once
	first    bool // whether the first option is taken, whatever it is
	// balancing are the flags; nil: balancing is off.
	balancing   *config.Balancing
	bookkeeping []string
	whole       bool // whether the pods want all or nothing
	salvo       scaleup.Budget
}

// on adds a node of the group with pods that fill it.
func (w world) on(id cloudprovider.GroupID, node simtest.NodeBuilder, cpu string) world {
	n := node.Build()
	w.nodes = append(slices.Clone(w.nodes), n)
	if id != "" {
		members := map[string]cloudprovider.GroupID{n.Name: id}
		maps.Copy(members, w.members)
		w.members = members
	}
	if cpu != "" {
		w.running = append(slices.Clone(w.running), pod("running-"+n.Name, cpu).OwnedBy("ReplicaSet", "old").On(n.Name).Build())
	}
	return w
}

func pod(name, cpu string) simtest.PodBuilder { return simtest.Pod(name).Requests(cpu, "") }

func many(n int, name, cpu string) []simtest.PodBuilder {
	var out []simtest.PodBuilder
	for i := range n {
		out = append(out, pod(fmt.Sprintf("%s-%02d", name, i), cpu).OwnedBy("ReplicaSet", name))
	}
	return out
}

func (w world) observed() (groups []observation.Group, state clusterstate.State) {
	state.At = now
	for _, g := range w.groups {
		observed := observation.Group{ID: g.id, TemplateErr: g.templateErr, Stale: g.stale}
		observed.Min, observed.Max, observed.Target, observed.Suspended = g.min, g.max, g.target, g.suspended
		observed.Options.ZeroOrMaxNodeScaling, observed.Theoretical = g.atomic, g.theoretical
		for i, v := range g.variants {
			observed.Variants = append(observed.Variants, cloudprovider.TemplateVariant{
				Key: fmt.Sprint(i), Node: v.Build(), Weight: g.weight, Promise: cloudprovider.PromiseCertain,
			})
		}
		groups = append(groups, observed)
		s := clusterstate.GroupState{GroupStatus: report.GroupStatus{Group: g.id, Min: g.min, Max: g.max, Target: g.target, Healthy: true}}
		if g.state != nil {
			g.state(&s)
		}
		state.Groups = append(state.Groups, s)
	}
	return groups, state
}

// in plays the steps before growth.
func (w world) in(t *testing.T) scaleup.In {
	t.Helper()
	groups, state := w.observed()
	snapshot := simtest.Snapshot(t, w.nodes, w.running)
	nodes := slices.Clone(w.nodes)
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	templates := nodeinfos.Build(nodeinfos.In{
		At: now, Groups: groups, Nodes: nodes, Members: w.members, Snapshot: snapshot,
		Options: config.Templates{NodeInfoCacheExpireTime: time.Hour},
	}).Templates
	scheduler := simtest.Scheduler(t)
	pending := pendingpods.In{
		At: now, Snapshot: snapshot, Scheduler: scheduler, Upcoming: scaleup.Upcoming(state), Templates: templates,
		Options: config.Pods{ExpendablePriorityCutoff: -10},
	}
	for _, b := range w.pods {
		pending.Unschedulable = append(pending.Unschedulable, b.Build())
	}
	left, err := pendingpods.Run(t.Context(), pending)
	if err != nil {
		t.Fatal(err)
	}
	in := scaleup.In{
		At: now, Snapshot: snapshot, Pending: left, Scheduler: scheduler, Groups: groups, GroupErrors: w.groupErrors, Members: w.members,
		GPULabel: gpuLabel, Limits: cloudprovider.ResourceLimits{Max: w.limits}, State: state, Templates: templates, Attempts: w.attempts,
		MaxNodes: w.maxNodes, Options: w.options, Budget: w.budget, BookkeepingLabels: w.bookkeeping, AllOrNothing: w.whole, Salvo: w.salvo,
	}
	if w.balancing != nil {
		in.Balancing = *w.balancing
	}
	return in
}

// act grants every wish, except for those of groups that refuse or grant less. One after the other, it stops at the first failure.
func (w world) act(_ context.Context, resizes []report.Resize) ([]report.ResizeOutcome, error) {
	var out []report.ResizeOutcome
	for _, r := range resizes {
		outcome := report.ResizeOutcome{Resize: r, At: now, Granted: r.To - r.From}
		if name := w.renames[r.Group]; name != "" {
			outcome.Group = name
		}
		if err := w.refuse[r.Group]; err != nil {
			outcome.Granted, outcome.Err = min(w.grants[r.Group], r.To-r.From), err
		}
		out = append(out, outcome)
		if outcome.Err != nil && !w.parallel {
			break
		}
	}
	return out, nil
}

func (w world) choose(t *testing.T) scaleup.Choose {
	t.Helper()
	if w.first {
		return func(context.Context, expander.Question) expander.Choice { return expander.Choice{} }
	}
	names := w.expanders
	if len(names) == 0 {
		names = []config.Expander{config.ExpanderLeastWaste}
	}
	chain, err := expander.New(names, expander.Sources{}, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return chain.Choose
}

func (w world) grow(t *testing.T) report.ScaleUp {
	t.Helper()
	in := w.in(t)
	before := in.Snapshot.Nodes()
	grown := scaleup.Grow(t.Context(), in, w.choose(t), w.act)
	if in.Snapshot.Depth() != 0 || !slices.Equal(before, in.Snapshot.Nodes()) {
		t.Error("the snapshot is not as it was before the round")
	}
	return grown
}

// sizes renders what was bought as "group from->to".
func sizes(grown report.ScaleUp) []string {
	var out []string
	for _, o := range grown.Outcomes {
		if o.Granted > 0 {
			out = append(out, fmt.Sprintf("%s %d->%d", o.Group, o.From, o.From+o.Granted))
		}
	}
	return out
}

// verdict renders what is told about a pod as "fate; group: reason, ...".
func verdict(v report.PodVerdict) string {
	parts := []string{string(v.Fate)}
	if v.Grown != "" {
		parts[0] += " by " + string(v.Grown)
	}
	if v.Own != nil {
		parts = append(parts, string(v.Own.Code()))
	}
	for _, g := range v.Groups {
		parts = append(parts, fmt.Sprintf("%s: %s", g.Group, g.Reason))
	}
	return strings.Join(parts, "; ")
}

func verdicts(grown report.ScaleUp) map[string]string {
	out := map[string]string{}
	for _, v := range grown.Pods {
		out[v.Pod.Name] = verdict(v)
	}
	return out
}

type spent bool

func (s spent) Spent() bool { return bool(s) }
