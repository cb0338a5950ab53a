#!/bin/bash
# check.sh MISTCTL: each template of `mistctl package init` whose program has to be compiled, as its README says and
# outside of this repository: it builds, its test cases pass, nothing is to be said about it, and all make the same objects.
# Cargo and npm take packages from the network or their caches. The others are transcripts: tests/cli/package/kinds.txt.
set -euo pipefail
[[ $# == 1 && -x $1 ]] || { echo "usage: check.sh MISTCTL" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$(realpath "$1")" "$work/bin/mistctl"
export PATH="$work/bin:$PATH" MIST_HOME_LOCATION="$work/home"
cd "$work"
for kind in go python c cpp rust typescript cdk8s; do
  mistctl package init "$kind" --template "$kind" --name shop -q
  [[ ! -e $kind/package-lock.json ]] || (cd "$kind" && npm ci --no-audit --no-fund --loglevel=error)
  module=$kind/shop.mist-pack.wasm
  mistctl package build "./$kind" -o "./$module" -q
  mistctl package test "./$module"
  mistctl package lint --strict "./$module"
  mistctl generate web -p "./$module" -o json >"$kind.json"
  python3 - "$kind.json" go.json <<'P'
import json, sys
mine, first = (json.load(open(name)) for name in sys.argv[1:])
sys.exit(0 if mine == first else f"{sys.argv[1]} differs from {sys.argv[2]}")
P
done
# What cdk8s itself prints for the same app under Node.
cd cdk8s
cat >node.ts <<'T'
import { generate } from "./src/main.ts";
const output = generate({ name: "web", replicas: 2, image: "nginxinc/nginx-unprivileged:1.29-alpine", serviceType: "ClusterIP" });
process.stdout.write(output.file("app.yaml")!);
T
node_modules/.bin/esbuild node.ts --bundle --platform=node --format=cjs --log-level=error --outfile=node.cjs
node node.cjs >node.yaml
mistctl generate web -p ./shop.mist-pack.wasm -o raw -q >component.yaml
cmp node.yaml component.yaml
echo "8 passed, 0 failed"
