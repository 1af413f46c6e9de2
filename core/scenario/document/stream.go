package document

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// part is one object of a stream as JSON: a document, or an item of a list. It is valid until the next part is asked for.
type part struct {
	data []byte
	// document counts from 1; item too, zero: the part is the document itself.
	document, item int
	// list is of which list the item is, as far as it is known; its own words go before.
	list header
}

// splitter splits a source into parts, document by document, and hands each to take, which returns false to end it.
type splitter struct {
	in       *bufio.Reader
	line     int  // of the next byte, counted from 1
	document int  // of the present document
	found    bool // there was something in it, right or wrong
	report   func(document, item int, format string, args ...any)
	take     func(part) bool
}

// errStop ends splitting because nobody wants more.
var errStop = errors.New("stopped")

// bufferSize of reading; what has to be looked at to tell JSON from YAML fits in it.
const bufferSize = 64 << 10

func newSplitter(in io.Reader, take func(part) bool, report func(document, item int, format string, args ...any)) *splitter {
	s := &splitter{in: bufio.NewReaderSize(in, bufferSize), line: 1, take: take}
	s.report = func(document, item int, format string, args ...any) {
		s.found = true
		report(document, item, format, args...)
	}
	return s
}

// run reads to the end, or to what makes the rest unreadable, which is reported.
func (s *splitter) run() {
	if mark, _ := s.in.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = s.in.Discard(3)
	}
	for {
		found, err := s.skipToDocument()
		if err != nil {
			s.fail(err)
			return
		}
		if !found {
			if !s.found {
				s.report(0, 0, "there is nothing in it: want documents in YAML or JSON")
			}
			return
		}
		s.document++
		if err := s.next(); err != nil {
			s.fail(err)
			return
		}
	}
}

// next takes the document that starts here.
func (s *splitter) next() error {
	ahead, _ := s.in.Peek(1024)
	ahead = bytes.TrimLeft(ahead, blanks)
	switch {
	case bytes.HasPrefix(ahead, []byte("[")): // a list has no end that could be found without reading all of it
		return errors.New("want an object with apiVersion and kind, got a list; the file is not read on")
	case startsJSON(ahead):
		return s.jsonDocument()
	default:
		return s.yamlDocument()
	}
}

// fail reports what ended the reading.
func (s *splitter) fail(err error) {
	if !errors.Is(err, errStop) {
		s.report(s.document, 0, "%s", err)
	}
}

// errBinary is what a file that isn't text is told.
var errBinary = errors.New("the file is not text: want YAML or JSON in UTF-8")

// readLine appends the next line to buf, with its end. io.EOF comes with the last line, which may be empty.
func (s *splitter) readLine(buf []byte) ([]byte, error) {
	start := len(buf)
	for {
		chunk, err := s.in.ReadSlice('\n')
		buf = append(buf, chunk...)
		if errors.Is(err, bufio.ErrBufferFull) {
			if bytes.IndexByte(chunk, 0) >= 0 { // binary files may never end a line
				return buf, errBinary
			}
			continue
		}
		s.line++
		if err != nil && !errors.Is(err, io.EOF) {
			return buf, fmt.Errorf("reading: %w", err)
		}
		if !isText(buf[start:]) {
			return buf, errBinary
		}
		return buf, err
	}
}

// isText tells whether a line has neither control characters, which YAML and JSON forbid, nor anything but UTF-8.
func isText(line []byte) bool {
	for _, b := range line {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' {
			return false
		}
	}
	return utf8.Valid(line)
}

// skipToDocument skips what is between documents: empty lines, comments, markers, directives. It returns false at the end of the file.
func (s *splitter) skipToDocument() (found bool, err error) {
	for {
		first, err := s.in.Peek(1)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return false, nil
			}
			return false, fmt.Errorf("reading: %w", err)
		}
		switch first[0] {
		case '\n':
			s.line++
			_, _ = s.in.Discard(1)
		case ' ', '\r', '\t':
			if s.skipBlank() {
				return true, nil
			}
		case '#', '%':
			if _, err := s.readLine(nil); err != nil && !errors.Is(err, io.EOF) {
				return false, err
			}
		case '-', '.':
			if !s.skipMarker() {
				return true, nil
			}
		default:
			return true, nil
		}
	}
}

// skipBlank skips a line of blanks, or returns true if the line that starts with a blank holds something. Its blanks stay: they are
// indentation.
func (s *splitter) skipBlank() (found bool) {
	for n := 1; ; n++ {
		ahead, err := s.in.Peek(n)
		if len(ahead) < n {
			if errors.Is(err, io.EOF) {
				_, _ = s.in.Discard(len(ahead))
				return false
			}
			return true // a line of nothing but blanks, longer than the buffer
		}
		switch ahead[n-1] {
		case ' ', '\t', '\r':
		case '\n', '#':
			_, _ = s.in.Discard(n - 1)
			return false
		default:
			return true
		}
	}
}

// skipMarker skips a marker between documents, "---" or "...", but not what follows on its line.
func (s *splitter) skipMarker() bool {
	ahead, _ := s.in.Peek(4)
	if !isMarker(ahead) {
		return false
	}
	_, _ = s.in.Discard(3)
	return true
}

func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || bytes.IndexByte([]byte(" \t\r\n"), line[3]) >= 0
}

// startsJSON tells whether a document is a JSON object: a brace and then a quote, or nothing.
func startsJSON(ahead []byte) bool {
	if len(ahead) == 0 || ahead[0] != '{' {
		return false
	}
	ahead = bytes.TrimLeft(ahead[1:], blanks)
	return len(ahead) == 0 || ahead[0] == '"' || ahead[0] == '}'
}
