#!/bin/bash
# Checks what building and testing Mistletoe needs; `make` runs it first. Nothing is printed when all is there.
#
#   tools/prerequisites.sh           check; as root, install Debian packages that are missing
#   tools/prerequisites.sh --full    the same, with what the slow tests need
#   tools/prerequisites.sh --list    print the Debian packages, one in a line
#
# Exits 1 after saying what to do. Toolchains (Go, Rust, Node) are not installed: Debian 12's are too old, and where
# they come from is the user's choice.
set -euo pipefail

PACKAGES=(
  # the build
  ccache cmake g++ git lld-19 make ninja-build pkg-config python3
  # libraries; Debian's default Boost, 1.74, has no JSON
  libboost-container1.81-dev libboost-json1.81-dev libfmt-dev libsqlite3-dev libssl-dev libyaml-dev zlib1g-dev
  # the header of PostgreSQL's client library; the catalog opens the library itself where it is used
  libpq-dev
  # tests and checks; clang-tidy before 19 can't see <expected>
  bubblewrap clang-format-19 clang-tidy-19 libgmock-dev libgtest-dev librapidcheck-dev openssl python3-venv
  # a server and a browser for the tests of the catalog
  chromium-headless-shell postgresql
  # charts that are signed, in tests
  gnupg
  # packages written in C and C++ for the sandbox, and its Python
  clang-19 libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32 llvm-19 wasi-libc xz-utils
)
# What only `make test-full` needs: libFuzzer.
readonly FULL=(libclang-rt-19-dev)
# Shells whose completions are tested where they are; installed along with the others, never asked for.
readonly SHELLS=(fish zsh)
readonly GO_MINIMUM=1.26 RUST_MINIMUM=1.95 NODE_MINIMUM=20 NPM_MINIMUM=9

problems=0
say() { echo "prerequisites: $*" >&2; }
problem() { say "$*"; problems=1; }

# version_of PROGRAM ARGS...: the first dotted number that it prints; empty if there is no such program.
version_of() {
  local text
  text=$("$@" 2>/dev/null) || return 0
  [[ $text =~ ([0-9]+(\.[0-9]+)+) ]] && echo "${BASH_REMATCH[1]}"
}

# at_least HAVE WANT, both dotted; only as many parts as WANT has count.
at_least() {
  local -a have want
  IFS=. read -ra have <<<"$1"
  IFS=. read -ra want <<<"$2"
  local i
  for i in "${!want[@]}"; do
    ((10#${have[i]:-0} == 10#${want[i]})) || { ((10#${have[i]:-0} > 10#${want[i]})); return; }
  done
}

# toolchain NAME MINIMUM ADVICE PROGRAM ARGS...
toolchain() {
  local name=$1 minimum=$2 advice=$3 found
  shift 3
  found=$(version_of "$@")
  if [[ -z $found ]]; then
    problem "$name $minimum or newer is needed and not in PATH: $advice"
  elif ! at_least "$found" "$minimum"; then
    problem "$name $minimum or newer is needed, $(command -v "$1") is $found: $advice"
  fi
}

missing_packages() {
  local installed package
  # One call for all; dpkg-query complains about those it has never heard of.
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${PACKAGES[@]}" 2>/dev/null || true)
  for package in "${PACKAGES[@]}"; do
    [[ $'\n'$installed$'\n' == *$'\n'"$package installed"$'\n'* ]] || echo "$package"
  done
}

debian_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this is no Debian, so packages can't be checked; on Debian 12 they are: ${PACKAGES[*]}"
    return
  fi
  local -a missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) && return
  if ((EUID != 0)); then
    problem "Debian packages are missing; run: sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
    return
  fi
  say "installing ${missing[*]}"
  apt-get -qq update >&2 &&
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >&2 ||
    problem "apt-get could not install ${missing[*]}; its message is above"
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${SHELLS[@]}" >/dev/null 2>&1 || true
}

if [[ ${1:-} == --list ]]; then
  printf '%s\n' "${PACKAGES[@]}"
  exit 0
fi
[[ ${1:-} == --full ]] && PACKAGES+=("${FULL[@]}")
PATH=$PATH:/usr/local/go/bin:${HOME:-/root}/.cargo/bin

debian_packages
toolchain Go "$GO_MINIMUM" "install it from https://go.dev/dl and put its bin directory into PATH" go env GOVERSION
toolchain Rust "$RUST_MINIMUM" "install it with https://rustup.rs, or run: rustup update stable" rustc --version
toolchain cargo "$RUST_MINIMUM" "it comes with Rust: https://rustup.rs" cargo --version
toolchain Node.js "$NODE_MINIMUM" "install it from https://nodejs.org" node --version
toolchain npm "$NPM_MINIMUM" "it comes with Node.js: https://nodejs.org" npm --version
exit "$problems"
