package document

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// splitSize is the size from which on a YAML list is taken item by item. Below it the whole document is parsed, and anchors may refer
// from one item to another.
const splitSize = 1 << 20

// yamlDocument takes the next YAML document of the source.
func (s *splitter) yamlDocument() error {
	d := yamlDocument{splitter: s, start: s.line, limit: splitSize}
	return d.read()
}

// yamlDocument collects the lines of a document. A large list, as kubectl writes them, is split where its items start: no line within
// an item is indented as little as the dash before it.
type yamlDocument struct {
	*splitter
	start int // the line that the document starts in
	limit int

	text     []byte // what is not yet handed out
	itemsEnd int    // where the line "items:" ends in text; zero: there is none

	dash      int // how far the dashes before the items are indented; -1: the list is not being split
	items     int
	itemStart int    // the line that the present item starts in
	header    []byte // the document without its items
	inItem    bool   // the first item has started
	behind    bool   // the items are over
}

func (d *yamlDocument) read() error {
	d.dash = -1
	for {
		before, line := len(d.text), d.line
		if ahead, _ := d.in.Peek(4); before > 0 && isMarker(ahead) {
			break
		}
		var err error
		d.text, err = d.readLine(d.text)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if split := d.addLine(before, line); split != nil {
			return split
		}
		if err != nil {
			break
		}
	}
	return d.finish()
}

// addLine looks at the line that text has from before on.
func (d *yamlDocument) addLine(before, number int) error {
	line := d.text[before:]
	if d.dash >= 0 {
		return d.splitAt(before, number)
	}
	if d.itemsEnd == 0 && string(bytes.TrimRight(line, " \r\n")) == "items:" {
		d.itemsEnd = len(d.text)
	}
	if len(d.text) < d.limit || d.itemsEnd == 0 {
		return nil
	}
	return d.startSplitting()
}

// startSplitting goes over what was collected of a list that turned out to be large.
func (d *yamlDocument) startSplitting() error {
	collected := d.text
	d.header = append(d.header, collected[:d.itemsEnd]...)
	number := d.start + bytes.Count(d.header, []byte("\n"))
	d.text = nil
	d.itemStart = number
	d.dash = 0
	for first := true; len(collected) > d.itemsEnd; number++ {
		line, rest := cutLine(collected[d.itemsEnd:])
		if indent, isItem := dashOf(line); first && isItem {
			d.dash, first = indent, false
		}
		before := len(d.text)
		d.text = append(d.text, line...)
		collected, d.itemsEnd = rest, 0
		if err := d.splitAt(before, number); err != nil {
			return err
		}
	}
	d.itemsEnd = -1 // not to be looked for any more
	return nil
}

// splitAt hands out an item if the line from before on starts the next one, and puts lines of the list itself where they belong.
func (d *yamlDocument) splitAt(before, number int) error {
	line := d.text[before:]
	if d.behind {
		d.header = append(d.header, line...)
		d.text = d.text[:before]
		return nil
	}
	indent, isItem := dashOf(line)
	startsItem := isItem && indent == d.dash
	goesOn := startsItem || line[0] == ' ' || line[0] == '#' || len(bytes.TrimSpace(line)) == 0
	if goesOn && !startsItem {
		return nil
	}
	line = bytes.Clone(line)
	d.text = d.text[:before]
	if err := d.handItem(); err != nil {
		return err
	}
	if !startsItem {
		d.header, d.behind, d.inItem = append(d.header, line...), true, false
		return nil
	}
	line[indent], d.inItem = ' ', true
	d.text, d.itemStart = append(d.text, line...), number
	return nil
}

// handItem hands out the item that was collected, if there is one.
func (d *yamlDocument) handItem() error {
	text := d.text
	d.text = d.text[:0]
	if !d.inItem { // comments before the first one
		return nil
	}
	d.items++
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		d.report(d.document, d.items, "%s", yamlMessage(err, d.itemStart))
		return nil
	}
	return d.hand(part{data: data, item: d.items, list: d.kind()})
}

// kind is what the list says that it is, as far as it has said it. Where it says it after its items, they must say it themselves, as
// those of kubectl do.
func (d *yamlDocument) kind() header {
	var h header
	for line := range strings.Lines(string(d.header)) {
		if value, ok := strings.CutPrefix(line, "kind:"); ok {
			h.Kind = strings.Trim(value, " \"'\r\n")
		}
		if value, ok := strings.CutPrefix(line, "apiVersion:"); ok {
			h.APIVersion = strings.Trim(value, " \"'\r\n")
		}
	}
	return h
}

// finish takes what is left at the end of the document.
func (d *yamlDocument) finish() error {
	if d.dash >= 0 {
		if err := d.handItem(); err != nil {
			return err
		}
		d.text = d.header
	}
	data, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		d.report(d.document, 0, "%s", yamlMessage(err, d.start))
		return nil
	}
	if len(data) == 0 || data[0] != '{' {
		if string(data) == "null" {
			return nil
		}
		d.report(d.document, 0, "want an object with apiVersion and kind")
		return nil
	}
	d.text = nil
	object := jsonDocument{in: bufio.NewReader(bytes.NewReader(data)), emit: d.emit}
	if d.dash >= 0 {
		return d.checkSplit(&object)
	}
	return d.object(&object)
}

// checkSplit makes sure that what was split is a list.
func (d *yamlDocument) checkSplit(object *jsonDocument) error {
	if err := object.read(); err != nil {
		return err
	}
	if !strings.HasSuffix(object.list.Kind, "List") {
		d.report(d.document, 0, "items: only a list has items, this is %s", article(object.list.Kind))
	}
	return nil
}

// cutLine cuts the first line off, with its end.
func cutLine(text []byte) (line, rest []byte) {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, nil
}

// dashOf tells whether a line starts an item of a list, and how far its dash is indented.
func dashOf(line []byte) (indent int, ok bool) {
	text := bytes.TrimLeft(line, " ")
	indent = len(line) - len(text)
	return indent, len(text) > 0 && text[0] == '-' && (len(text) == 1 || bytes.IndexByte([]byte(" \r\n"), text[1]) >= 0)
}

// yamlMessage is the message of the YAML library, with lines of the file in place of those of the text that starts in the given line.
func yamlMessage(err error, start int) string {
	text := err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:\n"} {
		text = strings.TrimPrefix(text, prefix)
	}
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "line ") {
		text = "line 1: " + text // which the library leaves out
	}
	return regexp.MustCompile(`line \d+`).ReplaceAllStringFunc(text, func(found string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(found, "line "))
		if err != nil {
			return found
		}
		return "line " + strconv.Itoa(start+n-1)
	})
}
