#!/bin/bash
# build.sh OUTPUT.wasm: builds the Python engine. CPython itself is built once for each version and compiler; after that only
# the modules in Python are compiled again.
set -euo pipefail
shopt -s inherit_errexit

readonly here=$(cd "$(dirname "$0")" && pwd)
[[ $# == 1 ]] || { echo "usage: build.sh OUTPUT.wasm" >&2; exit 2; }
readonly output=$(realpath -m "$1")
source "$here/../../tools/wasm-toolchain/cached.sh"
readonly CLANG="${MIST_WASM_CLANG:-clang-19}"
command -v "$CLANG" >/dev/null || { echo "engines/python: no $CLANG; run tools/prerequisites.sh" >&2; exit 1; }

build() { "$here/cpython.sh" "$1"; }
hash=$("$CLANG" --version | head -n1 | hash_of engines/python/{cpython.sh,config.site,fetch.sh,sources.lock})
python=$(cached cpython "$hash" build)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for library in jinja2 markupsafe pyyaml; do
  "$here/fetch.sh" "$library" "$work/$library"
done
PYTHONHOME=$python/native PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 "$python/native/bin/python" -S "$here/freeze.py" "$work" \
  "$here/lib" mistletoe="$here/../../sdk/python/mistletoe" jinja2="$work/jinja2/src/jinja2" \
  markupsafe="$work/markupsafe/src/markupsafe" yaml="$work/pyyaml/lib/yaml" "$python/Lib" >&2

wrapped=(fd_advise fd_allocate fd_close fd_datasync fd_fdstat_get fd_fdstat_set_flags fd_filestat_get fd_filestat_set_size
  fd_filestat_set_times fd_pread fd_prestat_dir_name fd_prestat_get fd_pwrite fd_read fd_readdir fd_renumber fd_seek fd_sync fd_tell
  fd_write path_create_directory path_filestat_get path_filestat_set_times path_link path_open path_readlink path_remove_directory
  path_rename path_symlink path_unlink_file)
# The stack lies below the data, so that running over it traps.
"$CLANG" --target=wasm32-wasi -mexec-model=reactor -O2 -g0 -std=c2x -Wall -Wextra -Wno-unused-parameter -Wno-c23-extensions \
  -ffile-prefix-map="$work=/python" -I"$python/include" -I"$work" -I"$here" "$here/guest.c" "$here/ramfs.c" \
  "${wrapped[@]/#/-Wl,--wrap=__wasi_}" "$python"/lib/*.a \
  -lwasi-emulated-signal -lwasi-emulated-getpid -lwasi-emulated-process-clocks -lm \
  -Wl,-z,stack-size=8388608 -Wl,--stack-first -Wl,--initial-memory=33554432 -Wl,--strip-all -o "$output"
