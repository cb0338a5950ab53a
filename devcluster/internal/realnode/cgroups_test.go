package realnode

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// hierarchies is a directory like /sys/fs/cgroup with version 1.
func hierarchies(t *testing.T, names ...string) string {
	root := t.TempDir()
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func exists(t *testing.T, path ...string) bool {
	_, err := os.Stat(filepath.Join(path...))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil
}

func TestGroupsAreMadeInEachHierarchyAndRemovedWithWhatIsInThem(t *testing.T) {
	root := hierarchies(t, "memory", "cpu,cpuacct", "systemd", "unified")
	c := Cgroups{Name: "mine-1", root: root}
	if err := c.Create(); err != nil {
		t.Fatal(err)
	}
	for hierarchy, want := range map[string]bool{"memory": true, "cpu,cpuacct": true, "systemd": true, "unified": false} {
		if exists(t, root, hierarchy, c.Name) != want {
			t.Errorf("%s: %v expected", hierarchy, want)
		}
	}
	for _, below := range []string{"memory/mine-1/kubepods/pod1", "unified/mine-1/x", "memory/mine-2/x", "memory/theirs-1"} {
		if err := os.MkdirAll(filepath.Join(root, below), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Remove(0); err != nil {
		t.Fatal(err)
	}
	if exists(t, root, "memory/mine-1") || exists(t, root, "unified/mine-1") || exists(t, root, "cpu,cpuacct/mine-1") {
		t.Error("a group is left")
	}
	if !exists(t, root, "memory/mine-2/x") {
		t.Error("the next run's groups are gone")
	}
	if err := (Cgroups{Name: "mine-*", root: root}).Remove(0); err != nil {
		t.Fatal(err)
	}
	if exists(t, root, "memory/mine-2") || !exists(t, root, "memory/theirs-1") {
		t.Error("a pattern removes exactly what matches")
	}
}

func TestAGroupInUseIsAnErrorThatNamesIt(t *testing.T) {
	root := hierarchies(t, "memory")
	c := Cgroups{Name: "mine-1", root: root}
	if err := c.Create(); err != nil {
		t.Fatal(err)
	}
	busy := filepath.Join(root, "memory/mine-1/file") // as a process makes a real one
	if err := os.WriteFile(busy, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(0); err == nil {
		t.Error("it was removed")
	}
	os.Remove(busy)
	if err := c.Remove(0); err != nil {
		t.Error(err)
	}
}

func TestTheCpusetOfAGroupIsItsParents(t *testing.T) {
	root := hierarchies(t, "cpuset")
	for file, value := range map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "0\n"} {
		if err := os.WriteFile(filepath.Join(root, "cpuset", file), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := Cgroups{Name: "mine-1", root: root}
	if err := c.Create(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "0\n"} {
		if got, err := os.ReadFile(filepath.Join(root, "cpuset/mine-1", file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

func TestMissingControllersAreNamed(t *testing.T) {
	c := Cgroups{root: hierarchies(t, "cpu,cpuacct", "cpuset", "pids")}
	if got := c.missing(); !slices.Equal(got, []string{"memory", "devices"}) {
		t.Error(got)
	}
}

func TestEachRunOfEachClusterHasItsOwnGroups(t *testing.T) {
	a, b := CgroupsOf("/a", 1), CgroupsOf("/b", 1)
	if a.Name == b.Name || a.Name == CgroupsOf("/a", 2).Name {
		t.Error("two have one name")
	}
	for _, c := range []struct {
		cgroups Cgroups
		want    bool
	}{{a, true}, {b, false}} {
		if got, err := filepath.Match(LeftCgroups("/a").Name, c.cgroups.Name); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.cgroups.Name, got, err)
		}
	}
}
