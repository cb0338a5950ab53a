package main

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
)

// Helm takes a value whose key nobody reads, `replicaCuont: 3`, and says nothing. Here its user is told, where it is sure
// that nobody reads it:
//
//   - No default has it. A default of `{}`, `[]` or null may be filled with anything, and so may a list.
//   - No template reads it (`.Values.a.b`, also through `index`, `get`, `hasKey` and the like), and none takes a whole that
//     it is part of: `toYaml .Values.a`, `with .Values.a`, `range`, an argument of `include`. What is named only to ask
//     whether it is there (`if .Values.a`) is not taken.
//   - No text that may be a template itself names it: values and files go through `tpl`.
//   - Its schema does not name it.
//   - It is neither `global`, nor a subchart's, whose own defaults and templates are asked, nor of a kind that YAML anchors
//     are kept under.

// unknownValue is a key that nobody reads.
type unknownValue struct {
	Path  []string `json:"path"`
	Known []string `json:"known,omitempty"` // keys that are known in its place
	Also  []string `json:"also,omitempty"`  // where else a key of that name is known, as a path with dots
}

// At most so many keys are named, and so many that are known beside each.
const (
	mostUnknown = 20
	mostKnown   = 200
	mostAlso    = 3
)

// unknownValues are those of the user, after the chart was rendered: its templates are parsed then.
func (r *rendering) unknownValues() []unknownValue {
	if len(r.in.values) == 0 {
		return nil
	}
	s := unknownSearch{r: r, own: map[*chart.Chart]*reads{}}
	s.chart(r.chart, r.in.values, r.chart.Values, nil)
	slices.SortFunc(s.found, func(a, b unknownValue) int { return slices.Compare(a.Path, b.Path) })
	return s.found[:min(len(s.found), mostUnknown)]
}

type unknownSearch struct {
	r      *rendering
	shared *reads // of what templates define, which any chart may use; nil: not looked yet
	own    map[*chart.Chart]*reads
	texts  string // all that `tpl` may be given
	found  []unknownValue
}

// chart looks at the values that a chart is given; `defaults` are its own and what its parent gives it.
func (s *unknownSearch) chart(c *chart.Chart, given, defaults map[string]any, above []string) {
	own := maps.Clone(given)
	delete(own, "global")
	for _, dependency := range c.Dependencies() {
		name := dependency.Name()
		if table, ok := own[name].(map[string]any); ok {
			from, _ := defaults[name].(map[string]any)
			s.chart(dependency, table, merged(from, dependency.Values), slices.Concat(above, []string{name}))
		}
		delete(own, name)
	}
	for _, name := range s.r.parts {
		delete(own, name)
	}
	s.table(c, own, defaults, nil, above)
}

// table looks at a mapping of the values of c at that place, `above` it.
func (s *unknownSearch) table(c *chart.Chart, given, defaults map[string]any, at, above []string) {
	for key, value := range given {
		here := slices.Concat(at, []string{key})
		fallback, known := defaults[key]
		if known {
			inner, isTable := value.(map[string]any)
			if table, ok := fallback.(map[string]any); ok && isTable && len(table) > 0 {
				s.table(c, inner, table, here, above)
			}
			continue
		}
		if value == nil || isAnchor(key) || s.isRead(c, here, above) {
			continue
		}
		s.found = append(s.found, unknownValue{
			Path:  slices.Concat(above, here),
			Known: s.knownAt(c, defaults, at),
			Also:  elsewhere(c.Values, key, at),
		})
	}
}

// isAnchor says whether it is one of the names under which people keep what they refer to with an alias.
func isAnchor(key string) bool {
	return strings.HasPrefix(key, "x-") || strings.HasPrefix(key, "_") || strings.HasPrefix(key, ".") ||
		strings.Contains(strings.ToLower(key), "anchor")
}

// isRead says whether anybody may read what c has at that place.
func (s *unknownSearch) isRead(c *chart.Chart, place, above []string) bool {
	if s.shared == nil {
		s.learn(s.r.chart, nil)
	}
	if s.shared.has(place) || s.own[c].has(place) {
		return true
	}
	key := place[len(place)-1]
	if names(string(c.Schema), key) || names(s.texts, key) {
		return true
	}
	// What its parents read of it: .Values.sub.key
	for i, parent := len(above), s.parents(above); i > 0; i-- {
		if s.own[parent[i-1]].has(slices.Concat(above[i-1:], place)) || s.shared.has(slices.Concat(above[i-1:], place)) {
			return true
		}
	}
	return false
}

// parents are the charts on the way: the chart itself, then for each name but the last what it leads to.
func (s *unknownSearch) parents(above []string) []*chart.Chart {
	way := []*chart.Chart{s.r.chart}
	for _, name := range above {
		last := way[len(way)-1]
		next := last
		for _, dependency := range last.Dependencies() {
			if dependency.Name() == name {
				next = dependency
			}
		}
		way = append(way, next)
	}
	return way
}

// learn reads the templates, values and files of a chart and of its subcharts.
func (s *unknownSearch) learn(c *chart.Chart, texts []string) {
	first := s.shared == nil
	if first {
		s.shared = &reads{}
		texts = appendTemplates(texts, s.r.in.values)
	}
	own := &reads{}
	s.own[c] = own
	for _, template := range c.Templates {
		trees := engine.Parsed(path.Join(c.ChartFullPath(), template.Name), string(template.Data))
		if trees == nil { // it wasn't rendered: a library's, or none
			texts = append(texts, string(template.Data))
		}
		for name, tree := range trees {
			if name == tree.ParseName {
				own.list(tree.Root)
			} else {
				s.shared.list(tree.Root)
			}
		}
	}
	texts = appendTemplates(texts, c.Values)
	for _, file := range c.Files {
		if text := string(file.Data); strings.Contains(text, "{{") {
			texts = append(texts, text)
		}
	}
	for _, dependency := range c.Dependencies() {
		s.learn(dependency, nil)
	}
	texts = slices.Concat(texts, own.texts)
	if first {
		texts = slices.Concat(texts, s.shared.texts)
	}
	s.texts += strings.Join(texts, "\n") + "\n"
}

// knownAt are the keys that somebody reads at that place.
func (s *unknownSearch) knownAt(c *chart.Chart, defaults map[string]any, at []string) []string {
	keys := slices.Collect(maps.Keys(defaults))
	if len(at) == 0 {
		for _, dependency := range c.Dependencies() {
			keys = append(keys, dependency.Name())
		}
	}
	keys = append(keys, s.own[c].keysAt(at)...)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return keys[:min(len(keys), mostKnown)]
}

// elsewhere are other places of that key.
func elsewhere(defaults map[string]any, key string, at []string) []string {
	var found []string
	var walk func(table map[string]any, above []string)
	walk = func(table map[string]any, above []string) {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if name == key && !slices.Equal(above, at) {
				found = append(found, strings.Join(slices.Concat(above, []string{name}), "."))
			}
			if inner, ok := table[name].(map[string]any); ok && len(above) < deepestInput {
				walk(inner, slices.Concat(above, []string{name}))
			}
		}
	}
	walk(defaults, nil)
	return found[:min(len(found), mostAlso)]
}

// partsOf are keys that decide about dependencies: their names, tags, and what their conditions begin with. Helm forgets
// those that are disabled, so they are collected before it looks.
func partsOf(c *chart.Chart) []string {
	var keys []string
	for _, dependency := range c.Metadata.Dependencies {
		keys = append(keys, dependency.Name, dependency.Alias, "tags")
		for condition := range strings.SplitSeq(dependency.Condition, ",") {
			first, _, _ := strings.Cut(strings.TrimSpace(condition), ".")
			keys = append(keys, first)
		}
	}
	for _, dependency := range c.Dependencies() {
		keys = append(keys, dependency.Name())
		keys = append(keys, partsOf(dependency)...)
	}
	return keys
}

// merged has the keys of both, deep.
func merged(a, b map[string]any) map[string]any {
	if len(a) == 0 {
		return b
	}
	all := maps.Clone(b)
	if all == nil {
		all = map[string]any{}
	}
	for key, value := range a {
		table, ok := value.(map[string]any)
		other, too := all[key].(map[string]any)
		if ok && too {
			value = merged(table, other)
		}
		all[key] = value
	}
	return all
}

// appendTemplates appends the texts among values that may be templates.
func appendTemplates(texts []string, value any) []string {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "{{") {
			texts = append(texts, v)
		}
	case map[string]any:
		for _, member := range v {
			texts = appendTemplates(texts, member)
		}
	case []any:
		for _, item := range v {
			texts = appendTemplates(texts, item)
		}
	}
	return texts
}

// names says whether a text has that word.
func names(text, word string) bool {
	if !strings.Contains(text, word) {
		return false
	}
	return regexp.MustCompile(`(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(word) + `($|[^A-Za-z0-9_])`).MatchString(text)
}

// reads are the places below .Values that templates read.
type reads struct {
	inner map[string]*reads
	texts []string // of the root: those in templates that may be templates themselves
	named bool     // something asks whether it is there
	whole bool     // something takes it with all that it holds
}

func (t *reads) at(place []string) *reads {
	for _, key := range place {
		next, known := t.inner[key]
		if !known {
			if t.inner == nil {
				t.inner = map[string]*reads{}
			}
			next = &reads{}
			t.inner[key] = next
		}
		t = next
	}
	return t
}

// has says whether somebody reads that place, a part of it, or a whole with it.
func (t *reads) has(place []string) bool {
	for _, key := range place {
		if t.whole {
			return true
		}
		next, known := t.inner[key]
		if !known {
			return false
		}
		t = next
	}
	return true
}

func (t *reads) keysAt(place []string) []string {
	for _, key := range place {
		if t = t.inner[key]; t == nil {
			return nil
		}
	}
	return slices.Collect(maps.Keys(t.inner))
}

// The functions of a condition that look at whether something is there, and hand nothing of it on.
var onlyAsking = []string{"and", "or", "not", "empty", "hasKey", "kindIs", "kindOf", "eq", "ne", "len", "default"}

// The functions that take a mapping, and a key as a text.
var lookingUp = []string{"index", "get", "hasKey", "dig", "pluck"}

func (t *reads) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			t.pipe(n.Pipe, false)
		case *parse.TemplateNode:
			t.pipe(n.Pipe, false)
		case *parse.IfNode:
			t.pipe(n.Pipe, true)
			t.list(n.List)
			t.list(n.ElseList)
		case *parse.RangeNode:
			t.pipe(n.Pipe, false)
			t.list(n.List)
			t.list(n.ElseList)
		case *parse.WithNode:
			t.pipe(n.Pipe, false)
			t.list(n.List)
			t.list(n.ElseList)
		}
	}
}

// pipe learns what a pipeline reads; `asking`: only whether it is there.
func (t *reads) pipe(pipe *parse.PipeNode, asking bool) {
	if pipe == nil {
		return
	}
	for _, command := range pipe.Cmds {
		t.command(command, asking && len(pipe.Cmds) == 1)
	}
}

func (t *reads) command(command *parse.CommandNode, asking bool) {
	arguments := command.Args
	function := ""
	if name, ok := arguments[0].(*parse.IdentifierNode); ok {
		function, arguments = name.Ident, arguments[1:]
		asking = asking && slices.Contains(onlyAsking, function)
	}
	if slices.Contains(lookingUp, function) && t.lookUp(function, arguments, asking) {
		return
	}
	for _, argument := range arguments {
		t.argument(argument, asking)
	}
}

// lookUp learns of `index .Values "a" "b"`, `get .Values.a "b"`; false: it is something else.
func (t *reads) lookUp(function string, arguments []parse.Node, asking bool) bool {
	if len(arguments) < 2 {
		return false
	}
	place, isValues := valuesPath(arguments[0])
	if !isValues {
		return false
	}
	for _, argument := range arguments[1:] {
		text, ok := argument.(*parse.StringNode)
		if !ok {
			t.argument(argument, false)
			t.at(place).whole = true // any key
			return true
		}
		place = append(place, text.Text)
	}
	t.take(place, asking || function == "hasKey")
	return true
}

func (t *reads) argument(argument parse.Node, asking bool) {
	if place, isValues := valuesPath(argument); isValues {
		t.take(place, asking)
		return
	}
	switch n := argument.(type) {
	case *parse.StringNode:
		if strings.Contains(n.Text, "{{") {
			t.texts = append(t.texts, n.Text)
		}
	case *parse.PipeNode:
		t.pipe(n, asking)
	case *parse.ChainNode:
		t.argument(n.Node, false)
	}
}

func (t *reads) take(place []string, asking bool) {
	node := t.at(place)
	node.named = true
	node.whole = node.whole || !asking
}

// valuesPath is what stands behind .Values, wherever that is: .Values.a, $.Values.a, .context.Values.a.
func valuesPath(node parse.Node) ([]string, bool) {
	var fields []string
	switch n := node.(type) {
	case *parse.FieldNode:
		fields = n.Ident
	case *parse.VariableNode:
		fields = n.Ident[1:]
	case *parse.ChainNode:
		fields = n.Field
	}
	i := slices.Index(fields, "Values")
	if i < 0 {
		return nil, false
	}
	return slices.Clone(fields[i+1:]), true
}
