#!/bin/bash
# Makes the C++ source of scripts.h of the TypeScript in this directory: build.sh OUTPUT.cc
#
# The tools come from the cache (tools/typescript/ensure.sh). Only mistletoe-catalog needs it.
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
[[ $# == 1 ]] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }
tools=$("$here/../../../tools/typescript/ensure.sh")
node "$here/bundle.mjs" "$tools" "$1"
