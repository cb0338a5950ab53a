package main

import (
	"encoding/json"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"
)

// packageInfo is what `mistctl inspect package` shows.
type packageInfo struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Home        string          `json:"home"`
	AppVersion  string          `json:"appVersion,omitempty"`
	Maintainers []string        `json:"maintainers"`
	Inputs      json.RawMessage `json:"inputs"` // values.schema.json, else what values.yaml tells
	Values      string          `json:"values"` // values.yaml as it stands
}

// inspect describes the chart and renders nothing: a library chart too, and one whose dependencies are missing.
func inspect(in *input) result {
	r := rendering{in: in}
	var err error
	if r.chart, err = theChart(); err != nil {
		return result{Result: "Err", Message: err.Error(), Where: r.locate(err)}
	}
	metadata := r.chart.Metadata
	info := &packageInfo{
		Name:        metadata.Name,
		Version:     metadata.Version,
		Description: metadata.Description,
		Home:        metadata.Home,
		AppVersion:  metadata.AppVersion,
		Maintainers: []string{},
		Inputs:      inputsOf(r.chart),
		Values:      string(valuesFile(r.chart)),
	}
	for _, maintainer := range metadata.Maintainers {
		name := maintainer.Name
		if maintainer.Email != "" {
			name = strings.TrimSpace(name + " <" + maintainer.Email + ">")
		}
		info.Maintainers = append(info.Maintainers, name)
	}
	return result{Result: "Ok", Package: info}
}

// inputsOf is the chart's schema, or one made from the types, the defaults and the comments (`# -- text`) of its
// values.yaml, or null.
func inputsOf(c *chart.Chart) json.RawMessage {
	if json.Valid(c.Schema) {
		return c.Schema
	}
	var document goyaml.Node
	if goyaml.Unmarshal(valuesFile(c), &document) != nil || len(document.Content) == 0 {
		return json.RawMessage("null")
	}
	schema := schemaOf(document.Content[0], 0)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	if text, err := json.Marshal(schema); err == nil {
		return text
	}
	return json.RawMessage("null")
}

func valuesFile(c *chart.Chart) []byte {
	for _, file := range c.Raw {
		if file.Name == "values.yaml" {
			return file.Data
		}
	}
	return nil
}

// Deeper values are shown as objects of anything; it also ends a document whose aliases lead in cycles.
const deepestInput = 16

var schemaTypes = map[string]string{
	"!!str": "string", "!!bool": "boolean", "!!int": "integer", "!!float": "number"}

func schemaOf(node *goyaml.Node, depth int) map[string]any {
	if node.Kind == goyaml.AliasNode {
		node = node.Alias
	}
	schema := map[string]any{}
	switch {
	case node.Kind == goyaml.MappingNode:
		schema["type"] = "object"
		if depth == deepestInput || len(node.Content) == 0 {
			return schema
		}
		properties := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			property := schemaOf(value, depth+1)
			if description := helmDocs(key.HeadComment); description != "" {
				property["description"] = description
			}
			properties[key.Value] = property
		}
		schema["properties"] = properties
	case node.Kind == goyaml.SequenceNode:
		schema["type"] = "array"
	case schemaTypes[node.ShortTag()] != "":
		schema["type"] = schemaTypes[node.ShortTag()]
		var value any
		if node.Decode(&value) == nil {
			schema["default"] = value
		}
	}
	return schema
}

// helmDocs is a comment as the tool helm-docs reads it: the text after `# --`, and the comment lines that follow.
func helmDocs(comment string) string {
	_, text, found := strings.Cut("\n"+comment, "\n# -- ")
	if !found {
		return ""
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if strings.HasPrefix(line, "@") {
			lines = lines[:i]
			break
		}
		lines[i] = line
	}
	return strings.TrimSpace(strings.Join(lines, " "))
}
