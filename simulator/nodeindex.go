package simulator

import (
	"cmp"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// nodeIndex keeps the nodes of a snapshot in canonical order, and the lists of them that the framework asks for.
type nodeIndex struct {
	order []*node
	infos []fwk.NodeInfo // of order

	// The nodes with pods that have affinity of a kind, in canonical order; made when they are asked for.
	affinity, antiAffinity, wideAntiAffinity []fwk.NodeInfo
	stale                                    bool
}

func (x *nodeIndex) len() int { return len(x.order) }

// compareNodes is the canonical order: nodes of the cluster by name, then injected ones as they came.
func compareNodes(a, b *node) int {
	if order := cmp.Compare(a.injected, b.injected); order != 0 || a.injected != 0 {
		return order
	}
	return strings.Compare(a.info.Node().Name, b.info.Node().Name)
}

// swap puts n in the place of old, which has the same name; nil stands for none.
func (x *nodeIndex) swap(old, n *node) {
	if affinityOf(old).any || affinityOf(n).any {
		x.stale = true // even where the kinds agree, since the lists hold the old node
	}
	if old != nil && n != nil && compareNodes(old, n) == 0 {
		i := x.position(old)
		x.order[i], x.infos[i] = n, n.info
		return
	}
	if old != nil {
		i := x.position(old)
		x.order, x.infos = slices.Delete(x.order, i, i+1), slices.Delete(x.infos, i, i+1)
	}
	if n != nil {
		i := x.position(n)
		x.order, x.infos = slices.Insert(x.order, i, n), slices.Insert(x.infos, i, fwk.NodeInfo(n.info))
	}
}

// position is where n is, or where it belongs.
func (x *nodeIndex) position(n *node) int {
	i, _ := slices.BinarySearchFunc(x.order, n, compareNodes)
	return i
}

// rebuild takes these nodes instead of the present ones.
func (x *nodeIndex) rebuild(nodes map[string]*node) {
	x.order, x.infos, x.stale = make([]*node, 0, len(nodes)), make([]fwk.NodeInfo, 0, len(nodes)), true
	for _, n := range nodes {
		x.order = append(x.order, n)
	}
	slices.SortFunc(x.order, compareNodes)
	for _, n := range x.order {
		x.infos = append(x.infos, n.info)
	}
}

// affinityKinds says which of the lists a node is on.
type affinityKinds struct{ any, anti, wideAnti bool }

func affinityOf(n *node) affinityKinds {
	if n == nil {
		return affinityKinds{}
	}
	return affinityKinds{
		any: len(n.info.PodsWithAffinity) > 0, anti: len(n.info.PodsWithRequiredAntiAffinity) > 0,
		wideAnti: len(n.info.PodsWithRequiredNonHostScopedAntiAffinity) > 0,
	}
}

// touch says that a pod came to a node or left it.
func (x *nodeIndex) touch(before, after affinityKinds) {
	if before != after {
		x.stale = true
	}
}

// refresh makes the lists of nodes with affinity if they may have changed.
func (x *nodeIndex) refresh() {
	if !x.stale {
		return
	}
	x.stale = false
	// New slices, for the framework may still hold the old ones.
	x.affinity, x.antiAffinity, x.wideAntiAffinity = nil, nil, nil
	for _, n := range x.order {
		kinds := affinityOf(n)
		if kinds.any {
			x.affinity = append(x.affinity, n.info)
		}
		if kinds.anti {
			x.antiAffinity = append(x.antiAffinity, n.info)
		}
		if kinds.wideAnti {
			x.wideAntiAffinity = append(x.wideAntiAffinity, n.info)
		}
	}
}
