package document

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/cache"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/defaults"
)

// Read reads the sources as one stream. The error, if there is one, is of type Errors: everything that is wrong with the stream, in its
// order, up to a limit; the input is not usable then. Warnings are about what is passed over. Objects of the API are stored as the
// controller's own caches would, without what nobody reads, and pods that are alike share memory: copy before changing. It blocks as the
// readers do.
func Read(sources []Source) (Input, []Warning, error) {
	r := newReader()
	for i, source := range sources {
		if r.errors.full() {
			break
		}
		r.read(i, source)
	}
	r.finish()
	if err := r.errors.err(); err != nil {
		return Input{}, r.warnings, err
	}
	return r.input, r.warnings, nil
}

// reader holds what was read of a stream so far.
type reader struct {
	input    Input
	errors   collector
	warnings []Warning

	kinds     map[header]apiKind
	warned    map[header]bool
	scenarios int
	trim      cache.TransformFunc
}

func newReader() *reader {
	r := &reader{
		kinds: map[header]apiKind{}, warned: map[header]bool{}, trim: observation.NewTransform(),
		input: Input{Scenario: defaultScenario(), places: newPlaces()},
	}
	for _, kind := range apiKinds() {
		r.kinds[kind.header] = kind
	}
	return r
}

func (r *reader) read(file int, source Source) {
	r.input.places.files = append(r.input.places.files, source.Name)
	report := func(document, item int, format string, args ...any) {
		where := place{file: int32(file), document: int32(document), item: int32(item)}
		r.input.places.at(where, &r.errors).bad("", format, args...)
	}
	take := func(p part) bool {
		where := place{file: int32(file), document: int32(p.document), item: int32(p.item)}
		r.part(p, where)
		return !r.errors.full()
	}
	newSplitter(source.Reader, take, report).run()
}

// part takes a document or an item of a list.
func (r *reader) part(p part, where place) {
	s := scope{reader: r, to: &r.input.Objects, where: where, at: r.input.places.at(where, &r.errors)}
	s.document(p.data, p.list)
}

// scope is where documents go: those of the stream, or those that an entry of a timeline applies.
type scope struct {
	at
	reader *reader
	to     *Objects
	where  place
	// timeline: the documents come into play later.
	timeline bool
	paths    map[key]string // where what an entry applies stands; nil: of a stream, places say it
}

// document takes one document of any kind. What it doesn't say of itself, the list that it is in does.
func (s scope) document(data []byte, list header) {
	h, ok := s.header(data, list)
	if !ok {
		return
	}
	switch {
	case h.APIVersion == APIVersion:
		s.ours(h, data)
	case strings.HasPrefix(h.APIVersion, Group+"/"):
		s.bad("apiVersion", "there is no version %q of the scenario format: want %q", h.APIVersion, APIVersion)
	case strings.HasSuffix(h.Kind, "List"):
		s.list(h, data)
	default:
		s.api(h, data)
	}
}

// describeJSON says what JSON that is not an object is; empty: it is an object, or not JSON.
func describeJSON(data []byte) string {
	var value any
	if json.Unmarshal(data, &value) != nil {
		return ""
	}
	if _, ok := value.(map[string]any); ok {
		return ""
	}
	return describe(value)
}

// list takes the items of a list that is within a timeline, or one without items.
func (s scope) list(h header, data []byte) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := utiljson.Unmarshal(data, &list); err != nil {
		s.bad("items", "want a list")
		return
	}
	for i, item := range list.Items {
		within := s
		within.at = s.in(index("items", i))
		within.document(item, h)
	}
}

// api takes an object of the API.
func (s scope) api(h header, data []byte) {
	kind, ok := s.reader.kinds[h]
	if !ok {
		s.passOver(h)
		return
	}
	o := kind.create()
	if err := utiljson.Unmarshal(data, o); err != nil {
		s.explain(data, reflect.TypeOf(o), false, err)
		return
	}
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as objects that an informer brings
	if !kind.namespaced {
		o.SetNamespace("")
	} else if o.GetNamespace() == "" {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	if !s.name(key{h.Kind, o.GetNamespace(), o.GetName()}) || !s.validate(o) {
		return
	}
	defaults.Object(o)
	if !s.timeline {
		s.reader.input.newest = latest(s.reader.input.newest, newestOf(o))
	}
	if _, err := s.reader.trim(o); err != nil {
		s.bad("", "storing it: %s", err)
		return
	}
	kind.add(s.to, o)
}

// passOver warns, once per kind, that it is not read.
func (s scope) passOver(h header) {
	r := s.reader
	if passedOver(h) || r.warned[h] {
		return
	}
	r.warned[h] = true
	r.warnings = append(r.warnings, Warning{
		File: s.file, Document: s.at.document, Message: short(fmt.Sprintf("objects of kind %s (%s) are ignored", oneLine(h.Kind), oneLine(h.APIVersion))),
	})
}

// name notes the name of an object and where it stands. It returns false after reporting what is wrong with it.
func (s scope) name(k key) bool {
	if k.name == "" {
		s.bad("metadata.name", "is required")
		return false
	}
	for _, part := range []struct{ field, value string }{{"metadata.name", k.name}, {"metadata.namespace", k.namespace}} {
		if length := len(part.value); length > validation.DNS1123SubdomainMaxLength {
			s.bad(part.field, "is %d characters long, want at most %d", length, validation.DNS1123SubdomainMaxLength)
			return false
		}
		if faults := content.IsPathSegmentName(part.value); len(faults) > 0 {
			s.bad(part.field, "%q is not a name: it %s", part.value, strings.Join(faults, ", "))
			return false
		}
	}
	if s.timeline {
		if first, ok := s.paths[k]; ok {
			s.bad("metadata.name", "%s is defined already: %s", k, first)
			return false
		}
		s.paths[k] = s.path
		return true
	}
	places := s.reader.input.places
	if first, ok := places.of[k]; ok {
		s.bad("metadata.name", "%s is defined already: %s", k, places.describe(first))
		return false
	}
	places.of[k] = s.where
	return true
}

// explain reports all fields that keep data from being of the type; err is what decoding it said.
func (s scope) explain(data []byte, t reflect.Type, strict bool, err error) {
	before := len(s.at.to.errors)
	value, treeErr := tree(data, s.at)
	if treeErr != nil {
		s.bad("", "%s", treeErr)
		return
	}
	conformer{strict: strict}.check(value, t, s.at)
	if err != nil && len(s.at.to.errors) == before {
		s.bad("", "%s", err)
	}
}

// finish does what needs the whole stream.
func (r *reader) finish() {
	defaults.SetStorageClass(r.input.PersistentVolumeClaims, r.input.StorageClasses)
	r.admitPods()
}

// admitPods gives pods the priorities of their classes, which may stand behind them.
func (r *reader) admitPods() {
	priorities := defaults.NewPriorities(r.input.PriorityClasses)
	for _, pod := range r.input.Pods {
		if err := priorities.Admit(&pod.Spec); err != nil {
			where := r.input.places.of[key{"Pod", pod.Namespace, pod.Name}]
			r.input.places.at(where, &r.errors).bad("spec.priorityClassName", "%s", err)
		}
	}
	for _, pods := range r.input.PodsDocuments {
		spec := pods.Spec.Template.Spec.DeepCopy()
		if err := priorities.Admit(spec); err != nil {
			where := r.input.places.of[key{KindPods, pods.Metadata.Namespace, pods.Metadata.Name}]
			r.input.places.at(where, &r.errors).bad("spec.template.spec.priorityClassName", "%s", err)
		}
	}
}
