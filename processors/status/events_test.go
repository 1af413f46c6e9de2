package status_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/status"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

var (
	onStatus = status.Object{Kind: status.KindStatus}
	onNode   = status.Object{Kind: status.KindNode, Name: "n-1", UID: "n-1"}
	onConfig = status.Object{Kind: status.KindConfigMap, Namespace: "kube-system", Name: "prio", UID: "7"}
	onPod    = status.Object{Kind: status.KindPod, Namespace: "default", Name: "p", UID: "pod-default-p"}
	podRef   = report.PodRef{Namespace: "default", Name: "p", UID: "pod-default-p"}
	errCause = errors.New("the cloud says no")
)

func normal(object status.Object, reason, message string) status.Event {
	return status.Event{Object: object, Reason: reason, Message: message}
}

func warning(object status.Object, reason, message string) status.Event {
	return status.Event{Object: object, Warning: true, Reason: reason, Message: message}
}

func filtered(code simulator.FilterCode, reasons ...string) report.Reason {
	return report.Rejected{Rejection: simulator.Rejection{Filter: code, Reasons: reasons}}
}

// Every reason of operator-surface 3.2 and 3.3 that this program emits.
func TestEventsOfAnIteration(t *testing.T) {
	healthy := report.ClusterStatus{Healthy: true}
	grown := report.ResizeOutcome{Resize: report.Resize{Group: "blue", From: 2, To: 5, Max: 9}, Granted: 3}
	refs := []cloudprovider.NodeRef{{Name: "i-1"}, {Name: "i-2"}}
	repaired := func(outcome report.RepairOutcome) report.Report {
		return report.Report{Cluster: healthy, Repair: report.Repair{Outcomes: []report.RepairOutcome{outcome}}}
	}
	up := func(up report.ScaleUp) report.Report { return report.Report{Cluster: healthy, ScaleUp: up} }
	pods := func(verdicts ...report.PodVerdict) []report.PodVerdict { return verdicts }
	refused := func(groups ...report.GroupVerdict) report.PodVerdict {
		return report.PodVerdict{Pod: podRef, Fate: report.PodUnschedulable, Groups: groups}
	}
	noCPU := report.GroupVerdict{Group: "blue", Reason: filtered(simulator.InsufficientResource, "Insufficient cpu")}

	tests := map[string]struct {
		report report.Report
		want   []status.Event
	}{
		"nothing happened": {report: report.Report{Cluster: healthy}},
		"something is wrong with a ConfigMap of the operator's": {
			report: report.Report{
				Cluster: healthy,
				Notices: []report.Notice{
					{Message: "only for the log"}, {ConfigMap: report.ObjectRef{Namespace: "kube-system", Name: "prio", UID: "7"}, Reason: "PriorityConfigMapInvalid", Message: strings.Repeat("x", 2000)},
				},
				ScaleUp: report.ScaleUp{Notices: []report.Notice{{ConfigMap: report.ObjectRef{Namespace: "kube-system", Name: "prio", UID: "7"}, Reason: "PriorityConfigMapNotMatchedGroup", Message: "gpu"}}},
			},
			want: []status.Event{
				warning(onConfig, "PriorityConfigMapInvalid", strings.Repeat("x", 1021)+"..."), warning(onConfig, "PriorityConfigMapNotMatchedGroup", "gpu"),
			},
		},
		"something comes up in the cloud": {
			report: report.Report{Cluster: healthy, Notices: []report.Notice{
				{Reason: "CloudLaunchFailed", Group: "blue", Message: "no such machine"}, {Reason: "CloudBack", Message: "it answers again", Normal: true},
			}},
			want: []status.Event{warning(onStatus, "CloudLaunchFailed", "Group blue: no such machine"), normal(onStatus, "CloudBack", "it answers again")},
		},
		"the search for room begins to take too long": {
			report: up(report.ScaleUp{Degraded: &report.Degradation{Loops: 1, Unreached: 40}}),
			want: []status.Event{warning(onStatus, "GracefulDegradationStarted", "The search for room for pending pods did not get through in time; "+
				"pods that were not looked at come first in the next loop, and every 4th loop is kept for scale-down")},
		},
		"it goes on doing so": {report: up(report.ScaleUp{Degraded: &report.Degradation{Loops: 2, Unreached: 40}})},
		"it gets through again": {
			report: up(report.ScaleUp{Recovered: true}),
			want:   []status.Event{normal(onStatus, "GracefulDegradationStopped", "The search for room for pending pods got through all of them again")},
		},
		"a request timed out": {
			report: report.Report{Cluster: healthy, Repair: report.Repair{TimedOut: []report.RequestTimeout{{Group: "blue", Increase: 2, After: 15*time.Minute + 1234*time.Millisecond}}}},
			want:   []status.Event{warning(onStatus, "ScaleUpTimedOut", "Nodes added to group blue failed to register within 15m1s")},
		},
		"somebody else changed a target": {
			report: report.Report{Cluster: healthy, Repair: report.Repair{Foreign: []report.TargetChange{{Group: "blue", From: 3, To: 5}}}},
			want:   []status.Event{normal(onStatus, "TargetSizeChangedExternally", "Size of group blue is now 5 instead of 3: somebody else has changed it")},
		},
		"giving back what did not come fails": {
			report: repaired(report.RepairOutcome{RepairAction: report.RepairAction{Kind: report.RevertScaleUp, Group: "blue", By: 2}, Err: errCause}),
			want:   []status.Event{warning(onStatus, "FailedToRevertScaleUp", "Failed to revert the scale-up of group blue: the cloud says no")},
		},
		"or succeeds, or is refused, which is no event": {
			report: report.Report{Cluster: healthy, Repair: report.Repair{Outcomes: []report.RepairOutcome{
				{RepairAction: report.RepairAction{Kind: report.RevertScaleUp, Group: "blue"}, Lowered: 2},
				{RepairAction: report.RepairAction{Kind: report.RevertScaleUp, Group: "blue"}, Refused: "filled"},
				{RepairAction: report.RepairAction{Kind: report.DecreaseTarget, Group: "blue"}, Err: errCause},
				{RepairAction: report.RepairAction{Kind: report.DeleteFailed, Group: "blue"}, Outcomes: []cloudprovider.DeleteOutcome{{Node: refs[0]}}},
			}}},
		},
		"instances failed": {
			report: report.Report{Cluster: healthy, Repair: report.Repair{Failed: []report.FailedInstances{
				{Group: "blue", Count: 3, Class: cloudprovider.ErrorClassOutOfResources, Code: "ICE", Messages: []string{"zone a", "zone b"}},
				{Group: "blue", Count: 4, Class: cloudprovider.ErrorClassOther, Code: "Q", Messages: []string{"1", "2", "3", "4"}},
			}}},
			want: []status.Event{
				warning(onStatus, "ScaleUpFailed", "Failed adding 3 nodes to group blue due to OutOfResource.ICE; source errors: zone a, zone b"),
				warning(onStatus, "ScaleUpFailed", "Failed adding 4 nodes to group blue due to Other.Q; source errors: 1, 2, 3, 4, ..."),
			},
		},
		"machines without a node were ended, all but one": {
			report: repaired(report.RepairOutcome{
				RepairAction: report.RepairAction{Kind: report.DeleteUnregistered, Group: "blue", Nodes: refs},
				Outcomes:     []cloudprovider.DeleteOutcome{{Node: refs[0]}, {Node: refs[1], Err: errCause}},
			}),
			want: []status.Event{
				normal(onStatus, "DeleteUnregistered", "Removed unregistered node i-1"),
				warning(onStatus, "DeleteUnregisteredFailed", "Failed to remove node i-2: the cloud says no"),
			},
		},
		"none of them was": {
			report: repaired(report.RepairOutcome{RepairAction: report.RepairAction{Kind: report.DeleteUnregistered, Group: "blue", Nodes: refs}, Err: errCause}),
			want: []status.Event{
				warning(onStatus, "DeleteUnregisteredFailed", "Failed to remove node i-1: the cloud says no"),
				warning(onStatus, "DeleteUnregisteredFailed", "Failed to remove node i-2: the cloud says no"),
			},
		},
		"the cluster is unhealthy": {
			report: report.Report{Cluster: report.ClusterStatus{Managed: report.NodeCounts{Registered: 9, Unready: 8}}},
			want:   []status.Event{warning(onStatus, "ClusterUnhealthy", "Cluster is unhealthy")},
		},
		"a limit stops growth": {
			report: up(report.ScaleUp{Result: report.ScaleUpLimitedByMaxNodesTotal, MaxNodesTotal: 10, Pods: pods(refused(noCPU))}),
			want: []status.Event{
				warning(onStatus, "MaxNodesTotalReached", "Max total nodes in cluster reached: 10"),
				normal(onPod, "NotTriggerScaleUp", "pod didn't trigger scale-up: max total nodes in cluster reached"),
			},
		},
		"a group grew": {
			report: up(report.ScaleUp{
				Result: report.ScaleUpSuccessful, Outcomes: []report.ResizeOutcome{grown},
				Pods: pods(report.PodVerdict{Pod: podRef, Fate: report.PodTriggered, Grown: "blue"}),
			}),
			want: []status.Event{
				normal(onStatus, "ScaledUpGroup", "Scale-up: group blue size set to 5 instead of 2 (max: 9)"),
				normal(onPod, "TriggeredScaleUp", "pod triggered scale-up: [{blue 2->5 (max: 9)}]"),
			},
		},
		"two groups grew, one by less than wanted": {
			report: up(report.ScaleUp{
				Result: report.ScaleUpSuccessful,
				Outcomes: []report.ResizeOutcome{grown, {
					Resize: report.Resize{Group: "green", From: 0, To: 3, Max: 2}, Granted: 2, Err: errCause,
				}},
				Pods: pods(report.PodVerdict{Pod: podRef, Fate: report.PodTriggered, Grown: "blue"}),
			}),
			want: []status.Event{
				normal(onStatus, "ScaledUpGroup", "Scale-up: group blue size set to 5 instead of 2 (max: 9)"),
				normal(onStatus, "ScaledUpGroup", "Scale-up: group green size set to 2 instead of 0 (max: 2)"),
				warning(onStatus, "FailedToScaleUpGroup", "Scale-up failed for group green: the cloud says no"),
				normal(onPod, "TriggeredScaleUp", "pod triggered scale-up: [{blue 2->5 (max: 9)} {green 0->2 (max: 2)}]"),
			},
		},
		// Case C16: a pod hears why it is not helped in the iteration in which another one is.
		"one pod is helped and another is not": {
			report: up(report.ScaleUp{
				Result: report.ScaleUpSuccessful, Outcomes: []report.ResizeOutcome{grown},
				Pods: pods(refused(noCPU), report.PodVerdict{Pod: report.PodRef{Name: "q"}, Fate: report.PodTriggered}),
			}),
			want: []status.Event{
				normal(onStatus, "ScaledUpGroup", "Scale-up: group blue size set to 5 instead of 2 (max: 9)"),
				normal(onPod, "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 Insufficient cpu"),
				normal(status.Object{Kind: status.KindPod, Name: "q"}, "TriggeredScaleUp", "pod triggered scale-up: [{blue 2->5 (max: 9)}]"),
			},
		},
		// Case R12.
		"the only group that fits fails to grow": {
			report: up(report.ScaleUp{
				Result:   report.ScaleUpError,
				Outcomes: []report.ResizeOutcome{{Resize: report.Resize{Group: "blue", From: 2, To: 5, Max: 9}, Err: errCause}},
				Pods:     pods(refused(report.GroupVerdict{Group: "blue", Reason: report.ExecutionFailed{Error: "no"}})),
			}),
			want: []status.Event{warning(onStatus, "FailedToScaleUpGroup", "Scale-up failed for group blue: the cloud says no")},
		},
		// Case R06.
		"reasons are counted, those of the groups first": {
			report: up(report.ScaleUp{Result: report.ScaleUpNoOptionsAvailable, Pods: pods(refused(
				noCPU, report.GroupVerdict{Group: "red", Reason: report.GroupBackedOff{Why: "Q"}}, noCPU))}),
			want: []status.Event{normal(onPod, "NotTriggerScaleUp",
				"pod didn't trigger scale-up: 1 in backoff after failed scale-up, 2 Insufficient cpu")},
		},
		"the nearest groups come first": {
			report: up(report.ScaleUp{Result: report.ScaleUpNoOptionsAvailable, Pods: pods(refused(
				report.GroupVerdict{Reason: filtered(simulator.NodeAffinityMismatch, "a selector")},
				report.GroupVerdict{Reason: filtered(simulator.TaintNotTolerated, "a taint")},
				report.GroupVerdict{Reason: filtered(simulator.InsufficientResource, "too little memory")},
				report.GroupVerdict{Reason: filtered(simulator.HostPortTaken, "no port")},
				report.GroupVerdict{Reason: report.GroupAtMaxSize{Target: 3, Max: 3}}))}),
			want: []status.Event{normal(onPod, "NotTriggerScaleUp",
				"pod didn't trigger scale-up: 1 max node group size reached, 1 no port, 1 too little memory, 1 a taint, 1 a selector")},
		},
		"a reason of its own": {
			report: up(report.ScaleUp{Result: report.ScaleUpNoOptionsAvailable, Pods: pods(report.PodVerdict{
				Pod: podRef, Fate: report.PodUnschedulable, Own: report.ResourceClaimsNotSimulated{Pod: podRef}, Groups: []report.GroupVerdict{noCPU},
			})}),
			want: []status.Event{normal(onPod, "NotTriggerScaleUp",
				"pod didn't trigger scale-up: pod default/p has resource claims, which are not simulated")},
		},
		"no group at all": {
			report: up(report.ScaleUp{Result: report.ScaleUpNoOptionsAvailable, Pods: pods(refused())}),
			want:   []status.Event{normal(onPod, "NotTriggerScaleUp", "pod didn't trigger scale-up: there is no node group")},
		},
		// Case R09, and pods that need no help.
		"pods that wait for their turn, fit or do not count hear nothing": {
			report: up(report.ScaleUp{Result: report.ScaleUpSuccessful, Pods: pods(
				report.PodVerdict{Pod: podRef, Fate: report.PodAwaiting}, report.PodVerdict{Pod: podRef, Fate: report.PodFits},
				report.PodVerdict{Pod: podRef, Fate: report.PodLeftAlone})}),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, status.Events(test.report)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestEventsAtMomentsOfTheirOwn(t *testing.T) {
	pod := simtest.Pod("p").On("n-1").Build()
	empty := report.Removal{Node: "n-1", Group: "blue", Reason: report.Empty}
	drain := report.Removal{
		Node: "n-1", Group: "blue", Reason: report.Underutilized, Drain: true, Pods: []report.PodRef{podRef, {Namespace: "web", Name: "q"}},
		Utilization: report.Utilization{CPU: 0.25, Memory: 0.125, Resource: "cpu", Highest: 0.25},
	}
	ended := func(removal report.Removal, result report.RemovalResult, err error) []status.Event {
		return status.RemovalEnded(report.RemovalOutcome{Removal: removal, Result: result, Err: err})
	}
	tests := map[string]struct{ got, want []status.Event }{
		"a group is about to grow": {
			[]status.Event{status.GrowBegun(report.Resize{Group: "blue", From: 2, To: 5, Max: 9})},
			[]status.Event{normal(onStatus, "ScaledUpGroup", "Scale-up: setting group blue size to 5 instead of 2 (max: 9)")},
		},
		"a node is tainted": {
			[]status.Event{status.NodeTainted("n-1", nil)},
			[]status.Event{normal(onNode, "ScaleDown", "marked the node as toBeDeleted/unschedulable")},
		},
		"it cannot be": {
			[]status.Event{status.NodeTainted("n-1", errCause)},
			[]status.Event{warning(onNode, "ScaleDownFailed", "failed to mark the node as toBeDeleted/unschedulable: the cloud says no")},
		},
		"an old taint is removed": {
			[]status.Event{status.TaintCleaned("n-1", "ToBeDeletedByClusterAutoscaler", nil)},
			[]status.Event{normal(onNode, "ClusterAutoscalerCleanup", "removed taint ToBeDeletedByClusterAutoscaler from node n-1")},
		},
		"it cannot be removed": {
			[]status.Event{status.TaintCleaned("n-1", "ToBeDeletedByClusterAutoscaler", errCause)},
			[]status.Event{warning(onNode, "ClusterAutoscalerCleanup", "failed to remove taint ToBeDeletedByClusterAutoscaler from node n-1: the cloud says no")},
		},
		"the removal of an empty node begins": {
			[]status.Event{status.DrainBegun(empty)}, []status.Event{normal(onStatus, "ScaleDownEmpty", `Scale-down: removing empty node "n-1"`)},
		},
		"a drain begins": {
			[]status.Event{status.DrainBegun(drain)},
			[]status.Event{normal(onStatus, "ScaleDown",
				"Scale-down: removing node n-1, utilization: {0.25 0.125 0 cpu 0.25}, pods to reschedule: default/p,web/q")},
		},
		"an empty node is gone": {ended(empty, report.RemovalOK, nil), []status.Event{
			normal(onNode, "ScaleDown", "nodes removed by cluster autoscaler"), normal(onStatus, "ScaleDownEmpty", "Scale-down: empty node n-1 removed"),
		}},
		"a drained node is gone": {ended(drain, report.RemovalOK, nil), []status.Event{
			normal(onNode, "ScaleDown", "nodes removed by cluster autoscaler"), normal(onStatus, "ScaleDown", "Scale-down: node n-1 removed with drain"),
		}},
		"an empty node stays": {ended(empty, report.RemovalDeletionFailed, errCause),
			[]status.Event{warning(onNode, "ScaleDownFailed", "failed to delete empty node: the cloud says no")}},
		"a node that was to be drained stays": {ended(drain, report.RemovalEvictionFailed, errCause),
			[]status.Event{warning(onNode, "ScaleDownFailed", "failed to drain and delete node: the cloud says no")}},
		"a pod is about to be evicted": {
			[]status.Event{status.EvictionBegun(pod)}, []status.Event{normal(onPod, "ScaleDown", "deleting pod for node scale down")},
		},
		"its eviction is given up": {
			[]status.Event{status.EvictionGivenUp(pod)}, []status.Event{warning(onPod, "ScaleDownFailed", "failed to delete pod for ScaleDown")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNoMessageIsLongerThanTheServerTakes(t *testing.T) {
	const limit = 1024
	long := errors.New(strings.Repeat("é", 2000))
	many := make([]report.PodRef, 500)
	for i := range many {
		many[i] = report.PodRef{Namespace: "default", Name: fmt.Sprint("pod-", i)}
	}
	var groups []report.GroupVerdict
	for i := range 300 {
		groups = append(groups, report.GroupVerdict{Reason: filtered(simulator.InsufficientResource, fmt.Sprintf("reason %03d", i))})
	}
	wordy := []report.GroupVerdict{
		{Reason: report.GroupSetAside{Error: long.Error()}}, {Reason: filtered(simulator.TaintNotTolerated, "a taint")},
	}
	pod := func(groups []report.GroupVerdict) report.ScaleUp {
		return report.ScaleUp{Result: report.ScaleUpNoOptionsAvailable, Pods: []report.PodVerdict{{Pod: podRef, Fate: report.PodUnschedulable, Groups: groups}}}
	}
	var outcomes []report.ResizeOutcome
	for i := range 100 {
		outcomes = append(outcomes, report.ResizeOutcome{Resize: report.Resize{Group: cloudprovider.GroupID(fmt.Sprint("group-", i))}, Granted: 1})
	}
	events := map[string]status.Event{
		"a long error":     status.NodeTainted("n", long),
		"many pods":        status.DrainBegun(report.Removal{Node: "n", Drain: true, Pods: many}),
		"a long clean-up":  status.TaintCleaned("n", "key", long),
		"a failed removal": status.RemovalEnded(report.RemovalOutcome{Result: report.RemovalInternalFailure, Err: long})[0],
		"many reasons":     status.Events(report.Report{Cluster: report.ClusterStatus{Healthy: true}, ScaleUp: pod(groups)})[0],
		"a wordy reason":   status.Events(report.Report{Cluster: report.ClusterStatus{Healthy: true}, ScaleUp: pod(wordy)})[0],
		"many groups": status.Events(report.Report{Cluster: report.ClusterStatus{Healthy: true}, ScaleUp: report.ScaleUp{
			Outcomes: outcomes, Pods: []report.PodVerdict{{Pod: podRef, Fate: report.PodTriggered}},
		}})[100],
	}
	for name, event := range events {
		t.Run(name, func(t *testing.T) {
			if len(event.Message) > limit || !utf8.ValidString(event.Message) {
				t.Errorf("message of %d bytes, valid: %t", len(event.Message), utf8.ValidString(event.Message))
			}
			if name != "a wordy reason" && !strings.HasSuffix(event.Message, "...") {
				t.Errorf("message ends in %q, want the mark of a cut", event.Message[len(event.Message)-10:])
			}
		})
	}
	if got := events["a wordy reason"].Message; !strings.Contains(got, "a taint") {
		t.Errorf("one wordy reason leaves no room for another: %q", got)
	}
	if got := events["many reasons"].Message; strings.Contains(got[len(got)-20:], "reaso,") || !strings.HasSuffix(got, ", ...") {
		t.Errorf("a reason is cut in the middle: %q", got[len(got)-30:])
	}
	if got := status.Cut(strings.Repeat("x", limit)); len(got) != limit || strings.Contains(got, ".") {
		t.Error("a message of exactly the limit is cut")
	}
}

func TestObjectsOfEvents(t *testing.T) {
	if diff := cmp.Diff(onNode, status.Node("n-1")); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(onPod, status.Pod(podRef)); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}
