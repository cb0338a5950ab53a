// Package home knows where clusters live on disk: names, directories, the lock
// that says whether a cluster runs, and the state file that says how it is.
package home

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// DefaultName is the cluster that commands mean when none is named.
const DefaultName = "default"

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Name is a cluster's name that has been checked: a DNS label of at most 40
// characters, so that it is safe as a directory and as part of a context name.
type Name string

// ParseName checks a name that a user gave.
func ParseName(s string) (Name, error) {
	if !namePattern.MatchString(s) {
		return "", fmt.Errorf("%q is no cluster name: use 1 to 40 small letters, digits and inner hyphens", s)
	}
	return Name(s), nil
}

// Root is the directory that holds one directory for each cluster:
// $MIST_DEVCLUSTER_HOME, or mistletoe/devcluster under the user's state directory.
func Root(getenv func(string) string) (string, error) {
	if d := getenv("MIST_DEVCLUSTER_HOME"); d != "" {
		return filepath.Abs(d)
	}
	// The XDG base directory specification says to ignore relative paths.
	if d := getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "mistletoe", "devcluster"), nil
	}
	if d := getenv("HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, ".local", "state", "mistletoe", "devcluster"), nil
	}
	return "", fmt.Errorf("no place for the state of clusters: neither MIST_DEVCLUSTER_HOME nor XDG_STATE_HOME nor HOME is an absolute path; set MIST_DEVCLUSTER_HOME")
}

// Names lists the clusters that have a directory under root, sorted. What else lies
// there is passed over.
func Names(root string) ([]Name, error) {
	entries, err := os.ReadDir(root)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []Name
	for _, e := range entries {
		if n, err := ParseName(e.Name()); err == nil && Dir(filepath.Join(root, e.Name())).IsOurs() {
			names = append(names, n)
		}
	}
	return names, nil
}
