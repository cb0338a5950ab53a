;; Writes the same 1 MiB 1024 times with one call of 1024 vectors. A host that refuses the call with an error number
;; leaves an empty output.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 17)
  (func (export "_start")
    (local $at i32)
    (memory.fill (i32.const 65536) (i32.const 35) (i32.const 1048576))
    (loop $more
      (i32.store (local.get $at) (i32.const 65536))
      (i32.store offset=4 (local.get $at) (i32.const 1048576))
      (br_if $more (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8))) (i32.const 8192))))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1024) (i32.const 8192)))))
