#!/bin/bash
# Builds every package to a module and prints the directory that holds them, <name>-<version>.mist-pack.wasm each:
#
#   modules=$(packages/build.sh)
#
# The directory lies in the cache and is named by the hash of all that goes into it, so an unchanged tree builds nothing.
set -euo pipefail

# Package and the ABI that it is published in; both ABIs are in use on purpose.
readonly PACKAGES=(
  "namespace-example v1alpha1"
  "hello-web v1"
)
declare -rA TARGET_OF=([v1alpha1]=wasm32-unknown-unknown [v1]=wasm32-wasip1)

readonly packages=$(cd "$(dirname "$0")" && pwd)
readonly repository=$(dirname "$packages")
readonly cache="${MIST_CACHE:-$HOME/.cache/mistletoe-build}"

# Everything that the modules are made from, the compiler included.
source_hash() {
  cd "$repository"
  {
    rustc --version 2>/dev/null || echo "Debian's"
    find sdk/rust packages tools/wasm-toolchain -name target -prune -o -type f ! -name '*.md' -print0 |
      LC_ALL=C sort -z | xargs -0 sha256sum
  } | sha256sum | cut -c1-32
}

version_of() {
  sed -n 's/^version = "\(.*\)"$/\1/p' "$packages/$1/Cargo.toml" | head -n1
}

build_into() {
  local directory=$1 target_dir="$cache/cargo/packages" entry name abi
  for entry in "${PACKAGES[@]}"; do
    read -r name abi <<<"$entry"
    echo "packages: building $name ($abi)" >&2
    "$repository/tools/wasm-toolchain/cargo-build.sh" "$packages" "${TARGET_OF[$abi]}" "$target_dir" -p "$name"
    install -m 644 "$target_dir/${TARGET_OF[$abi]}/release/$name.wasm" \
      "$directory/$name-$(version_of "$name").mist-pack.wasm"
  done
}

readonly result="$cache/packages/$(source_hash)"
if [[ ! -d $result ]]; then
  mkdir -p "$cache/packages" "$cache/cargo"
  # One builder at a time: cargo's output files would else be replaced between building and copying.
  exec 9>"$cache/cargo/packages.lock"
  flock 9
  if [[ ! -d $result ]]; then
    staging=$(mktemp -d "$cache/packages/.building.XXXXXX")
    trap 'rm -rf "$staging"' EXIT
    build_into "$staging"
    chmod 755 "$staging"
    mv -T "$staging" "$result"
  fi
fi
echo "$result"
