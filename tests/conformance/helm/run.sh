#!/bin/bash
# Compares the Helm engine with Helm; see README.md. Arguments go to the program.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../../.." && pwd)
source "$repository/tools/wasm-toolchain/cached.sh"
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-buildvcs=false CGO_ENABLED=0

build() { "$repository/engines/helm/build.sh" --native "$1/helm-engine"; }
engine=$(cached engine-helm-native "$(go env GOVERSION | hash_of engines/helm)" build)
peers=$("$repository/bench/peers/build.sh")
cd "$here"
sources=$(go list -m -f '{{.Dir}}' helm.sh/helm/v4)
program=$(mktemp)
trap 'rm -f "$program"' EXIT
go build -o "$program" .
"$program" -helm "$peers/helm" -engine "$engine/helm-engine" -sources "$sources" "$@"
