package mistletoe

import (
	"encoding/json"
	"fmt"
)

// Lookup reads an object of the cluster into object, whose fields are those of the kind; false if there is none of that name. In
// values without a type, numbers are json.Number, with all their digits.
// namespace is empty for kinds that have none. The package may read the objects of its own release, and those that
// spec.needs.clusterRead of mistletoe.yaml declares and its user grants with --allow-lookup; any other object is an error, and
// the render fails whatever the package does with it. Without a cluster, in `mistctl generate` and in tests, there is none.
func Lookup(apiVersion, kind, namespace, name string, object any) (bool, error) {
	if name == "" {
		return false, fmt.Errorf("lookup of a %s needs a name; LookupAll gives all of them", kind)
	}
	var answer json.RawMessage
	if err := lookUp(apiVersion, kind, namespace, name, &answer); err != nil || string(answer) == "null" {
		return false, err
	}
	return true, decodeAnswer(answer, object)
}

// LookupAll reads all objects of a kind in the namespace, or everywhere if it is empty, into objects, a pointer to a slice. It
// fails as [Lookup] does.
func LookupAll(apiVersion, kind, namespace string, objects any) error {
	var answer struct {
		Items json.RawMessage `json:"items"`
	}
	if err := lookUp(apiVersion, kind, namespace, "", &answer); err != nil {
		return err
	}
	return decodeAnswer(answer.Items, objects)
}

func lookUp(apiVersion, kind, namespace, name string, answer any) error {
	return ask(map[string]any{"op": "lookup", "apiVersion": apiVersion, "kind": kind, "namespace": namespace, "name": name}, answer)
}
