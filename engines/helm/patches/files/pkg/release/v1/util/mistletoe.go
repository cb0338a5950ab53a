package util

import (
	"fmt"
	"math"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// What Mistletoe adds to Helm's sorting (../../../../../helm.patch has the places that call it).

// ManifestKey is the key of the nth manifest in what SplitManifests returns, from 0.
func ManifestKey(n int) string { return fmt.Sprintf("manifest-%d", n) }

// KnowsHooks says whether every event of that annotation is one of Helm's.
func KnowsHooks(annotation string) bool {
	for hook := range strings.SplitSeq(annotation, ",") {
		if _, known := events[strings.ToLower(strings.TrimSpace(hook))]; !known {
			return false
		}
	}
	return true
}

// splitDocuments does what splitting at the regular expression `(?m)^---[ \t]*` does, without walking over every rune.
func splitDocuments(text string) []string {
	var documents []string
	begin := 0
	for at := 0; at >= 0 && at < len(text); {
		if strings.HasPrefix(text[at:], "---") {
			documents = append(documents, text[begin:at])
			begin = at + len("---")
			for begin < len(text) && (text[begin] == ' ' || text[begin] == '\t') {
				begin++
			}
			at = begin
		}
		next := strings.Index(text[at:], "\n---")
		if next < 0 {
			break
		}
		at += next + 1
	}
	return append(documents, text[begin:])
}

// readHead is yaml.Unmarshal into a head, without writing the whole document as JSON and reading that again, and mostly
// without making values of it; whatever is unusual still goes that way, errors included.
func readHead(text string, head *SimpleHead) error {
	if quickHead(text, head) {
		return nil
	}
	*head = SimpleHead{}
	var read any
	if goyaml.Unmarshal([]byte(text), &read) == nil {
		if object, ok := read.(map[any]any); ok && isJSON(object) && fillHead(object, head) {
			return nil
		}
		*head = SimpleHead{}
	}
	return yaml.Unmarshal([]byte(text), head)
}

// isJSON says whether the value can be written as JSON.
func isJSON(value any) bool {
	switch v := value.(type) {
	case map[any]any:
		for key, member := range v {
			switch key.(type) {
			case string, int, bool:
			default:
				return false
			}
			if !isJSON(member) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(element any) bool { return !isJSON(element) })
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return true
}

// fillHead returns false if a member isn't of the type that it should be, or its name not written as it should be.
func fillHead(object map[any]any, head *SimpleHead) bool {
	for key, value := range object {
		name, _ := key.(string)
		switch {
		case name == "apiVersion" || name == "kind":
			text, ok := value.(string)
			if !ok {
				return false
			}
			if name == "kind" {
				head.Kind = text
			} else {
				head.Version = text
			}
		case name == "metadata":
			metadata, ok := value.(map[any]any)
			if !ok || !fillMetadata(metadata, head) {
				return false
			}
		case strings.EqualFold(name, "apiVersion"), strings.EqualFold(name, "kind"), strings.EqualFold(name, "metadata"):
			return false
		}
	}
	return true
}

func fillMetadata(metadata map[any]any, head *SimpleHead) bool {
	head.Metadata = &struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	}{}
	for key, value := range metadata {
		name, _ := key.(string)
		switch {
		case name == "name":
			text, ok := value.(string)
			if !ok {
				return false
			}
			head.Metadata.Name = text
		case name == "annotations":
			annotations, ok := value.(map[any]any)
			if !ok {
				return false
			}
			head.Metadata.Annotations = make(map[string]string, len(annotations))
			for key, value := range annotations {
				annotation, isName := key.(string)
				text, isText := value.(string)
				if !isName || !isText {
					return false
				}
				head.Metadata.Annotations[annotation] = text
			}
		case strings.EqualFold(name, "name"), strings.EqualFold(name, "annotations"):
			return false
		}
	}
	return true
}
