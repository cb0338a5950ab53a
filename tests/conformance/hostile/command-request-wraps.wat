;; Makes a request whose end wraps around to the beginning of its memory.
(module
  (import "mistletoe_v1" "request" (func $request (param i32 i32) (result i32)))
  (import "mistletoe_v1" "response" (func $response (param i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (drop (call $request (i32.const 0xfffffff0) (i32.const 64)))))
