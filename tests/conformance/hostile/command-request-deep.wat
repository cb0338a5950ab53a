;; Makes a request of 60,000 opening brackets: the host must not follow them down.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "mistletoe_v1" "request" (func $request (param i32 i32) (result i32)))
  (import "mistletoe_v1" "response" (func $response (param i32)))
  (memory (export "memory") 2)
  (data (i32.const 0) "\40\00\00\00\3d\00\00\00") ;; (64, 61)
  (data (i32.const 64) "{apiVersion: v1, kind: Namespace, metadata: {name: refused}}\n")
  (func (export "_start")
    (memory.fill (i32.const 4096) (i32.const 0x5b) (i32.const 60000))
    (drop (call $request (i32.const 4096) (i32.const 60000)))
    (call $response (i32.const 65536))
    ;; The answer is {"error"…: its third letter is an e.
    (if (i32.ne (i32.load8_u (i32.const 65538)) (i32.const 0x65)) (then unreachable))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
