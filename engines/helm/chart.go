package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartloader "helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"
)

// loadChart reads the chart below root as Helm reads a directory, or as it reads an archive: the one that is there, or
// the one whose files these are, without .helmignore. The error of a chart that Helm can load but not render is errChartVersion.
func loadChart(root string, isArchive bool) (*chart.Chart, error) {
	packed := packedChart(root)
	if isArchive && packed == "" {
		return loadUnpacked(root)
	}
	load, place := loader.LoadDir, root
	if isArchive {
		load, place = loader.LoadFile, packed
	}
	loaded, err := load(place)
	if err != nil {
		return nil, withoutRoot(root, err)
	}
	c, ok := loaded.(*chart.Chart)
	if !ok {
		return nil, errChartVersion
	}
	sortDependencies(c)
	return c, nil
}

// errChartVersion is what `helm template` says about the chart format that only Helm's next version renders.
var errChartVersion = errors.New("invalid chart apiVersion")

// packedChart is the one file below root, if that is an archive.
func packedChart(root string) string {
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), ".tgz") {
		return ""
	}
	return path.Join(root, entries[0].Name())
}

func loadUnpacked(root string) (*chart.Chart, error) {
	files, err := readFiles(root)
	if err != nil {
		return nil, withoutRoot(root, err)
	}
	metadata := slices.IndexFunc(files, func(f *archive.BufferedFile) bool { return f.Name == "Chart.yaml" })
	if metadata < 0 {
		return nil, errors.New("unable to detect chart version, no Chart.yaml found")
	}
	var base struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := yaml.Unmarshal(files[metadata].Data, &base); err != nil {
		return nil, fmt.Errorf("cannot load Chart.yaml: %w", err)
	}
	switch base.APIVersion {
	case chart.APIVersionV1, chart.APIVersionV2, "":
	case "v3":
		return nil, errChartVersion
	default:
		return nil, errors.New("unsupported chart version")
	}
	c, err := chartloader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	sortDependencies(c)
	return c, nil
}

// readFiles returns all files below root, named relative to it, in the order in which Helm walks a directory and
// therefore packs an archive.
func readFiles(root string) ([]*archive.BufferedFile, error) {
	var files []*archive.BufferedFile
	budget := archive.NewBudgetedReader(archive.MaxDecompressedChartSize)
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := budget.ReadFileWithBudget(name, info.Size())
		if err != nil {
			return err
		}
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		relative := strings.TrimPrefix(name, root+"/")
		files = append(files, &archive.BufferedFile{Name: relative, ModTime: info.ModTime(), Data: data})
		return nil
	})
	return files, err
}

// sortDependencies puts the charts of charts/ in the order of their names: Helm's loader keeps them in a Go map, whose
// order changes from run to run, and where it matters (CRDs) Helm's own output does.
func sortDependencies(c *chart.Chart) {
	dependencies := c.Dependencies()
	slices.SortStableFunc(dependencies, func(a, b *chart.Chart) int {
		return strings.Compare(a.Name()+"\x00"+a.Metadata.Version, b.Name()+"\x00"+b.Metadata.Version)
	})
	for _, dependency := range dependencies {
		sortDependencies(dependency)
	}
}

// withoutRoot makes an error name files relative to the chart: the user's chart is not at /package.
func withoutRoot(root string, err error) error {
	message := err.Error()
	short := strings.ReplaceAll(message, root+"/", "")
	short = strings.ReplaceAll(short, root, ".")
	if short == message {
		return err
	}
	return errors.New(short)
}

// bakedChart is a chart that was loaded while the guest was prepared, once as a directory and once as an archive, and
// is rendered from without reading a file.
type bakedChart struct {
	directory, unpacked       *chart.Chart
	directoryErr, unpackedErr error
}

// baked is nil when no chart was there to prepare.
var baked *bakedChart

// bake loads the chart below root, if there is one, and renders another copy of it with its own values, which parses
// its templates and compiles its schemas: both are kept by their text.
func bake(root string) *bakedChart {
	packed := packedChart(root) != ""
	if _, err := os.Stat(path.Join(root, "Chart.yaml")); err != nil && !packed {
		return nil
	}
	b := &bakedChart{}
	b.directory, b.directoryErr = loadChart(root, false)
	b.unpacked, b.unpackedErr = loadChart(root, true)
	if trial, err := loadChart(root, packed); err == nil {
		_ = rehearse(trial) // a chart may need values that only its user has
	}
	return b
}

// take gives the chart away: rendering changes it, so that it serves once.
func (b *bakedChart) take(isArchive bool) (*chart.Chart, error) {
	baked = nil
	if isArchive {
		return b.unpacked, b.unpackedErr
	}
	return b.directory, b.directoryErr
}

// theChart is the chart to render: the prepared one, or what is at /package.
func theChart(isArchive bool) (*chart.Chart, error) {
	if baked != nil {
		return baked.take(isArchive)
	}
	return loadChart(root(), isArchive)
}

func root() string {
	if directory := os.Getenv("MIST_PACKAGE"); directory != "" { // tests; a guest has no environment
		return directory
	}
	return packageRoot
}
