package observation

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// workloads looks controllers up in the informers. A kind that cannot be listed answers with the reason.
type workloads struct{ source *Source }

func (w workloads) ReplicationController(namespace, name string) (*corev1.ReplicationController, bool, error) {
	return lookUp(w.source.off(resourceRC), func() (*corev1.ReplicationController, error) {
		return w.source.factory.Core().V1().ReplicationControllers().Lister().ReplicationControllers(namespace).Get(name)
	})
}

func (w workloads) ReplicaSet(namespace, name string) (*appsv1.ReplicaSet, bool, error) {
	return lookUp(w.source.off(resourceRS), func() (*appsv1.ReplicaSet, error) {
		return w.source.factory.Apps().V1().ReplicaSets().Lister().ReplicaSets(namespace).Get(name)
	})
}

func (w workloads) StatefulSet(namespace, name string) (*appsv1.StatefulSet, bool, error) {
	return lookUp(w.source.off(resourceSS), func() (*appsv1.StatefulSet, error) {
		return w.source.factory.Apps().V1().StatefulSets().Lister().StatefulSets(namespace).Get(name)
	})
}

func (w workloads) DaemonSet(namespace, name string) (*appsv1.DaemonSet, bool, error) {
	return lookUp(w.source.off(resourceDaemonSet), func() (*appsv1.DaemonSet, error) {
		return w.source.factory.Apps().V1().DaemonSets().Lister().DaemonSets(namespace).Get(name)
	})
}

func (w workloads) Job(namespace, name string) (*batchv1.Job, bool, error) {
	return lookUp(w.source.off(resourceJobs), func() (*batchv1.Job, error) {
		return w.source.factory.Batch().V1().Jobs().Lister().Jobs(namespace).Get(name)
	})
}

// lookUp tells "not there" from "cannot be told".
func lookUp[T any](off error, get func() (T, error)) (object T, ok bool, err error) {
	if off != nil {
		return object, false, off
	}
	object, err = get()
	switch {
	case apierrors.IsNotFound(err):
		return object, false, nil
	case err != nil:
		return object, false, err
	default:
		return object, true, nil
	}
}
