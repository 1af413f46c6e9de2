package simulator

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// Contents is everything that a snapshot knows, for comparison: two snapshots with equal contents give equal answers.
type Contents struct {
	Nodes                                    []NodeContents // in canonical order
	Claims                                   map[string]int
	Places                                   map[string][]string // pod key → nodes, the last placement first
	Affinity, AntiAffinity, WideAntiAffinity []string
}

// NodeContents is everything that a snapshot knows about one node.
type NodeContents struct {
	Object           *corev1.Node
	CSI              *storagev1.CSINode
	Injected         bool
	Pods             []*corev1.Pod
	Infos            []string // keys of the framework's pods, sorted
	Requested        Resources
	NonZeroRequested [2]int64
	Allocatable      Resources
	Ports            fwk.HostPortInfo
	Claims           map[string]int
}

// ContentsOf reads all of the snapshot, and the indexes through the listers that the framework reads.
func ContentsOf(s *Snapshot) Contents {
	lister := nodeInfoLister{&question{s}}
	c := Contents{Claims: s.claims, Places: map[string][]string{}}
	c.Affinity = nodeNames(lister.HavePodsWithAffinityList())
	c.AntiAffinity = nodeNames(lister.HavePodsWithRequiredAntiAffinityList())
	c.WideAntiAffinity = nodeNames(lister.HavePodsWithRequiredNonHostScopedAntiAffinityList())
	for i, n := range s.index.order {
		if s.index.infos[i] != fwk.NodeInfo(&n.view) || s.nodes[n.object.Name] != n {
			panic("the index and the map of nodes differ at " + n.object.Name)
		}
		info := n.view.made()
		offered := n.offered.resources()
		offered[corev1.ResourcePods] = int64(n.allowedPods)
		node := NodeContents{
			Object: n.object, CSI: n.csi, Injected: n.injected > 0, Pods: s.Pods(n.object.Name),
			Requested: s.Requested(n.object.Name), Allocatable: offered,
			NonZeroRequested: [2]int64{info.NonZeroRequested.MilliCPU, info.NonZeroRequested.Memory},
			Ports:            info.UsedPorts, Claims: info.PVCRefCounts,
		}
		if !slices.IsSortedFunc(node.Pods, comparePods) {
			panic("the pods are out of order on node " + n.object.Name)
		}
		for _, info := range info.Pods {
			node.Infos = append(node.Infos, string(info.GetPod().UID))
		}
		slices.Sort(node.Infos)
		c.Nodes = append(c.Nodes, node)
	}
	numbered := map[int32]bool{}
	for key, w := range s.places {
		if numbered[w.number] || slices.Contains(s.freeNumbers, w.number) || w.key != key || !w.listed || w.first == nil && len(s.forks) == 0 {
			panic(fmt.Sprintf("the whereabouts of pod %s are wrong: %+v", key, *w))
		}
		numbered[w.number] = true
		if w.first == nil {
			continue
		}
		var chain []*placement
		for p := w.first; p != nil; p = p.next {
			chain = append(chain, p)
		}
		slices.SortFunc(chain, func(a, b *placement) int { return int(b.turn) - int(a.turn) })
		for _, p := range chain {
			c.Places[key] = append(c.Places[key], p.node.object.Name)
		}
	}
	return c
}

func nodeNames(infos []fwk.NodeInfo, _ error) []string {
	var names []string
	for _, info := range infos {
		names = append(names, info.Node().Name)
	}
	return names
}

// LogLength is how many changes the snapshot could undo.
func LogLength(s *Snapshot) int { return len(s.log) }

// CheckWithClaims asks the framework even about a pod with resource claims.
func CheckWithClaims(ctx context.Context, s *Scheduler, snap *Snapshot, pod *corev1.Pod) *Rejection {
	s.ask(snap)
	defer s.answered()
	a := newAttempt(s.filters, snap.know(pod))
	status := a.preFilter(ctx)
	return a.rejection(nil, status)
}

// FilterPluginNames are the names that the contract knows, for comparison with what a framework lists.
func FilterPluginNames() []string { return filterPlugins() }

// ActiveFilters are the names of the plug-ins that the scheduler asks, in order: at PreFilter, and at Filter.
func ActiveFilters(s *Scheduler) (preFilter, filter []string) {
	lister, ok := s.filters.(interface{ ListPlugins() *config.Plugins })
	if !ok {
		return nil, nil
	}
	listed := lister.ListPlugins()
	return pluginNames(listed.PreFilter), pluginNames(listed.Filter)
}

func pluginNames(set config.PluginSet) []string {
	var names []string
	for _, plugin := range set.Enabled {
		names = append(names, plugin.Name)
	}
	return names
}

// EmptyLister reads an empty snapshot.
func EmptyLister() fwk.SharedLister { return sharedLister{&question{NewSnapshot()}} }

// EmptyDRAManager is the one without devices.
func EmptyDRAManager() fwk.SharedDRAManager { return noDevices{} }

// DecidedAfter is the position that a scan settles on when the pod fits at these, and the answers come in this order.
func DecidedAfter(positions ...int) int {
	const count = 10
	s := &scan{decided: count, ring: ring{length: count}, statuses: make([]*fwk.Status, count)}
	for _, position := range positions {
		s.settle(position, nil)
	}
	return s.decided
}

// NeverRemember makes the snapshot found itself anew at each Advance.
func NeverRemember(s *Snapshot) { s.slack = -1 << 40 }

// Remembered is how many shapes, sets of labels and kinds of pods the snapshot remembers.
func Remembered(s *Snapshot) int { return len(s.shapes) + len(s.labelSets) + len(s.kinds) }

// RememberedClasses is how many classes of nodes the snapshot remembers, and how many verdicts about them.
func RememberedClasses(s *Snapshot) (classes, verdicts int) {
	for _, m := range s.memos {
		verdicts += len(m.verdicts)
	}
	return len(s.nodeClasses), verdicts
}

// SetSlack sets how much the snapshot may remember beyond what there is.
func SetSlack(s *Snapshot, slack int) { s.slack = slack }
