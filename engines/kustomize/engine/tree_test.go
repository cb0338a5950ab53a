package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func treeWith(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	from := fstest.MapFS{}
	for name, content := range files {
		from[name] = &fstest.MapFile{Data: []byte(content)}
	}
	tree, err := LoadTree(from)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// The tree stands for a disk: it must answer as kustomize's file system on disk does, errors included.
func TestTreeAnswersAsADiskDoes(t *testing.T) {
	files := map[string]string{"a.yaml": "a", "base/b.yaml": "b", "base/deep/c": "c", ".env": "k=v", "empty": ""}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		at := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, disk := treeWith(t, files), filesys.MakeFsOnDisk()
	words := func(err error) string {
		if err == nil {
			return ""
		}
		return strings.ReplaceAll(err.Error(), top, TreeMount)
	}
	for _, name := range []string{
		"", "a.yaml", "base", "base/", "base/b.yaml", "base/../a.yaml", "base/deep", ".env", "empty", "none", "none/x/y",
		"a.yaml/x", "a.yaml/x/y", "base/none", "base/b.yaml/..", "base//deep/./c",
	} {
		here, there := TreeMount+"/"+name, top+"/"+name
		gotDir, gotFile, gotErr := tree.CleanedAbs(here)
		wantDir, wantFile, wantErr := disk.CleanedAbs(there)
		if string(gotDir) != strings.ReplaceAll(string(wantDir), top, TreeMount) || gotFile != wantFile || words(gotErr) != words(wantErr) {
			t.Errorf("CleanedAbs(%q) = %q, %q, %v; a disk: %q, %q, %v", name, gotDir, gotFile, gotErr, wantDir, wantFile, wantErr)
		}
		// The kernel minds what path.Clean takes away: it doesn't go through a file and back.
		if strings.Contains(name, "b.yaml/..") {
			continue
		}
		got, gotErr := tree.ReadFile(here)
		want, wantErr := disk.ReadFile(there)
		if string(got) != string(want) || words(gotErr) != words(wantErr) {
			t.Errorf("ReadFile(%q) = %q, %v; a disk: %q, %v", name, got, gotErr, want, wantErr)
		}
		if tree.Exists(here) != disk.Exists(there) || tree.IsDir(here) != disk.IsDir(there) {
			t.Errorf("%q: exists %v, directory %v; a disk: %v, %v", name, tree.Exists(here), tree.IsDir(here), disk.Exists(there), disk.IsDir(there))
		}
	}
	got, err := tree.ReadDir(TreeMount)
	want, _ := disk.ReadDir(top)
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("ReadDir = %v, %v; a disk: %v", got, err, want)
	}
}
