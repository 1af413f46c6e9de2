package checker

import (
	"slices"
	"time"
)

// Figures sum a story up.
type Figures struct {
	Took      time.Duration // from the first record to the last
	Groups    []GroupFigures
	PodsPeak  int // most pods that ran at once
	Pods      int // that are there at the end
	Waiting   int // of these: not running yet
	Evictions int
	Refused   int // evictions that a disruption budget refused
	PeakRSS   int64
	// Median and Slowest are the times from the news that a pod is unschedulable to the request that bought the machine it then ran on.
	// Pods that ran on a machine that was there or on its way already don't count. Counted is how many do; without any, both are 0. The median
	// of an even number is the longer one of the two in the middle.
	Median, Slowest time.Duration
	Counted         int
}

// GroupFigures sum a node group up. Sizes are desired sizes.
type GroupFigures struct {
	Group
	Peak, Now     int
	Bought, Ended int
}

// Measure reads the figures of a story, also of an incomplete one.
func Measure(log Log) Figures {
	h := read(log)
	f := Figures{PeakRSS: h.end.PeakRSS, PodsPeak: h.podsPeak(), Pods: len(h.end.Pods)}
	for _, pod := range h.end.Pods {
		if pod.Phase == "Pending" {
			f.Waiting++
		}
	}
	if len(h.log) > 0 {
		f.Took = h.log[len(h.log)-1].Time.Sub(h.log[0].Time)
	}
	for _, group := range h.story.Groups {
		f.Groups = append(f.Groups, h.measureGroup(group))
	}
	for _, r := range h.log {
		if w := r.Write; w != nil && w.Resource == "pods/eviction" {
			if w.accepted() {
				f.Evictions++
			} else {
				f.Refused++
			}
		}
	}
	waits := h.waits()
	if f.Counted = len(waits); f.Counted > 0 {
		f.Median, f.Slowest = waits[len(waits)/2], waits[len(waits)-1]
	}
	return f
}

func (h *history) measureGroup(group Group) GroupFigures {
	g := GroupFigures{Group: group, Peak: len(group.First), Now: len(group.First)}
	for _, r := range h.log {
		if r.Cloud == nil || r.Cloud.Group != group.Name {
			continue
		}
		switch r.Cloud.Kind {
		case DesiredChanged:
			g.Now = r.Cloud.To
			g.Peak = max(g.Peak, g.Now)
		case Launched:
			g.Bought++
		case Ending:
			g.Ended++
		}
	}
	return g
}

func (h *history) podsPeak() int {
	running, peak := map[string]bool{}, 0
	for _, r := range h.log {
		if r.Pod == nil {
			continue
		}
		delete(running, r.Pod.UID)
		if r.Pod.Phase == "Running" && !r.Pod.Gone {
			running[r.Pod.UID] = true
		}
		peak = max(peak, len(running))
	}
	return peak
}

// waits are how long pods waited for the purchase of their machine, ascending.
func (h *history) waits() []time.Duration {
	groupOfNode := map[string]string{}
	for id, nodes := range h.nodes {
		for _, node := range nodes {
			groupOfNode[node] = h.groupOf[id]
		}
	}
	var waits []time.Duration
	for _, uid := range h.order {
		life := h.pods[uid]
		if life.unschedulableAt.IsZero() || life.boundAt.IsZero() {
			continue
		}
		for _, r := range h.log {
			c := r.Call
			if c == nil || c.Group != groupOfNode[life.Node] || c.DesiredTo <= c.DesiredFrom || r.Time.Before(life.unschedulableAt) {
				continue
			}
			if r.Time.Before(life.boundAt) {
				waits = append(waits, r.Time.Sub(life.unschedulableAt))
			}
			break // the first purchase since
		}
	}
	slices.Sort(waits)
	return waits
}
