#!/bin/bash
# Compares the Helm engine with Helm, or with --through MISTCTL all of `mistctl generate -o helm`; --own: only the charts
# of our own. See README.md. Other arguments go to the program.
set -euo pipefail

through= own=false
while (($#)); do
  case $1 in
    --through) through=$(realpath "$2"); shift 2 ;;
    --own) own=true; shift ;;
    *) break ;;
  esac
done
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../../.." && pwd)
source "$repository/tools/wasm-toolchain/cached.sh"
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-buildvcs=false CGO_ENABLED=0

build() { "$repository/engines/helm/build.sh" --native "$1/helm-engine"; }
options=()
if [[ $through ]]; then
  options+=(-mistctl "$through" -explained "$here/explained.txt")
else
  hash=$(go env GOVERSION | hash_of engines/helm engines/yamlfault tools/wasm-toolchain)
  engine=$(cached engine-helm-native "$hash" build)
  options+=(-engine "$engine/helm-engine")
fi
peers=$("$repository/bench/peers/build.sh")
cd "$here"
$own || options+=(-sources "$(go list -m -f '{{.Dir}}' helm.sh/helm/v4)")
program=$(mktemp)
trap 'rm -f "$program"' EXIT
go build -o "$program" .
"$program" -helm "$peers/helm" "${options[@]}" "$@"
