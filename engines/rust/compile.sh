#!/bin/bash
# compile.sh PACKAGE OUTPUT.wasm: compiles one of the engines of this workspace to a WASI reactor.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
(($# == 2)) || { echo "usage: compile.sh PACKAGE OUTPUT.wasm" >&2; exit 2; }
source "$here/../../tools/wasm-toolchain/cached.sh"
command -v cargo >/dev/null || { echo "engines: needs Rust 1.95 or newer; install it from https://rustup.rs" >&2; exit 1; }
export MIST_WASM_EXEC_MODEL=reactor MODULE_FILE=${1//-/_}
build_module "$here" wasm32-wasip1 "$1" "$(realpath -m "$2")"
