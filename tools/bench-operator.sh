#!/bin/bash
# Measures mistletoe-operator beside kro: builds both and runs bench/operator.py, which writes bench/results/operator.* and the table
# of docs/bench.md. Arguments go to it. Takes about 25 minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/prerequisites.sh
tools/build.sh release -DMIST_ENGINES=all mistletoe-operator measure
exec python3 bench/operator.py --operator build/release/bin/mistletoe-operator --measure build/release/bin/measure \
  --peers "$(bench/peers/build.sh)" --devcluster "$(devcluster/build.sh)" --out bench/results --document docs/bench.md "$@"
