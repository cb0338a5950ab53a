#!/bin/bash
# Builds the OpenPGP engine:
#
#   engines/openpgp/build.sh OUTPUT.wasm           the guest
#   engines/openpgp/build.sh --test                runs its tests, with Helm's own files among others
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "engines/openpgp: $*" >&2; exit 1; }

[[ $# == 1 ]] || fail "usage: build.sh OUTPUT.wasm | --test"
command -v go >/dev/null || fail "no go; install Go 1.26 or newer from https://go.dev/dl"
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-buildvcs=false CGO_ENABLED=0
if [[ $1 == --test ]]; then
  cd "$here"
  HELM_DIRECTORY=$(go list -m -f '{{.Dir}}' helm.sh/helm/v4) go test .
  exit
fi
output=$(realpath -m "$1")
cd "$here"
go mod download || fail "can't fetch the Go modules (see above). Is the network, or GOPROXY, all right?"
GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags "-s -w -buildid=" -o "$output" .
