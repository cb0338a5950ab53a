#!/bin/bash
# Checks the types of the browser scripts with tsc, and runs the unit tests of their pure modules under Node: test.sh
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
tools=$("$here/../../../tools/typescript/ensure.sh")
for project in page worker tests; do
  "$tools/node_modules/.bin/tsc" --noEmit --pretty false -p "$here/$project"
done
node "$here/tests/run.mjs" "$tools"
