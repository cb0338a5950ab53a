package engine

// Helm charts of kustomizations (helmCharts). kustomize runs helm for them; here the host renders them, with the Helm
// engine in a sandbox of its own, when it is asked by the request `chart.render`. Charts of repositories are missing until
// the host has fetched their archives (remotes.go).

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/api/helmhost"
	"sigs.k8s.io/yaml"
)

// AskHost sends a request to the host and gives its answer (src/abi/v1/README.md). Nil: there is none.
var AskHost func(request []byte) []byte

// charts stands in for the helm program during one build.
type charts struct {
	tree     *Tree
	remotes  []remote
	rendered []renderedChart
	missing  *missingRemotes
	// Of charts that were pulled, by their directories: the archives.
	archives map[string]string
	// What the host said of the chart that failed.
	failure *chartFailure
}

// renderedChart is one that was rendered when the package was built into a module.
type renderedChart struct {
	Request chartRequest `json:"request"`
	At      string       `json:"at"` // what helm prints, below the package
}

type chartRequest struct {
	Op string `json:"op"`
	// The chart, below the package: a directory, or an archive.
	Directory string `json:"directory,omitempty"`
	Archive   string `json:"archive,omitempty"`

	ReleaseName  string   `json:"releaseName,omitempty"`
	NameTemplate string   `json:"nameTemplate,omitempty"`
	Namespace    string   `json:"namespace,omitempty"` // empty: the release's
	Values       []string `json:"values"`              // the texts of the values files, in their order
	KubeVersion  string   `json:"kubeVersion,omitempty"`
	APIVersions  []string `json:"apiVersions,omitempty"`
	IncludeCRDs  bool     `json:"includeCrds,omitempty"`
	SkipTests    bool     `json:"skipTests,omitempty"`
	NoHooks      bool     `json:"noHooks,omitempty"`
}

// The host takes no longer request.
const longestRequest = 1 << 20

type chartAnswer struct {
	OK struct {
		Print   string        `json:"print"`
		Failure *chartFailure `json:"failure"`
	} `json:"ok"`
	Error *struct {
		Message string `json:"message"`
		Hint    string `json:"hint"`
	} `json:"error"`
}

// chartFailure is why a chart can't be rendered; the file is named below the package.
type chartFailure struct {
	Message string `json:"message"`
	Where   *where `json:"where"`
}

func (c *charts) HasChart(directory string) bool { return c.tree.IsDir(directory) }

func (c *charts) Pull(chart helmhost.Chart, into string) error {
	if strings.HasPrefix(chart.Repo, "oci://") {
		return fmt.Errorf("the chart %s is in the OCI registry %s, and charts can't be fetched from there yet: put it "+
			"beside the kustomization (helm pull %s/%s --untar --untardir charts)",
			chart.Name, chart.Repo, strings.TrimSuffix(chart.Repo, "/"), chart.Name)
	}
	wanted := missing{Repo: chart.Repo, Chart: chart.Name, Version: chart.Version, Devel: chart.Devel}
	for _, one := range c.remotes {
		if one.missing == wanted {
			return c.untar(one.At, into)
		}
	}
	c.missing.add(wanted)
	c.missing.charts = append(c.missing.charts, path.Join(into, chart.Name))
	return nil
}

// Bound of what an archive holds, as of Helm's.
const largestChart = 100 << 20

// untar puts the files of an archive where `helm pull --untar` puts them.
func (c *charts) untar(archive, into string) error {
	text, ok := c.tree.file(archive)
	if !ok {
		return fmt.Errorf("the chart's archive is not in the package at %q", archive)
	}
	files, err := readArchive(text)
	if err != nil {
		return err
	}
	var chart struct {
		Name string `json:"name"`
	}
	if err := yaml.Unmarshal(files["Chart.yaml"], &chart); err != nil {
		return fmt.Errorf("cannot load Chart.yaml: %w", err)
	}
	switch {
	case chart.Name == "":
		return errors.New("chart name not specified")
	case chart.Name == "." || chart.Name == ".." || strings.Contains(chart.Name, "/"):
		return fmt.Errorf("chart name %q is not allowed", chart.Name)
	}
	directory := path.Join(into, chart.Name)
	for name, content := range files {
		c.tree.put(path.Join(directory, name), content)
	}
	c.archives[directory] = archive
	return nil
}

// readArchive reads a packed chart by Helm's rules. Names are relative and stay inside.
func readArchive(text []byte) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	room := int64(largestChart)
	for entries := tar.NewReader(unzipped); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.FileInfo().IsDir() || header.Typeflag == tar.TypeXGlobalHeader || header.Typeflag == tar.TypeXHeader {
			continue
		}
		_, name, _ := strings.Cut(strings.ReplaceAll(header.Name, `\`, "/"), "/")
		if path.IsAbs(name) || path.Clean(name) == "." || strings.HasPrefix(path.Clean(name), "..") {
			return nil, fmt.Errorf("chart illegally contains content outside the base directory: %q", header.Name)
		}
		content, err := io.ReadAll(io.LimitReader(entries, room+1))
		if err != nil {
			return nil, err
		}
		if room -= int64(len(content)); room < 0 {
			return nil, fmt.Errorf("decompressed chart is larger than the maximum size %d", largestChart)
		}
		files[path.Clean(name)] = bytes.TrimPrefix(content, []byte("\ufeff"))
	}
}

func (c *charts) Template(of helmhost.Template) ([]byte, error) {
	if slices.Contains(c.missing.charts, of.Chart) {
		return nil, nil
	}
	if of.ReleaseName != "" && of.NameTemplate != "" {
		return nil, errors.New("cannot set --name-template and also specify a name") // in Helm's words
	}
	request := chartRequest{
		Op: "chart.render", ReleaseName: of.ReleaseName, NameTemplate: of.NameTemplate, Namespace: of.Namespace,
		Values: []string{}, KubeVersion: of.KubeVersion, APIVersions: of.APIVersions, IncludeCRDs: of.IncludeCRDs,
		SkipTests: of.SkipTests, NoHooks: of.NoHooks,
	}
	if archive, ok := c.archives[of.Chart]; ok {
		request.Archive = archive
	} else if directory, ok := c.tree.inPackage(of.Chart); ok && c.tree.IsDir(of.Chart) {
		request.Directory = directory
	} else {
		return nil, fmt.Errorf("path %q not found", of.Chart)
	}
	for _, text := range of.Values {
		if !utf8.Valid(text) {
			return nil, fmt.Errorf("the values of the chart %s are not UTF-8", of.Chart)
		}
		request.Values = append(request.Values, string(text))
	}
	for _, one := range c.rendered {
		if reflect.DeepEqual(one.Request, request) {
			text, ok := c.tree.file(one.At)
			if !ok {
				return nil, fmt.Errorf("what the chart %s gives is not in the package at %q", of.Chart, one.At)
			}
			return text, nil
		}
	}
	text, err := c.ask(request)
	return []byte(text), err
}

func (c *charts) ask(request chartRequest) (string, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	if len(text) > longestRequest {
		return "", fmt.Errorf("the values of a chart may have %d bytes together, and these have more", longestRequest)
	}
	if AskHost == nil {
		return "", errors.New("there is no host that renders charts")
	}
	var answer chartAnswer
	if err := json.Unmarshal(AskHost(text), &answer); err != nil {
		return "", fmt.Errorf("the host's answer can't be read: %w", err)
	}
	if refused := answer.Error; refused != nil {
		if refused.Hint != "" {
			return "", fmt.Errorf("%s (%s)", refused.Message, refused.Hint)
		}
		return "", errors.New(refused.Message)
	}
	if c.failure = answer.OK.Failure; c.failure != nil {
		return "", errors.New(c.failure.Message)
	}
	return answer.OK.Print, nil
}
