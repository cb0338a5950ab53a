;; Tries to open /etc/passwd from every directory that it may have been given; fails if that works anywhere.
(module
  (import "wasi_snapshot_preview1" "path_open" (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\3d\00\00\00") ;; (64, 61)
  (data (i32.const 64) "{apiVersion: v1, kind: Namespace, metadata: {name: refused}}\n")
  (data (i32.const 1024) "/etc/passwd")
  (func (export "_start")
    (local $fd i32)
    (local.set $fd (i32.const 3))
    (loop $next
      ;; dirfd, symlink_follow, path, length, no flags, fd_read, fd_read, no flags, result
      (if (i32.eqz (call $path_open (local.get $fd) (i32.const 1) (i32.const 1024) (i32.const 11)
                                    (i32.const 0) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 8)))
        (then unreachable))
      (br_if $next (i32.lt_u (local.tee $fd (i32.add (local.get $fd) (i32.const 1))) (i32.const 16))))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
