package util

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What Mistletoe adds to Helm's schema validation (../../../../../helm.patch has the places that call it).

// schemas keeps what was compiled, by its text.
var schemas = map[string]*jsonschema.Schema{}

func compiledSchema(text []byte) (*jsonschema.Schema, error) {
	if schema, known := schemas[string(text)]; known {
		return schema, nil
	}
	schema, err := compileSchema(text)
	if err == nil {
		schemas[string(text)] = schema
	}
	return schema, err
}

// noNetwork stands where Helm fetches a schema that another names.
type noNetwork struct{}

func (noNetwork) Load(url string) (any, error) {
	return nil, fmt.Errorf("a package can't fetch %s: it has no network; copy that schema into values.schema.json", url)
}
