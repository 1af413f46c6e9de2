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

// pool holds parts of objects, so that equal ones share memory: pods of one workload differ in little. A part is compared with that of the pod of the
// same workload that came last. Only where they differ it is looked up by a hash, which is only a guess, and compared again. What the pool returns is
// shared and must not be changed.
type pool struct {
	seed maphash.Seed

	mu          sync.Mutex // to be held while anything below is called; guards what follows
	texts       map[string]string
	maps        map[uint64]map[string]string
	owners      map[uint64][]metav1.OwnerReference
	containers  map[uint64][]corev1.Container
	tolerations map[uint64][]corev1.Toleration
	kin         map[workload]*kin
}

// workload is what makes pods alike. The controller is empty for pods without one, and for those of Jobs.
type workload struct {
	namespace  string
	controller types.UID
}

// kin are the parts of a workload's pod as they were kept last.
type kin struct {
	namespace           string
	labels, annotations map[string]string
	owners              []metav1.OwnerReference
	spec                corev1.PodSpec
	phase               corev1.PodPhase
	conditions          []corev1.PodCondition
}

const (
	// poolSize bounds how many distinct parts of one kind are kept for sharing. Beyond it, sharing starts anew.
	poolSize = 50_000
	// maxKin bounds for how many workloads the last pod is kept; lists come workload by workload, so that not all of them are needed.
	maxKin = 4_096
)

func newPool() *pool {
	return &pool{
		seed: maphash.MakeSeed(), texts: map[string]string{}, maps: map[uint64]map[string]string{},
		owners: map[uint64][]metav1.OwnerReference{}, containers: map[uint64][]corev1.Container{},
		tolerations: map[uint64][]corev1.Toleration{}, kin: map[workload]*kin{},
	}
}

// kinOf is the kin of the workload's pods, empty if none was seen.
func (p *pool) kinOf(namespace string, controller types.UID) *kin {
	if known, ok := p.kin[workload{namespace, controller}]; ok {
		return known
	}
	if len(p.kin) >= maxKin {
		clear(p.kin)
	}
	fresh := &kin{namespace: p.text(namespace)}
	p.kin[workload{fresh.namespace, controller}] = fresh
	return fresh
}

// share is what the kin has, if it is the same as what is kept of the value; else what is kept of it, which the kin then has.
func share[T any](kin *T, value T, same func(kept, value T) bool, keep func(T) T) T {
	if !same(*kin, value) {
		*kin = keep(value)
	}
	return *kin
}

// sharePart is share for what few pods have. It is compared field by field, whatever fields it has. Where there is none, the kin keeps what it has.
func sharePart[T any](kin **T, part *T) *T {
	if part == nil {
		return nil
	}
	return share(kin, part, func(a, b *T) bool { return reflect.DeepEqual(a, b) }, asItIs)
}

// shareList is sharePart for lists.
func shareList[T any](kin *[]T, list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return share(kin, list, func(a, b []T) bool { return reflect.DeepEqual(a, b) }, asItIs)
}

func asItIs[T any](value T) T { return value }

func shareText[T ~string](p *pool, kin *T, text T) T {
	if *kin != text {
		*kin = T(p.text(string(text)))
	}
	return *kin
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
	if shared, ok := p.texts[text]; ok {
		return shared
	}
	if len(p.texts) >= poolSize {
		clear(p.texts)
	}
	p.texts[text] = text
	return text
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
	return pooled(p.maps, sum, value, sameMap)
}

func (p *pool) ownerList(value []metav1.OwnerReference) []metav1.OwnerReference {
	if len(value) == 0 {
		return nil
	}
	var sum uint64
	for i := range value {
		sum = sum*31 + p.hash(string(value[i].UID), value[i].Name)
	}
	return pooled(p.owners, sum, value, sameOwners)
}

func (p *pool) containerList(value []corev1.Container) []corev1.Container {
	if len(value) == 0 {
		return nil
	}
	var sum uint64
	for i := range value {
		sum = sum*31 + p.hash(value[i].Name, value[i].Image) + p.amounts(value[i].Resources.Requests) + 7*p.amounts(value[i].Resources.Limits)
	}
	return pooled(p.containers, sum, value, sameContainers)
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
	for i := range value {
		sum = sum*31 + p.hash(value[i].Key, value[i].Value)
	}
	return pooled(p.tolerations, sum, value, sameTolerations)
}

func (p *pool) hash(a, b string) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	_, _ = h.WriteString(a) // never fails
	_ = h.WriteByte(0)      // never fails
	_, _ = h.WriteString(b) // never fails
	return h.Sum64()
}

func sameMap(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, text := range a {
		if other, ok := b[key]; !ok || other != text {
			return false
		}
	}
	return true
}

// sameAnnotations compares with what would be kept.
func sameAnnotations(kept, whole map[string]string) bool {
	read := 0
	for key, text := range whole {
		if !readAnnotation(key) {
			continue
		}
		if other, ok := kept[key]; !ok || other != text {
			return false
		}
		read++
	}
	return read == len(kept)
}

func sameOwners(a, b []metav1.OwnerReference) bool {
	return sameList(a, b, func(a, b *metav1.OwnerReference) bool {
		return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID &&
			samePointer(a.Controller, b.Controller) && samePointer(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
	})
}

func sameTolerations(a, b []corev1.Toleration) bool {
	return sameList(a, b, func(a, b *corev1.Toleration) bool {
		return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect &&
			samePointer(a.TolerationSeconds, b.TolerationSeconds)
	})
}

// sameContainers compares trimmed containers with others, as those will be when they are trimmed. Parts that are rare are compared field by field,
// whatever fields they have.
func sameContainers(kept, whole []corev1.Container) bool {
	return sameList(kept, whole, func(a, b *corev1.Container) bool {
		return a.Name == b.Name && a.Image == b.Image &&
			sameAmounts(a.Resources.Requests, b.Resources.Requests) && sameAmounts(a.Resources.Limits, b.Resources.Limits) &&
			slices.Equal(a.Resources.Claims, b.Resources.Claims) && slices.Equal(a.Ports, b.Ports) &&
			slices.Equal(a.ResizePolicy, b.ResizePolicy) && samePointer(a.RestartPolicy, b.RestartPolicy) &&
			sameRare(a.RestartPolicyRules, b.RestartPolicyRules) && sameRare(a.VolumeMounts, keptMounts(b.VolumeMounts))
	})
}

// sameVolumes compares with what would be kept.
func sameVolumes(kept, whole []corev1.Volume) bool {
	read := 0
	for i := range whole {
		if !keepsVolume(&whole[i]) {
			continue
		}
		if read >= len(kept) || !sameVolume(&kept[read], &whole[i]) {
			return false
		}
		read++
	}
	return read == len(kept)
}

// sameVolume spares the kinds that many pods have the comparison of each of the many kinds that there are.
func sameVolume(a, b *corev1.Volume) bool {
	if a.Name != b.Name {
		return false
	}
	alike := *b
	if x, y := a.EmptyDir, b.EmptyDir; x != nil && y != nil && x.Medium == y.Medium && x.SizeLimit == nil && y.SizeLimit == nil {
		alike.EmptyDir = x
	}
	if x, y := a.HostPath, b.HostPath; x != nil && y != nil && x.Path == y.Path && samePointer(x.Type, y.Type) {
		alike.HostPath = x
	}
	if x, y := a.PersistentVolumeClaim, b.PersistentVolumeClaim; x != nil && y != nil {
		if *x != *y {
			return false
		}
		alike.PersistentVolumeClaim = x
	}
	return *a == alike || reflect.DeepEqual(a, b)
}

// sameConditions compares with what would be kept.
func sameConditions(kept, whole []corev1.PodCondition) bool {
	read := 0
	for i := range whole {
		if !keepsCondition(&whole[i]) {
			continue
		}
		if read >= len(kept) || kept[read] != trimmedCondition(&whole[i]) {
			return false
		}
		read++
	}
	return read == len(kept)
}

func sameList[T any](a, b []T, same func(a, b *T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(&a[i], &b[i]) {
			return false
		}
	}
	return true
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
