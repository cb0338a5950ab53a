package engine

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"sigs.k8s.io/kustomize/api/clones"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// TreeMount is where the package's files lie, as far as kustomize can tell; the remote bases lie at clones.Mount. Messages
// are cleaned of both.
const TreeMount = "/package"

// Tree is the package's files: a read-only file system in memory that answers with the very errors that a directory on
// a disk gives. Links don't exist in it; the host resolved them.
type Tree struct {
	files map[string][]byte
	dirs  map[string]struct{}
	// What appears elsewhere too: places, and the directories of the package that they show.
	mounts map[string]string
	// What a build asked for below clones.Mount and didn't find: see remotes.go.
	missing *missingRemotes
}

var errReadOnly = errors.New("the package is read-only")

// errno is an error of the file system in the words of Linux, which WASI's differ from.
type errno string

const (
	noEntry      errno = "no such file or directory"
	notDirectory errno = "not a directory"
	isDirectory  errno = "is a directory"
)

func (e errno) Error() string        { return string(e) }
func (e errno) Is(target error) bool { return e == noEntry && target == fs.ErrNotExist }

func newTree() *Tree {
	t := &Tree{files: map[string][]byte{}, dirs: map[string]struct{}{}, mounts: map[string]string{}}
	t.mkdirs(TreeMount)
	t.mkdirs(clones.Mount)
	return t
}

// LoadTree reads every file of `from`.
func LoadTree(from fs.FS) (*Tree, error) {
	t := newTree()
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := path.Join(TreeMount, name)
		if entry.IsDir() {
			t.mkdirs(at)
			return nil
		}
		bytes, err := fs.ReadFile(from, name)
		if err == nil {
			t.put(at, bytes)
		}
		return err
	})
	return t, err
}

// Empty says that there is no file.
func (t *Tree) Empty() bool { return len(t.files) == 0 }

// file gives the content of a file of the package by its path below the package.
func (t *Tree) file(name string) ([]byte, bool) {
	bytes, ok := t.files[path.Join(TreeMount, name)]
	return bytes, ok
}

func (t *Tree) put(at string, bytes []byte) {
	t.files[at] = bytes
	t.mkdirs(path.Dir(at))
}

func (t *Tree) mkdirs(at string) {
	for ; ; at = path.Dir(at) {
		if _, ok := t.dirs[at]; ok {
			return
		}
		t.dirs[at] = struct{}{}
		if at == "/" {
			return
		}
	}
}

// mount makes the directory `from` of the package appear as `at` too.
func (t *Tree) mount(from, at string) {
	t.mkdirs(at)
	t.mounts[at] = from
	for name, bytes := range t.files {
		if rest, ok := strings.CutPrefix(name, from+"/"); ok {
			t.put(path.Join(at, rest), bytes)
		}
	}
}

// inPackage gives the path below the package of what appears at `at`.
func (t *Tree) inPackage(at string) (string, bool) {
	for place, from := range t.mounts {
		if rest, ok := strings.CutPrefix(at, place+"/"); ok {
			at = path.Join(from, rest)
		}
	}
	return strings.CutPrefix(at, TreeMount+"/")
}

// problem is nil where `at` exists, else what lstat says of the first part of it that is in the way.
func (t *Tree) problem(op, at string) error {
	if t.Exists(at) || t.missing != nil && t.missing.standIn(at) {
		return nil
	}
	for parent := at; parent != "/"; parent = path.Dir(parent) {
		if above := path.Dir(parent); t.IsDir(above) {
			return &fs.PathError{Op: op, Path: parent, Err: noEntry}
		} else if t.isFile(above) {
			return notDirectory
		}
	}
	return noEntry
}

func (t *Tree) isFile(at string) bool {
	_, ok := t.files[at]
	return ok
}

// CleanedAbs splits a path into its directory and file. Part of filesys.FileSystem, as is the rest.
func (t *Tree) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	at := absolute(name)
	if err := t.problem("lstat", at); err != nil {
		return "", "", &evalSymlinkError{name, err}
	}
	if t.IsDir(at) {
		return filesys.ConfirmedDir(at), "", nil
	}
	return filesys.ConfirmedDir(path.Dir(at)), path.Base(at), nil
}

// The words of kustomize's file system on disk.
type evalSymlinkError struct {
	path string
	err  error
}

func (e *evalSymlinkError) Error() string {
	return "evalsymlink failure on '" + e.path + "' : " + e.err.Error()
}
func (e *evalSymlinkError) Unwrap() error { return e.err }

func absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join("/", name)
}

func (t *Tree) ReadFile(name string) ([]byte, error) {
	at := absolute(name)
	if bytes, ok := t.files[at]; ok {
		return bytes, nil
	}
	if t.IsDir(at) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: isDirectory}
	}
	problem := noEntry
	if errors.Is(t.problem("open", at), notDirectory) {
		problem = notDirectory
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: problem}
}

func (t *Tree) IsDir(name string) bool {
	_, ok := t.dirs[absolute(name)]
	return ok
}

func (t *Tree) Exists(name string) bool { return t.isFile(absolute(name)) || t.IsDir(name) }

func (t *Tree) ReadDir(name string) ([]string, error) {
	at := absolute(name)
	if !t.IsDir(at) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: noEntry}
	}
	var names []string
	for file := range t.files {
		if path.Dir(file) == at {
			names = append(names, path.Base(file))
		}
	}
	for dir := range t.dirs {
		if path.Dir(dir) == at && dir != at {
			names = append(names, path.Base(dir))
		}
	}
	sort.Strings(names)
	return names, nil
}

// RemoveAll is asked for by kustomize to clean up after a clone; nothing was cloned.
func (t *Tree) RemoveAll(string) error { return nil }

// What no build asks for.
func (t *Tree) Create(string) (filesys.File, error)    { return nil, errReadOnly }
func (t *Tree) Mkdir(string) error                     { return errReadOnly }
func (t *Tree) MkdirAll(string) error                  { return errReadOnly }
func (t *Tree) WriteFile(string, []byte) error         { return errReadOnly }
func (t *Tree) Open(name string) (filesys.File, error) { return nil, os.ErrInvalid }
func (t *Tree) Glob(string) ([]string, error)          { return nil, os.ErrInvalid }
func (t *Tree) Walk(string, filepath.WalkFunc) error   { return os.ErrInvalid }

var _ filesys.FileSystem = (*Tree)(nil)
