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

func init() { restCollector() }

func restCollector() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
}

// wakeCollector keeps the memory small, which a snapshot holds and every run from it has to bring in again.
func wakeCollector() { debug.SetGCPercent(50) }

// settleMemory leaves a snapshot without garbage, which would be in the module byte for byte: a chart of 300 KB would
// make one of 70 MB.
func settleMemory() {
	runtime.GC()
	runtime.GC()
	zeroFreeMemory()
	runtime.GC()
	runtime.GC()
	restCollector()
}

// zeroFreeMemory fills the heap's free space with zeros: a new allocation of bytes is zeroed, so it is allocated whole,
// from the largest pieces down, until the heap would have to grow.
func zeroFreeMemory() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before := stats.HeapSys
	var pieces [][]byte
	for size := 4 << 20; size >= 8<<10; size /= 2 {
		for {
			pieces = append(pieces, make([]byte, size))
			runtime.ReadMemStats(&stats)
			if stats.HeapSys > before || stats.HeapIdle < uint64(size) {
				before = stats.HeapSys
				break
			}
		}
	}
	runtime.KeepAlive(pieces)
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
