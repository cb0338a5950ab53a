;; The same bomb inside a file.
(module
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\4f\00\00\00") ;; (64, 79)
  (data (i32.const 8) "\00\01\00\00\12\02\00\00") ;; (256, 530)
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
    "  files:\n"
    "    bomb.yaml: |\n"
    "      a: &a [x, x, x, x, x, x, x, x, x]\n"
    "      b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
    "      c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
    "      d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
    "      e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
    "      f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
    "      g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f]\n"
    "      h: &h [*g, *g, *g, *g, *g, *g, *g, *g, *g]\n"
    "      i: &i [*h, *h, *h, *h, *h, *h, *h, *h, *h]\n"
    "\n")
  (func (export "__mistletoe_info") (result i32) i32.const 0)
  (func (export "__mistletoe_alloc") (param i32) (result i32) i32.const 32768)
  (func (export "__mistletoe_dealloc") (param i32 i32))
  (func (export "__mistletoe_generate") (param i32 i32) (result i32) i32.const 8))
