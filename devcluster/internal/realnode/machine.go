package realnode

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// NewNamespaces are those that the node's first process has to be started in, besides the network's.
const NewNamespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// Go is what the first process waits for on its standard input before it starts what needs the API server.
const Go = "go\n"

const containerdSocket = "/run/containerd/containerd.sock"

// ImportCommand reads an image archive from its standard input, in the node's mount namespace.
func ImportCommand() []string {
	return []string{"/opt/node/bin/ctr", "--address=" + containerdSocket, "--namespace=k8s.io", "images", "import", "--snapshotter=overlayfs", "-"}
}

// Arguments are those of Main.
func Arguments(files Files, dir Dir, logs string) []string {
	return []string{"--files=" + string(files), "--dir=" + string(dir), "--logs=" + logs}
}

// Main is the node's first process. It makes the node's root file system, starts its programs, and ends when one of
// them does; then the kernel ends all others.
func Main() error {
	fs := pflag.NewFlagSet("node", pflag.ContinueOnError)
	files := fs.String("files", "", "what devcluster/node/build.sh made")
	dir := fs.String("dir", "", "the node's directory")
	logs := fs.String("logs", "", "the directory of logs")
	if err := fs.Parse(os.Args[1:]); err != nil {
		return err
	}
	if os.Getpid() != 1 {
		return errors.New("this is the first process of a node; devcluster starts it")
	}
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM, syscall.SIGINT)

	unix.Umask(0o022) // not the supervisor's: containers of any user read what is made here
	if err := unix.Sethostname([]byte(Name)); err != nil {
		return fmt.Errorf("can't set the host name: %w", err)
	}
	if err := enterRoot(Files(*files), Dir(*dir), *logs); err != nil {
		return err
	}
	n := &programs{running: map[int]string{}, ended: make(chan error, 8)}
	if err := n.start("containerd", "/opt/node/bin/containerd", "--config=/etc/devcluster/containerd.toml"); err != nil {
		return err
	}
	go n.collect()
	ready := make(chan error, 1)
	go func() { ready <- awaitStart() }()
	select {
	case <-terminate:
		return nil
	case err := <-n.ended:
		return err
	case err := <-ready:
		if err == nil {
			err = n.startAll()
		}
		if err != nil {
			return err
		}
	}
	select {
	case <-terminate:
		return nil
	case err := <-n.ended:
		return err
	}
}

// awaitStart returns when containerd answers and the supervisor said go.
func awaitStart() error {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err == io.EOF {
		return errors.New("the supervisor has ended")
	}
	if err != nil || line != Go {
		return fmt.Errorf("unexpected order %q: %v", line, err)
	}
	for {
		c, err := net.Dial("unix", containerdSocket)
		if err == nil {
			return c.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// programs are the node's long-running ones.
type programs struct {
	lock    sync.Mutex
	running map[int]string
	ended   chan error
}

func (n *programs) startAll() error {
	for _, p := range [][]string{
		{"kubelet", "/opt/node/bin/kubelet", "--config=/etc/devcluster/kubelet.yaml", "--kubeconfig=/etc/devcluster/kubelet.kubeconfig",
			"--hostname-override=" + Name, "--node-ip=" + IP,
			"--node-labels=mistletoe.dev/real=true,topology.kubernetes.io/region=local,topology.kubernetes.io/zone=zone-0"},
		{"kube-proxy", "/opt/node/bin/kube-proxy", "--config=/etc/devcluster/kube-proxy.yaml"},
		{"coredns", "/opt/node/bin/coredns", "-conf=/etc/devcluster/Corefile"},
	} {
		if err := n.start(p[0], p[1], p[2:]...); err != nil {
			return err
		}
	}
	return nil
}

func (n *programs) start(name, file string, args ...string) error {
	log, err := os.OpenFile("/var/log/devcluster/"+name+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	// Under the lock, so that collect knows it even if it ends at once.
	n.lock.Lock()
	defer n.lock.Unlock()
	p, err := os.StartProcess(file, append([]string{file}, args...), &os.ProcAttr{
		Dir: "/", Files: []*os.File{null, log, log},
		Env: []string{"PATH=/opt/node/bin:/usr/sbin:/usr/bin", "HOME=/root", "LANG=C.UTF-8"},
	})
	if err != nil {
		return fmt.Errorf("can't start %s: %w", name, err)
	}
	n.running[p.Pid] = name
	return p.Release()
}

// collect waits for every process that ends: the first process of a PID namespace inherits all orphans, such as
// containerd's shims.
func (n *programs) collect() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if errors.Is(err, unix.ECHILD) {
			n.ended <- errors.New("no process is left")
			return
		}
		if err != nil {
			continue
		}
		n.lock.Lock()
		name, ours := n.running[pid]
		n.lock.Unlock()
		if ours {
			n.ended <- fmt.Errorf("%s ended: %s", name, how(status))
		}
	}
}

func how(s unix.WaitStatus) string {
	if s.Signaled() {
		return "signal: " + s.Signal().String()
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}

// mount is one line of the table that the root file system is made of; the target is below the new root.
type mount struct {
	source, target, kind string
	flags                uintptr
	options              string
}

const private = unix.MS_NOSUID | unix.MS_NODEV

// enterRoot makes the node's root file system and leaves the machine's.
func enterRoot(files Files, dir Dir, logs string) error {
	root := dir.file("root")
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("can't make mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "mode=755,size=64m"); err != nil {
		return fmt.Errorf("can't mount a tmpfs: %w", err)
	}
	if err := writeEtc(root); err != nil {
		return err
	}
	for _, m := range rootMounts(files, dir, logs) {
		if err := m.do(root); err != nil {
			return err
		}
	}
	if err := bindImages(files, dir, root); err != nil {
		return err
	}
	if err := pivot(root); err != nil {
		return err
	}
	return overrideSettings()
}

func rootMounts(files Files, dir Dir, logs string) []mount {
	const bind, readOnly = unix.MS_BIND, unix.MS_BIND | unix.MS_RDONLY
	return []mount{
		{source: files.part("root/usr"), target: "usr", flags: readOnly},
		{source: "proc", target: "proc", kind: "proc", flags: private | unix.MS_NOEXEC},
		{source: "sysfs", target: "sys", kind: "sysfs", flags: private | unix.MS_NOEXEC},
		{source: cgroupFS, target: "sys/fs/cgroup", flags: bind | unix.MS_REC},
		{source: "/dev", target: "dev", flags: bind | unix.MS_REC},
		{source: "tmpfs", target: "run", kind: "tmpfs", flags: private, options: "mode=755"},
		{source: "tmpfs", target: "tmp", kind: "tmpfs", flags: private, options: "mode=1777"},
		{source: files.part("bin"), target: "opt/node/bin", flags: readOnly},
		{source: files.part("cni"), target: "opt/node/cni", flags: readOnly},
		{source: dir.file("etc"), target: "etc/devcluster", flags: readOnly},
		{source: logs, target: "var/log/devcluster", flags: bind},
		{source: dir.file("pods"), target: "var/log/pods", flags: bind},
		{source: dir.file("kubelet"), target: "var/lib/kubelet", flags: bind},
		{source: dir.file("containerd"), target: "var/lib/containerd", flags: bind},
		{source: dir.Volumes(), target: Volume[1:], flags: bind},
		{source: "overlay", target: "var/lib/containerd/" + contentStore, kind: "overlay", options: fmt.Sprintf(
			"lowerdir=%s,upperdir=%s,workdir=%s", files.part("images/"+contentStore), dir.file("blobs"), dir.file("blobs-work"))},
	}
}

func (m mount) do(root string) error {
	target := filepath.Join(root, m.target)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	// A bind mount takes no other flags at first.
	first := m.flags
	if m.flags&unix.MS_BIND != 0 {
		first &= unix.MS_BIND | unix.MS_REC
	}
	err := unix.Mount(m.source, target, m.kind, first, m.options)
	if err == nil && first != m.flags {
		err = unix.Mount("", target, "", m.flags|unix.MS_REMOUNT, "")
	}
	if err != nil {
		return fmt.Errorf("can't mount %s on the node's /%s: %w", m.source, m.target, err)
	}
	return nil
}

func writeEtc(root string) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+name, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"etc", "root", "var"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink("/run", filepath.Join(root, "var/run")); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/sh\n", "group": "root:x:0:\n", "hostname": Name + "\n",
		"hosts": "127.0.0.1 localhost\n" + IP + " " + Name + "\n", "resolv.conf": "nameserver " + IP + "\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n", "machine-id": strings.Repeat("0", 31) + "1\n",
	} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func pivot(root string) error {
	old := filepath.Join(root, "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(root, old); err != nil {
		return fmt.Errorf("can't change the root file system: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Unmount("/old", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("can't leave the machine's file systems: %w", err)
	}
	if err := os.Remove("/old"); err != nil {
		return err
	}
	// Mounts of containerd and the kubelet have to reach containers.
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// overrideSettings shows the kubelet the kernel settings that it insists on, which it would else make for the whole
// machine.
func overrideSettings() error {
	for setting, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		file := "/run/setting-" + strings.ReplaceAll(setting, "/", "-")
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		err := unix.Mount(file, "/proc/sys/"+setting, "", unix.MS_BIND, "")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("can't set %s: %w", setting, err)
		}
	}
	return nil
}
