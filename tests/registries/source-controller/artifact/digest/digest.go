// Package digest chooses the algorithm by which source-controller identifies artifacts.
package digest

import (
	"fmt"

	"github.com/opencontainers/go-digest"
)

// Canonical is the algorithm in use; source-controller sets it once, before it starts any controller.
var Canonical = digest.SHA256

// AlgorithmForName returns the algorithm of this name, if this program can compute it.
func AlgorithmForName(name string) (digest.Algorithm, error) {
	if algorithm := digest.Algorithm(name); algorithm.Available() {
		return algorithm, nil
	}
	return "", fmt.Errorf("no digest algorithm is named %q", name)
}
