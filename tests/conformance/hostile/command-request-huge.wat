;; Makes a request of 2 MiB of spaces: more than a host takes.
(module
  (import "mistletoe_v1" "request" (func $request (param i32 i32) (result i32)))
  (import "mistletoe_v1" "response" (func $response (param i32)))
  (memory (export "memory") 40)
  (func (export "_start")
    (memory.fill (i32.const 0) (i32.const 32) (i32.const 0x200000))
    (drop (call $request (i32.const 0) (i32.const 0x200000)))))
