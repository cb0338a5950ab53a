package mistletoe

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Schema is the JSON Schema (2020-12) of inputs of type I, from its fields' json tags and of these:
//
//	doc        the description
//	default    a text for strings, else JSON: default:"[80]"
//	enum       the values that are allowed, with commas between them
//	minimum, maximum, minLength, maxLength, minItems, maxItems, pattern   as in JSON Schema
//
// A field must be given unless it has a default or omitempty, or is a pointer; the release's name always is. Nothing else than
// the fields may be given. Types that read themselves may be anything if they implement json.Unmarshaler, unless they are structs
// with one of the tags above, and are texts if they implement encoding.TextUnmarshaler. A []byte is a text in base64, and
// json.Number a number.
func Schema[I any]() map[string]any {
	schema := schemaOf(reflect.TypeFor[I]())
	// The host gives it, whatever the user gives.
	if required, ok := schema["required"].([]string); ok {
		var others []string
		for _, each := range required {
			if each != "name" {
				others = append(others, each)
			}
		}
		delete(schema, "required")
		if others != nil {
			schema["required"] = others
		}
	}
	return schema
}

// description is the result of a program that is asked what its inputs are.
func description[I any]() []byte {
	text, err := marshal(map[string]any{
		"apiVersion": apiVersion,
		"kind":       "MistResult",
		"data":       map[string]any{"result": "Ok", "package": map[string]any{"inputs": Schema[I]()}},
	})
	if err != nil {
		panic(err) // texts, numbers and what was JSON
	}
	return append(text, '\n')
}

func schemaOf(t reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		return schemaOf(t.Elem())
	}
	if schema := schemaAsRead(t); schema != nil {
		return schema
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return schemaOfStruct(t)
	default:
		return map[string]any{}
	}
}

// implements tells whether encoding/json calls I's methods to read a value of type t.
func implements[I any](t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[I]())
}

// isDescribed tells whether a type is a struct with one of the tags of Schema. Then it reads the object of its fields, even if
// with a method of its own.
func isDescribed(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for _, field := range fieldsOf(t) {
		for _, tag := range slices.Concat([]string{"doc", "default", "enum", "pattern"}, boundTags) {
			if _, ok := field.Tag.Lookup(tag); ok {
				return true
			}
		}
	}
	return false
}

// schemaAsRead is the schema of a type that encoding/json reads otherwise than its kind says; nil for the others.
func schemaAsRead(t reflect.Type) map[string]any {
	switch {
	case implements[json.Unmarshaler](t):
		if isDescribed(t) {
			return nil
		}
		return map[string]any{}
	case implements[encoding.TextUnmarshaler](t):
		return map[string]any{"type": "string"}
	case t == reflect.TypeFor[json.Number]():
		return map[string]any{"type": "number"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && schemaAsRead(t.Elem()) == nil:
		return map[string]any{"type": "string"} // base64
	default:
		return nil
	}
}

type inputField struct {
	reflect.StructField
	name    string
	options string // what stands behind the name in the tag
}

// fieldsOf are the fields of a struct that encoding/json reads, with those of embedded structs.
func fieldsOf(t reflect.Type) []inputField {
	var fields []inputField
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || field.Tag.Get("json") == "-" || isEmbedded(field) || !isPromoted(t, field.Index) {
			continue
		}
		if name == "" {
			name = field.Name
		}
		fields = append(fields, inputField{field, name, options})
	}
	return fields
}

// isEmbedded tells whether the fields of a struct stand among those of the struct that it is embedded in.
func isEmbedded(field reflect.StructField) bool {
	t := field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return field.Anonymous && name == "" && t.Kind() == reflect.Struct
}

// isPromoted tells whether every struct on the way to a field is embedded without a name of its own in JSON.
func isPromoted(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		if !isEmbedded(t.FieldByIndex(index[:i])) {
			return false
		}
	}
	return true
}

func schemaOfStruct(t reflect.Type) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, field := range fieldsOf(t) {
		properties[field.name] = schemaOfField(t, field.StructField)
		_, hasDefault := field.Tag.Lookup("default")
		if !hasDefault && !strings.Contains(field.options, "omit") && field.Type.Kind() != reflect.Pointer {
			required = append(required, field.name)
		}
	}
	schema := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		schema["required"] = required
	}
	return schema
}

var boundTags = []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}

func schemaOfField(t reflect.Type, field reflect.StructField) map[string]any {
	schema := schemaOf(field.Type)
	isText := schema["type"] == "string"
	value := func(tag, text string) any {
		if isText {
			return text
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			panic(fmt.Sprintf("the tag %s of %s.%s isn't JSON: %s", tag, t.Name(), field.Name, text))
		}
		return json.RawMessage(text)
	}
	if doc := field.Tag.Get("doc"); doc != "" {
		schema["description"] = doc
	}
	if text, ok := field.Tag.Lookup("default"); ok {
		schema["default"] = value("default", text)
	}
	if text, ok := field.Tag.Lookup("enum"); ok {
		var values []any
		for each := range strings.SplitSeq(text, ",") {
			values = append(values, value("enum", each))
		}
		schema["enum"] = values
	}
	for _, tag := range boundTags {
		if text, ok := field.Tag.Lookup(tag); ok {
			schema[tag] = json.RawMessage(text)
		}
	}
	if text, ok := field.Tag.Lookup("pattern"); ok {
		schema["pattern"] = text
	}
	return schema
}
