#!/bin/bash
# Builds the Helm engine:
#
#   engines/helm/build.sh OUTPUT.wasm              the guest
#   engines/helm/build.sh --native OUTPUT          the same engine as a program of this machine, for tests
#   engines/helm/build.sh --test                   runs the engine's own tests
#
# Helm is built from a copy of its module with patches/helm.patch applied and the files of patches/files added. The same
# sources and the same Go give the same bytes, wherever they are built.
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "engines/helm: $*" >&2; exit 1; }

case "${1-}:$#" in
  --test:1) mode=test ;;
  --native:2) mode=native output=$(realpath -m "$2") ;;
  -*:* | :*) fail "usage: build.sh [--native] OUTPUT | --test" ;;
  *:1) mode=guest output=$(realpath -m "$1") ;;
  *) fail "usage: build.sh [--native] OUTPUT | --test" ;;
esac
command -v go >/dev/null || fail "no go; install Go 1.26 or newer from https://go.dev/dl"
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-buildvcs=false CGO_ENABLED=0

cd "$here"
go mod download || fail "can't fetch the Go modules (see above). Is the network, or GOPROXY, all right?"
read -r helm version < <(go list -m -f '{{.Dir}} {{.Version}}' helm.sh/helm/v4)

# A copy of our sources with Helm's beside them; its tests, and what they read, would only cost time.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/helm"
cp -R ./*.go go.mod go.sum shim ../yamlfault "$work"
(cd "$helm" && find . -type f \( -name '*.go' -o -name go.mod \) ! -name '*_test.go' -print0 |
  xargs -0 cp --parents --no-preserve=mode -t "$work/helm")
(cd "$work/helm" && GIT_CEILING_DIRECTORIES=$work git apply -p1 "$here/patches/helm.patch") ||
  fail "patches/helm.patch doesn't fit Helm $version any more"
cp -R patches/files/. "$work/helm"
cd "$work"
go mod edit -replace helm.sh/helm/v4=./helm -replace mistletoe.dev/engines/yamlfault=./yamlfault

flags=(-trimpath -ldflags "-s -w -buildid= -X helm.sh/helm/v4/internal/version.version=$version")
case $mode in
  test) go test "${flags[@]}" . mistletoe.dev/engines/yamlfault helm.sh/helm/v4/internal/fastyaml helm.sh/helm/v4/pkg/release/v1/util ;;
  native) go build "${flags[@]}" -o "$output" . ;;
  guest) GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared "${flags[@]}" -o "$output" . ;;
esac
