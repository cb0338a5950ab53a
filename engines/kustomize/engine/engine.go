// Package engine renders a Kustomize directory: files and an input document in, a result document out. It is the whole
// of the guest but for reading and writing, so that it is tested on any platform.
package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/kustomize/api/helmhost"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// The input document (kind MistInput), as far as this engine looks at it; its options: optionsOf.
type input struct {
	Data map[string]any `json:"data"`
}

// optionsFile is what the host adds to a package: options that belong to it, and are kept and moved with it.
const optionsFile = ".mistletoe/kustomize.json"

// optionsOf are the package's, and over them those of this run.
func optionsOf(tree *Tree, document []byte) (options, error) {
	var given struct {
		Engine struct {
			Options options `json:"options"`
		} `json:"engine"`
	}
	if text, ok := tree.file(optionsFile); ok {
		if err := json.Unmarshal(text, &given.Engine.Options); err != nil {
			return options{}, fmt.Errorf("%s can't be read: %w", optionsFile, err)
		}
	}
	if err := json.Unmarshal(document, &given); err != nil {
		return options{}, fmt.Errorf("the options of the engine can't be read: %w", err)
	}
	return given.Engine.Options, nil
}

type options struct {
	// The directory to build, below the package; empty: the package itself.
	Root string `json:"root"`
	// Where the host put the remote bases and files that an earlier run said are missing.
	Remotes []remote `json:"remotes"`
	// Print exactly what `kustomize build` prints, too.
	Print bool `json:"print"`
	// Tell what the package is and build nothing.
	Inspect bool `json:"inspect"`
	// The flags of `kustomize build` of these names, with its values; empty or false: not given.
	Reorder        krusty.ReorderOption `json:"reorder"`
	LoadRestrictor string               `json:"loadRestrictor"`
	ManagedbyLabel bool                 `json:"enableManagedbyLabel"`
	// What charts see of a cluster: --helm-kube-version, --helm-api-versions.
	KubeVersion string   `json:"kubeVersion"`
	APIVersions []string `json:"apiVersions"`
	// Charts that were rendered already.
	Charts []renderedChart `json:"charts"`
}

// kustomize gives the options that `kustomize build` gives the library.
func (o options) kustomize() *krusty.Options {
	of := krusty.MakeDefaultOptions()
	of.Reorder = krusty.ReorderOptionUnspecified
	if o.Reorder != "" {
		of.Reorder = o.Reorder
	}
	if o.LoadRestrictor == types.LoadRestrictionsNone.String() {
		of.LoadRestrictions = types.LoadRestrictionsNone
	}
	of.AddManagedbyLabel = o.ManagedbyLabel
	// The flag --enable-helm lets a kustomization run a program. Nothing runs here but charts in their sandbox.
	of.PluginConfig.HelmConfig = types.HelmConfig{
		Enabled: true, Command: "helm", KubeVersion: o.KubeVersion, ApiVersions: o.APIVersions}
	return of
}

type result struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Data       resultData `json:"data"`
}

type resultData struct {
	Result  string            `json:"result"`
	Message string            `json:"message,omitempty"`
	Where   *where            `json:"where,omitempty"`
	Files   map[string]string `json:"files,omitempty"`
	Print   *string           `json:"print,omitempty"`
	Missing []missing         `json:"missing,omitempty"`
	Package *packageInfo      `json:"package,omitempty"`
}

type packageInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Inputs      any    `json:"inputs"`
}

// outputFile is the one file of a result: all objects, in kustomize's order.
const outputFile = "kustomize.yaml"

// Generate renders. What it gives is a result document, whatever happens.
func Generate(tree *Tree, document []byte) []byte {
	data := generate(tree, document)
	out, err := json.Marshal(result{"mistletoe.dev/v1", "MistResult", data})
	if err != nil { // Only text and plain data are in there.
		panic(err)
	}
	return append(out, '\n')
}

func generate(tree *Tree, document []byte) (data resultData) {
	defer func() {
		if problem := recover(); problem != nil {
			data = failure(fmt.Sprintf("kustomize gave up unexpectedly: %v", problem), nil)
		}
	}()
	var in input
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	if err := decoder.Decode(&in); err != nil {
		return failure("the input document can't be read: "+err.Error(), nil)
	}
	options, err := optionsOf(tree, document)
	if err != nil {
		return failure(err.Error(), nil)
	}
	root, err := cleanRoot(options.Root)
	if err != nil {
		return failure(err.Error(), nil)
	}
	if options.Inspect {
		return inspect(root)
	}
	if refused := refuseValues(in.Data); refused != "" {
		return failure(refused, nil)
	}
	return build(tree, root, options)
}

// cleanRoot is "" for the package itself.
func cleanRoot(root string) (string, error) {
	clean := path.Clean("/" + root)[1:]
	if root != "" && path.Clean(root) != clean && path.Clean(root) != "." {
		return "", fmt.Errorf("the directory %q is not inside of the package", root)
	}
	return clean, nil
}

// A Kustomize directory has no parameters: a value that nothing looks at is a mistake, never to be passed over.
func refuseValues(data map[string]any) string {
	var names []string
	for name := range data {
		if name != "name" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	sort.Strings(names)
	return fmt.Sprintf("a Kustomize directory takes no values, but got %s. Write what shall differ into an overlay (a "+
		"kustomization.yaml with `resources: [this directory]` and patches, images or replicas) and install that",
		strings.Join(names, ", "))
}

// inspect gives a package the name of its directory; of one at the top only the host knows it.
func inspect(root string) resultData {
	info := &packageInfo{}
	if root != "" {
		info.Name = path.Base(root)
	}
	return resultData{Result: "Ok", Package: info}
}

func failure(message string, at *where) resultData {
	return resultData{Result: "Err", Message: message, Where: at}
}

func build(tree *Tree, root string, options options) resultData {
	missing := &missingRemotes{tree: tree}
	tree.missing = missing
	if err := tree.mountRemotes(options.Remotes); err != nil {
		return failure(err.Error(), nil)
	}
	network := http.DefaultTransport
	http.DefaultTransport = &remoteFiles{tree: tree, known: options.Remotes, missing: missing}
	defer func() { http.DefaultTransport = network }()
	helm := &charts{tree: tree, remotes: options.Remotes, rendered: options.Charts, missing: missing, archives: map[string]string{}}
	helmhost.Program = helm
	if tree.namesSchema() {
		// A schema of the package's own replaces the one that Prepare has read.
		openapi.ResetOpenAPI()
	}

	text, err := kustomize(tree, root, options)
	if found := missing.list(); len(found) > 0 {
		return resultData{Result: "Ok", Missing: found}
	}
	if err != nil {
		return explain(tree, root, err, helm.failure)
	}
	data := resultData{Result: "Ok", Files: map[string]string{outputFile: string(text)}}
	if options.Print {
		printed := string(text)
		data.Print = &printed
	}
	return data
}

// kustomize is `kustomize build`. What stands in for something missing may make it panic as well as fail.
func kustomize(tree *Tree, root string, options options) (text []byte, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("kustomize gave up unexpectedly: %v", problem)
		}
	}()
	resources, err := krusty.MakeKustomizer(options.kustomize()).Run(tree, path.Join(TreeMount, root))
	if err != nil {
		return nil, err
	}
	return resources.AsYaml()
}

// namesSchema says whether a kustomization of the package may have the field `openapi`.
func (t *Tree) namesSchema() bool {
	for name, content := range t.files {
		if slices.Contains(kustomizationNames, path.Base(name)) && bytes.Contains(content, []byte("openapi")) {
			return true
		}
	}
	return false
}

// Prepare does what every build needs: kustomize's parsers and the schema of Kubernetes' own kinds.
func Prepare() {
	tree := newTree()
	for name, content := range warmUp {
		tree.put(path.Join(TreeMount, name), []byte(content))
	}
	if _, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(tree, TreeMount); err != nil {
		panic(fmt.Sprintf("the engine's own build fails: %v", err))
	}
}

// A build that touches what most builds touch.
var warmUp = map[string]string{
	"kustomization.yaml": `
resources: [deployment.yaml]
namespace: warm
namePrefix: p-
labels: [{pairs: {l: v}, includeSelectors: true}]
images: [{name: i, newTag: "2"}]
replicas: [{name: d, count: 2}]
configMapGenerator: [{name: c, literals: [k=v]}]
patches:
- patch: |
    {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: {spec: {containers: [{name: c, env: [{name: e, value: v}]}]}}}}
- target: {kind: Deployment}
  patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]'
`,
	"deployment.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: "i:1", envFrom: [{configMapRef: {name: c}}]}]}
`,
}

var _ filesys.FileSystem = (*Tree)(nil)
