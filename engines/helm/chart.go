package main

import (
	"bytes"
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// loadChart reads the chart below root: as Helm reads a directory or, where one packed chart is all there is, as it reads
// that. The error of a chart that Helm can load but not render is errChartVersion.
func loadChart(root string) (*chart.Chart, error) {
	load, place := loader.LoadDir, root
	if packed := packedChart(root); packed != "" {
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

const packedSuffix = ".tgz"

// packedChart is the one file below root, if that is an archive.
func packedChart(root string) string {
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), packedSuffix) {
		return ""
	}
	return path.Join(root, entries[0].Name())
}

// readFile reads a file of the chart below root, also one in a packed chart: charts/sub-1.0.0.tgz/values.yaml. Nil: there
// is none.
func readFile(root, file string) []byte {
	if packed := packedChart(root); packed != "" {
		text, _ := os.ReadFile(packed)
		return fileInArchive(text, file)
	}
	before, after, isPacked := strings.Cut(file, packedSuffix+"/")
	if !isPacked {
		text, _ := os.ReadFile(path.Join(root, file))
		return text
	}
	text, _ := os.ReadFile(path.Join(root, before+packedSuffix))
	return fileInArchive(text, after)
}

func fileInArchive(packed []byte, name string) []byte {
	files, err := archive.LoadArchiveFiles(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	before, after, isPacked := strings.Cut(name, packedSuffix+"/")
	for _, file := range files {
		switch {
		case !isPacked && file.Name == name:
			return file.Data
		case isPacked && file.Name == before+packedSuffix:
			return fileInArchive(file.Data, after)
		}
	}
	return nil
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

// bakedChart is a chart that was loaded while the guest was prepared, and is rendered from without reading a file.
type bakedChart struct {
	chart *chart.Chart
	err   error
}

// baked is nil when no chart was there to prepare.
var baked *bakedChart

// bake loads the chart below root, if there is one, and renders another copy of it with its own values, which parses
// its templates and compiles its schemas: both are kept by their text.
func bake(root string) *bakedChart {
	if _, err := os.Stat(path.Join(root, "Chart.yaml")); err != nil && packedChart(root) == "" {
		return nil
	}
	b := &bakedChart{}
	if b.chart, b.err = loadChart(root); b.err != nil {
		return b
	}
	if trial, err := loadChart(root); err == nil {
		_ = rehearse(trial) // a chart may need values that only its user has
	}
	return b
}

// theChart is the chart to render: the prepared one, or what is at /package. Rendering changes it, so that the prepared
// one serves once.
func theChart() (*chart.Chart, error) {
	if b := baked; b != nil {
		baked = nil
		return b.chart, b.err
	}
	return loadChart(root())
}

func root() string {
	if directory := os.Getenv("MIST_PACKAGE"); directory != "" { // tests; a guest has no environment
		return directory
	}
	return packageRoot
}
