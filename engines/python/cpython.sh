#!/bin/bash
# cpython.sh DIRECTORY: builds CPython for the sandbox into an empty directory:
#
#   include/         its headers
#   lib/*.a          the interpreter with its modules in C
#   native/          the same version for this machine, which compiles modules for engines/python/freeze.py
#   Lib/             the standard library in Python
#
# Needs about five minutes on two cores. The same sources and compiler give the same bytes.
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
readonly output=$(realpath "$1")
readonly CLANG="${MIST_WASM_CLANG:-clang-19}" VERSION=3.13
readonly LLVM=${CLANG#*clang}
readonly JOBS=${MIST_JOBS:-2}

say() { echo "engines/python: $*" >&2; }
fail() { say "$*"; exit 1; }

# step LOG COMMAND...: quiet, unless it fails.
step() {
  local log=$work/$1.log
  shift
  "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2; fail "$* failed (see above)"; }
}

for program in "$CLANG" "llvm-ar$LLVM" cc make; do
  command -v "$program" >/dev/null || fail "no $program; run tools/prerequisites.sh"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/fetch.sh" python3.13 "$work/source"

# Dates would get into the interpreter.
export SOURCE_DATE_EPOCH=1735689600 PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
unset PYTHONHOME PYTHONPATH PYTHONSTARTUP

# For this machine: enough of it to compile modules.
mkdir "$work/native" "$work/wasm"
say "building Python $VERSION for this machine"
cd "$work/native"
step native-configure env PKG_CONFIG=/bin/false "$work/source/configure" --disable-test-modules --without-ensurepip \
  --disable-ipv6 OPT='-O1 -g0 -DNDEBUG'
step native-make make -j"$JOBS" python

say "building Python $VERSION for the sandbox"
cd "$work/wasm"
readonly map="-ffile-prefix-map=$work=/python"
step configure env MIST_PYTHON_SOURCE="$work/source" CONFIG_SITE="$here/config.site" PKG_CONFIG=/bin/false \
  CC="$CLANG --target=wasm32-wasi" CXX="${CLANG/clang/clang++} --target=wasm32-wasi" CPP="$CLANG --target=wasm32-wasi -E" \
  AR="llvm-ar$LLVM" RANLIB="llvm-ranlib$LLVM" OPT="-DNDEBUG -O2 -g0 -Wall" CFLAGS="$map" \
  "$work/source/configure" --host=wasm32-unknown-wasi --build="$("$work/source/config.guess")" \
  --with-build-python="$work/native/python" --disable-test-modules --without-ensurepip --disable-ipv6 --with-pymalloc
step make make -j"$JOBS" "libpython$VERSION.a"

mkdir -p "$output"/{include,lib,native/bin,native/lib}
cp -R "$work/source/Include/." "$work/wasm/pyconfig.h" "$output/include"
find "$work/wasm" -name '*.a' -exec cp -t "$output/lib" {} +
cp "$work/native/python" "$output/native/bin/python"
(cd "$work/source/Lib" && find . -name '*.py' ! -path './test/*' ! -path '*/idlelib/*' -print0 |
  xargs -0 cp --parents --no-preserve=mode -t "$(mkdir -p "$output/Lib" && echo "$output/Lib")")
ln -s ../../Lib "$output/native/lib/python$VERSION"
