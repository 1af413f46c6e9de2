package scaledown

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/utilization"
)

// facts are what a plan worked out about a node and the next one need not work out again, since the node and its pods are the same.
type facts struct {
	// version is that of the node in the snapshot.
	version uint64
	// emptiness is that of the node; unset until it was asked for.
	emptiness int
	// used is how used the node is with these options, and err why that cannot be told; known is false until it was asked for.
	known   bool
	options utilization.Options
	used    utilization.Utilization
	err     error
	// passing: some of the pods are ending, so that time alone can change everything.
	passing bool
	// plan is the number of the latest plan that asked.
	plan int
}

// The classes of emptiness, in the order in which nodes are looked at.
const (
	emptinessUnset = iota
	empty          // no pods to move
	emptying       // pods that are waited for
	occupied
)

// candidate is a node with what is known of it.
type candidate struct {
	node  *corev1.Node
	facts *facts
}

// factsOf returns what is known of the node, which is nothing if anything has changed.
func (u *update) factsOf(node *corev1.Node) *facts {
	version := u.in.Snapshot.Version(node.Name)
	f := u.facts[node.Name]
	if f == nil || f.version != version || f.passing {
		f = &facts{version: version, passing: u.in.Snapshot.HasEndingPods(node.Name)}
		u.facts[node.Name] = f
	}
	f.plan = u.plans
	return f
}

// forgetFacts lets go of nodes that nobody asked about.
func (u *update) forgetFacts() {
	maps.DeleteFunc(u.facts, func(_ string, f *facts) bool { return f.plan != u.plans })
}

// emptiness tells nodes without pods to move, and those that still wait for pods to end, from others.
func (u *update) emptiness(c candidate) int {
	f := c.facts
	if f.emptiness != emptinessUnset {
		return f.emptiness
	}
	if u.in.Snapshot.AnyPod(c.node.Name, ordinary) {
		f.emptiness = occupied
		return f.emptiness
	}
	found := drain.Evaluate(u.in.Snapshot.Pods(c.node.Name), drain.Context{At: u.now, Options: DrainRules(u.options.ScaleDown)})
	switch {
	case f.version == 0: // it is not in the snapshot
		f.emptiness = occupied
	case found.Blocking != nil || len(found.Move) > 0:
		f.emptiness = occupied
	case len(found.OnCompletion) > 0:
		f.emptiness = emptying
	default:
		f.emptiness = empty
	}
	return f.emptiness
}

// ordinary tells a pod that either can be moved or blocks, whatever the rules: nothing about it lets it stay behind or be waited for.
func ordinary(pod *corev1.Pod) bool {
	return len(pod.Annotations) == 0 && pod.DeletionTimestamp == nil && !podfacts.IsDaemonSet(pod) &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// utilization is how used the node is.
func (u *update) utilization(c candidate, options utilization.Options) (utilization.Utilization, error) {
	f := c.facts
	if f.known && f.options == options {
		return f.used, f.err
	}
	f.known, f.options = true, options
	if f.passing || options.SkipDaemonSets || options.SkipMirrorPods {
		timed := options
		timed.At = u.now
		f.used, f.err = utilization.Of(c.node, u.in.Snapshot.Pods(c.node.Name), timed)
	} else {
		f.used, f.err = utilization.OfSum(c.node, options.Accelerator, func(name corev1.ResourceName) int64 {
			return u.in.Snapshot.Taken(c.node.Name, name)
		})
	}
	return f.used, f.err
}
