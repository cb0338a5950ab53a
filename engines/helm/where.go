package main

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Helm puts the place of a failure into the text of its errors; here it is taken out again, as a file of the package.

// where is the place in the package that an error is about.
type where struct {
	File   string `json:"file"`             // relative to the package
	Line   int    `json:"line,omitempty"`   // from 1
	Column int    `json:"column,omitempty"` // from 1
}

// origins are the paths, relative to the package, of what was read from it, by the first byte of each content: a
// template keeps it through renaming (aliases) and moving (subcharts), where its name changes.
type origins map[*byte]string

func originsOf(c *chart.Chart) origins {
	o := make(origins, len(c.Raw))
	for _, file := range c.Raw {
		if len(file.Data) > 0 {
			o[&file.Data[0]] = file.Name
		}
	}
	return o
}

// fileOf finds what Helm calls by that name, `chart/charts/sub/templates/x.yaml`. Files of an archive within the
// package have no path of their own, and neither has a template that `tpl` made.
func (r *rendering) fileOf(helmName string) (string, bool) {
	if r.chart == nil {
		return "", false
	}
	template := r.templateOf(r.chart, helmName)
	if template == nil || len(template.Data) == 0 {
		return "", false
	}
	name, known := r.origins[&template.Data[0]]
	return name, known
}

func (r *rendering) templateOf(c *chart.Chart, helmName string) *common.File {
	for _, template := range c.Templates {
		if path.Join(c.ChartFullPath(), template.Name) == helmName {
			return template
		}
	}
	for _, dependency := range c.Dependencies() {
		if template := r.templateOf(dependency, helmName); template != nil {
			return template
		}
	}
	return nil
}

var (
	// A chart's metadata or values that are no YAML.
	loadError = regexp.MustCompile(`^((?:error unpacking subchart \S+ in \S+: )*)` +
		`cannot load (Chart\.yaml|Chart\.lock|values\.yaml|requirements\.yaml|requirements\.lock): ` +
		`(?s:.*?)(?: line (\d+)|$)`)
	subchart = regexp.MustCompile(`error unpacking subchart (\S+) in`)
	// A template that can't be parsed, and one where `required` or `fail` spoke: chart/templates/x.yaml:3:5.
	bracketed = regexp.MustCompile(`^(?:parse|execution) error (?:at|in) \((.+?)(?::(\d+))?(?::(\d+))?\): `)
	// The places of a failing template, from the outermost to the innermost, each on its own line.
	ownLine = regexp.MustCompile(`(?m)^(?:template: )?([^\s:][^:\n]*):(\d+):(\d+)(?:$|: executing )`)
	// Output that is no YAML.
	yamlError = regexp.MustCompile(`^YAML parse error on (.+?): `)
)

// locate finds the place that an error is about, or nil.
func (r *rendering) locate(err error) *where {
	message := err.Error()
	if match := loadError.FindStringSubmatch(message); match != nil {
		file := match[2]
		for _, chart := range subchart.FindAllStringSubmatch(match[1], -1) {
			file = "charts/" + chart[1] + "/" + file
			if strings.HasSuffix(chart[1], ".tgz") {
				return nil
			}
		}
		return &where{File: file, Line: number(match[3])}
	}
	if match := yamlError.FindStringSubmatch(message); match != nil {
		if file, known := r.fileOf(match[1]); known {
			return &where{File: file, Line: r.templateLine(match[1])}
		}
		return nil
	}
	places := ownLine.FindAllStringSubmatch(message, -1)
	if match := bracketed.FindStringSubmatch(message); match != nil {
		places = [][]string{match}
	}
	for i := len(places) - 1; i >= 0; i-- {
		if file, known := r.fileOf(places[i][1]); known {
			place := &where{File: file, Line: number(places[i][2])}
			if places[i][3] != "" {
				place.Column = number(places[i][3]) + 1 // text/template counts bytes from 0
			}
			return place
		}
	}
	if strings.HasPrefix(message, "values don't meet the specifications of the schema(s)") {
		return r.locateValue(message)
	}
	return nil
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
