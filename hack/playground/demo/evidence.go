package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/checker"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// auditEvent is the part of a line of the audit log (audit.k8s.io/v1) that is of interest.
type auditEvent struct {
	StageTimestamp time.Time
	Verb           string
	User           struct{ Username string }
	ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus struct{ Code int }
	RequestObject  struct {
		Target struct{ Name string }
	}
}

// readWrites reads from an audit log who bound, evicted and deleted pods, and who deleted nodes.
func readWrites(path string) (checker.Log, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close()
	var log checker.Log
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		write := checker.Write{
			User: event.User.Username, Verb: event.Verb, Resource: event.ObjectRef.Resource,
			Namespace: event.ObjectRef.Namespace, Name: event.ObjectRef.Name,
			Code: event.ResponseStatus.Code, Node: event.RequestObject.Target.Name,
		}
		if event.ObjectRef.Subresource != "" {
			write.Resource += "/" + event.ObjectRef.Subresource
		}
		if isEvidence(write) {
			log = append(log, checker.Record{Time: event.StageTimestamp, Write: &write})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return log, nil
}

// isEvidence tells whether a write moves or ends something.
func isEvidence(w checker.Write) bool {
	switch w.Resource {
	case "pods/binding", "pods/eviction":
		return true
	case "pods", "nodes":
		return w.Verb == "delete"
	}
	return false
}

// readCalls returns what was asked of the cloud.
func readCalls(aws *awstest.Server) checker.Log {
	var log checker.Log
	for _, c := range aws.Writes() {
		call := checker.Call{Number: c.Number, Action: c.Action, Code: c.Code, Group: c.Params.Get("AutoScalingGroupName")}
		if change := c.Change; change != nil {
			call.Group, call.At, call.Ended = change.Group, change.Time, change.Ended
			call.DesiredFrom, call.DesiredTo, call.LiveFrom, call.LiveTo = change.DesiredFrom, change.DesiredTo, change.LiveFrom, change.LiveTo
		}
		log = append(log, checker.Record{Time: c.Time, Call: &call})
	}
	return log
}

// finalState lists what there is now.
func finalState(ctx context.Context, c *cluster.Cluster) (checker.End, error) {
	var end checker.End
	pods, err := c.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return end, fmt.Errorf("listing the pods at the end: %w", err)
	}
	for i := range pods.Items {
		end.Pods = append(end.Pods, podState(&pods.Items[i]))
	}
	nodes, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return end, fmt.Errorf("listing the nodes at the end: %w", err)
	}
	for i := range nodes.Items {
		end.Nodes = append(end.Nodes, nodeState(&nodes.Items[i]))
	}
	for _, group := range c.AWS.Groups() {
		end.Groups = append(end.Groups, checker.FinalGroup{Name: group.Name, Desired: group.Desired, Instances: []string{}})
	}
	for _, i := range c.AWS.Instances() {
		at := slices.IndexFunc(end.Groups, func(g checker.FinalGroup) bool { return g.Name == i.Group })
		if at >= 0 && i.Lifecycle == awstest.InService {
			end.Groups[at].Instances = append(end.Groups[at].Instances, i.ID)
		}
	}
	return end, nil
}
