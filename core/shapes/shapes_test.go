package shapes_test

import (
	"errors"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/drain"
)

// size is how large a shape is made. Everything else follows from it.
type size struct {
	nodes int // those that exist, or those to be bought if there are none
	pods  int // all, or those that wait if there are others
}

// perNode is how many pods there are for each node.
func (s size) perNode() int { return s.pods / s.nodes }

// shape is one of the published clusters with the decision to expect.
type shape struct {
	name string
	full size // as published
	tiny size // of the tests
	// pinned: the number of pods is the same however many nodes there are.
	pinned bool
	build  func(size) (cluster, error)
	// check judges an iteration.
	check func(*world, size, report.Report) error
	// events is how many events of each reason an iteration sends.
	events func(size) map[string]int
	// update makes what changes before the n-th iteration from 0; nil: only the first iteration is measured, each time in a new world. Else
	// later iterations in one world are.
	update func(w *world, s size, n int) ([]*corev1.Node, []*corev1.Pod)
}

// The shapes, in the order in which they are published.
func shapes() []shape {
	return []shape{
		{name: "ScaleUp", full: size{1_000, 50_000}, tiny: size{10, 500}, build: scaleUp, check: wantBought, events: triggers},
		{name: "ScaleDown", full: size{2_000, 80_000}, tiny: size{20, 800}, build: scaleDown, check: wantRemoved, events: removals},
		{name: "Affinity", full: size{100, 5_000}, tiny: size{5, 250}, build: affinity, check: wantBought, events: triggers},
		{name: "Spread", full: size{100, 5_000}, tiny: size{5, 250}, build: spread, check: wantBought, events: triggers},
		{name: "Idle5k", full: size{5_000, 150_000}, tiny: size{50, 1_500}, build: idle, check: wantBusy, events: silence, update: heartbeats},
		{name: "Blocked5k", full: size{5_000, 80_000}, tiny: size{50, 800}, build: blocked, check: wantBlocked, events: silence, update: nothing},
		{name: "Jobs", full: size{200, 10_000}, tiny: size{4, 200}, build: jobs, check: wantBought, events: triggers},
		{name: "Mixed", full: size{1_000, 3_000}, tiny: size{50, 150}, pinned: true, build: mixed, check: wantMixed},
	}
}

// fromZero is a cluster without nodes whose one group has room for so many of these pods on each node.
func fromZero(s size, pods []*corev1.Pod) (cluster, error) {
	c, err := newCluster(nil, group("g", 0, s.perNode()))
	c.pods = pods
	return c, err
}

// scaleUp: ownerless pods that fill the nodes.
func scaleUp(s size) (cluster, error) {
	return fromZero(s, waiting(share(s.perNode())).many("p", s.pods))
}

// affinity: as many apps as a node holds pods, each with one pod for every node, which keep apart.
func affinity(s size) (cluster, error) {
	var pods []*corev1.Pod
	for i := range s.perNode() {
		app := fmt.Sprintf("app-%03d", i)
		pods = append(pods, waiting(owned(share(s.perNode()), app).AntiAffinity(corev1.LabelHostname, "app", app)).many(app, s.nodes)...)
	}
	return fromZero(s, pods)
}

// spread is affinity with constraints of another kind: the pods of an app may differ by one from node to node.
func spread(s size) (cluster, error) {
	var pods []*corev1.Pod
	for i := range s.perNode() {
		app := fmt.Sprintf("app-%03d", i)
		pods = append(pods, waiting(owned(share(s.perNode()), app).Spread(corev1.LabelHostname, 1, "app", app)).many(app, s.nodes)...)
	}
	return fromZero(s, pods)
}

// jobs: pods of as many Jobs, each with labels of its own.
func jobs(s size) (cluster, error) {
	p := waiting(share(s.perNode()))
	pods := p.many("job", s.pods)
	yes := true
	for _, pod := range pods {
		pod.Labels = map[string]string{batchv1.JobNameLabel: pod.Name, batchv1.ControllerUidLabel: string(pod.UID)}
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: pod.Name, UID: "Job-" + pod.UID, Controller: &yes}}
	}
	return fromZero(s, pods)
}

// wantBought: the nodes are bought at once and for all pods.
func wantBought(w *world, s size, told report.Report) error {
	group, _ := w.cloud.Group("g")
	if group.Target != s.nodes || told.ScaleUp.Result != report.ScaleUpSuccessful {
		return fmt.Errorf("scale-up %s to %d nodes, want %s to %d", told.ScaleUp.Result, group.Target, report.ScaleUpSuccessful, s.nodes)
	}
	if _, writes, _ := w.api.tally.sum(); writes != 1 {
		return fmt.Errorf("%d writes to the cloud, want 1", writes)
	}
	distinct := map[report.PodRef]bool{}
	for _, pod := range told.ScaleUp.Pods {
		distinct[pod.Pod] = true
		if pod.Fate != report.PodTriggered || pod.Grown != "g" || pod.Own != nil || len(pod.Groups) > 0 {
			return fmt.Errorf("verdict %+v, want that group g was grown for it", pod)
		}
	}
	return count("pods with a verdict", len(distinct), s.pods)
}

func count(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("%d %s, want %d", got, what, want)
	}
	return nil
}

// triggers: one event for each pod, one before the write and one after it.
func triggers(s size) map[string]int {
	return map[string]int{"TriggeredScaleUp": s.pods, "ScaledUpGroup": 2}
}

// silence: nothing to tell.
func silence(size) map[string]int { return map[string]int{} }

// onNodes are pods for all nodes, so many for each.
func onNodes(nodes []*corev1.Node, perNode int, p prototype) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(nodes)*perNode)
	for _, node := range nodes {
		for i := range perNode {
			pods = append(pods, p.make(fmt.Sprintf("%s-%03d", node.Name, i), node.Name))
		}
	}
	return pods
}

// filled is a cluster whose nodes are filled to so many percent by pods of one ReplicaSet.
func filled(s size, percent int, flags ...string) (cluster, error) {
	of := s.perNode() * 100 / percent
	c, err := newCluster(flags, group("g", s.nodes, of))
	c.pods = onNodes(c.nodes, s.perNode(), running(owned(share(of), "app")))
	c.objects = append(c.objects, replicaSet("app"))
	return c, err
}

// lowFill is how full nodes are that may go, highFill how full those that are busy, in percent.
const (
	lowFill  = 40
	highFill = 75
)

// scaleDown: nodes whose pods can move.
func scaleDown(s size) (cluster, error) {
	all := strconv.Itoa(s.nodes)
	return filled(s, lowFill,
		"--max-scale-down-parallelism="+all, "--max-drain-parallelism="+all, "--scale-down-unneeded-time=0s", "--scale-down-delay-after-add=0s",
	)
}

// leaving is how many nodes go: all but those that the pods then fill.
func leaving(s size) int { return s.nodes - (s.nodes*lowFill+99)/100 }

// wantRemoved: as many nodes are tainted as the pods leave free, the others have no room left for theirs. The evictions follow.
func wantRemoved(w *world, s size, told report.Report) error {
	nodes, _, _ := w.api.tally.sum()
	err := errors.Join(
		count("removals begun", len(told.ScaleDown.Started), leaving(s)), count("nodes written to", nodes, leaving(s)),
		count("nodes with a verdict", len(told.ScaleDown.Started)+len(told.ScaleDown.Kept), s.nodes),
		count("waiting pods", len(told.ScaleUp.Pods), 0),
	)
	for _, kept := range told.ScaleDown.Kept {
		if kept.Reason.Code() != report.CodeNoPlaceToMovePods {
			return errors.Join(err, fmt.Errorf("node %s stays for %s (%s)", kept.Node, kept.Reason.Code(), kept.Reason))
		}
	}
	return errors.Join(err, count("evictions", w.drain(), leaving(s)*s.perNode()))
}

// removals: one event about each node.
func removals(s size) map[string]int { return map[string]int{"ScaleDown": 2 * leaving(s)} }

// idle: nodes that are busy, and nothing to do.
func idle(s size) (cluster, error) { return filled(s, highFill) }

// wantBusy: every node is too full to go.
func wantBusy(w *world, s size, told report.Report) error {
	nodes, cloud, _ := w.api.tally.sum()
	err := errors.Join(
		count("writes", nodes+cloud, 0), count("waiting pods", len(told.ScaleUp.Pods), 0), count("nodes kept", len(told.ScaleDown.Kept), s.nodes),
	)
	for _, kept := range told.ScaleDown.Kept {
		if kept.Reason.Code() != report.CodeNotUnderutilized {
			return errors.Join(err, fmt.Errorf("node %s stays for %s (%s)", kept.Node, kept.Reason.Code(), kept.Reason))
		}
	}
	return err
}

// heartbeats: one of 25 nodes and one of 300 pods change their status, others each time.
func heartbeats(w *world, s size, n int) ([]*corev1.Node, []*corev1.Pod) {
	const nodesOf, podsOf = 25, 300
	at := metav1.NewTime(w.clock.Now())
	var nodes []*corev1.Node
	var pods []*corev1.Pod
	all, err := w.api.Nodes(w.ctx)
	w.must(err)
	for i := n % nodesOf; i < len(all); i += nodesOf {
		node := all[i].DeepCopy()
		node.Status.Conditions[0].LastHeartbeatTime = at
		nodes = append(nodes, node)
	}
	p := running(owned(share(s.perNode()*100/highFill), "app"))
	p.pod.Status.ContainerStatuses[0].RestartCount = 1
	for i := n % podsOf; i < s.pods; i += podsOf {
		node := all[i/s.perNode()].Name
		pods = append(pods, p.make(fmt.Sprintf("%s-%03d", node, i%s.perNode()), node))
	}
	return nodes, pods
}

// nothing changes between iterations.
func nothing(*world, size, int) ([]*corev1.Node, []*corev1.Pod) { return nil, nil }

// blocked: nodes with room to spare that are kept by what one of their pods forbids, in turn by an annotation, by a budget, and by the want of
// another place, since every node has one already of the pods that keep apart.
func blocked(s size) (cluster, error) {
	of := s.perNode() * 100 / lowFill
	c, err := newCluster(nil, group("g", s.nodes, of))
	plain := running(owned(share(of), "app"))
	annotated := running(owned(share(of), "pinned").Annotation(drain.SafeToEvictAnnotation, "false"))
	guarded := running(owned(share(of), "guarded"))
	apart := running(owned(share(of), "apart").AntiAffinity(corev1.LabelHostname, "app", "apart"))
	for i, node := range c.nodes {
		for k := range s.perNode() {
			p := plain
			switch {
			case k == 0:
				p = apart
			case k == 1 && i%3 == 0:
				p = annotated
			case k == 1 && i%3 == 1:
				p = guarded
			}
			c.pods = append(c.pods, p.make(fmt.Sprintf("%s-%03d", node.Name, k), node.Name))
		}
	}
	for _, app := range []string{"app", "pinned", "guarded", "apart"} {
		c.objects = append(c.objects, replicaSet(app))
	}
	c.objects = append(c.objects, budget("guarded", 0))
	return c, err
}

// budget covers the pods of the app and allows so many of them to be evicted.
func budget(app string, allowed int32) *policyv1.PodDisruptionBudget {
	most := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// wantBlocked: every node stays for its own reason, be it found now or remembered.
func wantBlocked(w *world, s size, told report.Report) error {
	nodes, cloud, _ := w.api.tally.sum()
	err := errors.Join(
		count("writes", nodes+cloud, 0), count("waiting pods", len(told.ScaleUp.Pods), 0), count("nodes kept", len(told.ScaleDown.Kept), s.nodes),
	)
	for i, kept := range told.ScaleDown.Kept {
		reason := kept.Reason
		if remembered, ok := reason.(report.RecentlyUnremovable); ok {
			reason = remembered.First
		}
		if got, want := keeper(reason), []string{"pinned", "guarded", "apart"}[i%3]; got != want {
			return errors.Join(err, fmt.Errorf("node %s stays for %s (%s), want a reason about a pod of %s", kept.Node, kept.Reason.Code(), kept.Reason, want))
		}
	}
	return err
}

// keeper names the pods of blocked that keep a node for this reason; empty: none do.
func keeper(reason report.Reason) string {
	switch r := reason.(type) {
	case report.BlockedByPod:
		switch r.Why {
		case string(drain.NotSafeToEvictAnnotation):
			return "pinned"
		case string(drain.NotEnoughPdb):
			return "guarded"
		}
	case report.NoPlaceToMovePods:
		if r.Lacks != nil && r.Lacks.Plugin == "InterPodAffinity" {
			return "apart"
		}
	}
	return ""
}
