#!/bin/bash
# clang-format of every C and C++ file that git knows; names those that differ.
set -uo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files -- 'src/*.cc' 'src/*.h' 'tests/*.cc' 'tests/*.h' 'third_party/fmt/*.cc' 'bench/*.cc' 'bench/*.h')
if ! clang-format-19 --dry-run --Werror "${files[@]}" 2>/tmp/format.$$; then
  grep -oE '^[^ :]+\.(cc|h):[0-9]+' /tmp/format.$$ | sort -u -t: -k1,1 | head -20
  echo "run: clang-format-19 -i FILES"
  rm -f /tmp/format.$$
  exit 1
fi
rm -f /tmp/format.$$
