package main

import (
	"io"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"mistletoe.dev/engines/yamlfault"
	"sigs.k8s.io/yaml"
)

// A difference, an error of YAML or of the API server names a line of what a template printed, and the chart's author
// knows the template's own lines. So every write of a template is watched: text/template writes the text between two
// actions as it stands in the parsed template, and an empty text before each action, and both say where they are from
// (engine.PlaceOf). What `include` and `tpl` give is printed by the action that calls them, and so it has that line.

// origin is where the lines of a file of the result are from.
type origin struct {
	File  string `json:"file"`            // of the package
	Lines []int  `json:"lines,omitempty"` // for each line of the result's file its line there; none: they are the same
}

// trace watches what a template writes.
func (r *rendering) trace(name string, out io.Writer) io.Writer {
	t := &tracer{out: out, name: name, lines: []int{1}, current: 1}
	if r.traces == nil {
		r.traces = map[string]*tracer{}
	}
	r.traces[name] = t
	return t
}

// templateLine is the line of that template which printed that line, or 0.
func (r *rendering) templateLine(name string, printed int) int {
	t, traced := r.traces[name]
	if !traced || printed <= 0 || printed > len(t.lines) {
		return 0
	}
	return t.lines[printed-1]
}

// originsOfFiles says of each file of the result where it is from, as far as that is known.
func (r *rendering) originsOfFiles() map[string]origin {
	all := make(map[string]origin, len(r.result.Files))
	for name, text := range r.result.Files {
		file, known := r.fileOf(name)
		if !known {
			continue
		}
		if t, traced := r.traces[name]; !traced {
			continue
		} else if lines, found := linesAfterSplit(r.files[name], text, t.lines); found {
			all[name] = origin{file, lines}
		}
	}
	for _, crd := range r.chart.CRDObjects() {
		if _, given := r.result.Files[crd.Filename]; given {
			if file, known := r.origins.nameOf(crd.File); known {
				all[crd.Filename] = origin{File: file}
			}
		}
	}
	return all
}

func (o origins) nameOf(file *common.File) (string, bool) {
	if file == nil || len(file.Data) == 0 {
		return "", false
	}
	name, known := o.names[&file.Data[0]]
	return name, known
}

// linesAfterSplit are the lines of `text`, which asHelmSplits made of `printed`; `lines` are those of `printed`.
func linesAfterSplit(printed, text string, lines []int) ([]int, bool) {
	if text == printed {
		return lines, true
	}
	var moved []int
	at := 0
	for i, document := range strings.Split(text, "\n---\n") {
		found := strings.Index(printed[at:], document)
		if found < 0 {
			return nil, false
		}
		at += found
		first := strings.Count(printed[:at], "\n")
		last := first + strings.Count(document, "\n")
		if last >= len(lines) {
			return nil, false
		}
		if i > 0 {
			moved = append(moved, lines[first]) // the separator
		}
		moved = slices.Concat(moved, lines[first:last+1])
		at += len(document)
	}
	return moved, true
}

// badLine is the first line, from 1, that Helm can't read, or 0: counted from the beginning of the output, where the
// YAML parser counts from the beginning of its document.
func badLine(text string) int {
	rest, line := text, 1
	manifests := releaseutil.SplitManifests(text)
	for i := range len(manifests) {
		manifest := manifests[releaseutil.ManifestKey(i)]
		before, after, _ := strings.Cut(rest, manifest)
		line += strings.Count(before, "\n")
		var head releaseutil.SimpleHead
		if err := yaml.Unmarshal([]byte(manifest), &head); err != nil {
			// What is YAML has the wrong types.
			return line + max(yamlfault.Line(manifest), 1) - 1
		}
		line += strings.Count(manifest, "\n")
		rest = after
	}
	return 0
}

// tracer passes a template's output on and keeps, for each line of it, the template's line.
type tracer struct {
	out     io.Writer
	name    string
	lines   []int // of the template: for each line, where the first of it that isn't blank is from
	begun   bool  // the last of them has such
	current int   // the template's line that writes now
}

func (t *tracer) Write(text []byte) (int, error) {
	place, known := engine.PlaceOf(text)
	own := known && place.File == t.name // what {{ template }} calls may stand elsewhere
	if own {
		t.current = place.Line
	}
	for rest := text; len(rest) > 0; {
		end := slices.Index(rest, '\n')
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		if !t.begun && hasInk(part) {
			t.lines[len(t.lines)-1], t.begun = t.current, true
		}
		if end < 0 {
			break
		}
		if known && own {
			t.current++
		}
		t.lines, t.begun = append(t.lines, t.current), false
		rest = rest[end+1:]
	}
	return t.out.Write(text)
}

// hasInk says whether there is anything but blanks.
func hasInk(text []byte) bool {
	return slices.ContainsFunc(text, func(c byte) bool { return c != ' ' && c != '\t' && c != '\r' })
}
