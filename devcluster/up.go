package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"mistletoe.dev/devcluster/internal/home"
)

func up(c command, args []string) error {
	var o options
	var foreground, quiet bool
	fs := c.flagSet()
	o.flags(fs)
	fs.BoolVarP(&foreground, "foreground", "f", false, "run in the foreground until a signal comes")
	fs.BoolVarP(&quiet, "quiet", "q", false, "no progress on standard error")
	if err := c.parse(fs, args); err != nil {
		return err
	}
	if o.node == nodeReal && !fs.Changed("nodes") {
		o.nodes = 0
	}
	if err := o.check(); err != nil {
		return err
	}
	_, dir, err := o.resolve()
	if err != nil {
		return err
	}
	if o.node == nodeReal && !dir.Running() {
		if err := canRunNode(dir); err != nil {
			return err
		}
	}
	u := &upRun{options: o, dir: dir, deadline: time.Now().Add(o.timeout), out: os.Stderr}
	if quiet {
		u.out = io.Discard
	}
	if foreground {
		return u.foreground()
	}
	if err := u.background(); err != nil {
		return err
	}
	fmt.Println(dir.Kubeconfig())
	return nil
}

// upRun is one call of `up`.
type upRun struct {
	options
	dir      home.Dir
	deadline time.Time
	out      io.Writer
}

// errBusy: a supervisor runs already; look what it does.
var errBusy = errors.New("busy")

// background returns when the cluster is ready, whoever started it.
func (u *upRun) background() error {
	for {
		if u.dir.Running() {
			state, err := u.awaitOther()
			if err == nil && u.node == nodeReal && state.Node != nodeReal {
				return fmt.Errorf("cluster %s already runs, without a real node; stop it first with: %s", u.name, u.hint("down"))
			}
			if err == nil {
				fmt.Fprintf(u.out, "cluster %s already runs (%s)\n", u.name, state.URL)
				return nil
			}
			if !errors.Is(err, errGone) {
				return err
			}
		}
		err := u.launch()
		if !errors.Is(err, errBusy) {
			return err
		}
	}
}

var errGone = errors.New("the supervisor has ended")

// awaitOther waits until the cluster that another `up` started is ready, or gone.
func (u *upRun) awaitOther() (home.State, error) {
	for {
		state, err := u.dir.ReadState()
		switch {
		case !u.dir.Running():
			return state, errGone
		case err == nil && state.Phase == home.Ready:
			return state, nil
		case time.Now().After(u.deadline):
			return state, fmt.Errorf("cluster %s is %s since %s; see %s, or run: %s", u.name, state.Phase, state.Started.Format(time.RFC3339), u.dir.Log("supervisor"), u.hint("down"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// launch starts a supervisor in a session of its own and follows it until it is ready.
func (u *upRun) launch() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command(selfExe, append([]string{superviseCommand}, u.arguments(u.dir)...)...)
	cmd.Args[0] = "devcluster"
	cmd.ExtraFiles = []*os.File{w} // reportFD
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("can't start the supervisor: %w", err)
	}
	// Who interrupts `up` wants no cluster.
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	forget := context.AfterFunc(ctx, func() { cmd.Process.Signal(syscall.SIGTERM) })
	err = u.follow(r)
	forget()
	if err == nil {
		return cmd.Process.Release()
	}
	cmd.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("%w, cluster %s was not started", errInterrupted, u.name)
	}
	return err
}

// follow prints progress until the supervisor says how its start went.
func (u *upRun) follow(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			continue
		}
		switch m.Kind {
		case progress:
			fmt.Fprintf(u.out, "devcluster %s: %s\n", u.name, m.Text)
		case ready:
			return nil
		case busy:
			return errBusy
		case failed:
			return u.startFailed(m.Text)
		}
	}
	return u.startFailed("the supervisor ended without a word")
}

// startFailed tells what went wrong, with the end of the log that should know.
func (u *upRun) startFailed(why string) error {
	text := fmt.Sprintf("cluster %s did not start: %s", u.name, why)
	log := u.dir.Log("supervisor")
	for _, c := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", nodeProcess} {
		if strings.HasPrefix(why, c) {
			log = u.dir.Log(c)
		}
	}
	if tail := lastLines(log, 15); tail != "" {
		text += fmt.Sprintf("\nThe end of %s:\n%s", log, tail)
	}
	return errors.New(text)
}

// foreground is the supervisor in this process; standard output still gets the path.
func (u *upRun) foreground() error {
	r, w := io.Pipe()
	result := make(chan error, 1)
	o := u.options
	o.dir = string(u.dir)
	go func() {
		result <- supervise(o, reporter{w}, false)
		w.Close()
	}()
	err := u.follow(r)
	switch {
	case errors.Is(err, errBusy):
		return fmt.Errorf("cluster %s already runs; stop it with: %s", u.name, u.hint("down"))
	case err != nil:
		return err
	}
	fmt.Println(u.dir.Kubeconfig())
	go io.Copy(io.Discard, r)
	return <-result
}

// lastLines is the end of a text file, indented; empty when there is none.
func lastLines(file string, n int) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 16 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		f.Seek(-most, io.SeekEnd)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return "  " + strings.Join(lines, "\n  ")
}
