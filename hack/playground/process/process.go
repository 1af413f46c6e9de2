package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Descriptors that a child finds open besides the usual three. The child's half in child.go uses the same numbers.
const (
	readyDescriptor   = 3 // the child writes one line with its address once it serves; open with Command.Announces
	inheritDescriptor = 4 // the first of Command.Inherit
)

// announcesVariable tells the child that descriptor 3 is the pipe on which readiness is announced.
const announcesVariable = "PLAYGROUND_ANNOUNCE_READY"

// Command says which program to start and how.
type Command struct {
	Name      string     // names the process in errors
	Path      string     // the program file
	Args      []string   // without the program's name
	Env       []string   // the whole environment, KEY=value; nothing is inherited
	LogFile   string     // standard output and error are appended here
	Announces bool       // the program calls NotifyReady; without it WaitReady fails
	Inherit   []*os.File // open in the child from descriptor 4 on; the caller keeps and closes its own copies
}

// Process is a running or ended child. All methods may be called from several goroutines.
type Process struct {
	name    string
	logFile string
	command *exec.Cmd

	lifeline *os.File      // our end of the child's standard input; closing it tells a role to end
	ready    *os.File      // our end of the readiness pipe, nil when the child doesn't announce
	done     chan struct{} // closed once the child was waited for

	waiting sync.Mutex // guards reading from ready
	address string
	told    bool

	result error // set before done is closed
}

// Start starts the command and returns at once. The child runs in a process group of its own, so that a Ctrl-C in the terminal
// reaches only us and the order of stopping stays ours. It dies when we die: on Linux the kernel kills it, elsewhere a role
// notices the end of its standard input. The caller must call Stop or Kill, or wait for Done.
func Start(c Command) (*Process, error) {
	log, err := os.OpenFile(c.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log file of %s: %w", c.Name, err)
	}
	defer log.Close()

	stdin, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making the lifeline of %s: %w", c.Name, err)
	}
	defer stdin.Close()

	p := &Process{name: c.Name, logFile: c.LogFile, lifeline: lifeline, done: make(chan struct{})}
	cmd := exec.Command(c.Path, c.Args...) //nolint:noctx // ends through Stop: a context would kill only the first process of the group
	cmd.Env = append([]string{}, c.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, log, log
	cmd.SysProcAttr = attributes()
	p.command = cmd

	if c.Announces {
		read, write, err := os.Pipe()
		if err != nil {
			lifeline.Close()
			return nil, fmt.Errorf("making the readiness pipe of %s: %w", c.Name, err)
		}
		defer write.Close()
		p.ready = read
		cmd.ExtraFiles = append([]*os.File{write}, c.Inherit...)
		cmd.Env = append(cmd.Env, announcesVariable+"=1")
	} else if len(c.Inherit) > 0 {
		lifeline.Close()
		return nil, fmt.Errorf("starting %s: files can be inherited only by a program that announces readiness", c.Name)
	}

	if err := cmd.Start(); err != nil {
		p.closePipes()
		return nil, fmt.Errorf("starting %s (%s): %w", c.Name, c.Path, err)
	}
	go p.wait()
	return p, nil
}

func (p *Process) wait() {
	p.result = p.command.Wait()
	close(p.done)
}

// WaitReady blocks until the child announced that it serves, and returns the address that it announced ("" if it serves none).
// It fails when the child ends first, with the last lines of its log, or when ctx ends.
func (p *Process) WaitReady(ctx context.Context) (string, error) {
	if p.ready == nil {
		return "", fmt.Errorf("waiting for %s: it doesn't announce readiness", p.name)
	}
	stop := context.AfterFunc(ctx, func() { _ = p.ready.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	p.waiting.Lock()
	defer p.waiting.Unlock()
	if p.told {
		return p.address, nil
	}
	line, err := bufio.NewReader(p.ready).ReadString('\n')
	switch {
	case err == nil:
		p.address, p.told = strings.TrimSuffix(line, "\n"), true
		return p.address, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("waiting for %s to become ready: %w; its log is %s%s", p.name, context.Cause(ctx), p.logFile, tail(p.logFile))
	case !errors.Is(err, io.EOF):
		return "", fmt.Errorf("waiting for %s to become ready: %w", p.name, err)
	}
	<-p.done // the pipe's other end closes only with the child
	return "", p.Err()
}

// Name is the name given to Start.
func (p *Process) Name() string { return p.name }

// ID is the process id.
func (p *Process) ID() int { return p.command.Process.Pid }

// LogFile is the file that holds the output.
func (p *Process) LogFile() string { return p.logFile }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err describes the end of a process that was meant to go on, with the last lines of its log; nil while it runs.
func (p *Process) Err() error {
	if p.Running() {
		return nil
	}
	how := "exit code 0"
	if p.result != nil {
		how = p.result.Error()
	}
	return fmt.Errorf("%s ended (%s); its log is %s%s", p.name, how, p.logFile, tail(p.logFile))
}

// ExitCode blocks until the process has ended and returns its code, or -1 when a signal ended it.
func (p *Process) ExitCode() int {
	<-p.done
	return p.command.ProcessState.ExitCode()
}

// Running reports whether the process hasn't ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Terminate sends SIGTERM and doesn't wait. A process that has ended is no error.
func (p *Process) Terminate() error { return p.signal(p.ID(), syscall.SIGTERM) }

// Pause freezes the process (SIGSTOP): it neither answers nor sends until Resume.
func (p *Process) Pause() error { return p.signal(p.ID(), syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return p.signal(p.ID(), syscall.SIGCONT) }

// Kill ends the process and all that it started, at once, and waits until it is gone.
func (p *Process) Kill() error {
	err := p.signal(-p.ID(), syscall.SIGKILL)
	<-p.done
	p.closePipes()
	return err
}

// Stop asks the process to end with SIGTERM, also when it is paused, and kills it if it still runs after grace. It reports
// whether it ended by itself.
func (p *Process) Stop(grace time.Duration) (gracefully bool, err error) {
	if err := errors.Join(p.Terminate(), p.Resume()); err != nil {
		return false, errors.Join(err, p.Kill())
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		gracefully = true
	case <-timer.C:
	}
	return gracefully, p.Kill() // closes our pipes too when it has ended
}

func (p *Process) signal(id int, signal syscall.Signal) error {
	if !p.Running() {
		return nil // the id may belong to somebody else by now
	}
	if err := syscall.Kill(id, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %v to %s: %w", signal, p.name, err)
	}
	return nil
}

func (p *Process) closePipes() {
	p.lifeline.Close() //nolint:errcheck // closing twice is harmless and the only possible error
	if p.ready != nil {
		p.ready.Close() //nolint:errcheck // as above
	}
}

// tailBytes is how much of a log an error shows: enough for a stack's head or a usage error, little enough for a terminal.
const tailBytes = 2000

// tail returns the end of a log as an indented block that begins with a line break, or "" if there is nothing to show.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if size, err := file.Seek(0, io.SeekEnd); err != nil || size == 0 {
		return ""
	} else if _, err := file.Seek(max(0, size-tailBytes), io.SeekStart); err != nil {
		return ""
	}
	content, err := io.ReadAll(io.LimitReader(file, tailBytes))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) > 1 && len(content) == tailBytes {
		lines = lines[1:] // the first one is cut
	}
	return ". Its last lines:\n    " + strings.Join(lines, "\n    ")
}
