package simulator

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Snapshot is an in-memory cluster on which placements are tried: a base that equals the real cluster as last synced, and
// on it what was injected, placed and removed since.
//
// Objects are shared with whoever handed them in and are never changed. Not safe for concurrent use.
type Snapshot struct{}

// Cluster is what a snapshot's base is made to equal.
type Cluster struct {
	Nodes    []*corev1.Node       // in any order; names are unique
	Pods     []*corev1.Pod        // in any order; those without a node are strays
	CSINodes []*storagev1.CSINode // in any order; those without a node are ignored
}

// NodeTemplate is a node as it is before pods are placed on it.
type NodeTemplate struct {
	Node *corev1.Node
	// CSINode holds the node's volume limits; nil: none are known.
	CSINode *storagev1.CSINode
	// Pods are there from the start.
	Pods []*corev1.Pod
}

// NewSnapshot returns a snapshot of an empty cluster.
func NewSnapshot() *Snapshot { return &Snapshot{} }

// Sync makes the snapshot equal the cluster: whatever was injected or placed goes away, objects whose pointers are unchanged stay
// as they are, so that an unchanged cluster costs little. A pod goes to spec.nodeName, else to status.nominatedNodeName; strays are
// those whose node does not exist, or that have none, in the order given. It is refused inside a fork and for ambiguous input (two nodes of
// one name, one pod twice); the snapshot is then as before.
func (s *Snapshot) Sync(cluster Cluster) (strays []*corev1.Pod, err error) { return nil, nil }

// AddNode injects a node behind all others, with its pods. It is an error if the name is taken.
func (s *Snapshot) AddNode(template NodeTemplate) error { return nil }

// RemoveNode takes the node away, with its pods. It is an error if there is none.
func (s *Snapshot) RemoveNode(name string) error { return nil }

// ReplaceNode puts node in the place of the one with the same name. Position and CSINode stay, all pods go.
func (s *Snapshot) ReplaceNode(node *corev1.Node) error { return nil }

// AddPod places the pod on the node, whatever spec.nodeName says and whether it fits or not. It is an error if the node does not
// exist or holds the pod already (by UID, or by namespace and name if it has none). The same pod may lie on several nodes, as
// when a copy of a pod on a node being drained is placed elsewhere.
func (s *Snapshot) AddPod(pod *corev1.Pod, nodeName string) error { return nil }

// RemovePod takes the pod off the node. It is an error if it isn't there.
func (s *Snapshot) RemovePod(pod *corev1.Pod, nodeName string) error { return nil }

// Fork marks the present state, so that Revert can return to it. Forks nest. Its cost does not depend on the cluster's size.
func (s *Snapshot) Fork() {}

// Revert returns to the state of the last Fork that is still open and closes it; it costs as much as what was changed since.
// It is an error if none is open.
func (s *Snapshot) Revert() error { return nil }

// Commit closes the last Fork that is still open and keeps what was changed since; an outer fork can still revert it. It is an
// error if none is open.
func (s *Snapshot) Commit() error { return nil }

// Depth is the number of open forks.
func (s *Snapshot) Depth() int { return 0 }

// Nodes lists all nodes in canonical order: those of the cluster by ascending name, then injected ones as they came. The
// index in this list is the one that Search and Placement speak of. The slice is a new one.
func (s *Snapshot) Nodes() []*corev1.Node { return nil }

// Len is the number of nodes.
func (s *Snapshot) Len() int { return 0 }

// Node returns the node of this name.
func (s *Snapshot) Node(name string) (node *corev1.Node, ok bool) { return nil, false }

// CSINode returns the node's volume limits; nil: none are known or there is no such node.
func (s *Snapshot) CSINode(name string) *storagev1.CSINode { return nil }

// Pods lists the pods on the node by ascending namespace and name. The slice is shared and must not be changed; it is valid until
// the snapshot changes. An unknown node has none.
func (s *Snapshot) Pods(nodeName string) []*corev1.Pod { return nil }

// NodeOfPod says where the pod lies; where it lies on several nodes, the one it was put on last. ok is false if it is nowhere.
func (s *Snapshot) NodeOfPod(pod *corev1.Pod) (nodeName string, ok bool) { return "", false }

// Requested is what the pods on the node ask for, as the scheduler counts it: cpu in milli, all others in units, "pods" is
// their number. Resources that nobody asks for are missing. nil: no such node.
func (s *Snapshot) Requested(nodeName string) Resources { return nil }

// Free is what the node has allocatable less what is requested, in the units of Requested, for each resource that the node has
// allocatable. It may be negative. nil: no such node.
func (s *Snapshot) Free(nodeName string) Resources { return nil }

// Resources are amounts by resource name: cpu in milli-CPU, memory and ephemeral-storage in bytes, everything else in units.
type Resources map[corev1.ResourceName]int64
