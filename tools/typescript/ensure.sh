#!/bin/bash
# Installs esbuild and the TypeScript compiler, in the versions that sdk/typescript/package-lock.json pins, and prints the directory that
# holds their node_modules:
#
#   directory=$(tools/typescript/ensure.sh)
#
# npm takes them from its registry or its own cache, once for each state of that file on this machine. No script of a package is run.
# Messages go to standard error. MIST_CACHE names the cache (default ~/.cache/mistletoe-build).
set -euo pipefail
shopt -s inherit_errexit

readonly here=$(cd "$(dirname "$0")" && pwd)
readonly NODE_MINIMUM=20
source "$here/../wasm-toolchain/cached.sh"

fail() {
  echo "typescript: $*" >&2
  exit 1
}

install_tools() {
  echo "typescript: installing esbuild and the TypeScript compiler, once on this machine"
  cp "$MIST_REPOSITORY"/sdk/typescript/package{,-lock}.json "$1/"
  (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) ||
    fail "npm could not install what sdk/typescript/package-lock.json pins; its message is above. It needs npm's registry or cache once"
}

for program in node npm; do
  command -v "$program" >/dev/null ||
    fail "there is no $program in PATH: the browser scripts of mistletoe-catalog are TypeScript. Install Node.js $NODE_MINIMUM or newer (https://nodejs.org)," \
      "or build mistctl and mistletoe-operator alone, which need none"
done
version=$(node --version)
major=${version#v}
((${major%%.*} >= NODE_MINIMUM)) || fail "Node.js $NODE_MINIMUM or newer is needed, $(command -v node) is $version: https://nodejs.org"

hash=$(uname -sm | hash_of sdk/typescript/package.json sdk/typescript/package-lock.json tools/typescript/ensure.sh)
cached typescript "$hash" install_tools
