;; Prints a document of Mistletoe that is no result.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\4d\00\00\00") ;; (64, 77)
  (data (i32.const 64) "{apiVersion: mistletoe.dev/v1, kind: MistPackage, metadata: {name: hostile}}\n")
  (func (export "_start")
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
