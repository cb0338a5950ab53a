#!/bin/sh
# Builds devcluster into the cache, unless it is there, and prints the binary's path.
# Progress and errors go to standard error. Safe to run several times at once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${MIST_CACHE:-$HOME/.cache/mistletoe-build}

say() { printf 'devcluster build: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Everything that the binary is made from; Go's own version is not part of it, and what only a real node runs neither.
hash=$(cd "$here" && find . -path ./node -prune -o \( -name '*.go' ! -name '*_test.go' -o -name '*.yaml' -o -name go.mod -o -name go.sum -o -name build.sh \
  -o -path './internal/realnode/config/*' \) -type f -print |
  LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-16)
out=$cache/devcluster-$hash
binary=$out/bin/devcluster
if [ -x "$binary" ]; then
  touch -c "$out" 2>/dev/null || : # in use, see the end
  echo "$binary"
  exit 0
fi

command -v go >/dev/null || die "needs Go 1.26 or newer, but there is no 'go' in PATH. Install it from https://go.dev/dl/ and put its bin directory into PATH."
# The machine's toolchain, never one that Go would fetch by itself; C is not used.
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-trimpath CGO_ENABLED=0
have=$(cd / && go env GOVERSION)
major=${have#go}; major=${major%%.*}
minor=${have#go*.}; minor=${minor%%[!0-9]*}
case $major.$minor in *[!0-9.]* | .* | *.) die "can't read the version of Go from '$have'." ;; esac
if [ "$major" -lt 1 ] || { [ "$major" -eq 1 ] && [ "$minor" -lt 26 ]; }; then
  die "needs Go 1.26 or newer, but $(command -v go) is $have. Install a newer one from https://go.dev/dl/."
fi

mkdir -p "$cache"
# One builds, the others wait and find its result.
exec 9>"$cache/devcluster.lock"
flock -n 9 || { say "another build is running, waiting for it"; flock 9; }
if [ -x "$binary" ]; then
  echo "$binary"
  exit 0
fi

work=$(mktemp -d "$cache/.devcluster-XXXXXX")
compiler=
# shellcheck disable=SC2317 # called by trap
clean() {
  [ -z "$compiler" ] || kill "$compiler" 2>/dev/null || :
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

cd "$here"
say "fetching modules"
go mod download >&2 9>&- || die "can't fetch the Go modules (see above). Is the network, or GOPROXY, all right?"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}; minor=${minor%%.*}
x=k8s.io/component-base/version
ldflags="-s -w -X $x.gitVersion=$version -X $x.gitMajor=1 -X $x.gitMinor=$minor -X $x.gitTreeState=clean"
total=$(go list -deps . | wc -l)

say "compiling Kubernetes $version, $total packages; the first time takes about five minutes"
start=$(date +%s)
go build -v -ldflags="$ldflags" -o "$work/bin/devcluster" . >"$work/log" 2>&1 9>&- &
compiler=$!
shown=$start
while kill -0 "$compiler" 2>/dev/null; do
  sleep 1
  now=$(date +%s)
  if [ $((now - shown)) -ge 15 ]; then
    shown=$now
    say "$(wc -l <"$work/log") packages compiled after $((now - start)) s"
  fi
done
status=0
wait "$compiler" || status=$?
compiler=
if [ "$status" -ne 0 ]; then
  tail -n 40 "$work/log" >&2
  die "go build failed (see above)"
fi
ln -s devcluster "$work/bin/kubectl"
chmod 755 "$work"
# Without the lock (another machine on the same cache) the first one wins.
rm -f "$work/log"
mv -T "$work" "$out" 2>/dev/null || [ -x "$binary" ] || die "can't publish the result as $out"
# What nobody asked for in two weeks, and what a killed build left.
find "$cache" -maxdepth 1 -type d \( -name 'devcluster-*' -mtime +14 -o -name '.devcluster-*' -mtime +1 \) -exec rm -rf {} + || :
say "built in $(($(date +%s) - start)) s"
echo "$binary"
