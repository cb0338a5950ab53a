//go:build !wasip1

package mistletoe

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
)

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// exchange takes a host's place in a package's own tests: it gives secrets of the right form, which depend on their names
// alone, has no objects to look up, and refuses everything else.
func exchange(text []byte) []byte {
	var request struct {
		Op, Name, Kind, Alphabet, Level, Message string
		Length                                   int
	}
	if err := json.Unmarshal(text, &request); err != nil {
		return refusal("the request can't be read")
	}
	switch request.Op {
	case "log":
		fmt.Fprintf(os.Stderr, "%s: %s\n", request.Level, request.Message)
		return []byte(`{"ok":{}}`)
	case "lookup":
		if request.Name == "" {
			return []byte(`{"ok":{"items":[]}}`)
		}
		return []byte(`{"ok":null}`)
	case "secret.get":
	default:
		return refusal("there is no host here that could answer that")
	}
	length := func(otherwise int) int {
		if request.Length > 0 {
			return request.Length
		}
		return otherwise
	}
	switch request.Kind {
	case "password":
		alphabet := request.Alphabet
		if alphabet == "" {
			alphabet = letters
		}
		return secretAnswer(characters(request.Name, alphabet, length(24)))
	case "alphanumeric":
		return secretAnswer(characters(request.Name, letters, length(32)))
	case "hex":
		return secretAnswer(characters(request.Name, "0123456789abcdef", length(64)))
	case "base64":
		whole := (length(32) + 2) / 3 * 4
		padding := whole*3/4 - length(32)
		digits := characters(request.Name, "ABCDEFGH", whole)
		if padding > 0 {
			digits = digits[:whole-padding-1] + "A" + strings.Repeat("=", padding)
		}
		return secretAnswer(digits)
	case "uuid":
		d := characters(request.Name, "0123456789abcdef", 32)
		return secretAnswer(d[:8] + "-" + d[8:12] + "-4" + d[13:16] + "-8" + d[17:20] + "-" + d[20:])
	default:
		return refusal("there is no host here that could give a secret of kind " + request.Kind)
	}
}

func characters(name, alphabet string, length int) string {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	state := hash.Sum64() | 1
	var text strings.Builder
	for range length {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17 // xorshift64
		text.WriteByte(alphabet[state%uint64(len(alphabet))])
	}
	return text.String()
}

func secretAnswer(value string) []byte {
	return []byte(`{"ok":{"value":` + quoted(value) + `}}`)
}

func refusal(message string) []byte {
	return []byte(`{"error":{"kind":"Invalid","message":` + quoted(message) + `}}`)
}
