#!/bin/bash
# Builds the package of the conformance table in each language, with the SDK of this tree and by `mistctl package build`, and prints the
# directory that holds them:
#
#   packages=$(tests/conformance/sdks/build.sh build/dev/bin/mistctl)
#
# LANGUAGE/table.wasm each, and called/, the package that all of them call. npm takes what package-lock.json names from its registry
# or cache. Built once for each state of the sources, lock files and compilers.
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
[[ $# == 1 && -x $1 ]] || { echo "usage: build.sh MISTCTL" >&2; exit 2; }
readonly mistctl=$(realpath "$1")
readonly CLANGXX="${MIST_WASM_CLANGXX:-clang++-19}"
source "$here/../../../tools/wasm-toolchain/cached.sh"

fail() { echo "sdks: $*" >&2; exit 1; }

# package LANGUAGE DIRECTORY: DIRECTORY/LANGUAGE/table.wasm, from sources in a temporary copy that only it sees.
package() {
  local language=$1 directory=$2
  echo "sdks: building the package in $language"
  (cd "$directory/.work/$language" && MIST_HOME_LOCATION="$directory/.work/home" "$mistctl" package build . -q -o "$directory/$language/table.wasm")
}

build() {
  local directory=$1 work=$1/.work
  mkdir -p "$work" "$directory"/{cpp,go,python,rust,typescript}
  cp -r "$here/called" "$directory/called"
  cp -r "$here"/{cpp,go,python,typescript} "$here/called" "$work/"
  # As in a package that `mistctl package init` wrote.
  cp -rL "$MIST_REPOSITORY/sdk/cpp" "$work/cpp/mistletoe"
  cp -rL "$MIST_REPOSITORY/sdk/go" "$work/go/mistletoe"
  mkdir "$work/typescript/mistletoe"
  (cd "$MIST_REPOSITORY/sdk/typescript" && cp -rL package.json tsconfig.json src bin shims wit "$work/typescript/mistletoe/")
  sed -i 's#=> .*#=> ./mistletoe#' "$work/go/go.mod"
  (cd "$work/typescript" && npm ci --no-audit --no-fund --loglevel=error)
  package typescript "$directory"
  package go "$directory"
  package python "$directory"
  package cpp "$directory"
  echo "sdks: building the package in rust"
  build_module "$here/rust" wasm32-wasip1 table "$directory/rust/table.wasm"
  rm -rf "$work"
}

command -v "$CLANGXX" >/dev/null || fail "no $CLANGXX; run tools/prerequisites.sh"
command -v go >/dev/null || fail "no go; run tools/prerequisites.sh"
command -v npm >/dev/null || fail "no npm; run tools/prerequisites.sh"

hash=$({ "$CLANGXX" --version | sed -n 1p; go env GOVERSION; node --version; rustc --version 2>/dev/null || true; } |
  hash_of sdk engines/python tools/wasm-toolchain tests/conformance/sdks schemas/wit src/action/authoring/build_program.cc src/cli/commands/package.cc)
cached sdks "$hash" build
