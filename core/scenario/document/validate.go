package document

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// validate reports what no API server would have let in and what would lead astray here. It returns whether all is well.
func (s scope) validate(o object) bool {
	before := len(s.at.to.errors)
	switch o := o.(type) {
	case *corev1.Pod:
		podSpec(&o.Spec, s.in("spec"))
	case *corev1.Node:
		nodeStatus(&o.Status, s.in("status"))
	case *appsv1.ReplicaSet:
		workload(o.Spec.Replicas, &o.Spec.Template.Spec, "replicas", s.at)
	case *appsv1.Deployment:
		workload(o.Spec.Replicas, &o.Spec.Template.Spec, "replicas", s.at)
	case *appsv1.StatefulSet:
		workload(o.Spec.Replicas, &o.Spec.Template.Spec, "replicas", s.at)
	case *appsv1.DaemonSet:
		workload(nil, &o.Spec.Template.Spec, "", s.at)
	case *batchv1.Job:
		workload(o.Spec.Parallelism, &o.Spec.Template.Spec, "parallelism", s.at)
		notNegative(o.Spec.Completions, "spec.completions", s.at)
	case *corev1.ReplicationController:
		spec := &corev1.PodSpec{}
		if o.Spec.Template != nil {
			spec = &o.Spec.Template.Spec
		}
		workload(o.Spec.Replicas, spec, "replicas", s.at)
	}
	return len(s.at.to.errors) == before
}

func workload(replicas *int32, template *corev1.PodSpec, name string, report at) {
	notNegative(replicas, "spec."+name, report)
	podSpec(template, report.in("spec.template.spec"))
}

func podSpec(spec *corev1.PodSpec, report at) {
	containers(spec.InitContainers, "initContainers", report)
	containers(spec.Containers, "containers", report)
	if spec.Resources != nil {
		quantities(spec.Resources.Requests, report.in("resources.requests"))
		quantities(spec.Resources.Limits, report.in("resources.limits"))
	}
	quantities(spec.Overhead, report.in("overhead"))
}

func containers(list []corev1.Container, name string, report at) {
	for i := range list {
		resources := &list[i].Resources
		if len(resources.Requests) == 0 && len(resources.Limits) == 0 {
			continue
		}
		in := report.in(index(name, i))
		quantities(resources.Requests, in.in("resources.requests"))
		quantities(resources.Limits, in.in("resources.limits"))
	}
}

func nodeStatus(status *corev1.NodeStatus, report at) {
	quantities(status.Capacity, report.in("capacity"))
	quantities(status.Allocatable, report.in("allocatable"))
}

// quantities reports negative ones.
func quantities(list corev1.ResourceList, report at) {
	var negative []string // seldom any, and their order must not be that of the map
	for name, quantity := range list {
		if quantity.Sign() < 0 {
			negative = append(negative, string(name))
		}
	}
	slices.Sort(negative)
	for _, name := range negative {
		quantity := list[corev1.ResourceName(name)]
		report.bad(entry(name), "is %s, want at least 0", quantity.String())
	}
}

func notNegative[T int | int32 | float64](value *T, name string, report at) {
	if value != nil && *value < 0 {
		report.bad(name, "is %v, want at least 0", *value)
	}
}

// notNegativeTime is notNegative for durations.
func notNegativeTime(d *Duration, name string, report at) {
	if d != nil && d.Duration < 0 {
		report.bad(name, "is %s, want at least 0", d.Duration)
	}
}

// newestOf is the latest time at which an object says that something was. The time at which its grace period ends may be ahead.
func newestOf(o object) time.Time {
	newest := o.GetCreationTimestamp().Time
	note := func(at metav1.Time) { newest = latest(newest, at.Time) }
	if ends := o.GetDeletionTimestamp(); ends != nil {
		var grace int64
		if seconds := o.GetDeletionGracePeriodSeconds(); seconds != nil {
			grace = *seconds
		}
		newest = latest(newest, ends.Add(-time.Duration(max(grace, 0))*time.Second))
	}
	switch o := o.(type) {
	case *corev1.Node:
		for i := range o.Status.Conditions {
			note(o.Status.Conditions[i].LastHeartbeatTime)
			note(o.Status.Conditions[i].LastTransitionTime)
		}
	case *corev1.Pod:
		if o.Status.StartTime != nil {
			note(*o.Status.StartTime)
		}
		for i := range o.Status.Conditions {
			note(o.Status.Conditions[i].LastProbeTime)
			note(o.Status.Conditions[i].LastTransitionTime)
		}
		for _, statuses := range [][]corev1.ContainerStatus{o.Status.InitContainerStatuses, o.Status.ContainerStatuses} {
			for i := range statuses {
				if running := statuses[i].State.Running; running != nil {
					note(running.StartedAt)
				}
				if ended := statuses[i].State.Terminated; ended != nil {
					note(ended.FinishedAt)
				}
			}
		}
	}
	return newest
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
