package simulated

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Machine is one machine, or the placeholder of one, as it is at the time of the call that returned it.
type Machine struct {
	// Instance is how the cloud lists it.
	Instance cloudprovider.Instance
	// Group is the group that it belongs to, Variant the key of the template that it was made from.
	Group   cloudprovider.GroupID
	Variant string
	// NodeName is the name that its node has or will have; ProviderID is that node's spec.providerID, which differs from
	// Instance.ID while the machine is a placeholder.
	NodeName, ProviderID string
	// RegisteredAt is when its node registered; zero: it has no node, or not yet. The node goes with the machine.
	RegisteredAt time.Time

	variant *variant
}

// Node makes the node as it registered: ready, with name, provider id, hostname and zone. nil without a node. The caller owns it.
func (m Machine) Node() *corev1.Node {
	if m.RegisteredAt.IsZero() {
		return nil
	}
	return m.variant.nodeOf(m.NodeName, m.ProviderID, m.RegisteredAt)
}

// CSINode makes the CSINode that comes with the node; nil without a node, or where the template has none. The caller owns it.
func (m Machine) CSINode() *storagev1.CSINode {
	if m.RegisteredAt.IsZero() {
		return nil
	}
	return m.variant.csiNodeOf(m.NodeName)
}

// Pods makes the pods of the template, such as static pods, as they run on the node. The caller owns them.
func (m Machine) Pods() []*corev1.Pod {
	if m.RegisteredAt.IsZero() {
		return nil
	}
	return m.variant.podsOf(m.NodeName)
}

// machine is the life of one machine as time stamps: what it is at a time follows from them. Zero stands for never.
type machine struct {
	group         cloudprovider.GroupID
	name          string
	id            string // the provider id of its node
	placeholderID string
	variant       *variant

	requestedAt time.Time
	appearsAt   time.Time // before that, and if never, it is a placeholder
	runsAt      time.Time
	registersAt time.Time
	failsAt     time.Time
	endsAt      time.Time // when its end was ordered
	goneAt      time.Time
	failure     cloudprovider.InstanceError // counts from failsAt on
}

// reached tells whether a moment has come; the zero time never comes.
func reached(moment, now time.Time) bool { return !moment.IsZero() && !now.Before(moment) }

func (m *machine) gone(now time.Time) bool        { return reached(m.goneAt, now) }
func (m *machine) ending(now time.Time) bool      { return reached(m.endsAt, now) }
func (m *machine) failed(now time.Time) bool      { return reached(m.failsAt, now) }
func (m *machine) placeholder(now time.Time) bool { return !reached(m.appearsAt, now) }

// withdrawable tells whether nothing exists of it and nothing may still arrive.
func (m *machine) withdrawable(now time.Time) bool { return m.placeholder(now) && m.failed(now) }

// instance is how the cloud lists the machine. An end that was ordered outweighs all else, but the error stays to be seen.
func (m *machine) instance(now time.Time) cloudprovider.Instance {
	i := cloudprovider.Instance{
		ID: m.id, State: cloudprovider.InstanceCreating,
		Zone: m.variant.zone, Type: m.variant.instanceType, RequestedAt: m.requestedAt,
	}
	if m.placeholder(now) {
		i.ID, i.Placeholder = m.placeholderID, true
	}
	if reached(m.runsAt, now) {
		i.State = cloudprovider.InstanceRunning
	}
	if m.ending(now) {
		i.State = cloudprovider.InstanceDeleting
	}
	if m.failed(now) {
		failure := m.failure
		i.Error = &failure
	}
	return i
}

// at is the machine as callers see it.
func (m *machine) at(now time.Time) Machine {
	seen := Machine{
		Instance: m.instance(now), Group: m.group, Variant: m.variant.Key,
		NodeName: m.name, ProviderID: m.id, variant: m.variant,
	}
	if reached(m.registersAt, now) {
		seen.RegisteredAt = m.registersAt
	}
	return seen
}

// next is the first change after now that comes by itself; zero: none.
func (m *machine) next(now time.Time) time.Time {
	if m.ending(now) {
		return later(m.goneAt, now)
	}
	return earliest(later(m.appearsAt, now), later(m.runsAt, now), later(m.registersAt, now), later(m.failsAt, now))
}

// later is the moment if it is still to come, else zero.
func later(moment, now time.Time) time.Time {
	if moment.After(now) {
		return moment
	}
	return time.Time{}
}

// unlessLater is the moment if it has come, else zero.
func unlessLater(moment, now time.Time) time.Time {
	if moment.After(now) {
		return time.Time{}
	}
	return moment
}

// earliest is the first of the moments that are not zero; zero if all are.
func earliest(moments ...time.Time) time.Time {
	var first time.Time
	for _, m := range moments {
		if !m.IsZero() && (first.IsZero() || m.Before(first)) {
			first = m
		}
	}
	return first
}

// schedule lays down the life of a machine that was asked for.
func (m *machine) schedule(g Group, fate Fate) {
	start := m.requestedAt.Add(fate.Delay)
	if fate.Error != nil {
		m.failsAt, m.failure = start.Add(g.FailDelay), *fate.Error
		if fate.Exists {
			m.appearsAt = start.Add(min(g.AppearDelay, g.FailDelay))
		}
		return
	}
	m.appearsAt = start.Add(g.AppearDelay)
	m.runsAt = start.Add(max(g.AppearDelay, g.LaunchDelay))
	if !fate.Stuck {
		m.registersAt = m.runsAt.Add(g.RegisterDelay)
	}
}

// end orders the end; a placeholder is gone at once, a machine after the delay.
func (m *machine) end(now time.Time, delay time.Duration) {
	m.endsAt, m.goneAt = now, now
	if !m.placeholder(now) {
		m.goneAt = now.Add(delay)
	}
	// What was to come by itself doesn't come any more: neither a registration nor a failure.
	m.runsAt, m.registersAt, m.failsAt = unlessLater(m.runsAt, now), unlessLater(m.registersAt, now), unlessLater(m.failsAt, now)
}
