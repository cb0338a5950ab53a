package main

import (
	"io"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"mistletoe.dev/engines/yamlfault"
	"sigs.k8s.io/yaml"
)

// An error of YAML, or of the host, names a line of what a template printed. To find the template's own line the chart is rendered once
// more, and every write is watched: text/template writes the text between two actions as it stands in the parsed
// template, and those bytes say where they are from.

// templateLine is the line of that template which printed that line, or 0.
func (r *rendering) templateLine(name string, printed int) int {
	if printed <= 0 {
		return 0
	}
	t := &tracer{}
	err := r.execute(func(file string, out *strings.Builder) io.Writer {
		r.enterFile(file, out)
		if file != name {
			return out
		}
		t.out = out
		t.learn(file, string(r.templateOf(r.chart, file).Data))
		return t
	})
	if err != nil || printed > len(t.lines) {
		return 0
	}
	return t.lines[printed-1]
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
	source  string
	texts   map[*byte]int // where the text of a text node stands in the source
	lines   []int         // of the source: for each line, where the first of it that isn't blank is from
	begun   bool          // the last of them has such
	current int           // the source's line at the end of what was written
}

// learn remembers the text nodes that the source was parsed to.
func (t *tracer) learn(name, source string) {
	t.source, t.texts, t.current = source, map[*byte]int{}, 1
	t.lines = []int{1}
	for _, tree := range engine.ParsedTemplates(name, source) {
		t.learnNode(tree.Root)
	}
}

func (t *tracer) learnNode(node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, member := range n.Nodes {
			t.learnNode(member)
		}
	case *parse.TextNode:
		if len(n.Text) > 0 {
			t.texts[&n.Text[0]] = int(n.Pos)
		}
	case *parse.IfNode:
		t.learnNode(n.List)
		t.learnNode(n.ElseList)
	case *parse.RangeNode:
		t.learnNode(n.List)
		t.learnNode(n.ElseList)
	case *parse.WithNode:
		t.learnNode(n.List)
		t.learnNode(n.ElseList)
	}
}

func (t *tracer) Write(text []byte) (int, error) {
	position, isText := 0, false
	if len(text) > 0 {
		position, isText = t.texts[&text[0]]
	}
	if isText {
		t.current = t.lineAt(position)
	}
	for i, part := range strings.Split(string(text), "\n") {
		if i > 0 {
			if isText {
				t.current++
			}
			t.lines, t.begun = append(t.lines, t.current), false
		}
		if !t.begun && strings.TrimLeft(part, " \t\r") != "" {
			t.lines[len(t.lines)-1], t.begun = t.current, true
		}
	}
	if isText {
		// What comes next is printed by the action that follows, perhaps after blanks that it trims.
		end := position + len(text)
		blank := len(t.source[end:]) - len(strings.TrimLeft(t.source[end:], " \t\r\n"))
		t.current = t.lineAt(end + blank)
	}
	return t.out.Write(text)
}

func (t *tracer) lineAt(position int) int { return 1 + strings.Count(t.source[:position], "\n") }
