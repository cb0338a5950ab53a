;; Imports what no host gives, from the module that hosts do give.
(module
  (import "mistletoe_v1" "read_file" (func (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
))
