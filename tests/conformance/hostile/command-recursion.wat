;; Calls itself for ever.
(module
  (memory (export "memory") 1)
  (func $deeper (param i64)
    (call $deeper (i64.add (local.get 0) (i64.const 1)))
    (call $deeper (local.get 0)))
  (func (export "_start") (call $deeper (i64.const 0))))
