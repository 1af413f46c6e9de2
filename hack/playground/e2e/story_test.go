package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// storyLabel is on the nodes of a story's groups, with the story's namespace as its value. Its pods ask for it, so stories
// never share a node.
const storyLabel = "playground.cluster-autoscaler/story"

// patience is how long a story waits for what must come. Nothing is measured with it, so that it can be ample: it only says when a story that
// fails does so.
const patience = 2 * time.Minute

// story is one test's view of the shared cluster.
type story struct {
	t         *testing.T
	cluster   *cluster.Cluster
	namespace string
	firstCall int           // number of the last call to AWS before the story began
	doks      *cluster.DOKS // the story's own cluster of DigitalOcean; nil: it plays on AWS
}

// newStory begins a story: it gets a namespace. When the test ends, its node groups, autoscalers and namespace go again.
func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, cluster: shared}
	if calls := shared.AWS.Calls(); len(calls) > 0 {
		s.firstCall = calls[len(calls)-1].Number
	}
	created, err := shared.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	s.namespace = created.Name
	t.Cleanup(s.leave)
	s.eventually("the namespace has its service account", func(ctx context.Context) (bool, string, error) {
		_, err := shared.Client.CoreV1().ServiceAccounts(s.namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, "none", ignoreNotFound(err)
	})
	return s
}

// leave takes everything away that the story made and waits until its pods and nodes are gone, so that the next one finds none.
// What an autoscaler keeps in the story's namespace goes with it. It doesn't wait for the namespace: the namespace controller takes five
// seconds before it even begins.
func (s *story) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own context has ended
	defer cancel()
	s.deleteWorkloads(ctx)
	// The pods go first: those of vanished nodes take longer to go than those that a kubelet still ends.
	s.eventuallyIn(ctx, "the story's pods are gone", func(ctx context.Context) (bool, string, error) {
		pods, err := s.cluster.Client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		return len(pods.Items) == 0, fmt.Sprintf("%d pods", len(pods.Items)), nil
	})
	if err := s.cluster.Client.CoreV1().Namespaces().Delete(ctx, s.namespace, metav1.DeleteOptions{}); err != nil {
		s.t.Errorf("deleting namespace %s: %v", s.namespace, err)
	}
	for _, group := range s.cluster.AWS.Groups() {
		if s.owns(group) {
			if err := s.cluster.AWS.RemoveGroup(group.Name); err != nil {
				s.t.Errorf("removing group %s: %v", group.Name, err)
			}
		}
	}
	if s.doks != nil {
		for _, pool := range s.doks.Pools() {
			if err := s.doks.RemovePool(pool.ID); err != nil {
				s.t.Errorf("removing pool %s: %v", pool.ID, err)
			}
		}
	}
	s.eventuallyIn(ctx, "the story's nodes are gone", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		return len(nodes) == 0, fmt.Sprintf("%d nodes", len(nodes)), err
	})
}

// deleteWorkloads deletes all that owns pods, and all pods, in the story's namespace.
func (s *story) deleteWorkloads(ctx context.Context) {
	all, background := metav1.ListOptions{}, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	client := s.cluster.Client
	err := errors.Join(
		client.AppsV1().Deployments(s.namespace).DeleteCollection(ctx, background, all),
		client.AppsV1().ReplicaSets(s.namespace).DeleteCollection(ctx, background, all),
		client.AppsV1().StatefulSets(s.namespace).DeleteCollection(ctx, background, all),
		client.AppsV1().DaemonSets(s.namespace).DeleteCollection(ctx, background, all),
		client.BatchV1().Jobs(s.namespace).DeleteCollection(ctx, background, all),
		client.CoreV1().Pods(s.namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, all),
	)
	if err != nil {
		s.t.Errorf("deleting the story's workloads: %v", err)
	}
}

func (s *story) selector() string { return labels.Set{storyLabel: s.namespace}.String() }

func (s *story) owns(group awstest.Group) bool { return strings.HasPrefix(group.Name, s.namespace+"-") }

// group adds a node group whose nodes carry the story's label, and returns its name, which begins with the namespace.
func (s *story) group(g cluster.NodeGroup) string {
	s.t.Helper()
	g.Name = s.namespace + "-" + g.Name
	g.Labels = withStory(g.Labels, s.namespace)
	g.Tags = maps.Clone(g.Tags)
	if g.Tags == nil {
		g.Tags = map[string]string{}
	}
	g.Tags[s.discovery()] = "owned"
	if len(g.Zones) == 0 {
		g.Zones = []string{cluster.Region + "a"}
	}
	if g.Timing == (awstest.Timing{}) {
		g.Timing = awstest.Timing{Request: 200 * time.Millisecond, Launch: 300 * time.Millisecond, HealthCheck: time.Second, Terminate: 300 * time.Millisecond, Linger: time.Second}
	}
	if err := s.cluster.AddNodeGroup(g); err != nil {
		s.t.Fatal(err)
	}
	return g.Name
}

func withStory(m map[string]string, namespace string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[storyLabel] = namespace
	return m
}

// deployment makes a Deployment of pods that ask for some CPU and memory on nodes of the story's groups. change may alter the pods.
func (s *story) deployment(name string, replicas int, cpu, memory string, change ...func(*corev1.PodTemplateSpec)) *appsv1.Deployment {
	s.t.Helper()
	labels := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{storyLabel: s.namespace},
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/" + name,
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
				}},
			}},
		},
	}
	for _, f := range change {
		f(&template)
	}
	made, err := s.cluster.Client.AppsV1().Deployments(s.namespace).Create(s.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatalf("making Deployment %s: %v", name, err)
	}
	return made
}

// scale changes how many pods a Deployment has.
func (s *story) scale(name string, replicas int) {
	s.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := s.cluster.Client.AppsV1().Deployments(s.namespace).Patch(s.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
	if err != nil {
		s.t.Fatalf("scaling Deployment %s: %v", name, err)
	}
}

// pods returns the story's pods with a label app=<name>, oldest first.
func (s *story) pods(ctx context.Context, app string) ([]corev1.Pod, error) {
	list, err := s.cluster.Client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list.Items, nil
}

// nodes returns the nodes of the story's groups, by name.
func (s *story) nodes(ctx context.Context) ([]corev1.Node, error) {
	list, err := s.cluster.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: s.selector()})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// running tells how many of an app's pods run, and where.
func (s *story) running(ctx context.Context, app string) (perNode map[string]int, sum int, err error) {
	pods, err := s.pods(ctx, app)
	if err != nil {
		return nil, 0, err
	}
	perNode = map[string]int{}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			perNode[pod.Spec.NodeName]++
			sum++
		}
	}
	return perNode, sum, nil
}

// waitRunning waits until so many of an app's pods run.
func (s *story) waitRunning(app string, want int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d pods of %s run", want, app), func(ctx context.Context) (bool, string, error) {
		perNode, got, err := s.running(ctx, app)
		return got == want, fmt.Sprintf("%d run, per node: %v", got, perNode), err
	})
}

// waitNodes waits until the story's groups have so many Ready nodes and no others.
func (s *story) waitNodes(want int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("there are %d nodes, all Ready", want), func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx)
		ready := 0
		for _, node := range nodes {
			if isReady(node) {
				ready++
			}
		}
		return len(nodes) == want && ready == want, fmt.Sprintf("%d nodes, %d Ready", len(nodes), ready), err
	})
}

// isReady tells whether pods can be bound to a node: its condition says so, and the taint of a new node is gone.
func isReady(node corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// autoscaler starts the built autoscaler with the rights of a ServiceAccount that exists and with just these flags, and stops it with the
// story.
func (s *story) autoscaler(name string, account types.NamespacedName, flags ...string) *autoscaler.Autoscaler {
	s.t.Helper()
	a, err := s.cluster.StartAutoscaler(s.t.Context(), s.namespace+"-"+name,
		cluster.Autoscaler{Binary: autoscalerBinary(s.t), Account: account, Flags: flags})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if _, err := a.Stop(30 * time.Second); err != nil {
			s.t.Error(err)
		}
	})
	return a
}

// calls returns the story's calls to AWS with one of the actions, oldest first; of all actions if none is named.
func (s *story) calls(actions ...string) []awstest.Call {
	return slices.DeleteFunc(s.cluster.AWS.Calls(), func(c awstest.Call) bool {
		return c.Number <= s.firstCall || len(actions) > 0 && !slices.Contains(actions, c.Action)
	})
}

// eventually asks a question again and again until the answer is yes. When patience ends first, the test fails and shows the last answer. A
// failing part of the cluster fails the test at once.
func (s *story) eventually(what string, ask func(context.Context) (bool, string, error)) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	s.eventuallyIn(ctx, what, ask)
}

func (s *story) eventuallyIn(ctx context.Context, what string, ask func(context.Context) (bool, string, error)) {
	s.t.Helper()
	const interval = 50 * time.Millisecond
	began, last := time.Now(), "nothing yet"
	for {
		yes, seen, err := ask(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.t.Fatalf("finding out whether %s: %v", what, err)
		case err == nil && yes:
			s.t.Logf("After %.1f s %s.", time.Since(began).Seconds(), what)
			return
		case err == nil:
			last = seen
		}
		select {
		case <-time.After(interval):
		case <-s.cluster.Failed():
			s.t.Fatalf("waiting until %s: %v", what, s.cluster.Failure())
		case <-ctx.Done():
			s.t.Fatalf("waiting until %s: %v. Last seen: %s", what, ctx.Err(), last)
		}
	}
}

// always asks a question for a while; the test fails at the first no.
func (s *story) always(during time.Duration, what string, ask func(context.Context) (bool, string, error)) {
	s.t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		yes, seen, err := ask(s.t.Context())
		if err != nil {
			s.t.Fatalf("finding out whether %s: %v", what, err)
		}
		if !yes {
			s.t.Fatalf("it isn't so that %s: %s", what, seen)
		}
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
