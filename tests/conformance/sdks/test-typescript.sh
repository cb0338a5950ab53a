#!/bin/bash
# The TypeScript SDK's own tests, under Node and beside the tree, once for each state of the SDK: test-typescript.sh
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../../tools/wasm-toolchain/cached.sh"

build() {
  (cd "$MIST_REPOSITORY/sdk/typescript" && cp -rL package.json package-lock.json tsconfig.json src bin shims wit tests "$1/")
  cd "$1"
  npm ci --no-audit --no-fund --loglevel=error
  npm test | tee result
  rm -rf node_modules
}

hash=$(node --version | hash_of sdk/typescript schemas/wit tools/wasm-toolchain tests/conformance/sdks/test-typescript.sh)
directory=$(cached typescript-sdk "$hash" build)
cat "$directory/result"
