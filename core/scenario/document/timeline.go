package document

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	defaultDowntime = 15 * time.Second
	// step is how the simulated world moves; nothing repeats faster.
	step = time.Second
)

// Times are the moments, counted from the start, at which the entry happens in a play of the given duration, in their order.
func (e Entry) Times(duration time.Duration) []time.Duration {
	if e.Every <= 0 {
		if e.At > duration {
			return nil
		}
		return []time.Duration{e.At}
	}
	last := duration
	if e.Until >= 0 {
		last = min(last, e.Until)
	}
	var times []time.Duration
	for at := e.At; at <= last; at += e.Every {
		times = append(times, at)
		if at > last-e.Every { // the next one might not be a number any more
			break
		}
	}
	return times
}

// entry makes an entry of its document and reports what is wrong with it.
func (s scope) entry(d entryDocument) Entry {
	e := Entry{Delete: d.Delete, Scale: d.Scale, Cloud: d.Cloud, Nodes: d.Nodes, Restart: d.Restart, Until: -1}
	s.times(&e, d)
	if len(d.Apply) == 0 && len(d.Delete) == 0 && d.Scale == nil && d.Cloud == nil && d.Nodes == nil && d.Restart == nil {
		s.bad("", "nothing happens: want apply, delete, scale, cloud, nodes or restart")
	}
	s.apply(&e, d.Apply)
	for i := range e.Delete {
		s.reader.reference(&e.Delete[i], s.in(index("delete", i)))
	}
	if e.Scale != nil {
		scale(e.Scale, s.in("scale"))
	}
	if e.Cloud != nil {
		cloudChange(e.Cloud, s.in("cloud"))
	}
	if e.Nodes != nil {
		nodesChange(e.Nodes, s.in("nodes"))
	}
	if e.Restart != nil {
		notNegativeTime(e.Restart.Downtime, "restart.downtime", s.at)
		e.Restart = &Restart{Downtime: e.Restart.Downtime.orElse(defaultDowntime), Graceful: e.Restart.Graceful}
	}
	return e
}

// times takes over when the entry happens.
func (s scope) times(e *Entry, d entryDocument) {
	switch {
	case d.At != nil && d.Repeat != nil:
		s.bad("", "has both at and repeat: want one of them")
	case d.At != nil:
		notNegativeTime(d.At, "at", s.at)
		e.At = d.At.Duration
	case d.Repeat != nil:
		repeat(e, d.Repeat, s.in("repeat"))
	default:
		s.bad("", "has neither at nor repeat: want one of them")
	}
}

func repeat(e *Entry, d *repeatDocument, report at) {
	if d.At == nil {
		report.bad("at", "is required")
	} else {
		notNegativeTime(d.At, "at", report)
		e.At = d.At.Duration
	}
	switch {
	case d.Every == nil:
		report.bad("every", "is required")
	case d.Every.Duration < step:
		report.bad("every", "is %s, want at least %s", d.Every.Duration, step)
	default:
		e.Every = d.Every.Duration
	}
	if d.Until == nil {
		return
	}
	notNegativeTime(d.Until, "until", report)
	if d.Until.Duration >= 0 && d.Until.Duration < e.At {
		report.bad("until", "is %s, want at least at, which is %s", d.Until.Duration, e.At)
	}
	e.Until = d.Until.Duration
}

// apply reads the documents that the entry applies.
func (s scope) apply(e *Entry, documents []json.RawMessage) {
	if len(documents) == 0 {
		return
	}
	e.Apply, e.paths = &Objects{}, map[key]string{}
	for i, data := range documents {
		within := s
		within.at, within.timeline = s.in(index("apply", i)), true
		within.to, within.paths = e.Apply, e.paths
		within.document(data, header{})
	}
}

// reference completes the name of an object.
func (r *reader) reference(ref *Reference, report at) {
	required(ref.Kind, "kind", report)
	required(ref.Name, "name", report)
	namespaced, known := r.namespaced(ref.Kind)
	switch {
	case ref.Kind == "":
	case !known:
		report.bad("kind", "there is no kind %q that could be deleted", ref.Kind)
	case !namespaced && ref.Namespace != "":
		report.bad("namespace", "a %s is in no namespace", ref.Kind)
	case namespaced && ref.Namespace == "":
		ref.Namespace = metav1.NamespaceDefault
	}
}

// namespaced tells whether objects of a kind are in namespaces, if it is known.
func (r *reader) namespaced(kind string) (namespaced, known bool) {
	switch kind {
	case KindPods:
		return true, true
	case KindNodeGroup:
		return false, true
	}
	for _, k := range r.kinds {
		if k.Kind == kind {
			return k.namespaced, true
		}
	}
	return false, false
}

func scale(s *Scale, report at) {
	kinds := []string{KindPods, OwnerReplicaSet, OwnerStatefulSet, OwnerJob}
	switch {
	case s.Kind == "":
		report.bad("kind", "is required")
	case !slices.Contains(kinds, s.Kind):
		report.bad("kind", "is %q, want Pods, ReplicaSet, StatefulSet or Job", s.Kind)
	}
	required(s.Name, "name", report)
	if s.Namespace == "" {
		s.Namespace = metav1.NamespaceDefault
	}
	if s.Count == nil {
		report.bad("count", "is required")
		s.Count = new(0)
	}
	notNegative(s.Count, "count", report)
	atMost(s.Count, maxPods, "count", report)
}

func cloudChange(c *CloudChange, report at) {
	changes := c.OutOfResources != nil || c.Stuck != nil
	for _, text := range []*string{c.IncreaseError, c.DeleteError, c.RefreshError, c.TemplateError, c.SizeError, c.NodesError} {
		changes = changes || text != nil
	}
	for _, size := range []struct {
		name  string
		value *int
	}{{"targetSize", c.TargetSize}, {"minSize", c.MinSize}, {"maxSize", c.MaxSize}} {
		if size.value == nil {
			continue
		}
		changes = true
		notNegative(size.value, size.name, report)
		atMost(size.value, maxNodes, size.name, report)
		if c.NodeGroup == "" {
			report.bad("nodeGroup", "is required with %s", size.name)
		}
	}
	if c.MinSize != nil && c.MaxSize != nil && *c.MinSize > *c.MaxSize {
		report.bad("maxSize", "is %d, want at least minSize, which is %d", *c.MaxSize, *c.MinSize)
	}
	if !changes {
		report.bad("", "nothing changes: want outOfResources, stuck, an error or a size")
	}
}

func nodesChange(n *NodesChange, report at) {
	if len(n.Names) == 0 {
		report.bad("names", "want at least one")
	}
	switch {
	case n.Ready == nil && n.Cordoned == nil && n.Gone == nil:
		report.bad("", "nothing changes: want ready, cordoned or gone")
	case n.Gone != nil && !*n.Gone:
		report.bad("gone", "machines don't come back: want true")
	case n.Gone != nil && (n.Ready != nil || n.Cordoned != nil):
		report.bad("gone", "nodes that are gone are neither ready nor cordoned")
	}
}
