package engine

import (
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// What Mistletoe adds to Helm's engine (../../../helm.patch has the places that call it).

// BeforeFile is called before each file is executed, with where its output goes, and says where to write it.
var BeforeFile = func(_ string, out *strings.Builder) io.Writer { return out }

// ParsedTemplates are the trees that a template's text, under that name, was parsed to. Execution doesn't change them.
func ParsedTemplates(name, text string) map[string]*parse.Tree {
	return templates.trees[source{name, text}]
}

// templates keeps what was parsed: a chart that was rendered while the guest was prepared needs no parser any more, and
// neither does a text that `tpl` renders again and again.
var templates = parser{trees: map[source]map[string]*parse.Tree{}}

type source struct{ name, text string }

type parser struct {
	functions template.FuncMap // the engine's, set when an engine begins
	trees     map[source]map[string]*parse.Tree
}

// Those of text/template, which keeps them to itself. If one were missing, its templates would only be parsed anew.
var builtins = map[string]any{
	"and": true, "call": true, "eq": true, "ge": true, "gt": true, "html": true, "index": true, "js": true,
	"le": true, "len": true, "lt": true, "ne": true, "not": true, "or": true, "print": true, "printf": true,
	"println": true, "slice": true, "urlquery": true,
}

// parse does what t.Parse(text) does, error texts included.
func (p *parser) parse(t *template.Template, text string) (*template.Template, error) {
	key := source{t.Name(), text}
	trees, known := p.trees[key]
	if !known {
		var err error
		if trees, err = parse.Parse(key.name, text, "", "", p.functions, builtins); err != nil {
			return t.Parse(text)
		}
		p.trees[key] = trees
	}
	for name, tree := range trees {
		if _, err := t.AddParseTree(name, tree); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// FunctionNames are the names of all template functions.
func FunctionNames() []string {
	return slices.Sorted(maps.Keys(funcMap()))
}
