// Package procs starts child processes that can't outlive their parent, and tells
// processes apart although process ids are reused.
package procs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child is a running child process. Safe for use by several goroutines.
type Child struct {
	Name string
	PID  int
	done chan struct{}
	err  error
}

// Namespaces are where a child starts; the zero value means those of this process.
type Namespaces struct {
	Network *os.File // an existing network namespace
	New     uintptr  // CLONE_NEW… flags of namespaces that are made for the child
}

// Start runs cmd as a child that the kernel kills when this process dies.
func Start(name string, cmd *exec.Cmd) (*Child, error) { return StartIn(name, cmd, Namespaces{}) }

// StartIn is Start with namespaces. The end of a child with a new PID namespace is the end of everything in it: Done
// is closed when all of that is gone.
func StartIn(name string, cmd *exec.Cmd, in Namespaces) (*Child, error) {
	// Its own process group: a terminal's ^C reaches the parent only, who stops in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: in.New}
	c := &Child{Name: name, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The death signal belongs to the forking *thread*: it must live as long as we do. Since it stays locked, it
		// also may change its namespace: nothing else ever runs on it.
		runtime.LockOSThread()
		err := enter(in.Network)
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			c.PID = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		c.err = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("can't start %s: %w", name, err)
	}
	return c, nil
}

// enter moves the calling thread into a network namespace.
func enter(network *os.File) error {
	if network == nil {
		return nil
	}
	if err := unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("can't enter the network namespace: %w", err)
	}
	return nil
}

// Done is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// How says how the child ended; only after Done.
func (c *Child) How() string {
	if c.err == nil {
		return "exit status 0"
	}
	return c.err.Error()
}

// Signal sends a signal, unless the child has ended (its id may be another's by then).
func (c *Child) Signal(s syscall.Signal) {
	select {
	case <-c.done:
	default:
		syscall.Kill(c.PID, s)
	}
}

// StopAll asks all children to end and kills those that still run after grace.
func StopAll(children []*Child, grace time.Duration) {
	for _, c := range children {
		c.Signal(syscall.SIGTERM)
	}
	deadline := time.After(grace)
	for i, c := range children {
		select {
		case <-c.done:
			continue
		case <-deadline:
		}
		for _, late := range children[i:] {
			late.Signal(syscall.SIGKILL)
		}
		for _, late := range children[i:] {
			<-late.done
		}
		return
	}
}

// StartTicks is when a process started, in clock ticks since boot. Together with the
// process id it names a process for good.
func StartTicks(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStartTicks(string(b))
}

// parseStartTicks takes field 22 of proc(5)'s stat. The second field is the command in
// parentheses and may itself hold spaces and parentheses.
func parseStartTicks(stat string) (uint64, error) {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, errors.New("no command in /proc/PID/stat")
	}
	f := strings.Fields(stat[i+1:])
	if len(f) < 20 {
		return 0, errors.New("too few fields in /proc/PID/stat")
	}
	return strconv.ParseUint(f[19], 10, 64)
}

// Is says whether the process that was seen with this id and start time still runs.
func Is(pid int, ticks uint64) bool {
	t, err := StartTicks(pid)
	return err == nil && t == ticks
}

// Watch returns a channel that is closed when the process (not one of ours) ends.
func Watch(pid int) (<-chan struct{}, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("no process %d: %w", pid, err)
	}
	ended := make(chan struct{})
	go func() {
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if n > 0 || (err != nil && err != unix.EINTR) {
				close(ended)
				return
			}
		}
	}()
	return ended, nil
}
