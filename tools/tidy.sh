#!/bin/bash
# clang-tidy over the C++ sources that changed: against origin/main, or where that is the same (CI), by the last commit.
# --all: every source; or those that are named. What was found clean before is known (clang_tidy.py).
set -uo pipefail
cd "$(dirname "$0")/.."
base=$(git merge-base HEAD origin/main 2>/dev/null || true)
[[ -n $base && $base != "$(git rev-parse HEAD)" ]] || base=$(git rev-parse --verify --quiet HEAD~1 || git hash-object -t tree /dev/null)
if [[ ${1:-} == --all ]]; then
  mapfile -t files < <(git ls-files -- 'src/*.cc')
elif (($#)); then
  files=("$@")
else
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cc' | head -n 40)
fi
((${#files[@]})) || { echo "nothing changed"; exit 0; }
# One command for each source, whatever is compiled together; generated headers are those of build/dev.
cmake --preset dev -B build/tidy -DMIST_UNITY=OFF --no-warn-unused-cli >/dev/null || exit 1
sed -i "s#$PWD/build/tidy#$PWD/build/dev#g" build/tidy/compile_commands.json
exec python3 tools/clang_tidy.py build/tidy "${MIST_CACHE:-$HOME/.cache/mistletoe-build}/clang-tidy" "${files[@]}"
