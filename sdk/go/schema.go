package mistletoe

import (
	"encoding/json"
	"fmt"
	"reflect"
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
// the fields may be given.
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
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
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

func schemaOfStruct(t reflect.Type) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" || field.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		properties[name] = schemaOfField(t, field)
		_, hasDefault := field.Tag.Lookup("default")
		if !hasDefault && !strings.Contains(options, "omit") && field.Type.Kind() != reflect.Pointer {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		schema["required"] = required
	}
	return schema
}

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
	for _, tag := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if text, ok := field.Tag.Lookup(tag); ok {
			schema[tag] = json.RawMessage(text)
		}
	}
	if text, ok := field.Tag.Lookup("pattern"); ok {
		schema["pattern"] = text
	}
	return schema
}
