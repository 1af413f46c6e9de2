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
	return strings.Compare(a.object.Name, b.object.Name)
}

// swap puts n in the place of old, which has the same name; nil stands for none.
func (x *nodeIndex) swap(old, n *node) {
	if holdsAffinity(old) || holdsAffinity(n) {
		x.stale = true
	}
	if old != nil && n != nil && compareNodes(old, n) == 0 {
		i := x.position(old)
		x.order[i], x.infos[i] = n, &n.view
		return
	}
	if old != nil {
		i := x.position(old)
		x.order, x.infos = slices.Delete(x.order, i, i+1), slices.Delete(x.infos, i, i+1)
	}
	if n != nil {
		i := x.position(n)
		x.order, x.infos = slices.Insert(x.order, i, n), slices.Insert(x.infos, i, fwk.NodeInfo(&n.view))
	}
}

// position is where n is, or where it belongs.
func (x *nodeIndex) position(n *node) int {
	i, _ := slices.BinarySearchFunc(x.order, n, compareNodes)
	return i
}

// holdsAffinity tells a node with pods that have affinity of any kind.
func holdsAffinity(n *node) bool { return n != nil && n.withAffinity > 0 }

// refresh makes the lists of nodes with affinity if they may have changed.
func (x *nodeIndex) refresh() {
	if !x.stale {
		return
	}
	x.stale = false
	// New slices, for the framework may still hold the old ones.
	x.affinity, x.antiAffinity, x.wideAntiAffinity = nil, nil, nil
	for _, n := range x.order {
		if n.withAffinity > 0 {
			x.affinity = append(x.affinity, &n.view)
		}
		if n.withAntiAffinity == 0 {
			continue
		}
		x.antiAffinity = append(x.antiAffinity, &n.view)
		if len(n.view.GetPodsWithRequiredNonHostScopedAntiAffinity()) > 0 {
			x.wideAntiAffinity = append(x.wideAntiAffinity, &n.view)
		}
	}
}
