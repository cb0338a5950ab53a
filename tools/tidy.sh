#!/bin/bash
# clang-tidy over the C++ sources that changed: against origin/main, or where that is the same (CI), by the last commit.
# --all: every source.
set -uo pipefail
cd "$(dirname "$0")/.."
base=$(git merge-base HEAD origin/main 2>/dev/null || true)
[[ -n $base && $base != "$(git rev-parse HEAD)" ]] || base=$(git rev-parse --verify --quiet HEAD~1 || git hash-object -t tree /dev/null)
if [[ ${1:-} == --all ]]; then
  mapfile -t files < <(git ls-files -- 'src/*.cc')
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cc' | head -n 40)
fi
((${#files[@]})) || { echo "nothing changed"; exit 0; }
printf '%s\n' "${files[@]}" | xargs -P 2 -n 4 clang-tidy-19 --quiet -p build/dev --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*' 2>&1 | grep -vE 'warnings generated|^$'
exit "${PIPESTATUS[1]}"
