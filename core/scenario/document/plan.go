package document

import (
	"cmp"
	"slices"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"

	"example.com/cluster-autoscaler/simulator/defaults"
)

// planChecker goes through a timeline and reports what it names that is not there at that time.
type planChecker struct {
	names   *names
	at      time.Time
	groups  []*NodeGroup
	classes []*schedulingv1.PriorityClass
	report  at
}

func (p *planChecker) check(s Scenario) {
	order := make([]int, len(s.Timeline))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Timeline[a].At, s.Timeline[b].At) })
	ever := p.everGroups(s)
	for _, i := range order {
		p.entry(&s.Timeline[i], p.report.in(index("timeline", i)))
	}
	for i := range s.Expect {
		p.expectation(&s.Expect[i], ever, p.report.in(index("expect", i)))
	}
}

// everGroups are the groups that are there at any time.
func (p *planChecker) everGroups(s Scenario) map[string]bool {
	ever := map[string]bool{}
	for _, group := range p.groups {
		ever[group.Metadata.Name] = true
	}
	for i := range s.Timeline {
		if apply := s.Timeline[i].Apply; apply != nil {
			for _, group := range apply.NodeGroups {
				ever[group.Metadata.Name] = true
			}
		}
	}
	return ever
}

func (p *planChecker) entry(e *Entry, report at) {
	if e.Apply != nil {
		p.apply(e, report)
	}
	for i, ref := range e.Delete {
		k := key{ref.Kind, ref.Namespace, ref.Name}
		if !p.names.may(k) {
			report.bad(index("delete", i), "there is no %s at that time", k)
			continue
		}
		if e.Every == 0 { // what happens again may name things that come again
			p.delete(k)
		}
	}
	if e.Scale != nil {
		if k := (key{e.Scale.Kind, e.Scale.Namespace, e.Scale.Name}); !p.names.has(k) {
			report.bad("scale", "there is no %s at that time", k)
		}
	}
	if e.Cloud != nil && e.Cloud.NodeGroup != "" && !p.names.has(groupKey(e.Cloud.NodeGroup)) {
		report.bad("cloud.nodeGroup", "there is no node group %q at that time", e.Cloud.NodeGroup)
	}
	if e.Nodes != nil {
		for i, name := range e.Nodes.Names {
			if !p.names.may(nodeKey(name)) {
				report.bad(index("nodes.names", i), "there is no node %q at that time", name)
			}
		}
	}
}

// delete takes a name away, with what is made under it.
func (p *planChecker) delete(k key) {
	p.names.remove(k)
	if k.kind == KindPods {
		for _, kind := range []string{OwnerReplicaSet, OwnerStatefulSet, OwnerDaemonSet, OwnerJob} {
			p.names.remove(key{kind, k.namespace, k.name})
		}
	}
	if k.kind == KindPods || k.kind == OwnerReplicaSet || k.kind == OwnerStatefulSet || k.kind == OwnerDaemonSet || k.kind == OwnerJob {
		delete(p.names.makers, key{"Pod", k.namespace, k.name})
	}
	if k.kind == KindNodeGroup {
		p.groups = slices.DeleteFunc(slices.Clone(p.groups), func(g *NodeGroup) bool { return g.Metadata.Name == k.name })
	}
}

// apply tries what the entry will do, for its errors and names.
func (p *planChecker) apply(e *Entry, report at) {
	own := copyOf(e.Apply)
	p.groups = append(append([]*NodeGroup{}, own.NodeGroups...), p.groups...)
	p.classes = append(slices.Clip(p.classes), own.PriorityClasses...)
	for k := range e.paths {
		p.names.add(k)
	}
	f := &finisher{
		at: p.at.Add(e.At), groups: p.groups, priorities: defaults.NewPriorities(p.classes), known: p.names, replaces: true,
		where: func(k key) at {
			within := report
			within.path = e.paths[k]
			return within
		},
	}
	f.finish(own)
}

func (p *planChecker) expectation(e *Expectation, groups map[string]bool, report at) {
	if e.NodeGroup != "" && !groups[e.NodeGroup] {
		report.bad("nodeGroup", "there is no node group %q", e.NodeGroup)
	}
	for i, name := range e.Removed {
		if !p.ever(nodeKey(name)) {
			report.bad(index("removed", i), "there is no node %q", name)
		}
	}
	if e.Node != "" && !p.ever(nodeKey(e.Node)) {
		report.bad("node", "there is no node %q", e.Node)
	}
}

// ever tells whether there was at some time or may come such an object.
func (p *planChecker) ever(k key) bool { return p.names.removed[k] || p.names.may(k) }
