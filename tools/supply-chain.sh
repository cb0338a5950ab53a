#!/bin/bash
# tools/supply-chain.sh crates | advisories | go: what others wrote and we ship.
#
#   crates       licences and origins of all crates, by deny.toml
#   advisories   crates with known vulnerabilities, or that were yanked (RustSec's database)
#   go           calls of vulnerable functions in the engines' Go modules (the Go project's database)
#
# Exits 77, with the reason in the last line, where a database can't be fetched: then nothing is known, which isn't the same as
# nothing being wrong. The tools are built once, into the cache.
set -uo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/local/go/bin:${HOME:-/root}/.cargo/bin
readonly CACHE=${MIST_CACHE:-$HOME/.cache/mistletoe-build} DENY=0.20.2 GOVULNCHECK=v1.9.0
readonly WORKSPACES=(third_party/runtime engines/rust sdk/rust packages)

cargo_deny() {
  local root=$CACHE/cargo-deny-$DENY
  [[ -x $root/bin/cargo-deny ]] ||
    CARGO_TARGET_DIR=$CACHE/cargo/deny cargo install --quiet --locked --root "$root" "cargo-deny@$DENY" >&2 || return 1
  rm -rf "$CACHE/cargo/deny"
  "$root/bin/cargo-deny" "$@"
}
# deny CHECK...: of each workspace.
deny() {
  local workspace status=0
  for workspace in "${WORKSPACES[@]}"; do
    echo "== $workspace"
    cargo_deny --locked --manifest-path "$workspace/Cargo.toml" --config "$PWD/deny.toml" check --hide-inclusion-graph "$@" 2>&1 ||
      status=1
  done
  return $status
}
skip() { echo "$*"; exit 77; }

case ${1:-} in
  crates) deny bans licenses sources ;;
  advisories)
    output=$(deny advisories)
    status=$?
    echo "$output"
    ((status == 0)) && exit 0
    grep -Eq 'failed to fetch advisory database|unable to (load|fetch) advisory database' <<<"$output" &&
      skip "RustSec's advisory database can't be fetched from here"
    exit 1
    ;;
  go)
    program=$CACHE/govulncheck-$GOVULNCHECK/govulncheck
    [[ -x $program ]] || GOBIN=${program%/*} GOFLAGS= go install "golang.org/x/vuln/cmd/govulncheck@$GOVULNCHECK" || exit 1
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
    status=0
    # govulncheck NAME ARGUMENTS...
    govulncheck() {
      local output failed=0
      echo "== $1"
      output=$("$program" "${@:2}" 2>&1) || failed=1
      echo "$output"
      ! grep -q 'fetching vulnerabilities' <<<"$output" ||
        skip "the Go project's vulnerability database can't be fetched from here"
      return $failed
    }
    (cd engines/yamlfault && govulncheck engines/yamlfault ./...) || status=$?
    ((status != 77)) || exit 77
    (cd engines/openpgp && govulncheck engines/openpgp ./...) || status=1
    # The others are built from a copy of their library's sources with patches.
    engines/kustomize/stage.sh "$work/kustomize" &&
      (cd engines/kustomize && GOFLAGS=-modfile=$work/kustomize/engine.mod govulncheck engines/kustomize .) || status=1
    engines/helm/build.sh --native "$work/helm" && govulncheck engines/helm -mode=binary "$work/helm" || status=1
    exit $status
    ;;
  *)
    echo "usage: tools/supply-chain.sh crates | advisories | go" >&2
    exit 2
    ;;
esac
