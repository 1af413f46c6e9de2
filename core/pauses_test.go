package core_test

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// What keeps nodes from being removed for a while, and that it does so for no longer. Each story has a busy node and an idle one, which without the pause
// is tainted in the first iteration after its time, a minute.
func TestWhatHoldsANodeHoldsItForAWhile(t *testing.T) {
	const idle = "g-0002"
	for name, test := range map[string]struct {
		flags []string
		// pauses begins the pause, at the start or later; it is called before the first iteration.
		pauses func(*world)
		// until is when the pause ends, and ends what ends it; nil: time alone.
		until time.Duration
		ends  func(*world)
		why   report.Code // of the idle node, just before the end
		// goes is when the node is tainted.
		goes time.Duration
	}{
		"nothing": {pauses: func(*world) {}, goes: 70 * time.Second, until: 60 * time.Second, why: report.CodeNotUnneededLongEnough},
		"the annotation of the node": {
			pauses: func(w *world) { w.change(idle, annotated("true")) },
			until:  5 * time.Minute, ends: func(w *world) { w.change(idle, annotated("false")) },
			why: report.CodeScaleDownDisabledAnnotation, goes: 6*time.Minute + 20*time.Second,
		},
		"that it is unready, if such nodes stay": {
			flags:  []string{"--scale-down-unready-enabled=false"},
			pauses: func(w *world) { w.change(idle, ready(corev1.ConditionFalse)) },
			until:  5 * time.Minute, ends: func(w *world) { w.change(idle, ready(corev1.ConditionTrue)) },
			why: report.CodeScaleDownUnreadyDisabled, goes: 6*time.Minute + 20*time.Second,
		},
		"that it is unready, for its own time": {
			flags:  []string{"--scale-down-unready-time=8m"},
			pauses: func(w *world) { w.change(idle, ready(corev1.ConditionFalse)) },
			until:  8 * time.Minute, why: report.CodeNotUnreadyLongEnough, goes: 8*time.Minute + 10*time.Second,
		},
		"the minimum of its group": {
			pauses: func(w *world) { w.bounds(2) },
			until:  5 * time.Minute, ends: func(w *world) { w.bounds(0) },
			why: report.CodeAtMinSizeBefore, goes: 6*time.Minute + 20*time.Second,
		},
		"a pod that says so, and for the time of the recheck": {
			pauses: func(w *world) {
				w.put(pod("held", "100m").Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "false").On(idle).Build())
			},
			until: 4 * time.Minute, ends: func(w *world) { w.leave("held") },
			why: report.CodeRecentlyUnremovable, goes: 6*time.Minute + 10*time.Second,
		},
		"a young pod of the system": {
			flags: []string{"--blocking-system-pod-distruption-timeout=4m30s"},
			pauses: func(w *world) {
				w.must(w.source.Factory().Apps().V1().ReplicaSets().Informer().GetStore().Add(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "rs"}}))
				w.put(simtest.Pod("dns").Namespace("kube-system").Requests("100m", "").OwnedBy("ReplicaSet", "rs").CreatedAt(w.start).On(idle).Build())
			},
			until: 5*time.Minute - 10*time.Second, why: report.CodeRecentlyUnremovable, goes: 6*time.Minute + 10*time.Second,
		},
		"an earlier removal, for the time that the operator sets": {
			flags: []string{"--scale-down-delay-after-delete=10m"},
			pauses: func(w *world) { // another idle node goes first, at 1 min 10 s
				w.must(w.cloud.AddGroup(group("h", 0, 1, 1)))
				w.put(pod("late", "3").On(idle).Build())
				w.at(30*time.Second, func() { w.leave("late") })
			},
			until: 11 * time.Minute, why: report.CodeCoolDown, goes: 11*time.Minute + 10*time.Second,
		},
		"SD144: a failure, for three minutes": {
			pauses: func(w *world) {
				w.refuse = func(operation, name string) error {
					if operation == "update" && name == idle && w.clock.Since(w.start) < 75*time.Second && w.clock.Since(w.start) > 65*time.Second {
						return errors.New("denied")
					}
					return nil
				}
			},
			until: 4 * time.Minute, why: report.CodeCoolDown, goes: 4*time.Minute + 10*time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, setting{
				groups: []simulated.Group{group("g", 0, 9, 2)}, flags: append([]string{"--scale-down-unneeded-time=1m"}, test.flags...),
			})
			w.put(pod("busy", "3").On("g-0001").Build())
			test.pauses(w)
			w.settle()
			w.to(test.until)
			if got := w.kept(idle); got != test.why || tainted(w.node(idle), taints.ToBeDeleted) {
				t.Errorf("at %v the node is kept for %q, tainted %t; want it to be kept for %q", test.until, got, tainted(w.node(idle), taints.ToBeDeleted), test.why)
			}
			if test.ends != nil {
				test.ends(w)
			}
			w.to(test.goes - scanInterval)
			if tainted(w.node(idle), taints.ToBeDeleted) {
				t.Errorf("the node is being removed before %v", test.goes)
			}
			w.to(test.goes)
			if node := w.node(idle); node == nil || !tainted(node, taints.ToBeDeleted) {
				t.Errorf("the node is not being removed at %v: it is kept for %q", test.goes, w.kept(idle))
			}
		})
	}
}

func annotated(value string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = value
	}
}

func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(node *corev1.Node) {
		for i := range node.Status.Conditions {
			if node.Status.Conditions[i].Type == corev1.NodeReady {
				node.Status.Conditions[i].Status = status
			}
		}
	}
}

// bounds sets the minimum of group g.
func (w *world) bounds(minimum int) {
	w.Helper()
	w.must(w.cloud.Update("g", func(g *simulated.Group) { g.Min = minimum }))
}

// An unhealthy cluster, for one, is left alone: nobody has looked at its nodes.
func TestAnIterationThatDoesNotLookAtNodesLeavesTheirNumbers(t *testing.T) {
	w := newWorld(t, []string{"--ok-total-unready-count=0", "--max-total-unready-percentage=10", "--max-node-startup-time=1s"}, group("g", 0, 9, 2))
	w.put(pod("busy", "3").On("g-0001").Build())
	w.to(scanInterval)
	numbers := func() [2]float64 {
		return [2]float64{w.metric("cluster_autoscaler_unneeded_nodes_count"), w.metric("cluster_autoscaler_unremovable_nodes_count", "NotUnderutilized")}
	}
	if got := numbers(); got != [2]float64{1, 1} {
		t.Fatalf("unneeded and too much used nodes: %v, want one of each", got)
	}
	w.change("g-0001", ready(corev1.ConditionFalse))
	w.to(2 * scanInterval)
	if got := numbers(); w.last.ScaleDown.Result != report.ScaleDownNotTried || got != [2]float64{1, 1} {
		t.Errorf("scale-down is %s, unneeded and too much used nodes: %v; want it not to be tried, and the numbers as they were", w.last.ScaleDown.Result, got)
	}
	w.change("g-0001", ready(corev1.ConditionTrue))
	w.leave("busy")
	w.to(3 * scanInterval)
	if got := numbers(); got != [2]float64{2, 0} {
		t.Errorf("unneeded and too much used nodes: %v, want the numbers of the latest look", got)
	}
}

// While nothing is removed, the operator still sees why each node stays.
func TestDuringACoolDownTheReasonsAreKeptUpToDate(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=1m"}, group("g", 0, 9, 2))
	w.fill("g")
	w.arrive(pod("p", "3"))
	w.to(3 * time.Minute)
	if got := w.metric("cluster_autoscaler_unremovable_nodes_count", "NotUnderutilized"); got != 3 || w.last.ScaleDown.CoolDown == nil {
		t.Fatalf("cool-down %v, nodes that are used too much: %v; want three in a cool-down", w.last.ScaleDown.CoolDown, got)
	}
	w.leave("full-g-0001")
	w.to(3*time.Minute + scanInterval)
	if got := w.metric("cluster_autoscaler_unremovable_nodes_count", "NotUnderutilized"); got != 2 || w.metric("cluster_autoscaler_scale_down_in_cooldown") != 1 {
		t.Errorf("nodes that are used too much: %v, want two in a cool-down", got)
	}
}
