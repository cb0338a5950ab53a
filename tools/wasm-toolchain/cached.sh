# shellcheck shell=bash
# Sourced by the scripts that build modules: results lie in the cache, in a directory named by the hash of what they are
# made from, so an unchanged tree builds nothing and a changed one never sees old modules.

# Callers write $(cached …), in which bash switches -e off: a builder would go on after what failed, and its result be kept.
# Write it as an assignment of its own; in a condition, or before ||, -e is off all the same.
shopt -s inherit_errexit

MIST_REPOSITORY=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
MIST_CACHE_DIR="${MIST_CACHE:-$HOME/.cache/mistletoe-build}"

# hash_of PATH…: of the files below these paths of the repository, and of standard input (versions of compilers).
hash_of() {
  {
    cat
    # From any other directory the listed names, and so the hash, would differ.
    cd "$MIST_REPOSITORY"
    find "$@" -name target -prune -o -type f ! -name '*.md' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  } | sha256sum | cut -c1-32
}

# cached NAME HASH BUILD: prints the directory NAME/HASH of the cache; if it isn't there, calls BUILD with an empty
# directory first, whose content it becomes when BUILD succeeds. One builder of NAME at a time, because cargo's output
# files would else be replaced between building and copying.
cached() {
  local name=$1 result="$MIST_CACHE_DIR/$1/${2:?no hash of what $1 is made from}" build=$3
  if [[ ! -d $result ]]; then
    mkdir -p "$MIST_CACHE_DIR/$name" "$MIST_CACHE_DIR/cargo"
    (
      flock 9
      [[ ! -d $result ]] || exit 0
      staging=$(mktemp -d "$MIST_CACHE_DIR/$name/.building.XXXXXX")
      trap 'rm -rf "$staging"' EXIT
      "$build" "$staging" >&2
      chmod 755 "$staging"
      mv -T "$staging" "$result"
    ) 9>"$MIST_CACHE_DIR/cargo/$name.lock"
  fi
  echo "$result"
}

# build_module WORKSPACE_DIR TARGET PACKAGE OUTPUT: compiles one Rust package and copies its module to OUTPUT.
build_module() {
  local workspace=$1 target=$2 package=$3 output=$4
  local target_dir="$MIST_CACHE_DIR/cargo/$(basename "$workspace")"
  "$MIST_REPOSITORY/tools/wasm-toolchain/cargo-build.sh" "$workspace" "$target" "$target_dir" -p "$package"
  install -m 644 "$target_dir/$target/release/${MODULE_FILE:-$package}.wasm" "$output"
}
