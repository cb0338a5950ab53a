;; A reactor that loops for ever in _initialize.
(module
  (memory (export "memory") 1)
  (func (export "_initialize") (loop $again (br $again)))
  (func (export "mistletoe_generate")))
