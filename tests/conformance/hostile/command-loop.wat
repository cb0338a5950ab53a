;; Loops for ever.
(module
  (memory (export "memory") 1)
  (func (export "_start") (loop $again (br $again))))
