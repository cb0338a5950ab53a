#!/bin/bash
# make test, make test-full, CI: everything that must hold before a change lands. Each step prints its name and time;
# what fails prints its output. A step that ends with 77 was skipped: what it compares with can't be installed here, its last
# line says why. Exits 1 at the end if any step failed, after all of them ran.
set -uo pipefail
cd "$(dirname "$0")/.."
full=false
[[ ${1:-} == --full ]] && full=true

rm -rf build/test-logs
mkdir -p build/test-logs
passed=0 failed=() skipped=()
source tools/progress.sh
# step NAME COMMAND...: quiet when it goes well.
step() {
  local name=$1 began=$SECONDS log status=0 follower
  shift
  log=build/test-logs/${name// /-}.log
  follow "$name" "$log" &
  follower=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  { kill "$follower" && wait "$follower" || true; } 2>/dev/null
  [[ ! -t 1 ]] || printf '\r\033[K'
  printf '%-34s ' "$name"
  case $status in
    0)
      printf 'ok %5ds\n' $((SECONDS - began))
      passed=$((passed + 1))
      ;;
    77)
      printf 'skipped: %s\n' "$(tail -n 1 "$log")"
      skipped+=("$name")
      ;;
    *)
      printf 'FAILED %ds\n' $((SECONDS - began))
      tail -n 120 "$log"
      failed+=("$name")
      ;;
  esac
}
summary() { echo "$passed passed, ${#failed[@]} failed$( ((${#skipped[@]} == 0)) || echo ", ${#skipped[@]} skipped")"; }
# need NAME COMMAND...: what everything after depends on.
need() {
  local before=$passed
  step "$@"
  ((passed > before)) || { summary; exit 1; }
}

# A second try for a machine that stood still; whoever needed it is named in the summary. A crash or a hang is a failure at once.
unit_tests() {
  local tests=(ctest --test-dir build/dev --output-on-failure -j 2 --timeout 300) first=build/test-logs/first-try ended
  "${tests[@]}" | tee "$first" && return 0
  ended=$(sed -nE '/^The following tests FAILED:/,$ s/^\s+[0-9]+ - (.*)/\1/p' "$first")
  [[ -n $ended ]] || return 1
  if grep -v '(Failed)' <<<"$ended"; then
    echo "no second try: the tests above crashed, hung or did not start"
    return 1
  fi
  "${tests[@]}" --rerun-failed
}
hardened() {
  tools/check-hardening.sh build/dev/bin/mistctl && tools/check-hardening.sh build/dev/bin/mistletoe-operator &&
    tools/check-hardening.sh build/dev/bin/mistletoe-catalog
}
sanitized() {
  local programs=(encoding_test wasm_test abi_test)
  $full && programs=(unit_tests mistctl)  # the transcripts run it
  tools/build.sh asan "${programs[@]}" || return 1
  # Wasmtime finds out-of-bounds accesses of guests by SIGSEGV; its handler must come first.
  export ASAN_OPTIONS=handle_segv=0:allow_user_segv_handler=1:detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1
  if $full; then
    ctest --test-dir build/asan --output-on-failure -j 2 --timeout 900
  else
    ctest --test-dir build/asan --output-on-failure -j 2 --timeout 600 -R '^(encoding|wasm|abi)$'
  fi
}
# Without what runs every request of every verb on one thread, which takes this sanitizer ten minutes. The catalog's tests
# compile modules, in Rust that isn't instrumented: all that it reports of them are Rust's own threads.
threads() {
  local programs=(base_test http_test graph_test kube_test registry_test release_test apply_test action_test operator_test)
  tools/build.sh tsan "${programs[@]}" &&
    GTEST_FILTER='-*EveryRequest*' ctest --test-dir build/tsan --output-on-failure -j 2 --timeout 900 -R '^(base|http|graph|kube|registry|release|apply|action|operator)$'
}
on_cluster() {
  local kubeconfig program status=0 output=build/test-logs/on-cluster
  kubeconfig=$("$devcluster" up -q --parent-pid $$ --name "test-$$") || return 1
  for program in kube_test apply_test; do
    MIST_TEST_KUBECONFIG=$kubeconfig "build/dev/src/$program" --gtest_filter='*RealCluster*:*/Real' 2>&1 | tee -a "$output" || status=1
  done
  "$devcluster" down --name "test-$$" >/dev/null 2>&1
  # A program whose filter fits no test, or whose tests skip themselves, is successful.
  grep -q '^\[       OK \] [^ ]*ClientContract\.[^ ]*/Real ' "$output" || {
    echo "no ClientContract.*/Real passed: the fake cluster was not compared with a real API server"
    status=1
  }
  return $status
}
end_to_end() {
  local options=()
  $full && options=(--full)
  python3 tests/e2e/run.py build/dev/bin/mistctl "$devcluster" "${options[@]}"
}
generate_beside_helm() {
  local options=(--own)
  $full && options=()
  tests/conformance/helm/run.sh --through build/dev/bin/mistctl "${options[@]}"
}
chart_draws() {
  local options=()
  $full && options=(--rsa --module)
  tests/conformance/helm/streams.sh build/dev/bin/mistctl "${options[@]}"
}
kustomize_engine() { if $full; then tests/conformance/kustomize/check.sh --full; else tests/conformance/kustomize/check.sh; fi; }
kustomize_charts() {
  local peers cases
  peers=$(bench/peers/build.sh) && cases=$(tests/conformance/kustomize/record.sh) || return 1
  python3 tests/conformance/kustomize/charts.py build/dev/bin/mistctl "$peers" --recorded "$cases"
}
devcluster_works() { twice devcluster/test.sh; }
real_node() { twice devcluster/node/test.sh; }
# A second try here as well; what can't run at all (77) isn't tried again.
twice() {
  local try status which=quick
  $full && which=full
  for try in first second; do
    status=0
    "$1" $which || status=$?
    ((status == 0 || status == 77)) && return $status
    echo "UNSTABLE $1, $try try"
  done
  return 1
}
jinja_engine() {
  local engine
  engine=$(tools/native-program.sh engines/rust jinja jinja) && tests/conformance/jinja/compare.py "$engine"
}
handlebars_engine() {
  local engine
  engine=$(tools/native-program.sh engines/rust handlebars-engine handlebars) && tests/conformance/handlebars/compare.py "$engine"
}
nickel_engine() {
  local reference
  reference=$(tools/native-program.sh tests/conformance/nickel/reference nickel-reference) &&
    tests/conformance/nickel/compare.py build/dev/bin/mistctl "$reference"
}
# Nickel's library takes minutes to build.
rust_engines() {
  local packages=(-p guest -p jinja -p handlebars-engine)
  $full && packages=(--workspace)
  CARGO_TARGET_DIR=${MIST_CACHE:-$HOME/.cache/mistletoe-build}/cargo/rust-native \
    cargo test --locked --quiet --manifest-path engines/rust/Cargo.toml "${packages[@]}"
}
# Somewhere else than configured; the engines are compiled there, so that the first chart of anybody is quick.
installation() {
  local prefix status=0
  prefix=$(mktemp -d) || return 1
  tools/build.sh dev mistctl mistletoe-operator mistletoe-catalog manual_pages && cmake --install build/dev --prefix "$prefix" &&
    env -i PATH=/usr/bin:/bin HOME="$prefix/home" "$prefix/bin/mistctl" generate shop -p ./tests/conformance/helm/charts/umbrella -o helm &&
    [[ -e $prefix/share/man/man1/mistctl-install.1 && -e $prefix/share/doc/mistletoe/sbom.cdx.json && -n $(find "$prefix/share" -name '*.code') ]] &&
    [[ -z $(find "$prefix/home" -name '*.code' 2>/dev/null) ]] && rm -rf "$prefix/home" && tests/docs/installation.py "$prefix" || status=1
  rm -rf "$prefix"
  return $status
}
bill_of_materials() { tools/sbom.py --check build/dev/bin/mistctl build/dev/bin/mistletoe-operator build/dev/bin/mistletoe-catalog; }
version_solver() { RC_PARAMS=max_success=100000 build/dev/src/resolve_test --gtest_filter='SolverProperty*'; }
reconciler() { RC_PARAMS=max_success=100000 build/dev/src/reconcile_test --gtest_filter='ReconcileProperty*'; }
rust_sdk() { cargo test --locked --quiet --manifest-path sdk/rust/Cargo.toml --workspace; }
starting_packages() {
  CARGO_TARGET_DIR=${MIST_CACHE:-$HOME/.cache/mistletoe-build}/cargo/packages-native \
    cargo test --locked --quiet --manifest-path packages/Cargo.toml
}
go_sdk() { (cd sdk/go && go vet ./... && go test ./...); }
cpp_sdk() { g++ -std=c++20 -fno-exceptions -Wall -Wextra -Wshadow -Werror -I sdk/cpp -o build/cpp-sdk-test sdk/cpp/tests/sdk_test.cpp && build/cpp-sdk-test; }
python_sdk() { (cd sdk/python && python3 -m unittest discover tests) && (cd engines/python && python3 -m unittest discover tests); }
typescript_sdk() { tests/conformance/sdks/test-typescript.sh; }
sdks_alike() { tests/conformance/sdks/check.py build/dev/bin/mistctl; }
first_packages() {
  local languages=(python typescript go cpp)
  $full && languages+=(rust)  # compiles its crates again
  tests/docs/first_packages.py build/dev/bin/mistctl "${languages[@]}"
}
go_format() { local files; files=$(gofmt -l devcluster tests/conformance tests/registries engines sdk packages/templates) && [[ -z $files ]] || { echo "gofmt these: $files"; return 1; }; }

began=$SECONDS
need "prerequisites" tools/prerequisites.sh $($full && echo --full)
step "format" tools/check-format.sh
step "format of Go" go_format
need "guests" tests/conformance/build.sh
need "build" tools/build.sh dev mistctl mistletoe-operator mistletoe-catalog unit_tests bench_programs
step "hardening" hardened
step "unit tests and transcripts" unit_tests
if $full; then step "clang-tidy" tools/tidy.sh --all; else step "clang-tidy on changed files" tools/tidy.sh; fi
step "address and behaviour sanitizers" sanitized
$full && step "thread sanitizer" threads
$full && step "version solver" version_solver
$full && step "reconciler" reconciler
$full && step "fuzz targets" tools/fuzz.sh
step "bill of materials" bill_of_materials
$full && step "licences of crates" tools/supply-chain.sh crates
$full && step "advisories of crates" tools/supply-chain.sh advisories
$full && step "vulnerabilities of Go modules" tools/supply-chain.sh go
step "documents" python3 tests/docs/check_docs.py build/dev/bin/mistctl .
step "Rust SDK" rust_sdk
step "starting packages" starting_packages
step "Go SDK" go_sdk
step "C++ SDK" cpp_sdk
step "TypeScript SDK" typescript_sdk
step "Python SDK and engine" python_sdk
step "SDKs give the same bytes" sdks_alike
step "first packages" first_packages
$full && step "installation" installation
$full && step "modules anywhere" tools/wasm-toolchain/test.sh
step "Rust engines" rust_engines
step "Helm engine" engines/helm/build.sh --test
step "OpenPGP engine" engines/openpgp/build.sh --test
step "Helm engine beside helm" tests/conformance/helm/run.sh
step "mistctl generate beside helm" generate_beside_helm
step "what charts draw" chart_draws
step "Kustomize engine beside kustomize" kustomize_engine
step "charts in kustomizations" kustomize_charts
step "Jinja engine beside Jinja2" jinja_engine
step "Handlebars engine beside its JS" handlebars_engine
$full && step "Nickel engine beside Nickel" nickel_engine
$full && step "signatures beside cosign" tests/conformance/cosign/check.py build/dev/bin/mistctl
$full && step "templates of programs" tests/conformance/templates/check.sh build/dev/bin/mistctl
devcluster=
step "control plane builds" devcluster/build.sh
devcluster=$(devcluster/build.sh 2>/dev/null)
step "control plane" devcluster_works
step "real node" real_node
step "cluster client on a cluster" on_cluster
step "end to end" end_to_end

grep -hE '^(\[  PASSED  \]|[0-9]+% tests passed|[0-9]+ passed, [0-9]+ failed|skipped [a-z0-9_]+ [0-9.]+ s: )' build/test-logs/*.log | sed 's/^/  /'
unstable=$(sed -nE 's/^UNSTABLE ([^,]*),.*/\1/p; s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*(Failed|Exception|Timeout|Not Run).*/\1/p' build/test-logs/*.log | sort -u)
[[ -z $unstable ]] || printf 'passed only at the second try, or failed: %s\n' $unstable
if ((${#failed[@]})); then
  # What CI keeps of the output is its end.
  for name in "${failed[@]}"; do
    printf 'failed: %s\n' "$name"
    grep -vE '^(ok|skipped) ' "build/test-logs/${name// /-}.log" | tail -n 12 | cut -c 1-300 | sed 's/^/  /'
  done
fi
echo "in $((SECONDS - began)) s"
summary
((${#failed[@]} == 0))
