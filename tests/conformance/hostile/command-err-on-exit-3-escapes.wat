;; Exits with 3 and clears the terminal on standard error.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\21\00\00\00") ;; (64, 33)
  (data (i32.const 64) "\1b[2J\1b]0;owned\07\1b[32mall is well\ff\0d\n")
  (func (export "_start")
    (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
    (call $proc_exit (i32.const 3))))
