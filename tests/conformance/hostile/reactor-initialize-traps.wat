;; A reactor that traps in _initialize.
(module
  (memory (export "memory") 1)
  (func (export "_initialize") unreachable)
  (func (export "mistletoe_generate")))
