package mistletoe

import (
	"runtime"
	"unsafe"
)

//go:wasmimport mistletoe_v1 request
func hostRequest(address unsafe.Pointer, length uint32) uint32

//go:wasmimport mistletoe_v1 response
func hostResponse(address unsafe.Pointer)

func exchange(request []byte) []byte {
	length := hostRequest(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	answer := make([]byte, length)
	hostResponse(unsafe.Pointer(unsafe.SliceData(answer)))
	runtime.KeepAlive(request)
	return answer
}
