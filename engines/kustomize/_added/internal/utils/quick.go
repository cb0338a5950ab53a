// Most resources never had another name. This function takes the place of kustomize's (../../../stage.sh).

package utils

import (
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// PrevIds is PrevIdsOfKustomize.
func PrevIds(n *yaml.RNode) ([]resid.ResId, error) {
	if meta, certain := field(n.YNode(), yaml.MetadataField); certain {
		if annotations, certain := field(meta, yaml.AnnotationsField); certain {
			if names, certain := field(annotations, BuildAnnotationPreviousNames); certain && names == nil {
				return nil, nil
			}
		}
	}
	return PrevIdsOfKustomize(n)
}

// field is the value of a field, if there is one; false: it isn't certain what kustomize takes for it.
func field(node *yaml.Node, name string) (*yaml.Node, bool) {
	if node == nil {
		return nil, true
	}
	if node.Kind != yaml.MappingNode {
		return nil, false
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if key := node.Content[i]; key != nil && key.Value == name {
			return node.Content[i+1], true
		}
	}
	return nil, true
}
