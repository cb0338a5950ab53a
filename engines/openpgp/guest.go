//go:build wasip1

package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
)

const packageRoot = "/package"

// Nothing can be read before there is a package: a snapshot has the library's tables, which its start-up makes.
//
//go:wasmexport mistletoe_prepare
func mistletoePrepare() { runtime.GC() }

//go:wasmexport mistletoe_generate
func mistletoeGenerate() {
	out := bufio.NewWriter(os.Stdout)
	err := generate(os.Stdin, out, packageRoot)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A reactor has no main, but a Go program does.
func main() {}
