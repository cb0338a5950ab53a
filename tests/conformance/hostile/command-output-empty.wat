;; Prints nothing and ends well.
(module
  (memory (export "memory") 1)
  (func (export "_start") ))
