package document

import (
	"fmt"
	"strings"
)

// Error is one thing that is wrong with the input.
type Error struct {
	// File is the name of the source, Document the index in it, counted from 1; 0: it is about the file.
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
	return strings.Join(strings.Fields(text+": "+e.Message), " ")
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
