#!/bin/bash
# For cargo as RUSTC_WRAPPER: compiles crates that have no registry behind them under an identity made of their package
# and crate name. Cargo makes it of the absolute path where a crate lies outside of the workspace, and the order of
# functions in a module follows it; so the same source would give other bytes in another directory.
set -euo pipefail

readonly compiler=$1
shift
source_file=
for argument in "$@"; do
  [[ $argument != *.rs || $argument == -* ]] || source_file=$argument
done
if [[ -z $source_file || $source_file == "${CARGO_HOME:-$HOME/.cargo}"/registry/* ]]; then
  exec "$compiler" "$@"
fi
identity=$(sha256sum <<<"${CARGO_PKG_NAME:-} ${CARGO_PKG_VERSION:-} ${CARGO_CRATE_NAME:-}" | cut -c1-16)
arguments=()
for argument in "$@"; do
  [[ $argument != metadata=* ]] || argument=metadata=$identity
  arguments+=("$argument")
done
exec "$compiler" "${arguments[@]}"
