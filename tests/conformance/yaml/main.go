// Command yaml writes the corpus that src/encoding's YAML reader and writer are compared with: one JSON object a
// line, what sigs.k8s.io/yaml makes of an input. See README.md.
//
//	go run . > corpus.jsonl          writes the corpus
//	go run . check < printed.jsonl   reads what our writer printed, and fails if Go reads something else
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// record is one line of the corpus.
type record struct {
	Input  string          `json:"in,omitempty"`
	Bytes  string          `json:"in64,omitempty"`  // for what isn't UTF-8
	Result json.RawMessage `json:"json,omitempty"`  // YAMLToJSON's answer
	Error  string          `json:"error,omitempty"` // or its error
	// Only where YAMLToJSONStrict differs.
	StrictError string `json:"strict,omitempty"`
	// Two keys become the same text, so that Go's answer depends on its map order.
	Undefined bool `json:"undefined,omitempty"`
	// The stream holds more than one document; Go reads the first alone.
	More bool `json:"more,omitempty"`
	// JSONToYAML's text for Result; "=": the input itself.
	Printed string `json:"yaml,omitempty"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "check" {
		check()
		return
	}
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	seen := map[string]bool{}
	emit := func(input string, printed bool) {
		if seen[input] {
			return
		}
		seen[input] = true
		if err := encoder.Encode(answer(input, printed)); err != nil {
			fail(err)
		}
	}
	for _, input := range handMade() {
		emit(input, true)
	}
	for _, input := range special() {
		emit(input, false)
	}
	for _, input := range combinations() {
		emit(input, false)
	}
	for _, value := range printable() {
		// It reads the JSON as YAML and so refuses some (DEL, keys longer than 1024 bytes).
		if text, err := yaml.JSONToYAML(value); err == nil {
			emit(string(text), true)
		}
	}
	if err := out.Flush(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func answer(input string, printed bool) (r record) {
	if utf8.ValidString(input) {
		r.Input = input
	} else {
		r.Bytes = base64.StdEncoding.EncodeToString([]byte(input))
	}
	defer func() {
		// go-yaml panics for some inputs that it can't parse.
		if p := recover(); p != nil {
			r.Result, r.Error = nil, fmt.Sprint("panic: ", p)
		}
	}()
	result, err := yaml.YAMLToJSON([]byte(input))
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Result = unescapeHTML(result)
	if _, err := yaml.YAMLToJSONStrict([]byte(input)); err != nil {
		r.StrictError = err.Error()
	}
	r.Undefined = collides([]byte(input))
	r.More = documents([]byte(input)) > 1
	if printed {
		text, err := yaml.JSONToYAML(result)
		switch {
		case err != nil: // a control character in the JSON
		case string(text) == input:
			r.Printed = "="
		default:
			r.Printed = string(text)
		}
	}
	return r
}

// unescapeHTML undoes json.Marshal's \u003c and the like; corpus and our writer leave them as they are.
func unescapeHTML(text []byte) json.RawMessage {
	for from, to := range map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"} {
		text = bytes.ReplaceAll(text, []byte(from), []byte(to))
	}
	return text
}

// collides reports whether some mapping has two keys that become the same text.
func collides(input []byte) bool {
	var tree any
	if err := goyaml.Unmarshal(input, &tree); err != nil {
		return false
	}
	var walk func(any) bool
	walk = func(node any) bool {
		switch n := node.(type) {
		case []any:
			for _, item := range n {
				if walk(item) {
					return true
				}
			}
		case map[any]any:
			names := map[string]bool{}
			for key, value := range n {
				name, err := yaml.YAMLToJSON(must(goyaml.Marshal(map[any]any{key: 0})))
				if err != nil || names[string(name)] || walk(value) {
					return true
				}
				names[string(name)] = true
			}
		}
		return false
	}
	return walk(tree)
}

func must(text []byte, err error) []byte {
	if err != nil {
		fail(err)
	}
	return text
}

// documents counts those with content; what can't be parsed counts.
func documents(input []byte) int {
	decoder := goyaml.NewDecoder(bytes.NewReader(input))
	count := 0
	for {
		var tree any
		err := decoder.Decode(&tree)
		if err != nil && err.Error() == "EOF" {
			return count
		}
		count++
		if err != nil {
			return count + 1
		}
	}
}

// check reads {"yaml": text, "json": value} lines and compares.
func check() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	count, wrong := 0, 0
	for lines.Scan() {
		var line struct {
			YAML string          `json:"yaml"`
			JSON json.RawMessage `json:"json"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			fail(err)
		}
		count++
		got, err := yaml.YAMLToJSONStrict([]byte(line.YAML))
		if err == nil {
			var want any
			decoder := json.NewDecoder(bytes.NewReader(line.JSON))
			decoder.UseNumber()
			if err = decoder.Decode(&want); err == nil && !bytes.Equal(must(json.Marshal(want)), got) {
				err = fmt.Errorf("Go reads %s, not %s", got, line.JSON)
			}
		}
		if err != nil {
			wrong++
			fmt.Fprintf(os.Stderr, "%v\n  from %q\n", err, line.YAML)
		}
	}
	fmt.Printf("%d documents read by Go, %d differ\n", count, wrong)
	if wrong != 0 || count == 0 {
		os.Exit(1)
	}
}
