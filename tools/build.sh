#!/bin/bash
# tools/build.sh PRESET [-DNAME=VALUE...] TARGET...: configures build/PRESET if it isn't so yet, and builds. Long third-party
# builds show their progress and happen once for each machine (HACKING.md, "The cache").
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/progress.sh
preset=$1
shift
settings=() targets=()
for word in "$@"; do
  case $word in
    -D*) settings+=("$word") ;;
    *) targets+=("$word") ;;
  esac
done
cache=build/$preset/CMakeCache.txt
configured() {
  local setting
  grep -qs 'MIST_CONFIGURED:' "$cache" || return 1
  for setting in "${settings[@]}"; do
    grep -qE "^${setting:2:$((${#setting} - 2))}$" <(sed -nE 's/^([A-Za-z_]+):[A-Z]+=(.*)/\1=\2/p' "$cache") || return 1
  done
}
configured || cmake --preset "$preset" -DMIST_CONFIGURED=1 "${settings[@]}" --no-warn-unused-cli >/dev/null
if [[ -t 1 ]]; then
  exec ninja -C "build/$preset" "${targets[@]}"
fi
log=build/$preset/build.log
: >"$log"
follow "building $preset" "$log" &
follower=$!
trap '{ kill "$follower" && wait "$follower"; } 2>/dev/null || true' EXIT
if ! ninja -C "build/$preset" "${targets[@]}" >"$log" 2>&1; then
  grep -E 'FAILED|error|undefined|No space' "$log" | head -40 >&2 || true
  echo "build: $preset failed; all of it: $log" >&2
  exit 1
fi
