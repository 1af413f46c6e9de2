package e2e

import (
	"context"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// Until the cloud is asked to end the machine, the next process puts a node back into service that a killed one was draining; only its own marks go, and
// no pod is told to leave that was not already.
func TestTheNextStartPutsANodeBackIntoServiceThatAKilledProcessWasDraining(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pause    string // of the first process, between taint and eviction
		cordoned bool   // by somebody else, before
		evicted  bool   // the pods are told to leave before it dies
	}{
		"before the eviction": {pause: "10m"},
		"before the eviction, on a node that was cordoned already": {pause: "10m", cordoned: true},
		"while pods leave": {pause: "1s", evicted: true},
		"while pods leave a node that was cordoned already": {pause: "1s", cordoned: true, evicted: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := parallelStory(t)
			group := s.group(workers(1, 2, 1))
			s.waitNodes(1)
			s.deployment("web", 2, "300m", "256Mi", stopping("50s")) // so that they are still there when the next process looks
			s.waitRunning("web", 2)
			node := s.makeRoom(group)
			s.changeNode(node, func(n *corev1.Node) { n.Spec.Unschedulable = test.cordoned })
			other := s.otherThan(node)
			account := s.install()
			pods := s.recordPods()

			first := s.autoscaler("first", account, append(s.hasty(), "--node-delete-delay-after-taint="+test.pause)...)
			s.waitMarks("the node is marked and cordoned", map[string]mark{node: {tainted: true, cordoned: true}, other: {}})
			if test.evicted {
				s.eventually("both pods are told to leave", func(ctx context.Context) (bool, string, error) {
					now, err := s.pods(ctx, "web")
					now = slices.DeleteFunc(now, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil })
					return len(now) == 2, fmt.Sprint(len(now)), err
				})
			}
			s.kill(first)
			s.autoscaler("second", account, append(s.hasty(), "--scale-down-unneeded-time=10m", "--max-bulk-soft-taint-count=0")...)
			s.waitMarks("our marks are gone, and somebody else's cordon isn't", map[string]mark{node: {cordoned: test.cordoned}, other: {}})
			s.waitEvent("Node", node, "ClusterAutoscalerCleanup", "removed taint "+deletionTaint)
			s.waitRunning("web", 2)
			if left := pods.leaving(); (len(left) > 0) != test.evicted {
				t.Errorf("what the pods did: %v; the process that died had told them to leave: %v", left, test.evicted)
			}
			if ended, desired := s.endings(group), s.desired(group); len(ended) > 0 || desired != 2 {
				t.Errorf("calls ended machines: %v; desired is %d, want 2", ended, desired)
			}
		})
	}
}

// otherThan is the story's other node, of two.
func (s *story) otherThan(name string) string {
	s.t.Helper()
	nodes, err := s.nodes(s.t.Context())
	if err != nil || len(nodes) != 2 {
		s.t.Fatalf("there are %d nodes, error %v; want two", len(nodes), err)
	}
	if nodes[0].Name == name {
		return nodes[1].Name
	}
	return nodes[0].Name
}

// Once the cloud was asked, the next process finishes: the machine ends once, no pod is on it then, and nothing is bought in its place.
func TestTheNextStartFinishesARemovalWhoseProcessIsKilledAtItsEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		hold  awstest.Side // where the cloud holds the call when the process is killed
		calls []bool       // whether they had an effect, oldest first
	}{
		"before the machine's end begins": {hold: awstest.BeforeEffect, calls: []bool{false, true}},
		"before the answer":               {hold: awstest.AfterEffect, calls: []bool{true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := parallelStory(t)
			group := s.group(workers(1, 2, 1))
			s.waitNodes(1)
			s.deployment("web", 2, "300m", "256Mi")
			s.waitRunning("web", 2)
			node := s.makeRoom(group)
			machine := s.machineOf(node)
			account := s.install()

			held := s.holdEndings(group, test.hold)
			first := s.autoscaler("first", account, s.hasty()...)
			s.waitArrival(held)
			s.wantNoPods(node)
			s.kill(first)
			s.eventually("the cloud knows that nobody waits for its answer", func(context.Context) (bool, string, error) {
				calls := s.orders(machine)
				return len(calls) == 1 && calls[0].Dropped, fmt.Sprintf("%+v", calls), nil
			})
			again := s.holdEndings(group, awstest.BeforeEffect)
			held.Release()
			s.autoscaler("second", account, s.hasty()...)
			if len(test.calls) > 1 {
				s.waitArrival(again)
				s.wantNoPods(node)
			}
			again.Release()
			s.waitGone(node)
			s.waitLoops()
			s.waitRunning("web", 2)
			var effects []bool
			for _, call := range s.orders(machine) {
				effects = append(effects, call.Change != nil)
			}
			if diff := cmp.Diff(test.calls, effects); diff != "" {
				t.Errorf("calls for the machine with an effect (-want +got): %s", diff)
			}
			if ended, bought, desired := s.endings(group), s.purchases(group), s.desired(group); len(ended) != 1 || len(bought) > 0 || desired != 1 {
				t.Errorf("calls ended machines: %v, bought some: %v; desired is %d, want 1", ended, wanted(bought), desired)
			}
		})
	}
}

// terminate is the call that ends a machine and lowers its group's size.
const terminate = "TerminateInstanceInAutoScalingGroup"

// holdEndings makes the cloud hold all calls that end a machine of a group, until the gate is released, at the latest at the story's end.
func (s *story) holdEndings(group string, side awstest.Side) *awstest.Gate {
	gate := awstest.NewGate(side)
	remove := s.cluster.AWS.Inject(awstest.Fault{Action: terminate, Group: group, Count: awstest.Always, Effect: gate})
	s.t.Cleanup(func() {
		gate.Release()
		remove()
	})
	return gate
}

// machineOf is the id of a node's machine.
func (s *story) machineOf(name string) string {
	s.t.Helper()
	node, err := s.cluster.Client.CoreV1().Nodes().Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatalf("reading node %s: %v", name, err)
	}
	return path.Base(node.Spec.ProviderID)
}

// orders are the calls to end a machine, with an effect or without.
func (s *story) orders(machine string) []awstest.Call {
	return slices.DeleteFunc(s.calls(terminate), func(c awstest.Call) bool { return c.Params.Get("InstanceId") != machine })
}

// wantNoPods fails the test if a pod is on a node.
func (s *story) wantNoPods(node string) {
	s.t.Helper()
	list, err := s.cluster.Client.CoreV1().Pods(metav1.NamespaceAll).List(s.t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		s.t.Fatalf("listing the pods of node %s: %v", node, err)
	}
	for _, pod := range list.Items {
		s.t.Errorf("pod %s is on node %s when its machine is to end", pod.Name, node)
	}
}
