#!/bin/sh
# Compiles the package to my-package.wasm. Needs Rust 1.95 or newer, and once: rustup target add wasm32-wasip1
set -eu
cd "$(dirname "$0")"
cargo build --release --target wasm32-wasip1 --target-dir target
cp target/wasm32-wasip1/release/my-package.wasm my-package.wasm
