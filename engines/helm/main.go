// Program helm is the engine of Helm charts: a guest that renders the chart below /package exactly as `helm template`
// does, with Helm's own library. README.md tells how it is put together.
//
// This file is what the host calls; the rest is what Helm does between loading a chart and printing its manifests.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	_ "time/tzdata" // dateInZone: the sandbox has no files of zones
)

// packageRoot is where the host shows the chart.
const packageRoot = "/package"

// prepare does everything that needs no input, so that it can be kept in a snapshot: with a chart at /package, that is
// loading it too, and rendering it once with its own values.
func prepare() {
	log.hold()
	wakeCollector()
	warmUp()
	baked = bake(root())
	log.drop()
	settleMemory()
}

// generate reads one MistInput and writes one MistResult. A failure, and a panic too, is a result.
func generate(in io.Reader, out io.Writer) error {
	answer := answerTo(in)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document{APIVersion: "mistletoe.dev/v1", Kind: "MistResult", Data: answer})
}

func answerTo(in io.Reader) (answer result) {
	defer func() {
		if cause := recover(); cause != nil {
			message := fmt.Sprintf("the Helm engine failed: %v; this is a bug of the engine, please report it", cause)
			log.Write(debug.Stack())
			answer = result{Result: "Err", Message: message}
		}
	}()
	input, err := readInput(in)
	if err != nil {
		return result{Result: "Err", Message: err.Error()}
	}
	if input.Engine.Options.Inspect {
		return inspect(input)
	}
	return render(input)
}

// document is the envelope of what is written.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Data       result `json:"data"`
}

// result is the MistResult's data.
type result struct {
	Result  string            `json:"result"` // Ok or Err
	Files   map[string]string `json:"files,omitempty"`
	Origins map[string]origin `json:"origins,omitempty"` // of those files
	Message string            `json:"message,omitempty"`
	Print   *string           `json:"print,omitempty"`
	Where   *where            `json:"where,omitempty"`
	Package *packageInfo      `json:"package,omitempty"`
	Unknown []unknownValue    `json:"unknown,omitempty"` // values that nobody reads
	Refused []refusedValues   `json:"refused,omitempty"` // of an Err: values that don't fit a schema
}
