package simulator

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podClass is what pods have in common that share their parts in memory, as those of one controller do that came through one informer: they differ in
// nothing but names, UIDs, times and nodes. None of them is being deleted, or says in its status what it takes. It is finer than a kind, and found out
// without a look at contents.
type podClass struct {
	// number is another one for each class, from 1; 0: each of these pods is unlike all others.
	number int
	key    podClassKey
	// The parts keep the addresses in the key from being used again.
	labels, annotations map[string]string
	owners              []metav1.OwnerReference
	volumes             []corev1.Volume
}

// podClassKey is the shape of pods, and by address what they consist of besides.
type podClassKey struct {
	shape               *shape
	labels, annotations uintptr
	owner               *metav1.OwnerReference
	volume              *corev1.Volume
	owners, volumes     int
	phase               corev1.PodPhase
}

// maxPodClasses bounds how many classes are found again.
const maxPodClasses = 10_000

// podClassOf is the class of a pod of this shape.
func (s *Snapshot) podClassOf(pod *corev1.Pod, sh *shape) *podClass {
	if pod.DeletionTimestamp != nil || resized(pod) {
		return &s.alone
	}
	key := podClassKey{
		shape: sh, labels: address(pod.Labels), annotations: address(pod.Annotations), owner: first(pod.OwnerReferences),
		owners: len(pod.OwnerReferences), volume: first(pod.Spec.Volumes), volumes: len(pod.Spec.Volumes), phase: pod.Status.Phase,
	}
	if sh.latest != nil && sh.latest.key == key {
		return sh.latest
	}
	class, known := s.podClasses[key]
	if !known {
		s.podClassCount++
		class = &podClass{
			number: s.podClassCount, key: key, labels: pod.Labels, annotations: pod.Annotations, owners: pod.OwnerReferences, volumes: pod.Spec.Volumes,
		}
		if len(s.podClasses) >= maxPodClasses {
			clear(s.podClasses)
		}
		s.podClasses[key] = class
	}
	sh.latest = class
	return class
}
