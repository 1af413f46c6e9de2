package clusterstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/readiness"
)

// class is what a registered node counts as, exactly one each (loop-and-scale-up 2.2).
type class int

const (
	classUnset class = iota
	classDeleted
	classSuspended
	classReady
	classNotStarted
	classUnready
)

// classified are the nodes of one iteration, sorted into classes.
type classified struct {
	all     report.NodeCounts
	managed report.NodeCounts
	// of has an entry for every group that is seen.
	of map[cloudprovider.GroupID]*members
	// providerIDs are those of all nodes, whosever they are.
	providerIDs map[string]bool
}

// members are the nodes of one group.
type members struct {
	counts report.NodeCounts
	nodes  []member // by ascending name
	// providerIDs are those of its nodes; anonymous is how many of them have none.
	providerIDs map[string]bool
	anonymous   int
}

// member is one node of a group.
type member struct {
	object           *corev1.Node
	name, providerID string
	class            class
	created          time.Time
	readySince       time.Time // zero: not ready
}

// classify counts every node once as registered and once by its class.
func classify(seen observation.Observation) classified {
	startup := make(map[cloudprovider.GroupID]time.Duration, len(seen.Groups))
	out := classified{
		of: make(map[cloudprovider.GroupID]*members, len(seen.Groups)), providerIDs: make(map[string]bool, len(seen.Nodes)),
	}
	for _, group := range seen.Groups {
		startup[group.ID] = group.Options.MaxNodeStartupTime
		size := max(0, group.Target)
		out.of[group.ID] = &members{providerIDs: make(map[string]bool, size), nodes: make([]member, 0, size)}
	}
	for _, node := range seen.Nodes {
		out.providerIDs[node.Spec.ProviderID] = true
		id, managed := seen.Members[node.Name]
		limit, known := startup[id]
		if !managed || !known {
			limit = defaultStartupTime
		}
		c, since, resource := classOf(node, seen, limit)
		count(&out.all, c, resource)
		if !managed {
			continue
		}
		count(&out.managed, c, resource)
		if m := out.of[id]; m != nil {
			count(&m.counts, c, resource)
			m.add(node, c, since)
		}
	}
	return out
}

// defaultStartupTime holds for nodes without a group.
const defaultStartupTime = 15 * time.Minute

func (m *members) add(node *corev1.Node, c class, since time.Time) {
	m.providerIDs[node.Spec.ProviderID] = true
	if node.Spec.ProviderID == "" && c != classDeleted {
		m.anonymous++
	}
	added := member{object: node, name: node.Name, providerID: node.Spec.ProviderID, class: c, created: node.CreationTimestamp.Time}
	if c == classReady {
		added.readySince = since
	}
	m.nodes = append(m.nodes, added)
}

// classOf judges one node. since is when its readiness last changed; resource is true for a node that waits for a device.
func classOf(node *corev1.Node, seen observation.Observation, startup time.Duration) (c class, since time.Time, resource bool) {
	if seen.Gone[node.Name] {
		return classDeleted, time.Time{}, false
	}
	if readiness.IsSuspended(node) {
		return classSuspended, time.Time{}, false
	}
	judged := readiness.Of(node)
	switch {
	case judged.Ready:
		return classReady, judged.LastTransition, false
	case node.CreationTimestamp.Add(startup).After(seen.At):
		return classNotStarted, judged.LastTransition, false
	default:
		return classUnready, judged.LastTransition, judged.Reason == readiness.ReasonResourceNotReady
	}
}

func count(counts *report.NodeCounts, c class, resource bool) {
	counts.Registered++
	switch c {
	case classDeleted:
		counts.Deleted++
	case classSuspended:
		counts.Suspended++
	case classReady:
		counts.Ready++
	case classNotStarted:
		counts.NotStarted++
	case classUnready:
		counts.Unready++
		if resource {
			counts.ResourceUnready++
		}
	case classUnset:
	}
}
