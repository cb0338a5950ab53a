;; Calls fd_write of 2^32-1 bytes. The host answers with an error number or traps.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\3d\00\00\00") ;; (64, 61)
  (data (i32.const 64) "{apiVersion: v1, kind: Namespace, metadata: {name: refused}}\n")
  (func (export "_start")
    (i32.store (i32.const 16) (i32.const 64))
    (i32.store (i32.const 20) (i32.const -1))
    (if (i32.eqz (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 8)))
      (then unreachable))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
