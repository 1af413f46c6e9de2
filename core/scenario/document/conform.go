package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// conformer finds all fields of a tree that don't conform to a Go type. Decoding itself stops at the first one and often can't name it.
type conformer struct {
	// strict: fields that the type doesn't have are wrong too.
	strict bool
}

// check reports what doesn't conform. null conforms to everything, as in decoding.
func (c conformer) check(value any, t reflect.Type, report at) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil || t == reflect.TypeFor[json.RawMessage]() {
		return
	}
	if _, ok := reflect.New(t).Interface().(json.Unmarshaler); ok {
		special(value, t, report)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		c.object(value, t, report)
	case reflect.Map:
		entries, ok := value.(map[string]any)
		if !ok {
			report.bad("", "want an object, got %s", describe(value))
			return
		}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			c.check(entries[name], t.Elem(), report.in(entry(name)))
		}
	case reflect.Slice:
		c.list(value, t, report)
	default:
		scalar(value, t, report)
	}
}

func (c conformer) object(value any, t reflect.Type, report at) {
	entries, ok := value.(map[string]any)
	if !ok {
		report.bad("", "want an object, got %s", describe(value))
		return
	}
	fields := fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if f, ok := fields[name]; ok {
			c.check(entries[name], f, report.in(field(name)))
		} else if c.strict {
			report.bad(field(name), "there is no such field")
		}
	}
}

func (c conformer) list(value any, t reflect.Type, report at) {
	if t.Elem().Kind() == reflect.Uint8 {
		if _, ok := value.(string); !ok {
			report.bad("", "want a string, got %s", describe(value))
		}
		return
	}
	items, ok := value.([]any)
	if !ok {
		report.bad("", "want a list, got %s", describe(value))
		return
	}
	for i, item := range items {
		c.check(item, t.Elem(), report.in(index("", i)))
	}
}

// fieldsOf are the types of a struct's fields by their names in JSON, those of embedded structs among them.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			maps.Copy(fields, fieldsOf(embedded))
		case f.IsExported() && name != "" && name != "-":
			fields[name] = f.Type
		}
	}
	return fields
}

// special reports a value that a type with a decoder of its own doesn't take.
func special(value any, t reflect.Type, report at) {
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, reflect.New(t).Interface())
	}
	if err == nil {
		return
	}
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		report.bad("", "%s is not a quantity: want one as \"500m\", 4 or \"16Gi\"", show(value))
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		report.bad("", "%s is not a time: want one as \"2026-01-01T00:00:00Z\"", show(value))
	case reflect.TypeFor[intstr.IntOrString]():
		report.bad("", "%s is neither a number nor a percentage", show(value))
	default:
		report.bad("", "%s", err)
	}
}

func scalar(value any, t reflect.Type, report at) {
	switch v := value.(type) {
	case string:
		if t.Kind() == reflect.String {
			return
		}
	case bool:
		if t.Kind() == reflect.Bool {
			return
		}
	case json.Number:
		if number(v, t, report) {
			return
		}
	}
	report.bad("", "want %s, got %s", wanted(t), describe(value))
}

// number reports a number that doesn't fit, and returns whether the type is one of numbers at all.
func number(v json.Number, t reflect.Type, report at) bool {
	var err error
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		_, err = strconv.ParseInt(v.String(), 10, t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		_, err = strconv.ParseUint(v.String(), 10, t.Bits())
	case reflect.Float32, reflect.Float64:
		_, err = strconv.ParseFloat(v.String(), t.Bits())
	default:
		return false
	}
	if err != nil {
		report.bad("", "%s does not fit: want %s", v, wanted(t))
	}
	return true
}

// wanted says in words what a type takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	default:
		return "a whole number"
	}
}

// describe says in words what a value is.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "the string " + show(v)
	case json.Number, float64, int64:
		return "the number " + show(v)
	default:
		return show(value)
	}
}

// maxShown is how much of a value is shown, so that an error stays a line.
const maxShown = 60

func show(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "something"
	}
	if len(data) > maxShown {
		return strings.ToValidUTF8(string(data[:maxShown]), "") + "..."
	}
	return string(data)
}
