package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// input is a MistInput as the host writes it.
type input struct {
	APIVersion   string          `json:"apiVersion"`
	Kind         string          `json:"kind"`
	Data         json.RawMessage `json:"data"` // the user's values
	Release      releaseInfo     `json:"release"`
	Capabilities *capabilities   `json:"capabilities"` // absent: nobody knows, so Helm's defaults
	Engine       engineInput     `json:"engine"`

	values map[string]any // Data, decoded
}

type releaseInfo struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Revision  int    `json:"revision"` // 0 is 1
	IsUpgrade bool   `json:"isUpgrade"`
}

type capabilities struct {
	KubeVersion string   `json:"kubeVersion"`
	APIVersions []string `json:"apiVersions"`
}

type engineInput struct {
	Name    string  `json:"name"`
	Options options `json:"options"`
}

// options are the flags of `helm template`, and ours.
type options struct {
	Inspect              bool     `json:"inspect"`              // describe the chart, render nothing
	Print                bool     `json:"print"`                // what `helm template` prints
	IncludeCRDs          bool     `json:"includeCrds"`          // print the CRDs of crds/ too
	SkipCRDs             bool     `json:"skipCrds"`             // no CRDs of crds/ among the files
	SkipTests            bool     `json:"skipTests"`            // don't print test hooks
	NoHooks              bool     `json:"noHooks"`              // don't print hooks at all
	NameTemplate         string   `json:"nameTemplate"`         // gives the release's name
	ShowOnly             []string `json:"showOnly"`             // nothing but these templates
	IsUpgrade            bool     `json:"isUpgrade"`            // .Release.IsUpgrade
	KubeVersion          string   `json:"kubeVersion"`          // .Capabilities.KubeVersion
	APIVersions          []string `json:"apiVersions"`          // more .Capabilities.APIVersions
	SkipSchemaValidation bool     `json:"skipSchemaValidation"` // don't look at values.schema.json
	RenderSubchartNotes  bool     `json:"renderSubchartNotes"`  // the subcharts' NOTES.txt too
	Lookup               string   `json:"lookup"`               // "empty": answer nothing; else ask the host
	Random               string   `json:"random"`               // "native": one stream; else one for each template
}

func readInput(in io.Reader) (*input, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("the input can't be read: %w", err)
	}
	i := &input{}
	if err := json.Unmarshal(text, i); err != nil {
		return nil, fmt.Errorf("the input is not a MistInput: %w", err)
	}
	if i.APIVersion != "mistletoe.dev/v1" || i.Kind != "MistInput" {
		return nil, fmt.Errorf("the input is a %q of %q; the Helm engine reads a MistInput of mistletoe.dev/v1",
			i.Kind, i.APIVersion)
	}
	if len(i.Data) > 0 && !bytes.Equal(i.Data, []byte("null")) {
		if i.values, err = decodeObject(i.Data); err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
	}
	if i.values == nil {
		i.values = map[string]any{}
	}
	if i.Release.Revision == 0 {
		i.Release.Revision = 1
	}
	i.Release.IsUpgrade = i.Release.IsUpgrade || i.Engine.Options.IsUpgrade
	return i, nil
}

// decodeObject reads a JSON object. A number without point and exponent is an int64, as `--set` and Kubernetes' own
// decoder have it; any other is a float64, as everything that came from a values file.
func decodeObject(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	for key, value := range object {
		object[key] = withNumbers(value)
	}
	return object, nil
}

func withNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if !strings.ContainsAny(string(v), ".eE") {
			if integer, err := v.Int64(); err == nil {
				return integer
			}
		}
		float, _ := v.Float64() // out of range is infinite, as strconv says
		return float
	case map[string]any:
		for key, member := range v {
			v[key] = withNumbers(member)
		}
	case []any:
		for i, element := range v {
			v[i] = withNumbers(element)
		}
	}
	return value
}
