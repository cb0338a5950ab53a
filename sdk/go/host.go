package mistletoe

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ask makes a request of the host and reads its answer; an error has the host's own words.
func ask(request map[string]any, answer any) error {
	text, err := marshal(request)
	if err != nil {
		return err
	}
	var envelope struct {
		OK    json.RawMessage `json:"ok"`
		Error *struct {
			Message string `json:"message"`
			Hint    string `json:"hint"`
		} `json:"error"`
	}
	if err := json.Unmarshal(exchange(text), &envelope); err != nil {
		return fmt.Errorf("the host's answer can't be read: %w", err)
	}
	switch {
	case envelope.OK != nil:
		return decodeAnswer(envelope.OK, answer)
	case envelope.Error == nil || envelope.Error.Message == "":
		return errors.New("the host gave no answer")
	case envelope.Error.Hint != "":
		return fmt.Errorf("%s (%s)", envelope.Error.Message, envelope.Error.Hint)
	default:
		return errors.New(envelope.Error.Message)
	}
}

func decodeAnswer(text []byte, answer any) error {
	if answer == nil {
		return nil
	}
	if err := unmarshal(text, answer); err != nil {
		return fmt.Errorf("the host's answer can't be read: %w", err)
	}
	return nil
}
