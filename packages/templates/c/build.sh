#!/bin/sh
# Compiles the package to my-package.mist-pack.wasm. Needs mistctl in the PATH, and a clang that can make WebAssembly with a
# wasi-libc (Debian: clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32; or the WASI SDK, CC=/opt/wasi-sdk/bin/clang).
set -eu
cd "$(dirname "$0")"
"${CC:-clang-19}" --target=wasm32-wasi -O2 -Wall -Wextra -Werror -Wl,--strip-all -o program.wasm main.c json.c
mistctl package build program.wasm -m mistletoe.yaml -o my-package.mist-pack.wasm
rm program.wasm
