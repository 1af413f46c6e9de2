package observation

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/cache"
)

// CheckEvery is how many observations pass from one check of the snapshot to the next, CheckParts in how many parts the nodes are checked.
const (
	CheckEvery = checkEvery
	CheckParts = checkParts
)

// AssumeTold makes every resource count as read, like AssumeSynced; what changes in the stores has to be told.
func (s *Source) AssumeTold() {
	for _, w := range s.watches {
		s.set(w, phaseOn, nil)
	}
}

// Deny makes the resource one that cannot be read, Allow one that can.
func (s *Source) Deny(resource string, err error) { s.set(s.byName[resource], phaseOff, err) }

// Allow is the inverse of Deny.
func (s *Source) Allow(resource string) { s.set(s.byName[resource], phaseOn, nil) }

// Tell is an event about the object, which came, changed, or is gone.
func (s *Source) Tell(object any) {
	about := object
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		about = gone.Obj
	}
	switch about.(type) {
	case *corev1.Node:
		s.follower.nodes.event(object)
	case *corev1.Pod:
		s.follower.pods.event(object)
	case *storagev1.CSINode:
		s.follower.csiNodes.event(object)
	case *appsv1.DaemonSet:
		s.follower.sets.event(object)
	case *policyv1.PodDisruptionBudget:
		s.follower.budgets.event(object)
	case *appsv1.ReplicaSet:
		s.follower.makers.replicaSets.kind.event(object)
	case *appsv1.StatefulSet:
		s.follower.makers.statefulSets.kind.event(object)
	case *batchv1.Job:
		s.follower.makers.jobs.kind.event(object)
	}
}
