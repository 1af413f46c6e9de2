package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// evictor is a ServiceAccount that may read and evict pods of a namespace.
const evictor = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: evictor, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: evictor, namespace: %[1]s}
rules:
- {apiGroups: [""], resources: [pods], verbs: [list]}
- {apiGroups: [""], resources: [pods/eviction], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: evictor, namespace: %[1]s}
subjects: [{kind: ServiceAccount, name: evictor, namespace: %[1]s}]
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: evictor}
`

func TestAServiceAccountHasTheRightsOfItsManifestsAndTheAuditLogKnowsIt(t *testing.T) {
	s := parallelStory(t)
	s.group(cluster.NodeGroup{Name: "workers", Type: "m5.large", Max: 1, Desired: 1})
	s.deployment("web", 1, "100m", "128Mi")
	s.waitRunning("web", 1)
	if err := s.cluster.Apply(t.Context(), fmt.Appendf(nil, evictor, s.namespace)); err != nil {
		t.Fatal(err)
	}
	client := s.clientOf("evictor")

	pods, err := client.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("listing pods: %d, error %v; want the one", len(pods.Items), err)
	}
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing nodes: error %v, want Forbidden", err)
	}
	victim := pods.Items[0].Name
	err = client.PolicyV1().Evictions(s.namespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: victim, Namespace: s.namespace}})
	if err != nil {
		t.Fatalf("evicting %s: %v", victim, err)
	}
	s.eventually("the audit log tells who evicted the pod", func(context.Context) (bool, string, error) {
		users, err := evictionsOf(s.cluster.AuditLog(), types.NamespacedName{Namespace: s.namespace, Name: victim})
		return cmp.Equal(users, []string{"system:serviceaccount:" + s.namespace + ":evictor"}), fmt.Sprint(users), err
	})
}

// clientOf makes a client with the credentials that an autoscaler of this ServiceAccount would get.
func (s *story) clientOf(account string) kubernetes.Interface {
	s.t.Helper()
	path, err := autoscaler.WriteKubeconfig(s.t.Context(), s.cluster.Client, autoscaler.Server{URL: s.cluster.Server(), Authority: s.cluster.Authority()},
		types.NamespacedName{Namespace: s.namespace, Name: account}, s.t.TempDir())
	if err != nil {
		s.t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// evictionsOf finds in an audit log who had a pod evicted.
func evictionsOf(path string, pod types.NamespacedName) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var users []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			break // a line that is being written
		}
		o := event.ObjectRef
		if o.Resource == "pods" && o.Subresource == "eviction" && o.Namespace == pod.Namespace && o.Name == pod.Name && event.ResponseStatus.Code == 201 {
			users = append(users, event.User.Username)
		}
	}
	return users, lines.Err()
}
