package clusterstate

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// codeTimeout and codeCloudProvider are the codes that operators know from metrics and the status.
const (
	codeTimeout       = "timeout"
	codeCloudProvider = "cloudProviderError"
)

// refused draws the consequence of an error of the cloud: the reaction that its type asks for. It returns how many nodes have
// to be counted as asked for although no answer says so.
func (r *Registry) refused(outcome report.ResizeOutcome) (unknown int) {
	if lost(outcome.Err) {
		return max(0, outcome.To-outcome.From-outcome.Granted)
	}
	if !lasting(outcome.Err) || r.avoid(outcome.Group, outcome.Err, outcome.At) {
		return 0
	}
	r.backOff(outcome.Group, failureOf(outcome.Err), outcome.At)
	return 0
}

// avoid sets a group aside if the error asks for that, and reports whether it did.
func (r *Registry) avoid(id cloudprovider.GroupID, err error, at time.Time) bool {
	if _, ok := errors.AsType[*cloudprovider.GoneError](err); ok {
		r.setAside(id, err, at, gonePause)
		return true
	}
	if configuration, ok := errors.AsType[*cloudprovider.ConfigurationError](err); ok {
		r.setAside(id, err, at, cmp.Or(configuration.Retry, setAsidePause))
		return true
	}
	return false
}

// lasting tells an error that is likely to come again if the same is tried in the next iteration.
func lasting(err error) bool {
	_, transient := errors.AsType[*cloudprovider.TransientError](err)
	_, stale := errors.AsType[*cloudprovider.StaleBoundsError](err)
	return err != nil && !transient && !stale && !cutShort(err)
}

// lost tells an error by which nobody knows whether the call was carried out.
func lost(err error) bool {
	transient, ok := errors.AsType[*cloudprovider.TransientError](err)
	return ok && transient.OutcomeUnknown || !ok && cutShort(err)
}

// cutShort tells a call that was given up before its answer came.
func cutShort(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (r *Registry) setAside(id cloudprovider.GroupID, err error, at time.Time, pause time.Duration) {
	m := r.memory(id)
	since := at
	if m.setAside != nil {
		since = m.setAside.Since
	}
	aside := &report.GroupSetAside{Error: err.Error(), Since: since, Until: at.Add(pause)}
	m.setAside = aside
	r.change(id, func(gs *GroupState) { gs.SetAside = aside })
}

func (r *Registry) backOff(id cloudprovider.GroupID, f failure, at time.Time) {
	m := r.memory(id)
	m.backoff = m.backoff.after(f, at, r.durations)
	r.change(id, func(gs *GroupState) { gs.Backoff = m.backoff.status(at) })
}

// FailureCode is the metric label of an error of the cloud that counts as a failed scale-up; failed is false for those that do not, and for
// nil.
func FailureCode(err error) (code string, failed bool) {
	_, gone := errors.AsType[*cloudprovider.GoneError](err)
	_, configuration := errors.AsType[*cloudprovider.ConfigurationError](err)
	if !lasting(err) || gone || configuration {
		return "", false
	}
	return failureOf(err).code, true
}

func failureOf(err error) failure {
	f := failure{class: cloudprovider.ErrorClassOther, code: codeCloudProvider, message: err.Error()}
	if short, ok := errors.AsType[*cloudprovider.OutOfResourcesError](err); ok {
		f.class, f.notBefore = cloudprovider.ErrorClassOutOfResources, short.Until
		f.code = cmp.Or(short.Code, f.code)
	}
	if quota, ok := errors.AsType[*cloudprovider.QuotaError](err); ok {
		f.class = cloudprovider.ErrorClassOutOfResources
		f.code = cmp.Or(quota.Code, f.code)
	}
	return f
}

// timeOut ends a request that is done or whose time is over (loop-and-scale-up 2.5). Nothing is held against a group that can only be seen
// as it was some time ago.
func (r *Registry) timeOut(gs GroupState, group observation.Group) []report.RequestTimeout {
	m := r.memory(group.ID)
	if m.request == nil || group.Stale != nil {
		return nil
	}
	over := m.request.Expires.Before(r.seen.At)
	awaited := gs.Upcoming
	if over { // until then, what is overdue is older than the request
		awaited += gs.Counts.LongUnregistered + gs.Lost
	}
	if awaited == 0 {
		m.request = nil
		return nil
	}
	if !over {
		return nil
	}
	late := report.RequestTimeout{Group: group.ID, Increase: m.request.Increase, After: r.seen.At.Sub(m.request.Since)}
	m.request = nil
	r.backOff(group.ID, failure{
		class: cloudprovider.ErrorClassOther, code: codeTimeout,
		message: "nodes did not register within " + group.Options.MaxNodeProvisionTime.String(),
	}, r.seen.At)
	return []report.RequestTimeout{late}
}

// newFailures finds the instances that failed since the last iteration, backs the group off for them and takes them off the open
// request (loop-and-scale-up 2.6a). It does so whoever asked for them: the cloud fails our next request as it failed that one.
func (r *Registry) newFailures(gs GroupState) []report.FailedInstances {
	m := r.memory(gs.Group)
	fresh := m.freshFailures(gs)
	units := 0
	for _, f := range fresh {
		units += f.units
	}
	if m.request != nil {
		m.reduce(units)
	}
	news := make([]report.FailedInstances, 0, len(fresh))
	for _, f := range fresh {
		r.shortage(gs.Group, f.places, failure{class: f.Class, code: f.Code, message: f.Message(), notBefore: f.until}, r.seen.At)
		news = append(news, f.FailedInstances)
	}
	return news
}

// failing are instances that failed for one reason.
type failing struct {
	report.FailedInstances
	units  int
	places []nodeinfos.Place // ascending, each once
	until  time.Time         // before which the cloud says that another try is in vain; zero: it doesn't say
}

// freshFailures are the failures that were not there in the last iteration, by code and class.
func (m *memory) freshFailures(gs GroupState) []*failing {
	type kind struct {
		code  string
		class cloudprovider.ErrorClass
	}
	known := make(map[string]bool, len(gs.Failed))
	kinds := map[kind]*failing{}
	for _, instance := range gs.Failed {
		known[instance.ID] = true
		if m.failing[instance.ID] {
			continue
		}
		k := kind{instance.Error.Code, instance.Error.Class}
		f := kinds[k]
		if f == nil {
			f = &failing{FailedInstances: report.FailedInstances{Group: gs.Group, Class: k.class, Code: k.code}}
			kinds[k] = f
		}
		f.Count++
		f.units += m.weights.ofInstance(instance)
		f.places = append(f.places, nodeinfos.Place{Zone: instance.Zone, Type: instance.Type})
		f.Messages = append(f.Messages, instance.Error.Message)
		if instance.Error.Until.After(f.until) {
			f.until = instance.Error.Until
		}
	}
	m.failing = known
	for _, f := range kinds {
		slices.Sort(f.Messages)
		f.Messages = slices.Compact(f.Messages)
		slices.SortFunc(f.places, func(a, b nodeinfos.Place) int {
			return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Type, b.Type))
		})
		f.places = slices.Compact(f.places)
	}
	return slices.SortedFunc(maps.Values(kinds), func(a, b *failing) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Class, b.Class))
	})
}
