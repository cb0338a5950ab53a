#!/bin/bash
# Builds packages to modules and prints the directory that holds them, <name>-<version>.mist-pack.wasm each: all, or
# those that are named.
#
#   modules=$(packages/build.sh [NAME...])
set -euo pipefail

# Package and the target, which decides the ABI (v1alpha1, v1 command); both are in use on purpose.
readonly PACKAGES=(
  "namespace-example    wasm32-unknown-unknown"
  "etcd                 wasm32-wasip1"
  "hello-web            wasm32-wasip1"
  "mariadb              wasm32-wasip1"
  "memcached            wasm32-wasip1"
  "microservice         wasm32-wasip1"
  "mistletoe-operator   wasm32-wasip1"
  "nginx                wasm32-wasip1"
  "platform-example     wasm32-wasip1"
  "platform-of-crates   wasm32-wasip1"
  "postgres-credentials wasm32-wasip1"
  "postgresql           wasm32-wasip1"
  "redis                wasm32-wasip1"
)

readonly packages=$(cd "$(dirname "$0")" && pwd)
source "$packages/../tools/wasm-toolchain/cached.sh"

readonly wanted=" $* "
for name; do
  [[ " ${PACKAGES[*]} " == *" $name "* ]] || { echo "packages: there is no package $name" >&2; exit 2; }
done

version_of() {
  sed -n 's/^version = "\(.*\)"$/\1/p' "$packages/$1/Cargo.toml" | head -n1
}

build() {
  local directory=$1 entry name target
  for entry in "${PACKAGES[@]}"; do
    read -r name target <<<"$entry"
    [[ -z ${wanted// /} || $wanted == *" $name "* ]] || continue
    echo "packages: building $name for $target"
    build_module "$packages" "$target" "$name" "$directory/$name-$(version_of "$name").mist-pack.wasm"
  done
}

hash=$({ rustc --version 2>/dev/null || true; echo "$wanted"; } | hash_of sdk/rust packages/{Cargo.toml,Cargo.lock,build.sh,app-objects,certificates,etcd,hello-web,mariadb,memcached,microservice,mistletoe-operator,namespace-example,nginx,platform-example,platform-of-crates,postgres-credentials,postgresql,redis} \
  tools/wasm-toolchain)
cached packages "$hash" build
