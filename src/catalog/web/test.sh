#!/bin/bash
# Checks the types of the browser scripts with tsc: test.sh
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
tools=$("$here/../../../tools/typescript/ensure.sh")
"$tools/node_modules/.bin/tsc" --noEmit --pretty false -p "$here/page"
