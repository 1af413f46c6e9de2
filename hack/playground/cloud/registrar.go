package cloud

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Machines is a cloud as the registrar sees it.
type Machines interface {
	// Machines lists all machines; one that is left out is gone.
	Machines() ([]Machine, error)
	// Changed returns a channel that is closed when the list changes after this call.
	Changed() <-chan struct{}
}

// Delays are how long a machine takes for what happens between cloud and cluster. Real ones: 30 s to 2 min, 5 to 30 s, 5 s to 1 min.
type Delays struct {
	Register time.Duration // from running to the Node object
	Ready    time.Duration // from the Node object to Ready
	Remove   time.Duration // from the machine's end to the removal of its Node object
}

// retryAfter is when a write is tried again that the API server refused.
const retryAfter = time.Second

// Registrar makes a Node object of every machine that runs and removes it when the machine is gone.
type Registrar struct {
	client   kubernetes.Interface
	machines Machines
	clock    clock.Clock
	delays   Delays
	known    map[string]*member // by provider ID
}

// member is a machine that was seen running.
type member struct {
	machine    Machine
	runningAt  time.Time
	goneAt     time.Time // zero while it runs
	registered bool
}

// NewRegistrar makes a registrar for the machines of one cloud. Nothing happens before Run.
func NewRegistrar(client kubernetes.Interface, machines Machines, c clock.Clock, d Delays) *Registrar {
	return &Registrar{client: client, machines: machines, clock: c, delays: d, known: map[string]*member{}}
}

// Run works until ctx ends. To be called once.
func (r *Registrar) Run(ctx context.Context) {
	for {
		changed := r.machines.Changed() // asked for before looking, so that nothing slips through
		if wait := r.step(ctx); !r.sleep(ctx, changed, wait) {
			return
		}
	}
}

// sleep waits for a change or for a time (0: for ever); false means that ctx has ended.
func (r *Registrar) sleep(ctx context.Context, changed <-chan struct{}, wait time.Duration) bool {
	var due <-chan time.Time
	if wait > 0 {
		timer := r.clock.NewTimer(wait)
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-changed:
	case <-due:
	case <-ctx.Done():
		return false
	}
	return true
}

// step does all that is due and returns how long until the next thing is; 0 means nothing is known to come.
func (r *Registrar) step(ctx context.Context) time.Duration {
	now := r.clock.Now()
	if err := r.observe(now); err != nil {
		klog.FromContext(ctx).Error(err, "The cloud's machines could not be read")
		return retryAfter
	}
	var next time.Duration
	for id, m := range r.known {
		wait, err := r.advance(ctx, m, now)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "A machine and its node differ for now", "machine", m.machine.String())
			wait = retryAfter
		}
		if wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
		if !m.goneAt.IsZero() && !m.registered {
			delete(r.known, id)
		}
	}
	return next
}

// observe notes which machines have come and gone.
func (r *Registrar) observe(now time.Time) error {
	machines, err := r.machines.Machines()
	if err != nil {
		return err
	}
	running := map[string]bool{}
	for _, m := range machines {
		if !m.Running {
			continue
		}
		running[m.ProviderID] = true
		if r.known[m.ProviderID] == nil {
			r.known[m.ProviderID] = &member{machine: m, runningAt: now}
		}
	}
	for id, m := range r.known {
		if !running[id] && m.goneAt.IsZero() {
			m.goneAt = now
		}
	}
	return nil
}

// advance brings the cluster in line with one machine and returns how long until there is more to do for it.
func (r *Registrar) advance(ctx context.Context, m *member, now time.Time) (time.Duration, error) {
	switch {
	case m.goneAt.IsZero() && !m.registered:
		if wait := m.runningAt.Add(r.delays.Register).Sub(now); wait > 0 {
			return wait, nil
		}
		if err := r.register(ctx, m.machine, now); err != nil {
			return 0, err
		}
		m.registered = true
	case !m.goneAt.IsZero() && m.registered:
		if wait := m.goneAt.Add(r.delays.Remove).Sub(now); wait > 0 {
			return wait, nil
		}
		if err := r.remove(ctx, m.machine); err != nil {
			return 0, err
		}
		m.registered = false
	}
	return 0, nil
}

// register makes the Node object, and the CSINode object that every kubelet keeps beside it.
func (r *Registrar) register(ctx context.Context, m Machine, now time.Time) error {
	node, err := r.client.CoreV1().Nodes().Create(ctx, m.node(now, r.delays.Ready), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // made by an attempt whose answer was lost, unless it is another machine's
		if node, err = r.client.CoreV1().Nodes().Get(ctx, m.NodeName, metav1.GetOptions{}); err == nil && node.Spec.ProviderID != m.ProviderID {
			err = fmt.Errorf("the name belongs to %s", node.Spec.ProviderID)
		}
	}
	if err != nil {
		return fmt.Errorf("registering node %s: %w", m.NodeName, err)
	}
	klog.FromContext(ctx).Info("Registered node", "node", m.NodeName, "providerID", m.ProviderID)
	_, err = r.client.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name:            m.NodeName,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(node, corev1.SchemeGroupVersion.WithKind("Node"))},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		klog.FromContext(ctx).Error(err, "The node has no CSINode object", "node", m.NodeName) // it works without
	}
	return nil
}

// remove deletes the Node object if it still is the machine's.
func (r *Registrar) remove(ctx context.Context, m Machine) error {
	node, err := r.client.CoreV1().Nodes().Get(ctx, m.NodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && node.Spec.ProviderID != m.ProviderID {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for node %s: %w", m.NodeName, err)
	}
	err = r.client.CoreV1().Nodes().Delete(ctx, m.NodeName, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(node.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing node %s: %w", m.NodeName, err)
	}
	klog.FromContext(ctx).Info("Removed node", "node", m.NodeName, "providerID", m.ProviderID)
	return nil
}
