package mistletoe

import (
	"encoding/json"
	"fmt"
	"strings"
)

const orderFile = "mist-order.yaml"

// Output is what a package gives back: files of Kubernetes YAML, one document or several in each, in the order in which they
// were first set.
type Output struct {
	paths   []string
	files   map[string]string
	message string
	exports any
	edges   []map[string]any
	err     error
}

// NewOutput has no files.
func NewOutput() *Output { return &Output{files: map[string]string{}} }

// WithFile sets the file at path, a relative path such as web/service.yaml, replacing what was there.
func (o *Output) WithFile(path, content string) *Output {
	if _, known := o.files[path]; !known {
		o.paths = append(o.paths, path)
	}
	o.files[path] = content
	return o
}

// WithFilesFrom adds the files of a package that was called, each below folder.
func (o *Output) WithFilesFrom(folder string, called *Called) *Output {
	for _, path := range called.Paths() {
		o.WithFile(folder+"/"+path, called.Files[path])
	}
	return o
}

// WithObject sets the file at path to one object: a map, a struct with json tags, a type of k8s.io/api. Safer than a text
// template, since no value can change the structure of the document. What can't be written fails the render.
func (o *Output) WithObject(path string, object any) *Output {
	content, err := ToYAML(object)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("can't write the file %s: %w", path, err)
	}
	return o.WithFile(path, content)
}

// After declares that object (KIND[.GROUP]/[NAMESPACE/]NAME) comes after target (KIND/NAME, with @ready behind it to wait until
// it is ready): docs/order.md.
func (o *Output) After(object, target string) *Output { return o.edge("after", object, target) }

// Before declares that object comes before target; see [Output.After].
func (o *Output) Before(object, target string) *Output { return o.edge("before", object, target) }

// WithMessage sets the text that the user sees after the render, such as how to go on.
func (o *Output) WithMessage(message string) *Output {
	o.message = message
	return o
}

// WithExports sets what packages that call this one may read.
func (o *Output) WithExports(exports any) *Output {
	o.exports = exports
	return o
}

// File is the content of the file at path; empty if there is none.
func (o *Output) File(path string) string { return o.files[path] }

// Paths are those of all files, in the order of their first setting.
func (o *Output) Paths() []string { return o.paths }

// Message is the text for the user.
func (o *Output) Message() string { return o.message }

func (o *Output) edge(direction, object, target string) *Output {
	o.edges = append(o.edges, map[string]any{"object": object, direction: target})
	return o.WithObject(orderFile, map[string]any{"apiVersion": apiVersion, "kind": "MistOrder", "edges": o.edges})
}

// resultDocument is the MistResult of a render, as a line of JSON that every YAML reader reads alike.
func resultDocument(output *Output, err error) []byte {
	var exports []byte
	if err == nil && output.exports != nil {
		if exports, err = marshal(output.exports); err != nil {
			err = fmt.Errorf("can't write the exports: %w", err)
		}
	}
	var text strings.Builder
	text.WriteString(`{"apiVersion":"` + apiVersion + `","kind":"MistResult","data":{`)
	if err != nil {
		text.WriteString(`"result":"Err","message":` + quoted(err.Error()))
	} else {
		text.WriteString(`"result":"Ok"`)
		if output.message != "" {
			text.WriteString(`,"message":` + quoted(output.message))
		}
		text.WriteString(`,"files":{`)
		for i, path := range output.paths {
			if i > 0 {
				text.WriteByte(',')
			}
			text.WriteString(quoted(path) + ":" + quoted(output.files[path]))
		}
		text.WriteByte('}')
		if exports != nil {
			text.WriteString(`,"exports":` + escaped(string(exports)))
		}
	}
	text.WriteString("}}\n")
	return []byte(text.String())
}

func marshal(value any) ([]byte, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return []byte(strings.TrimSuffix(text.String(), "\n")), err
}
