#!/bin/bash
# make bench: builds what is measured and what it is measured against, runs bench/run.py, writes bench/results/ and
# docs/bench.md. Arguments go to run.py: scenarios (`1000 mix 100@20`), `--minutes N`.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/prerequisites.sh
tools/build.sh release -DMIST_ENGINES=all mistctl yaml_bench measure
tools=$PWD/build/bench
mkdir -p "$tools"
# As people have it: a linker leaves its file in smaller pieces of memory than a copy has, which costs 5 % of a short run.
rm -rf "$tools/installed"
cmake --install build/release --component Unspecified --prefix "$tools/installed" >/dev/null
cp build/release/bin/{yaml_bench,measure} "$tools/"
for program in floor goyaml proxy; do
  (cd "bench/$program" && CGO_ENABLED=0 go build -trimpath -o "$tools/$program" .)
done
cp "$(tools/native-program.sh --release engines/rust nickel nickel)" "$tools/nickel-native"
exec python3 bench/run.py --mistctl "$tools/installed/bin/mistctl" --tools "$tools" --peers "$(bench/peers/build.sh)" \
  --devcluster "$(devcluster/build.sh)" --big-package "$(bench/fixtures/big-package/build.sh)" \
  --out bench/results --document docs/bench.md "$@"
