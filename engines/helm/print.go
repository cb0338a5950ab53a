package main

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// collect turns rendered templates into the result's files, and into what `helm template` prints if that is wanted.
func (r *rendering) collect() error {
	options := &r.in.Engine.Options
	hooks, manifests, err := releaseutil.SortManifests(r.files, nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	r.result.Files = r.resultFiles()
	r.result.Origins = r.originsOfFiles()
	if !options.Print && len(options.ShowOnly) == 0 {
		return nil
	}
	var all strings.Builder
	if options.IncludeCRDs {
		for _, crd := range r.chart.CRDObjects() {
			printManifest(&all, crd.Filename, string(crd.File.Data))
		}
	}
	for _, manifest := range manifests {
		printManifest(&all, manifest.Name, manifest.Content)
	}
	text := strings.TrimSpace(all.String()) + "\n"
	all.Reset()
	all.WriteString(text)
	for _, hook := range hooks {
		if options.NoHooks {
			break
		}
		if !options.SkipTests || !slices.Contains(hook.Events, release.HookTest) {
			printManifest(&all, hook.Path, hook.Manifest)
		}
	}
	text = all.String()
	if len(options.ShowOnly) > 0 {
		if text, err = showOnly(text, options.ShowOnly); err != nil {
			return err
		}
	}
	if options.Print {
		r.result.Print = &text
	}
	return nil
}

// resultFiles are the templates that gave something, hooks among them, and the CRDs of crds/.
func (r *rendering) resultFiles() map[string]string {
	options := &r.in.Engine.Options
	files := make(map[string]string, len(r.files))
	for name, text := range r.files {
		if !strings.HasPrefix(path.Base(name), "_") && isWanted(name, options.ShowOnly) {
			if text = asHelmSplits(text); strings.TrimSpace(text) != "" {
				files[name] = text
			}
		}
	}
	if !options.SkipCRDs {
		maps.Copy(files, r.crdFiles())
	}
	return files
}

// isWanted says whether a file, named as Helm names it, matches one of the patterns, or whether there are none.
func isWanted(name string, patterns []string) bool {
	_, belowChart, _ := strings.Cut(name, "/")
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, belowChart)
		return matched
	})
}

func printManifest(out *strings.Builder, name, content string) {
	fmt.Fprintf(out, "---\n# Source: %s\n%s\n", name, content)
}

var sourceComment = regexp.MustCompile("# Source: [^/]+/(.+)")

// showOnly keeps the manifests whose source, below the chart, matches a pattern: for each pattern in turn.
func showOnly(text string, patterns []string) (string, error) {
	manifests := releaseutil.SplitManifests(text)
	keys := sortedNames(manifests)
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	var out strings.Builder
	for _, pattern := range patterns {
		missing := true
		for _, key := range keys {
			source := sourceComment.FindStringSubmatch(manifests[key])
			if len(source) == 0 {
				continue
			}
			if matched, _ := path.Match(pattern, source[1]); !matched {
				continue
			}
			fmt.Fprintf(&out, "---\n%s\n", manifests[key])
			missing = false
		}
		if missing {
			return "", fmt.Errorf("could not find template %s in chart", pattern)
		}
	}
	return out.String(), nil
}

func sortedNames(files map[string]string) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
