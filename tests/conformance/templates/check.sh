#!/bin/bash
# check.sh MISTCTL: each template of `mistctl package init` whose program has to be compiled, as its README says and
# outside of this repository: it builds, its test cases pass, nothing is to be said about it, and all make the same objects.
# Cargo takes its crates from the network or its cache. The others are transcripts: tests/cli/package/kinds.txt.
set -euo pipefail
[[ $# == 1 && -x $1 ]] || { echo "usage: check.sh MISTCTL" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$(realpath "$1")" "$work/bin/mistctl"
export PATH="$work/bin:$PATH" MIST_HOME_LOCATION="$work/home"
cd "$work"
for kind in go c rust; do
  mistctl package init "$kind" --template "$kind" --name shop -q
  "$kind/build.sh"
  module=$(echo "$kind"/*.wasm)
  mistctl package test "./$module"
  mistctl package lint --strict "./$module"
  mistctl generate web -p "./$module" -o json >"$kind.json"
  python3 - "$kind.json" go.json <<'P'
import json, sys
mine, first = (json.load(open(name)) for name in sys.argv[1:])
sys.exit(0 if mine == first else f"{sys.argv[1]} differs from {sys.argv[2]}")
P
done
echo "3 passed, 0 failed"
