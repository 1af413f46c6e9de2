package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const delayAnnotation = "delay-deletion.cluster-autoscaler.kubernetes.io/story"

func TestSeveralNodesAreDrainedAtOnceAndNoPodIsLeftWithoutPlace(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 6, 4))
	s.waitNodes(4)
	s.deployment("web", 4, "300m", "256Mi", apart, graceful(6)) // for so long they are seen leaving
	s.waitRunning("web", 4)

	s.installed("ca", "--max-drain-parallelism=3")
	s.eventually("three nodes are being removed at once", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		marked := tainted(nodes, deletionTaint)
		return len(marked) == 3, fmt.Sprint(marked), err
	})
	s.waitNodes(1)
	s.waitRunning("web", 4)
	if bought := s.purchases(group); len(bought) > 0 {
		t.Errorf("the pods needed nodes that were just removed: the desired capacity was set to %v", wanted(bought))
	}
}

func TestPodsOfLowPriorityAreGoneBeforeThoseOfHighPriorityAreEvicted(t *testing.T) {
	s := parallelStory(t)
	s.group(workers(1, 2, 2))
	high := s.priorityClass(1000)
	s.waitNodes(2)
	s.deployment("low", 1, "300m", "256Mi", graceful(6))
	s.waitRunning("low", 1)
	s.deployment("high", 1, "300m", "256Mi", near("low"), func(p *corev1.PodTemplateSpec) { p.Spec.PriorityClassName = high })
	s.waitRunning("high", 1)
	s.protect(s.nodeOf("high"))
	first := map[string]types.UID{"low": s.only("low").UID, "high": s.only("high").UID}
	together := s.only("low").Spec.NodeName == s.only("high").Spec.NodeName

	s.installed("ca", "--drain-priority-config=0:60,1000:20")
	s.eventually("the pod of high priority is leaving", func(ctx context.Context) (bool, string, error) {
		leaving, err := s.leaving(ctx, "high", first["high"])
		if err != nil || !leaving {
			return false, "it is still there", err
		}
		there, err := s.there(ctx, "low", first["low"]) // asked after the other one, so that it must be gone
		if together && there {
			t.Error("the pod of low priority is still there when that of high priority leaves")
		}
		return err == nil, "", err
	})
	s.waitNodes(1)
	s.waitRunning("low", 1)
	s.waitRunning("high", 1)
}

func TestANodeStaysAsLongAsAnAnnotationDelaysItsDeletion(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 5, 1))
	s.waitNodes(1)
	nodes, err := s.nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node := nodes[0].Name
	s.changeNode(node, func(n *corev1.Node) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, delayAnnotation, "") })

	s.installed("ca", "--node-deletion-delay-timeout=10m")
	s.waitMarks("the node is marked", map[string]mark{node: {tainted: true, cordoned: true}})
	s.always(8*time.Second, "its machine stays", func(context.Context) (bool, string, error) {
		ended := s.endings(group)
		return len(ended) == 0, fmt.Sprint(ended), nil
	})
	s.changeNode(node, func(n *corev1.Node) { delete(n.Annotations, delayAnnotation) })
	s.waitNodes(0)
}

func TestANodeWhosePodsWereEvictedGoesBackIntoServiceWhenTheProcessIsKilled(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 5, 2))
	s.waitNodes(2)
	s.deployment("web", 1, "300m", "256Mi", graceful(15))
	s.waitRunning("web", 1)
	pod := s.only("web")
	s.protect(pod.Spec.NodeName)
	account := s.install()

	first := s.autoscaler("first", account, s.hasty()...)
	s.eventually("the pod is leaving", func(ctx context.Context) (bool, string, error) {
		leaving, err := s.leaving(ctx, "web", pod.UID)
		return leaving, "it isn't", err
	})
	s.kill(first)
	s.autoscaler("second", account, append(s.hasty(), "--scale-down-unneeded-time=10m", "--max-bulk-soft-taint-count=0")...)
	s.eventually("no node is marked", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		marked := tainted(nodes, deletionTaint)
		return len(nodes) == 2 && len(marked) == 0 && !slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Spec.Unschedulable }), fmt.Sprint(marked), err
	})
	s.waitRunning("web", 1)
	if ended := s.endings(group); len(ended) > 0 {
		t.Errorf("calls ended machines: %v", ended)
	}
}

// only is an app's one pod.
func (s *story) only(app string) corev1.Pod {
	s.t.Helper()
	pods, err := s.pods(s.t.Context(), app)
	if err != nil || len(pods) != 1 {
		s.t.Fatalf("pods of %s: %d, error %v; want one", app, len(pods), err)
	}
	return pods[0]
}

// leaving tells whether a pod is being deleted, or gone.
func (s *story) leaving(ctx context.Context, app string, uid types.UID) (bool, error) {
	pods, err := s.pods(ctx, app)
	staying := slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == uid && p.DeletionTimestamp == nil })
	return err == nil && !staying, err
}

// there tells whether a pod exists.
func (s *story) there(ctx context.Context, app string, uid types.UID) (bool, error) {
	pods, err := s.pods(ctx, app)
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == uid }), err
}
