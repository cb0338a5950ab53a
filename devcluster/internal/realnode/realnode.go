// Package realnode runs a node that is no simulation: containerd, runc, a kubelet, kube-proxy and CoreDNS, beside
// the control plane of a devcluster.
//
// The node is one process tree in namespaces of its own: network, process ids, mounts, host name, IPC. Its root file
// system is made of a few Debian packages, not the machine's. When its first process ends (machine.go), the kernel
// ends everything in it: containers, mounts, interfaces. Only control groups and files remain, and those have fixed
// names. The network namespace has no way out: Pods reach one another, Services and the API server, nothing else.
// The control plane's processes run in that network namespace too, so that they reach Pods and the kubelet directly;
// clients reach the API server at the machine's 127.0.0.1, because a listening socket stays in the namespace that it
// was made in.
package realnode

import (
	"context"
	"embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Fixed names and addresses. Clusters with the same ones run side by side: each has its own network.
const (
	Name   = "real-0"
	IP     = "10.245.0.1"
	DNS    = "10.96.0.10" // the Service kube-dns; the server itself is at IP
	Volume = "/var/lib/devcluster-volumes"
)

// Files is the directory that devcluster/node/build.sh makes: bin, cni, root, images.
type Files string

// FindFiles looks beside the program, where build.sh puts a link, and marks what it finds as in use.
func FindFiles() (Files, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(filepath.Dir(program)), "node"))
	if errors.Is(err, os.ErrNotExist) {
		return "", errors.New("the real node's programs and images are not built; run devcluster/node/build.sh, then try again")
	}
	Files(dir).keep()
	return Files(dir), err
}

// keep makes new what the files consist of: builds remove from the cache what nobody used for two weeks (devcluster/build.sh), and a
// node may be started by its link alone, without node/build.sh. The cache may be somebody else's, so errors don't matter.
func (f Files) keep() {
	now := time.Now()
	os.Chtimes(string(f), now, now)
	for _, part := range []string{"bin", "images"} {
		if dir, err := filepath.EvalSymlinks(f.part(part)); err == nil {
			os.Chtimes(filepath.Dir(dir), now, now)
		}
	}
}

// KeepInUse does the same again and again until ctx ends: a cluster may run for months.
func (f Files) KeepInUse(ctx context.Context, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			f.keep()
		}
	}
}

func (f Files) part(name string) string { return filepath.Join(string(f), name) }

// Dir is the directory of one node, in its cluster's directory.
type Dir string

func (d Dir) file(name string) string { return filepath.Join(string(d), name) }

// Volumes is where volumes are on this machine; on the node they are in Volume.
func (d Dir) Volumes() string { return d.file("volumes") }

// Config is a file that the node reads as /etc/devcluster/NAME.
func (d Dir) Config(name string) string { return d.file("etc/" + name) }

//go:embed config
var config embed.FS

// Prepare makes the directory and the configuration of a new node. The caller adds ca.crt, kubelet.crt, kubelet.key
// and the kubeconfigs of kubelet, kube-proxy and coredns.
func (d Dir) Prepare(cgroups Cgroups) error {
	for _, sub := range []string{"root", "containerd", "blobs", "blobs-work", "kubelet", "pods", "volumes", "etc/cni", "etc/certs.d/_default"} {
		if err := os.MkdirAll(d.file(sub), 0o755); err != nil {
			return err
		}
	}
	for name, file := range map[string]string{
		"containerd.toml": "containerd.toml", "hosts.toml": "certs.d/_default/hosts.toml", "cni.conflist": "cni/10-devcluster.conflist",
		"kubelet.yaml": "kubelet.yaml", "kube-proxy.yaml": "kube-proxy.yaml", "Corefile": "Corefile",
	} {
		text, err := config.ReadFile("config/" + name)
		if err != nil {
			return err
		}
		full := strings.ReplaceAll(string(text), "@CGROUP@", cgroups.Name)
		if err := os.WriteFile(d.Config(file), []byte(full), 0o600); err != nil {
			return err
		}
	}
	return nil
}
