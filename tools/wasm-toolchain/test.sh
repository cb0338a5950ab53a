#!/bin/bash
# Shows that modules don't depend on where a checkout lies: builds a package, and with it the SDK outside of its
# workspace, from two copies of the tree at different paths, and compares the bytes.
set -euo pipefail

readonly repository=$(cd "$(dirname "$0")/../.." && pwd)
readonly package=${1:-namespace-example} target=${2:-wasm32-unknown-unknown}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sums=()
for place in "$work/one" "$work/another/and longer place"; do
  mkdir -p "$place"
  (cd "$repository" && git ls-files -z --cached --others --exclude-standard sdk packages tools/wasm-toolchain |
    xargs -0 cp --parents -t "$place")
  "$place/tools/wasm-toolchain/cargo-build.sh" "$place/packages" "$target" "$work/target-${#sums[@]}" -p "$package" >&2
  sums+=("$(sha256sum <"$work/target-${#sums[@]}/$target/release/$package.wasm" | cut -d' ' -f1)")
done
echo "$package for $target: ${sums[*]}"
[[ ${sums[0]} == "${sums[1]}" ]] || { echo "the bytes depend on the path of the checkout" >&2; exit 1; }
