package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/autoscaler"
)

// A purchase that the cloud has carried out is never made again, and one that it hasn't is made once, wherever the process dies.
func TestAKilledProcessBuysNothingTwice(t *testing.T) {
	tests := map[string]struct {
		hold    awstest.Side // where the purchase waits while the process is killed; empty: it doesn't, and the process has its answer
		effects []bool       // of the calls, oldest first
	}{
		"between the call and its answer": {hold: awstest.AfterEffect, effects: []bool{true}},
		"before the call had an effect":   {hold: awstest.BeforeEffect, effects: []bool{false, true}},
		"right after the answer":          {effects: []bool{true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := parallelStory(t)
			bought := workers(0, 9, 0)
			bought.Timing = slow
			group := s.group(bought)
			account := s.install()
			flags := append(s.hasty(), "--scale-down-unneeded-time=10m")
			s.deployment("web", 3, "1200m", "1Gi")
			s.waitUnschedulable("web", 3)

			first := func() *autoscaler.Autoscaler { return s.autoscaler("first", account, flags...) }
			if test.hold == "" {
				s.killAfterAnswer(group, first())
			} else {
				s.killInCall(group, test.hold, first)
			}
			s.autoscaler("second", account, flags...)
			s.waitRunning(60*time.Second, "web", 3)
			s.always(3*time.Second, "nothing more is bought", func(context.Context) (bool, string, error) {
				var effects []bool
				for _, call := range s.purchases(group) {
					effects = append(effects, call.Change != nil)
				}
				diff := cmp.Diff(test.effects, effects)
				return diff == "" && s.desired(group) == 3, fmt.Sprintf("desired %d; calls with an effect: %s", s.desired(group), diff), nil
			})
			s.waitNodes(time.Second, 3)
		})
	}
}

// killInCall kills an autoscaler while the cloud holds its purchase.
func (s *story) killInCall(group string, side awstest.Side, start func() *autoscaler.Autoscaler) {
	s.t.Helper()
	gate := awstest.NewGate(side)
	defer s.cluster.AWS.Inject(awstest.Fault{Action: "SetDesiredCapacity", Group: group, Effect: gate})()
	defer gate.Release()
	a := start()
	select {
	case <-gate.Arrived():
	case <-time.After(40 * time.Second):
		s.t.Fatal("no purchase within 40 s")
	}
	if err := a.Kill(); err != nil {
		s.t.Fatal(err)
	}
	s.eventually(10*time.Second, "the cloud knows that nobody waits for its answer", func(context.Context) (bool, string, error) {
		calls := s.purchases(group)
		return len(calls) == 1 && calls[0].Dropped, fmt.Sprintf("%+v", calls), nil
	})
}

// killAfterAnswer kills an autoscaler that has just bought.
func (s *story) killAfterAnswer(group string, a *autoscaler.Autoscaler) {
	s.t.Helper()
	s.eventually(40*time.Second, "the purchase is answered", func(context.Context) (bool, string, error) {
		calls := s.purchases(group)
		return len(calls) == 1 && calls[0].Done, fmt.Sprintf("%+v", calls), nil
	})
	if err := a.Kill(); err != nil {
		s.t.Fatal(err)
	}
}

func TestTheNextStartPutsNodesBackIntoServiceThatAKilledProcessWasRemoving(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 5, 2))
	s.waitNodes(30*time.Second, 2)
	nodes, err := s.nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	free, cordoned := nodes[0].Name, nodes[1].Name
	s.changeNode(cordoned, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	account := s.install()

	first := s.autoscaler("first", account, append(s.hasty(), "--node-delete-delay-after-taint=10m")...)
	s.waitMarks("both nodes are marked and cordoned", map[string]mark{free: {tainted: true, cordoned: true}, cordoned: {tainted: true, cordoned: true}})
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	s.autoscaler("second", account, append(s.hasty(), "--scale-down-unneeded-time=10m", "--max-bulk-soft-taint-count=0")...)
	s.waitMarks("our marks are gone, and somebody else's cordon isn't", map[string]mark{free: {}, cordoned: {cordoned: true}})
	for _, node := range []string{free, cordoned} {
		s.waitEvent(10*time.Second, "Node", node, "ClusterAutoscalerCleanup", "removed taint "+deletionTaint)
	}
	// The free node takes one pod; the group grows for the other one.
	s.deployment("web", 2, "1200m", "1Gi")
	s.waitRunning(40*time.Second, "web", 2)
	if perNode, _, err := s.running(t.Context(), "web"); err != nil || perNode[free] != 1 || perNode[cordoned] != 0 {
		t.Errorf("pods per node: %v, error %v; want one on %s and none on %s", perNode, err, free, cordoned)
	}
	if ended, desired := s.endings(group), s.desired(group); len(ended) > 0 || desired != 3 {
		t.Errorf("calls ended machines: %v; desired is %d, want 3", ended, desired)
	}
}

// mark is what a removal leaves on a node.
type mark struct{ tainted, cordoned bool }

func (s *story) waitMarks(what string, want map[string]mark) {
	s.t.Helper()
	s.eventually(40*time.Second, what, func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		got := map[string]mark{}
		for _, node := range nodes {
			got[node.Name] = mark{tainted: len(tainted([]corev1.Node{node}, deletionTaint)) > 0, cordoned: node.Spec.Unschedulable}
		}
		return cmp.Equal(want, got, cmp.AllowUnexported(mark{})), fmt.Sprintf("%+v", got), err
	})
}

func TestAProcessThatIsToldToEndPutsNodesBackIntoService(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 5, 1))
	s.waitNodes(30*time.Second, 1)
	nodes, err := s.nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := s.installed("ca", "--node-delete-delay-after-taint=10m")
	s.waitMarks("the node is marked", map[string]mark{nodes[0].Name: {tainted: true, cordoned: true}})
	s.endGracefully(a)
	s.waitMarks("the node is in service", map[string]mark{nodes[0].Name: {}})
	if ended := s.endings(group); len(ended) > 0 {
		t.Errorf("calls ended machines: %v", ended)
	}
}

// endGracefully sends SIGTERM and expects exit code 0 soon.
func (s *story) endGracefully(a *autoscaler.Autoscaler) {
	s.t.Helper()
	if gracefully, err := a.Stop(15 * time.Second); err != nil || !gracefully {
		s.t.Fatalf("stopping it: gracefully %v, error %v", gracefully, err)
	}
	if code := a.ExitCode(); code != 0 {
		s.t.Errorf("exit code %d, want 0; the end of its log: %s", code, tail(logOf(s.t, a)))
	}
}

// tail is the last lines of a log.
func tail(log string) string { return log[max(0, len(log)-2000):] }
