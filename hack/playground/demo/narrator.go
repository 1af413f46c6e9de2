package demo

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/cluster-autoscaler/hack/playground/checker"
)

const (
	lookEvery = 200 * time.Millisecond
	gatherFor = time.Second      // events about several pods are told as one when no other has come for so long,
	gatherMax = 10 * time.Second // or when the first came so long ago
)

// narrator tells what the recorder writes down.
type narrator struct {
	recorder *recorder
	timeline *timeline
	next     int               // number of the first record that wasn't looked at
	apps     map[string]string // namespace/name of a pod → its app
	nodes    map[string]string // name → instance
	groupOf  map[string]string // instance → group
	gathered map[string]*gathering
}

// gathering is events of the same kind about several pods. The first one is told at once, if it isn't to wait for the others.
type gathering struct {
	first, last time.Time
	apps        map[string]int
	text        string // %s stands for the pods
}

func newNarrator(r *recorder, t *timeline) *narrator {
	return &narrator{
		recorder: r, timeline: t, apps: map[string]string{}, nodes: map[string]string{}, groupOf: map[string]string{}, gathered: map[string]*gathering{},
	}
}

// run tells until ctx ends.
func (n *narrator) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		n.tell(time.Now())
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// tell tells all that is new.
func (n *narrator) tell(now time.Time) {
	records := n.recorder.since(n.next)
	n.next += len(records)
	for _, r := range records {
		switch {
		case r.Story != nil:
			for _, group := range r.Story.Groups {
				for _, id := range group.First {
					n.groupOf[id] = group.Name
				}
			}
		case r.Pod != nil:
			n.apps[r.Pod.Namespace+"/"+r.Pod.Name] = r.Pod.App
		case r.Node != nil:
			n.nodes[r.Node.Name] = r.Node.Provider[strings.LastIndex(r.Node.Provider, "/")+1:]
		case r.Cloud != nil && r.Cloud.Instance != "":
			n.groupOf[r.Cloud.Instance] = r.Cloud.Group
		case r.Event != nil:
			n.event(r.Time, *r.Event)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(n.gathered)) {
		g := n.gathered[key]
		if now.Sub(g.last) < gatherFor && now.Sub(g.first) < gatherMax {
			continue
		}
		if len(g.apps) > 0 {
			n.timeline.decision(fmt.Sprintf(g.text, podList(g.apps)))
		}
		delete(n.gathered, key)
	}
	var status string
	n.recorder.look(func(b *board) { status = b.status() })
	n.timeline.show(status, false)
}

// event tells one event, now or together with others of its kind. Those that say again what another one said are left out.
func (n *narrator) event(at time.Time, e checker.Event) {
	message := n.name(strings.TrimPrefix(e.Message, "(combined from similar events): "))
	switch {
	case e.Warning:
		n.timeline.decision(fmt.Sprintf("WARNING %s %s: %s", e.Reason, e.Name, message))
	case e.Kind == "Pod" && e.Reason == "TriggeredScaleUp":
		plan := strings.TrimPrefix(message, "pod triggered scale-up: ")
		if n.gathered[e.Reason+e.Message] == nil {
			n.timeline.decision(fmt.Sprintf("buys %s, for pod %s", plan, e.Name))
			n.gathered[e.Reason+e.Message] = &gathering{first: at, last: at, apps: map[string]int{}, text: "... and for %s"}
			return
		}
		n.gather(at, e, "")
	case e.Kind == "Pod" && e.Reason == "NotTriggerScaleUp":
		n.timeline.decision(fmt.Sprintf("buys nothing for pod %s: %s", e.Name, strings.TrimPrefix(message, "pod didn't trigger scale-up: ")))
	case e.Kind == "Pod" && e.Reason == "ScaleDown":
		n.gather(at, e, "evicts %s")
	case e.Kind == "Node", e.Kind == "Lease", strings.HasPrefix(e.Message, "Scale-up: setting"):
		// others tell the same, or it isn't about machines
	default:
		n.timeline.decision(message)
	}
}

func (n *narrator) gather(at time.Time, e checker.Event, text string) {
	key := e.Reason + e.Message
	g := n.gathered[key]
	if g == nil {
		g = &gathering{first: at, apps: map[string]int{}, text: text}
		n.gathered[key] = g
	}
	g.last = at
	g.apps[n.apps[e.Namespace+"/"+e.Name]]++
}

// podList is for example "34 pods of web and 1 pod of ledger".
func podList(apps map[string]int) string {
	var parts []string
	for _, app := range slices.Sorted(maps.Keys(apps)) {
		noun := "pods"
		if apps[app] == 1 {
			noun = "pod"
		}
		parts = append(parts, fmt.Sprintf("%d %s of %s", apps[app], noun, app))
	}
	return strings.Join(parts, " and ")
}

// nodeName finds the names of nodes in messages, with the quotes around them.
var nodeName = regexp.MustCompile(`"?\bip-[0-9-]+[a-z0-9.-]*\b"?`) //nolint:gochecknoglobals // a constant that Go can't spell

// name puts the group behind each node in a message, and leaves the domain of the node's name out.
func (n *narrator) name(message string) string {
	return nodeName.ReplaceAllStringFunc(message, func(found string) string {
		node := strings.Trim(found, `"`)
		short, _, _ := strings.Cut(node, ".")
		if group := n.groupOf[n.nodes[node]]; group != "" {
			return short + " (" + group + ")"
		}
		return short
	})
}
