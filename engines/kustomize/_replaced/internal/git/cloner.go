// Takes the place of kustomize's file of this name (see ../../../README.md): nothing is cloned. The host has fetched the
// repository, or will when the build has said that it is missing; engine/remotes.go has the other half.

package git

import (
	"net/url"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Cloner gets the files of a repository.
type Cloner func(repoSpec *RepoSpec) error

// ClonerUsingGitExec, as the rest of kustomize calls it, says where the host puts the files.
func ClonerUsingGitExec(spec *RepoSpec) error {
	key := spec.CloneSpec() + "?" + url.Values{"path": {spec.KustRootPath}, "ref": {spec.Ref}}.Encode()
	spec.Dir = filesys.ConfirmedDir("/remote/" + url.PathEscape(key))
	return nil
}
