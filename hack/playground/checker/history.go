package checker

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// history is a log put in order for those who ask it questions.
type history struct {
	log     Log
	story   Story
	end     End
	pods    map[string]*podLife // by UID
	order   []string            // UIDs in the order in which the pods were first seen
	nodes   map[string][]string // instance → names of the nodes that it was, usually one
	groupOf map[string]string   // instance → group
}

// podLife is what is known of one pod.
type podLife struct {
	Pod                       // its last state
	unschedulableAt time.Time // when that was first seen; zero: never
	boundAt         time.Time // when it was first known to have a node; zero: never
	leftAt          time.Time // when it had ended or was gone; zero: never
	succeeded       bool
}

// read puts a log in order; the log itself stays as it is. An incomplete log gives an incomplete history: the rules find that out.
func read(log Log) *history {
	log = slices.Clone(log)
	log.Sort()
	h := &history{log: log, pods: map[string]*podLife{}, nodes: map[string][]string{}, groupOf: map[string]string{}}
	for _, r := range log {
		switch {
		case r.Story != nil:
			h.story = *r.Story
			for _, group := range r.Story.Groups {
				for _, id := range group.First {
					h.groupOf[id] = group.Name
				}
			}
		case r.End != nil:
			h.end = *r.End
		case r.Pod != nil:
			h.seePod(r.Time, *r.Pod)
		case r.Node != nil:
			h.seeNode(*r.Node)
		case r.Cloud != nil && r.Cloud.Instance != "":
			h.groupOf[r.Cloud.Instance] = r.Cloud.Group
		}
	}
	h.refine()
	return h
}

func (h *history) seePod(at time.Time, pod Pod) {
	life := h.pods[pod.UID]
	if life == nil {
		life = &podLife{}
		h.pods[pod.UID] = life
		h.order = append(h.order, pod.UID)
	}
	life.Pod = pod
	if pod.Unschedulable && life.unschedulableAt.IsZero() {
		life.unschedulableAt = at
	}
	if pod.Node != "" && life.boundAt.IsZero() {
		life.boundAt = at
	}
	if pod.ended() && life.leftAt.IsZero() {
		life.leftAt = at
	}
	life.succeeded = life.succeeded || pod.Phase == "Succeeded"
}

// ended tells whether nothing of the pod runs any more.
func (p Pod) ended() bool { return p.Gone || p.Phase == "Succeeded" || p.Phase == "Failed" }

func (h *history) seeNode(node Node) {
	id := instanceOf(node)
	if !slices.Contains(h.nodes[id], node.Name) {
		h.nodes[id] = append(h.nodes[id], node.Name)
	}
}

// instanceOf is the id of a node's machine: the last part of the providerID.
func instanceOf(node Node) string { return node.Provider[strings.LastIndex(node.Provider, "/")+1:] }

// refine takes from the audit log what it knows earlier than a watch: a binding, and a kubelet's word that a pod is no more.
func (h *history) refine() {
	byName := map[string]*podLife{}
	for _, life := range h.pods {
		byName[life.Namespace+"/"+life.Name] = life
	}
	for _, r := range h.log {
		if r.Write == nil || !r.Write.accepted() {
			continue
		}
		life := byName[r.Write.Namespace+"/"+r.Write.Name]
		switch w := *r.Write; {
		case life == nil:
		case w.Resource == "pods/binding" && (life.boundAt.IsZero() || r.Time.Before(life.boundAt)):
			life.boundAt = r.Time
			life.Node = w.Node
		case w.Resource == "pods" && w.Verb == "delete" && w.User == h.story.Kubelets && r.Time.Before(life.leftAt):
			life.leftAt = r.Time
		}
	}
}

// on returns the pods that were on a node at a time, in the order in which they came to be.
func (h *history) on(node string, at time.Time) []*podLife {
	var found []*podLife
	for _, uid := range h.order {
		life := h.pods[uid]
		there := life.Node == node && !life.boundAt.IsZero() && !life.boundAt.After(at)
		if there && (life.leftAt.IsZero() || life.leftAt.After(at)) {
			found = append(found, life)
		}
	}
	return found
}

// expendable is the priority below which pods don't count: the default of --expendable-pods-priority-cutoff.
const expendable = -10

// mustMove tells whether a node can't be given up while the pod is on it.
func (p Pod) mustMove() bool { return p.Owner != "DaemonSet" && !p.Mirror && p.Priority >= expendable }

// group finds a node group of the story.
func (h *history) group(name string) (Group, bool) {
	i := slices.IndexFunc(h.story.Groups, func(g Group) bool { return g.Name == name })
	if i < 0 {
		return Group{}, false
	}
	return h.story.Groups[i], true
}

// launched returns the machines that were bought, by group, in the order of their launch.
func (h *history) launched() map[string][]string {
	bought := map[string][]string{}
	for _, r := range h.log {
		if r.Cloud != nil && r.Cloud.Kind == Launched {
			bought[r.Cloud.Group] = append(bought[r.Cloud.Group], r.Cloud.Instance)
		}
	}
	return bought
}

// name is how a pod is called in messages.
func (p Pod) name() string { return p.Namespace + "/" + p.Name }

func names(pods []*podLife) string {
	all := make([]string, 0, len(pods))
	for _, pod := range pods {
		all = append(all, pod.name())
	}
	return strings.Join(all, ", ")
}

// keys are the keys of a map, ascending.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
