//go:build !wasip1

package main

import (
	"fmt"
	"os"
)

// The engine as a program of this machine, for experiments: `openpgp DIRECTORY <INPUT`.
func main() {
	if err := generate(os.Stdin, os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
