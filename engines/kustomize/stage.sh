#!/bin/bash
# stage.sh [--plain] DIRECTORY [MODULE_DIRECTORY]: makes DIRECTORY/api: kustomize's api of the version that this engine's go.mod
# names, with the files of _replaced in the place of its own and those of _added beside them (--plain: as it is); and
# DIRECTORY/engine.mod, a go.mod of this engine, or of the Go module in MODULE_DIRECTORY, that uses it. For `go -modfile`.
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

# Of the inflator of Helm charts, only what reaches out of the sandbox is another's: its methods in _added.
cd ../_added
cp -r . "$directory/api/"
inflator=$directory/api/internal/builtins/HelmChartInflationGenerator.go
sed -n 's/^func (p \*HelmChartInflationGeneratorPlugin) \([a-zA-Z]*\)(.*/\1/p' internal/builtins/helm_in_sandbox.go | while read -r method; do
  own="func (p \*HelmChartInflationGeneratorPlugin) $method("
  grep -q "^$own" "$inflator" || { echo "kustomize: the inflator of charts has no $method any more; look at _added" >&2; exit 1; }
  sed -i "s/^$own/func (p *HelmChartInflationGeneratorPlugin) ${method}OfKustomize(/" "$inflator"
done
