package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// partVariable makes this test binary play a child instead of running tests.
const partVariable = "PROCESS_TEST_PART"

func TestMain(m *testing.M) {
	switch part := os.Getenv(partVariable); part {
	case "":
		os.Exit(m.Run())
	case "server":
		serve()
	case "broken":
		fmt.Println("cannot open the flux capacitor")
		os.Exit(7)
	case "silent":
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		_ = NotifyReady("")
		time.Sleep(time.Hour)
	case "polite":
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		_ = NotifyReady("")
		<-signals
		os.Exit(3)
	case "parent":
		raise()
	case "orphan":
		_ = NotifyReady(strconv.Itoa(os.Getpid()))
		WaitForParent()
	default:
		panic("unknown part " + part)
	}
}

// serve accepts one connection on the inherited listener, greets and ends.
func serve() {
	listener, err := InheritedListener()
	if err != nil {
		panic(err)
	}
	if err := NotifyReady(listener.Addr().String()); err != nil {
		panic(err)
	}
	connection, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	fmt.Fprint(connection, "hello")
	connection.Close()
}

// raise starts a child, tells its process id and waits to be killed.
func raise() {
	child, err := Start(Command{Name: "orphan", Path: os.Args[0], Env: []string{partVariable + "=orphan"}, LogFile: os.Args[1], Announces: true})
	if err != nil {
		panic(err)
	}
	id, err := child.WaitReady(context.Background())
	if err != nil {
		panic(err)
	}
	if err := NotifyReady(id); err != nil {
		panic(err)
	}
	time.Sleep(time.Hour)
}

func start(t *testing.T, part string, change ...func(*Command)) *Process {
	t.Helper()
	log := filepath.Join(t.TempDir(), part+".log")
	c := Command{Name: part, Path: os.Args[0], Args: []string{log + ".child"}, Env: []string{partVariable + "=" + part}, LogFile: log, Announces: true}
	for _, f := range change {
		f(&c)
	}
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

func TestAChildServesOnTheListenerOfItsParentAndTellsItsAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "server", func(c *Command) { c.Inherit = []*os.File{file} })
	file.Close()
	listener.Close()

	for range 2 { // a second question gets the same answer
		address, err := p.WaitReady(t.Context())
		if diff := cmp.Diff(listener.Addr().String(), address); err != nil || diff != "" {
			t.Fatalf("address: %s, error %v", diff, err)
		}
	}
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	greeting := make([]byte, 5)
	if _, err := connection.Read(greeting); err != nil || string(greeting) != "hello" {
		t.Errorf("got %q, error %v", greeting, err)
	}
	if code := p.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestAChildThatEndsBeforeItIsReadyIsReportedWithItsLog(t *testing.T) {
	p := start(t, "broken")
	_, err := p.WaitReady(t.Context())
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"broken ended", "exit status 7", p.LogFile(), "flux capacitor"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q doesn't say %q", err, want)
		}
	}
}

func TestWaitingForReadinessEndsWithTheContext(t *testing.T) {
	p := start(t, "silent")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), p.LogFile()) {
		t.Errorf("got %v, want the deadline and the name of the log", err)
	}
	if !p.Running() || p.Err() != nil {
		t.Error("the child should still run")
	}
}

func TestStopWaitsForAPoliteChild(t *testing.T) {
	p := start(t, "polite")
	if _, err := p.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rss, err := p.ResidentMemory(); err != nil || rss < 1<<20 {
		t.Errorf("resident memory %d, error %v; want more than a MiB", rss, err)
	}
	gracefully, err := p.Stop(time.Minute)
	if err != nil || !gracefully || p.ExitCode() != 3 {
		t.Errorf("gracefully %v, error %v, exit code %d; want true, none, 3", gracefully, err, p.ExitCode())
	}
}

func TestStopWakesAPausedChildUp(t *testing.T) {
	p := start(t, "polite")
	if _, err := p.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	if gracefully, err := p.Stop(time.Minute); err != nil || !gracefully {
		t.Errorf("gracefully %v, error %v; want true, none", gracefully, err)
	}
}

func TestStopKillsAChildThatDoesNotEnd(t *testing.T) {
	p := start(t, "stubborn")
	if _, err := p.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	gracefully, err := p.Stop(50 * time.Millisecond)
	if err != nil || gracefully || p.Running() {
		t.Errorf("gracefully %v, error %v, running %v; want false, none, false", gracefully, err, p.Running())
	}
	if again, err := p.Stop(time.Minute); err != nil || !again {
		t.Errorf("stopping twice: %v, %v", again, err)
	}
}

func TestAChildDiesWithItsParent(t *testing.T) {
	parent := start(t, "parent")
	text, err := parent.WaitReady(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(id, 0); err != nil {
		t.Fatalf("the child %d doesn't run: %v", id, err)
	}
	// Only the parent itself is killed, as by the out-of-memory killer; its group isn't.
	if err := syscall.Kill(parent.ID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-parent.Done()
	for deadline := time.Now().Add(10 * time.Second); alive(id); {
		if time.Now().After(deadline) {
			t.Fatalf("the child %d outlives its parent", id)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// alive reports whether a process runs; a zombie that nobody has reaped is dead.
func alive(id int) bool {
	if syscall.Kill(id, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestMemoryIsReadFromTheStatusOfTheKernel(t *testing.T) {
	status := []byte("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t3\n")
	for field, want := range map[string]int64{"VmRSS:": 1024, "VmHWM:": 2048} {
		if got, err := parseStatusField(status, field); err != nil || got != want {
			t.Errorf("%s: got %d, error %v; want %d", field, got, err, want)
		}
	}
	if _, err := parseStatusField(status, "Threads:"); err == nil {
		t.Error("a line without a size was taken")
	}
}
