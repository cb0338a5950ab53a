package main

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// testCase is one `helm template NAME CHART FLAGS…`.
type testCase struct {
	name  string // what the report calls it
	chart string // a directory or a .tgz
	flags []string
}

// words are the case as explained.txt has it.
func (c testCase) words() string { return strings.Join(append([]string{c.name}, c.flags...), " ") }

// chartsBelow finds every chart of a directory: each directory with a Chart.yaml, charts within charts too, and each
// archive.
func chartsBelow(root string) ([]string, error) {
	var charts []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == "Chart.yaml" && strings.Contains(path, "testdata") {
			charts = append(charts, filepath.Dir(path))
		}
		if strings.HasSuffix(path, ".tgz") {
			charts = append(charts, path)
		}
		return nil
	})
	slices.Sort(charts)
	return charts, err
}

// peerCases are Helm's own test charts, each rendered plainly and with flags.
func peerCases(helmSources string) ([]testCase, error) {
	charts, err := chartsBelow(helmSources)
	if err != nil {
		return nil, err
	}
	var cases []testCase
	for _, chart := range charts {
		name := strings.TrimPrefix(chart, helmSources+"/")
		cases = append(cases,
			testCase{name: name, chart: chart},
			testCase{name: name, chart: chart, flags: []string{"--include-crds", "--is-upgrade", "--skip-tests",
				"--kube-version", "1.31.2", "--api-versions", "example.com/v1"}},
			testCase{name: name, chart: chart, flags: []string{"--skip-schema-validation", "--include-crds"}})
	}
	return cases, nil
}

// ownCases reads cases.txt beside the charts: a chart and its flags on each line, # begins a comment.
func ownCases(directory string) ([]testCase, error) {
	file, err := os.Open(filepath.Join(directory, "cases.txt"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var cases []testCase
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		chart := filepath.Join(directory, "charts", words[0])
		cases = append(cases, testCase{name: words[0], chart: chart, flags: words[1:]})
	}
	return cases, lines.Err()
}
