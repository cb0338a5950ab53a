;; Polls 2^32-1 subscriptions, far more than its memory holds.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\3c\00\00\00") ;; (64, 60)
  (data (i32.const 64) "{apiVersion: v1, kind: Namespace, metadata: {name: rested}}\n")
  (data (i32.const 256)
    "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00"
    "\ff\ff\ff\ff\ff\ff\ff\7f\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00") ;; subscription: clock, monotonic, 2^63-1 ns from now
  (func (export "_start")
    (drop (call $poll_oneoff (i32.const 256) (i32.const 512) (i32.const -1) (i32.const 8)))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
