package scaledown

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/drain"
)

// recalled looks every controller up once: one plan asks for the same one about each of its pods.
type recalled struct {
	from        drain.Workloads
	controllers lookUps[*corev1.ReplicationController]
	replicaSets lookUps[*appsv1.ReplicaSet]
	statefuls   lookUps[*appsv1.StatefulSet]
	daemons     lookUps[*appsv1.DaemonSet]
	jobs        lookUps[*batchv1.Job]
}

// recall is the workloads as they are now; nil if there are none.
func recall(from drain.Workloads) drain.Workloads {
	if from == nil {
		return nil
	}
	return &recalled{from: from}
}

func (r *recalled) ReplicationController(namespace, name string) (*corev1.ReplicationController, bool, error) {
	return r.controllers.get(namespace, name, r.from.ReplicationController)
}

func (r *recalled) ReplicaSet(namespace, name string) (*appsv1.ReplicaSet, bool, error) {
	return r.replicaSets.get(namespace, name, r.from.ReplicaSet)
}

func (r *recalled) StatefulSet(namespace, name string) (*appsv1.StatefulSet, bool, error) {
	return r.statefuls.get(namespace, name, r.from.StatefulSet)
}

func (r *recalled) DaemonSet(namespace, name string) (*appsv1.DaemonSet, bool, error) {
	return r.daemons.get(namespace, name, r.from.DaemonSet)
}

func (r *recalled) Job(namespace, name string) (*batchv1.Job, bool, error) {
	return r.jobs.get(namespace, name, r.from.Job)
}

// lookUps are the answers about controllers of one kind.
type lookUps[T any] struct {
	answers map[controllerKey]answer[T]
	// latest is the answer about lastKey, for neighbours often have the same controller; asked is false as long as there is none.
	lastKey controllerKey
	latest  answer[T]
	asked   bool
}

type controllerKey struct{ namespace, name string }

type answer[T any] struct {
	found T
	ok    bool
	err   error
}

func (l *lookUps[T]) get(namespace, name string, ask func(namespace, name string) (T, bool, error)) (found T, ok bool, err error) {
	key := controllerKey{namespace, name}
	if !l.asked || l.lastKey != key {
		a, known := l.answers[key]
		if !known {
			if l.answers == nil {
				l.answers = map[controllerKey]answer[T]{}
			}
			a.found, a.ok, a.err = ask(namespace, name)
			l.answers[key] = a
		}
		l.lastKey, l.latest, l.asked = key, a, true
	}
	return l.latest.found, l.latest.ok, l.latest.err
}
