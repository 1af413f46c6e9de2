package report

import (
	"fmt"
	"strings"
)

// Blocker is the pods of one controller that keep a node for the same reason, or one pod that has no controller.
type Blocker struct {
	Why             string // blocking reason of scale-down 2.2, or NoPlaceToMovePods
	Kind            string // of the controller; Pod if there is none
	Namespace, Name string // of the controller, or of the pod
	Pods            int
	// Detail is namespace/name of the budget that blocks, or the nearest node and what it lacks; empty: nothing more is known.
	Detail string `json:",omitempty"`
}

// String says how many pods of whom, and why they block.
func (b Blocker) String() string {
	whose := fmt.Sprintf("%d pods of %s %s/%s", b.Pods, b.Kind, b.Namespace, b.Name)
	switch {
	case b.Kind == "Pod":
		whose = fmt.Sprintf("pod %s/%s", b.Namespace, b.Name)
	case b.Pods == 1:
		whose = fmt.Sprintf("a pod of %s %s/%s", b.Kind, b.Namespace, b.Name)
	}
	if b.Detail == "" {
		return whose + ": " + b.Why
	}
	return fmt.Sprintf("%s: %s (%s)", whose, b.Why, b.Detail)
}

// toldBlockers is how many blockers a text names at most.
const toldBlockers = 10

// inAll is the end of a clause that names one pod; empty if that pod is all there is.
func inAll(blockers []Blocker) string {
	if len(blockers) == 0 {
		return ""
	}
	told := make([]string, 0, toldBlockers+1)
	for _, b := range blockers[:min(len(blockers), toldBlockers)] {
		told = append(told, b.String())
	}
	if more := len(blockers) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return "; all that blocks: " + strings.Join(told, ", ")
}
