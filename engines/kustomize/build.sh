#!/bin/bash
# build.sh OUTPUT.wasm: compiles the Kustomize engine. Needs Go 1.26 or newer.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ $# == 1 ]] || { echo "usage: build.sh OUTPUT.wasm" >&2; exit 2; }
output=$(realpath -m "$1")
command -v go >/dev/null || { echo "kustomize: needs Go 1.26 or newer, but there is no 'go' in PATH. Install it from https://go.dev/dl/" >&2; exit 1; }
# The machine's toolchain, never one that Go would fetch by itself.
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-trimpath

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/stage.sh" "$work"
cd "$here"
# The label app.kubernetes.io/managed-by that a kustomization can ask for names the release of kustomize.
version=v5.8.2 # the release with the api that go.mod names
GOOS=wasip1 GOARCH=wasm go build -modfile "$work/engine.mod" -buildmode=c-shared \
  -ldflags="-s -w -X sigs.k8s.io/kustomize/api/provenance.version=kustomize/$version" -o "$output" .
