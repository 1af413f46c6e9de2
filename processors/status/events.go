package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
)

// Event is one Kubernetes event to record.
type Event struct {
	Object  Object
	Warning bool
	Reason  string
	Message string
}

// Object is what an event is about.
type Object struct {
	Kind            Kind
	Namespace, Name string
	UID             types.UID
}

// Kind is the kind of an event's object.
type Kind string

// The kinds. KindStatus is the status ConfigMap, whose name the recorder knows.
const (
	KindStatus Kind = "Status"
	KindNode   Kind = "Node"
	KindPod    Kind = "Pod"
	// KindConfigMap is a ConfigMap that the operator has made.
	KindConfigMap Kind = "ConfigMap"
)

// maxMessage is the API server's limit for the message of an event, in bytes.
const maxMessage = 1024

// Node is the object for events about a node. Events about nodes name the node as their UID, as the kubelet's do.
func Node(name string) Object { return Object{Kind: KindNode, Name: name, UID: types.UID(name)} }

// Pod is the object for events about a pod.
func Pod(pod report.PodRef) Object {
	return Object{Kind: KindPod, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

func cluster(warning bool, reason, format string, args ...any) Event {
	return Event{Object: Object{Kind: KindStatus}, Warning: warning, Reason: reason, Message: Cut(fmt.Sprintf(format, args...))}
}

// Cut shortens a message to what the API server takes.
func Cut(message string) string { return cutTo(message, maxMessage) }

func cutTo(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	const mark = "..."
	return strings.ToValidUTF8(message[:limit-len(mark)], "") + mark
}

// Events are all events that follow from the report, in the order of the rounds. What happens at moments of its own (taints, evictions,
// the end of removals, the wish to grow a group) is told when it happens and is not among them.
func Events(r report.Report) []Event {
	events := append(NoticeEvents(r.Notices), repairEvents(r.Repair)...)
	if !r.Cluster.Healthy {
		// Always the same text, so that the same trouble is told once in a while and not in every iteration.
		events = append(events, cluster(true, "ClusterUnhealthy", "Cluster is unhealthy"))
	}
	events = append(events, NoticeEvents(r.ScaleUp.Notices)...)
	events = append(events, degradationEvents(r.ScaleUp)...)
	events = append(events, resizeEvents(r.ScaleUp)...)
	return append(events, podEvents(r.ScaleUp)...)
}

// GroupSetAside tells that a group is left alone from now on, and why.
func GroupSetAside(aside SetAside) Event {
	return cluster(true, "NodeGroupSetAside", "Group %s is set aside: %s", aside.Name, aside.Error)
}

// NoticeEvents are about the ConfigMaps that notices name, else about the status; notices without a reason have no event.
func NoticeEvents(notices []report.Notice) []Event {
	var events []Event
	for _, n := range notices {
		if n.Reason == "" {
			continue
		}
		event := Event{Object: Object{Kind: KindStatus}, Warning: !n.Normal, Reason: n.Reason, Message: Cut(n.Text())}
		if n.ConfigMap != (report.ObjectRef{}) {
			event.Object = Object{Kind: KindConfigMap, Namespace: n.ConfigMap.Namespace, Name: n.ConfigMap.Name, UID: n.ConfigMap.UID}
		}
		events = append(events, event)
	}
	return events
}

// degradationEvents tell when the search for room begins to take too long, and when it has got through again.
func degradationEvents(up report.ScaleUp) []Event {
	switch {
	case up.Degraded != nil && up.Degraded.Loops == 1:
		return []Event{cluster(true, "GracefulDegradationStarted",
			"The search for room for pending pods did not get through in time; pods that were not looked at come first in the next loop, and every 4th loop is kept for scale-down")}
	case up.Recovered:
		return []Event{cluster(false, "GracefulDegradationStopped", "The search for room for pending pods got through all of them again")}
	default:
		return nil
	}
}

func repairEvents(repair report.Repair) []Event {
	var events []Event
	for _, late := range repair.TimedOut {
		events = append(events, cluster(true, "ScaleUpTimedOut",
			"Nodes added to group %s failed to register within %s", late.Group, late.After.Round(time.Second)))
	}
	for _, failed := range repair.Failed {
		events = append(events, cluster(true, "ScaleUpFailed", "Failed adding %d nodes to group %s due to %s.%s; source errors: %s",
			failed.Count, failed.Group, failed.Class, failed.Code, failed.Message()))
	}
	for _, change := range repair.Foreign {
		events = append(events, cluster(false, "TargetSizeChangedExternally",
			"Size of group %s is now %d instead of %d: somebody else has changed it", change.Group, change.To, change.From))
	}
	for _, outcome := range repair.Outcomes {
		switch outcome.Kind {
		case report.DeleteUnregistered:
			events = append(events, unregisteredEvents(outcome)...)
		case report.RevertScaleUp:
			if outcome.Err != nil {
				events = append(events, cluster(true, "FailedToRevertScaleUp",
					"Failed to revert the scale-up of group %s: %v", outcome.Group, outcome.Err))
			}
		case report.DeleteFailed, report.DecreaseTarget:
		}
	}
	return events
}

func unregisteredEvents(outcome report.RepairOutcome) []Event {
	var events []Event
	if len(outcome.Outcomes) == 0 && outcome.Err != nil {
		for _, node := range outcome.Nodes {
			events = append(events, cluster(true, "DeleteUnregisteredFailed", "Failed to remove node %s: %v", node.Name, outcome.Err))
		}
	}
	for _, o := range outcome.Outcomes {
		if o.Err != nil {
			events = append(events, cluster(true, "DeleteUnregisteredFailed", "Failed to remove node %s: %v", o.Node.Name, o.Err))
			continue
		}
		events = append(events, cluster(false, "DeleteUnregistered", "Removed unregistered node %s", o.Node.Name))
	}
	return events
}

// GrowBegun is the event before a group is resized.
func GrowBegun(r report.Resize) Event {
	return cluster(false, "ScaledUpGroup", "Scale-up: setting group %s size to %d instead of %d (max: %d)", r.Group, r.To, r.From, r.Max)
}

func resizeEvents(up report.ScaleUp) []Event {
	var events []Event
	if up.MaxNodesTotal > 0 {
		events = append(events, cluster(true, "MaxNodesTotalReached", "Max total nodes in cluster reached: %d", up.MaxNodesTotal))
	}
	for _, outcome := range up.Outcomes {
		if outcome.Granted > 0 {
			events = append(events, cluster(false, "ScaledUpGroup", "Scale-up: group %s size set to %d instead of %d (max: %d)",
				outcome.Group, outcome.From+outcome.Granted, outcome.From, outcome.Max))
		}
		if outcome.Err != nil {
			events = append(events, cluster(true, "FailedToScaleUpGroup", "Scale-up failed for group %s: %v", outcome.Group, outcome.Err))
		}
	}
	return events
}

// podEvents tell every pod that was judged what became of it. A pod that some group could have helped hears nothing: it is looked at
// again in the next iteration. So do all if the attempt to help failed.
func podEvents(up report.ScaleUp) []Event {
	grown := map[cloudprovider.GroupID]report.ResizeOutcome{}
	var plan []string
	for _, outcome := range up.Outcomes {
		if outcome.Granted > 0 {
			grown[outcome.Group] = outcome
			plan = append(plan, fmt.Sprintf("{%s %d->%d (max: %d)}", outcome.Group, outcome.From, outcome.From+outcome.Granted, outcome.Max))
		}
	}
	var events []Event
	for _, pod := range up.Pods {
		switch pod.Fate {
		case report.PodTriggered:
			if len(plan) > 0 {
				events = append(events, Event{
					Object: Pod(pod.Pod), Reason: "TriggeredScaleUp",
					Message: Cut("pod triggered scale-up: [" + strings.Join(plan, " ") + "]"),
				})
			}
		case report.PodUnschedulable:
			if up.Result == report.ScaleUpError && len(plan) == 0 {
				continue // the next iteration knows more
			}
			events = append(events, Event{Object: Pod(pod.Pod), Reason: "NotTriggerScaleUp", Message: Cut(notTriggered(up, pod))})
		case report.PodAwaiting, report.PodFits, report.PodLeftAlone:
		}
	}
	return events
}

// notTriggered lists the reasons with the number of groups that each holds for, those first that are nearest to helping the pod.
func notTriggered(up report.ScaleUp, pod report.PodVerdict) string {
	const prefix = "pod didn't trigger scale-up: "
	if up.Result == report.ScaleUpLimitedByMaxNodesTotal {
		return prefix + "max total nodes in cluster reached"
	}
	if pod.Own != nil {
		return prefix + pod.Own.String()
	}
	if len(pod.Groups) == 0 {
		return prefix + "there is no node group"
	}
	counts, far := map[string]int{}, map[string]int{}
	for _, verdict := range pod.Groups {
		text := clause(verdict.Reason)
		counts[text]++
		far[text] = distance(verdict.Reason)
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(far[a], far[b]), cmp.Compare(a, b)) })
	text := prefix
	for i, reason := range reasons {
		next := fmt.Sprintf("%d %s", counts[reason], reason)
		if i > 0 {
			next = ", " + next
		}
		if len(text)+len(next) > maxMessage-len(more) {
			return text + more
		}
		text += next
	}
	return text
}

const (
	// more stands for the reasons that are left out for want of room.
	more = ", ..."
	// maxClause is how many bytes one reason may take, so that a wordy cloud leaves room for the others.
	maxClause = 200
)

func clause(reason report.Reason) string { return cutTo(reason.String(), maxClause) }

// distance says how far the group is from helping the pod: 0 if nothing but its own state stands in the way, 1 if a bigger or emptier node would
// do, 2 if the pod would have to tolerate something, 3 if it is made for other nodes.
func distance(reason report.Reason) int {
	switch simulator.FilterCode(reason.Code()) {
	case simulator.InsufficientResource, simulator.HostPortTaken, simulator.AttachLimit, simulator.VolumeInUse:
		return 1
	case simulator.TaintNotTolerated, simulator.NodeUnschedulable:
		return 2
	default: // the others have one answer
	}
	if _, filtered := reason.(report.Rejected); filtered {
		return 3
	}
	return 0
}

// DrainBegun are the events when the removal of a node begins.
func DrainBegun(removal report.Removal) Event {
	if !removal.Drain {
		return cluster(false, "ScaleDownEmpty", "Scale-down: removing empty node %q", removal.Node)
	}
	pods := make([]string, 0, len(removal.Pods))
	for _, pod := range removal.Pods {
		pods = append(pods, pod.String())
	}
	u := removal.Utilization
	return cluster(false, "ScaleDown", "Scale-down: removing node %s, utilization: {%.3g %.3g %.3g %s %.3g}, pods to reschedule: %s",
		removal.Node, u.CPU, u.Memory, u.GPU, u.Resource, u.Highest, strings.Join(pods, ","))
}

// RemovalEnded are the events when the removal of a node has ended.
func RemovalEnded(outcome report.RemovalOutcome) []Event {
	if outcome.Result != report.RemovalOK {
		what := "delete empty node"
		if outcome.Drain {
			what = "drain and delete node"
		}
		return []Event{{
			Object: Node(outcome.Node), Warning: true, Reason: "ScaleDownFailed",
			Message: Cut(fmt.Sprintf("failed to %s: %v", what, outcome.Err)),
		}}
	}
	events := []Event{{Object: Node(outcome.Node), Reason: "ScaleDown", Message: "nodes removed by cluster autoscaler"}}
	if outcome.Drain {
		return append(events, cluster(false, "ScaleDown", "Scale-down: node %s removed with drain", outcome.Node))
	}
	return append(events, cluster(false, "ScaleDownEmpty", "Scale-down: empty node %s removed", outcome.Node))
}

// NodeTainted is the event when a node got the deletion taint, or could not get it.
func NodeTainted(node string, err error) Event {
	if err != nil {
		return Event{
			Object: Node(node), Warning: true, Reason: "ScaleDownFailed",
			Message: Cut(fmt.Sprintf("failed to mark the node as toBeDeleted/unschedulable: %v", err)),
		}
	}
	return Event{Object: Node(node), Reason: "ScaleDown", Message: "marked the node as toBeDeleted/unschedulable"}
}

// TaintCleaned is the event when a taint that was left over was taken away at the start, or could not be.
func TaintCleaned(node, key string, err error) Event {
	if err != nil {
		return Event{
			Object: Node(node), Warning: true, Reason: "ClusterAutoscalerCleanup",
			Message: Cut(fmt.Sprintf("failed to remove taint %s from node %s: %v", key, node, err)),
		}
	}
	return Event{Object: Node(node), Reason: "ClusterAutoscalerCleanup", Message: fmt.Sprintf("removed taint %s from node %s", key, node)}
}

// EvictionBegun is the event when a pod is about to be evicted.
func EvictionBegun(pod *corev1.Pod) Event {
	return Event{Object: podObject(pod), Reason: "ScaleDown", Message: "deleting pod for node scale down"}
}

// EvictionGivenUp is the event when an eviction was refused for too long.
func EvictionGivenUp(pod *corev1.Pod) Event {
	return Event{Object: podObject(pod), Warning: true, Reason: "ScaleDownFailed", Message: "failed to delete pod for ScaleDown"}
}

func podObject(pod *corev1.Pod) Object {
	return Object{Kind: KindPod, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}
