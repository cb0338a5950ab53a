;; Loops for ever in the start section, before _start.
(module
  (memory (export "memory") 1)
  (func $start (loop $again (br $again)))
  (start $start)
  (func (export "_start") ))
