;; Prints a whole result and exits with 3 then: what was printed doesn't count.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\3b\00\00\00") ;; (64, 59)
  (data (i32.const 64) "{apiVersion: v1, kind: Namespace, metadata: {name: never}}\n")
  (func (export "_start")
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $proc_exit (i32.const 3))))
