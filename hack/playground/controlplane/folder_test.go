package controlplane

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// age makes a folder's lock look as if it had been made an hour ago.
func age(t *testing.T, folder string) {
	t.Helper()
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(folder, lockFile), past, past); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderLeftBehindByAKilledOwnerIsRemovedAtTheNextStart(t *testing.T) {
	parent := t.TempDir()
	left, err := newFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	age(t, left.path)
	left.lock.Close() // what the kernel does for a killed process

	young, err := newFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	if exists(left.path) {
		t.Error("the left-over folder is still there")
	}
	young.lock.Close()
	if _, err := newFolder(parent); err != nil {
		t.Fatal(err)
	}
	if !exists(young.path) {
		t.Error("a folder a moment old was removed: its owner may be about to lock it")
	}
}

func TestAFolderInUseOrReleasedIsLeftAlone(t *testing.T) {
	parent := t.TempDir()
	used, err := newFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := newFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	age(t, used.path)
	age(t, kept.path)
	if err := kept.release(); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(parent, folderPrefix+"notes")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}

	if _, err := newFolder(parent); err != nil {
		t.Fatal(err)
	}
	for what, path := range map[string]string{"used": used.path, "kept": kept.path, "foreign": foreign} {
		if !exists(path) {
			t.Errorf("the %s folder is gone", what)
		}
	}
	if err := used.remove(); err != nil || exists(used.path) {
		t.Errorf("removing: error %v, still there %v", err, exists(used.path))
	}
}
