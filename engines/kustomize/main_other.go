//go:build !wasip1

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "this program is a WebAssembly module: build it with ./build.sh OUTPUT.wasm")
	os.Exit(2)
}
