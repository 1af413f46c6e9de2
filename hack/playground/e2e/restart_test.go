package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	syaml "sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// A purchase that the cloud has carried out is never made again, and one that it hasn't is made once, wherever the process dies.
func TestAKilledProcessBuysNothingTwice(t *testing.T) {
	t.Parallel()
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
			bought.Timing = lasting
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
			s.waitTakenOver(s.autoscaler("second", account, flags...))
			s.waitRunning("web", 3)
			s.always(3*time.Second, "nothing more is bought", func(context.Context) (bool, string, error) {
				var effects []bool
				for _, call := range s.purchases(group) {
					effects = append(effects, call.Change != nil)
				}
				diff := cmp.Diff(test.effects, effects)
				return diff == "" && s.desired(group) == 3, fmt.Sprintf("desired %d; calls with an effect: %s", s.desired(group), diff), nil
			})
			s.waitNodes(3)
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
	case <-time.After(patience):
		s.t.Fatalf("no purchase within %s", patience)
	}
	s.kill(a)
	s.eventually("the cloud knows that nobody waits for its answer", func(context.Context) (bool, string, error) {
		calls := s.purchases(group)
		return len(calls) == 1 && calls[0].Dropped, fmt.Sprintf("%+v", calls), nil
	})
}

// killAfterAnswer kills an autoscaler that has just bought.
func (s *story) killAfterAnswer(group string, a *autoscaler.Autoscaler) {
	s.t.Helper()
	s.eventually("the purchase is answered", func(context.Context) (bool, string, error) {
		calls := s.purchases(group)
		return len(calls) == 1 && calls[0].Done, fmt.Sprintf("%+v", calls), nil
	})
	s.kill(a)
}

// kill ends an autoscaler at once, and releases its Lease: the next one needn't wait for its end, and acts while what the first began goes on.
func (s *story) kill(a *autoscaler.Autoscaler) {
	s.t.Helper()
	if err := a.Kill(); err != nil {
		s.t.Fatal(err)
	}
	s.freeLease()
}

// waitTakenOver waits until an autoscaler acts, and knows what an earlier one remembered.
func (s *story) waitTakenOver(a *autoscaler.Autoscaler) {
	s.t.Helper()
	s.eventually("the next process has taken over", func(context.Context) (bool, string, error) {
		log := logOf(s.t, a)
		return strings.Contains(log, "Took over what an earlier process remembered"), tail(log), nil
	})
}

// lasting is a cloud whose machines are still to come when the process that asked for them is dead and the next one looks.
var lasting = awstest.Timing{Request: 5 * time.Second, Launch: 5 * time.Second, HealthCheck: time.Second, Terminate: 300 * time.Millisecond, Linger: time.Second}

func TestTheNextStartPutsNodesBackIntoServiceThatAKilledProcessWasRemoving(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 5, 2))
	s.waitNodes(2)
	nodes, err := s.nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	free, cordoned := nodes[0].Name, nodes[1].Name
	s.changeNode(cordoned, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	account := s.install()

	first := s.autoscaler("first", account, append(s.hasty(), "--node-delete-delay-after-taint=10m")...)
	s.waitMarks("both nodes are marked and cordoned", map[string]mark{free: {tainted: true, cordoned: true}, cordoned: {tainted: true, cordoned: true}})
	s.kill(first)
	s.autoscaler("second", account, append(s.hasty(), "--scale-down-unneeded-time=10m", "--max-bulk-soft-taint-count=0")...)
	s.waitMarks("our marks are gone, and somebody else's cordon isn't", map[string]mark{free: {}, cordoned: {cordoned: true}})
	for _, node := range []string{free, cordoned} {
		s.waitEvent("Node", node, "ClusterAutoscalerCleanup", "removed taint "+deletionTaint)
	}
	// The free node takes one pod; the group grows for the other one.
	s.deployment("web", 2, "1200m", "1Gi")
	s.waitRunning("web", 2)
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
	s.eventually(what, func(ctx context.Context) (bool, string, error) {
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
	s.waitNodes(1)
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
	if gracefully, err := a.Stop(30 * time.Second); err != nil || !gracefully {
		s.t.Fatalf("stopping it: gracefully %v, error %v", gracefully, err)
	}
	if code := a.ExitCode(); code != 0 {
		s.t.Errorf("exit code %d, want 0; the end of its log: %s", code, tail(logOf(s.t, a)))
	}
}

// tail is the last lines of a log.
func tail(log string) string { return log[max(0, len(log)-2000):] }

// chartRole and chartNamespaced are the rights that the chart of the autoscaler that operators know gives: in the cluster, and in its own
// namespace. Ours needs no others for what it keeps over restarts.
const (
	chartRole = `
- {apiGroups: [""], resources: [events, endpoints], verbs: [create, patch]}
- {apiGroups: [""], resources: [pods/eviction], verbs: [create]}
- {apiGroups: [""], resources: [pods/status], verbs: [update]}
- {apiGroups: [""], resources: [endpoints], resourceNames: [cluster-autoscaler], verbs: [get, update]}
- {apiGroups: [""], resources: [nodes], verbs: [watch, list, get, update]}
- {apiGroups: [""], resources: [podtemplates], verbs: [get, list, watch, create, update, patch]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices, deviceclasses, resourceclaims], verbs: [watch, list, get]}
- {apiGroups: [""], resources: [namespaces, pods, services, replicationcontrollers, persistentvolumeclaims, persistentvolumes], verbs: [watch, list, get]}
- {apiGroups: [batch], resources: [jobs, cronjobs], verbs: [watch, list, get]}
- {apiGroups: [batch, extensions], resources: [jobs], verbs: [get, list, patch, watch]}
- {apiGroups: [extensions], resources: [replicasets, daemonsets], verbs: [watch, list, get]}
- {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [watch, list]}
- {apiGroups: [apps], resources: [daemonsets, deployments, replicasets, statefulsets], verbs: [watch, list, get]}
- {apiGroups: [storage.k8s.io], resources: [storageclasses, csinodes, csidrivers, csistoragecapacities, volumeattachments], verbs: [watch, list, get]}
- {apiGroups: [""], resources: [configmaps], verbs: [list, watch, get]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [cluster-autoscaler], verbs: [get, update]}
`
	chartNamespaced = `
- {apiGroups: [""], resources: [configmaps], verbs: [create]}
- {apiGroups: [""], resources: [configmaps], resourceNames: [cluster-autoscaler-status], verbs: [delete, get, update]}
`
)

// installChart is install with the rights of the chart in the place of the manifest's. change may alter those in the namespace.
func (s *story) installChart(change func(*rbacv1.Role)) types.NamespacedName {
	s.t.Helper()
	var inCluster, namespaced []rbacv1.PolicyRule
	if err := errors.Join(syaml.UnmarshalStrict([]byte(chartRole), &inCluster), syaml.UnmarshalStrict([]byte(chartNamespaced), &namespaced)); err != nil {
		s.t.Fatal(err)
	}
	account := s.install(func(role *rbacv1.ClusterRole) { role.Rules = inCluster })
	roles := s.cluster.Client.RbacV1().Roles(s.namespace)
	role, err := roles.Get(s.t.Context(), accountName, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	role.Rules = namespaced
	if change != nil {
		change(role)
	}
	if _, err := roles.Update(s.t.Context(), role, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	return account
}

// What one process has learnt the next one knows, with no more rights than installations have: a group that refused is not asked again, and what was
// bought is waited for.
func TestWhatAKilledProcessKnewIsKnownToTheNextWithTheRightsOfTheChart(t *testing.T) {
	s := parallelStory(t)
	refusing := s.group(cluster.NodeGroup{Name: "refusing", Type: "m5.4xlarge", Max: 5, Labels: map[string]string{"kind": "refusing"}})
	bought := s.group(cluster.NodeGroup{Name: "bought", Type: "m5.large", Max: 5, Labels: map[string]string{"kind": "bought"}, Timing: lasting})
	defer s.cluster.AWS.Inject(awstest.Fault{
		Action: "SetDesiredCapacity", Group: refusing, Count: awstest.Always,
		Effect: awstest.ErrorAnswer{Status: 400, Code: "AccessDenied", Message: "not authorized to perform autoscaling:SetDesiredCapacity"},
	})()
	account := s.installChart(nil)
	flags := append(s.hasty(), "--scale-down-unneeded-time=10m", "--v=1")
	of := func(kind string) func(*corev1.PodTemplateSpec) {
		return func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector["kind"] = kind }
	}
	s.deployment("never", 1, "1200m", "1Gi", of("refusing"))
	s.deployment("web", 2, "1200m", "1Gi", of("bought"))
	first := s.autoscaler("first", account, flags...)
	s.eventually("both groups are asked, and the state says so", func(ctx context.Context) (bool, string, error) {
		object, err := s.cluster.Client.CoreV1().ConfigMaps(s.namespace).Get(ctx, "cluster-autoscaler-status", metav1.GetOptions{})
		if err != nil {
			return false, "", ignoreNotFound(err)
		}
		asked := len(s.purchases(refusing)) == 1 && len(s.purchases(bought)) == 1
		return asked && object.Data["state"] != "" && strings.Contains(object.Data["status"], "setAside"), object.Data["status"], nil
	})
	s.kill(first)

	second := s.autoscaler("second", account, flags...)
	s.waitTakenOver(second)
	s.waitRunning("web", 2)
	s.always(3*time.Second, "nobody is asked again", func(context.Context) (bool, string, error) {
		counts := fmt.Sprintf("%d and %d calls, desired %d", len(s.purchases(refusing)), len(s.purchases(bought)), s.desired(bought))
		return counts == "1 and 1 calls, desired 2", counts, nil
	})
	for _, a := range []*autoscaler.Autoscaler{first, second} {
		if log := logOf(t, a); strings.Contains(log, "status ConfigMap") || strings.Contains(log, "Cannot read what an earlier process has left") {
			t.Errorf("trouble with the status: %s", tail(log))
		}
	}
}

func TestAStatusThatMayNotBeUpdatedIsOneLineInTheLog(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 5, 0))
	account := s.installChart(func(role *rbacv1.Role) {
		for i, rule := range role.Rules {
			role.Rules[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == "update" })
		}
	})
	a := s.autoscaler("ca", account, append(s.hasty(), "--scale-down-unneeded-time=10m")...)
	s.deployment("web", 1, "1200m", "1Gi")
	s.waitRunning("web", 1)
	s.always(3*time.Second, "the log has one line about it", func(context.Context) (bool, string, error) {
		lines := strings.Count(logOf(t, a), "Cannot write the status")
		return lines == 1, fmt.Sprintf("%d lines", lines), nil
	})
	if s.desired(group) != 1 {
		t.Errorf("desired is %d, want 1", s.desired(group))
	}
	// The object could be made, so that events about the cluster have something to stand on.
	s.waitEvent("ConfigMap", "cluster-autoscaler-status", "ScaledUpGroup", group)
}
