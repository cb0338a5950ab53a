;; Leaves a message at __mistletoe_panic before it traps, as packages made with the Rust SDK do: a global with the
;; address of (ptr, len). A host that knows nothing of it says only unreachable.
(module
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\4f\00\00\00") ;; (64, 79)
  (data (i32.const 8) "\00\01\00\00\53\00\00\00") ;; (256, 83)
  (data (i32.const 64)
    "apiVersion: mistletoe.dev/v1alpha1\n"
    "kind: MistPackage\n"
    "metadata:\n"
    "  name: hostile\n")
  (data (i32.const 256)
    "apiVersion: mistletoe.dev/v1alpha1\n"
    "kind: MistResult\n"
    "data:\n"
    "  result: Ok\n"
    "  files: {}\n")
  (global (export "__mistletoe_panic") i32 (i32.const 16))
  (data (i32.const 1024) "the package panicked at src/main.rs:1:1: no port")
  (func (export "__mistletoe_info") (result i32) i32.const 0)
  (func (export "__mistletoe_alloc") (param i32) (result i32) i32.const 32768)
  (func (export "__mistletoe_dealloc") (param i32 i32))
  (func (export "__mistletoe_generate") (param i32 i32) (result i32)

    (i32.store (i32.const 16) (i32.const 1024))
    (i32.store (i32.const 20) (i32.const 48))
    unreachable))
