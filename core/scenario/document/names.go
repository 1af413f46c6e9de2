package document

import "strings"

// names are those of the objects that there are at some time of a play.
type names struct {
	places *places
	// added and removed change what the stream says.
	added, removed map[key]bool
	// makers make nodes and pods named after them with a number, as the key says that names the maker.
	makers map[key]bool
}

func newNames(places *places) *names {
	return &names{places: places, added: map[key]bool{}, removed: map[key]bool{}, makers: map[key]bool{}}
}

func (n *names) add(k key) { n.added[k] = true }

func (n *names) remove(k key) {
	delete(n.added, k)
	n.removed[k] = true
}

// makes notes that nodes or pods are made that are named like the key and a number.
func (n *names) makes(k key) { n.makers[k] = true }

// has tells whether there is such an object.
func (n *names) has(k key) bool {
	if n.added[k] {
		return true
	}
	if n.removed[k] {
		return false
	}
	_, ok := n.places.of[k]
	return ok
}

// may tells whether there is or may come such an object: nodes and pods come under numbers.
func (n *names) may(k key) bool {
	if n.has(k) {
		return true
	}
	i := strings.LastIndexByte(k.name, '-')
	if i < 0 || i == len(k.name)-1 || strings.Trim(k.name[i+1:], "0123456789") != "" {
		return false
	}
	k.name = k.name[:i]
	return n.makers[k]
}
