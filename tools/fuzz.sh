#!/bin/bash
# tools/fuzz.sh [--seconds N] [TARGET...]: searches each fuzz target of tests/fuzz, or those named, for a minute or so
# many seconds, as many at a time as there are processors. What was found to reach something new is kept in the cache and
# begun with next time. Exits 1 if an input made a target fail, take 10 seconds or 2 GiB, saying where that input is; 77
# where clang's libFuzzer isn't installed.
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=60
if [[ ${1:-} == --seconds ]]; then
  seconds=$2
  shift 2
fi
targets=("$@")
if ((${#targets[@]} == 0)); then
  for file in tests/fuzz/*_fuzz.cc; do
    file=${file##*/}
    targets+=("${file%_fuzz.cc}")
  done
fi

resources=$(clang-19 -print-resource-dir 2>/dev/null) || resources=
if ! compgen -G "$resources/lib/linux/libclang_rt.fuzzer-*.a" >/dev/null; then
  echo "libFuzzer is not installed: apt-get install clang-19 libclang-rt-19-dev"
  exit 77
fi
tools/build.sh fuzz fuzz_search || exit 1

readonly CORPORA=${MIST_CACHE:-$HOME/.cache/mistletoe-build}/fuzz FOUND=$PWD/build/fuzz/found
# search TARGET
search() {
  local target=$1 log=build/fuzz/$1.log status=0
  mkdir -p "$CORPORA/$target" "$FOUND/$target" "tests/fuzz/seeds/$target"
  ASAN_OPTIONS=handle_segv=1:detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 MIST_FUZZ_TARGET=$target \
    build/fuzz/tests/fuzz/fuzz_search -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
    -artifact_prefix="$FOUND/$target/" "$CORPORA/$target" "tests/fuzz/seeds/$target" >"$log" 2>&1 </dev/null || status=$?
  if ((status == 0)); then
    printf '%-16s %s\n' "$target" "$(grep -E '^(Done|stat::number_of_executed)' "$log" | tail -n 1)"
  else
    printf '%-16s FAILED; all of it: %s\n' "$target" "$log"
    grep -E 'ERROR|SUMMARY|runtime error|Test unit written|MIST_CHECK|: ' "$log" | grep -v '^INFO' | tail -n 12
  fi
  return $status
}
export -f search
export CORPORA FOUND seconds
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'search {}' || exit 1
echo "${#targets[@]} targets searched for $seconds s each"
