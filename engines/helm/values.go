package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"
)

// How Helm begins the error of values that a schema refuses.
const schemaFailure = "values don't meet the specifications of the schema(s)"

// refusedValues are the values of a chart that its schema refuses: the host says in its own words why.
type refusedValues struct {
	Above  []string        `json:"above,omitempty"` // the subcharts that lead to it
	Schema json.RawMessage `json:"schema"`
	Values map[string]any  `json:"values"`
	Fixed  bool            `json:"fixed,omitempty"` // no schema of the chart says so, but Helm itself
}

// refusedBySchemas are all of them, the chart's own first.
func refusedBySchemas(c *chart.Chart, given map[string]any) []refusedValues {
	values, err := util.CoalesceValues(c, given)
	if err != nil {
		return nil
	}
	var all []refusedValues
	var look func(c *chart.Chart, values map[string]any, above []string)
	look = func(c *chart.Chart, values map[string]any, above []string) {
		if c.Schema != nil && json.Valid(c.Schema) && util.ValidateAgainstSingleSchema(values, c.Schema) != nil {
			all = append(all, refusedValues{Above: above, Schema: c.Schema, Values: values})
		}
		for _, dependency := range c.Dependencies() {
			if table, ok := values[dependency.Name()].(map[string]any); ok {
				look(dependency, table, slices.Concat(above, []string{dependency.Name()}))
			}
		}
	}
	look(c, values, nil)
	return all
}

// refusedTables are values given in place of a subchart's values that are no mapping. Helm's own words for that are
// "type mismatch on sub: %!t(string=x)".
func refusedTables(c *chart.Chart, given map[string]any) []refusedValues {
	var all []refusedValues
	for _, dependency := range c.Dependencies() {
		name := dependency.Name()
		value, ok := given[name]
		if !ok {
			continue
		}
		if table, ok := value.(map[string]any); ok {
			for _, below := range refusedTables(dependency, table) {
				below.Above = slices.Concat([]string{name}, below.Above)
				all = append(all, below)
			}
			continue
		}
		schema, err := json.Marshal(map[string]any{"properties": map[string]any{name: map[string]any{"type": "object"}}})
		if err != nil {
			continue
		}
		all = append(all, refusedValues{Schema: schema, Values: map[string]any{name: value}, Fixed: true})
	}
	return all
}

// schemaPlace is a JSON pointer in a schema error: - at '/image/tag': got number, want string
var schemaPlace = regexp.MustCompile(`(?m)^\s*- at '([^']*)'`)

// locateValue finds the line of values.yaml with the value that a schema refuses, unless the user gave that value.
func (r *rendering) locateValue(message string) *where {
	_, list, _ := strings.Cut(message, "\n")
	if !strings.HasPrefix(list, r.chart.Name()+":\n") {
		return nil // a subchart's
	}
	match := schemaPlace.FindStringSubmatch(list)
	if match == nil {
		return nil
	}
	path := pointerPath(match[1])
	if isGiven(r.in.values, path) {
		return nil
	}
	for _, file := range r.chart.Raw {
		if file.Name != "values.yaml" {
			continue
		}
		var document goyaml.Node
		if goyaml.Unmarshal(file.Data, &document) != nil || len(document.Content) == 0 {
			return nil
		}
		if line := lineOf(document.Content[0], path); line > 0 {
			return &where{File: "values.yaml", Line: line}
		}
	}
	return nil
}

func pointerPath(pointer string) []string {
	if pointer == "" {
		return nil
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range parts {
		parts[i] = unescape.Replace(parts[i])
	}
	return parts
}

// isGiven says whether the user's values have something at that path.
func isGiven(values map[string]any, path []string) bool {
	var value any = values
	for _, key := range path {
		table, ok := value.(map[string]any)
		if !ok {
			return true // a list or a scalar, which replaces the chart's
		}
		if value, ok = table[key]; !ok {
			return false
		}
	}
	return len(path) > 0
}

// lineOf is the line of the key, or of the element, that the path leads to, or 0.
func lineOf(node *goyaml.Node, path []string) int {
	line := 0
	for _, key := range path {
		next := (*goyaml.Node)(nil)
		switch node.Kind {
		case goyaml.MappingNode:
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == key {
					line, next = node.Content[i].Line, node.Content[i+1]
				}
			}
		case goyaml.SequenceNode:
			if index, err := strconv.Atoi(key); err == nil && index < len(node.Content) {
				line, next = node.Content[index].Line, node.Content[index]
			}
		}
		if next == nil {
			return 0
		}
		node = next
	}
	return line
}
