package realnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// MissingFeatures lists what a node needs of this machine and doesn't find, besides rights; none: it can run here, in a
// cluster below this directory. Each thing is tried, in namespaces that end with the trial.
func MissingFeatures(files Files, place string) []string {
	var missing []string
	add := func(what string, err error) {
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", what, err))
		}
	}
	if controllers := (Cgroups{root: cgroupFS}).missing(); len(controllers) != 0 {
		missing = append(missing, fmt.Sprintf("the cgroup controllers %s in %s", strings.Join(controllers, ", "), cgroupFS))
	}
	add("namespaces for processes, mounts, host name and IPC", tryNamespaces(files))
	add("overlay file systems on "+place, onThread(func() error { return tryOverlay(place) }))
	add("virtual network interfaces (veth) in a network namespace", onThread(tryInterfaces))
	add("nftables with address translation", onThread(func() error { return tryFilters(files) }))
	return missing
}

// rights are what root has to be allowed, where it isn't allowed everything.
var rights = []struct {
	bit  int
	name string
}{
	{unix.CAP_CHOWN, "CAP_CHOWN"}, {unix.CAP_SETUID, "CAP_SETUID"}, {unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"},
	{unix.CAP_SYS_CHROOT, "CAP_SYS_CHROOT"}, {unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {unix.CAP_MKNOD, "CAP_MKNOD"},
}

// MissingRights lists what this process is not allowed.
func MissingRights() []string {
	if os.Geteuid() != 0 {
		return []string{fmt.Sprintf("root (this is user %d)", os.Geteuid())}
	}
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return []string{fmt.Sprintf("root's rights (%v)", err)}
	}
	var missing []string
	for _, r := range rights {
		if data[r.bit/32].Effective&(1<<(r.bit%32)) == 0 {
			missing = append(missing, r.name)
		}
	}
	return missing
}

func tryNamespaces(files Files) error {
	c := exec.Command("/usr/bin/busybox", "true")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: NewNamespaces, Chroot: files.part("root")}
	c.Dir = "/"
	return c.Run()
}

func tryOverlay(place string) error {
	// The cluster's directory comes later; what it will be in decides.
	for {
		if _, err := os.Stat(place); !errors.Is(err, os.ErrNotExist) || place == "/" {
			break
		}
		place = filepath.Dir(place)
	}
	dir, err := os.MkdirTemp(place, ".devcluster-overlay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, sub := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir)
	merged := filepath.Join(dir, "merged")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(merged, "file"), nil, 0o600)
	return errors.Join(err, unix.Unmount(merged, unix.MNT_DETACH))
}

func tryInterfaces() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "a"}, PeerName: "b"})
}

// tryFilters makes what kube-proxy and hostPorts need.
func tryFilters(files Files) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	const rules = `table ip trial {
	map addresses { type ipv4_addr . inet_proto . inet_service : verdict; }
	chain c { type nat hook postrouting priority 100; ct status dnat numgen random mod 2 0 masquerade; }
	chain f { type filter hook forward priority 0; fib daddr type local reject; }
}`
	c := exec.Command("/usr/sbin/nft", "-f", "-")
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: files.part("root")}
	c.Dir = "/"
	c.Stdin = strings.NewReader(rules)
	if output, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
