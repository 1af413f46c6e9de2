package observation

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// ConfigMapWatch follows one ConfigMap that the operator may or may not have made. It lists and watches that one alone, so that a Role that names it
// is enough. Run once; the other methods may be called from different goroutines.
type ConfigMapWatch struct {
	namespace, name string
	factory         informers.SharedInformerFactory
	informer        cache.SharedIndexInformer
	clock           clock.WithTicker

	mu sync.Mutex // guards err
	// err is why the object could not be read the last time.
	err error
	// tried is closed when the object was read, or could not be, for the first time.
	tried chan struct{}
	once  sync.Once
}

// NewConfigMapWatch returns a watch that has not read anything.
func NewConfigMapWatch(client kubernetes.Interface, namespace, name string, c clock.WithTicker) (*ConfigMapWatch, error) {
	w := &ConfigMapWatch{namespace: namespace, name: name, clock: c, tried: make(chan struct{})}
	w.factory = informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}))
	w.informer = w.factory.Core().V1().ConfigMaps().Informer()
	if err := w.informer.SetWatchErrorHandlerWithContext(w.failed); err != nil {
		return nil, fmt.Errorf("watching ConfigMap %s/%s: %w", namespace, name, err)
	}
	return w, nil
}

// failed notes why the object cannot be read; the informer tries again.
func (w *ConfigMapWatch) failed(ctx context.Context, reflector *cache.Reflector, err error) {
	if w.informer.HasSynced() { // a watch that ended; what was read stays good
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
		return
	}
	w.mu.Lock()
	w.err = err
	w.mu.Unlock()
	w.once.Do(func() { close(w.tried) })
}

// Run reads until ctx ends; it returns once all its goroutines have.
func (w *ConfigMapWatch) Run(ctx context.Context) {
	w.factory.StartWithContext(ctx)
	cache.WaitFor(ctx, "", w.informer.HasSyncedChecker())
	w.once.Do(func() { close(w.tried) })
	<-ctx.Done()
	w.factory.Shutdown()
}

// WaitForRead blocks until the object was read or could not be, for at most limit or until ctx ends.
func (w *ConfigMapWatch) WaitForRead(ctx context.Context, limit time.Duration) {
	timer := w.clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-w.tried:
	}
}

// ConfigMap is the object as it is known; nil: there is none. The error says why nothing is known of it. Once it was read it stays known, however old.
// The object is shared, not to be changed.
func (w *ConfigMapWatch) ConfigMap() (*corev1.ConfigMap, error) {
	if !w.informer.HasSynced() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err != nil {
			return nil, w.err
		}
		return nil, errStarting
	}
	stored, exists, err := w.informer.GetStore().GetByKey(w.namespace + "/" + w.name)
	if err != nil || !exists {
		return nil, err
	}
	object, ok := stored.(*corev1.ConfigMap)
	if !ok {
		return nil, fmt.Errorf("%s/%s is stored as %T", w.namespace, w.name, stored)
	}
	return object, nil
}
