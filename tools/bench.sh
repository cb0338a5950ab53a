#!/bin/bash
# make bench: builds what is measured and what it is measured against, runs bench/run.py, writes bench/results/.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/prerequisites.sh
tools/build.sh release mistctl yaml_bench
out=$PWD/build/bench
mkdir -p "$out"
for peer in floor goyaml; do
  (cd "bench/$peer" && CGO_ENABLED=0 go build -trimpath -o "$out/$peer" .)
done
big_package=$(bench/fixtures/big-package/build.sh)
devcluster=$(devcluster/build.sh)
exec python3 bench/run.py build/release/bin/mistctl build/release/bin/yaml_bench "$out/goyaml" "$out/floor" "$devcluster" "$big_package" bench/results "$@"
