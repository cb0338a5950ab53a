#!/bin/bash
# build.sh OUTPUT.wasm: compiles the engine. Its source is engines/rust/nickel, with that of the other engines in Rust.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ $# == 1 ]] || { echo "usage: build.sh OUTPUT.wasm" >&2; exit 2; }
exec "$here/../rust/compile.sh" nickel "$1"
