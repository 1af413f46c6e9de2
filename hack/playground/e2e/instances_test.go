package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/hack/playground/annotations"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// These stories need no autoscaler: they show that the cluster is a real one.

func TestPodsOfADeploymentRunOnNodesMadeFromInstances(t *testing.T) {
	s := parallelStory(t)
	group := s.group(cluster.NodeGroup{
		Name: "workers", Type: "m5.large", Max: 5,
		Labels: map[string]string{"example.com/team": "blue"},
		Taints: []corev1.Taint{{Key: "dedicated", Value: "blue", Effect: corev1.TaintEffectNoSchedule}},
	})
	s.deployment("web", 3, "1200m", "1Gi", func(p *corev1.PodTemplateSpec) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "blue"}}
	})
	s.eventually("the scheduler finds no node for the pods", func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, "web")
		return err == nil && len(pods) == 3 && unschedulable(pods) == 3, fmt.Sprintf("%d of %d", unschedulable(pods), len(pods)), err
	})

	if err := s.cluster.AWS.SetDesired(group, 3); err != nil {
		t.Fatal(err)
	}
	s.waitNodes(3)
	s.waitRunning("web", 3)
	if perNode, _, err := s.running(t.Context(), "web"); err != nil || len(perNode) != 3 {
		t.Errorf("pods per node: %v, error %v; want one on each of three: two don't fit on 2 cores", perNode, err)
	}
	s.checkNodesAreInstances(group)
}

// checkNodesAreInstances compares the story's nodes with the group's instances.
func (s *story) checkNodesAreInstances(group string) {
	s.t.Helper()
	type facts struct {
		ProviderID, Zone, Type, Team, Arch string
		Taints                             []corev1.Taint
	}
	nodes, err := s.nodes(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	got, want := map[string]facts{}, map[string]facts{}
	for _, node := range nodes {
		got[node.Name] = facts{
			ProviderID: node.Spec.ProviderID, Zone: node.Labels[corev1.LabelTopologyZone], Type: node.Labels[corev1.LabelInstanceTypeStable],
			Team: node.Labels["example.com/team"], Arch: node.Labels[corev1.LabelArchStable], Taints: node.Spec.Taints,
		}
	}
	for _, i := range s.cluster.AWS.Instances() {
		if i.Group == group {
			want[i.PrivateDNSName] = facts{
				ProviderID: "aws:///" + i.Zone + "/" + i.ID, Zone: i.Zone, Type: "m5.large", Team: "blue", Arch: "amd64",
				Taints: []corev1.Taint{{Key: "dedicated", Value: "blue", Effect: corev1.TaintEffectNoSchedule}},
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("nodes differ from instances: %s", diff)
	}
}

func unschedulable(pods []corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
				n++
			}
		}
	}
	return n
}

func TestPodsOfAMachineThatDiesStartAgainOnItsReplacement(t *testing.T) {
	s := parallelStory(t)
	group := s.group(cluster.NodeGroup{Name: "workers", Type: "m5.large", Max: 1, Desired: 1})
	s.deployment("web", 2, "100m", "128Mi")
	s.waitRunning("web", 2)

	var victim string
	for _, i := range s.cluster.AWS.Instances() {
		if i.Group == group {
			victim = i.PrivateDNSName
			if err := s.cluster.AWS.KillInstance(i.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.eventually("both pods run on another node, and nothing of the old one is left", func(ctx context.Context) (bool, string, error) {
		perNode, sum, err := s.running(ctx, "web")
		if err != nil {
			return false, "", err
		}
		pods, err := s.pods(ctx, "web")
		return sum == 2 && len(pods) == 2 && perNode[victim] == 0, fmt.Sprintf("%d pods, running per node: %v", len(pods), perNode), err
	})
}

func TestAJobRunsForItsTimeAndCompletes(t *testing.T) {
	s := parallelStory(t)
	s.group(cluster.NodeGroup{Name: "workers", Type: "m5.large", Max: 1, Desired: 1})
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "sum"},
		Spec: batchv1.JobSpec{
			Completions: new(int32(2)), Parallelism: new(int32(2)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "sum"}, Annotations: map[string]string{annotations.RunFor: "2s"}},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{storyLabel: s.namespace}, RestartPolicy: corev1.RestartPolicyNever,
					TerminationGracePeriodSeconds: new(int64(1)),
					Containers:                    []corev1.Container{{Name: "main", Image: "example.com/sum"}},
				},
			},
		},
	}
	if _, err := s.cluster.Client.BatchV1().Jobs(s.namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the Job is complete", func(ctx context.Context) (bool, string, error) {
		job, err := s.cluster.Client.BatchV1().Jobs(s.namespace).Get(ctx, "sum", metav1.GetOptions{})
		return err == nil && job.Status.Succeeded == 2 && job.Status.CompletionTime != nil, fmt.Sprintf("%+v", job.Status), err
	})
	pods, err := s.pods(t.Context(), "sum")
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		ended := pod.Status.ContainerStatuses[0].State.Terminated
		if ended == nil || ended.FinishedAt.Sub(ended.StartedAt.Time) < time.Second { // whole seconds
			t.Errorf("pod %s: %+v, want an end 2 s after its start", pod.Name, pod.Status.ContainerStatuses[0].State)
		}
	}
}
