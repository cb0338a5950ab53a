//go:build wasip1

// The Kustomize engine: sigs.k8s.io/kustomize/api in Mistletoe's sandbox. A reactor of package ABI v1; see README.md.
package main

import (
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"unsafe"

	"mistletoe.dev/engines/kustomize/engine"
)

// packageDirectory is where the host puts the package's files (src/abi/v1/README.md).
const packageDirectory = "/package"

// Three quarters of the sandbox's default memory. Below that the collector never runs; without it, it would run in every
// build and take a fifth of its time.
const memoryLimit = 192 << 20

// The package, when it was there to be prepared.
var prepared *engine.Tree

// Does everything that needs no input, so that its outcome can be kept in a memory image.
//
//go:wasmexport mistletoe_prepare
func prepare() {
	engine.Prepare()
	if tree, err := engine.LoadTree(os.DirFS(packageDirectory)); err == nil && !tree.Empty() {
		prepared = tree
	}
	runtime.GC()
}

// Reads the input document, writes the result document.
//
//go:wasmexport mistletoe_generate
func generate() {
	debug.SetMemoryLimit(memoryLimit)
	debug.SetGCPercent(-1)
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail("mistletoe: can't read the input document: " + err.Error())
	}
	tree := prepared
	if tree == nil {
		if tree, err = engine.LoadTree(os.DirFS(packageDirectory)); err != nil {
			fail("mistletoe: can't read the package: " + err.Error())
		}
	}
	if _, err := os.Stdout.Write(engine.Generate(tree, input)); err != nil {
		fail("mistletoe: can't write the result: " + err.Error())
	}
}

func init() { engine.AskHost = exchange }

//go:wasmimport mistletoe_v1 request
func hostRequest(address unsafe.Pointer, length uint32) uint32

//go:wasmimport mistletoe_v1 response
func hostResponse(address unsafe.Pointer)

// exchange sends one request to the host and gives its answer.
func exchange(request []byte) []byte {
	length := hostRequest(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	answer := make([]byte, length+1) // never empty: the host needs an address
	hostResponse(unsafe.Pointer(unsafe.SliceData(answer)))
	return answer[:length]
}

func fail(message string) {
	os.Stderr.WriteString(message + "\n")
	os.Exit(1)
}

func main() {}
