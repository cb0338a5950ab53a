// What a build of many resources does most, done with less: kustomize looks a resource's identity up for each reference to
// each other resource, and prints each by way of YAML, JSON and YAML again. These functions take the place of kustomize's
// (../../stage.sh) and give the same; whatever is unusual goes kustomize's way.

package resource

import (
	"strings"

	"sigs.k8s.io/kustomize/api/internal/fastyaml"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// CurId reads the fields of the identity in one pass. Of a field that stands there twice the first counts.
func (r *Resource) CurId() resid.ResId {
	node := r.YNode()
	if node == nil || node.Kind != yaml.MappingNode {
		return r.CurIdOfKustomize()
	}
	var apiVersion, kind, meta *yaml.Node
	for i := 0; i+1 < len(node.Content) && (apiVersion == nil || kind == nil || meta == nil); i += 2 {
		switch value := node.Content[i+1]; node.Content[i].Value {
		case yaml.APIVersionField:
			apiVersion = first(apiVersion, value)
		case yaml.KindField:
			kind = first(kind, value)
		case yaml.MetadataField:
			meta = first(meta, value)
		}
	}
	name, namespace := nameAndNamespace(meta)
	group, version := resid.ParseGroupVersion(scalar(apiVersion))
	return resid.NewResIdWithNamespace(resid.NewGvk(group, version, scalar(kind)), name, namespace)
}

// IsNamed says whether the resource may have that name; false: it has another one.
func (r *Resource) IsNamed(name string) bool {
	node := r.YNode()
	if node == nil || node.Kind != yaml.MappingNode {
		return true
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == yaml.MetadataField {
			own, _ := nameAndNamespace(node.Content[i+1])
			return own == name
		}
	}
	return true
}

func nameAndNamespace(meta *yaml.Node) (string, string) {
	if yaml.IsYNodeNilOrEmpty(meta) {
		return "", ""
	}
	var name, namespace *yaml.Node
	for i := 0; i+1 < len(meta.Content) && (name == nil || namespace == nil); i += 2 {
		switch value := meta.Content[i+1]; meta.Content[i].Value {
		case yaml.NameField:
			name = first(name, value)
		case yaml.NamespaceField:
			namespace = first(namespace, value)
		}
	}
	return text(name), text(namespace)
}

func first(found, next *yaml.Node) *yaml.Node {
	if found != nil {
		return found
	}
	return next
}

func scalar(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	return node.Value
}

func text(node *yaml.Node) string {
	if yaml.IsYNodeNilOrEmpty(node) {
		return ""
	}
	return node.Value
}

// AsYAML prints the values that the nodes stand for.
func (r *Resource) AsYAML() ([]byte, error) {
	if node := r.YNode(); node != nil && node.Kind == yaml.MappingNode {
		if value, ok := valueOf(node); ok {
			return fastyaml.Marshal(value)
		}
	}
	return r.AsYAMLOfKustomize()
}

// valueOf is what reading the node's text gives. False for what a reader refuses or resolves by rules of its own: aliases,
// merge keys, keys that are no strings or stand twice, dates, binaries, numbers that are written unlike themselves.
func valueOf(node *yaml.Node) (any, bool) {
	if node.Anchor != "" {
		return nil, false
	}
	switch node.Kind {
	case yaml.MappingNode:
		if tag := node.Tag; tag != "" && tag != yaml.NodeTagMap {
			return nil, false
		}
		members := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, ok := stringOf(node.Content[i])
			if _, again := members[key]; !ok || again || key == "<<" {
				return nil, false
			}
			if members[key], ok = valueOf(node.Content[i+1]); !ok {
				return nil, false
			}
		}
		return members, true
	case yaml.SequenceNode:
		if tag := node.Tag; tag != "" && tag != yaml.NodeTagSeq {
			return nil, false
		}
		elements := make([]any, len(node.Content))
		for i, element := range node.Content {
			value, ok := valueOf(element)
			if !ok {
				return nil, false
			}
			elements[i] = value
		}
		return elements, true
	case yaml.ScalarNode:
		return scalarOf(node)
	}
	return nil, false
}

func scalarOf(node *yaml.Node) (any, bool) {
	switch node.ShortTag() {
	case yaml.NodeTagString:
		return stringOf(node)
	case yaml.NodeTagNull:
		return nil, node.Value == "" || node.Value == "null" || node.Value == "~"
	case yaml.NodeTagBool, yaml.NodeTagInt, yaml.NodeTagFloat:
		var value any
		if err := node.Decode(&value); err != nil {
			return nil, false
		}
		return value, true
	}
	return nil, false
}

// stringOf leaves out what an emitter and a reader may see differently: characters that aren't printable, and texts of
// several lines that begin with white space.
func stringOf(node *yaml.Node) (string, bool) {
	if node.Kind != yaml.ScalarNode || node.Anchor != "" || node.ShortTag() != yaml.NodeTagString {
		return "", false
	}
	lines := false
	for i := range len(node.Value) {
		switch c := node.Value[i]; {
		case c == '\n':
			lines = true
		case c < ' ' || c >= 0x7f:
			return "", false
		}
	}
	return node.Value, !lines || !strings.ContainsAny(node.Value[:1], " \n")
}
