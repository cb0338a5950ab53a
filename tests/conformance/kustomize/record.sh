#!/bin/bash
# record.sh: prints a directory with every build that kustomize's own tests ask for: Test…-N/tree/ holds the files,
# case.json the options and what kustomize gave; and addresses.json, what its parser makes of each address of its tests. It
# comes from running the tests of sigs.k8s.io/kustomize/api, which arrive with the module, with a Run that writes down what it
# does (_record). Tests of charts get the helm of bench/peers, by the name that they look for. Made once, into the cache.
set -euo pipefail
cd "$(dirname "$0")"
. ../../../tools/wasm-toolchain/cached.sh
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-trimpath

record() ( # A subshell, so that its trap isn't its caller's.
  result=$1
  work=$(mktemp -d)
  trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
  ../../../engines/kustomize/stage.sh --plain "$work"
  cp -r _record/. "$work/api/"
  sed -i 's/^func (b \*Kustomizer) Run(/func (b *Kustomizer) runUnrecorded(/' "$work/api/krusty/kustomizer.go"
  sed -i 's/BploLoadFromFileSys/BploUseStaticallyLinked/' "$work"/api/testutils/kusttest/*.go
  cd "$work/api"
  mkdir "$work/home" "$work/tmp" "$work/bin"
  ln -s "$peers/helm" "$work/bin/helmV3"
  # The tests alter git's global configuration: they get a home of their own. A few need containers, plugins to compile or
  # the network, and fail without; what they built is recorded all the same, and the rest runs.
  MIST_RECORD=$result go test -run TestRecordAddresses ./internal/git
  go test -c -ldflags "-X sigs.k8s.io/kustomize/api/provenance.version=(test)" -o "$work/krusty.test" ./krusty
  cd krusty
  PATH=$work/bin:$PATH HOME=$work/home TMPDIR=$work/tmp MIST_RECORD=$result "$work/krusty.test" -test.v >"$work/log" 2>&1 || true
  grep -E '^ *--- (PASS|FAIL|SKIP)' "$work/log" | sed 's/ ([0-9.]*s)$//' | LC_ALL=C sort >"$result/tests"
  [[ $(grep -c '^--- PASS' "$result/tests") -gt 250 ]] || { tail -50 "$work/log" >&2; echo "kustomize's own tests fail, see above" >&2; exit 1; }
)
peers=$(../../../bench/peers/build.sh)
cached kustomize-cases "$({ go version; } | hash_of engines/kustomize/go.mod engines/kustomize/stage.sh tests/conformance/kustomize/_record tests/conformance/kustomize/record.sh bench/peers/helm)" record
