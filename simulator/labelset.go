package simulator

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// labelSet are the labels of pods in one namespace: all that others' selectors see of them. Equal ones of a snapshot are one.
type labelSet struct {
	namespace string
	labels    map[string]string
	// tallies count pods with these labels.
	tallies []*tally
	// counted is for whoever goes over all sets.
	counted bool
}

// labelsKey tells most equal labels by their address, which pods from one informer share.
type labelsKey struct {
	namespace string
	labels    uintptr
}

// rememberedLabels is a labelsKey's set. The pod keeps the address from being used again.
type rememberedLabels struct {
	set *labelSet
	pod *corev1.Pod
}

// labelsOf are the pod's labels.
func (s *Snapshot) labelsOf(pod *corev1.Pod) *labelSet {
	key := labelsKey{namespace: pod.Namespace, labels: address(pod.Labels)}
	if known, ok := s.labelsByAddress[key]; ok {
		return known.set
	}
	set := s.internLabels(pod.Namespace, pod.Labels)
	if len(s.labelsByAddress) >= maxKeys {
		clear(s.labelsByAddress)
	}
	s.labelsByAddress[key] = rememberedLabels{set: set, pod: pod}
	return set
}

// readLabelsOf are those of the pod's labels that some selector reads: pods that have these in common are the same to everybody.
func (s *Snapshot) readLabelsOf(pod *corev1.Pod) *labelSet {
	read := 0
	for key := range pod.Labels {
		if s.podKeys.has[key] {
			read++
		}
	}
	if read == len(pod.Labels) {
		return s.labelsOf(pod)
	}
	var kept map[string]string
	if read > 0 {
		kept = make(map[string]string, read)
		for key, value := range pod.Labels {
			if s.podKeys.has[key] {
				kept[key] = value
			}
		}
	}
	return s.internLabels(pod.Namespace, kept)
}

func (s *Snapshot) internLabels(namespace string, labels map[string]string) *labelSet {
	var text strings.Builder
	text.WriteString(namespace)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		text.WriteByte(0)
		text.WriteString(key)
		text.WriteByte('=')
		text.WriteString(labels[key])
	}
	set, ok := s.labelSets[text.String()]
	if !ok {
		set = &labelSet{namespace: namespace, labels: labels}
		for _, t := range s.tallies {
			if t.counts(set) {
				set.tallies = append(set.tallies, t)
			}
		}
		s.labelSets[text.String()] = set
	}
	return set
}
