package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// jsonDocument takes the next JSON object of the source.
func (s *splitter) jsonDocument() error {
	d := jsonDocument{in: s.in, emit: s.emit}
	defer func() { s.line += d.lines }()
	return s.object(&d)
}

// object takes one object, the items of a list one by one.
func (s *splitter) object(d *jsonDocument) error {
	s.found = true
	err := d.read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file ends within the document")
		}
		return err
	}
	if d.items == 0 {
		return s.hand(part{data: d.rest.Bytes()})
	}
	if !strings.HasSuffix(d.list.Kind, "List") {
		s.report(s.document, 0, "items: only a list has items, this is %s", article(d.list.Kind))
		return nil
	}
	for i, data := range d.held {
		if err := s.hand(part{data: data, item: d.heldItems[i], list: d.list}); err != nil {
			return err
		}
	}
	return nil
}

func article(kind string) string {
	if kind == "" {
		return "of no kind"
	}
	return fmt.Sprintf("a %q", kind)
}

// emit takes one item of the present document.
func (s *splitter) emit(data []byte, item int, list header) error {
	return s.hand(part{data: data, item: item, list: list})
}

func (s *splitter) hand(p part) error {
	p.document, s.found = s.document, true
	if !s.take(p) {
		return errStop
	}
	return nil
}

// jsonDocument reads one JSON object without holding more of it than one item, unless it is of a list that says what it is
// only after items that don't say it themselves.
type jsonDocument struct {
	in   *bufio.Reader
	emit func(data []byte, item int, list header) error

	rest    bytes.Buffer // the object without its items
	scratch []byte
	lines   int // how many lines ended
	list    header
	items   int // how many items, plus one if there is a list of them
	held    [][]byte
	// heldItems are the numbers of the held items.
	heldItems []int
}

// read reads from the opening brace to the closing one.
func (d *jsonDocument) read() error {
	if _, err := d.expect("{"); err != nil {
		return err
	}
	d.rest.WriteByte('{')
	for {
		c, err := d.expect(`"}`)
		if err != nil {
			return err
		}
		if c == '}' {
			break
		}
		if err := d.member(); err != nil {
			return err
		}
		if c, err = d.expect(",}"); err != nil {
			return err
		}
		if c == '}' {
			break
		}
	}
	d.rest.WriteByte('}')
	return nil
}

// member reads a field and its value; the quote that opens its name is read.
func (d *jsonDocument) member() error {
	name, err := d.value('"')
	if err != nil {
		return err
	}
	isItems := string(name) == `"items"`
	if !isItems {
		if d.rest.Len() > 1 {
			d.rest.WriteByte(',')
		}
		d.rest.Write(name)
		d.rest.WriteByte(':')
	}
	key := string(name)
	if _, err := d.expect(":"); err != nil {
		return err
	}
	c, err := d.next()
	if err != nil {
		return err
	}
	if isItems && c == '[' {
		return d.readItems()
	}
	value, err := d.value(c)
	if err != nil {
		return err
	}
	if isItems {
		if string(value) == "null" {
			d.items = max(d.items, 1)
			return nil
		}
		return errors.New("items: want a list")
	}
	d.rest.Write(value)
	d.note(key, value)
	return nil
}

// note remembers what the list says that it is.
func (d *jsonDocument) note(key string, value []byte) {
	var text string
	if key != `"kind"` && key != `"apiVersion"` || json.Unmarshal(value, &text) != nil {
		return
	}
	if key == `"kind"` {
		d.list.Kind = text
	} else {
		d.list.APIVersion = text
	}
}

// readItems reads the items; the bracket that opens the list is read.
func (d *jsonDocument) readItems() error {
	d.items = max(d.items, 1)
	for {
		c, err := d.next()
		if err != nil {
			return err
		}
		if c == ']' {
			return nil
		}
		data, err := d.value(c)
		if err != nil {
			return err
		}
		if err := d.item(data); err != nil {
			return err
		}
		if c, err = d.expect(",]"); err != nil {
			return err
		}
		if c == ']' {
			return nil
		}
	}
}

// item hands out an item, or holds it until it is known what it is.
func (d *jsonDocument) item(data []byte) error {
	number := d.items
	d.items++
	if d.list.Kind == "" || d.list.APIVersion == "" {
		if own, ok := glance(data); !ok && json.Unmarshal(data, &own) == nil && own.Kind == "" {
			d.held, d.heldItems = append(d.held, bytes.Clone(data)), append(d.heldItems, number)
			return nil
		}
	}
	return d.emit(data, number, d.list)
}

// next is the next byte that is not blank.
func (d *jsonDocument) next() (byte, error) {
	for {
		c, err := d.in.ReadByte()
		if err != nil {
			return 0, wrapRead(err)
		}
		if c == '\n' {
			d.lines++
		}
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c, nil
		}
	}
}

// expect is the next byte that is not blank, which must be one of these.
func (d *jsonDocument) expect(wanted string) (byte, error) {
	c, err := d.next()
	if err == nil && strings.IndexByte(wanted, c) < 0 {
		if c < ' ' || c > '~' {
			return c, errBinary
		}
		return c, fmt.Errorf("invalid JSON: %q stands where one of %q is expected", c, wanted)
	}
	return c, err
}

// value reads a value whose first byte is read. Whether it is sound within shows when it is decoded. The result is valid until the
// next call.
func (d *jsonDocument) value(first byte) ([]byte, error) {
	d.scratch = append(d.scratch[:0], first)
	switch first {
	case '{', '[':
		err := d.nested()
		d.lines += bytes.Count(d.scratch, []byte("\n"))
		return d.scratch, err
	case '"':
		return d.scratch, d.text()
	}
	for {
		c, err := d.in.ReadByte()
		if err != nil {
			return d.scratch, wrapRead(err)
		}
		if strings.IndexByte(",]}: \n\t\r", c) >= 0 {
			return d.scratch, d.in.UnreadByte()
		}
		d.scratch = append(d.scratch, c)
	}
}

// nested reads on to the bracket that closes the first one.
func (d *jsonDocument) nested() error {
	for depth := 1; depth > 0; {
		c, err := d.in.ReadByte()
		if err != nil {
			return wrapRead(err)
		}
		d.scratch = append(d.scratch, c)
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if err := d.text(); err != nil {
				return err
			}
		}
	}
	return nil
}

// text reads on to the quote that closes a text.
func (d *jsonDocument) text() error {
	for {
		chunk, err := d.in.ReadSlice('"')
		d.scratch = append(d.scratch, chunk...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return wrapRead(err)
		}
		if !escaped(d.scratch) {
			return nil
		}
	}
}

// escaped tells whether the quote at the end is part of the text: an odd number of backslashes is before it.
func escaped(text []byte) bool {
	before := text[:len(text)-1]
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}

// wrapRead leaves io.EOF as it is.
func wrapRead(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("reading: %w", err)
}
