package home

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrBusy says that another process holds the lock.
var ErrBusy = errors.New("the cluster's lock is held by a running supervisor")

// Lock is held by a cluster's supervisor for as long as it lives. The kernel drops it
// with the process, however that ends, so it is the truth about "runs" where process
// ids and state files may be stale.
type Lock struct{ f *os.File }

// TryLock takes the lock of the directory, or says ErrBusy when a supervisor has it.
func (d Dir) TryLock() (*Lock, error) {
	const glances = 100
	for attempt := 0; ; attempt++ {
		f, err := os.OpenFile(d.Lock(), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				// Perhaps it was only somebody's glance, in Running.
				if attempt < glances && !d.Running() {
					time.Sleep(time.Millisecond)
					continue
				}
				return nil, ErrBusy
			}
			return nil, fmt.Errorf("can't lock %s: %w", d.Lock(), err)
		}
		// The directory may have been removed between open and lock: then this is a lock
		// on a file that nobody else will ever see.
		if sameFile(f, d.Lock()) {
			return &Lock{f}, nil
		}
		f.Close()
		if _, err := os.Stat(string(d)); err != nil {
			return nil, err
		}
	}
}

// Unlock gives the lock back.
func (l *Lock) Unlock() { l.f.Close() }

// Running says whether a supervisor holds the lock.
func (d Dir) Running() bool {
	f, err := os.Open(d.Lock())
	if err != nil {
		return false
	}
	defer f.Close()
	// A shared lock, so that two who only look don't take each other for a supervisor.
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func sameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Lstat(path)
	if errA != nil || errB != nil {
		return false
	}
	sa, sb := a.Sys().(*syscall.Stat_t), b.Sys().(*syscall.Stat_t)
	return sa.Dev == sb.Dev && sa.Ino == sb.Ino
}
