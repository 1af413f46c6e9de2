package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/annotations"
	"example.com/cluster-autoscaler/hack/playground/autoscaler"
)

// A budget that allows one disruption at a time makes a drain slow, but neither stops it nor is ever broken.
func TestADrainGoesOnAsFastAsABudgetAllowsAndNeverBelowIt(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(1, 2, 1))
	s.waitNodes(1)
	s.deployment("web", 3, "300m", "256Mi")
	s.waitRunning("web", 3)
	node := s.makeRoom(group)
	s.budget("web", 3)

	a := s.installed("ca")
	s.eventually("the log says what keeps the node", func(context.Context) (bool, string, error) {
		log := logOf(t, a)
		return keptFor(log, node, "NotEnoughPdb ("+s.namespace+"/web)"), tail(log), nil
	})
	s.eventually("so does the metric of nodes that stay", func(ctx context.Context) (bool, string, error) {
		page, err := a.Metrics(ctx)
		return strings.Contains(page, `cluster_autoscaler_unremovable_nodes_count{reason="BlockedByPod"} 1`), "it has no such line", err
	})
	s.waitIterations(a, 4) // by which the node would have been unneeded for long enough
	if nodes, err := s.nodes(t.Context()); err != nil || len(nodes) != 2 || len(tainted(nodes, deletionTaint)) > 0 {
		t.Errorf("%d nodes, on their way out: %v, error %v; want both to stay", len(nodes), tainted(nodes, deletionTaint), err)
	}

	pods := s.recordPods()
	s.budget("web", 2)
	s.waitGone(node)
	s.waitRunning("web", 3)
	if least := pods.leastHealthy("web"); least < 2 {
		t.Errorf("at some moment %d pods of web were healthy; the budget asks for 2", least)
	}
	want := map[string]int{"evicted web": 3, "gone web": 3}
	got := map[string]int{}
	for _, step := range pods.leaving() {
		got[step]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the three pods did (-want +got): %s", diff)
	}
}

// keptFor tells whether a log says that a node stays, and why.
func keptFor(log, node, why string) bool {
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"Kept node"`) && strings.Contains(line, node) && strings.Contains(line, why) {
			return true
		}
	}
	return false
}

// makeRoom adds a node to a group of one, forbids the new one's removal, and returns the name of the old one: what runs there can only go to the new
// one.
func (s *story) makeRoom(group string) string {
	s.t.Helper()
	nodes, err := s.nodes(s.t.Context())
	if err != nil || len(nodes) != 1 {
		s.t.Fatalf("there are %d nodes, error %v; want one", len(nodes), err)
	}
	if err := s.cluster.AWS.SetDesired(group, 2); err != nil {
		s.t.Fatal(err)
	}
	s.waitNodes(2)
	s.protect(nodes[0].Name)
	return nodes[0].Name
}

func (s *story) waitGone(node string) {
	s.t.Helper()
	s.eventually("node "+node+" is gone", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		there := slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == node })
		return !there, fmt.Sprintf("it is one of %d", len(nodes)), err
	})
}

// Every node has one pod and room for one more.
func TestNodesAreDrainedAtOnceButNeverMoreThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ nodes, atOnce, left int }{
		"no more than the flag allows, although there is room": {nodes: 8, atOnce: 3, left: 4},
		"no more than there is room for":                       {nodes: 5, atOnce: 2, left: 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := parallelStory(t)
			group := s.group(workers(0, 9, test.nodes))
			s.waitNodes(test.nodes)
			s.deployment("web", test.nodes, "800m", "256Mi", apart)
			s.waitSpread("web", test.nodes)
			pods := s.recordPods()

			// While the cloud holds the first machine's end, all removals of the first round are to be seen together.
			gate := s.holdEndings(group, awstest.BeforeEffect)
			a := s.installed("ca", "--max-drain-parallelism=3")
			s.waitArrival(gate)
			leaving := func(ctx context.Context) (bool, string, error) {
				nodes, err := s.nodes(ctx)
				marked := tainted(nodes, deletionTaint)
				return len(marked) == test.atOnce && len(nodes) == test.nodes, fmt.Sprintf("%d nodes, on their way out: %v", len(nodes), marked), err
			}
			s.eventually(fmt.Sprintf("%d nodes are leaving at once", test.atOnce), leaving)
			s.waitIterations(a, 3)
			if still, seen, err := leaving(t.Context()); err != nil || !still {
				t.Errorf("a while later %s, error %v; want still %d on their way out", seen, err, test.atOnce)
			}
			gate.Release()

			s.waitNodes(test.left)
			s.waitRunning("web", test.nodes)
			if waited := pods.waited(); len(waited) > 0 {
				t.Errorf("there was no room for %v", waited)
			}
			if bought := s.purchases(group); len(bought) > 0 {
				t.Errorf("a call set the desired capacity, to %v", wanted(bought))
			}
			if ended := s.endings(group); len(ended) != test.nodes-test.left {
				t.Errorf("%d calls ended machines, want %d", len(ended), test.nodes-test.left)
			}
		})
	}
}

// waitIterations waits until an autoscaler has thought so many times more about a node that stays.
func (s *story) waitIterations(a *autoscaler.Autoscaler, more int) {
	s.t.Helper()
	before := len(logOf(s.t, a))
	s.eventually(fmt.Sprintf("there were %d more iterations", more), func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		if err != nil {
			return false, "", err
		}
		most, log := 0, logOf(s.t, a)[before:]
		for _, node := range nodes {
			most = max(most, strings.Count(log, fmt.Sprintf(`"Kept node" node=%q`, node.Name)))
		}
		return most >= more, fmt.Sprint(most), nil
	})
}

// waitArrival waits until a request is held.
func (s *story) waitArrival(gate *awstest.Gate) {
	s.t.Helper()
	select {
	case <-gate.Arrived():
	case <-time.After(patience):
		s.t.Fatalf("no request has reached the gate within %s", patience)
	}
}

// waitSpread waits until so many of an app's pods run, each on a node of its own. One that shares a node, as the scheduler didn't know of all nodes
// yet, is deleted and gets another try.
func (s *story) waitSpread(app string, want int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d pods of %s run on as many nodes", want, app), func(ctx context.Context) (bool, string, error) {
		perNode, got, err := s.running(ctx, app)
		if err == nil && got == want && len(perNode) < want {
			err = s.deleteSharing(ctx, app, perNode)
		}
		return got == want && len(perNode) == want, fmt.Sprintf("%d run, per node: %v", got, perNode), err
	})
}

// deleteSharing deletes one of an app's pods that are not alone on their node.
func (s *story) deleteSharing(ctx context.Context, app string, perNode map[string]int) error {
	pods, err := s.pods(ctx, app)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if perNode[pod.Spec.NodeName] > 1 {
			return ignoreNotFound(s.cluster.Client.CoreV1().Pods(s.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}))
		}
	}
	return nil
}

func TestPodsLeaveInTheOrderOfTheirPriority(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(1, 2, 1))
	middle, high := s.priorityClass(1000), s.priorityClass(2000)
	of := func(class string) func(*corev1.PodTemplateSpec) {
		return func(p *corev1.PodTemplateSpec) { p.Spec.PriorityClassName = class }
	}
	s.waitNodes(1)
	s.deployment("high", 1, "200m", "256Mi", of(high))
	s.deployment("middle", 1, "200m", "256Mi", of(middle), stopping("3s"))
	s.deployment("low", 1, "200m", "256Mi", stopping("3s")) // so that those who don't wait for it come too early
	for _, app := range []string{"high", "middle", "low"} {
		s.waitRunning(app, 1)
	}
	node := s.makeRoom(group)
	pods := s.recordPods()

	s.installed("ca", "--drain-priority-config=0:60,1000:40,2000:20")
	s.waitGone(node)
	want := []string{"evicted low", "gone low", "evicted middle", "gone middle", "evicted high", "gone high"}
	if diff := cmp.Diff(want, pods.leaving()); diff != "" {
		t.Errorf("how the pods left (-want +got): %s", diff)
	}
	for _, app := range []string{"high", "middle", "low"} {
		s.waitRunning(app, 1)
	}
}

// stopping makes pods take some time to end once they are told to.
func stopping(after string) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotations.StopAfter, after)
		p.Spec.TerminationGracePeriodSeconds = new(int64(60))
	}
}

// askForTime is an annotation by which somebody asks for time before a node's machine ends.
const askForTime = "delay-deletion.cluster-autoscaler.kubernetes.io/story"

func TestADrainedNodeWaitsUntilNobodyAsksForTimeAnyMore(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(1, 3, 1))
	s.waitNodes(1)
	s.deployment("web", 1, "300m", "256Mi")
	s.waitRunning("web", 1)
	node := s.makeRoom(group)
	s.changeNode(node, func(n *corev1.Node) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, askForTime, "") })
	if err := s.cluster.AWS.SetDesired(group, 3); err != nil { // one for which nobody asks for time
		t.Fatal(err)
	}
	s.waitNodes(3)

	s.installed("ca", "--node-deletion-delay-timeout=10m")
	s.waitNodes(2)
	s.eventually("the pod runs on the other node", func(ctx context.Context) (bool, string, error) {
		perNode, got, err := s.running(ctx, "web")
		return got == 1 && perNode[node] == 0, fmt.Sprint(perNode), err
	})
	s.always(7*time.Second, "the node stays, on its way out", func(ctx context.Context) (bool, string, error) { // longer than it takes to look again
		nodes, err := s.nodes(ctx)
		marked := tainted(nodes, deletionTaint)
		return len(nodes) == 2 && slices.Equal(marked, []string{node}), fmt.Sprintf("%d nodes, on their way out: %v", len(nodes), marked), err
	})
	if ended := s.endings(group); len(ended) != 1 {
		t.Errorf("%d calls ended machines, want one: of the node for which nobody asked for time", len(ended))
	}
	s.changeNode(node, func(n *corev1.Node) { delete(n.Annotations, askForTime) })
	s.waitGone(node)
	s.waitRunning("web", 1)
}
