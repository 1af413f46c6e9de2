package observation

import (
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// apiObject is what informers store.
type apiObject interface {
	comparable
	GetNamespace() string
	GetName() string
}

// maxNamed bounds how many changed objects are told by name. When more have changed it is cheaper to look at all.
const maxNamed = 20_000

// kind follows the objects of one kind in the store of their informer: it says what has changed since it was asked before.
//
// The informer's events name the objects that have changed; what has become of them is in the store, which is never older than an event. So it
// doesn't matter in which order events arrive, or how late.
type kind[T apiObject] struct {
	store cache.Indexer
	// readable tells whether the kind can be read; nil: it always can. If it can't, there are no such objects.
	readable func() bool
	// known are the objects as of the last call of changes.
	known map[cache.ObjectName]T

	mu sync.Mutex // guards what follows
	// named are the objects of which an event has told since the last call of changes, unless all may have changed.
	named map[cache.ObjectName]struct{}
	all   bool
	// silent: no events come.
	silent bool
}

// change is one object that is not what it was; nil: it did not exist, or doesn't any more.
type change[T apiObject] struct{ was, is T }

// newKind follows a store of which nothing is known.
func newKind[T apiObject](store cache.Indexer) *kind[T] {
	return &kind[T]{store: store, known: map[cache.ObjectName]T{}, named: map[cache.ObjectName]struct{}{}, all: true}
}

// handler takes the informer's events. also is told of objects that came or changed; nil: nobody is.
func (k *kind[T]) handler(also func(object any)) cache.ResourceEventHandler {
	newest := k.event
	if also != nil {
		newest = func(object any) {
			k.event(object)
			also(object)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: newest, UpdateFunc: func(_, object any) { newest(object) }, DeleteFunc: k.event}
}

// event takes the newest version of an object, or the last one of an object that was deleted.
func (k *kind[T]) event(object any) {
	name, err := cache.DeletionHandlingObjectToName(object)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.all:
	case err != nil, len(k.named) >= maxNamed:
		k.all, k.named = true, nil
	default:
		k.named[name] = struct{}{}
	}
}

func (k *kind[T]) isReadable() bool { return k.readable == nil || k.readable() }

// silence says that no events will come.
func (k *kind[T]) silence() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.silent, k.all = true, true
}

// isSilent tells whether no events will come.
func (k *kind[T]) isSilent() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.silent
}

// take hands over what events have told and begins anew.
func (k *kind[T]) take() (named map[cache.ObjectName]struct{}, all bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	named, all = k.named, k.all
	k.named, k.all = map[cache.ObjectName]struct{}{}, k.silent
	return named, all
}

// changes says what has changed since the last call, in any order, each object once.
func (k *kind[T]) changes() []change[T] {
	if !k.isReadable() {
		return k.forget()
	}
	named, all := k.take() // first: what changes afterwards is told by another event
	if all {
		return k.compare()
	}
	out := make([]change[T], 0, len(named))
	for name := range named {
		var is T
		if stored, exists, err := k.store.GetByKey(name.String()); err == nil && exists {
			is, _ = stored.(T)
		}
		out = k.replace(out, name, is)
	}
	return out
}

// compare looks at all objects.
func (k *kind[T]) compare() (out []change[T]) {
	objects, listed := k.store.List(), 0
	if len(k.known) == 0 {
		k.known, out = make(map[cache.ObjectName]T, len(objects)), make([]change[T], 0, len(objects))
	}
	for _, stored := range objects {
		is, ok := stored.(T)
		if !ok {
			continue
		}
		listed++
		out = k.replace(out, cache.ObjectName{Namespace: is.GetNamespace(), Name: is.GetName()}, is)
	}
	if len(k.known) == listed {
		return out
	}
	for name := range k.known {
		if _, exists, err := k.store.GetByKey(name.String()); err == nil && !exists {
			var gone T
			out = k.replace(out, name, gone)
		}
	}
	return out
}

// replace notes what an object is now and appends the change, if it is one.
func (k *kind[T]) replace(to []change[T], name cache.ObjectName, is T) []change[T] {
	was := k.known[name]
	var none T
	switch is {
	case was:
		return to
	case none:
		delete(k.known, name)
	default:
		k.known[name] = is
	}
	return append(to, change[T]{was: was, is: is})
}

// forget makes the kind one of which nothing is known, and says of all objects that they are gone.
func (k *kind[T]) forget() []change[T] {
	k.mu.Lock()
	k.named, k.all = nil, true
	k.mu.Unlock()
	out := make([]change[T], 0, len(k.known))
	for _, was := range k.known {
		out = append(out, change[T]{was: was})
	}
	k.known = map[cache.ObjectName]T{}
	return out
}

// ordered are objects in order. The slice was handed out: it is replaced, never changed.
type ordered[T any] struct {
	compare func(a, b T) int
	all     []T
}

// update takes objects out and puts others in; both come in any order and lose it. Whether two objects are the same is up to compare.
func (o *ordered[T]) update(out, in []T) {
	if len(out) == 0 && len(in) == 0 {
		return
	}
	slices.SortFunc(out, o.compare)
	slices.SortFunc(in, o.compare)
	next, rest := make([]T, 0, len(o.all)+len(in)), o.all
	upTo := func(object T) (found bool) {
		at, found := slices.BinarySearchFunc(rest, object, o.compare)
		next, rest = append(next, rest[:at]...), rest[at:]
		return found
	}
	for len(out) > 0 || len(in) > 0 {
		if len(in) == 0 || len(out) > 0 && o.compare(out[0], in[0]) <= 0 {
			if upTo(out[0]) {
				rest = rest[1:]
			}
			out = out[1:]
			continue
		}
		upTo(in[0])
		next, in = append(next, in[0]), in[1:]
	}
	o.all = append(next, rest...)
}

// follow applies changes of objects that are listed as they are.
func follow[T apiObject](o *ordered[T], changes []change[T]) {
	var none T
	var out, in []T
	for _, c := range changes {
		if c.was != none {
			out = append(out, c.was)
		}
		if c.is != none {
			in = append(in, c.is)
		}
	}
	o.update(out, in)
}
