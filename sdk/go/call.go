package mistletoe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Called is what a called package gave.
type Called struct {
	// Files are those of the package: path and YAML. [Output.WithFilesFrom] takes them all.
	Files map[string]string `json:"files"`
	// Message is what it says to its user.
	Message string `json:"message"`
	// RawExports are its exports as JSON, checked by the host against its schema; [Called.Exports] reads them.
	RawExports json.RawMessage `json:"exports"`
	name       string
}

// Call renders the package that spec.dependencies calls name, with input as its data. It is an error if that isn't declared,
// refuses the input or fails by itself: the error names the path of packages.
func Call(name string, input any) (*Called, error) {
	text, err := marshal(input)
	if err != nil {
		return nil, fmt.Errorf("can't write the input of %s: %w", name, err)
	}
	called := &Called{name: name}
	if err := ask(map[string]any{"op": "package.call", "package": name, "input": json.RawMessage(text)}, called); err != nil {
		return nil, err
	}
	return called, nil
}

// Exports reads the exports into the caller's own type. In values without a type, numbers are json.Number, with all their digits.
func (c *Called) Exports(exports any) error {
	if err := unmarshal(c.RawExports, exports); err != nil {
		return fmt.Errorf("the exports of %s don't fit: %w", c.name, err)
	}
	return nil
}

// Paths are those of all files, sorted.
func (c *Called) Paths() []string { return slices.Sorted(maps.Keys(c.Files)) }
