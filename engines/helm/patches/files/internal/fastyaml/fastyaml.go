// Package fastyaml does what sigs.k8s.io/yaml does for the values that templates have, without its way over JSON text:
// whatever is unusual (another type, a character that one of the two formats escapes) still goes that way.
package fastyaml

import (
	"math"
	"strconv"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// Marshal is yaml.Marshal.
func Marshal(value any) ([]byte, error) {
	if text, ok := quickMarshal(value); ok {
		return text, nil
	}
	if plain, ok := asRead(value); ok {
		return goyaml.Marshal(plain)
	}
	return yaml.Marshal(value)
}

// asRead is what reading the value's JSON as YAML gives, which is what gets written.
func asRead(value any) (any, bool) {
	switch v := value.(type) {
	case nil, bool, int, int64:
		return v, true
	case string:
		return v, isPlainText(v)
	case float64:
		return numberAsRead(v)
	case map[string]any:
		if v == nil {
			return nil, true
		}
		read := make(map[string]any, len(v))
		for key, member := range v {
			m, ok := asRead(member)
			if !ok || !isPlainText(key) {
				return nil, false
			}
			read[key] = m
		}
		return read, true
	case []any:
		if v == nil {
			return nil, true
		}
		read := make([]any, len(v))
		for i, element := range v {
			e, ok := asRead(element)
			if !ok {
				return nil, false
			}
			read[i] = e
		}
		return read, true
	case []string:
		if v == nil {
			return nil, true
		}
		read := make([]any, len(v))
		for i, element := range v {
			if !isPlainText(element) {
				return nil, false
			}
			read[i] = element
		}
		return read, true
	}
	return nil, false
}

// Above, not every float64 is a whole number of its own, and the digits of its text decide.
const exactBelow = 1 << 53

func numberAsRead(v float64) (any, bool) {
	switch {
	case v == math.Trunc(v) && math.Abs(v) < exactBelow:
		return int64(v), true
	case math.Abs(v) >= exactBelow || math.IsNaN(v):
		return nil, false
	}
	return v, true // JSON and YAML agree about fractions
}

// isPlainText: ASCII without control characters, which both formats take as it stands.
func isPlainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// UnmarshalMap is yaml.Unmarshal into an empty map.
func UnmarshalMap(text []byte, into *map[string]any) error {
	var read any
	if goyaml.Unmarshal(text, &read) == nil {
		if value, ok := asDecoded(read); ok {
			if object, ok := value.(map[string]any); ok {
				*into = object
				return nil
			}
		}
	}
	return yaml.Unmarshal(text, into)
}

// asDecoded is what writing a YAML value as JSON and reading it again gives.
func asDecoded(value any) (any, bool) {
	switch v := value.(type) {
	case nil, bool:
		return v, true
	case string:
		return v, utf8.ValidString(v)
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case map[any]any:
		object := make(map[string]any, len(v))
		for key, member := range v {
			var name string
			switch k := key.(type) {
			case string:
				name = k
			case int:
				name = strconv.Itoa(k)
			default:
				return nil, false
			}
			m, ok := asDecoded(member)
			if !ok || !utf8.ValidString(name) {
				return nil, false
			}
			object[name] = m
		}
		return object, len(object) == len(v)
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			e, ok := asDecoded(element)
			if !ok {
				return nil, false
			}
			list[i] = e
		}
		return list, true
	}
	return nil, false
}
