package simulator_test

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// describe writes down the cluster and the question, for whoever has to find out why the answers differ. A nil node stands for all.
func (c *contest) describe(pod *corev1.Pod, node *corev1.Node) string {
	var text strings.Builder
	write := func(title string, object any) {
		data, err := yaml.Marshal(object)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&text, "--- %s\n%s", title, data)
	}
	write("asked", pod)
	for _, n := range c.now.nodes {
		title := "node"
		if n.object == node {
			title = "node asked about"
		}
		write(title, map[string]any{
			"name": n.object.Name, "labels": n.object.Labels, "spec": n.object.Spec, "allocatable": n.object.Status.Allocatable,
			"features": n.object.Status.DeclaredFeatures, "csi": n.csi, "injected": n.injected,
		})
	}
	for _, l := range c.now.lies {
		write("pod on "+l.node, map[string]any{
			"name": keyOf(l.pod), "uid": l.pod.UID, "labels": l.pod.Labels, "spec": l.pod.Spec, "deleted": l.pod.DeletionTimestamp, "status": l.pod.Status,
		})
	}
	return text.String()
}
