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
	"io"
	"math"
	"os"
	"strconv"
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
	// All documents, null ones left out, if the stream has more than one: Go reads the first alone.
	Documents []json.RawMessage `json:"documents,omitempty"`
	// What follows the first document can't be read.
	Broken bool `json:"broken,omitempty"`
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
	r.Documents, r.Broken = documents([]byte(input))
	if printed {
		text, err := yaml.JSONToYAML(result)
		again, _ := yaml.YAMLToJSON(text)
		switch {
		case err != nil: // a control character in the JSON
		case !bytes.Equal(again, result): // the key "<<", which it writes without quotes
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
				name := keyText(key)
				if names[name] || walk(value) {
					return true
				}
				names[name] = true
			}
		}
		return false
	}
	return walk(tree)
}

// keyText is how the library makes text of a key.
func keyText(key any) string {
	if number, ok := key.(float64); ok {
		text := strconv.FormatFloat(number, 'g', -1, 32)
		if short, ok := map[string]string{"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}[text]; ok {
			return short
		}
		return text
	}
	return fmt.Sprint(key)
}

func must(text []byte, err error) []byte {
	if err != nil {
		fail(err)
	}
	return text
}

// jsonable does what the library does between its YAML reader and its JSON writer, which it doesn't export.
func jsonable(node any) any {
	switch n := node.(type) {
	case []any:
		list := make([]any, len(n))
		for i, item := range n {
			list[i] = jsonable(item)
		}
		return list
	case map[any]any:
		object := map[string]any{}
		for key, value := range n {
			switch key.(type) {
			case nil, uint64:
				return math.NaN() // which json.Marshal refuses as the library refuses these keys
			}
			object[keyText(key)] = jsonable(value)
		}
		return object
	}
	return node
}

// documents reads a whole stream: nil if it has one document or none.
func documents(input []byte) (results []json.RawMessage, broken bool) {
	decoder := goyaml.NewDecoder(bytes.NewReader(input))
	for count := 0; ; count++ {
		var tree any
		err := decoder.Decode(&tree)
		if err == io.EOF && count <= 1 {
			return nil, false
		}
		if err == io.EOF {
			return results, false
		}
		var result []byte
		if err == nil {
			result, err = json.Marshal(jsonable(tree))
		}
		if err != nil {
			return nil, true
		}
		if tree != nil {
			results = append(results, unescapeHTML(result))
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
