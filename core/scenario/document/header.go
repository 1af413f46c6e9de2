package document

import (
	"bytes"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// header says what an object is.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// header reads what the document is; what it doesn't say, the list does. Errors in it are reported.
func (s scope) header(data []byte, list header) (h header, ok bool) {
	if h, ok := glance(data); ok {
		return h, true
	}
	var own struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
	}
	if err := utiljson.Unmarshal(data, &own); err != nil {
		if what := describeJSON(data); what != "" {
			s.bad("", "want an object with apiVersion and kind, got %s", what)
		} else {
			s.bad("", "reading JSON: %s", err)
		}
		return header{}, false
	}
	inherited := header{Kind: strings.TrimSuffix(list.Kind, "List"), APIVersion: list.APIVersion}
	if inherited.Kind == "" {
		inherited.APIVersion = "" // a plain List says nothing about its items
	}
	h.APIVersion, ok = textOr(s.at, "apiVersion", own.APIVersion, inherited.APIVersion)
	if h.Kind, _ = textOr(s.at, "kind", own.Kind, inherited.Kind); h.Kind == "" {
		ok = false
	}
	return h, ok
}

// textOr is the text, or the other one where there is none. Without any, that is reported.
func textOr(report at, name string, value any, otherwise string) (text string, ok bool) {
	if value == nil || value == "" {
		value = otherwise
	}
	text, ok = value.(string)
	switch {
	case !ok:
		report.bad(name, "want a string, got %s", describe(value))
	case text == "":
		report.bad(name, "is required")
	}
	return text, ok && text != ""
}

// glance reads what an object is without parsing all of it: most say it first. ok is false where that is not enough.
func glance(data []byte) (h header, ok bool) {
	rest := bytes.TrimLeft(data, blanks)
	if len(rest) == 0 || rest[0] != '{' {
		return header{}, false
	}
	rest = bytes.TrimLeft(rest[1:], blanks)
	for len(rest) > 0 && rest[0] == '"' {
		var name, value []byte
		if name, rest, ok = cutText(rest); !ok {
			break
		}
		rest = bytes.TrimLeft(rest, blanks)
		if len(rest) == 0 || rest[0] != ':' {
			break
		}
		rest = bytes.TrimLeft(rest[1:], blanks)
		if value, rest, ok = cutText(rest); !ok { // only texts are stepped over
			break
		}
		switch string(name) {
		case "apiVersion":
			h.APIVersion = string(value)
		case "kind":
			h.Kind = string(value)
		}
		if h.APIVersion != "" && h.Kind != "" {
			return h, true
		}
		rest = bytes.TrimLeft(rest, blanks+",")
	}
	return header{}, false
}

const blanks = " \t\r\n"

// cutText cuts a text in quotes off. ok is false if there is none, or one with escapes.
func cutText(data []byte) (text, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return nil, data, false
	}
	end := bytes.IndexByte(data[1:], '"')
	if end < 0 || bytes.IndexByte(data[1:end+1], '\\') >= 0 {
		return nil, data, false
	}
	return data[1 : end+1], data[end+2:], true
}
