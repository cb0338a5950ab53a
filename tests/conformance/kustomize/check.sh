#!/bin/bash
# check.sh [--full]: the Kustomize engine against kustomize itself. Quick: the engine's own tests, and every build of
# kustomize's own tests through the engine as a library. Full: the same builds through the module as it is shipped, under
# Node, and all output of it again with other random bytes.
set -euo pipefail
cd "$(dirname "$0")"
full=false
[[ ${1:-} == --full ]] && full=true
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-trimpath
engine=../../../engines/kustomize
cases=$(./record.sh)

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
$engine/stage.sh "$work/engine"
(cd $engine && go test -modfile "$work/engine/engine.mod" ./engine)
$engine/stage.sh "$work/compare" "$PWD"
go build -modfile "$work/compare/engine.mod" -ldflags "-X sigs.k8s.io/kustomize/api/provenance.version=(test)" -o "$work/compare/compare" .
echo "the engine as a library:"
"$work/compare/compare" "$cases"
$full || exit 0

$engine/build.sh "$work/kustomize.wasm"
# Processor time is nearly all of it: one beside the other. Node 20's quick calls of a hot module's imports abort the process.
node=(node --no-warnings --no-turbo-fast-api-calls)
for seed in 1 2; do
  "$work/compare/compare" "$cases" -- "${node[@]}" "$PWD/run-guest.mjs" "$work/kustomize.wasm" --random $seed >"$work/said$seed" 2>&1 &
  running[seed]=$!
done
status=0
for seed in 1 2; do
  wait "${running[seed]}" || status=1
  echo "the engine as a module, random bytes $seed:"
  cat "$work/said$seed"
done
exit $status
