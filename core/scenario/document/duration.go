package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// UnmarshalJSON reads a duration as Go writes it, or the number 0.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		if string(data) != "0" {
			return fmt.Errorf("%s is not a duration: want one as \"90s\" or \"1h30m\", or 0", data)
		}
		text = "0"
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration: want one as \"90s\" or \"1h30m\", or 0", text)
	}
	d.Duration = parsed
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads, as short as people do: 2m for 2m0s.
func (d Duration) MarshalJSON() ([]byte, error) {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return json.Marshal(text)
}

// orElse is the duration, or the given one where the document has none.
func (d *Duration) orElse(otherwise time.Duration) *Duration {
	if d == nil {
		return &Duration{otherwise}
	}
	return d
}
