package simulator

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// oneIn is how many pods are looked at for each whose specification is compared anew, which takes long.
const oneIn = 16

// Verify compares the snapshot's cluster with what it should be, from scratch, as far as the sampled nodes go: cluster has these nodes, the pods that
// belong on them and their CSINodes. What is counted over the whole snapshot is counted anew where sampled says so of the count's name. The error is
// the first difference; nil: there is none. Nodes that were injected and pods placed for a trial don't count. It changes nothing.
func (s *Snapshot) Verify(cluster Cluster, sampled func(name string) bool) error {
	wanted := make(map[string]*corev1.Node, len(cluster.Nodes))
	for _, object := range cluster.Nodes {
		wanted[object.Name] = object
	}
	pods := map[string]map[string]*corev1.Pod{}
	for _, pod := range cluster.Pods {
		name := NodeNameOf(pod)
		if pods[name] == nil {
			pods[name] = map[string]*corev1.Pod{}
		}
		pods[name][podfacts.Key(pod)] = pod
	}
	for _, n := range s.index.order {
		name := n.object.Name
		if n.injected > 0 || !sampled(name) {
			continue
		}
		object, ok := wanted[name]
		if !ok {
			return fmt.Errorf("node %s is in the snapshot only", name)
		}
		delete(wanted, name)
		if err := s.verifyNode(n, object, pods[name]); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if sampled(name) {
			return fmt.Errorf("node %s is missing in the snapshot", name)
		}
	}
	if err := s.verifyCSINodes(cluster, sampled); err != nil {
		return err
	}
	return s.verifyCounts(sampled)
}

func (s *Snapshot) verifyCSINodes(cluster Cluster, sampled func(name string) bool) error {
	wanted := make(map[string]*storagev1.CSINode, len(cluster.CSINodes))
	for _, csi := range cluster.CSINodes {
		wanted[csi.Name] = csi
	}
	for _, n := range s.index.order {
		name := n.object.Name
		if csi := wanted[name]; n.injected == 0 && sampled(name) && n.csi != csi && !apiequality.Semantic.DeepEqual(n.csi, csi) {
			return fmt.Errorf("node %s has other volume limits in the snapshot", name)
		}
	}
	return nil
}

func (s *Snapshot) verifyNode(n *node, object *corev1.Node, pods map[string]*corev1.Pod) error {
	if n.object != object && !apiequality.Semantic.DeepEqual(n.object, object) {
		return fmt.Errorf("the snapshot has another version of it, %s instead of %s", n.object.ResourceVersion, object.ResourceVersion)
	}
	info := framework.NewNodeInfo()
	info.SetNode(object)
	var taken amounts
	found := 0
	for i, p := range n.placements {
		taken.add(p.held, 1)
		if !p.base {
			continue
		}
		pod, ok := pods[p.where.key]
		switch {
		case !ok:
			return fmt.Errorf("pod %s/%s is in the snapshot only", p.pod.Namespace, p.pod.Name)
		case pod != p.pod && !apiequality.Semantic.DeepEqual(pod, p.pod):
			return fmt.Errorf("the snapshot has another version of pod %s/%s", pod.Namespace, pod.Name)
		case i%oneIn == 0 && (s.shapeByContent(pod) != p.shape || !holds(pod, p.held)):
			return fmt.Errorf("the snapshot takes pod %s/%s for one of another kind", pod.Namespace, pod.Name)
		}
		found++
	}
	if found < len(pods) {
		return fmt.Errorf("%d pods are missing in the snapshot", len(pods)-found)
	}
	offered := amountsOf(info.Allocatable)
	if !n.taken.equal(&taken) || !n.offered.equal(&offered) || n.allowedPods != info.Allocatable.AllowedPodNumber {
		return fmt.Errorf("the snapshot reckons with %+v of %+v taken instead of %+v of %+v", n.taken, n.offered, taken, offered)
	}
	if n.class != nil && n.classVersion == s.nodeKeys.version && s.nodeKeysVersion == s.nodeKeys.version &&
		s.nodeClasses[s.classText(object)] != n.class {
		return fmt.Errorf("the snapshot takes it for one of another class")
	}
	return nil
}

// holds tells whether these are the amounts that the framework would reckon with.
func holds(pod *corev1.Pod, held *amounts) bool {
	info, _ := framework.NewPodInfo(pod) // errors are about affinity
	amounts := amountsOf(info.CalculateResource().Resource)
	return held.equal(&amounts)
}

// shapeByContent is the shape that the pod's specification leads to, whatever the addresses of its parts.
func (s *Snapshot) shapeByContent(pod *corev1.Pod) *shape {
	text, err := contentOf(pod)
	if err != nil {
		return nil
	}
	return s.shapes[text]
}

// verifyCounts counts anew what is counted over the whole snapshot.
func (s *Snapshot) verifyCounts(sampled func(name string) bool) error {
	for _, name := range slices.Sorted(maps.Keys(s.talliesByName)) {
		t := s.talliesByName[name]
		if !sampled(name) {
			continue
		}
		err := s.verifyTally(t, func(p *placement) int {
			if t.living && p.pod.DeletionTimestamp != nil || !t.counts(s.labelsOf(p.pod)) {
				return 0
			}
			return 1
		})
		if err != nil {
			return fmt.Errorf("count of %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.groupsByName)) {
		t := s.groupsByName[name]
		if !sampled(name) {
			continue
		}
		err := s.verifyTally(t, func(p *placement) int {
			terms := 0
			for i := range p.shape.antiAffinity {
				if groupName(&p.shape.antiAffinity[i]) == name {
					terms++
				}
			}
			return terms
		})
		if err != nil {
			return fmt.Errorf("count of pods that are to be away from %s: %w", name, err)
		}
	}
	return nil
}

// verifyTally compares the tally with one that is made anew. weight is how often a pod counts.
func (s *Snapshot) verifyTally(t *tally, weight func(*placement) int) error {
	fresh := &tally{topologyKey: t.topologyKey, admits: t.admits, even: t.even, domains: map[string]*domain{}}
	for _, n := range s.index.order {
		fresh.enter(n)
		for _, p := range n.placements {
			if times := weight(p); times > 0 {
				fresh.add(n, times)
			}
		}
	}
	if fresh.pods != t.pods || fresh.populated != t.populated || len(fresh.domains) != len(t.domains) {
		return fmt.Errorf("the snapshot has %d pods in %d domains instead of %d in %d", t.pods, len(t.domains), fresh.pods, len(fresh.domains))
	}
	for _, value := range slices.Sorted(maps.Keys(fresh.domains)) {
		if had := t.domains[value]; had == nil || *had != *fresh.domains[value] {
			return fmt.Errorf("the snapshot is wrong about %s=%s", t.topologyKey, value)
		}
	}
	if t.even && t.populated > 0 && fresh.minimum() != t.minimum() {
		return fmt.Errorf("the snapshot takes %d for the least number of pods instead of %d", t.minimum(), fresh.minimum())
	}
	return nil
}
