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

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

func TestPendingPodsGetNodesOfTheRightGroupAndNoMoreThanTheyNeed(t *testing.T) {
	s := parallelStory(t)
	dedicated := corev1.Taint{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}
	general := s.group(cluster.NodeGroup{Name: "general", Type: "m5.large", Max: 5, Timing: slow})
	batch := s.group(cluster.NodeGroup{Name: "batch", Type: "c5.2xlarge", Max: 3, Taints: []corev1.Taint{dedicated}, Timing: slow})
	s.deployment("web", 3, "1200m", "1Gi")
	s.deployment("sums", 1, "4", "1Gi", tolerating(dedicated))
	s.deployment("stranger", 1, "4", "1Gi") // too large for the one group, and the other one is not for it
	s.waitUnschedulable("web", 3)
	s.waitUnschedulable("sums", 1)
	s.waitUnschedulable("stranger", 1)

	s.installed("ca", "--scale-down-unneeded-time=10m")
	s.waitRunning("web", 3)
	s.waitRunning("sums", 1)

	stranger, err := s.pods(t.Context(), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	// The autoscalers of other stories have something to say about this pod, too.
	message := s.waitEvent("Pod", stranger[0].Name, "NotTriggerScaleUp", "1 Insufficient cpu")
	if !strings.Contains(message, "taint") {
		t.Errorf("the event's message is %q, want it to tell also about the taint", message)
	}
	web, err := s.pods(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	s.waitEvent("Pod", web[0].Name, "TriggeredScaleUp", fmt.Sprintf("{%s 0->3 (max: 5)}", general))
	s.always(3*time.Second, "nothing more is bought", func(context.Context) (bool, string, error) {
		bought := map[string][]string{general: wanted(s.purchases(general)), batch: wanted(s.purchases(batch))}
		diff := cmp.Diff(map[string][]string{general: {"3"}, batch: {"1"}}, bought)
		return diff == "", diff, nil
	})
	s.waitNodes(4)
}

func TestAPodThatTurnsUnschedulableStartsAnIterationAtOnce(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 3, 0))
	s.installed("ca", "--scale-down-unneeded-time=10m", "--scan-interval=10m") // so that the next iteration by the clock would come too late
	s.waitLoops()

	s.deployment("web", 1, "1200m", "1Gi")
	s.waitUnschedulable("web", 1)
	began := time.Now()
	s.eventually("the group grows", func(context.Context) (bool, string, error) {
		return s.desired(group) == 1, fmt.Sprint(s.desired(group)), nil
	})
	t.Logf("From the verdict of the scheduler to the purchase: at most %.2f s", time.Since(began).Seconds())
	s.waitRunning("web", 1)
}

func TestALostMachineIsReplacedByItsGroupAndNotBoughtAgain(t *testing.T) {
	s := parallelStory(t)
	spot := workers(0, 10, 3)
	spot.Timing = slow
	group := s.group(spot)
	s.deployment("web", 3, "1200m", "1Gi")
	s.waitRunning("web", 3)
	s.installed("ca", "--scale-down-unneeded-time=10m")
	s.waitLoops()

	before, err := s.pods(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	s.killOne(group)
	s.eventually("the lost machine's pod is gone, and another one made", func(ctx context.Context) (bool, string, error) {
		after, err := s.pods(ctx, "web")
		kept := 0
		for _, pod := range after {
			if slices.ContainsFunc(before, func(b corev1.Pod) bool { return b.UID == pod.UID }) {
				kept++
			}
		}
		return kept == 2 && len(after) == 3, fmt.Sprintf("%d pods, %d of them are old", len(after), kept), err
	})
	s.waitRunning("web", 3)
	if bought := wanted(s.purchases(group)); bought != nil || s.desired(group) != 3 {
		t.Errorf("calls set the desired capacity to %v, and it is %d; want no call and 3", bought, s.desired(group))
	}
}

// killOne ends the machine behind an instance of a group.
func (s *story) killOne(group string) {
	s.t.Helper()
	instances := slices.DeleteFunc(s.cluster.AWS.Instances(), func(i awstest.Instance) bool { return i.Group != group })
	if len(instances) == 0 {
		s.t.Fatalf("group %s has no instance", group)
	}
	if err := s.cluster.AWS.KillInstance(instances[0].ID); err != nil {
		s.t.Fatal(err)
	}
}

// wanted are the capacities that calls ask for.
func wanted(calls []awstest.Call) []string {
	var all []string
	for _, call := range calls {
		all = append(all, call.Params.Get("DesiredCapacity"))
	}
	return all
}

func tolerating(taint corev1.Taint) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value}}
	}
}
