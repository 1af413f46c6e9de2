package scenario

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runNodes is the life of nodes between their coming and going: late taints and resources, and the taints that follow from readiness.
func (w *world) runNodes(context.Context) error {
	if err := w.settleNodes(); err != nil {
		return err
	}
	if !w.stirred {
		return nil
	}
	for _, node := range w.nodes.all() {
		wanted := healthTaints(node, w.now())
		if wanted == nil {
			continue
		}
		if err := w.changeNode(node.Name, func(n *corev1.Node) { n.Spec.Taints = wanted }); err != nil {
			return err
		}
	}
	return nil
}

// healthTaints are the taints of the node once the node life-cycle controller has set those that follow from its conditions and its cordon;
// nil: they are as they should be.
func healthTaints(node *corev1.Node, now time.Time) []corev1.Taint {
	state := corev1.ConditionTrue // a node that says nothing is not judged
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			state = c.Status
		}
	}
	changed := false
	taints := slices.Clone(node.Spec.Taints)
	set := func(key string, effect corev1.TaintEffect, wanted bool) {
		i := slices.IndexFunc(taints, func(t corev1.Taint) bool { return t.Key == key && t.Effect == effect })
		switch {
		case wanted && i < 0:
			at := metav1.NewTime(now)
			taints = append(taints, corev1.Taint{Key: key, Effect: effect, TimeAdded: &at})
			changed = true
		case !wanted && i >= 0:
			taints = slices.Delete(taints, i, i+1)
			changed = true
		}
	}
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		set(corev1.TaintNodeNotReady, effect, state == corev1.ConditionFalse)
		set(corev1.TaintNodeUnreachable, effect, state == corev1.ConditionUnknown)
	}
	set(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule, node.Spec.Unschedulable)
	if !changed {
		return nil
	}
	if taints == nil {
		taints = []corev1.Taint{}
	}
	return taints
}

// setReady sets the Ready condition of a node, and that of its pods with it.
func (w *world) setReady(name string, status corev1.ConditionStatus, reason string) error {
	node := w.nodes.by[name]
	if node == nil {
		return nil
	}
	at := metav1.NewTime(w.now())
	became := false
	err := w.changeNode(name, func(node *corev1.Node) {
		i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		if i < 0 {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady})
			i = len(node.Status.Conditions) - 1
		}
		c := &node.Status.Conditions[i]
		if c.Status != status {
			c.LastTransitionTime = at
			became = status == corev1.ConditionTrue
		}
		c.Status, c.Reason = status, reason
	})
	if err != nil {
		return err
	}
	if became {
		w.tell(nodeReady{about("NodeReady", w.since()), name, w.groupOf(node)})
	}
	for _, pod := range byKey(w.pods.onNode[name]) {
		if ended(pod) || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		if err := w.changePod(pod, func(pod *corev1.Pod) { setReadyCondition(pod, status == corev1.ConditionTrue, w.now()) }); err != nil {
			return err
		}
	}
	return nil
}

func setReadyCondition(pod *corev1.Pod, ready bool, at time.Time) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	setCondition(pod, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(at)})
}

// evictTainted is the taint manager: pods leave nodes whose NoExecute taints they do not tolerate, or no longer.
func (w *world) evictTainted() error {
	for _, node := range w.nodes.all() {
		if !hasNoExecute(node) {
			continue
		}
		for _, pod := range byKey(w.pods.onNode[node.Name]) {
			if at, leaves := leavesAt(pod, node); leaves && !w.now().Before(at) {
				if err := w.deletePod(pod, graceOf(pod)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// nextTaintEviction is when the next pod has to leave a tainted node; zero: none has to.
func (w *world) nextTaintEviction() time.Time {
	var next time.Time
	for _, node := range w.nodes.all() {
		if !hasNoExecute(node) {
			continue
		}
		for _, pod := range w.pods.onNode[node.Name] { // in any order: the earliest is the same
			if at, leaves := leavesAt(pod, node); leaves {
				next = earliest(next, at)
			}
		}
	}
	return next
}

func hasNoExecute(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
}

// leavesAt is when the pod's patience with the node's NoExecute taints ends; false: it stays, or is leaving already.
func leavesAt(pod *corev1.Pod, node *corev1.Node) (time.Time, bool) {
	if ended(pod) || pod.DeletionTimestamp != nil {
		return time.Time{}, false
	}
	var at time.Time
	leaves := false
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		since := node.CreationTimestamp.Time
		if taint.TimeAdded != nil {
			since = taint.TimeAdded.Time
		}
		patience, endless := patienceWith(pod, taint)
		if endless {
			continue
		}
		leaves = true
		at = earliest(at, since.Add(patience))
	}
	return at, leaves
}

// patienceWith is how long the pod bears the taint; endless: for ever.
func patienceWith(pod *corev1.Pod, taint *corev1.Taint) (patience time.Duration, endless bool) {
	tolerated := false
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		if !tolerates(t, taint) {
			continue
		}
		if t.TolerationSeconds == nil {
			if !tolerated {
				endless = true
			}
			tolerated = true
			continue
		}
		limit := time.Duration(max(0, *t.TolerationSeconds)) * time.Second
		if !tolerated || endless || limit < patience {
			patience = limit
		}
		tolerated, endless = true, false
	}
	return patience, endless
}

// tolerates tells whether the toleration covers the taint.
func tolerates(t *corev1.Toleration, taint *corev1.Taint) bool {
	switch {
	case t.Effect != "" && t.Effect != taint.Effect, t.Key != "" && t.Key != taint.Key:
		return false
	case t.Operator == corev1.TolerationOpExists:
		return true
	default:
		return t.Value == taint.Value
	}
}

func isNodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
