package nodeinfos

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/taints"
)

// settled is how long a node must have been ready to be an example: device plug-ins and agents finish in the first minute, and what they
// add would otherwise be missing in the template.
const settled = time.Minute

// groupExamples are the live nodes of one group that can serve as examples.
type groupExamples struct {
	good    []example // by place
	bad     *corev1.Node
	members map[string]int // all nodes by zone
	attach  *corev1.Node   // first good node whose CSINode names a driver
}

// example are the good nodes of one place, by name.
type example struct {
	place Place
	nodes []*corev1.Node
}

// since is the first node that was made at that time or later; nil: there is none.
func (e *example) since(at time.Time) *corev1.Node {
	at = at.Truncate(time.Second) // the API server's time stamps have whole seconds
	for _, node := range e.nodes {
		if !node.CreationTimestamp.Time.Before(at) {
			return node
		}
	}
	return nil
}

// survey sorts the nodes by group in one pass.
func survey(in In) map[cloudprovider.GroupID]*groupExamples {
	out := make(map[cloudprovider.GroupID]*groupExamples, len(in.Groups))
	for _, node := range in.Nodes {
		id, managed := in.Members[node.Name]
		if !managed {
			continue
		}
		group := out[id]
		if group == nil {
			group = &groupExamples{members: map[string]int{}}
			out[id] = group
		}
		place := PlaceOf(node)
		group.members[place.Zone]++
		if !good(node, in.At) {
			if group.bad == nil {
				group.bad = node
			}
			continue
		}
		if group.attach == nil && limited(in.Snapshot.CSINode(node.Name)) {
			group.attach = node
		}
		at := slices.IndexFunc(group.good, func(e example) bool { return e.place == place })
		if at < 0 {
			at = len(group.good)
			group.good = append(group.good, example{place: place})
		}
		group.good[at].nodes = append(group.good[at].nodes, node)
	}
	for _, group := range out {
		slices.SortStableFunc(group.good, func(a, b example) int { return a.place.compare(b.place) })
	}
	return out
}

// good tells a node that shows what its group's nodes are like: ready for some time and neither cordoned nor on its way out.
func good(node *corev1.Node, at time.Time) bool {
	if node.Spec.Unschedulable {
		return false
	}
	if _, leaving := taints.Find(node, taints.ToBeDeleted); leaving {
		return false
	}
	r := readiness.Of(node)
	return r.Ready && r.LastTransition.Add(settled).Before(at)
}

// recall sorts what was learnt by group and drops what is too old.
func recall(in In) map[cloudprovider.GroupID][]LearntTemplate {
	out := make(map[cloudprovider.GroupID][]LearntTemplate, len(in.Learnt))
	for _, learnt := range in.Learnt {
		if learnt.Template.Node == nil || learnt.At.Add(in.Options.NodeInfoCacheExpireTime).Before(in.At) {
			continue
		}
		out[learnt.Group] = append(out[learnt.Group], learnt)
	}
	for _, learnt := range out {
		slices.SortStableFunc(learnt, func(a, b LearntTemplate) int { return a.Place.compare(b.Place) })
	}
	return out
}
