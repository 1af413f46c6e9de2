package demo

import (
	"fmt"
	"strings"

	"example.com/cluster-autoscaler/hack/playground/checker"
)

// board is the present state, as told by the records.
type board struct {
	story    checker.Story
	pods     map[string]checker.Pod // by UID
	nodes    map[string]checker.Node
	groups   map[string]*groupState
	unplaced map[string]bool            // namespace/name of pods that the autoscaler can't help
	finished map[string]map[string]bool // app → UIDs of pods that have succeeded
}

// groupState is a group as the cloud has it.
type groupState struct {
	desired int
	live    int // machines that exist and aren't ending
}

// podCount counts the pods of an app.
type podCount struct {
	running, healthy, waiting, ending, finished int
}

func newBoard(story checker.Story) board {
	b := board{
		story: story, pods: map[string]checker.Pod{}, nodes: map[string]checker.Node{}, groups: map[string]*groupState{},
		unplaced: map[string]bool{}, finished: map[string]map[string]bool{},
	}
	for _, group := range story.Groups {
		b.groups[group.Name] = &groupState{desired: len(group.First), live: len(group.First)}
	}
	return b
}

func (b *board) apply(r checker.Record) {
	switch {
	case r.Pod != nil && r.Pod.Gone:
		delete(b.pods, r.Pod.UID)
	case r.Pod != nil:
		b.pods[r.Pod.UID] = *r.Pod
		if r.Pod.Phase == "Succeeded" {
			if b.finished[r.Pod.App] == nil {
				b.finished[r.Pod.App] = map[string]bool{}
			}
			b.finished[r.Pod.App][r.Pod.UID] = true
		}
	case r.Node != nil && r.Node.Gone:
		delete(b.nodes, r.Node.Name)
	case r.Node != nil:
		b.nodes[r.Node.Name] = *r.Node
	case r.Event != nil && r.Event.Reason == "NotTriggerScaleUp":
		b.unplaced[r.Event.Namespace+"/"+r.Event.Name] = true
	case r.Cloud != nil && b.groups[r.Cloud.Group] != nil:
		b.applyCloud(*r.Cloud, b.groups[r.Cloud.Group])
	}
}

func (b *board) applyCloud(c checker.Cloud, group *groupState) {
	switch c.Kind {
	case checker.DesiredChanged:
		group.desired = c.To
	case checker.Launched:
		group.live++
	case checker.Ending:
		group.live--
	}
}

// app counts the pods of an app; of all apps if the name is empty.
func (b *board) app(name string) podCount {
	var n podCount
	for _, pod := range b.pods {
		if name != "" && pod.App != name {
			continue
		}
		switch {
		case pod.Phase == "Succeeded" || pod.Phase == "Failed":
			// nothing of it runs; whether it is tidied up changes nothing
		case pod.Ending:
			n.ending++
		case pod.Phase == "Running":
			n.running++
			if pod.Healthy {
				n.healthy++
			}
		case pod.Phase == "Pending":
			n.waiting++
		}
	}
	for app, pods := range b.finished {
		if name == "" || app == name {
			n.finished += len(pods)
		}
	}
	return n
}

// told tells whether all waiting pods of an app were told that no group can help them, and there is one.
func (b *board) told(app string) bool {
	found := false
	for _, pod := range b.pods {
		if pod.App == app && pod.Phase == "Pending" {
			found = true
			if !b.unplaced[pod.Namespace+"/"+pod.Name] {
				return false
			}
		}
	}
	return found
}

// readyNodes counts the nodes that are Ready.
func (b *board) readyNodes() int {
	n := 0
	for _, node := range b.nodes {
		if node.Ready {
			n++
		}
	}
	return n
}

// sized tells whether a group has a size in every respect: as wished and as it is.
func (b *board) sized(name string, n int) bool {
	return b.groups[name].desired == n && b.groups[name].live == n
}

// orphans counts the pods whose node is gone: they are tidied up some seconds later.
func (b *board) orphans() int {
	n := 0
	for _, pod := range b.pods {
		if _, ok := b.nodes[pod.Node]; !ok && pod.Node != "" {
			n++
		}
	}
	return n
}

// total is the sum of all desired sizes.
func (b *board) total() int {
	n := 0
	for _, group := range b.groups {
		n += group.desired
	}
	return n
}

// status sums the state up in one line.
func (b *board) status() string {
	pods := b.app("")
	var s strings.Builder
	fmt.Fprintf(&s, "pods %d running %d pending", pods.running, pods.waiting)
	if pods.ending > 0 {
		fmt.Fprintf(&s, " %d ending", pods.ending)
	}
	ready := b.readyNodes()
	fmt.Fprintf(&s, " | nodes %d", ready)
	if others := len(b.nodes) - ready; others > 0 {
		fmt.Fprintf(&s, " (+%d not Ready)", others)
	}
	s.WriteString(" |")
	for i, group := range b.story.Groups {
		if i > 0 {
			s.WriteString(",")
		}
		state := b.groups[group.Name]
		fmt.Fprintf(&s, " %s %d", group.Name, state.live)
		if state.desired != state.live {
			fmt.Fprintf(&s, "→%d", state.desired)
		}
	}
	return s.String()
}
