package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Dir is the directory of one cluster, an absolute path.
type Dir string

// The files in it. Users and tests may rely on those of the first group, which the
// README names.
func (d Dir) Kubeconfig() string          { return d.file("kubeconfig") }
func (d Dir) TokenKubeconfig() string     { return d.file("kubeconfig-token") }
func (d Dir) LimitedKubeconfig() string   { return d.file("kubeconfig-limited") }
func (d Dir) CACert() string              { return d.file("ca.crt") }
func (d Dir) CAKey() string               { return d.file("ca.key") }
func (d Dir) AdminCert() string           { return d.file("admin.crt") }
func (d Dir) AdminKey() string            { return d.file("admin.key") }
func (d Dir) Audit() string               { return d.file("audit.log") }
func (d Dir) Logs() string                { return d.file("log") }
func (d Dir) Log(component string) string { return filepath.Join(d.Logs(), component+".log") }

func (d Dir) State() string               { return d.file("state.json") }
func (d Dir) Lock() string                { return d.file(lockName) }
func (d Dir) Etcd() string                { return d.file("etcd") }
func (d Dir) Node() string                { return d.file("node") } // of a real node
func (d Dir) Internal(name string) string { return filepath.Join(string(d), "internal", name) }
func (d Dir) file(name string) string     { return filepath.Join(string(d), name) }
func (d Dir) survivors() map[string]bool {
	return map[string]bool{lockName: true, "ca.crt": true, "ca.key": true}
}
func (d Dir) keptSurvivors() map[string]bool {
	s := d.survivors()
	// The state says that the data is to be kept.
	s["etcd"], s["internal"], s["state.json"] = true, true, true
	return s
}

// lockName is also what marks a directory as a cluster's, to be emptied and removed.
const lockName = "devcluster.lock"

// IsOurs says whether this is a cluster's directory. Nothing is ever deleted in another.
func (d Dir) IsOurs() bool {
	_, err := os.Lstat(d.Lock())
	return err == nil
}

// Create makes the directory (mode 0700), or checks that what is there belongs to
// us and is a cluster's or empty: it will be emptied, so nothing else may be in it.
func (d Dir) Create() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("can't make the cluster's directory: %w", err)
	}
	if err := checkPrivate(string(d)); err != nil {
		return err
	}
	// Left by a Remove that was killed.
	if left, err := filepath.Glob(globQuote(string(d)) + goneSuffix + "*"); err == nil {
		for _, f := range left {
			os.RemoveAll(f)
		}
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return err
	}
	if len(entries) != 0 && !d.IsOurs() {
		return fmt.Errorf("%s is not empty and no cluster's directory; name another with --dir", d)
	}
	return os.Chmod(string(d), 0o700)
}

// Clean removes what an earlier run left, but for the lock (its caller holds it) and
// the CA, so that kubeconfigs made with it stay good; keepData spares etcd's data too.
func (d Dir) Clean(keepData bool) error {
	spare := d.survivors()
	if keepData {
		spare = d.keptSurvivors()
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if spare[e.Name()] {
			continue
		}
		if err := os.RemoveAll(d.file(e.Name())); err != nil {
			return err
		}
	}
	for _, sub := range []string{"log", "internal"} {
		if err := os.MkdirAll(d.file(sub), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// goneSuffix and a process id follow the name of a directory that is being removed.
const goneSuffix = ".gone-"

// globQuote makes filepath.Glob take a path as it is.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Remove deletes the directory; the caller holds its lock. The rename first makes the
// name free in one step: another `up` either finds all of it or nothing.
func (d Dir) Remove() error {
	if !d.IsOurs() {
		return fmt.Errorf("%s is no cluster's directory", d)
	}
	d.removeSocketDir()
	gone := fmt.Sprintf("%s%s%d", d, goneSuffix, os.Getpid())
	if err := os.Rename(string(d), gone); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	return os.RemoveAll(gone)
}

// maxSocketPath keeps clear of sun_path's 108 bytes, with room for ".peer".
const maxSocketPath = 100

// EtcdSocket is the path of etcd's client socket; ".peer" is appended for the other.
// It lies in the cluster's directory, or, where that path is too long for a Unix
// socket, in a private directory with a short name derived from it.
func (d Dir) EtcdSocket() string {
	return etcdSocket(string(d), os.Getenv("XDG_RUNTIME_DIR"), os.Getuid())
}

func etcdSocket(dir, runtimeDir string, uid int) string {
	if s := filepath.Join(dir, "etcd.sock"); len(s)+len(".peer") <= maxSocketPath {
		return s
	}
	sum := sha256.Sum256([]byte(dir))
	short := fmt.Sprintf("mist-dc-%d-%s", uid, hex.EncodeToString(sum[:8]))
	if filepath.IsAbs(runtimeDir) {
		s := filepath.Join(runtimeDir, short, "etcd.sock")
		if info, err := os.Stat(runtimeDir); err == nil && info.IsDir() && len(s)+len(".peer") <= maxSocketPath {
			return s
		}
	}
	return filepath.Join("/tmp", short, "etcd.sock")
}

// PrepareSocket makes the socket's directory and removes stale sockets from it.
func (d Dir) PrepareSocket() error {
	s := d.EtcdSocket()
	if dir := filepath.Dir(s); dir != string(d) {
		if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
			return err
		}
		// In /tmp anybody may have made it first.
		if err := checkPrivate(dir); err != nil {
			return err
		}
	}
	for _, f := range []string{s, s + ".peer"} {
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func (d Dir) removeSocketDir() {
	s := d.EtcdSocket()
	os.Remove(s)
	os.Remove(s + ".peer")
	if dir := filepath.Dir(s); dir != string(d) {
		os.Remove(dir)
	}
}

// checkPrivate refuses a directory that somebody else owns or that is a link.
func checkPrivate(dir string) error {
	info, err := os.Lstat(strings.TrimRight(dir, "/"))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d, not to you (%d); name another with --dir", dir, st.Uid, os.Getuid())
	}
	return nil
}
