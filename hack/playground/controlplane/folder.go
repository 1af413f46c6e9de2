package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// folderPrefix begins the name of every folder of a control plane. Short, as Unix socket paths end at some 100 characters.
const folderPrefix = "playground-"

// lockFile is held locked for as long as the folder's owner lives, however it ends.
const lockFile = "lock"

// orphanAge protects a folder whose owner has made the lock file but hasn't locked it yet.
const orphanAge = time.Minute

// folder is the temporary home of one control plane.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes a folder below parent, after removing those whose owner was killed before it could.
func newFolder(parent string) (*folder, error) {
	if err := removeOrphans(parent, time.Now().Add(-orphanAge)); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("making the folder of the control plane: %w", err)
	}
	lock, err := takeLock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &folder{path: path, lock: lock}, nil
}

func (f *folder) remove() error {
	err := os.RemoveAll(f.path)
	return errors.Join(err, f.lock.Close())
}

// release gives the folder up without deleting it; without its lock file no later start takes it for an orphan.
func (f *folder) release() error {
	return errors.Join(os.Remove(f.lock.Name()), f.lock.Close())
}

// takeLock creates and locks a file; it fails at once when somebody else holds the lock. The lock goes with the descriptor, which
// children don't inherit.
func takeLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the lock of the control plane's folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return file, nil
}

// removeOrphans deletes folders below parent that nobody holds and that were made before a point in time.
func removeOrphans(parent string, before time.Time) error {
	locks, err := filepath.Glob(filepath.Join(parent, folderPrefix+"*", lockFile))
	if err != nil {
		return fmt.Errorf("looking for left-over folders: %w", err)
	}
	for _, lock := range locks {
		if made, err := os.Stat(lock); err != nil || made.ModTime().After(before) {
			continue
		}
		held, err := takeLock(lock)
		if err != nil {
			continue // in use, or another user's
		}
		err = os.RemoveAll(filepath.Dir(lock))
		held.Close() //nolint:errcheck // the file is gone
		if err != nil {
			return fmt.Errorf("removing a left-over folder: %w", err)
		}
	}
	return nil
}
