//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/cluster-autoscaler/hack/playground/process"
)

// However `playground up` ends, none of its processes outlives it. All endings but one also remove its folder; the next start removes
// that one, which a test of package controlplane shows.
func TestNothingIsLeftOfAPlaygroundThatEnds(t *testing.T) {
	tests := map[string]struct {
		end        func(up *process.Process, folder string) error
		wantCode   int
		wantOutput string
		wantFolder bool
	}{
		"by Ctrl-C": {
			end:        func(up *process.Process, _ string) error { return syscall.Kill(up.ID(), syscall.SIGINT) },
			wantOutput: "Stopping",
		},
		"because a part of it dies": {
			end: func(_ *process.Process, folder string) error {
				id := idOf(folder, "kube-scheduler")
				if id == 0 {
					return errors.New("no kube-scheduler runs")
				}
				return syscall.Kill(id, syscall.SIGKILL)
			},
			wantCode:   1,
			wantOutput: "kube-scheduler ended (signal: killed); its log is ",
		},
		"by being killed": {
			end:        func(up *process.Process, _ string) error { return syscall.Kill(up.ID(), syscall.SIGKILL) },
			wantCode:   -1,
			wantFolder: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parent, err := os.MkdirTemp("", "e") // short, as the cluster's folder holds sockets
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(parent)
			output := filepath.Join(t.TempDir(), "up.log")
			up, err := process.Start(process.Command{
				Name: "up", Path: os.Getenv(playgroundVariable), Args: []string{"up"}, Env: []string{"TMPDIR=" + parent}, LogFile: output,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer up.Kill() //nolint:errcheck // ended long before unless the test failed
			folder := waitForUp(t, up, output)
			if n := len(processesOf(folder)); n != 5 {
				t.Fatalf("%d processes belong to %s, want 5", n, folder)
			}

			if err := test.end(up, folder); err != nil {
				t.Fatal(err)
			}
			if code := up.ExitCode(); code != test.wantCode {
				t.Errorf("exit code %d, want %d", code, test.wantCode)
			}
			if text := read(t, output); !strings.Contains(text, test.wantOutput) {
				t.Errorf("output doesn't say %q:\n%s", test.wantOutput, text)
			}
			waitNoProcess(t, folder)
			if _, err := os.Stat(folder); test.wantFolder != (err == nil) {
				t.Errorf("the folder's state: %v, want it there: %v", err, test.wantFolder)
			}
		})
	}
}

// waitForUp waits until `playground up` says that it is ready, and returns its folder.
func waitForUp(t *testing.T, up *process.Process, output string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if !up.Running() {
			t.Fatal(up.Err())
		}
		if _, rest, ok := strings.Cut(read(t, output), "export KUBECONFIG="); ok && strings.HasSuffix(rest, "\n") {
			return filepath.Dir(strings.TrimSpace(rest))
		}
	}
	t.Fatalf("not ready in time:\n%s", read(t, output))
	return ""
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func waitNoProcess(t *testing.T, folder string) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(processesOf(folder)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still running: %v", processesOf(folder))
		}
	}
}

// processesOf finds the processes whose command line names a folder: id → command line.
func processesOf(folder string) map[int]string {
	found := map[int]string{}
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		panic(fmt.Sprintf("a bad pattern: %v", err))
	}
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && bytes.Contains(line, []byte(folder+"/")) {
			found[id] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
	return found
}

// idOf finds the process of a folder that plays a role; 0 if there is none.
func idOf(folder, role string) int {
	for id, line := range processesOf(folder) {
		if strings.Contains(line, " role "+role+" ") {
			return id
		}
	}
	return 0
}
