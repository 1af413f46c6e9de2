package clusterstate

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
)

// codeTimeout and codeCloudProvider are the codes that operators know from metrics and the status.
const (
	codeTimeout       = "timeout"
	codeCloudProvider = "cloudProviderError"
)

// distinctMessages is how many different texts an event quotes before it hints at more.
const distinctMessages = 3

// refused draws the consequence of an error of the cloud: the reaction that its type asks for. It returns how many nodes have
// to be counted as asked for although no answer says so.
func (r *Registry) refused(outcome report.ResizeOutcome) (unknown int) {
	m := r.memory(outcome.Group)
	if transient, ok := errors.AsType[*cloudprovider.TransientError](outcome.Err); ok {
		if transient.OutcomeUnknown {
			return outcome.To - outcome.From - outcome.Granted
		}
		return 0
	}
	if _, ok := errors.AsType[*cloudprovider.StaleBoundsError](outcome.Err); ok {
		return 0
	}
	if _, ok := errors.AsType[*cloudprovider.GoneError](outcome.Err); ok {
		r.setAside(outcome.Group, outcome.Err, outcome.At.Add(gonePause))
		return 0
	}
	if configuration, ok := errors.AsType[*cloudprovider.ConfigurationError](outcome.Err); ok {
		pause := configuration.Retry
		if pause == 0 {
			pause = setAsidePause
		}
		r.setAside(outcome.Group, outcome.Err, outcome.At.Add(pause))
		return 0
	}
	m.backoff = m.backoff.after(failureOf(outcome.Err), outcome.At, r.durations)
	r.change(outcome.Group, func(gs *GroupState) { gs.Backoff = m.backoff.status(outcome.At) })
	return 0
}

func (r *Registry) setAside(id cloudprovider.GroupID, err error, until time.Time) {
	aside := &report.GroupSetAside{Error: err.Error(), Until: until}
	r.memory(id).setAside = aside
	r.change(id, func(gs *GroupState) { gs.SetAside = aside })
}

// FailureCode is the metric label of an error that counts as a failed scale-up; failed is false for errors that do not, nil among them.
func FailureCode(err error) (code string, failed bool) {
	if err == nil || harmless(err) {
		return "", false
	}
	return failureOf(err).code, true
}

// harmless tells the errors after which a group is not backed off.
func harmless(err error) bool {
	_, transient := errors.AsType[*cloudprovider.TransientError](err)
	_, stale := errors.AsType[*cloudprovider.StaleBoundsError](err)
	_, gone := errors.AsType[*cloudprovider.GoneError](err)
	_, configuration := errors.AsType[*cloudprovider.ConfigurationError](err)
	return transient || stale || gone || configuration
}

func failureOf(err error) failure {
	f := failure{class: cloudprovider.ErrorClassOther, code: codeCloudProvider, message: err.Error()}
	if short, ok := errors.AsType[*cloudprovider.OutOfResourcesError](err); ok {
		f.class, f.notBefore = cloudprovider.ErrorClassOutOfResources, short.Until
		if short.Code != "" {
			f.code = short.Code
		}
	}
	if quota, ok := errors.AsType[*cloudprovider.QuotaError](err); ok {
		f.class = cloudprovider.ErrorClassOutOfResources
		if quota.Code != "" {
			f.code = quota.Code
		}
	}
	return f
}

// timeOut ends a request that is done or whose time is over (loop-and-scale-up 2.5).
func (r *Registry) timeOut(gs *GroupState, group observation.Group) []report.RequestTimeout {
	m := r.memory(group.ID)
	if m.request == nil {
		return nil
	}
	missing := gs.Target - gs.Counts.Ready - gs.Counts.Unready - gs.Counts.Suspended - gs.Counts.LongUnregistered
	if missing <= 0 && gs.Counts.LongUnregistered == 0 {
		m.request = nil
		return nil
	}
	if !m.request.Expires.Before(r.seen.At) {
		return nil
	}
	late := report.RequestTimeout{Group: group.ID, Increase: m.request.Increase, After: r.seen.At.Sub(m.request.Since)}
	m.request = nil
	m.backoff = m.backoff.after(failure{
		class: cloudprovider.ErrorClassOther, code: codeTimeout,
		message: "nodes did not register within " + group.Options.MaxNodeProvisionTime.String(),
	}, r.seen.At, r.durations)
	return []report.RequestTimeout{late}
}

// newFailures finds the instances that failed since the last iteration, backs the group off for them and takes them off the open
// request (loop-and-scale-up 2.6a).
func (r *Registry) newFailures(gs *GroupState, group observation.Group) []report.FailedInstances {
	type kind struct {
		code  string
		class cloudprovider.ErrorClass
	}
	m := r.memory(group.ID)
	failing := make(map[string]bool, len(gs.Failed))
	fresh := map[kind]*report.FailedInstances{}
	for _, instance := range gs.Failed {
		failing[instance.ID] = true
		if m.failing[instance.ID] {
			continue
		}
		k := kind{instance.Error.Code, instance.Error.Class}
		if fresh[k] == nil {
			fresh[k] = &report.FailedInstances{Group: group.ID, Class: k.class, Code: k.code}
		}
		fresh[k].Count++
		fresh[k].Messages = append(fresh[k].Messages, instance.Error.Message)
	}
	m.failing = failing

	news := make([]report.FailedInstances, 0, len(fresh))
	for _, f := range fresh {
		slices.Sort(f.Messages)
		f.Messages = slices.Compact(f.Messages)
		news = append(news, *f)
	}
	slices.SortFunc(news, func(a, b report.FailedInstances) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Class, b.Class))
	})
	for _, f := range news {
		if m.request != nil {
			m.request.Increase -= f.Count
			if m.request.Increase <= 0 {
				m.request = nil
			}
		}
		m.backoff = m.backoff.after(failure{class: f.Class, code: f.Code, message: Joined(f.Messages)}, r.seen.At, r.durations)
	}
	return news
}

// Joined is one text of several distinct ones; it ends in ", ..." where there are more than three.
func Joined(messages []string) string {
	text := strings.Join(messages, ", ")
	if len(messages) > distinctMessages {
		text += ", ..."
	}
	return text
}
