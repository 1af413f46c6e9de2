package document

import (
	"fmt"
	"strings"
)

// Error is one thing that is wrong with the input.
type Error struct {
	// File is the name of the source; Document the index in it, counted from 1 without empty ones; 0: it is about the file.
	File     string
	Document int
	// Field is the path to the field, as spec.template.status.capacity[cpu]; empty: it is about the whole document.
	Field   string
	Message string
}

// Error is one line.
func (e Error) Error() string {
	text := e.File
	if e.Document > 0 {
		text += fmt.Sprintf(": document %d", e.Document)
	}
	if e.Field != "" {
		text += ": " + e.Field
	}
	return text + ": " + e.Message
}

// Errors are all that is wrong with the input, up to a limit. The caller prints them line by line and plays nothing.
type Errors []Error

// Error is one line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// maxErrors is how many errors are collected: beyond that, a person reads no further.
const maxErrors = 50

// collector collects errors up to the limit. The last one then says that there are more.
type collector struct{ errors Errors }

func (c *collector) full() bool { return len(c.errors) > maxErrors }

func (c *collector) add(e Error) {
	switch {
	case c.full():
		return
	case len(c.errors) == maxErrors:
		e.Field, e.Message = "", fmt.Sprintf("there are more errors than these %d", maxErrors)
	default:
		e.Field, e.Message = short(e.Field), short(oneLine(e.Message))
	}
	c.errors = append(c.errors, e)
}

// err is what was collected; nil if that is nothing.
func (c *collector) err() error {
	if len(c.errors) == 0 {
		return nil
	}
	return c.errors
}

// oneLine lets a message of a library stand on one line, however many it had.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSpace(text))
}

// The longest text that a person reads, and what is left of a longer one on either side.
const (
	maxText  = 500
	textHead = 300
	textTail = 150
)

// short leaves out the middle of a text that is too long.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:textHead], "") + " [...] " + strings.ToValidUTF8(text[len(text)-textTail:], "")
}

// at reports errors about one document, or about a part of one.
type at struct {
	to       *collector
	file     string
	document int
	path     string
}

// bad reports that a field is wrong; empty: the whole.
func (a at) bad(field, format string, args ...any) {
	a.to.add(Error{File: a.file, Document: a.document, Field: join(a.path, field), Message: fmt.Sprintf(format, args...)})
}

// in reports about a part.
func (a at) in(field string) at {
	a.path = join(a.path, field)
	return a
}

// join puts two parts of a path together; each may be empty, and the second may be an index.
func join(path, field string) string {
	if path == "" || field == "" || field[0] == '[' {
		return path + field
	}
	return path + "." + field
}
