package process

import "syscall"

// attributes puts the child into its own group and lets the kernel kill it when its parent dies, however that happens. To the kernel
// the parent is the thread that forked; Go ends threads only with goroutines that are locked to them, and here are none.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
