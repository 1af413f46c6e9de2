package awstest

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strconv"
)

// element is a piece of an answer. One without a name is left out, so that optional parts need no branches.
type element struct {
	name     string
	attr     string // xmlns of the root, else empty
	text     string
	children []element
}

// node is an element with children.
func node(name string, children ...element) element { return element{name: name, children: children} }

// text is an element with text, also an empty one.
func text(name, value string) element { return element{name: name, text: value} }

// optional is an element with text, or nothing when the text is empty.
func optional(name, value string) element {
	if value == "" {
		return element{}
	}
	return text(name, value)
}

// number is an element with a number.
func number[T int | int64](name string, value T) element {
	return text(name, strconv.FormatInt(int64(value), 10))
}

// positive is an element with a number, or nothing for zero.
func positive(name string, value int) element {
	if value == 0 {
		return element{}
	}
	return number(name, value)
}

// boolean is an element with true or false.
func boolean(name string, value bool) element { return text(name, strconv.FormatBool(value)) }

// texts is a list of texts; nothing when there are none.
func texts[T ~string](name, item string, values []T) element {
	if len(values) == 0 {
		return element{}
	}
	children := make([]element, 0, len(values))
	for _, v := range values {
		children = append(children, text(item, string(v)))
	}
	return node(name, children...)
}

// without removes all elements of the given names, at any depth.
func (e element) without(names []string) element {
	if len(names) == 0 {
		return e
	}
	kept := make([]element, 0, len(e.children))
	for _, child := range e.children {
		if !slices.Contains(names, child.name) {
			kept = append(kept, child.without(names))
		}
	}
	e.children = kept
	return e
}

// document renders the element as a whole XML document.
func (e element) document() []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e.write(&b)
	return b.Bytes()
}

func (e element) write(b *bytes.Buffer) {
	if e.name == "" {
		return
	}
	b.WriteByte('<')
	b.WriteString(e.name)
	if e.attr != "" {
		b.WriteString(` xmlns="`)
		escape(b, e.attr)
		b.WriteByte('"')
	}
	b.WriteByte('>')
	escape(b, e.text)
	for _, child := range e.children {
		child.write(b)
	}
	b.WriteString("</")
	b.WriteString(e.name)
	b.WriteByte('>')
}

// escape writes character data. A bytes.Buffer never fails to take it.
func escape(b *bytes.Buffer, s string) {
	if err := xml.EscapeText(b, []byte(s)); err != nil {
		b.WriteByte('?')
	}
}
