package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	syaml "sigs.k8s.io/yaml"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// The manifests that users of AWS and of DigitalOcean apply.
const (
	manifestAWS  = "../../../deploy/aws/cluster-autoscaler.yaml"
	manifestDOKS = "../../../deploy/digitalocean/cluster-autoscaler.yaml"
)

const accountName = "cluster-autoscaler"

// changeRole may alter the ClusterRole of the manifest before it is applied.
type changeRole func(*rbacv1.ClusterRole)

// install applies the manifest's ServiceAccount and RBAC objects, unchanged but for the names that let stories run beside each other: all
// of it is in the story's namespace.
func (s *story) install(changes ...changeRole) types.NamespacedName {
	s.t.Helper()
	manifest := manifestAWS
	if s.doks != nil {
		manifest = manifestDOKS
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		s.t.Fatal(err)
	}
	moved, err := inNamespace(text, s.namespace, changes)
	if err != nil {
		s.t.Fatalf("%s: %v", manifest, err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own context has ended
		defer cancel()
		rbac := s.cluster.Client.RbacV1()
		name := accountName + "-" + s.namespace
		if err := errors.Join(
			ignoreNotFound(rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{})),
			ignoreNotFound(rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{})),
		); err != nil {
			s.t.Errorf("taking the autoscaler's rights away: %v", err)
		}
	})
	if err := s.cluster.Apply(s.t.Context(), moved, "Deployment"); err != nil {
		s.t.Fatal(err)
	}
	return types.NamespacedName{Namespace: s.namespace, Name: accountName}
}

// inNamespace moves a manifest from kube-system to another namespace.
func inNamespace(manifest []byte, namespace string, changes []changeRole) ([]byte, error) {
	var moved bytes.Buffer
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(strings.ReplaceAll(string(manifest), metav1.NamespaceSystem, namespace)), 4096)
	for {
		var document map[string]any
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return moved.Bytes(), nil
		} else if err != nil {
			return nil, err
		}
		text, err := renamed(document, namespace, changes)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&moved, "---\n%s\n", text)
	}
}

// renamed gives an object without a namespace a name of its own.
func renamed(document map[string]any, namespace string, changes []changeRole) ([]byte, error) {
	text, err := syaml.Marshal(document)
	if err != nil {
		return nil, err
	}
	switch document["kind"] {
	case "ClusterRole":
		var role rbacv1.ClusterRole
		if err := syaml.UnmarshalStrict(text, &role); err != nil {
			return nil, err
		}
		role.Name += "-" + namespace
		for _, change := range changes {
			change(&role)
		}
		return syaml.Marshal(role)
	case "ClusterRoleBinding":
		var binding rbacv1.ClusterRoleBinding
		if err := syaml.UnmarshalStrict(text, &binding); err != nil {
			return nil, err
		}
		binding.Name += "-" + namespace
		binding.RoleRef.Name += "-" + namespace
		return syaml.Marshal(binding)
	}
	return text, nil
}

// without takes all rights to a resource away.
func without(resource string) changeRole {
	return func(role *rbacv1.ClusterRole) {
		for i, rule := range role.Rules {
			role.Rules[i].Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(r string) bool { return r == resource })
		}
		role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Resources) == 0 })
	}
}

// discovery names the tag that all groups of a story have and no other group.
func (s *story) discovery() string { return "k8s.io/cluster-autoscaler/" + s.namespace }

// hasty are the flags of the usual deployment with waiting times that suit a story, limited to the story's groups, with Lease and
// status in the story's namespace.
func (s *story) hasty() []string {
	usual := autoscaler.ProductionFlags(s.namespace)
	if s.doks != nil {
		usual = autoscaler.ProductionFlagsDOKS(s.doks.Config)
	}
	return append(usual,
		"--namespace="+s.namespace,
		"--scan-interval=1s",
		"--scale-down-delay-after-add=1s",
		"--scale-down-unneeded-time=2s",
		"--node-delete-delay-after-taint=1s",
		"--unremovable-node-recheck-timeout=1s",
	)
}

// installed starts an autoscaler with the manifest's rights and hasty flags. more come last, so they win.
func (s *story) installed(name string, more ...string) *autoscaler.Autoscaler {
	s.t.Helper()
	return s.autoscaler(name, s.install(), append(s.hasty(), more...)...)
}

// waitLoops waits until the autoscaler's status says that it runs.
func (s *story) waitLoops() {
	s.t.Helper()
	s.eventually("the status says that the autoscaler runs", func(ctx context.Context) (bool, string, error) {
		status, err := s.status(ctx)
		return strings.Contains(status, "autoscalerStatus: Running"), status, err
	})
}

// status is the document in the autoscaler's status ConfigMap; empty if there is none.
func (s *story) status(ctx context.Context) (string, error) {
	object, err := s.cluster.Client.CoreV1().ConfigMaps(s.namespace).Get(ctx, "cluster-autoscaler-status", metav1.GetOptions{})
	if err != nil {
		return "", ignoreNotFound(err)
	}
	return object.Data["status"], nil
}

// waitUnschedulable waits until the scheduler has found no node for so many pods of an app.
func (s *story) waitUnschedulable(app string, want int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d pods of %s are unschedulable", want, app), func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, app)
		return unschedulable(pods) == want, fmt.Sprintf("%d of %d", unschedulable(pods), len(pods)), err
	})
}

// purchases are the calls that set the desired capacity of a group.
func (s *story) purchases(group string) []awstest.Call {
	return slices.DeleteFunc(s.calls("SetDesiredCapacity"), func(c awstest.Call) bool { return c.Params.Get("AutoScalingGroupName") != group })
}

// desired is what a group wants to have.
func (s *story) desired(name string) int {
	s.t.Helper()
	for _, group := range s.cluster.AWS.Groups() {
		if group.Name == name {
			return group.Desired
		}
	}
	s.t.Fatalf("there is no group %s", name)
	return 0
}

// waitEvent waits for an event about an object whose reason is equal and whose message contains a text, and returns the message.
func (s *story) waitEvent(kind, name, reason, text string) string {
	s.t.Helper()
	message := ""
	s.eventually(fmt.Sprintf("%s %s has an event %s with %q", kind, name, reason, text), func(ctx context.Context) (bool, string, error) {
		events, err := s.events(ctx, kind, name)
		for _, event := range events {
			if event.Reason == reason && strings.Contains(event.Message, text) {
				message = event.Message
				return true, "", nil
			}
		}
		return false, fmt.Sprint(summaries(events)), err
	})
	return message
}

// events are the autoscaler's events about an object, in any namespace.
func (s *story) events(ctx context.Context, kind, name string) ([]corev1.Event, error) {
	list, err := s.cluster.Client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name,
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return e.Source.Component != "cluster-autoscaler" }), nil
}

func summaries(events []corev1.Event) []string {
	var all []string
	for _, event := range events {
		all = append(all, event.Reason+": "+event.Message)
	}
	return all
}

// tainted says which of the nodes have a taint.
func tainted(nodes []corev1.Node, key string) []string {
	var names []string
	for _, node := range nodes {
		if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key }) {
			names = append(names, node.Name)
		}
	}
	return names
}

// deletionTaint is on a node that is being removed.
const deletionTaint = "ToBeDeletedByClusterAutoscaler"

// logOf is what an autoscaler has written so far. All that were started with one name share it.
func logOf(t *testing.T, a *autoscaler.Autoscaler) string {
	t.Helper()
	return read(t, a.LogFile())
}

// parallelStory begins a story that runs beside others.
func parallelStory(t *testing.T) *story {
	t.Parallel()
	t.Helper()
	return newStory(t)
}

// slow is a cloud whose machines take long enough for several iterations of the autoscaler.
var slow = awstest.Timing{Request: 2 * time.Second, Launch: 2 * time.Second, HealthCheck: time.Second, Terminate: 300 * time.Millisecond, Linger: time.Second}

// workers is the usual group of a story.
func workers(least, most, desired int) cluster.NodeGroup {
	return cluster.NodeGroup{Name: "workers", Type: "m5.large", Min: least, Max: most, Desired: desired}
}

// autoscalerBinary is the built program.
func autoscalerBinary(t *testing.T) string {
	t.Helper()
	binary := os.Getenv(autoscalerVariable)
	if binary == "" {
		t.Fatalf("%s must name the built cluster-autoscaler; run `make e2e`", autoscalerVariable)
	}
	return binary
}
