package storage

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// Filter says of a path below the archived directory that the archive leaves it out.
type Filter func(file string, info fs.FileInfo) bool

// SourceIgnoreFilter leaves out what Flux ignores by default and what these patterns ignore.
func SourceIgnoreFilter(patterns []gitignore.Pattern, domain []string) Filter {
	matcher := sourceignore.NewDefaultMatcher(patterns, domain)
	return func(file string, info fs.FileInfo) bool {
		return matcher.Match(strings.Split(file, string(filepath.Separator)), info.IsDir())
	}
}

// Archive stores the regular files of a directory as a compressed tar archive, which depends on their names, modes and contents alone.
func (s *Storage) Archive(artifact *meta.Artifact, directory string, ignored Filter) error {
	return s.store(artifact, func(to io.Writer) error {
		compressed := gzip.NewWriter(to)
		archive := tar.NewWriter(compressed)
		err := filepath.WalkDir(directory, func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if ignored != nil && ignored(file, info) {
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if !info.Mode().IsRegular() {
				return nil
			}
			name, err := filepath.Rel(directory, file)
			if err != nil {
				return err
			}
			return add(archive, filepath.ToSlash(name), file, info)
		})
		if err != nil {
			return err
		}
		if err := archive.Close(); err != nil {
			return err
		}
		return compressed.Close()
	})
}

func add(archive *tar.Writer, name, file string, info fs.FileInfo) error {
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: int64(info.Mode().Perm())}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, from)
	return err
}
