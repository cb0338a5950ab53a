// crane as go-containerregistry has it (https://github.com/google/go-containerregistry/tree/main/cmd/crane), which
// bench/registries.py measures mistctl beside. It is built from here, so that its version is that of go.mod.
package main

import (
	"os"

	"github.com/google/go-containerregistry/cmd/crane/cmd"
	"github.com/google/go-containerregistry/pkg/logs"
)

func main() {
	logs.Warn.SetOutput(os.Stderr)
	if err := cmd.Root.Execute(); err != nil {
		os.Exit(1)
	}
}
