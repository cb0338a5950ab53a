// flux-pull reads an artifact with the OCI client of Flux, unpacks it into a directory, as its controllers do, and
// prints the artifact's metadata as JSON.
//
//	flux-pull HOST/PATH:TAG DIRECTORY
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/oci"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: flux-pull HOST/PATH:TAG DIRECTORY")
		os.Exit(2)
	}
	client := oci.NewClient(oci.DefaultOptions())
	metadata, err := client.Pull(context.Background(), os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(metadata); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
