package scenario

import (
	"encoding/json"
	"slices"
	"time"
)

// Line is one thing that happened. It is encoded as one JSON object; lists in it are sorted. The set is closed.
type Line interface {
	// head is when it happened and the name of its type.
	head() heading
	// subjects are what expectations about events ask for.
	subjects() subjects
}

// line is short for Line within the package.
type line = Line

// heading is what all lines have in common.
type heading struct {
	// At is counted in seconds from the start.
	At   float64 `json:"at"`
	Type string  `json:"type"`
}

func (h heading) head() heading { return h }

func about(kind string, since time.Duration) heading { return heading{At: seconds(since), Type: kind} }

func seconds(d time.Duration) float64 { return d.Seconds() }

// subjects are the pods, the node and the group that a line is about, and the reasons, each with its group.
type subjects struct {
	pods        []string
	node, group string
	reasons     []GroupReason
}

// has tells whether the line is about all that is asked for; what is empty is not asked for.
func (s subjects) has(pod, node, group, reason string) bool {
	if pod != "" && !slices.Contains(s.pods, pod) || node != "" && s.node != node {
		return false
	}
	if len(s.reasons) == 0 {
		return reason == "" && (group == "" || group == s.group)
	}
	return slices.ContainsFunc(s.reasons, func(r GroupReason) bool {
		return (reason == "" || r.Reason == reason) && (group == "" || r.NodeGroup == group)
	})
}

// GroupReason is why a pod or node is left as it is; NodeGroup is empty where the reason is of no group.
type GroupReason struct {
	NodeGroup string `json:"nodeGroup,omitempty"`
	Reason    string `json:"reason"`
	Detail    string `json:"detail"`
}

// The lines.
type (
	scaleUp struct {
		heading
		NodeGroup string   `json:"nodeGroup"`
		From      int      `json:"from"`
		To        int      `json:"to"`
		Pods      []string `json:"pods"`
		Reason    string   `json:"reason"`
	}
	scaleUpFailed struct {
		heading
		NodeGroup  string `json:"nodeGroup"`
		Delta      int    `json:"delta"`
		ErrorClass string `json:"errorClass"`
		Error      string `json:"error"`
	}
	noScaleUp struct {
		heading
		Pod     string        `json:"pod"`
		Reasons []GroupReason `json:"reasons"`
	}
	nodeReady struct {
		heading
		Node      string `json:"node"`
		NodeGroup string `json:"nodeGroup"`
	}
	nodeUnneeded struct {
		heading
		Node      string `json:"node"`
		NodeGroup string `json:"nodeGroup"`
	}
	nodeNeeded struct {
		heading
		Node      string `json:"node"`
		NodeGroup string `json:"nodeGroup"`
	}
	nodeKept struct {
		heading
		Node      string `json:"node"`
		NodeGroup string `json:"nodeGroup"`
		Reason    string `json:"reason"`
		Detail    string `json:"detail"`
	}
	scaleDown struct {
		heading
		Node      string   `json:"node"`
		NodeGroup string   `json:"nodeGroup"`
		Empty     bool     `json:"empty"`
		Pods      []string `json:"pods"`
	}
	scaleDownFailed struct {
		heading
		Node      string `json:"node"`
		NodeGroup string `json:"nodeGroup"`
		Error     string `json:"error"`
	}
	nodeRemoved struct {
		heading
		Node      string `json:"node"`
		NodeGroup string `json:"nodeGroup"`
	}
	groupBackedOff struct {
		heading
		NodeGroup string  `json:"nodeGroup"`
		Until     float64 `json:"until"` // seconds from the start
		Reason    string  `json:"reason"`
	}
	groupSetAside struct {
		heading
		NodeGroup string   `json:"nodeGroup"`
		Reason    string   `json:"reason"`
		Until     *float64 `json:"until"` // seconds from the start; null: until a refresh says otherwise
	}
	restarted struct {
		heading
		Graceful bool `json:"graceful"`
	}
	notice struct {
		heading
		Reason string `json:"reason"` // of the event; empty if there is only a line in the log
		Text   string `json:"text"`
	}
	iterationFailed struct {
		heading
		Error string `json:"error"`
	}
	expectationFailed struct {
		heading
		Expectation json.RawMessage `json:"expectation"`
		Got         string          `json:"got"`
	}
	summary struct {
		heading
		NodeGroups  map[string]groupSummary `json:"nodeGroups"`
		PendingPods []string                `json:"pendingPods"`
		Nodes       int                     `json:"nodes"`
		Evictions   int                     `json:"evictions"`
		Iterations  int                     `json:"iterations"`
	}
)

// groupSummary is a node group at the end.
type groupSummary struct {
	Min    int `json:"min"`
	Max    int `json:"max"`
	Target int `json:"target"`
	Ready  int `json:"ready"`
}

func (l scaleUp) subjects() subjects { return subjects{group: l.NodeGroup, pods: l.Pods} }
func (l scaleUpFailed) subjects() subjects {
	return subjects{group: l.NodeGroup, reasons: []GroupReason{{l.NodeGroup, l.ErrorClass, l.Error}}}
}
func (l noScaleUp) subjects() subjects    { return subjects{pods: []string{l.Pod}, reasons: l.Reasons} }
func (l nodeReady) subjects() subjects    { return subjects{node: l.Node, group: l.NodeGroup} }
func (l nodeUnneeded) subjects() subjects { return subjects{node: l.Node, group: l.NodeGroup} }
func (l nodeNeeded) subjects() subjects   { return subjects{node: l.Node, group: l.NodeGroup} }
func (l nodeKept) subjects() subjects {
	return subjects{node: l.Node, group: l.NodeGroup, reasons: []GroupReason{{l.NodeGroup, l.Reason, l.Detail}}}
}
func (l scaleDown) subjects() subjects {
	return subjects{node: l.Node, group: l.NodeGroup, pods: l.Pods}
}
func (l scaleDownFailed) subjects() subjects { return subjects{node: l.Node, group: l.NodeGroup} }
func (l nodeRemoved) subjects() subjects     { return subjects{node: l.Node, group: l.NodeGroup} }
func (l groupBackedOff) subjects() subjects {
	return subjects{group: l.NodeGroup, reasons: []GroupReason{{l.NodeGroup, l.Reason, ""}}}
}
func (l groupSetAside) subjects() subjects {
	return subjects{group: l.NodeGroup, reasons: []GroupReason{{l.NodeGroup, l.Reason, ""}}}
}
func (l notice) subjects() subjects          { return subjects{reasons: []GroupReason{{"", l.Reason, l.Text}}} }
func (restarted) subjects() subjects         { return subjects{} }
func (iterationFailed) subjects() subjects   { return subjects{} }
func (expectationFailed) subjects() subjects { return subjects{} }
func (summary) subjects() subjects           { return subjects{} }
