#!/bin/bash
# native-program.sh [--release] WORKSPACE PACKAGE [EXAMPLE]: prints the path of a Rust program of this machine, PACKAGE or its
# EXAMPLE, after building it in the cache. Tests and the bench compare with such programs.
set -euo pipefail
profile=debug options=()
[[ $1 != --release ]] || { profile=release; options=(--release); shift; }
workspace=$(cd "$(dirname "$0")/.." && realpath "$1") package=$2 example=${3:-}
export CARGO_TARGET_DIR=${MIST_CACHE:-$HOME/.cache/mistletoe-build}/cargo/rust-native
cargo build "${options[@]}" --locked --quiet --manifest-path "$workspace/Cargo.toml" -p "$package" ${example:+--example "$example"} >&2
echo "$CARGO_TARGET_DIR/$profile/${example:+examples/}${example:-$package}"
