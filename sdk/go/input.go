package mistletoe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// unmarshal reads JSON. Numbers of values without a type keep their digits, as json.Number.
func unmarshal(text []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(value)
}

// decode reads the values into the package's own type.
func decode(data []byte, inputs any) error {
	err := unmarshal(withDefaults(reflect.TypeOf(inputs).Elem(), data), inputs)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch) && mismatch.Field != "":
		return fmt.Errorf("the input `%s` doesn't fit this package: it is a %s, not a %s", mismatch.Field, mismatch.Value, mismatch.Type)
	default:
		return fmt.Errorf("the inputs don't fit this package: %w", err)
	}
}

// withDefaults is data with the defaults of t's tags where it lacks them. The host puts them in; but null takes a default away
// (docs/values.md), and then Go's zero value might be past the bounds of the schema. What doesn't fit t stays for decode to refuse.
func withDefaults(t reflect.Type, data json.RawMessage) json.RawMessage {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if schemaAsRead(t) != nil {
		return data
	}
	switch t.Kind() {
	case reflect.Struct:
		return structWithDefaults(t, data)
	case reflect.Map:
		var entries map[string]json.RawMessage
		if json.Unmarshal(data, &entries) != nil {
			return data
		}
		for key, entry := range entries {
			entries[key] = withDefaults(t.Elem(), entry)
		}
		return rewritten(entries, data)
	case reflect.Slice, reflect.Array:
		var items []json.RawMessage
		if json.Unmarshal(data, &items) != nil {
			return data
		}
		for i, item := range items {
			items[i] = withDefaults(t.Elem(), item)
		}
		return rewritten(items, data)
	}
	return data
}

func structWithDefaults(t reflect.Type, data json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		return data
	}
	for _, field := range fieldsOf(t) {
		member, given := members[field.name]
		if _, has := field.Tag.Lookup("default"); !given && has {
			text, err := marshal(schemaOfField(t, field.StructField)["default"])
			if err != nil {
				panic(err) // it was JSON, or is a text
			}
			member, given = text, true
		}
		if given {
			members[field.name] = withDefaults(field.Type, member)
		}
	}
	return rewritten(members, data)
}

// rewritten is value, which was read from data, as JSON again.
func rewritten(value any, data json.RawMessage) json.RawMessage {
	text, err := marshal(value)
	if err != nil {
		return data
	}
	return text
}
