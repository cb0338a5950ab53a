#!/bin/sh
# Builds the peers that the benches compare with, helm, kubectl, kustomize and kro, from their Go modules into the cache, unless they
# are there, and prints the directory of the programs; kro's CRDs are in its `kro-crds`. Progress and errors go to standard error. Safe to run several times
# at once: one builds, the others wait.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${MIST_CACHE:-$HOME/.cache/mistletoe-build}

say() { printf 'peers build: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

hash=$(cd "$here" && find . \( -name '*.go' -o -name go.mod -o -name go.sum -o -name build.sh \) -type f |
  LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-16)
out=$cache/peers-$hash
if [ -d "$out" ]; then
  touch -c "$out" 2>/dev/null || : # in use, see the end
  echo "$out"
  exit 0
fi

command -v go >/dev/null || die "needs Go 1.26 or newer, but there is no 'go' in PATH. Install it from https://go.dev/dl/ and put its bin directory into PATH."
# The machine's toolchain, never one that Go would fetch by itself; C is not used, as in the peers' own releases.
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-trimpath CGO_ENABLED=0

mkdir -p "$cache"
exec 9>"$cache/peers.lock"
flock -n 9 || { say "another build is running, waiting for it"; flock 9; }
if [ -d "$out" ]; then
  echo "$out"
  exit 0
fi
work=$(mktemp -d "$cache/.peers-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
start=$(date +%s)

# peer NAME MODULE PACKAGE VARIABLE: VARIABLE is what the linker writes MODULE's version into.
peer() {
  cd "$here/$1"
  go mod download >&2 9>&- || die "can't fetch the Go modules of $1 (see above). Is the network, or GOPROXY, all right?"
  version=$(go list -m -f '{{.Version}}' "$2")
  if [ "$1" = kubectl ]; then version=v1.${version#v0.}; fi # k8s.io/kubectl v0.36.3 is kubectl v1.36.3
  say "compiling $1 $version; the first time takes about two minutes"
  go build -ldflags="-s -w -X $4=$version" -o "$work/$1" "$3" >&2 9>&- || die "go build of $1 failed (see above)"
  echo "$1 $version" >>"$work/versions"
}
peer helm helm.sh/helm/v4 helm.sh/helm/v4/cmd/helm helm.sh/helm/v4/internal/version.version
peer kubectl k8s.io/kubectl . k8s.io/component-base/version.gitVersion
peer kustomize sigs.k8s.io/kustomize/kustomize/v5 sigs.k8s.io/kustomize/kustomize/v5 sigs.k8s.io/kustomize/api/provenance.version
peer kro github.com/kubernetes-sigs/kro github.com/kubernetes-sigs/kro/cmd/controller main.version
cp -r "$(go list -m -f '{{.Dir}}' github.com/kubernetes-sigs/kro)/helm/crds" "$work/kro-crds"
chmod -R u+w,go+rX "$work"
chmod 755 "$work"
mv -T "$work" "$out" 2>/dev/null || [ -d "$out" ] || die "can't publish the result as $out"
# What nobody asked for in two weeks, and what a killed build left.
find "$cache" -maxdepth 1 -type d \( -name 'peers-*' -mtime +14 -o -name '.peers-*' -mtime +1 \) -exec rm -rf {} + || :
say "built in $(($(date +%s) - start)) s"
echo "$out"
