#!/bin/bash
# Makes the container image of mistletoe-operator, with mistctl beside it, as an OCI archive, and prints its path:
#   tools/operator-image.sh [--prefix DIR] [--name NAME:TAG] [OUT.tar]
# --prefix: where Mistletoe is installed; without it a release is built. Root isn't needed, nor a container runtime, but
# a machine whose apt knows Debian 12. The same programs and packages give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix='' name='' out=''
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) prefix=${2:?--prefix needs a directory}; shift 2 ;;
    --name) name=${2:?--name needs NAME:TAG}; shift 2 ;;
    -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;;
    -*) echo "operator-image.sh: unknown flag $1; see --help" >&2; exit 2 ;;
    *) [ -z "$out" ] || { echo "operator-image.sh: one file is written, not $out and $1" >&2; exit 2; }; out=$1; shift ;;
  esac
done
if [ -z "$prefix" ]; then
  tools/prerequisites.sh
  tools/build.sh release -DMIST_ENGINES=all mistctl mistletoe-operator mistletoe-catalog manual_pages
  prefix=$PWD/build/image
  rm -rf "$prefix"
  cmake --install build/release --prefix "$prefix" >/dev/null
fi
for program in mistctl mistletoe-operator; do
  [ -x "$prefix/bin/$program" ] || { echo "operator-image.sh: there is no program $prefix/bin/$program" >&2; exit 1; }
done
version=$("$prefix/bin/mistletoe-operator" --version | cut -d' ' -f2)
exec python3 tools/operator_image.py --prefix "$prefix" --version "$version" --name "${name:-mistletoe-operator:$version}" \
  --work "${MIST_CACHE:-$HOME/.cache/mistletoe-build}/operator-image" --out "${out:-build/mistletoe-operator-$version.tar}"
