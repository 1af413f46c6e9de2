package observation

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// controllers keeps lists of objects that make pods up to date with the informers.
type controllers struct {
	replicaSets  followed[*appsv1.ReplicaSet]
	statefulSets followed[*appsv1.StatefulSet]
	jobs         followed[*batchv1.Job]
}

// followed is a kind of object that is listed as it is.
type followed[T apiObject] struct {
	resource string
	informer cache.SharedIndexInformer
	kind     *kind[T]
	list     ordered[T]
}

func follows[T apiObject](resource string, informer cache.SharedIndexInformer, reads func(resource string) bool) followed[T] {
	f := followed[T]{resource: resource, informer: informer, kind: newKind[T](informer.GetIndexer()), list: ordered[T]{compare: byName[T]}}
	f.kind.readable = func() bool { return reads(resource) }
	return f
}

// newControllers follows the informers of the factory. reads tells whether a resource can be read.
func newControllers(factory informers.SharedInformerFactory, reads func(resource string) bool) *controllers {
	return &controllers{
		replicaSets:  follows[*appsv1.ReplicaSet](resourceRS, factory.Apps().V1().ReplicaSets().Informer(), reads),
		statefulSets: follows[*appsv1.StatefulSet](resourceSS, factory.Apps().V1().StatefulSets().Informer(), reads),
		jobs:         follows[*batchv1.Job](resourceJobs, factory.Batch().V1().Jobs().Informer(), reads),
	}
}

func (f *followed[T]) listen() error {
	if _, err := f.informer.AddEventHandler(f.kind.handler(nil)); err != nil {
		return fmt.Errorf("watching %s: %w", f.resource, err)
	}
	return nil
}

func (f *followed[T]) catchUp() []T {
	follow(&f.list, f.kind.changes())
	return f.list.all
}

// The methods of controllers do nothing for nil, which is what there is when nobody asks for controllers.

// listen has the informers tell of what changes.
func (c *controllers) listen() error {
	if c == nil {
		return nil
	}
	for _, listen := range []func() error{c.replicaSets.listen, c.statefulSets.listen, c.jobs.listen} {
		if err := listen(); err != nil {
			return err
		}
	}
	return nil
}

// silence says that the informers will tell of nothing.
func (c *controllers) silence() {
	if c != nil {
		c.replicaSets.kind.silence()
		c.statefulSets.kind.silence()
		c.jobs.kind.silence()
	}
}

// catchUp takes over what has changed and returns the lists.
func (c *controllers) catchUp() Controllers {
	if c == nil {
		return Controllers{}
	}
	return Controllers{ReplicaSets: c.replicaSets.catchUp(), StatefulSets: c.statefulSets.catchUp(), Jobs: c.jobs.catchUp()}
}
