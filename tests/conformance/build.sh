#!/bin/bash
# Builds the conformance guests and prints the directory that holds them:
#
#   guests=$(tests/conformance/build.sh)
#
# Each is the namespace package, once more, in another language, ABI or form of output; given the same input, all
# describe the same objects as packages/namespace-example; */secrets.wasm ask the host for secrets instead, all for the
# same; go/drawn.wasm draws random bytes and a certificate through its language's library; rust/caller.wasm calls the
# packages that its values name, rust/looker.wasm looks up the objects that they name; rust/both-reactor.wasm and rust/both-component.wasm are one source. Hostile guests need no build: they are text.
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
# Guests in C read JSON as packages that begin from the template for C do.
readonly template="$here/../../packages/templates/c"
readonly CLANG="${MIST_WASM_CLANG:-clang-19}"
source "$here/../../tools/wasm-toolchain/cached.sh"

fail() { echo "conformance: $*" >&2; exit 1; }

build_c() {
  local output=$1
  shift
  (cd "$here/guests/c" && "$CLANG" --target=wasm32-wasi -I "$template" -O2 -Wall -Wextra -Werror -Wl,--strip-all -o "$output" "$@")
}

build_go() {
  (cd "$here/guests/go" &&
    CGO_ENABLED=0 GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags='-s -w -buildid=' -o "$1" "$2")
}

# build_component PACKAGE MODULE OUTPUT: the library as a component of schemas/wit/package.wit.
build_component() {
  local package=$1 module=$2 output=$3 target_dir="$MIST_CACHE_DIR/cargo/rust-components"
  "$MIST_REPOSITORY/tools/wasm-toolchain/cargo-build.sh" "$here/guests/rust" wasm32-unknown-unknown "$target_dir" -p "$package" \
    --features mistletoe/component
  cargo run --quiet --release --locked --manifest-path "$here/componentize/Cargo.toml" \
    --target-dir "$MIST_CACHE_DIR/cargo/componentize" -- "$target_dir/wasm32-unknown-unknown/release/$module.wasm" \
    "$here/../../schemas/wit/package.wit" "$output"
}

# guest WORDS: the next one begins.
guest_number=0
guest() { echo "conformance: guest $((++guest_number)) of $(grep -c '^  guest "' "${BASH_SOURCE[0]}"): $1"; }

build() {
  local directory=$1
  # A package without metadata has the name of its file, and the name is part of what secrets are derived from.
  mkdir -p "$directory"/{c,go,rust}
  guest "a command in C"
  build_c "$directory/c-command.wasm" command.c "$template/json.c"
  guest "a reactor in C"
  build_c "$directory/c-v1alpha1-reactor.wasm" -mexec-model=reactor v1alpha1.c "$template/json.c"
  guest "secrets in C"
  build_c "$directory/c/secrets.wasm" secrets.c "$template/json.c"
  guest "a command in Go"
  build_go "$directory/go-command.wasm" .
  guest "secrets in Go"
  build_go "$directory/go/secrets.wasm" ./secrets
  guest "random bytes in Go"
  build_go "$directory/go/drawn.wasm" ./drawn
  export MODULE_FILE=namespace_guest MIST_WASM_EXEC_MODEL=reactor
  guest "a reactor in Rust without WASI"
  build_module "$here/guests/rust" wasm32-unknown-unknown namespace-guest "$directory/rust-v1alpha1.wasm"
  guest "a reactor in Rust"
  build_module "$here/guests/rust" wasm32-wasip1 namespace-guest "$directory/rust-reactor.wasm"
  guest "one source for both, as a module"
  MODULE_FILE=both_guest build_module "$here/guests/rust" wasm32-wasip1 both-guest "$directory/rust/both-reactor.wasm"
  unset MODULE_FILE MIST_WASM_EXEC_MODEL
  guest "the same as a component"
  build_component both-guest both_guest "$directory/rust/both-component.wasm"
  guest "secrets in Rust"
  build_module "$here/guests/rust" wasm32-wasip1 secrets-guest "$directory/rust/secrets.wasm"
  guest "one that calls packages"
  build_module "$here/guests/rust" wasm32-wasip1 caller-guest "$directory/rust/caller.wasm"
  guest "one that looks objects up"
  build_module "$here/guests/rust" wasm32-wasip1 looker-guest "$directory/rust/looker.wasm"
  chmod 644 "$directory"/*.wasm "$directory"/*/*.wasm
}

command -v "$CLANG" >/dev/null || fail "no $CLANG; run: apt-get install clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32"
command -v go >/dev/null || fail "no go; install Go 1.26 or newer from https://go.dev/dl"

hash=$({ "$CLANG" --version | sed -n 1p; go env GOVERSION; rustc --version 2>/dev/null || true; } |
  hash_of sdk/rust tools/wasm-toolchain tests/conformance/guests tests/conformance/componentize tests/conformance/build.sh \
    schemas/wit packages/templates/c)
cached conformance "$hash" build
