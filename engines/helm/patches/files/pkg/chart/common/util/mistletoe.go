package util

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// sortCauses puts what a validation found into the order of the places in the values; the validator keeps objects in Go
// maps, whose order changes from run to run.
func sortCauses(err error) {
	failure, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return
	}
	slices.SortStableFunc(failure.Causes, func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(slices.Compare(a.InstanceLocation, b.InstanceLocation), strings.Compare(a.SchemaURL, b.SchemaURL),
			slices.Compare(a.ErrorKind.KeywordPath(), b.ErrorKind.KeywordPath()))
	})
	for _, cause := range failure.Causes {
		sortCauses(cause)
	}
}
