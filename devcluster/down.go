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
	"mistletoe.dev/devcluster/internal/realnode"
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
	if _, err := os.Lstat(string(dir)); err == nil && !dir.IsOurs() {
		return fmt.Errorf("%s is no cluster's directory", dir)
	}
	if err := stopSupervisor(dir); err != nil {
		return fmt.Errorf("cluster %s: %w", name, err)
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
	if err := realnode.LeftCgroups(string(dir)).Remove(sweepPatience); err != nil {
		return fmt.Errorf("cluster %s: %w", name, err)
	}
	if state, err := dir.ReadState(); err == nil && state.Keep && !purge {
		fmt.Fprintf(os.Stderr, "cluster %s is down, its data is kept in %s\n", name, dir)
		return nil
	}
	if err := dir.Remove(); err != nil {
		return fmt.Errorf("can't remove %s: %w", dir, err)
	}
	fmt.Fprintf(os.Stderr, "cluster %s is down\n", name)
	return nil
}

// stopSupervisor asks the supervisor to end, if one runs, and after ten seconds kills
// it: the components die with it. Containers may take longer.
func stopSupervisor(dir home.Dir) error {
	patience, deadline := 10*time.Second, 15*time.Second
	begin := time.Now()
	asked, killed := 0, 0 // process ids
	for dir.Running() {
		// Read anew each time: one that has just started writes it a moment after it
		// took the lock.
		state, err := dir.ReadState()
		known := err == nil && procs.Is(state.PID, state.StartTicks)
		if known && state.Node == nodeReal {
			patience, deadline = sweepPatience, sweepPatience+20*time.Second
		}
		waited := time.Since(begin)
		switch {
		case waited > deadline:
			return fmt.Errorf("its supervisor does not end; see %s", dir.State())
		case known && asked != state.PID:
			if err := syscall.Kill(state.PID, syscall.SIGTERM); err != nil && err != syscall.ESRCH {
				return fmt.Errorf("can't stop its supervisor, process %d: %w", state.PID, err)
			}
			asked = state.PID
		case known && waited > patience && killed != state.PID:
			syscall.Kill(state.PID, syscall.SIGKILL)
			killed = state.PID
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}
