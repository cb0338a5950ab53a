#!/bin/bash
# tools/build.sh PRESET TARGET...: configures build/PRESET if it isn't, and builds. Long third-party builds show their
# progress and happen once for each machine (HACKING.md, "The cache").
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
if ! grep -qs 'MIST_CONFIGURED:' "build/$preset/CMakeCache.txt"; then
  cmake --preset "$preset" -DMIST_CONFIGURED=1 --no-warn-unused-cli >/dev/null
fi
# One line that moves on a terminal, nothing but failures elsewhere.
if [[ -t 1 ]]; then
  exec ninja -C "build/$preset" "$@"
fi
log=build/$preset/build.log
if ! ninja -C "build/$preset" "$@" >"$log" 2>&1; then
  grep -E 'FAILED|error|undefined|No space' "$log" | head -40 >&2 || true
  echo "build: $preset failed; all of it: $log" >&2
  exit 1
fi
