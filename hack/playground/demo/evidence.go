package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// finalState lists what there is now.
func finalState(ctx context.Context, c *cluster.Cluster, cloud standIn) (checker.End, error) {
	end := checker.End{Groups: cloud.final()}
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
	return end, nil
}
