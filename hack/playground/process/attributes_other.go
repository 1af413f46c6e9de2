//go:build !linux

package process

import "syscall"

// attributes puts the child into its own group. Where the kernel offers no death signal, a role ends with its lifeline.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
