//go:build wasip1

package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"unsafe"
)

//go:wasmexport mistletoe_prepare
func mistletoePrepare() { prepare() }

//go:wasmexport mistletoe_generate
func mistletoeGenerate() {
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	if err := generate(os.Stdin, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A reactor has no main, but a Go program does.
func main() {}

// Without a collection most charts render in less memory than the collector's own work would cost; the limit, three
// quarters of what the sandbox gives an engine (512 MiB), is where it begins to work.
const memoryLimit = 384 << 20

func init() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
}

// settleMemory leaves a snapshot without garbage that a collector would have to walk.
func settleMemory() {
	runtime.GC()
	runtime.GC()
}

//go:wasmimport mistletoe_v1 request
func hostRequest(address unsafe.Pointer, length uint32) uint32

//go:wasmimport mistletoe_v1 response
func hostResponse(address unsafe.Pointer)

// exchange sends one request to the host and returns its answer.
func exchange(request []byte) []byte {
	length := hostRequest(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	answer := make([]byte, length+1) // never empty: the host needs an address
	hostResponse(unsafe.Pointer(unsafe.SliceData(answer)))
	return answer[:length]
}
