#!/bin/bash
# Makes the tables of Kubernetes' types (make.py, which says of what) once on this machine.
#
#   tools/kube-schemas/build.sh --into DIR DIGESTS   copy them into DIR, and write their digests as a C++ header
#   tools/kube-schemas/build.sh                      print the directory of the cache that has them
#
# MIST_CACHE names the cache (default ~/.cache/mistletoe-build).
set -euo pipefail
shopt -s inherit_errexit

readonly here=$(cd "$(dirname "$0")" && pwd)
source "$here/../wasm-toolchain/cached.sh"

tables() {
  make() {
    echo "kube-schemas: reading the types of Kubernetes, once on this machine"
    python3 "$here/make.py" "$1"
    chmod 644 "$1"/*
  }
  cached kube-schemas "$(hash_of tools/kube-schemas </dev/null)" make
}

into() {
  local directory=$1 header=$2 made table name digest lines=()
  made=$(tables)
  mkdir -p "$directory"
  for table in "$directory"/*; do
    [[ ! -e $table || -e $made/${table##*/} ]] || rm "$table"
  done
  for table in "$made"/*; do
    name=${table##*/}
    cmp -s "$table" "$directory/$name" || install -m 644 "$table" "$directory/$name"
    digest=$(sha256sum "$table" | cut -d' ' -f1)
    name=${name#kubernetes-1.}
    lines+=("    KubeTypesDigest{${name%.json.gz}, \"$digest\"},")
  done
  {
    echo '// Made by tools/kube-schemas/build.sh: the types of Kubernetes that came with this build.'
    echo '#pragma once'
    echo '#include <array>'
    echo '#include "package/type_store.h"'
    echo 'namespace mist::package {'
    echo "inline constexpr std::array<KubeTypesDigest, ${#lines[@]}> kKubeTypesDigests{{"
    printf '%s\n' "${lines[@]}"
    echo '}};'
    echo '}  // namespace mist::package'
  } >"$header.new"
  mv "$header.new" "$header"
}

case ${1:-} in
  --into) into "$2" "$3" ;;
  "") tables ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
