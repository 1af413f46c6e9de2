package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// tree reads JSON into maps, lists, texts, truth values and json.Numbers, and reports fields that stand twice in one object.
func tree(data []byte, report at) (any, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return treeValue(d, report, maxDepth)
}

// maxDepth bounds how deep objects may be nested; none of ours or of the API come near.
const maxDepth = 200

func treeValue(d *json.Decoder, report at, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("objects and lists are nested deeper than %d", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	switch token {
	case json.Delim('{'):
		return treeObject(d, report, depth-1)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			item, err := treeValue(d, report.in(index("", len(list))), depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := d.Token()
		return list, err
	default:
		return token, nil
	}
}

func treeObject(d *json.Decoder, report at, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("reading JSON: %w", err)
		}
		name, _ := token.(string)
		if _, ok := object[name]; ok {
			report.bad(field(name), "stands twice")
		}
		if object[name], err = treeValue(d, report.in(field(name)), depth); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return object, err
}

// field is the part of a path that names a field. What might be taken for more than one part is quoted.
func field(name string) string {
	if name == "" || len(name) > maxPathPart || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`."[]:`, r) }) {
		return entry(name)
	}
	return name
}

// entry is the part of a path that names an entry of a map.
func entry(name string) string {
	if len(name) > maxPathPart {
		name = name[:maxPathPart] + "..."
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"[]`, r) }) {
		name = strconv.Quote(name)
	}
	return "[" + name + "]"
}

// maxPathPart is how much of a name is shown, so that an error stays a line.
const maxPathPart = 300

func index(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
