package main

import (
	"crypto/rand"
	"encoding/binary"
	mathrand "math/rand"
	"slices"
	"text/template"

	"github.com/huandu/xstrings"
)

// functions replace those of sprig that would make the output depend on something else than the input:
//
//   - randInt and shuffle use a generator that Go seeds when the program starts, which a snapshot would freeze. All
//     other functions that draw call the system at once, which is the host's keyed stream.
//   - keys and values answer in the order of Go's maps, which is random on purpose; here they are sorted by key.
//   - lookup asks the host, or answers nothing, as `helm template` does.
func functions(asksHost bool) template.FuncMap {
	funcs := template.FuncMap{
		"randInt": func(low, high int) int { return mathrand.New(systemSource{}).Intn(high-low) + low },
		"shuffle": func(text string) string { return xstrings.ShuffleSource(text, systemSource{}) },
		"keys":    sortedKeys,
		"values":  sortedValues,
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
