#!/bin/bash
# Makes a container image as an OCI archive, and prints its path:
#   tools/image.sh operator|catalog [--prefix DIR] [--name NAME:TAG] [OUT.tar]
# operator: mistletoe-operator, with mistctl beside it. catalog: mistletoe-catalog, with mistctl, kpm and bubblewrap; also for
# the Pods of `worker --jobs-image`. --prefix: where Mistletoe is installed; without it a release is built. Root isn't needed,
# nor a container runtime, but a machine whose apt knows Debian 12. The same programs and packages give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
which='' prefix='' name='' out=''
usage() { echo "image.sh: $1; see --help" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) prefix=${2:?--prefix needs a directory}; shift 2 ;;
    --name) name=${2:?--name needs NAME:TAG}; shift 2 ;;
    -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;;
    -*) usage "unknown flag $1" ;;
    *) if [ -z "$which" ]; then which=$1; elif [ -z "$out" ]; then out=$1; else usage "one file is written, not $out and $1"; fi
       shift ;;
  esac
done
case $which in
  operator | catalog) ;;
  '') usage "name the image: operator or catalog" ;;
  *) usage "there is no image $which, only operator and catalog" ;;
esac
if [ -z "$prefix" ]; then
  tools/prerequisites.sh
  tools/build.sh release -DMIST_ENGINES=all mistctl mistletoe-operator mistletoe-catalog manual_pages
  prefix=$PWD/build/image
  rm -rf "$prefix"
  cmake --install build/release --prefix "$prefix" >/dev/null
fi
for program in mistctl "mistletoe-$which"; do
  [ -x "$prefix/bin/$program" ] || { echo "image.sh: there is no program $prefix/bin/$program; install Mistletoe there" >&2; exit 1; }
done
version=$("$prefix/bin/mistletoe-$which" --version | cut -d' ' -f2)
exec python3 tools/image.py "$which" --prefix "$prefix" --version "$version" --name "${name:-mistletoe-$which:$version}" \
  --work "${MIST_CACHE:-$HOME/.cache/mistletoe-build}/image" --out "${out:-build/mistletoe-$which-$version.tar}"
