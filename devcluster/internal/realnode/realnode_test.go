package realnode

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// oldCache has the files of a node, as node/build.sh lays them out, which nobody used for a month.
func oldCache(t *testing.T) (whole string, dirs []string) {
	t.Helper()
	cache := t.TempDir()
	programs, images, whole := filepath.Join(cache, "programs"), filepath.Join(cache, "images"), filepath.Join(cache, "whole")
	if err := os.Mkdir(whole, 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"bin": programs, "cni": programs, "root": images, "images": images} {
		if err := os.MkdirAll(filepath.Join(target, link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(target, link), filepath.Join(whole, link)); err != nil {
			t.Fatal(err)
		}
	}
	dirs = []string{programs, images, whole}
	old := time.Now().Add(-30 * 24 * time.Hour)
	for _, dir := range dirs {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	return whole, dirs
}

func isNew(t *testing.T, dir string) bool {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(info.ModTime()) < time.Hour
}

func TestWhatANodeUsesStaysInTheCache(t *testing.T) {
	whole, dirs := oldCache(t)
	Files(whole).keep()
	for _, dir := range dirs {
		if !isNew(t, dir) {
			t.Errorf("%s is as old as before", filepath.Base(dir))
		}
	}
}

func TestANodeThatRunsForLongStaysInTheCache(t *testing.T) {
	whole, dirs := oldCache(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- Files(whole).KeepInUse(ctx, time.Millisecond) }()
	for _, dir := range dirs {
		for end := time.Now().Add(10 * time.Second); !isNew(t, dir); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s is as old as before", filepath.Base(dir))
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
