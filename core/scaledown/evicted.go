package scaledown

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// Evicted is a pod that the removal of a node has moved away.
type Evicted struct {
	// Pod is the pod as it was when it was evicted; shared.
	Pod *corev1.Pod
	// At is when the API server took the eviction.
	At time.Time
}

// stand starts the UID of the pod that takes the place of an evicted one in the simulation: the evicted one itself may still be ending.
const stand = "in place of "

// search simulates removals in a cluster in which pods that were evicted lately, and are still to be made anew, have taken their room already, so that no
// removal counts on it (scale-down 3.2). The snapshot is as before afterwards.
func (u *update) search(ctx context.Context, candidates []candidate) (err error) {
	homeless := u.homeless()
	if len(homeless) == 0 {
		return u.simulate(ctx, candidates)
	}
	snapshot := u.in.Snapshot
	snapshot.Fork()
	defer func() {
		if revertErr := snapshot.Revert(); err == nil {
			err = revertErr
		}
	}()
	u.house(ctx, homeless)
	for i := range candidates {
		c := &candidates[i]
		if version := snapshot.Version(c.node.Name); version != c.facts.version {
			// What is worked out about the node holds with its guests only, and no later plan is to see it.
			c.facts = &facts{version: version, passing: snapshot.HasEndingPods(c.node.Name)}
		}
	}
	return u.simulate(ctx, candidates)
}

// homeless are the pods that were evicted lately and whose controllers have not made them anew yet, the earliest first. Pods that their node brings forth
// itself or that go with every node need no room elsewhere.
func (u *update) homeless() []*corev1.Pod {
	var lately []Evicted
	for _, e := range u.in.Evicted {
		pod := e.Pod
		if u.now.Sub(e.At) < u.options.EvictedPodTTL && !podfacts.IsStatic(pod) && !podfacts.IsMirror(pod) && !podfacts.IsDaemonSet(pod) {
			lately = append(lately, e)
		}
	}
	slices.SortFunc(lately, func(a, b Evicted) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name))
	})
	var pods []*corev1.Pod
	counted := map[types.UID]int32{}
	for _, e := range lately {
		owner, missing, known := u.missing(e.Pod)
		if known && counted[owner] >= missing {
			continue
		}
		if known {
			counted[owner]++
		}
		pods = append(pods, e.Pod)
	}
	return pods
}

// house places the pods, each on the first node that has room; the first that fits nowhere, or breaks a plug-in, is the last one tried.
func (u *update) house(ctx context.Context, pods []*corev1.Pod) {
	mover := u.scheduler.Mover(u.in.Snapshot, nil)
	defer mover.Close()
	for _, pod := range pods {
		next := *pod
		next.UID, next.Spec.NodeName = stand+types.UID(podfacts.Key(pod)), ""
		placement, _, err := mover.Place(ctx, simulator.Resident{Pod: &next}, "", u.lastMatch)
		if err != nil || placement.Node == "" {
			ref := nameOf(pod)
			u.noRoom = &ref
			return
		}
		u.lastMatch = placement.Index
	}
}

// missing is how many pods the controller of the pod still has to make: the first of its owners that is of a kind known for making pods. known is false
// if there is none, or if this cannot be told.
func (u *update) missing(pod *corev1.Pod) (owner types.UID, missing int32, known bool) {
	if u.workloads == nil {
		return "", 0, false
	}
	for i := range pod.OwnerReferences {
		ref := &pod.OwnerReferences[i]
		switch ref.Kind {
		case "ReplicationController", "ReplicaSet", "StatefulSet", "Job":
			missing, known = u.shortBy(pod.Namespace, ref)
			return ref.UID, missing, known
		}
	}
	return "", 0, false
}

// shortBy is how many pods the controller lacks; ok is false if that cannot be told.
func (u *update) shortBy(namespace string, ref *metav1.OwnerReference) (pods int32, ok bool) {
	switch ref.Kind {
	case "ReplicationController":
		if found, there, err := u.workloads.ReplicationController(namespace, ref.Name); there && err == nil {
			return orOne(found.Spec.Replicas) - found.Status.Replicas, true
		}
	case "ReplicaSet":
		if found, there, err := u.workloads.ReplicaSet(namespace, ref.Name); there && err == nil {
			return orOne(found.Spec.Replicas) - found.Status.Replicas, true
		}
	case "StatefulSet":
		if found, there, err := u.workloads.StatefulSet(namespace, ref.Name); there && err == nil {
			return orOne(found.Spec.Replicas) - found.Status.CurrentReplicas, true
		}
	case "Job":
		if found, there, err := u.workloads.Job(namespace, ref.Name); there && err == nil {
			wanted := orOne(found.Spec.Parallelism)
			if found.Spec.Completions != nil {
				wanted = min(wanted, *found.Spec.Completions-found.Status.Succeeded)
			}
			return wanted - found.Status.Active, true
		}
	}
	return 0, false
}

// orOne is the number of pods that a controller wants, which is one if it says nothing.
func orOne(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}
