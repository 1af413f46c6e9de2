package document

import "fmt"

// key names an object of a stream.
type key struct{ kind, namespace, name string }

// String is how messages name it.
func (k key) String() string {
	if k.namespace == "" {
		return k.kind + " " + k.name
	}
	return k.kind + " " + k.namespace + "/" + k.name
}

// place is where an object stands: the index of its file, of its document, and, counted from 1, of the item in a list; zero: in none.
type place struct{ file, document, item int32 }

// places says where each object stands.
type places struct {
	files []string
	of    map[key]place
	// scenario is where the Scenario stands; the zero value if there is none.
	scenario place
}

func newPlaces() *places { return &places{of: map[key]place{}} }

// at reports about what stands in a place.
func (p *places) at(where place, to *collector) at {
	a := at{to: to, document: int(where.document)}
	if int(where.file) < len(p.files) {
		a.file = p.files[where.file]
	}
	if where.item > 0 {
		a.path = index("items", int(where.item)-1)
	}
	return a
}

// describe says in words where a place is.
func (p *places) describe(where place) string {
	a := p.at(where, nil)
	text := fmt.Sprintf("%s, document %d", a.file, a.document)
	if a.path != "" {
		text += ", " + a.path
	}
	return text
}
