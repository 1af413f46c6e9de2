package podinjection

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
)

// demand is what one controller wants.
type demand struct {
	controller report.Injection
	pods       int
}

// demands lists the controllers that make pods as fast as they can, with the number that each wants: ReplicaSets, StatefulSets, Jobs.
func demands(of observation.Controllers) []demand {
	var out []demand
	add := func(kind string, object metav1.Object, pods int) {
		if pods > 0 && object.GetDeletionTimestamp() == nil {
			out = append(out, demand{pods: pods, controller: report.Injection{
				Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
			}})
		}
	}
	for _, set := range of.ReplicaSets {
		add("ReplicaSet", set, count(set.Spec.Replicas))
	}
	for _, set := range of.StatefulSets {
		if set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement { // otherwise one pod waits for the other
			add("StatefulSet", set, count(set.Spec.Replicas))
		}
	}
	for _, job := range of.Jobs {
		add("Job", job, ofJob(job))
	}
	return out
}

// ofJob is how many pods a Job wants to run now.
func ofJob(job *batchv1.Job) int {
	spec := &job.Spec
	if spec.Suspend != nil && *spec.Suspend {
		return 0
	}
	parallelism := count(spec.Parallelism)
	if spec.Completions == nil && spec.Parallelism != nil && job.Status.Succeeded == 0 {
		return parallelism // a queue of work: nobody knows how many will be done
	}
	return max(0, min(count(spec.Completions)-int(job.Status.Succeeded), parallelism))
}

// count is a number of pods as the API server would default it.
func count(pods *int32) int {
	if pods == nil {
		return 1
	}
	return max(0, int(*pods))
}
