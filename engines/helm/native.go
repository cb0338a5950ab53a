//go:build !wasip1

package main

import (
	"fmt"
	"os"
)

// The same engine as a program of the machine, for tests: it renders the chart at $MIST_PACKAGE, and has no host.
func main() {
	if err := os.Chdir("/"); err != nil {
		panic(err)
	}
	if os.Getenv("MIST_PREPARE") != "" {
		prepare()
	}
	if err := generate(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func settleMemory() {}

func exchange([]byte) []byte {
	return []byte(`{"error":{"kind":"NotFound","message":"there is no host"}}`)
}
