;; A module without any of the exports that make a package.
(module
  (func (export "main") (result i32) i32.const 0))
