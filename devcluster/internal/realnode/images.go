package realnode

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// All nodes share one image store, which build.sh fills: a containerd root directory with unpacked images. A running
// containerd needs one that it may write to. So each node has its own databases, which are small copies; its blobs
// are an overlay over the shared ones; and each unpacked layer is mounted, read-only, where containerd looks for it.
// That takes no time, and no disk space either.
const (
	contentStore = "io.containerd.content.v1.content"
	snapshots    = "io.containerd.snapshotter.v1.overlayfs"
)

var databases = []string{"io.containerd.metadata.v1.bolt/meta.db", snapshots + "/metadata.db"}

// bindImages comes after /var/lib/containerd of the new root was mounted.
func bindImages(files Files, dir Dir, root string) error {
	for _, name := range databases {
		if err := copyFile(files.part("images/"+name), dir.file("containerd/"+name)); err != nil {
			return fmt.Errorf("image store: %w", err)
		}
	}
	layers, err := os.ReadDir(files.part("images/" + snapshots + "/snapshots"))
	if err != nil {
		return fmt.Errorf("image store: %w", err)
	}
	for _, layer := range layers {
		name := snapshots + "/snapshots/" + layer.Name()
		m := mount{source: files.part("images/" + name), target: "var/lib/containerd/" + name, flags: unix.MS_BIND | unix.MS_RDONLY}
		if err := m.do(root); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o711); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
