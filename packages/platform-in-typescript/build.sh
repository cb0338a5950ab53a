#!/bin/bash
# Builds this package as its author would, and prints the directory that holds platform-in-typescript.mist-pack.wasm:
#
#   directory=$(packages/platform-in-typescript/build.sh build/dev/bin/mistctl)
#
# npm takes what package-lock.json names from its registry or cache. Built once for each state of the sources and of the SDK.
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
[[ $# == 1 && -x $1 ]] || { echo "usage: build.sh MISTCTL" >&2; exit 2; }
readonly mistctl=$(realpath "$1")
source "$here/../../tools/wasm-toolchain/cached.sh"

build() {
  local directory=$1 work=$1/.work
  echo "packages: building platform-in-typescript"
  mkdir -p "$work/mistletoe"
  cp -r "$here"/{mistletoe.yaml,package.json,package-lock.json,tsconfig.json,src} "$work/"
  # As in a package that `mistctl package init` wrote.
  (cd "$MIST_REPOSITORY/sdk/typescript" && cp -rL package.json tsconfig.json src bin shims wit "$work/mistletoe/")
  (cd "$work" && npm ci --no-audit --no-fund --loglevel=error)
  (cd "$work" && MIST_HOME_LOCATION="$directory/.home" "$mistctl" package build . -q -o "$directory/platform-in-typescript.mist-pack.wasm")
  rm -rf "$work" "$directory/.home"
}

command -v npm >/dev/null || { echo "packages: no npm; run tools/prerequisites.sh" >&2; exit 1; }
hash=$(node --version | hash_of sdk/typescript schemas/wit packages/platform-in-typescript src/action/authoring/build_program.cc src/cli/commands/package.cc)
cached platform-in-typescript "$hash" build
