package engine

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unsafe"
)

// What Mistletoe adds to Helm's engine (../../../helm.patch has the places that call it).

// BeforeFile is called before each file is executed, with where its output goes, and says where to write it.
var BeforeFile = func(_ string, out *strings.Builder) io.Writer { return out }

// Place is where something that a template writes stands in the template's file.
type Place struct {
	File string // as Helm names it
	Line int    // from 1
}

// PlaceOf says where a text that text/template writes is from, by its first byte: it writes a text node's own bytes, and
// before each action an empty text of a node that was added when the template was parsed.
func PlaceOf(written []byte) (Place, bool) {
	if cap(written) == 0 {
		return Place{}, false
	}
	place, known := templates.places[unsafe.SliceData(written)]
	return place, known
}

// templates keeps what was parsed: a chart that was rendered while the guest was prepared needs no parser any more, and
// neither does a text that `tpl` renders again and again.
var templates = parser{trees: map[source]map[string]*parse.Tree{}, places: map[*byte]Place{}}

type source struct{ name, text string }

type parser struct {
	functions template.FuncMap // the engine's, set when an engine begins
	trees     map[source]map[string]*parse.Tree
	places    map[*byte]Place // by the first byte of a text node
}

// Parsed are the templates in a file that was rendered, by their names; nil: it wasn't.
func Parsed(name, text string) map[string]*parse.Tree {
	return templates.trees[source{name, text}]
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
		lines := lineCounter{text: text, line: 1}
		for _, tree := range slices.SortedFunc(maps.Values(trees), byPosition) {
			p.learn(tree.Root, key.name, &lines)
		}
	}
	for name, tree := range trees {
		if _, err := t.AddParseTree(name, tree); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func byPosition(a, b *parse.Tree) int { return cmp.Compare(a.Root.Pos, b.Root.Pos) }

// learn remembers where the texts of a list are from, and puts an empty text before whatever else prints.
func (p *parser) learn(list *parse.ListNode, file string, lines *lineCounter) {
	if list == nil {
		return
	}
	nodes := make([]parse.Node, 0, 2*len(list.Nodes))
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			if len(n.Text) > 0 {
				p.places[&n.Text[0]] = Place{file, lines.at(n.Pos)}
			}
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				nodes = append(nodes, p.mark(n.Pos, file, lines))
			}
		case *parse.TemplateNode:
			nodes = append(nodes, p.mark(n.Pos, file, lines))
		case *parse.IfNode:
			p.learnBranches(&n.BranchNode, file, lines)
		case *parse.RangeNode:
			p.learnBranches(&n.BranchNode, file, lines)
		case *parse.WithNode:
			p.learnBranches(&n.BranchNode, file, lines)
		}
		nodes = append(nodes, node)
	}
	list.Nodes = nodes
}

func (p *parser) learnBranches(branch *parse.BranchNode, file string, lines *lineCounter) {
	p.learn(branch.List, file, lines)
	p.learn(branch.ElseList, file, lines)
}

// mark is a text that prints nothing and has an address of its own.
func (p *parser) mark(at parse.Pos, file string, lines *lineCounter) parse.Node {
	text := make([]byte, 1)[:0]
	p.places[unsafe.SliceData(text)] = Place{file, lines.at(at)}
	return &parse.TextNode{NodeType: parse.NodeText, Pos: at, Text: text}
}

// lineCounter gives lines of a text: quickly, as long as positions ascend.
type lineCounter struct {
	text     string
	position int
	line     int
}

func (c *lineCounter) at(pos parse.Pos) int {
	position := min(int(pos), len(c.text))
	if position < c.position {
		c.position, c.line = 0, 1
	}
	c.line += strings.Count(c.text[c.position:position], "\n")
	c.position = position
	return c.line
}

// FunctionNames are the names of all template functions.
func FunctionNames() []string {
	return slices.Sorted(maps.Keys(funcMap()))
}
