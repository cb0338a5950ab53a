#!/bin/sh
# Builds the Rust static library into a cache outside the tree, once for each state of its sources and compiler.
#   build.sh --path   print the directory that holds (or will hold) include/ and lib/libmist_runtime.a
#   build.sh          make it, unless it is there; several at once are safe, an interrupted build goes on later
# MIST_CACHE names the cache (default ~/.cache/mistletoe-build).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PATH="$PATH:${HOME:-/root}/.cargo/bin"
cache=${MIST_CACHE:-${HOME:?}/.cache/mistletoe-build}

command -v cargo >/dev/null || {
  echo "cargo is missing: install Rust 1.95 or newer, see https://rustup.rs" >&2
  exit 1
}
cd "$here"
hash=$( (rustc --version --verbose; sha256sum Cargo.lock Cargo.toml build.rs build.sh include/* src/*) | sha256sum | cut -c1-32)
out=$cache/runtime-$hash
if [ "${1:-}" = --path ]; then
  echo "$out"
  exit 0
fi
[ -e "$out/lib/libmist_runtime.a" ] && exit 0

mkdir -p "$cache"
exec 9>"$cache/runtime.lock"
if ! flock -n 9; then
  echo "waiting for another build of the Rust runtime library ..." >&2
  flock 9
fi
[ -e "$out/lib/libmist_runtime.a" ] && exit 0

echo "building the Rust runtime library (Wasmtime, libcurl, JSON Schema): some minutes, once on this machine" >&2
work=$out.build
mkdir -p "$work"
# Flags meant for our C++ (sanitizers) or for an outer make would change what cargo builds.
# HAVE_POLL: curl-sys 0.4.91 defines HAVE_POLL_FINE, which curl no longer knows (curl pull request 15096), so libcurl would
# use select() and fail to connect wherever a descriptor is above 1023.
env -u RUSTFLAGS -u MAKEFLAGS -u CXXFLAGS -u LDFLAGS -u CARGO_TARGET_DIR -u CARGO_ENCODED_RUSTFLAGS \
  CFLAGS=-DHAVE_POLL=1 OPENSSL_STATIC=1 MIST_RUNTIME_INCLUDE="$work/include" \
  cargo build --release --locked --target-dir "$work/target" >&2
cp -R include/. "$work/include/"
mkdir -p "$work/lib"
mv "$work/target/release/libmist_runtime.a" "$work/lib/"
rm -rf "$work/target"
rm -rf "$out" # what is left of one without its library
mv "$work" "$out"
echo "built $out" >&2
