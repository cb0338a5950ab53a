#!/bin/bash
# stage.sh [--plain] DIRECTORY [MODULE_DIRECTORY]: makes DIRECTORY/api: kustomize's api of the version that this engine's go.mod
# names, with the files of _replaced in the place of its own (--plain: as it is); and DIRECTORY/engine.mod, a go.mod of this
# engine, or of the Go module in MODULE_DIRECTORY, that uses it. For `go -modfile`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
plain=
[[ $1 != --plain ]] || { plain=1; shift; }
directory=$1
module=sigs.k8s.io/kustomize/api

cd "$here"
go mod download >&2 || { echo "kustomize: can't fetch the Go modules (see above). Is the network, or GOPROXY, all right?" >&2; exit 1; }
mkdir -p "$directory"
cp -r "$(go list -m -f '{{.Dir}}' $module)" "$directory/api"
chmod -R u+w "$directory/api"
cp "${2:-$here}/go.mod" "$directory/engine.mod"
cp "${2:-$here}/go.sum" "$directory/engine.sum"
go mod edit -replace "$module=$directory/api" "$directory/engine.mod"
[[ -z $plain ]] || exit 0

cd _replaced
find . -name '*.go' | while read -r file; do
  # What isn't there can't be replaced: a new version has moved it.
  [[ -f $directory/api/$file ]] || { echo "kustomize: $module has no file $file any more; look at _replaced" >&2; exit 1; }
  cp "$file" "$directory/api/$file"
done
