// Package clones names what kustomize wants to clone as a directory below Mount. The cloner in ../../_replaced derives that
// name, and the engine mounts by it what the host fetched, and reads from it what to ask for. Added to kustomize's api by
// ../../stage.sh.
package clones

import (
	"net/url"
	"strconv"
	"strings"
)

// Mount holds the clones.
const Mount = "/remote"

// Clone is a repository as one reference wants it; kustomize clones anew for each.
type Clone struct {
	Repo string
	Ref  string // empty: HEAD
	Path string // of the kustomization in it
	// Of the reference: ?submodules=false; ?timeout=, if it isn't kustomize's own.
	NoSubmodules bool
	TimeoutMs    int64
}

// Key is the name of a clone's directory.
func (c Clone) Key() string {
	query := url.Values{"path": {c.Path}, "ref": {c.Ref}}
	if c.NoSubmodules {
		query.Set("submodules", "false")
	}
	if c.TimeoutMs != 0 {
		query.Set("timeout", strconv.FormatInt(c.TimeoutMs, 10))
	}
	return url.PathEscape(c.Repo + "?" + query.Encode())
}

// Parse reads a Key.
func Parse(key string) (Clone, error) {
	text, err := url.PathUnescape(key)
	if err != nil {
		return Clone{}, err
	}
	repo, query, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	timeout, _ := strconv.ParseInt(values.Get("timeout"), 10, 64)
	return Clone{
		Repo: repo, Ref: values.Get("ref"), Path: values.Get("path"),
		NoSubmodules: values.Has("submodules"), TimeoutMs: timeout,
	}, err
}
