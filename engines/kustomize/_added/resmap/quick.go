// Adding a resource compares it with all that are there. This method takes the place of kustomize's (../../stage.sh).

package resmap

import "sigs.k8s.io/kustomize/api/resource"

// Append looks only at resources of the same name.
func (m *resWrangler) Append(res *resource.Resource) error {
	id := res.CurId()
	for _, other := range m.rList {
		if other.IsNamed(id.Name) && id.Equals(other.CurId()) {
			return m.AppendOfKustomize(res) // it says what is wrong
		}
	}
	m.append(res)
	return nil
}
