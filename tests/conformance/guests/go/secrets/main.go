// Asks the host for secrets (ABI v1, module mistletoe_v1) and prints them as one Secret; the guests in C and Rust print
// the same bytes.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"unsafe"
)

//go:wasmimport mistletoe_v1 request
func hostRequest(address unsafe.Pointer, length uint32) uint32

//go:wasmimport mistletoe_v1 response
func hostResponse(address unsafe.Pointer)

// secret is a request to the host; members that are empty aren't sent.
type secret struct {
	Op       string   `json:"op"`
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Length   int      `json:"length,omitempty"`
	Alphabet string   `json:"alphabet,omitempty"`
	Require  []string `json:"require,omitempty"`
}

var secrets = []secret{
	{Name: "db", Kind: "password"},
	{Name: "strong", Kind: "password", Length: 12,
		Alphabet: "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!#%+-_",
		Require:  []string{"lower", "upper", "digit", "symbol"}},
	{Name: "token", Kind: "hex", Length: 40},
	{Name: "salt", Kind: "base64", Length: 16},
	{Name: "id", Kind: "uuid"},
	{Name: "key", Kind: "ed25519"},
}

func (s secret) get() (string, error) {
	s.Op = "secret.get"
	request, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	text := make([]byte, hostRequest(unsafe.Pointer(&request[0]), uint32(len(request))))
	hostResponse(unsafe.Pointer(&text[0]))
	var answer struct {
		OK    struct{ Value string }
		Error struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", err
	}
	if answer.OK.Value == "" {
		return "", fmt.Errorf("the host gave no secret %s: %s", s.Name, answer.Error.Message)
	}
	quoted, err := json.Marshal(answer.OK.Value)
	return string(quoted), err
}

func run() error {
	var input struct{ Data struct{ Name string } }
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		return fmt.Errorf("can't read the input document: %w", err)
	}
	text := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata:\n  name: %q\nstringData:\n", input.Data.Name)
	for _, s := range secrets {
		value, err := s.get()
		if err != nil {
			return err
		}
		text += fmt.Sprintf("  %s: %s\n", s.Name, value)
	}
	_, err := fmt.Print(text)
	return err
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
