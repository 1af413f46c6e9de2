package scenario

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes each line as one JSON object on a line of its own.
type JSON struct {
	out *json.Encoder
	err error
}

// NewJSON returns a JSON that writes to out.
func NewJSON(out io.Writer) *JSON {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return &JSON{out: encoder}
}

// Tell writes a line. After an error it does nothing.
func (j *JSON) Tell(l Line) {
	if j.err == nil {
		j.err = j.out.Encode(l)
	}
}

// Close returns the first error of writing; nil: everything is written.
func (j *JSON) Close() error {
	if j.err != nil {
		return fmt.Errorf("writing the lines: %w", j.err)
	}
	return nil
}
