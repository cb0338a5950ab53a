// cosign (https://docs.sigstore.dev/cosign/) as it is released, without the key services of four clouds, which its own main program
// brings along.
package main

import (
	"fmt"
	"os"

	"github.com/sigstore/cosign/v3/cmd/cosign/cli"
)

func main() {
	if err := cli.New().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
