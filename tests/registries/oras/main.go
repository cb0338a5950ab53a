// oras (https://oras.land) as it is released, which tests/e2e/test_oci_peers.py runs beside mistctl. It is built from here, so that
// its version is that of go.mod.
package main

import (
	"os"

	"oras.land/oras/cmd/oras/root"
)

func main() {
	if err := root.New().Execute(); err != nil {
		os.Exit(1)
	}
}
