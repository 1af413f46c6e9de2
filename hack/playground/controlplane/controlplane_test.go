package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/cluster-autoscaler/hack/playground/process"
)

// breakFile lies next to a folder of roles that this test binary plays; it names the one that breaks.
const breakFile = "break"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "role" {
		play(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// play is a role that never becomes ready, and ends at once with a message if it is the one that shall break.
func play(role string) {
	broken, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("HOME")), breakFile))
	if err == nil && string(broken) == role {
		fmt.Println("no free inodes")
		os.Exit(7)
	}
	process.WaitForParent()
}

// startIn starts a control plane below a folder with this test binary in all roles.
func startIn(ctx context.Context, t *testing.T, parent string) error {
	t.Helper()
	c, err := Start(ctx, Options{Binary: os.Args[0], Parent: parent})
	if err == nil {
		return errors.Join(errors.New("it started"), c.Stop())
	}
	return err
}

// checkNothingLeft demands that no folder and no child of this process is left.
func checkNothingLeft(t *testing.T, parent string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(parent, folderPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
	if id, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("a child is left: id %d, error %v", id, err)
	}
}

func TestAPartThatBreaksAtTheStartIsNamedAndTheOthersAreStopped(t *testing.T) {
	parent := t.TempDir()
	if err := os.WriteFile(filepath.Join(parent, breakFile), []byte(ControllersRole), 0o600); err != nil {
		t.Fatal(err)
	}
	err := startIn(t.Context(), t, parent)
	for _, want := range []string{"controllers ended (exit status 7)", "controllers.log", "no free inodes"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q doesn't say %q", err, want)
		}
	}
	checkNothingLeft(t, parent)
}

func TestAStartThatIsInterruptedLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := startIn(ctx, t, parent); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
	checkNothingLeft(t, parent)
}

func TestAProgramThatIsMissingIsNamed(t *testing.T) {
	parent := t.TempDir()
	_, err := Start(t.Context(), Options{Binary: filepath.Join(parent, "playground"), Parent: parent})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "starting etcd") {
		t.Errorf("error %v, want one that names the program's part and the missing file", err)
	}
	checkNothingLeft(t, parent)
}
