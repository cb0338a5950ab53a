package realnode

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWhatANodeUsesStaysInTheCache(t *testing.T) {
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
	old := time.Now().Add(-30 * 24 * time.Hour)
	for _, dir := range []string{programs, images, whole} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	Files(whole).keep()
	for _, dir := range []string{programs, images, whole} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(info.ModTime()) > time.Hour {
			t.Errorf("%s is as old as before: %s", filepath.Base(dir), info.ModTime())
		}
	}
}
