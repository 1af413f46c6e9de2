package config

import (
	"strings"
	"unicode/utf8"
)

const (
	usageWidth  = 100
	usageIndent = "        "
)

// Usage returns the help text: one section per group with every flag of the table but those of older releases. Subcommands and the
// program's synopsis are known to cmd, which prints them above.
func Usage() string {
	var text strings.Builder
	last := GroupUnset
	for _, flag := range Table() {
		if flag.State == StateRemoved {
			continue
		}
		if flag.Group != last {
			if last != GroupUnset {
				text.WriteByte('\n')
			}
			text.WriteString(flag.Group.String() + ":\n")
			last = flag.Group
		}
		text.WriteString("  " + flag.synopsis() + "\n")
		for _, line := range wrap(flag.description(), usageWidth-len(usageIndent)) {
			text.WriteString(usageIndent + line + "\n")
		}
	}
	text.WriteString("\nOther:\n  -h, --help\n" + usageIndent + "Print this text.\n")
	return text.String()
}

// synopsis returns how the flag is written.
func (f Flag) synopsis() string {
	text := "--" + f.Name + " " + f.Type.String()
	if f.Short != "" {
		text = "-" + f.Short + ", " + text
	}
	return text
}

// description returns what the flag does, followed by unit, range, default and state.
func (f Flag) description() string {
	var details []string
	if f.Unit != "" {
		details = append(details, "in "+f.Unit)
	}
	if f.Range != "" {
		details = append(details, f.Range)
	}
	if f.Default != "" {
		details = append(details, "default "+f.Default)
	}
	text := f.Help
	if len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	if f.State != StateActive {
		text += " [" + f.State.String()
		if f.Note != "" {
			text += ": " + f.Note
		}
		text += "]"
	}
	return text
}

// wrap breaks a text at its spaces into lines of at most width characters; a longer word has a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
