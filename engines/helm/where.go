package main

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"mistletoe.dev/engines/yamlfault"
)

// Helm puts the place of a failure into the text of its errors; here it is taken out again, as a file of the package.

// where is the place in the package that an error is about.
type where struct {
	File   string `json:"file"`             // relative to the package; of a packed chart in it: charts/sub-1.0.0.tgz/values.yaml
	Line   int    `json:"line,omitempty"`   // from 1
	Column int    `json:"column,omitempty"` // from 1
	Text   string `json:"text,omitempty"`   // of that line, which the host may have no file for
}

// origins are what was read from the package: a template keeps its content through renaming (aliases) and moving
// (subcharts), where its name changes.
type origins struct {
	names map[*byte]string  // the paths, relative to the package, by the first byte of each content
	texts map[string][]byte // by path
}

func originsOf(c *chart.Chart) origins {
	o := origins{make(map[*byte]string, len(c.Raw)), make(map[string][]byte, len(c.Raw))}
	o.add(c, "")
	return o
}

// add learns the files of a chart that lies in that directory, or archive, and those of its subcharts.
func (o origins) add(c *chart.Chart, below string) {
	for _, file := range c.Raw {
		if len(file.Data) > 0 {
			o.names[&file.Data[0]] = below + file.Name
			o.texts[below+file.Name] = file.Data
		}
	}
	for _, dependency := range c.Dependencies() {
		if at, known := o.placeOf(c, below, dependency); known {
			o.add(dependency, at)
		}
	}
}

// placeOf is the directory of a subchart, or its archive, with a slash at its end.
func (o origins) placeOf(c *chart.Chart, below string, dependency *chart.Chart) (string, bool) {
	var metadata []byte
	for _, file := range dependency.Raw {
		if len(file.Data) == 0 {
			continue
		}
		if name, known := o.names[&file.Data[0]]; known { // The files of a directory are its parent's too.
			return strings.TrimSuffix(name, file.Name), true
		}
		if file.Name == "Chart.yaml" {
			metadata = file.Data
		}
	}
	usual := "charts/" + dependency.Name() + "-" + dependency.Metadata.Version + packedSuffix
	found := ""
	for _, file := range c.Raw {
		if file.Name == usual {
			return below + file.Name + "/", true
		}
		if found == "" && path.Dir(file.Name) == "charts" && strings.HasSuffix(file.Name, packedSuffix) &&
			bytes.Equal(fileInArchive(file.Data, "Chart.yaml"), metadata) {
			found = below + file.Name + "/"
		}
	}
	return found, found != ""
}

// fileOf finds what Helm calls by that name, `chart/charts/sub/templates/x.yaml`. A template that `tpl` made has no path.
func (r *rendering) fileOf(helmName string) (string, bool) {
	if r.chart == nil {
		return "", false
	}
	return r.origins.nameOf(r.templateOf(r.chart, helmName))
}

// textOf is a file of the package as where names it: as it was loaded, or of a chart that couldn't be.
func (r *rendering) textOf(file string) string {
	if text, known := r.origins.texts[file]; known {
		return string(text)
	}
	return string(readFile(root(), file))
}

// locate finds the place that an error is about, or nil.
func (r *rendering) locate(err error) *where {
	return r.withText(r.placeOf(err))
}

func (r *rendering) withText(place *where) *where {
	if place == nil || place.Line == 0 {
		return place
	}
	if lines := strings.SplitN(r.textOf(place.File), "\n", place.Line+1); len(lines) >= place.Line {
		place.Text = strings.TrimSuffix(lines[place.Line-1], "\r")
	}
	return place
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

func (r *rendering) placeOf(err error) *where {
	message := err.Error()
	if match := loadError.FindStringSubmatch(message); match != nil {
		file := ""
		for _, chart := range subchart.FindAllStringSubmatch(match[1], -1) {
			file += "charts/" + chart[1] + "/"
		}
		file += match[2]
		line := yamlfault.Line(r.textOf(file))
		if line == 0 { // It is YAML, and something else is wrong with it.
			line = number(match[3])
		}
		return &where{File: file, Line: line}
	}
	if match := yamlError.FindStringSubmatch(message); match != nil {
		if file, known := r.fileOf(match[1]); known {
			return &where{File: file, Line: r.templateLine(match[1], badLine(r.files[match[1]]))}
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
	if strings.HasPrefix(message, schemaFailure) {
		return r.locateValue(message)
	}
	return nil
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
