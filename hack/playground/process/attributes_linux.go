package process

import "syscall"

// attributes puts the child into its own group and lets the kernel kill it when its parent dies, however that happens.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
