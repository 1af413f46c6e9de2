package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

func TestAScaleUpIsSpreadOverGroupsWhoseNodesAreAlike(t *testing.T) {
	s := parallelStory(t)
	var groups []string
	for _, zone := range []string{"a", "b", "c"} {
		groups = append(groups, s.group(cluster.NodeGroup{
			Name: "zone-" + zone, Type: "m5.large", Max: 5, Zones: []string{cluster.Region + zone}, Timing: slow,
			Labels: map[string]string{"eks.amazonaws.com/nodegroup": "zone-" + zone}, // tells groups apart and nothing else
		}))
	}
	other := s.group(cluster.NodeGroup{Name: "other", Type: "m5.large", Max: 2, // too few for all pods, so that the expander never takes it alone
		Timing: slow, Labels: map[string]string{"team": "other"}})
	s.deployment("web", 6, "1200m", "1Gi")
	s.waitUnschedulable("web", 6)
	s.installed("ca", "--scale-down-unneeded-time=10m", "--balance-similar-node-groups", "--expander=most-pods")
	s.waitRunning("web", 6)
	for _, group := range groups {
		if got := wanted(s.purchases(group)); len(got) != 1 || got[0] != "2" {
			t.Errorf("%s was resized to %v, want once, to 2", group, got)
		}
	}
	if got := s.desired(other); got != 0 {
		t.Errorf("the group that differs in a label has %d machines, want none", got)
	}
}

// The map of priorities decides, is read anew when it changes, and is complained about when it makes no sense.
func TestThePriorityMapDecidesAndIsReadAnew(t *testing.T) {
	s := parallelStory(t)
	spot := s.group(cluster.NodeGroup{Name: "spot", Type: "m5.large", Max: 1, Timing: slow})
	demand := s.group(cluster.NodeGroup{Name: "demand", Type: "m5.large", Max: 5, Timing: slow})
	reserved := s.group(cluster.NodeGroup{Name: "reserved", Type: "m5.large", Max: 5, Timing: slow})
	s.priorities(fmt.Sprintf("50: [%q]\n10: [%q]\n", spot, demand))
	a := s.installed("ca", "--scale-down-unneeded-time=10m", "--expander=priority")
	s.deployment("first", 1, "1200m", "1Gi")
	s.waitRunning("first", 1)
	s.deployment("second", 1, "1200m", "1Gi") // the preferred group is as large as it may be
	s.waitRunning("second", 1)
	s.wantDesired(map[string]int{spot: 1, demand: 1, reserved: 0}) // nobody takes the group that the map leaves out

	s.priorities(fmt.Sprintf("50: [%q]\n10: [%q]\n", reserved, demand))
	s.eventually("the changed map is in force", func(context.Context) (bool, string, error) {
		log := logOf(t, a)
		return strings.Contains(log, "the changed map of priorities is in force"), tail(log), nil
	})
	s.deployment("third", 1, "1200m", "1Gi")
	s.waitRunning("third", 1)
	s.wantDesired(map[string]int{spot: 1, demand: 1, reserved: 1})

	s.priorities("50: [\"(\"]\n")
	s.waitEvent("ConfigMap", priorityMap, "PriorityConfigMapInvalid", "(")
	s.deployment("fourth", 1, "1200m", "1Gi") // the last valid map decides
	s.waitRunning("fourth", 1)
	s.wantDesired(map[string]int{spot: 1, demand: 1, reserved: 2})
}

// wantDesired compares what groups want to have.
func (s *story) wantDesired(want map[string]int) {
	s.t.Helper()
	got := map[string]int{}
	for group := range want {
		got[group] = s.desired(group)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Fatalf("sizes of groups (-want +got):\n%s", diff)
	}
}

func TestAGroupThatRefusesIsReplacedByTheNextBestAtOnce(t *testing.T) {
	s := parallelStory(t)
	small := s.group(cluster.NodeGroup{Name: "small", Type: "m5.large", Max: 5, Timing: slow})
	large := s.group(cluster.NodeGroup{Name: "large", Type: "m5.4xlarge", Max: 5, Timing: slow})
	defer s.cluster.AWS.Inject(awstest.Fault{
		Action: "SetDesiredCapacity", Group: small, Count: awstest.Always,
		Effect: awstest.ErrorAnswer{Status: 400, Code: "AccessDenied", Message: "not authorized to perform autoscaling:SetDesiredCapacity"},
	})()
	s.installed("ca", "--scale-down-unneeded-time=10m", "--scan-interval=10m") // so that the next iteration by the clock would come too late
	s.waitLoops()
	s.deployment("web", 1, "1200m", "1Gi")
	s.waitRunning("web", 1)
	s.wantDesired(map[string]int{small: 0, large: 1})
	if calls := s.purchases(small); len(calls) != 1 {
		t.Errorf("the group that refuses was called %d times, want once: it is backed off", len(calls))
	}
}

// priorityMap is the ConfigMap that the priority expander reads.
const priorityMap = "cluster-autoscaler-priority-expander"

// priorities makes or replaces the story's map of priorities.
func (s *story) priorities(text string) {
	s.t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: priorityMap}, Data: map[string]string{"priorities": text}}
	maps := s.cluster.Client.CoreV1().ConfigMaps(s.namespace)
	_, err := maps.Update(s.t.Context(), object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(s.t.Context(), object, metav1.CreateOptions{})
	}
	if err != nil {
		s.t.Fatalf("writing the map of priorities: %v", err)
	}
}
