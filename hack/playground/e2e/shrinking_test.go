package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func TestIdleNodesGoAwayDownToTheMinimum(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(1, 5, 3))
	s.waitNodes(3)
	before, err := s.nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	s.installed("ca")
	s.waitNodes(1)
	after, err := s.nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.always(4*time.Second, "the minimum stays", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		return len(nodes) == 1 && s.desired(group) == 1, fmt.Sprintf("%d nodes, desired %d", len(nodes), s.desired(group)), err
	})
	ended := s.endings(group)
	if len(ended) != 2 {
		t.Errorf("calls ended %v, want two machines", ended)
	}
	for _, call := range ended {
		if call.Params.Get("ShouldDecrementDesiredCapacity") != "true" {
			t.Errorf("a call ended a machine without lowering the desired capacity: %v", call.Params)
		}
	}
	for _, node := range before {
		if node.Name == after[0].Name {
			continue
		}
		s.waitEvent("Node", node.Name, "ScaleDown", "marked the node as toBeDeleted/unschedulable")
		s.waitEvent("Node", node.Name, "ScaleDown", "nodes removed by cluster autoscaler")
		s.waitEvent("ConfigMap", "cluster-autoscaler-status", "ScaleDownEmpty", "empty node "+node.Name+" removed")
	}
	if bought := s.purchases(group); len(bought) > 0 {
		t.Errorf("a call set the desired capacity, to %v", wanted(bought))
	}
}

func TestPodsMoveToAnotherNodeBeforeTheirsGoes(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 5, 3))
	s.waitNodes(3)
	s.deployment("web", 3, "400m", "256Mi", apart)
	s.waitRunning("web", 3)

	s.installed("ca")
	s.waitNodes(1)
	s.waitRunning("web", 3)
	if ended := s.endings(group); len(ended) != 2 {
		t.Errorf("calls ended %v, want two machines", ended)
	}
	for _, event := range s.cluster.AWS.Events() {
		if event.Group == group && event.Kind == awstest.EventEnding && event.Cause != awstest.CauseRequest {
			t.Errorf("a machine ended that nobody named: %+v", event)
		}
	}
}

func TestAPodDisruptionBudgetHoldsANodeUntilItAllowsTheEviction(t *testing.T) {
	s := parallelStory(t)
	s.group(workers(0, 5, 2))
	s.waitNodes(2)
	s.deployment("web", 2, "400m", "256Mi", apart)
	s.waitRunning("web", 2)
	s.budget("web", 2)

	a := s.installed("ca")
	s.eventually("the log says what keeps the nodes", func(context.Context) (bool, string, error) {
		return strings.Contains(logOf(t, a), "NotEnoughPdb"), "nothing of it", nil
	})
	s.always(4*time.Second, "both nodes stay, and none is marked", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		return len(nodes) == 2 && len(tainted(nodes, deletionTaint)) == 0, fmt.Sprint(len(nodes), tainted(nodes, deletionTaint)), err
	})
	s.budget("web", 1)
	s.waitNodes(1)
	s.waitRunning("web", 2)
}

// The budget comes while the node is drained: a pod of low priority has left, the one of high priority is next.
func TestAnEvictionThatIsRefusedLeavesTheNodeInService(t *testing.T) {
	s := parallelStory(t)
	s.group(workers(1, 2, 2))
	high := s.priorityClass(1000)
	s.waitNodes(2)
	s.deployment("low", 1, "300m", "256Mi", graceful(20)) // for so long there is time to make the budget
	s.waitRunning("low", 1)                               // first: the other one goes to its node
	s.deployment("high", 1, "300m", "256Mi", near("low"), func(p *corev1.PodTemplateSpec) { p.Spec.PriorityClassName = high })
	s.waitRunning("high", 1)
	// Only the node with the pods is a candidate; the other one has room for them.
	node := s.nodeOf("high")
	s.protect(node)

	s.installed("ca", "--drain-priority-config=0:60,1000:20", "--max-pod-eviction-time=3s")
	s.eventually("the pod of low priority is leaving", func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, "low")
		return len(pods) > 0 && pods[0].DeletionTimestamp != nil, "it isn't", err
	})
	s.budget("high", 1)
	pods, err := s.pods(t.Context(), "high")
	if err != nil {
		t.Fatal(err)
	}
	s.waitEvent("Pod", pods[0].Name, "ScaleDownFailed", "failed to delete pod for ScaleDown")
	message := s.waitEvent("Node", node, "ScaleDownFailed", "failed to drain and delete node")
	if budget := s.namespace + "/high"; !strings.Contains(message, budget) {
		t.Errorf("the event's message is %q, want it to name the budget %s", message, budget)
	}
	s.eventually("the node is back in service", func(ctx context.Context) (bool, string, error) {
		got, err := s.cluster.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return len(tainted([]corev1.Node{*got}, deletionTaint)) == 0 && !got.Spec.Unschedulable, fmt.Sprint(got.Spec), nil
	})
	after, err := s.pods(t.Context(), "high")
	if err != nil || len(after) != 1 || after[0].UID != pods[0].UID {
		t.Errorf("pods of high: %v, error %v; want the one that was there", after, err)
	}
}

// endings are the calls that end a machine of a group.
func (s *story) endings(group string) []awstest.Call {
	return slices.DeleteFunc(s.calls("TerminateInstanceInAutoScalingGroup"), func(c awstest.Call) bool {
		return c.Change == nil || c.Change.Group != group
	})
}

// apart makes the pods of a Deployment keep away from each other.
func apart(p *corev1.PodTemplateSpec) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}}},
	}}
}

// near makes pods go to the node of another app's pod.
func near(app string) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			}}},
		}}
	}
}

func graceful(seconds int64) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// budget makes or changes a PodDisruptionBudget of an app, and waits until the API server goes by it.
func (s *story) budget(app string, minAvailable int) {
	s.t.Helper()
	budgets := s.cluster.Client.PolicyV1().PodDisruptionBudgets(s.namespace)
	least := intstr.FromInt32(int32(minAvailable))
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		existing, err := budgets.Get(s.t.Context(), app, metav1.GetOptions{})
		if ignoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			existing.Spec.MinAvailable = &least
			_, err = budgets.Update(s.t.Context(), existing, metav1.UpdateOptions{})
			return err
		}
		_, err = budgets.Create(s.t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: app},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		s.t.Fatalf("setting budget %s: %v", app, err)
	}
	s.eventually("the budget counts", func(ctx context.Context) (bool, string, error) {
		got, err := budgets.Get(ctx, app, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return got.Status.ObservedGeneration == got.Generation && got.Status.CurrentHealthy >= int32(minAvailable), fmt.Sprintf("%+v", got.Status), nil
	})
}

// priorityClass makes a PriorityClass for the story's time, and returns its name.
func (s *story) priorityClass(value int32) string {
	s.t.Helper()
	classes := s.cluster.Client.SchedulingV1().PriorityClasses()
	name := fmt.Sprintf("%s-%d", s.namespace, value)
	if _, err := classes.Create(s.t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{}); err != nil {
		s.t.Fatalf("making PriorityClass %s: %v", name, err)
	}
	s.t.Cleanup(func() {
		if err := classes.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil { // the test's own context has ended
			s.t.Errorf("deleting PriorityClass %s: %v", name, err)
		}
	})
	return name
}

// nodeOf is the node of an app's one pod.
func (s *story) nodeOf(app string) string {
	s.t.Helper()
	pods, err := s.pods(s.t.Context(), app)
	if err != nil || len(pods) != 1 {
		s.t.Fatalf("pods of %s: %d, error %v; want one", app, len(pods), err)
	}
	return pods[0].Spec.NodeName
}

// changeNode changes a node as somebody with kubectl would.
func (s *story) changeNode(name string, change func(*corev1.Node)) {
	s.t.Helper()
	nodes := s.cluster.Client.CoreV1().Nodes()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := nodes.Get(s.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(node)
		_, err = nodes.Update(s.t.Context(), node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		s.t.Fatalf("changing node %s: %v", name, err)
	}
}

// protect forbids the removal of all the story's nodes but one.
func (s *story) protect(but string) {
	s.t.Helper()
	nodes, err := s.nodes(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, node := range nodes {
		if node.Name != but {
			s.changeNode(node.Name, func(n *corev1.Node) {
				metav1.SetMetaDataAnnotation(&n.ObjectMeta, "cluster-autoscaler.kubernetes.io/scale-down-disabled", "true")
			})
		}
	}
}
