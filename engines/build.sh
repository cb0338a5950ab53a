#!/bin/bash
# Builds the engines: the guests that render charts, Kustomize directories and templates. Each is the directory
# engines/NAME with a build.sh that writes one WebAssembly module; what was built once on this machine is reused.
#
#   engines/build.sh NAME                  build one and print the path of its module
#   engines/build.sh --into DIR DIGESTS PREPARE
#                                          build all, prepare them with the program mist-prepare into DIR/NAME.wasm, and
#                                          write their digests as a C++ header
#   engines/build.sh --compile DIR MISTCTL compile those in DIR with that mistctl into DIR/code, or take what another
#                                          checkout compiled
#
# MIST_ENGINES=none: --into takes none; MIST_ENGINES=jinja,python: those. MIST_CACHE names the cache (default ~/.cache/mistletoe-build).
set -euo pipefail
shopt -s inherit_errexit

readonly here=$(cd "$(dirname "$0")" && pwd)
source "$here/../tools/wasm-toolchain/cached.sh"

engines() {
  local script
  for script in "$here"/*/build.sh; do
    [[ -e $script ]] && basename "$(dirname "$script")"
  done
}

# What an engine is made from besides its own directory: one path of the repository a line.
sources() {
  echo "engines/$1"
  [[ ! -e $here/$1/sources ]] || cat "$here/$1/sources"
}

compilers() { { go env GOVERSION; rustc --version --verbose; } 2>/dev/null || true; }

module() {
  local engine=$1 hash directory paths
  [[ -x $here/$engine/build.sh ]] || {
    echo "engines: there is no engine $engine; there are: $(engines | xargs)" >&2
    return 1
  }
  mapfile -t paths < <(sources "$engine")
  hash=$(compilers | hash_of "${paths[@]}" tools/wasm-toolchain)
  build() {
    echo "engines: building $engine, once on this machine"
    "$here/$engine/build.sh" "$1/$engine.wasm"
    chmod 644 "$1/$engine.wasm"
  }
  directory=$(cached "engine-$engine" "$hash" build)
  echo "$directory/$engine.wasm"
}

# The module as it is after its start-up; made once for each state of the engine and of what prepares it.
prepared() {
  local engine=$1 program=$2 raw hash directory
  raw=$(module "$engine")
  hash=$(sha256sum <"$raw" | hash_of src/wasm src/crypto third_party/runtime)
  prepare() {
    echo "engines: preparing $engine"
    "$program" "$raw" "$1/$engine.wasm"
    chmod 644 "$1/$engine.wasm"
  }
  directory=$(cached "engine-$engine-prepared" "$hash" prepare)
  echo "$directory/$engine.wasm"
}

compile() {
  local directory=$1 mistctl=$2 shared=$MIST_CACHE_DIR/engine-code home
  [[ -n $(ls "$directory"/*.wasm 2>/dev/null) ]] || return 0
  mkdir -p "$directory/code" "$shared"
  find "$shared" -type f -mtime +14 -delete
  [[ -z $(ls "$shared") ]] || cp -n "$shared"/*.code "$shared"/*.stamp "$directory/code/" 2>/dev/null || true
  home=$(mktemp -d)
  MIST_HOME_LOCATION=$home MIST_ENGINES_LOCATION=$directory "$mistctl" engines compile --installed >/dev/null
  rm -rf "$home"
  cp -n "$directory"/code/*.code "$directory"/code/*.stamp "$shared/" 2>/dev/null || true
}

# Names of those that --into takes.
chosen() {
  case ${MIST_ENGINES:-all} in
    all) engines ;;
    none) ;;
    *) tr , '\n' <<<"$MIST_ENGINES" ;;
  esac
}

into() {
  local directory=$1 header=$2 program=$3 name built staged lines=() digest
  mkdir -p "$directory"
  for name in $(chosen); do
    built=$(prepared "$name" "$program")
    if ! cmp -s "$built" "$directory/$name.wasm"; then
      staged=$(mktemp "$directory/.$name.XXXXXX")
      install -m 644 "$built" "$staged"
      mv "$staged" "$directory/$name.wasm"
    fi
    digest=$(sha256sum "$directory/$name.wasm" | cut -d' ' -f1)
    lines+=("    EngineDigest{\"$name\", \"$digest\"},")
  done
  {
    echo '// Made by engines/build.sh: the engines that came with this build.'
    echo '#pragma once'
    echo '#include <array>'
    echo '#include "package/engine.h"'
    echo 'namespace mist::package {'
    echo "inline constexpr std::array<EngineDigest, ${#lines[@]}> kEngineDigests{{"
    ((${#lines[@]} == 0)) || printf '%s\n' "${lines[@]}"
    echo '}};'
    echo '}  // namespace mist::package'
  } >"$header.new"
  mv "$header.new" "$header"
}

case ${1:-} in
  --into) into "$2" "$3" "$4" ;;
  --compile) compile "$2" "$3" ;;
  "" | -*) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  *) module "$1" ;;
esac
