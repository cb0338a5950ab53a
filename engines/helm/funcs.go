package main

import (
	"crypto/rand"
	"encoding/binary"
	mathrand "math/rand"
	"slices"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/huandu/xstrings"
)

// functions replace those of sprig that would make the output depend on something else than the input:
//
//   - randInt and shuffle use a generator that Go seeds when the program starts, which a snapshot would freeze. All
//     other functions that draw call the system at once, which is the host's keyed stream.
//   - keys and values answer in the order of Go's maps, which is random on purpose; here they are sorted by key.
//   - deepCopy copies what values are made of without reflection.
//   - lookup asks the host, or answers nothing, as `helm template` does.
func functions(asksHost bool) template.FuncMap {
	funcs := template.FuncMap{
		"randInt": func(low, high int) int { return mathrand.New(systemSource{}).Intn(high-low) + low },
		"shuffle": func(text string) string { return xstrings.ShuffleSource(text, systemSource{}) },
		"keys":    sortedKeys,
		"values":  sortedValues,

		"deepCopy":     deepCopy,
		"mustDeepCopy": mustDeepCopy,
	}
	if asksHost {
		funcs["lookup"] = lookUp
	}
	return funcs
}

// systemSource draws every number from the system.
type systemSource struct{}

func (systemSource) Uint64() uint64 {
	var bytes [8]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return binary.LittleEndian.Uint64(bytes[:])
}

func (s systemSource) Int63() int64 { return int64(s.Uint64() >> 1) }

func (systemSource) Seed(int64) {}

func sortedKeys(dicts ...map[string]any) []string {
	keys := []string{}
	for _, dict := range dicts {
		begin := len(keys)
		for key := range dict {
			keys = append(keys, key)
		}
		slices.Sort(keys[begin:])
	}
	return keys
}

func sortedValues(dict map[string]any) []any {
	values := []any{}
	for _, key := range sortedKeys(dict) {
		values = append(values, dict[key])
	}
	return values
}

// Those of sprig, for what isn't made of the types below.
var (
	sprigDeepCopy     = sprig.TxtFuncMap()["deepCopy"].(func(any) any)
	sprigMustDeepCopy = sprig.TxtFuncMap()["mustDeepCopy"].(func(any) (any, error))
)

func deepCopy(value any) any {
	if copied, ok := copyOf(value); ok {
		return copied
	}
	return sprigDeepCopy(value)
}

func mustDeepCopy(value any) (any, error) {
	if copied, ok := copyOf(value); ok {
		return copied, nil
	}
	return sprigMustDeepCopy(value)
}

// copyOf copies objects and lists of plain values, and says no to anything else.
func copyOf(value any) (any, bool) {
	switch v := value.(type) {
	case string, bool, int, int64, float64:
		return v, true
	case map[string]any:
		if v == nil {
			return nil, false
		}
		copied := make(map[string]any, len(v))
		for key, member := range v {
			m, ok := copyOf(member)
			if !ok && member != nil {
				return nil, false
			}
			copied[key] = m
		}
		return copied, true
	case []any:
		if v == nil {
			return nil, false
		}
		copied := make([]any, len(v))
		for i, element := range v {
			e, ok := copyOf(element)
			if !ok && element != nil {
				return nil, false
			}
			copied[i] = e
		}
		return copied, true
	}
	return nil, false
}
