;; Imports the request with the types of another function.
(module
  (import "mistletoe_v1" "request" (func (param i64) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
))
