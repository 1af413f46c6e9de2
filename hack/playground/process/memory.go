package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// ResidentMemory is how many bytes of memory the process occupies now (VmRSS), read from /proc. It fails where there is no
// /proc and when the process has ended.
func (p *Process) ResidentMemory() (int64, error) { return p.memory("VmRSS:") }

// PeakMemory is the largest resident memory so far in bytes (VmHWM), read from /proc.
func (p *Process) PeakMemory() (int64, error) { return p.memory("VmHWM:") }

func (p *Process) memory(field string) (int64, error) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.ID()), "status"))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of %s: %w", p.name, err)
	}
	kibibytes, err := parseStatusField(status, field)
	if err != nil {
		return 0, fmt.Errorf("reading the memory of %s: %w", p.name, err)
	}
	return kibibytes << 10, nil
}

// parseStatusField finds a line such as "VmRSS:   123 kB" in the text of /proc/<id>/status and returns its number.
func parseStatusField(status []byte, field string) (int64, error) {
	for line := range bytes.Lines(status) {
		words := bytes.Fields(line)
		if len(words) == 3 && string(words[0]) == field && string(words[2]) == "kB" {
			return strconv.ParseInt(string(words[1]), 10, 64)
		}
	}
	return 0, fmt.Errorf("no line %q in the status of the process", field)
}
