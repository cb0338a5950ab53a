#!/bin/sh
# Builds the program of tests/registries/NAME into the cache, unless it is there, and prints the program's path.
# Progress and errors go to standard error. Safe to run several times at once.
#
# A folder without main.go has the program as the `tool` of its go.mod, because a main package can't be imported.
#
#   tests/registries/build.sh distribution
set -eu
name=${1:?which one: cosign, crane, distribution, flux, kustomize-controller, oras or source-controller}
here=$(cd "$(dirname "$0")/$name" && pwd)
cache=${MIST_CACHE:-$HOME/.cache/mistletoe-build}
hash=$(cd "$here" && { find . -name '*.go' -o -path './*/go.mod' | LC_ALL=C sort | xargs cat; cat go.mod go.sum; } | sha256sum | cut -c1-16)
binary=$cache/registry-$name-$hash
if [ -x "$binary" ]; then
  touch -c "$binary" 2>/dev/null || :
  echo "$binary"
  exit 0
fi
command -v go >/dev/null || { echo "registries: needs Go 1.26 or newer, but there is no 'go' in PATH" >&2; exit 1; }
mkdir -p "$cache"
# One builds, the others wait and find its result.
exec 9>"$cache/registry-$name.lock"
flock 9
if [ ! -x "$binary" ]; then
  package=. minutes="about a minute"
  [ -e "$here/main.go" ] || package=tool minutes="about ten minutes"
  echo "registries: compiling $name; the first time takes $minutes" >&2
  work=$(mktemp "$cache/.registry-XXXXXX")
  trap 'rm -f "$work"' EXIT
  (cd "$here" && GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 go build -mod=readonly -trimpath -ldflags '-s -w' -o "$work" "$package" >&2 9>&-)
  chmod 755 "$work"
  mv "$work" "$binary"
  # What nobody asked for in two weeks.
  find "$cache" -maxdepth 1 -type f -name "registry-$name-*" -mtime +14 -exec rm -f {} + || :
fi
echo "$binary"
