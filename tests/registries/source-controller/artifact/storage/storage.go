// Package storage keeps the artifacts of sources as files: KIND/NAMESPACE/NAME/FILE below one directory. Any goroutine may
// call it; writers of the same artifact hold its Lock.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	digestlib "github.com/opencontainers/go-digest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fluxcd/pkg/artifact/config"
	"github.com/fluxcd/pkg/artifact/digest"
)

// A reader that was told of an artifact just before its source got a new one may still come for it.
const grace = time.Minute

// Storage names files relative to its root, which they can't leave.
type Storage struct {
	root  *os.Root
	host  string
	locks sync.Map // path of an artifact: *sync.Mutex
}

// New opens the directory of the options, and their listener, whose address is in the URLs of artifacts.
func New(options *config.Options) (*Storage, error) {
	root, err := os.OpenRoot(options.StoragePath)
	if err != nil {
		return nil, err
	}
	listener, err := options.Listener()
	if err != nil {
		return nil, err
	}
	return &Storage{root: root, host: listener.Addr().String()}, nil
}

// NewArtifactFor names an artifact of an object; nothing is stored yet.
func (s *Storage) NewArtifactFor(kind string, object metav1.Object, revision, file string) meta.Artifact {
	artifact := meta.Artifact{
		Path:     path.Join(strings.ToLower(kind), object.GetNamespace(), object.GetName(), file),
		Revision: revision,
	}
	s.SetArtifactURL(&artifact)
	return artifact
}

// SetArtifactURL sets where the artifact is served now.
func (s *Storage) SetArtifactURL(artifact *meta.Artifact) {
	artifact.URL = s.url(artifact.Path)
}

// SetHostname returns a URL of an earlier run with the address of this one.
func (s *Storage) SetHostname(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return address
	}
	parsed.Host = s.host
	return parsed.String()
}

func (s *Storage) url(file string) string {
	return (&url.URL{Scheme: "http", Host: s.host, Path: file}).String()
}

// LocalPath is where the artifact lies in the file system.
func (s *Storage) LocalPath(artifact meta.Artifact) string {
	return filepath.Join(s.root.Name(), artifact.Path)
}

// MkdirAll makes the directory of the artifact.
func (s *Storage) MkdirAll(artifact meta.Artifact) error {
	return s.root.MkdirAll(path.Dir(artifact.Path), 0o700)
}

// Lock waits until no one else writes this artifact. Only one process works in the directory.
func (s *Storage) Lock(artifact meta.Artifact) (unlock func(), err error) {
	held, _ := s.locks.LoadOrStore(artifact.Path, new(sync.Mutex))
	lock := held.(*sync.Mutex)
	lock.Lock()
	return lock.Unlock, nil
}

// ArtifactExist says whether the artifact's file is there.
func (s *Storage) ArtifactExist(artifact meta.Artifact) bool {
	info, err := s.root.Lstat(artifact.Path)
	return err == nil && info.Mode().IsRegular()
}

// VerifyArtifact fails if the file isn't the one whose digest the artifact has.
func (s *Storage) VerifyArtifact(artifact meta.Artifact) error {
	want, err := digestlib.Parse(artifact.Digest)
	if err != nil {
		return fmt.Errorf("digest %q of an artifact: %w", artifact.Digest, err)
	}
	file, err := s.root.Open(artifact.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	verifier := want.Verifier()
	if _, err := io.Copy(verifier, file); err != nil {
		return err
	}
	if !verifier.Verified() {
		return fmt.Errorf("%s does not have the digest %s", artifact.Path, want)
	}
	return nil
}

// Copy stores what the reader has.
func (s *Storage) Copy(artifact *meta.Artifact, from io.Reader) error {
	return s.store(artifact, func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	})
}

// CopyFromPath stores a file.
func (s *Storage) CopyFromPath(artifact *meta.Artifact, file string) error {
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	return s.Copy(artifact, from)
}

// CopyToPath would copy another repository's content into a GitRepository (spec.include), which no test does.
func (s *Storage) CopyToPath(*meta.Artifact, string, string) error {
	return errors.ErrUnsupported
}

// store replaces the artifact's file at once, and describes it in the artifact.
func (s *Storage) store(artifact *meta.Artifact, write func(io.Writer) error) error {
	unfinished := artifact.Path + ".new"
	file, err := s.root.Create(unfinished)
	if err != nil {
		return err
	}
	defer s.root.Remove(unfinished)
	digester := digest.Canonical.Digester()
	err = write(io.MultiWriter(file, digester.Hash()))
	size, seek := file.Seek(0, io.SeekCurrent)
	if err := errors.Join(err, seek, file.Close()); err != nil {
		return err
	}
	if err := s.root.Rename(unfinished, artifact.Path); err != nil {
		return err
	}
	artifact.Digest = digester.Digest().String()
	artifact.Size = &size
	artifact.LastUpdateTime = metav1.Now()
	return nil
}

// Symlink gives the artifact a second name in its directory, and returns that name's URL.
func (s *Storage) Symlink(artifact meta.Artifact, name string) (string, error) {
	link := path.Join(path.Dir(artifact.Path), name)
	if err := s.root.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return s.url(link), s.root.Symlink(path.Base(artifact.Path), link)
}

// Remove removes the artifact's file.
func (s *Storage) Remove(artifact meta.Artifact) error {
	return s.root.Remove(artifact.Path)
}

// RemoveAll removes the artifact's directory, and returns its name if it was there.
func (s *Storage) RemoveAll(artifact meta.Artifact) (string, error) {
	directory := path.Dir(artifact.Path)
	if _, err := s.root.Lstat(directory); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return directory, s.root.RemoveAll(directory)
}

// GarbageCollect removes old files beside the artifact, and returns their names. It is quick, so the deadline is not looked at.
func (s *Storage) GarbageCollect(_ context.Context, artifact meta.Artifact, _ time.Duration) ([]string, error) {
	directory := path.Dir(artifact.Path)
	entries, err := fs.ReadDir(s.root.FS(), directory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var removed []string
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || entry.Name() == path.Base(artifact.Path) || time.Since(info.ModTime()) < grace {
			continue
		}
		old := path.Join(directory, entry.Name())
		if err := s.root.Remove(old); err != nil {
			return removed, err
		}
		removed = append(removed, old)
	}
	return removed, nil
}
