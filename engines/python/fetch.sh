#!/bin/bash
# fetch.sh NAME DIRECTORY: unpacks the archive of sources.lock whose file name begins with NAME into DIRECTORY, without
# its top directory.
#
# It comes from the Debian mirrors that apt is configured with, through apt, so that its proxies and certificates hold;
# where there is no apt, or the mirror lacks it, from Debian itself and the further addresses of sources.lock. Where it
# comes from doesn't matter: its digest is checked. Kept in the cache.
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../tools/wasm-toolchain/cached.sh"
readonly DEBIAN=https://deb.debian.org/debian
readonly APT_HELPER=/usr/lib/apt/apt-helper

fail() { echo "engines/python: $*" >&2; exit 1; }

is_right() { sha256sum --check --status <<<"$sha256  $1" 2>/dev/null; }

# The mirrors of Debian's main archive, those that apt was told of first.
mirrors() {
  { apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 2>/dev/null || true; } |
    sed -n 's#^Debian \(.*/debian\)/$#\1#p' | sort -u
  echo "$DEBIAN"
}

by_apt() { [[ -x $APT_HELPER ]] && "$APT_HELPER" download-file "$1" "$2" "SHA256:$sha256" >&"$log" 2>&1; }
by_curl() { command -v curl >/dev/null && curl --fail --silent --show-error --location --output "$2" "$1" >&"$log" 2>&1; }

download() {
  local target=$1 address way
  for address in $(mirrors | sed "s#\$#/$path#") $others; do
    for way in by_apt by_curl; do
      rm -f "$target"
      "$way" "$address" "$target" && is_right "$target" && return 0
      echo "engines/python: $address: no archive with the digest $sha256 (${way#by_})" >&"$log"
    done
  done
  return 1
}

(($# == 2)) || fail "usage: fetch.sh NAME DIRECTORY"
read -r sha256 path others < <(grep -E "^[0-9a-f]{64} [^ ]*/$1_" "$here/sources.lock") || fail "sources.lock has no $1"
archive=$MIST_CACHE_DIR/sources/$sha256-$(basename "$path")
if ! is_right "$archive"; then
  mkdir -p "$(dirname "$archive")"
  staged=$(mktemp -d "$MIST_CACHE_DIR/sources/.fetching.XXXXXX")
  trap 'rm -rf "$staged"' EXIT
  exec {log}>"$staged/log"
  download "$staged/archive" || {
    cat "$staged/log" >&2
    fail "can't fetch $(basename "$path") (see above). Is the network, or apt's proxy, all right? Or put it there yourself: $archive"
  }
  mv "$staged/archive" "$archive"
fi
mkdir -p "$2"
tar --extract --file "$archive" --directory "$2" --strip-components=1 --no-same-owner
