package home

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNamesAreShortLabels(t *testing.T) {
	for s, good := range map[string]bool{
		"default": true, "a": true, "a-1": true, strings.Repeat("x", 40): true,
		"": false, "-a": false, "a-": false, "A": false, "a_b": false, "a.b": false, "../x": false, "a/b": false, strings.Repeat("x", 41): false,
	} {
		if _, err := ParseName(s); (err == nil) != good {
			t.Errorf("ParseName(%q): %v", s, err)
		}
	}
}

func TestRootPrefersItsOwnVariable(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"MIST_DEVCLUSTER_HOME": "/a", "XDG_STATE_HOME": "/b", "HOME": "/c"}, "/a"},
		{map[string]string{"XDG_STATE_HOME": "/b", "HOME": "/c"}, "/b/mistletoe/devcluster"},
		{map[string]string{"XDG_STATE_HOME": "relative", "HOME": "/c"}, "/c/.local/state/mistletoe/devcluster"},
		{nil, ""},
	} {
		got, err := Root(func(k string) string { return c.env[k] })
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%v: %q, %v", c.env, got, err)
		}
	}
}

func TestSocketPathsAreShortWhateverTheDirectory(t *testing.T) {
	run := t.TempDir()
	long := "/" + strings.Repeat("d", 200)
	for _, dir := range []string{"/s", long, long + "2"} {
		for _, runtimeDir := range []string{"", run, "/nonexistent", long} {
			if s := etcdSocket(dir, runtimeDir, 4294967294); len(s)+len(".peer") > 100 {
				t.Errorf("%s with %s: %d characters: %s", dir, runtimeDir, len(s), s)
			}
		}
	}
	if got := etcdSocket("/s", run, 1); got != "/s/etcd.sock" {
		t.Errorf("a short directory gives %s", got)
	}
	if etcdSocket(long, "", 1) == etcdSocket(long+"2", "", 1) {
		t.Error("two directories share a socket")
	}
	if len(run) < 60 && !strings.HasPrefix(etcdSocket(long, run, 1), run) {
		t.Error("the runtime directory is not used")
	}
}

func newDir(t *testing.T) Dir {
	d := Dir(filepath.Join(t.TempDir(), "c"))
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOneHoldsTheLock(t *testing.T) {
	d := newDir(t)
	if d.Running() {
		t.Error("runs before anybody locked")
	}
	l, err := d.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.TryLock(); !errors.Is(err, ErrBusy) {
		t.Errorf("second lock: %v", err)
	}
	if !d.Running() {
		t.Error("doesn't run while locked")
	}
	l.Unlock()
	if d.Running() {
		t.Error("runs after unlock")
	}
	if l, err = d.TryLock(); err != nil {
		t.Errorf("lock after unlock: %v", err)
	} else {
		l.Unlock()
	}
}

func TestLockOfRemovedDirectoryIsNotFound(t *testing.T) {
	d := newDir(t)
	l, err := d.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.TryLock(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("lock in a removed directory: %v", err)
	}
	// The old lock is still held, but a new directory of that name is free.
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	if l2, err := d.TryLock(); err != nil {
		t.Errorf("lock in the new directory: %v", err)
	} else {
		l2.Unlock()
	}
	l.Unlock()
}

func TestGlancesDontLookLikeSupervisors(t *testing.T) {
	d := newDir(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				d.Running()
			}
		}
	}()
	for range 2000 {
		l, err := d.TryLock()
		if err != nil {
			t.Errorf("lock while somebody glances: %v", err)
			break
		}
		l.Unlock()
	}
	close(stop)
	<-done
}

func TestCreateRefusesForeignDirectories(t *testing.T) {
	d := Dir(t.TempDir())
	if err := d.Create(); err != nil {
		t.Errorf("empty: %v", err)
	}
	if err := os.WriteFile(d.file("thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(); err == nil {
		t.Error("a directory with a foreign file was taken")
	}
	if err := d.Remove(); err == nil {
		t.Error("a directory with a foreign file was removed")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if err := Dir(link).Create(); err == nil {
		t.Error("a link was taken")
	}
}

func TestCleanKeepsWhatItShould(t *testing.T) {
	for _, keep := range []bool{false, true} {
		d := newDir(t)
		for _, f := range []string{lockName, "ca.crt", "ca.key", "audit.log", "state.json", "etcd/x", "internal/y", "log/z"} {
			os.MkdirAll(filepath.Dir(d.file(f)), 0o700)
			if err := os.WriteFile(d.file(f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Clean(keep); err != nil {
			t.Fatal(err)
		}
		for f, want := range map[string]bool{lockName: true, "ca.crt": true, "ca.key": true, "audit.log": false, "state.json": keep, "etcd/x": keep, "internal/y": keep, "log": true, "log/z": false, "internal": true} {
			if _, err := os.Stat(d.file(f)); (err == nil) != want {
				t.Errorf("keep=%v: %s: %v", keep, f, err)
			}
		}
	}
}

func TestStateSurvivesWritingAndDamageIsAnError(t *testing.T) {
	d := newDir(t)
	if _, err := d.ReadState(); !os.IsNotExist(err) {
		t.Errorf("missing: %v", err)
	}
	want := State{Phase: Ready, Name: "n", PID: 7, StartTicks: 1 << 60, Children: []Child{{"kwok", 8}}}
	if err := d.WriteState(want); err != nil {
		t.Fatal(err)
	}
	got, err := d.ReadState()
	if err != nil || got.Phase != Ready || got.StartTicks != 1<<60 || got.Children[0] != want.Children[0] {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.WriteFile(d.State(), []byte(`{"phase":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadState(); err == nil {
		t.Error("a damaged file is no error")
	}
}

func TestCreateRemovesWhatAKilledRemoveLeft(t *testing.T) {
	d := newDir(t)
	left := string(d) + ".gone-1"
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s: %v", left, err)
	}
}

func TestNamesPassesOverWhatIsNoCluster(t *testing.T) {
	root := t.TempDir()
	for _, n := range []string{"b", "a"} {
		d := Dir(filepath.Join(root, n))
		if err := d.Create(); err != nil {
			t.Fatal(err)
		}
		l, err := d.TryLock()
		if err != nil {
			t.Fatal(err)
		}
		l.Unlock()
	}
	if err := os.Mkdir(filepath.Join(root, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err := Names(root); err != nil || !slices.Equal(names, []Name{"a", "b"}) {
		t.Errorf("%v, %v", names, err)
	}
	if names, err := Names(filepath.Join(root, "none")); err != nil || len(names) != 0 {
		t.Errorf("no root: %v, %v", names, err)
	}
}
