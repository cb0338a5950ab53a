package realnode

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupFS is where every distribution mounts control groups.
const cgroupFS = "/sys/fs/cgroup"

// Cgroups are the groups of one node's containers: one directory of this name, or, with version 1, one in each
// hierarchy. The node's own processes stay where the supervisor is.
type Cgroups struct {
	Name string // in Remove, a pattern of filepath.Match
	root string
}

// CgroupsOf names the groups of a node. Each run of a cluster has its own, so that the last one's sweeper can't remove
// those of the next one.
func CgroupsOf(cluster string, supervisor int) Cgroups {
	return Cgroups{Name: fmt.Sprintf("%s-%d", cgroupPrefix(cluster), supervisor), root: cgroupFS}
}

// LeftCgroups are those of all runs of a cluster, for the holder of its lock to remove.
func LeftCgroups(cluster string) Cgroups {
	return Cgroups{Name: cgroupPrefix(cluster) + "-*", root: cgroupFS}
}

func cgroupPrefix(cluster string) string {
	sum := sha256.Sum256([]byte(cluster))
	return "mistletoe-devcluster-" + hex.EncodeToString(sum[:6])
}

func (c Cgroups) unified() bool {
	var s unix.Statfs_t
	return unix.Statfs(c.root, &s) == nil && s.Type == unix.CGROUP2_SUPER_MAGIC
}

// hierarchies are the mounted ones, by the names of their directories.
func (c Cgroups) hierarchies() []string {
	entries, _ := os.ReadDir(c.root)
	var found []string
	for _, e := range entries {
		if e.IsDir() { // no symbolic link
			found = append(found, e.Name())
		}
	}
	return found
}

// missing are the controllers that the kubelet needs and this machine lacks.
func (c Cgroups) missing() []string {
	have := c.hierarchies()
	needed := []string{"cpu", "cpuacct", "cpuset", "memory", "pids", "devices"}
	if c.unified() {
		list, _ := os.ReadFile(filepath.Join(c.root, "cgroup.controllers"))
		have, needed = strings.Fields(string(list)), []string{"cpu", "cpuset", "memory", "pids"}
	}
	var missing []string
	for _, controller := range needed {
		// "cpu,cpuacct" is one hierarchy with two controllers.
		if !slices.ContainsFunc(have, func(h string) bool { return slices.Contains(strings.Split(h, ","), controller) }) {
			missing = append(missing, controller)
		}
	}
	return missing
}

// Create makes the groups.
func (c Cgroups) Create() error {
	if c.unified() {
		if err := os.WriteFile(filepath.Join(c.root, "cgroup.subtree_control"), []byte("+cpu +cpuset +memory +pids"), 0); err != nil {
			return fmt.Errorf("can't hand control groups on: %w", err)
		}
		return os.Mkdir(filepath.Join(c.root, c.Name), 0o755)
	}
	for _, hierarchy := range c.hierarchies() {
		if hierarchy == "unified" { // version 2 without controllers; runc makes what it wants there
			continue
		}
		parent := filepath.Join(c.root, hierarchy)
		if err := os.Mkdir(filepath.Join(parent, c.Name), 0o755); err != nil {
			return fmt.Errorf("can't make a control group: %w", err)
		}
		if !slices.Contains(strings.Split(hierarchy, ","), "cpuset") {
			continue
		}
		// Without them it takes no process.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(parent, file))
			if err == nil {
				err = os.WriteFile(filepath.Join(parent, c.Name, file), value, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove removes the groups with all below them, once their processes have ended. None there is fine.
func (c Cgroups) Remove(patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		left := c.removeOnce()
		if left == nil || time.Now().After(deadline) {
			return left
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// removeOnce is an error while a process is in one of them.
func (c Cgroups) removeOnce() error {
	tops, _ := filepath.Glob(filepath.Join(c.root, "*", c.Name))
	unified, _ := filepath.Glob(filepath.Join(c.root, c.Name))
	tops = append(tops, unified...)
	var problem error
	for _, top := range tops {
		var dirs []string
		filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) { // the deepest first
			if err := unix.Rmdir(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
				problem = fmt.Errorf("can't remove control group %s: %w", dir, err)
			}
		}
	}
	return problem
}
