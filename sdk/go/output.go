package mistletoe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
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
			text.WriteString(`,"exports":` + exported(exports))
		}
	}
	text.WriteString("}}\n")
	return []byte(text.String())
}

// exported is the exports as JSON. A host reads a text as YAML, which its quotation is.
func exported(exports []byte) string {
	text := escaped(string(exports))
	if strings.HasPrefix(text, `"`) {
		return quoted(text)
	}
	return text
}

func marshal(value any) ([]byte, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, withPath(err, value)
	}
	return []byte(strings.TrimSuffix(text.String(), "\n")), nil
}

// withPath is the error of encoding value, with the path of the number that JSON doesn't have.
func withPath(err error, value any) error {
	var unsupported *json.UnsupportedValueError
	if !errors.As(err, &unsupported) || !isFloat(unsupported.Value) {
		return err
	}
	path, number := notFinite(reflect.ValueOf(value), "")
	if number == "" {
		return err
	}
	if path = strings.TrimPrefix(path, "."); path == "" {
		path = "the value"
	}
	return fmt.Errorf("%s is %s, which neither JSON nor YAML has", path, number)
}

func isFloat(value reflect.Value) bool {
	return value.Kind() == reflect.Float32 || value.Kind() == reflect.Float64
}

// notFinite is the first number that isn't finite, in the order in which encoding/json writes: its path and its name. No name:
// there is none, but for what a type writes by itself.
func notFinite(value reflect.Value, path string) (string, string) {
	if value.IsValid() && value.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return path, ""
	}
	switch value.Kind() {
	case reflect.Float32, reflect.Float64:
		return path, nameOf(value.Float())
	case reflect.Interface, reflect.Pointer:
		return notFinite(value.Elem(), path) // of nil it is the zero Value, whose kind is Invalid
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			if at, number := notFinite(value.Index(i), fmt.Sprintf("%s[%d]", path, i)); number != "" {
				return at, number
			}
		}
	case reflect.Map:
		keys := map[string]reflect.Value{}
		for _, key := range value.MapKeys() {
			keys[fmt.Sprint(key)] = key
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if at, number := notFinite(value.MapIndex(keys[key]), path+"."+key); number != "" {
				return at, number
			}
		}
	case reflect.Struct:
		return notFiniteField(value, path)
	}
	return path, ""
}

func notFiniteField(value reflect.Value, path string) (string, string) {
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := path // the fields of an embedded struct are its own
		switch {
		case field.Tag.Get("json") == "-", !field.IsExported() && !field.Anonymous:
			continue
		case name != "":
			inner += "." + name
		case !field.Anonymous:
			inner += "." + field.Name
		}
		if at, number := notFinite(value.Field(i), inner); number != "" {
			return at, number
		}
	}
	return path, ""
}

func nameOf(number float64) string {
	switch {
	case math.IsNaN(number):
		return "NaN"
	case math.IsInf(number, 1):
		return "Infinity"
	case math.IsInf(number, -1):
		return "-Infinity"
	}
	return ""
}
