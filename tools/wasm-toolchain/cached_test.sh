#!/bin/bash
# A builder that fails ends the script that called it and leaves nothing in the cache, in each way that scripts call it.
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MIST_CACHE=$work/cache

fail() { echo "cached_test: $*" >&2; exit 1; }
# published NAME: what the cache has under this name.
published() { find "$MIST_CACHE/$1" -mindepth 1; }
# script LINE…: a script that builds with cached.sh; it prints "went on" unless something ended it.
script() {
  {
    echo 'set -euo pipefail'
    printf 'source %q\n' "$here/cached.sh"
    echo 'broken() { touch "$1/half"; false; touch "$1/rest"; }'
    echo 'whole() { touch "$1/all"; }'
    printf '%s\n' "$@" 'echo "went on"'
  } >"$work/script.sh"
  bash "$work/script.sh" 2>&1
}

ways=(
  'directory=$(cached broken 1 broken)'
  'cached broken 1 broken'
  'cat "$(cached broken 1 broken)/half"'
  'print() { cached broken 1 broken; }; directory=$(print)'
)
for way in "${ways[@]}"; do
  output=$(script "$way") && fail "a failed build is a success: $way"
  [[ $output != *"went on"* ]] || fail "the script goes on after a failed build: $way"
  [[ -z $(published broken) ]] || fail "a failed build is published: $way: $(published broken)"
done

output=$(script 'cached whole 1 whole')
directory=${output%%$'\n'*}
[[ $directory == "$MIST_CACHE/whole/1" && -e $directory/all ]] || fail "a build isn't published: $directory"
script 'hash=$(hash_of no/such/path </dev/null)' >/dev/null && fail "a hash of files that aren't there"
script 'directory=$(cached whole "" whole)' >/dev/null && fail "a build without a hash"
echo "cached.sh: ok"
