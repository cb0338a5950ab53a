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
# deny WORKSPACE CHECK...
deny() {
  echo "== $1"
  cargo_deny --locked --manifest-path "$1/Cargo.toml" --config "$PWD/deny.toml" check --hide-inclusion-graph "${@:2}" 2>&1
}
# verdict REASON: what was found counts, wherever a database couldn't be fetched.
verdict() {
  ((failed)) && exit 1
  ((unknown)) && echo "$1" && exit 77
  exit 0
}

case ${1:-} in
  crates)
    status=0
    for workspace in "${WORKSPACES[@]}"; do deny "$workspace" bans licenses sources || status=1; done
    exit $status
    ;;
  advisories)
    failed=0 unknown=0
    for workspace in "${WORKSPACES[@]}"; do
      output=$(deny "$workspace" advisories) && echo "$output" && continue
      echo "$output"
      if grep -Eq 'failed to fetch advisory database|unable to (load|fetch) advisory database' <<<"$output"; then
        unknown=1
      else
        failed=1
      fi
    done
    verdict "RustSec's advisory database can't be fetched from here"
    ;;
  go)
    program=$CACHE/govulncheck-$GOVULNCHECK/govulncheck
    [[ -x $program ]] || GOBIN=${program%/*} GOFLAGS= go install "golang.org/x/vuln/cmd/govulncheck@$GOVULNCHECK" || exit 1
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
    failed=0 unknown=0
    # govulncheck DIRECTORY ARGUMENTS...
    govulncheck() {
      local output
      echo "== $1"
      output=$(cd "$1" && "$program" "${@:2}" 2>&1) && echo "$output" && return
      echo "$output"
      if grep -q 'fetching vulnerabilities' <<<"$output"; then unknown=1; else failed=1; fi
    }
    govulncheck engines/yamlfault ./...
    govulncheck engines/openpgp ./...
    # The others are built from a copy of their library's sources with patches.
    if engines/kustomize/stage.sh "$work/kustomize"; then
      GOFLAGS=-modfile=$work/kustomize/engine.mod govulncheck engines/kustomize .
    else
      failed=1
    fi
    if engines/helm/build.sh --native "$work/helm"; then govulncheck engines/helm -mode=binary "$work/helm"; else failed=1; fi
    verdict "the Go project's vulnerability database can't be fetched from here"
    ;;
  *)
    echo "usage: tools/supply-chain.sh crates | advisories | go" >&2
    exit 2
    ;;
esac
