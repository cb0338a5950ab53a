// Takes the place of kustomize's file of this name (see ../../../README.md): nothing is cloned. The host has fetched the
// repository, or will when the build has said that it is missing; engine/remotes.go has the other half.

package git

import (
	"sigs.k8s.io/kustomize/api/clones"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Cloner gets the files of a repository.
type Cloner func(repoSpec *RepoSpec) error

// ClonerUsingGitExec, as the rest of kustomize calls it, says where the host puts the files.
func ClonerUsingGitExec(spec *RepoSpec) error {
	clone := clones.Clone{
		Repo: spec.CloneSpec(), Ref: spec.Ref, Path: spec.KustRootPath, NoSubmodules: !spec.Submodules,
	}
	// kustomize's own is for a user who waits at a terminal; the host has its own too.
	if spec.Timeout != defaultTimeout {
		clone.TimeoutMs = max(spec.Timeout.Milliseconds(), 1)
	}
	spec.Dir = filesys.ConfirmedDir(clones.Mount + "/" + clone.Key())
	return nil
}
