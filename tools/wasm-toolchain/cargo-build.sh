#!/bin/bash
# Builds a Rust workspace in release mode for a WebAssembly target:
#
#   tools/wasm-toolchain/cargo-build.sh WORKSPACE_DIR TARGET TARGET_DIR [cargo arguments…]
#
# The modules land in TARGET_DIR/TARGET/release. Cargo.lock is obeyed, never changed. No path of this machine gets into
# them: the same tree gives the same bytes, wherever it lies (rustc-by-name.sh; tools/wasm-toolchain/test.sh shows it).
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
readonly repository=$(cd "$here/../.." && pwd)
(($# >= 3)) || { echo "usage: $0 WORKSPACE_DIR TARGET TARGET_DIR [cargo arguments…]" >&2; exit 2; }
readonly workspace=$1 target=$2 target_dir=$3
shift 3

environment=$("$here/ensure.sh")
eval "$environment"

flags_variable="MIST_WASM_RUSTFLAGS_$(tr 'a-z-' 'A-Z_' <<<"$target")"
flags="${!flags_variable:-}"
# The remapped names may hold spaces, so the flags are joined by Cargo's own separator.
CARGO_ENCODED_RUSTFLAGS=$(tr -s ' ' '\037' <<<"$flags" | tr -d '\n')
remap() { CARGO_ENCODED_RUSTFLAGS+="${CARGO_ENCODED_RUSTFLAGS:+$'\037'}--remap-path-prefix=$1=$2"; }

cd "$workspace"
remap "$repository" /mistletoe
# The directory of a registry is named after where the crates come from; fetch first, so that it is there.
"$MIST_WASM_CARGO" fetch --quiet --locked --target "$target"
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
  remap "${registry%/}" /crates
done
export CARGO_ENCODED_RUSTFLAGS
export RUSTC_WRAPPER="$here/rustc-by-name.sh"
# shellcheck disable=SC2086 # the arguments are words by contract
exec "$MIST_WASM_CARGO" build --quiet --release --locked --target "$target" --target-dir "$target_dir" $MIST_WASM_CARGO_ARGS "$@"
