;; Sleeps for 292 years again and again. All its time passes in host calls, and it must end all the same.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 256)
    "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00"
    "\ff\ff\ff\ff\ff\ff\ff\7f\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00") ;; subscription: clock, monotonic, 2^63-1 ns from now
  (func (export "_start")
    (loop $again
      (drop (call $poll_oneoff (i32.const 256) (i32.const 512) (i32.const 1) (i32.const 8)))
      (br $again))))
