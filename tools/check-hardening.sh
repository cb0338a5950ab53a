#!/bin/bash
# tools/check-hardening.sh PROGRAM [--release]: fails unless the program was linked as its hardening says: position
# independent, all addresses bound at the start and read-only then, no executable stack; with --release compiled with
# stack protection and fortified library calls, too.
set -euo pipefail
program=$1
failed=0
want() {
  local what=$1
  shift
  "$@" || { echo "$program: $what" >&2; failed=1; }
}
header=$(readelf -hW "$program")
segments=$(readelf -lW "$program")
dynamic=$(readelf -dW "$program")
symbols=$(readelf -sW --dyn-syms "$program")
want "is not position independent" grep -q 'Type: *DYN' <<<"$header"
want "has no segment that is read-only after the start" grep -q GNU_RELRO <<<"$segments"
want "binds addresses when they are first used" grep -Eq 'BIND_NOW|FLAGS_1.*NOW' <<<"$dynamic"
want "has an executable stack" grep -Eq 'GNU_STACK.* RW +0' <<<"$segments"
if [[ ${2:-} == --release ]]; then
  want "was compiled without stack protection" grep -q '__stack_chk_fail' <<<"$symbols"
  want "was compiled without fortified calls" grep -Eq '__(memcpy|read|snprintf|vsnprintf|memset|fprintf)_chk' <<<"$symbols"
fi
exit $failed
