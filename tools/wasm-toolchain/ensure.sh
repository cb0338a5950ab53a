#!/bin/bash
# Makes sure that Rust can compile for WebAssembly and prints the shell lines that select that Rust:
#
#   eval "$(tools/wasm-toolchain/ensure.sh)"
#
# sets MIST_WASM_CARGO (the cargo to call), MIST_WASM_CARGO_ARGS (further arguments, may be empty),
# MIST_WASM_RUSTFLAGS_<TARGET> (needed compiler flags, separated by spaces) and what that cargo needs around it.
# MIST_WASM_EXEC_MODEL=reactor asks for flags for libraries instead of programs.
# First choice is the Rust at hand; where it lacks the targets and rustup can't add them, Debian's rustc-web, unpacked
# into the cache without installing it. Messages go to standard error.
set -euo pipefail

readonly TARGETS=(wasm32-wasip1 wasm32-unknown-unknown)
readonly CACHE="${MIST_CACHE:-$HOME/.cache/mistletoe-build}"
readonly MINIMUM=1.95
readonly DEBIAN_UNPACKED=(rustc-web cargo-web rust-web-src libstd-rust-web-1.96 libstd-rust-web-dev)
readonly DEBIAN_INSTALLED=(libgit2-1.5 libllvm22 lld-22 wasi-libc libclang-rt-19-dev-wasm32)

say() { echo "wasm-toolchain: $*" >&2; }
fail() { say "$*"; exit 1; }

has_targets() {
  local target directory
  for target in "${TARGETS[@]}"; do
    directory=$(rustc --print target-libdir --target "$target" 2>/dev/null) || return 1
    compgen -G "$directory/libstd-*.rlib" >/dev/null || return 1
  done
}

is_recent() {
  local version
  version=$(rustc --version 2>/dev/null | cut -d' ' -f2) || return 1
  [[ $(printf '%s\n' "$MINIMUM" "$version" | sort -V | head -n1) == "$MINIMUM" ]]
}

use_present_rust() {
  echo 'export MIST_WASM_CARGO=cargo MIST_WASM_CARGO_ARGS='
}

# Debian's packages hold a compiler whose wasm32-wasip1 library is C's alone; Rust's own is built with each project.
use_debian_rust() {
  command -v apt-get >/dev/null || fail "no Rust with the targets ${TARGETS[*]}: install rustup (https://rustup.rs), then run: rustup target add ${TARGETS[*]}"
  local missing=() package
  for package in "${DEBIAN_INSTALLED[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if ((${#missing[@]} > 0)); then
    ((EUID == 0)) || fail "needed Debian packages are missing; run: sudo apt-get install ${missing[*]}"
    say "installing ${missing[*]}"
    apt-get install --yes --no-install-recommends "${missing[@]}" >&2 ||
      fail "apt-get can't install ${missing[*]}; run apt-get update and try again"
  fi

  local root="$CACHE/rustc-web"
  if [[ ! -d $root ]]; then
    say "unpacking ${DEBIAN_UNPACKED[*]} into $root"
    local staging
    mkdir -p "$CACHE"
    staging=$(mktemp -d "$CACHE/rustc-web.XXXXXX")
    (cd "$staging" && apt-get download "${DEBIAN_UNPACKED[@]}" >&2 && for deb in *.deb; do dpkg -x "$deb" root; done) ||
      fail "apt-get can't download ${DEBIAN_UNPACKED[*]}: run apt-get update, or install rustup and run: rustup target add ${TARGETS[*]}"
    mv -T "$staging/root" "$root" 2>/dev/null || [[ -d $root ]] || fail "can't move $staging/root to $root"
    rm -rf "$staging"
  fi

  local libraries="$root/usr/lib/x86_64-linux-gnu"
  [[ -x $root/usr/bin/rustc && -x $root/usr/bin/cargo && -d $libraries ]] ||
    fail "$root holds no compiler: remove that directory and try again"
  cat <<ENV
export MIST_WASM_CARGO='$root/usr/bin/cargo' MIST_WASM_CARGO_ARGS='-Zbuild-std=std,panic_abort'
export RUSTC='$root/usr/bin/rustc' RUSTC_BOOTSTRAP=1 LD_LIBRARY_PATH='$libraries'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export MIST_WASM_RUSTFLAGS_WASM32_WASIP1='-Clinker=wasm-ld-22 -Clinker-flavor=wasm-ld -Clink-self-contained=no -Clink-arg=/usr/lib/wasm32-wasi/crt1-${MIST_WASM_EXEC_MODEL:-command}.o -L/usr/lib/wasm32-wasi -Clink-arg=-lc'
export MIST_WASM_RUSTFLAGS_WASM32_UNKNOWN_UNKNOWN='-Clinker=wasm-ld-22 -Clinker-flavor=wasm-ld'
ENV
}

if is_recent && has_targets; then
  use_present_rust
elif is_recent && command -v rustup >/dev/null && { say "adding ${TARGETS[*]}"; rustup target add "${TARGETS[@]}" >&2; }; then
  use_present_rust
else
  use_debian_rust
fi
