#!/bin/bash
# Fills a git repository with the packages, or those that are named, in the layout of Mistletoe registries:
#
#   packages/publish.sh DESTINATION [NAME...]
#
# makes the reference <registry>/examples/namespace-example:0.1.2 of the file
# examples/namespace-example/namespace-example-0.1.2.mist-pack.wasm.
# DESTINATION is a directory; it becomes a repository if it is none. Published versions of other packages stay. Nothing
# is committed when nothing changed, and author and date are fixed, so that equal modules give equal commits.
set -euo pipefail

# The path under which a package is found, before its name.
readonly FOLDER=examples
readonly packages=$(cd "$(dirname "$0")" && pwd)

(($# >= 1)) || { echo "usage: $0 DESTINATION [NAME...]" >&2; exit 2; }
readonly destination=$1
shift

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0
export GIT_AUTHOR_NAME=Mistletoe GIT_AUTHOR_EMAIL=packages@mistletoe.dev GIT_AUTHOR_DATE='2024-01-01T00:00:00Z'
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
# Set by git hooks and by callers inside another repository; they would redirect what we do.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

if [[ ! -e $destination/.git ]]; then
  if [[ -d $destination && -n $(ls -A "$destination") ]]; then
    echo "publish: $destination is neither empty nor a git repository; name another directory" >&2
    exit 1
  fi
  git init --quiet --initial-branch=main "$destination"
fi

modules=$("$packages/build.sh" "$@")
exec 9>"$(git -C "$destination" rev-parse --absolute-git-dir)/mistletoe-publish.lock"
flock 9

for module in "$modules"/*.mist-pack.wasm; do
  file=$(basename "$module")
  # <name>-<version>: the version begins at the first dash that a digit and a dot follow.
  name=$(sed -E 's/-[0-9]+\..*$//' <<<"$file")
  target="$FOLDER/$name/$file"
  if [[ -f $destination/$target ]] && ! cmp -s "$module" "$destination/$target"; then
    echo "publish: $target was published with other bytes and is replaced" >&2
  fi
  install -D -m 644 "$module" "$destination/$target"
  git -C "$destination" add -- "$target"
done

if git -C "$destination" diff --cached --quiet 2>/dev/null; then
  echo "publish: $destination is up to date" >&2
else
  git -C "$destination" commit --quiet -m "Publish $(cd "$modules" && echo *.mist-pack.wasm | sed 's/\.mist-pack\.wasm//g')"
  echo "publish: committed $(git -C "$destination" rev-parse --short HEAD) to $destination" >&2
fi
