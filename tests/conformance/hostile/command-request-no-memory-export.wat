;; Asks, but shares no memory from which to read.
(module
  (import "mistletoe_v1" "request" (func $request (param i32 i32) (result i32)))
  (import "mistletoe_v1" "response" (func $response (param i32)))
  (memory 1)
  (func (export "_start")
    (drop (call $request (i32.const 0) (i32.const 1)))))
