package mistletoe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// decode reads the values into the package's own type. Numbers of values without a type keep their digits.
func decode(data []byte, inputs any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err := decoder.Decode(inputs)
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
