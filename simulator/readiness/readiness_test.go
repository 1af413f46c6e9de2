package readiness_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestOf(t *testing.T) {
	t.Parallel()
	later := simtest.Epoch.Add(time.Hour)
	node := simtest.Node("n")
	taintedLater := func(key string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			at := metav1.NewTime(later)
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute, TimeAdded: &at})
		}
	}
	ready := readiness.Readiness{Ready: true, Known: true, LastTransition: simtest.Epoch}
	notReady := func(reason string, at time.Time) readiness.Readiness {
		return readiness.Readiness{Known: true, Reason: reason, LastTransition: at}
	}
	cases := map[string]struct {
		node simtest.NodeBuilder
		want readiness.Readiness
	}{
		"a ready node":                                {node: node, want: ready},
		"Ready is False":                              {node: node.With(readyIs(corev1.ConditionFalse, "KubeletNotReady", later)), want: notReady("KubeletNotReady", later)},
		"Ready is Unknown":                            {node: node.With(readyIs(corev1.ConditionUnknown, "NodeStatusUnknown", later)), want: notReady("NodeStatusUnknown", later)},
		"no Ready condition":                          {node: node.With(func(n *corev1.Node) { n.Status.Conditions = nil }), want: readiness.Readiness{}},
		"a full disk":                                 {node: node.Condition(corev1.NodeDiskPressure, corev1.ConditionTrue, later), want: notReady("", later)},
		"no network":                                  {node: node.Condition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue, later), want: notReady("", later)},
		"a disk that is fine again since later":       {node: node.Condition(corev1.NodeDiskPressure, corev1.ConditionFalse, later), want: readiness.Readiness{Ready: true, Known: true, LastTransition: later}},
		"memory pressure doesn't matter":              {node: node.Condition(corev1.NodeMemoryPressure, corev1.ConditionTrue, later), want: ready},
		"too many processes don't matter":             {node: node.Condition(corev1.NodePIDPressure, corev1.ConditionTrue, later), want: ready},
		"a taint says not ready, whatever its effect": {node: node.With(taintedLater(corev1.TaintNodeNotReady)), want: notReady(corev1.TaintNodeNotReady, later)},
		"a taint says that the disk is full":          {node: node.With(taintedLater(corev1.TaintNodeDiskPressure)), want: notReady(corev1.TaintNodeDiskPressure, later)},
		"a taint says that there is no network":       {node: node.Taint(corev1.TaintNodeNetworkUnavailable, "", corev1.TaintEffectNoSchedule), want: notReady(corev1.TaintNodeNetworkUnavailable, simtest.Epoch)},
		"the unreachable taint doesn't matter":        {node: node.With(taintedLater(corev1.TaintNodeUnreachable)), want: ready},
		"a cordon doesn't matter":                     {node: node.Cordoned(), want: ready},
		"the condition's reason comes before taints":  {node: node.With(readyIs(corev1.ConditionFalse, "KubeletNotReady", simtest.Epoch)).With(taintedLater(corev1.TaintNodeNotReady)), want: notReady("KubeletNotReady", later)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, readiness.Of(c.node.Build())); diff != "" {
				t.Errorf("readiness (-want +got):\n%s", diff)
			}
		})
	}
}

func readyIs(status corev1.ConditionStatus, reason string, at time.Time) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(at)}}
	}
}

func TestOverrideMakesAnUnreadyCopy(t *testing.T) {
	t.Parallel()
	created := simtest.Epoch.Add(-time.Hour)
	node := simtest.Node("n").CreatedAt(created).Condition(corev1.NodeDiskPressure, corev1.ConditionFalse, created).Build()
	before := node.DeepCopy()
	got := readiness.Of(readiness.Override(node, readiness.ReasonStartupTaint))
	want := readiness.Readiness{Known: true, Reason: "cluster-autoscaler.kubernetes.io/startup-taint", LastTransition: created}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("readiness of the copy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, node); diff != "" {
		t.Errorf("the node was changed (-before +after):\n%s", diff)
	}
}

func TestSuspended(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node simtest.NodeBuilder
		want bool
	}{
		"sleeping": {node: simtest.Node("n").Condition("Suspended", corev1.ConditionTrue, simtest.Epoch), want: true},
		"awake":    {node: simtest.Node("n").Condition("Suspended", corev1.ConditionFalse, simtest.Epoch)},
		"plain":    {node: simtest.Node("n")},
	} {
		if got := readiness.IsSuspended(c.node.Build()); got != c.want {
			t.Errorf("%s: suspended = %t, want %t", name, got, c.want)
		}
	}
}
