#!/bin/sh
# Compiles the package to my-package.mist-pack.wasm. Needs Go 1.24 or newer, and mistctl in the PATH.
set -eu
cd "$(dirname "$0")"
CGO_ENABLED=0 GOOS=wasip1 GOARCH=wasm go build -trimpath -ldflags='-s -w' -o program.wasm .
mistctl package build program.wasm -m mistletoe.yaml -o my-package.mist-pack.wasm
rm program.wasm
