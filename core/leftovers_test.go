package core_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// leftBehind is a node as a process leaves it that dies while it removes the node.
func leftBehind(node *corev1.Node) {
	node.Spec.Taints = []corev1.Taint{{Key: taints.ToBeDeleted, Value: "1", Effect: corev1.TaintEffectNoSchedule}}
	node.Spec.Unschedulable = true
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[act.CordonAnnotation] = "cluster-autoscaler"
}

// The next process puts a node back into service when it first sees it in a node group, which need not be in its first iteration.
func TestANodeThatComesInSightLateIsPutBackIntoServiceToo(t *testing.T) {
	for name, test := range map[string]struct {
		before func(*world) // the first iteration
		late   func(*world) // after it
		node   string
		// stays is true if the node is still as it was left after the first iteration.
		stays bool
	}{
		"it is there from the start": {before: func(w *world) { w.change("g-0001", leftBehind) }, node: "g-0001"},
		"its group could not be listed at first": {
			before: func(w *world) {
				w.change("g-0001", leftBehind)
				w.cloud.Inject(simulated.Fault{On: simulated.ListInstances, Group: "g", Count: 1})
			},
			node: "g-0001", stays: true,
		},
		"its group comes later": {
			before: func(w *world) { w.put(orphan(w)) },
			late: func(w *world) {
				adopting := group("h", 0, 9, 1)
				adopting.Existing = []simulated.Existing{{NodeName: "h-0001", ProviderID: orphanID}}
				w.must(w.cloud.AddGroup(adopting))
				w.machines["h-0001"] = true // its node is there already
			},
			node: "h-0001", stays: true,
		},
		"it comes later itself": {
			before: func(w *world) { w.born["g"] = leftBehind },
			late: func(w *world) {
				w.must(w.cloud.Join("g", simulated.Existing{NodeName: "g-0002"}))
				w.settle()
			},
			node: "g-0002",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []string{"--scale-down-unneeded-time=1h"}, group("g", 0, 9, 1))
			test.before(w)
			w.to(0)
			if node := w.node(test.node); test.stays && !tainted(node, taints.ToBeDeleted) {
				t.Errorf("after the first iteration the node has the taints %v, want it as it was left: nobody knows whose it is", node.Spec.Taints)
			}
			if test.late != nil {
				test.late(w)
			}
			w.to(2 * scanInterval)
			node := w.node(test.node)
			if tainted(node, taints.ToBeDeleted) || node.Spec.Unschedulable || node.Annotations[act.CordonAnnotation] != "" {
				t.Errorf("the node is left with taints %v, cordoned %t, annotations %v", node.Spec.Taints, node.Spec.Unschedulable, node.Annotations)
			}
			told := slices.DeleteFunc(slices.Clone(w.events), func(event string) bool { return !strings.Contains(event, "ClusterAutoscalerCleanup") })
			if len(told) != 1 || !strings.HasPrefix(told[0], "Node/"+test.node+" ") {
				t.Errorf("events %q, want one of the clean-up", told)
			}
			w.change(test.node, leftBehind) // by somebody else
			w.to(4 * scanInterval)
			if !tainted(w.node(test.node), taints.ToBeDeleted) {
				t.Error("the node is tidied up a second time")
			}
		})
	}
}

const orphanID = "simulated://orphan"

// orphan is a node that belongs to no group yet.
func orphan(w *world) *corev1.Node {
	node := simtest.Node("h-0001").CPU("4").CreatedAt(w.start.Add(-time.Hour)).ProviderID(orphanID).Build()
	node.ResourceVersion = "1"
	leftBehind(node)
	return node
}

// A group that cannot be listed while its node is being removed is no reason to take the taint off when it is listed again.
func TestARemovalUnderWayIsNotTakenForALeftover(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=30s", "--node-delete-delay-after-taint=1m"}, group("g", 0, 9, 2))
	w.put(pod("busy", "3").On("g-0001").Build())
	w.at(45*time.Second, func() {
		w.cloud.Inject(simulated.Fault{On: simulated.ListInstances, Group: cloudprovider.GroupID("g"), Count: 2})
	})
	for at := 41 * time.Second; at < 95*time.Second; at += 10 * time.Second {
		w.to(at)
		if !tainted(w.node("g-0002"), taints.ToBeDeleted) {
			t.Fatalf("at %v the node has lost its taint", at)
		}
	}
	w.to(3 * time.Minute)
	w.wantTarget("g", 1)
}
