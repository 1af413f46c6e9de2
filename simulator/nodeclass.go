package simulator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// nodeClass is what nodes have in common that the scheduler's filters can't tell apart, but for what is on them and how large they are:
// taints, schedulability, features, and those labels that some selector reads.
type nodeClass struct {
	// bare is one of the nodes, without pods.
	bare *framework.NodeInfo
}

// classOf is the node's class.
func (s *Snapshot) classOf(n *node) *nodeClass {
	if n.class != nil && n.classVersion == s.nodeKeys.version {
		return n.class
	}
	n.classVersion = s.nodeKeys.version
	if s.nodeKeysVersion != s.nodeKeys.version {
		s.nodeKeysVersion, s.nodeKeysSorted = s.nodeKeys.version, s.nodeKeys.sorted()
		clear(s.nodeClasses)
	}
	text := s.classText(n.object)
	class, ok := s.nodeClasses[text]
	if !ok {
		class = &nodeClass{bare: framework.NewNodeInfo()}
		class.bare.SetNode(n.object)
		s.nodeClasses[text] = class
	}
	n.class = class
	return class
}

func (s *Snapshot) classText(object *corev1.Node) string {
	var text strings.Builder
	if object.Spec.Unschedulable {
		text.WriteByte('!')
	}
	for i := range object.Spec.Taints {
		taint := &object.Spec.Taints[i]
		writeAll(&text, taint.Key, "=", taint.Value, ":", string(taint.Effect), "\x00")
	}
	for _, feature := range object.Status.DeclaredFeatures {
		writeAll(&text, "+", feature)
	}
	for _, key := range s.nodeKeysSorted {
		if value, ok := object.Labels[key]; ok {
			writeAll(&text, "\x00", key, "=", value)
		}
	}
	return text.String()
}

func writeAll(text *strings.Builder, parts ...string) {
	for _, part := range parts {
		text.WriteString(part)
	}
}
