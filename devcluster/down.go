package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mistletoe.dev/devcluster/internal/home"
	"mistletoe.dev/devcluster/internal/procs"
)

func down(c command, args []string) error {
	var t target
	var all, purge bool
	fs := c.flagSet()
	t.flags(fs)
	fs.BoolVar(&all, "all", false, "all clusters in the state directory")
	fs.BoolVar(&purge, "purge", false, "remove data that was kept with --keep, too")
	if err := c.parse(fs, args); err != nil {
		return err
	}
	if !all {
		name, dir, err := t.resolve()
		if err != nil {
			return err
		}
		return stop(name, dir, purge)
	}
	if fs.Changed("name") || fs.Changed("dir") {
		return usagef("down: --all goes with neither --name nor --dir")
	}
	root, err := home.Root(os.Getenv)
	if err != nil {
		return err
	}
	names, err := home.Names(root)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range names {
		errs = append(errs, stop(n, home.Dir(filepath.Join(root, string(n))), purge))
	}
	return errors.Join(errs...)
}

// stop ends a cluster and removes its directory, unless its data is to be kept. One
// that doesn't run is fine: down says what should be, not what to do.
func stop(name home.Name, dir home.Dir, purge bool) error {
	state, err := dir.ReadState()
	if dir.Running() {
		if err != nil {
			return fmt.Errorf("cluster %s runs, but can't be named: %w", name, err)
		}
		if err := stopSupervisor(dir, state); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
	}
	lock, err := dir.TryLock()
	switch {
	case errors.Is(err, os.ErrNotExist):
		fmt.Fprintf(os.Stderr, "cluster %s is down\n", name)
		return nil
	case errors.Is(err, home.ErrBusy):
		return fmt.Errorf("cluster %s was started again at the same time", name)
	case err != nil:
		return err
	}
	defer lock.Unlock()
	if state.Keep && !purge {
		fmt.Fprintf(os.Stderr, "cluster %s is down, its data is kept in %s\n", name, dir)
		return nil
	}
	if err := dir.Remove(); err != nil {
		return fmt.Errorf("can't remove %s: %w", dir, err)
	}
	fmt.Fprintf(os.Stderr, "cluster %s is down\n", name)
	return nil
}

// stopSupervisor asks, and after ten seconds kills: the components die with it.
func stopSupervisor(dir home.Dir, state home.State) error {
	for _, step := range []struct {
		signal  syscall.Signal
		patient time.Duration
	}{{syscall.SIGTERM, 10 * time.Second}, {syscall.SIGKILL, 5 * time.Second}} {
		if procs.Is(state.PID, state.StartTicks) {
			if err := syscall.Kill(state.PID, step.signal); err != nil && err != syscall.ESRCH {
				return fmt.Errorf("can't stop its supervisor, process %d: %w", state.PID, err)
			}
		}
		for end := time.Now().Add(step.patient); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if !dir.Running() {
				return nil
			}
		}
	}
	return fmt.Errorf("its supervisor, process %d, does not end", state.PID)
}
