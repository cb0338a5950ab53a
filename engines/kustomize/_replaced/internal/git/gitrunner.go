// Takes the place of kustomize's file of this name (see ../../../README.md): this engine runs no git.

package git
