package observation

import (
	"hash/maphash"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pool holds parts of objects, so that equal ones share memory: pods of one workload differ in little. Parts are looked up by a hash, which
// is only a guess, and compared. It is safe for concurrent use. What it returns is shared and must not be changed.
type pool struct {
	seed maphash.Seed

	mu          sync.Mutex // guards what follows
	texts       map[string]string
	maps        map[uint64]map[string]string
	owners      map[uint64][]metav1.OwnerReference
	containers  map[uint64][]corev1.Container
	tolerations map[uint64][]corev1.Toleration
	shapes      map[types.UID]shape
}

// shape are parts that few pods have, as a pod of the same controller had them last.
type shape struct {
	affinity *corev1.Affinity
	spread   []corev1.TopologySpreadConstraint
	volumes  []corev1.Volume
}

// poolSize bounds how many distinct parts of one kind are kept for sharing. Beyond it, sharing starts anew.
const poolSize = 50_000

func newPool() *pool {
	return &pool{
		seed: maphash.MakeSeed(), texts: map[string]string{}, maps: map[uint64]map[string]string{},
		owners: map[uint64][]metav1.OwnerReference{}, containers: map[uint64][]corev1.Container{},
		tolerations: map[uint64][]corev1.Toleration{}, shapes: map[types.UID]shape{},
	}
}

// pooled is the part in the pool that equals the value, else the value, which then is in the pool.
func pooled[K comparable, T any](known map[K]T, key K, value T, equal func(a, b T) bool) T {
	if shared, ok := known[key]; ok && equal(shared, value) {
		return shared
	}
	if len(known) >= poolSize {
		clear(known)
	}
	known[key] = value
	return value
}

func (p *pool) text(text string) string {
	if text == "" {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return pooled(p.texts, text, text, func(string, string) bool { return true })
}

// stringMap shares labels, annotations and selectors. An empty one is nil.
func (p *pool) stringMap(value map[string]string) map[string]string {
	if len(value) == 0 {
		return nil
	}
	var sum uint64
	for key, text := range value { // in any order, hence a sum
		sum += p.hash(key, text)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return pooled(p.maps, sum, value, func(a, b map[string]string) bool {
		if len(a) != len(b) {
			return false
		}
		for key, text := range a {
			if other, ok := b[key]; !ok || other != text {
				return false
			}
		}
		return true
	})
}

func (p *pool) ownerList(value []metav1.OwnerReference) []metav1.OwnerReference {
	if len(value) == 0 {
		return nil
	}
	var sum uint64
	for _, owner := range value {
		sum = sum*31 + p.hash(string(owner.UID), owner.Name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return pooled(p.owners, sum, value, func(a, b []metav1.OwnerReference) bool {
		return slices.EqualFunc(a, b, func(a, b metav1.OwnerReference) bool {
			return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID &&
				samePointer(a.Controller, b.Controller) && samePointer(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
		})
	})
}

func (p *pool) containerList(value []corev1.Container) []corev1.Container {
	if len(value) == 0 {
		return nil
	}
	var sum uint64
	for i := range value {
		sum = sum*31 + p.hash(value[i].Name, value[i].Image) + p.amounts(value[i].Resources.Requests) + 7*p.amounts(value[i].Resources.Limits)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return pooled(p.containers, sum, value, func(a, b []corev1.Container) bool { return slices.EqualFunc(a, b, sameContainer) })
}

// amounts is a hash of a list of resources. It does not print quantities, which would change them.
func (p *pool) amounts(list corev1.ResourceList) (sum uint64) {
	for name, quantity := range list {
		sum += p.hash(string(name), "") * uint64(quantity.MilliValue()|1)
	}
	return sum
}

func (p *pool) tolerationList(value []corev1.Toleration) []corev1.Toleration {
	if len(value) == 0 {
		return nil
	}
	var sum uint64
	for _, toleration := range value {
		sum = sum*31 + p.hash(toleration.Key, toleration.Value)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return pooled(p.tolerations, sum, value, func(a, b []corev1.Toleration) bool {
		return slices.EqualFunc(a, b, func(a, b corev1.Toleration) bool {
			return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect &&
				samePointer(a.TolerationSeconds, b.TolerationSeconds)
		})
	})
}

// shape lets the spec share the parts that a pod of the same controller had last, one by one, as far as they are equal.
func (p *pool) shape(controller types.UID, spec *corev1.PodSpec) {
	if spec.Affinity == nil && len(spec.TopologySpreadConstraints) == 0 && len(spec.Volumes) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.shapes[controller]
	if was.affinity != nil && reflect.DeepEqual(was.affinity, spec.Affinity) {
		spec.Affinity = was.affinity
	}
	if len(was.spread) > 0 && reflect.DeepEqual(was.spread, spec.TopologySpreadConstraints) {
		spec.TopologySpreadConstraints = was.spread
	}
	if len(was.volumes) > 0 && reflect.DeepEqual(was.volumes, spec.Volumes) {
		spec.Volumes = was.volumes
	}
	if len(p.shapes) >= poolSize {
		clear(p.shapes)
	}
	p.shapes[controller] = shape{affinity: spec.Affinity, spread: spec.TopologySpreadConstraints, volumes: spec.Volumes}
}

func (p *pool) hash(a, b string) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	_, _ = h.WriteString(a) // never fails
	_ = h.WriteByte(0)      // never fails
	_, _ = h.WriteString(b) // never fails
	return h.Sum64()
}

// sameContainer compares trimmed containers. Parts that are rare are compared field by field, whatever fields they have.
func sameContainer(a, b corev1.Container) bool {
	return a.Name == b.Name && a.Image == b.Image &&
		sameAmounts(a.Resources.Requests, b.Resources.Requests) && sameAmounts(a.Resources.Limits, b.Resources.Limits) &&
		slices.Equal(a.Resources.Claims, b.Resources.Claims) && slices.Equal(a.Ports, b.Ports) &&
		slices.Equal(a.ResizePolicy, b.ResizePolicy) && samePointer(a.RestartPolicy, b.RestartPolicy) &&
		sameRare(a.RestartPolicyRules, b.RestartPolicyRules) && sameRare(a.VolumeMounts, b.VolumeMounts)
}

func sameRare[T any](a, b []T) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

func sameAmounts(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, quantity := range a {
		other, ok := b[name]
		if !ok || quantity.Cmp(other) != 0 || quantity.Format != other.Format {
			return false
		}
	}
	return true
}

func samePointer[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
