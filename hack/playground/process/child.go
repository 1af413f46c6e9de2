package process

import (
	"fmt"
	"io"
	"net"
	"os"
)

// This file is the child's half: a role that Start has started calls these functions.

// NotifyReady tells the parent that this process now serves on the given address ("" if nothing is served). Without a parent
// that waits for it, it does nothing. To be called once.
func NotifyReady(address string) error {
	if os.Getenv(announcesVariable) == "" {
		return nil
	}
	pipe := os.NewFile(readyDescriptor, "readiness")
	_, err := fmt.Fprintln(pipe, address)
	if err != nil {
		return fmt.Errorf("announcing readiness: %w", err)
	}
	if err := pipe.Close(); err != nil {
		return fmt.Errorf("announcing readiness: %w", err)
	}
	return nil
}

// InheritedListener returns the listening socket that the parent passed as its first inherited file. The parent knows the port
// from it before this process runs, and connections wait in its queue until they are accepted.
func InheritedListener() (net.Listener, error) {
	file := os.NewFile(inheritDescriptor, "listener")
	if file == nil {
		return nil, fmt.Errorf("no listener was inherited on descriptor %d", inheritDescriptor)
	}
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("using the inherited listener: %w", err)
	}
	return listener, nil
}

// WaitForParent blocks until the parent closes the lifeline or dies.
func WaitForParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
}
