package engine

// Remote bases and remote files. A guest has no network, so a build runs until it says what it lacks, and the host
// fetches that and runs it again, until nothing is missing:
//
//   - a git repository that kustomize wants to clone. Our replacement of its cloner (../_replaced/internal/git/cloner.go)
//     clones nothing and says that the clone is at clones.Mount/<key>. Where the host has put it there, kustomize
//     goes on as usual. Where it hasn't, this is noted, and an empty kustomization stands in, so that one run finds
//     everything that is missing at its level;
//   - a file that kustomize wants to GET: remoteFiles answers in the place of the network;
//   - a chart of a repository: charts.go.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/clones"
)

// missing is what the host shall fetch: a file by its URL, or from the commit `ref` (empty: HEAD) of the repository `repo`
// the directory `path` with everything that its kustomization refers to; or of the chart repository `repo` the archive of
// the chart `chart`, in the newest version that is in the range `version`, with `devel` of the unfinished ones too.
type missing struct {
	URL  string `json:"url,omitempty"`
	Repo string `json:"repo,omitempty"`
	Ref  string `json:"ref,omitempty"`
	Path string `json:"path,omitempty"`
	// Of a repository: ?submodules=false; ?timeout=, of all that git does for it.
	NoSubmodules bool  `json:"noSubmodules,omitempty"`
	TimeoutMs    int64 `json:"timeoutMs,omitempty"`

	Chart   string `json:"chart,omitempty"`
	Version string `json:"version,omitempty"`
	Devel   bool   `json:"devel,omitempty"`
}

// remote is one thing that the host has fetched, as it was asked for.
type remote struct {
	missing
	// Where it lies below the package: the file, the chart's archive, or the root of the repository.
	At string `json:"at,omitempty"`
	// Its server has no such file, or refuses it; kustomize then looks for a repository.
	Absent bool `json:"absent,omitempty"`
}

func (m missing) clone() clones.Clone {
	return clones.Clone{Repo: m.Repo, Ref: m.Ref, Path: m.Path, NoSubmodules: m.NoSubmodules, TimeoutMs: m.TimeoutMs}
}

// mountRemotes shows the repositories at the places where kustomize will look for their clones.
func (t *Tree) mountRemotes(remotes []remote) error {
	for _, one := range remotes {
		if one.Repo == "" || one.Chart != "" {
			continue
		}
		from := path.Join(TreeMount, one.At)
		if !t.IsDir(from) {
			return fmt.Errorf("the files of %s are not in the package at %q", one.Repo, one.At)
		}
		t.mount(from, path.Join(clones.Mount, one.clone().Key()))
	}
	return nil
}

// missingRemotes collects what a build lacks, each once, in the order in which it was asked for.
type missingRemotes struct {
	tree  *Tree
	found []missing
	// Directories of charts that aren't there yet.
	charts []string
}

func (m *missingRemotes) list() []missing { return m.found }

func (m *missingRemotes) add(one missing) {
	for _, have := range m.found {
		if have == one {
			return
		}
	}
	m.found = append(m.found, one)
}

// standIn is told of every path that was asked for and isn't there. Below a clone that the host hasn't made yet, it puts
// a kustomization that does nothing, and says so. In a chart that the host hasn't fetched yet, every file is an empty one:
// values.
func (m *missingRemotes) standIn(at string) bool {
	for _, chart := range m.charts {
		if strings.HasPrefix(at, chart+"/") {
			m.tree.put(at, []byte("{}\n"))
			return true
		}
	}
	rest, ok := strings.CutPrefix(at, clones.Mount+"/")
	if !ok {
		return false
	}
	key, _, _ := strings.Cut(rest, "/")
	directory := path.Join(clones.Mount, key)
	if m.tree.IsDir(directory) {
		return false // It was fetched: this is a path that it doesn't have.
	}
	one, err := clones.Parse(key)
	if err != nil || one.Repo == "" {
		return false
	}
	m.add(missing{
		Repo: one.Repo, Ref: one.Ref, Path: one.Path, NoSubmodules: one.NoSubmodules, TimeoutMs: one.TimeoutMs,
	})
	m.tree.put(path.Join(directory, one.Path, kustomizationNames[0]), []byte("commonAnnotations: {}\nnamePrefix: \"\"\n"))
	return true
}

// remoteFiles is kustomize's network.
type remoteFiles struct {
	tree    *Tree
	known   []remote
	missing *missingRemotes
}

var errNoNetwork = errors.New("the package has no network; its host fetches remote files")

func (r *remoteFiles) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return nil, errNoNetwork
	}
	url := request.URL.String()
	for _, one := range r.known {
		if one.URL != url {
			continue
		}
		if one.Absent {
			return response(request, http.StatusNotFound, nil), nil
		}
		content, ok := r.tree.file(one.At)
		if !ok {
			return nil, fmt.Errorf("the content of %s is not in the package at %q", url, one.At)
		}
		return response(request, http.StatusOK, content), nil
	}
	if namesRepository(request.URL) {
		return response(request, http.StatusNotFound, nil), nil
	}
	r.missing.add(missing{URL: url})
	return response(request, http.StatusOK, nil), nil // A document without objects stands in.
}

func response(request *http.Request, status int, content []byte) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, ContentLength: int64(len(content)), Request: request,
		Body: io.NopCloser(bytes.NewReader(content)),
	}
}

// namesRepository says that a URL can only be a repository's: it ends in .git, or has a directory _git, or two of
// kustomize's marks for a repository. One of them proves nothing: files of GitLab and Gitea have ?ref= in their addresses,
// those of cgit a directory that ends in .git, and any path may have a // in it. kustomize asks for a file whatever the URL
// is. Here that would cost a base at a full commit, which needs no network once it was fetched, a request at each build.
func namesRepository(at *url.URL) bool {
	location := strings.Trim(at.EscapedPath(), "/")
	isGit := func(directory string) bool { return strings.HasSuffix(directory, ".git") }
	directories := strings.Split(location, "/")
	if isGit(location) || slices.Contains(directories, "_git") {
		return true
	}
	query := at.Query()
	marks := 0
	for _, isThere := range []bool{
		query.Has("ref") || query.Has("version"),
		strings.Contains(location, "//"),
		slices.ContainsFunc(directories, isGit),
	} {
		if isThere {
			marks++
		}
	}
	return marks >= 2
}
