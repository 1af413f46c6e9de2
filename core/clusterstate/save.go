package clusterstate

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/saved"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// learntAge is for how long a new process trusts what was learnt of fresh nodes.
const learntAge = 30 * 24 * time.Hour

// answerLag is for how long what the cloud tells a new process may still miss a write of the process before. The new one asks the cloud itself, so
// that this covers the cloud's own delay and no cache of ours; it must not be long, because the write may never have been made.
const answerLag = 20 * time.Second

// farthest bounds times in the future: nothing that is remembered lasts longer.
const farthest = 24 * time.Hour

// Save returns the memory as it is to be stored. The lists are sorted and the times in UTC, so that equal memories are equal values.
func (r *Registry) Save() saved.Registry {
	out := saved.Registry{
		LastScaleUp: r.lastScaleUp.UTC(), LastDeletion: r.lastDeletion.UTC(), LastFailure: r.lastFailure.UTC(), Learnt: r.learnt.templates,
		DeletionOf: r.deletionOf, FailureBy: r.failureBy,
	}
	for _, id := range slices.Sorted(maps.Keys(r.groups)) {
		out.Groups = append(out.Groups, r.groups[id].save(id))
	}
	out.Purchases, out.Attempts = r.savePurchases(), r.saveAttempts()
	return out
}

func (r *Registry) savePurchases() []saved.Purchase {
	pods := map[purchase][]types.UID{}
	for pod, purchases := range r.purchases {
		for _, p := range purchases {
			pods[p] = append(pods[p], pod)
		}
	}
	var out []saved.Purchase
	for p, of := range pods {
		out = append(out, saved.Purchase{Group: p.group, Nodes: p.nodes, At: p.at.UTC(), Expires: p.expires.UTC(), Pods: saved.MarksOf(of)})
	}
	slices.SortFunc(out, func(a, b saved.Purchase) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Nodes, b.Nodes), a.Expires.Compare(b.Expires))
	})
	return out
}

func (r *Registry) saveAttempts() []saved.Attempt {
	type attempt struct {
		group cloudprovider.GroupID
		until time.Time
	}
	pods := map[attempt][]types.UID{}
	for of, until := range r.learnt.attempts {
		a := attempt{of.Group, until}
		pods[a] = append(pods[a], of.Pod)
	}
	var out []saved.Attempt
	for a, of := range pods {
		out = append(out, saved.Attempt{Group: a.group, Until: a.until.UTC(), Pods: saved.MarksOf(of)})
	}
	slices.SortFunc(out, func(a, b saved.Attempt) int { return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Group, b.Group)) })
	return out
}

// SaveIntending is Save for the moment before the cloud is asked for more nodes: with open requests for all of them. If that is the last that is heard
// of this process, the next one waits for what may have been bought, until the cloud shows it or has had the time to. The memory itself stays as it is.
func (r *Registry) SaveIntending(resizes []report.Resize, at time.Time) saved.Registry {
	out := r.Save()
	for _, resize := range resizes {
		i, known := slices.BinarySearchFunc(out.Groups, resize.Group, func(g saved.Group, id cloudprovider.GroupID) int { return cmp.Compare(g.ID, id) })
		if !known {
			out.Groups = slices.Insert(out.Groups, i, saved.Group{ID: resize.Group})
		}
		g := &out.Groups[i]
		group, _ := r.seen.GroupOf(resize.Group)
		request := saved.Request{Increase: resize.To - resize.From, Since: at.UTC(), Expires: at.Add(group.Options.MaxNodeProvisionTime).UTC()}
		if g.Request != nil {
			request.Increase += g.Request.Increase
		}
		g.Request = &request
		g.Believed = &saved.Belief{Target: resize.To, Since: at.UTC(), Intended: true}
		g.LastScaleUp, out.LastScaleUp = at.UTC(), at.UTC()
	}
	return out
}

func (m *memory) save(id cloudprovider.GroupID) saved.Group {
	out := saved.Group{
		ID: id, Failing: slices.Sorted(maps.Keys(m.failing)), AsideSince: m.asideSince.UTC(), RepairFrom: m.repairFrom.UTC(),
		LastScaleUp: m.lastScaleUp.UTC(), LastDeletion: m.lastDeletion.UTC(), LastFailure: m.lastFailure.UTC(),
		DeletionOf: m.deletionOf, FailureBy: m.failureBy,
	}
	if m.request != nil {
		out.Request = &saved.Request{Increase: m.request.Increase, Since: m.request.Since.UTC(), Expires: m.request.Expires.UTC()}
	}
	if b := m.believed; b != nil {
		out.Believed = &saved.Belief{Target: b.target, Since: b.since.UTC(), Certain: b.certain, Intended: b.intended}
	}
	if m.backoff != nil {
		b := m.backoff.save()
		out.Backoff = &b
	}
	for place, b := range m.places {
		out.Places = append(out.Places, saved.Place{Zone: place.Zone, Type: place.Type, Backoff: b.save()})
	}
	slices.SortFunc(out.Places, func(a, b saved.Place) int { return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Type, b.Type)) })
	if m.setAside != nil {
		out.SetAside = &saved.SetAside{Error: m.setAside.Error, Since: m.setAside.Since.UTC(), Until: m.setAside.Until.UTC()}
	}
	for _, instance := range slices.Sorted(maps.Keys(m.firstSeen)) {
		out.FirstSeen = append(out.FirstSeen, saved.FirstSeen{Instance: instance, Since: m.firstSeen[instance].UTC()})
	}
	for _, since := range m.emptySince {
		out.EmptySince = append(out.EmptySince, since.UTC())
	}
	if m.wrongSize != nil {
		out.WrongSize = &saved.WrongSize{Registered: m.wrongSize.Registered, Target: m.wrongSize.Target, Since: m.wrongSize.Since.UTC()}
	}
	return out
}

func (b *backoff) save() saved.Backoff {
	return saved.Backoff{
		Until: b.until.UTC(), LastFailed: b.lastFailed.UTC(), Duration: b.duration,
		Class: b.failure.class, Code: b.failure.code, Message: cut(b.failure.message),
	}
}

// Restore takes over the memory of an earlier process, before the first call of Observe. seen is what that call will be shown: what is not there any
// more is dropped, and what is older than its kind may be. last is when the earlier process last saw the cluster. Times in the future are cut
// to what can be.
func (r *Registry) Restore(from saved.Registry, seen observation.Observation, last time.Time) {
	now := seen.At
	r.lastScaleUp, r.lastDeletion, r.lastFailure = past(from.LastScaleUp, now), past(from.LastDeletion, now), past(from.LastFailure, now)
	r.deletionOf, r.failureBy = from.DeletionOf, cut(from.FailureBy)
	provision := provisionTimes(seen)
	for _, group := range from.Groups {
		if limit, listed := provision[group.ID]; listed {
			r.groups[group.ID] = r.load(group, limit, clock{now: now, last: past(last, now)})
		}
	}
	r.loadPurchases(from, seen, provision)
	for _, l := range from.Learnt {
		l.At = past(l.At, now)
		if _, listed := provision[l.Group]; listed && young(l.At, learntAge, now) && l.Template.Node != nil {
			r.learnt.templates = append(r.learnt.templates, l)
		}
	}
}

// loadPurchases finds the pods among those that wait: others need no node any more.
func (r *Registry) loadPurchases(from saved.Registry, seen observation.Observation, provision map[cloudprovider.GroupID]time.Duration) {
	waiting := make([]types.UID, 0, len(seen.Unschedulable)+len(seen.Unprocessed))
	for _, pod := range slices.Concat(seen.Unschedulable, seen.Unprocessed) {
		waiting = append(waiting, pod.UID)
	}
	for _, p := range from.Purchases {
		limit, listed := provision[p.Group]
		at := past(p.At, seen.At)
		if !listed || p.Nodes <= 0 || !young(at, limit, seen.At) {
			continue
		}
		bought := []purchase{{group: p.Group, nodes: p.Nodes, at: at, expires: soonest(p.Expires, at.Add(limit))}}
		for _, pod := range waiting {
			if p.Pods.Have(pod) {
				r.purchases[pod] = slices.Concat(r.purchases[pod], bought)
			}
		}
	}
	r.learnt.attempts = map[Attempt]time.Time{}
	for _, a := range from.Attempts {
		if _, listed := provision[a.Group]; !listed || !a.Until.After(seen.At) {
			continue
		}
		for _, pod := range waiting {
			if a.Pods.Have(pod) {
				r.learnt.attempts[Attempt{Pod: pod, Group: a.Group}] = soonest(a.Until, seen.At.Add(farthest))
			}
		}
	}
}

// provisionTimes are those of all groups that the cloud lists. Of one that cannot be described it is not known; what is remembered then ends as it was to.
func provisionTimes(seen observation.Observation) map[cloudprovider.GroupID]time.Duration {
	out := make(map[cloudprovider.GroupID]time.Duration, len(seen.Groups))
	for _, group := range seen.GroupErrors {
		out[group.Group] = farthest
	}
	for _, group := range seen.Groups {
		out[group.ID] = group.Options.MaxNodeProvisionTime
	}
	return out
}

// clock are the two times that tell how old an entry is.
type clock struct{ now, last time.Time }

// load makes the memory of one group again.
func (r *Registry) load(from saved.Group, provision time.Duration, at clock) *memory {
	m, now := newMemory(), at.now
	m.lastScaleUp, m.lastDeletion, m.lastFailure = past(from.LastScaleUp, now), past(from.LastDeletion, now), past(from.LastFailure, now)
	m.deletionOf, m.failureBy = from.DeletionOf, cut(from.FailureBy)
	m.asideSince = past(from.AsideSince, now)
	m.repairFrom = soonest(from.RepairFrom, now.Add(repairPause))
	if q := from.Request; q != nil && q.Increase > 0 && young(past(q.Since, now), provision, now) {
		since := past(q.Since, now)
		m.request = &Request{Increase: q.Increase, Since: since, Expires: soonest(q.Expires, since.Add(provision))}
	}
	if b := from.Believed; b != nil {
		m.believed = &belief{target: b.Target, since: past(b.Since, now), certain: b.Certain, intended: b.Intended}
	}
	if from.Backoff != nil {
		m.backoff = r.loadBackoff(*from.Backoff, now)
	}
	for _, p := range from.Places {
		m.places[nodeinfos.Place{Zone: p.Zone, Type: p.Type}] = r.loadBackoff(p.Backoff, now)
	}
	if s := from.SetAside; s != nil && !s.Until.Before(now) {
		m.setAside = &report.GroupSetAside{Error: s.Error, Since: past(s.Since, now), Until: soonest(s.Until, now.Add(farthest))}
	}
	for _, instance := range from.Failing { // those that are not listed any more are forgotten by the next look
		m.failing[instance] = true
	}
	if w := from.WrongSize; w != nil {
		m.wrongSize = &WrongSize{Registered: w.Registered, Target: w.Target, Since: past(w.Since, now)}
	}
	if young(at.last, provision, now) { // else too much may have come and gone meanwhile
		for _, f := range from.FirstSeen {
			m.firstSeen[f.Instance] = past(f.Since, now)
		}
		for _, since := range from.EmptySince {
			m.emptySince = append(m.emptySince, past(since, now))
		}
		slices.SortFunc(m.emptySince, time.Time.Compare)
	}
	return m
}

// loadBackoff makes a back-off again. One that has ended still says how long the next one is.
func (r *Registry) loadBackoff(from saved.Backoff, now time.Time) *backoff {
	b := &backoff{
		lastFailed: past(from.LastFailed, now), duration: min(max(from.Duration, r.durations.initial), r.durations.longest),
		failure: failure{class: from.Class, code: from.Code, message: from.Message},
	}
	b.until = soonest(from.Until, now.Add(farthest))
	return b
}

// young tells a time no longer ago than the age.
func young(at time.Time, age time.Duration, now time.Time) bool { return !at.Add(age).Before(now) }

// past cuts a time to now: clocks of two machines differ.
func past(at, now time.Time) time.Time { return soonest(at, now) }

func soonest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
