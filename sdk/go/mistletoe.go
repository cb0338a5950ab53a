// Package mistletoe is for writing Kubernetes packages in Go: one function from typed inputs to Kubernetes objects, compiled
// to WebAssembly.
//
//	type Inputs struct {
//		Name     string `json:"name" doc:"The name of the release and its objects"`
//		Replicas int    `json:"replicas" doc:"How many Pods serve" minimum:"0" default:"2"`
//	}
//
//	func generate(in Inputs) (*mistletoe.Output, error) {
//		return mistletoe.NewOutput().WithObject("web.yaml", deployment(in)), nil
//	}
//
//	func main() { mistletoe.Run(generate) }
//
// The host checks the inputs against the schema, which comes from the struct ([Schema]), and puts the defaults in before the
// program sees them. Same input, same bytes: a package has no network and no files, its clock stands still, and its random
// bytes come from the release's seed.
package mistletoe

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

const apiVersion = "mistletoe.dev/v1"

// Context is what a host tells a package about its surroundings.
type Context struct {
	// Release is what is being rendered.
	Release Release `json:"release"`
	// Capabilities are those of the cluster.
	Capabilities Capabilities `json:"capabilities"`
}

// Release is what a package is rendered for.
type Release struct {
	// Name is that of the whole release; of a called package, the input "name" is its own.
	Name string `json:"name"`
	// Namespace is where objects without one go.
	Namespace string `json:"namespace"`
	// Revision and IsUpgrade are there only for packages whose metadata says needs.release.
	Revision  *int  `json:"revision"`
	IsUpgrade *bool `json:"isUpgrade"`
}

// Capabilities is what a cluster can do.
type Capabilities struct {
	// KubeVersion is that of the API server, for example "v1.36.1".
	KubeVersion string `json:"kubeVersion"`
	// APIVersions are the group-versions that it serves, for example "apps/v1".
	APIVersions []string `json:"apiVersions"`
}

// Run is all that main does: it reads the input document from standard input, calls generate, and prints the result document.
// An error of generate becomes the error of the render.
func Run[I any](generate func(I) (*Output, error)) {
	RunWithContext(func(in I, _ Context) (*Output, error) { return generate(in) })
}

// RunWithContext is [Run] for packages that want to know their release or the cluster.
func RunWithContext[I any](generate func(I, Context) (*Output, error)) {
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		_, err = os.Stdout.Write(respond(generate, text))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// respond gives the document that answers another: the result of a render, or what the package says of itself.
func respond[I any](generate func(I, Context) (*Output, error), text []byte) []byte {
	var asked struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(text, &asked) == nil && asked.Kind == "MistDescribe" {
		return description[I]()
	}
	output, err := render(generate, text)
	return resultDocument(output, err)
}

// Render renders a package as a host would, from an input document as JSON; meant for the package's own tests.
func Render[I any](generate func(I) (*Output, error), document string) (*Output, error) {
	return render(func(in I, _ Context) (*Output, error) { return generate(in) }, []byte(document))
}

func render[I any](generate func(I, Context) (*Output, error), text []byte) (*Output, error) {
	var document struct {
		Kind string          `json:"kind"`
		Data json.RawMessage `json:"data"`
		Context
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("the input document can't be read: %w", err)
	}
	if document.Kind != "MistInput" {
		return nil, fmt.Errorf("the input document has kind `%s`, expected `MistInput`", document.Kind)
	}
	var inputs I
	if err := decode(document.Data, &inputs); err != nil {
		return nil, err
	}
	output, err := generate(inputs, document.Context)
	if err != nil {
		return nil, err
	}
	if output == nil {
		output = NewOutput()
	}
	return output, output.err
}
