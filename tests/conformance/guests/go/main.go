// The namespace package as an ABI v1 command in Go: JSON on standard input, a result document on standard output.
//
//	GOOS=wasip1 GOARCH=wasm go build
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type input struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Data       struct {
		Name string `json:"name"`
	} `json:"data"`
}

type result struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Data       resultData `json:"data"`
}

type resultData struct {
	Result  string            `json:"result"`
	Message string            `json:"message,omitempty"`
	Files   map[string]string `json:"files,omitempty"`
}

type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
}

func main() {
	data := resultData{Result: "Ok"}
	if files, err := generate(); err != nil {
		data = resultData{Result: "Err", Message: err.Error()}
	} else {
		data.Files = files
	}
	document := result{APIVersion: "mistletoe.dev/v1", Kind: "MistResult", Data: data}
	if err := json.NewEncoder(os.Stdout).Encode(document); err != nil {
		fmt.Fprintln(os.Stderr, "can't write the result document:", err)
		os.Exit(1)
	}
}

func generate() (map[string]string, error) {
	var document input
	if err := json.NewDecoder(os.Stdin).Decode(&document); err != nil {
		return nil, fmt.Errorf("can't read the input document: %w", err)
	}
	if document.Kind != "MistInput" || document.Data.Name == "" {
		return nil, fmt.Errorf("expected a MistInput document with data.name, found kind %q", document.Kind)
	}
	// JSON is YAML, so a file may be either.
	content, err := json.Marshal(object{
		APIVersion: "v1",
		Kind:       "Namespace",
		Metadata:   map[string]string{"name": document.Data.Name},
	})
	if err != nil {
		return nil, fmt.Errorf("can't write the Namespace: %w", err)
	}
	return map[string]string{"namespace.yaml": string(content)}, nil
}
