#!/bin/bash
# Builds the conformance guests and prints the directory that holds them:
#
#   guests=$(tests/conformance/build.sh)
#
# Each is the namespace package, once more, in another language, ABI or form of output; given the same input, all
# describe the same objects as packages/namespace-example. Hostile guests need no build: they are text.
# The directory lies in the cache and is named by the hash of all that goes into it.
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
readonly repository=$(cd "$here/../.." && pwd)
readonly cache="${MIST_CACHE:-$HOME/.cache/mistletoe-build}"
readonly CLANG="${MIST_WASM_CLANG:-clang-19}"

fail() { echo "conformance: $*" >&2; exit 1; }

require() {
  command -v "$CLANG" >/dev/null || fail "no $CLANG; run: apt-get install clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32"
  command -v go >/dev/null || fail "no go; install Go 1.26 or newer from https://go.dev/dl"
}

source_hash() {
  cd "$repository"
  {
    "$CLANG" --version | head -n1
    go env GOVERSION
    rustc --version 2>/dev/null || echo "Debian's"
    find sdk/rust tools/wasm-toolchain tests/conformance/guests tests/conformance/build.sh \
      -name target -prune -o -type f ! -name '*.md' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  } | sha256sum | cut -c1-32
}

build_c() {
  local output=$1
  shift
  (cd "$here/guests/c" && "$CLANG" --target=wasm32-wasi -O2 -Wall -Wextra -Werror -Wl,--strip-all -o "$output" "$@")
}

build_rust() {
  local target=$1 output=$2 target_dir="$cache/cargo/conformance"
  "$repository/tools/wasm-toolchain/cargo-build.sh" "$here/guests/rust" "$target" "$target_dir"
  install -m 644 "$target_dir/$target/release/namespace_guest.wasm" "$output"
}

build_into() {
  local directory=$1
  echo "conformance: building the guests in C" >&2
  build_c "$directory/c-command.wasm" command.c json.c
  build_c "$directory/c-v1alpha1-reactor.wasm" -mexec-model=reactor v1alpha1.c json.c
  echo "conformance: building the guest in Go" >&2
  (cd "$here/guests/go" &&
    CGO_ENABLED=0 GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags='-s -w -buildid=' -o "$directory/go-command.wasm" .)
  echo "conformance: building the guests in Rust" >&2
  build_rust wasm32-unknown-unknown "$directory/rust-v1alpha1.wasm"
  build_rust wasm32-wasip1 "$directory/rust-reactor.wasm"
  chmod 644 "$directory"/*.wasm
}

require
readonly result="$cache/conformance/$(source_hash)"
if [[ ! -d $result ]]; then
  mkdir -p "$cache/conformance" "$cache/cargo"
  # One builder at a time: cargo's output files would else be replaced between building and copying.
  exec 9>"$cache/cargo/conformance.lock"
  flock 9
  if [[ ! -d $result ]]; then
    staging=$(mktemp -d "$cache/conformance/.building.XXXXXX")
    trap 'rm -rf "$staging"' EXIT
    build_into "$staging"
    chmod 755 "$staging"
    mv -T "$staging" "$result"
  fi
fi
echo "$result"
