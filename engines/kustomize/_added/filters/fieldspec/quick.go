// A transformer looks for each of its field specs in each resource, and most have none of them. This method takes the place of
// kustomize's (../../../stage.sh).

package fieldspec

import "sigs.k8s.io/kustomize/kyaml/yaml"

func (fltr Filter) handleMap(obj *yaml.RNode) error {
	name, isSequence := isSequenceField(fltr.path[0])
	creates := fltr.FieldSpec.CreateIfNotPresent && fltr.CreateKind != 0 && !isSequence
	if !creates && isPlain(name) && !hasField(obj.YNode(), name) {
		return nil
	}
	return fltr.handleMapOfKustomize(obj)
}

// isPlain says whether a part of a path is nothing but the name of a field.
func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return name != ""
}

func hasField(node *yaml.Node, name string) bool {
	if node.Kind != yaml.MappingNode {
		return true
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if key := node.Content[i]; key != nil && key.Value == name {
			return true
		}
	}
	return false
}
