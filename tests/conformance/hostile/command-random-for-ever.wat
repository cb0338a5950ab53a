;; Asks for 128 MiB of random bytes again and again: all its time passes in expensive host calls.
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (memory (export "memory") 2048)
  (func (export "_start")
    (loop $again
      (drop (call $random_get (i32.const 0) (i32.const 134217728)))
      (br $again))))
