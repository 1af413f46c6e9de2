package cloudconfig

import (
	"fmt"
	"strings"
)

// entry is one assignment of the file.
type entry struct {
	line       int
	section    string // lower case
	subsection string // as written
	key        string // lower case
	value      string
}

// where names the entry in messages.
func (e entry) where() string {
	if e.subsection == "" {
		return fmt.Sprintf("line %d, section [%s], key %s", e.line, e.section, e.key)
	}
	return fmt.Sprintf("line %d, section [%s %q], key %s", e.line, e.section, e.subsection, e.key)
}

// section is one header of the file; it counts also when it holds no key.
type section struct {
	line       int
	name       string
	subsection string
}

// read splits the text into its sections and assignments, in the order of the file.
func read(text string) ([]section, []entry, error) {
	var sections []section
	var entries []entry
	var current section
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == ';' || line[0] == '#':
		case line[0] == '[':
			header, err := readHeader(line)
			if err != nil {
				return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			header.line, current = i+1, header
			sections = append(sections, header)
		case current.name == "":
			return nil, nil, fmt.Errorf("line %d: %q stands before any [section]", i+1, line)
		default:
			key, value, err := readAssignment(line)
			if err != nil {
				return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			entries = append(entries, entry{line: i + 1, section: current.name, subsection: current.subsection, key: key, value: value})
		}
	}
	return sections, entries, nil
}

// readHeader reads [name] or [name "sub"].
func readHeader(line string) (section, error) {
	name := strings.TrimLeft(line[1:], " \t")
	end := strings.IndexAny(name, " \t\"]")
	if end <= 0 {
		return section{}, fmt.Errorf("%q is not a section header", line)
	}
	header := section{name: strings.ToLower(name[:end])}
	rest := strings.TrimLeft(name[end:], " \t")
	if strings.HasPrefix(rest, `"`) {
		value, after, err := readQuoted(rest)
		if err != nil {
			return section{}, err
		}
		header.subsection, rest = value, strings.TrimLeft(after, " \t")
	}
	if !strings.HasPrefix(rest, "]") || !isComment(rest[1:]) {
		return section{}, fmt.Errorf("%q is not a section header", line)
	}
	return header, nil
}

// readAssignment reads key = value, or a key alone, which means true.
func readAssignment(line string) (key, value string, err error) {
	end := strings.IndexAny(line, "= \t;#")
	if end < 0 {
		end = len(line)
	}
	key = strings.ToLower(line[:end])
	if key == "" {
		return "", "", fmt.Errorf("%q has no key", line)
	}
	rest := strings.TrimLeft(line[end:], " \t")
	if isComment(rest) {
		return key, "true", nil
	}
	assigned, found := strings.CutPrefix(rest, "=")
	if !found {
		return "", "", fmt.Errorf("%q is not of the form key = value", line)
	}
	value, err = readValue(strings.TrimLeft(assigned, " \t"))
	return key, value, err
}

// readValue reads a value up to the end of the line or a comment; quoted and unquoted pieces may follow one another.
func readValue(rest string) (string, error) {
	var value strings.Builder
	blanks := 0 // at the end of value, to be dropped when nothing follows
	for rest != "" && rest[0] != ';' && rest[0] != '#' {
		if rest[0] == '"' {
			piece, after, err := readQuoted(rest)
			if err != nil {
				return "", err
			}
			value.WriteString(piece)
			rest, blanks = after, 0
			continue
		}
		if rest[0] == '\\' {
			return "", fmt.Errorf(`a backslash outside quotes in %q: put the value in "quotes" and write it twice`, rest)
		}
		if rest[0] == ' ' || rest[0] == '\t' {
			blanks++
		} else {
			blanks = 0
		}
		value.WriteByte(rest[0])
		rest = rest[1:]
	}
	text := value.String()
	return text[:len(text)-blanks], nil
}

// readQuoted reads a piece in quotes at the start of the text and returns it and what follows.
func readQuoted(text string) (value, rest string, err error) {
	var piece strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return piece.String(), text[i+1:], nil
		case '\\':
			i++
			if i == len(text) {
				return "", "", fmt.Errorf("%s has no closing quote", text)
			}
			switch text[i] {
			case '"', '\\':
				piece.WriteByte(text[i])
			case 'n':
				piece.WriteByte('\n')
			case 't':
				piece.WriteByte('\t')
			default:
				return "", "", fmt.Errorf(`unknown escape \%c in %s`, text[i], text)
			}
		default:
			piece.WriteByte(text[i])
		}
	}
	return "", "", fmt.Errorf("%s has no closing quote", text)
}

func isComment(rest string) bool {
	rest = strings.TrimLeft(rest, " \t")
	return rest == "" || rest[0] == ';' || rest[0] == '#'
}
