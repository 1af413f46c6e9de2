package document

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator/defaults"
)

// defaultStart is when a play begins whose stream has no dates.
func defaultStart() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// How old things are at the start that don't say.
const (
	objectAge = time.Hour
	podAge    = 10 * time.Minute
)

// Resolve makes the cluster at the start of the play. The error, if there is one, is of type Errors: what is wrong with how the objects
// belong together, and with what the timeline and the expectations name. The cluster takes over the objects of the input.
func Resolve(in Input) (Cluster, error) {
	places := in.places
	if places == nil {
		places = newPlaces()
	}
	errs := &collector{}
	c := Cluster{Scenario: in.Scenario, Start: startOf(in)}
	known := newNames(places)
	f := &finisher{
		at: c.Start, objectAge: objectAge, podAge: podAge,
		groups: in.NodeGroups, priorities: defaults.NewPriorities(in.PriorityClasses),
		where: func(k key) at { return places.at(places.of[k], errs) },
		known: known,
	}
	c.Finished = f.finish(in.Objects)
	ownerCycles(&c.Objects, f.where)
	plan := planChecker{
		names: known, at: c.Start, groups: in.NodeGroups, classes: in.PriorityClasses,
		report: places.at(places.scenario, errs).in("spec"),
	}
	plan.check(in.Scenario)
	if err := errs.err(); err != nil {
		return Cluster{}, err
	}
	return c, nil
}

// startOf is the time given, else the newest time stamp of the stream, up to a second that is complete, else the usual.
func startOf(in Input) time.Time {
	switch {
	case in.Scenario.Start != nil:
		return *in.Scenario.Start
	case in.newest.IsZero():
		return defaultStart()
	default:
		start := in.newest.UTC().Truncate(time.Second)
		if start.Before(in.newest) {
			start = start.Add(time.Second)
		}
		return start
	}
}

// Finish makes finished objects of those that an entry of the timeline applies. Its own are not changed, so that an entry may happen
// again. The error, if there is one, is of type Errors; for entries of a cluster that Resolve took there is none, unless a group lost its
// template in the meantime.
func Finish(objects *Objects, around Surroundings) (Finished, error) {
	errs := &collector{}
	own := copyOf(objects)
	f := &finisher{
		at: around.At, groups: append(append([]*NodeGroup{}, own.NodeGroups...), around.NodeGroups...),
		priorities: defaults.NewPriorities(append(append(around.PriorityClasses[:0:0], around.PriorityClasses...), own.PriorityClasses...)),
		where:      func(k key) at { return at{to: errs, file: "timeline", path: k.String()} },
	}
	finished := f.finish(own)
	if err := errs.err(); err != nil {
		return Finished{}, err
	}
	return finished, nil
}

// copyOf copies objects deeply.
func copyOf(objects *Objects) Objects {
	var out Objects
	objects.each(func(kind apiKind, o object) {
		if copied, ok := o.DeepCopyObject().(object); ok {
			kind.add(&out, copied)
		}
	})
	out.NodeGroups, out.PodsDocuments = objects.NodeGroups, objects.PodsDocuments // never changed
	return out
}

// finisher makes finished objects.
type finisher struct {
	// at is the time; objects that don't say are so much older.
	at                time.Time
	objectAge, podAge time.Duration
	// groups are all that nodes may belong to; of several of one name, the first counts.
	groups     []*NodeGroup
	priorities defaults.Priorities
	// where reports about an object.
	where func(key) at
	// known are the names of what there is; nil: not looked after. What is made is added.
	known *names
	// replaces: what is made may be there already.
	replaces bool

	out Finished
}

func (f *finisher) finish(objects Objects) Finished {
	f.out.Objects = objects
	f.nodes()
	f.ownPods()
	f.podSets()
	f.pods()
	f.others()
	f.namespaces()
	bindClaims(&f.out.Objects)
	f.ownerIDs()
	return f.out
}

// others gives all objects an identity and an age.
func (f *finisher) others() {
	f.out.each(func(kind apiKind, o object) {
		age := f.objectAge
		if kind.Kind == "Pod" {
			age = f.podAge
		}
		f.identify(kind.Kind, o, age)
	})
}

func (f *finisher) identify(kind string, o object, age time.Duration) {
	if o.GetUID() == "" {
		o.SetUID(uid(kind, o.GetNamespace(), o.GetName()))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(f.at.Add(-age)))
	}
}

// uid is the identity of an object that has none: two of one kind and name are never there at once.
func uid(kind, namespace, name string) types.UID {
	return types.UID(kind + "/" + cmp.Or(namespace, "-") + "/" + name)
}

// add notes the name of an object that was made, and reports if it is taken.
func (f *finisher) add(k, because key) bool {
	if f.known == nil {
		return true
	}
	if f.known.has(k) && !f.replaces {
		f.where(because).bad("metadata.name", "makes %s, which is defined already", k)
		return false
	}
	f.known.add(k)
	return true
}

// namespaces makes those that objects are in and that nobody defined.
func (f *finisher) namespaces() {
	have := map[string]bool{}
	for _, namespace := range f.out.Namespaces {
		have[namespace.Name] = true
	}
	want := func(name string) {
		if name == "" || have[name] {
			return
		}
		have[name] = true
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		defaults.Object(namespace)
		f.identify("Namespace", namespace, f.objectAge)
		f.out.Namespaces = append(f.out.Namespaces, namespace)
	}
	if f.objectAge > 0 { // the start of a play: these are in every cluster
		want(metav1.NamespaceDefault)
		want(metav1.NamespaceSystem)
	}
	f.out.each(func(_ apiKind, o object) { want(o.GetNamespace()) })
}

// ownerIDs completes references to owners that name them without their identity.
func (f *finisher) ownerIDs() {
	var ids map[key]types.UID
	f.out.each(func(_ apiKind, o object) {
		refs := o.GetOwnerReferences()
		for i := range refs {
			if refs[i].UID != "" {
				continue
			}
			if ids == nil {
				ids = f.identities()
			}
			id, ok := ids[key{refs[i].Kind, o.GetNamespace(), refs[i].Name}]
			if !ok {
				id = uid(refs[i].Kind, o.GetNamespace(), refs[i].Name)
			}
			refs = append(refs[:0:0], refs...) // they may be shared
			refs[i].UID = id
			o.SetOwnerReferences(refs)
		}
	})
}

// identities are those of the objects that can own others, except pods, which hardly ever do.
func (f *finisher) identities() map[key]types.UID {
	ids := map[key]types.UID{}
	f.out.each(func(kind apiKind, o object) {
		if kind.Kind != "Pod" {
			ids[key{kind.Kind, o.GetNamespace(), o.GetName()}] = o.GetUID()
		}
	})
	return ids
}

// bindClaims completes both sides of claims and volumes of which one names the other, as the controller that binds them does.
func bindClaims(o *Objects) {
	if len(o.PersistentVolumes) == 0 {
		return
	}
	volumes, claims := map[string]*corev1.PersistentVolume{}, map[key]*corev1.PersistentVolumeClaim{}
	for _, volume := range o.PersistentVolumes {
		volumes[volume.Name] = volume
	}
	for _, claim := range o.PersistentVolumeClaims {
		claims[key{"", claim.Namespace, claim.Name}] = claim
	}
	for _, volume := range o.PersistentVolumes {
		if ref := volume.Spec.ClaimRef; ref != nil {
			if claim := claims[key{"", ref.Namespace, ref.Name}]; claim != nil && claim.Spec.VolumeName == "" {
				claim.Spec.VolumeName = volume.Name
			}
		}
	}
	for _, claim := range o.PersistentVolumeClaims {
		if volume := volumes[claim.Spec.VolumeName]; volume != nil {
			bind(volume, claim)
		}
	}
}

// boundAnnotation says that the binding of a claim is complete.
const boundAnnotation = "pv.kubernetes.io/bind-completed"

func bind(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) {
	if ref := volume.Spec.ClaimRef; ref != nil && (ref.Namespace != claim.Namespace || ref.Name != claim.Name) {
		return // the volume is another claim's
	}
	if claim.Status.Phase == corev1.ClaimLost {
		return
	}
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, boundAnnotation, "yes")
	claim.Status.Phase, volume.Status.Phase = corev1.ClaimBound, corev1.VolumeBound
	if volume.Spec.ClaimRef == nil {
		volume.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name}
	}
	if volume.Spec.ClaimRef.UID == "" {
		volume.Spec.ClaimRef.UID = claim.UID
	}
}
