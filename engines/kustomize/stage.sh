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

# Beside kustomize's files stand functions that take the place of its own, which get another name.
cd ../_added
cp -r . "$directory/api/"
# instead FILE OWN PATTERN NAME: of kustomize's FILE the line that begins with PATTERN, a function that OWN defines too.
instead() {
  local file=$directory/api/$1 own=$2 pattern=$3 name=$4
  grep -q "^$pattern$name(" "$file" || { echo "kustomize: $1 has no $name any more; look at _added/$own" >&2; exit 1; }
  grep -q "^$pattern$name(" "$own" || { echo "kustomize: _added/$own has no $name" >&2; exit 1; }
  sed -i "s/^$pattern$name(/$pattern${name}OfKustomize(/" "$file"
}
# Of the inflator of Helm charts, only what reaches out of the sandbox is another's.
inflator='func (p \*HelmChartInflationGeneratorPlugin) '
sed -n "s/^$inflator\([a-zA-Z]*\)(.*/\1/p" internal/builtins/helm_in_sandbox.go | while read -r method; do
  instead internal/builtins/HelmChartInflationGenerator.go internal/builtins/helm_in_sandbox.go "$inflator" "$method"
done
instead resource/resource.go resource/quick.go 'func (r \*Resource) ' CurId
instead resource/resource.go resource/quick.go 'func (r \*Resource) ' AsYAML
instead resmap/reswrangler.go resmap/quick.go 'func (m \*resWrangler) ' Append
instead filters/fieldspec/fieldspec.go filters/fieldspec/quick.go 'func (fltr Filter) ' handleMap
instead internal/utils/makeResIds.go internal/utils/quick.go 'func ' PrevIds

# The writer of YAML that the Helm engine has too.
mkdir "$directory/api/internal/fastyaml"
cp ../../helm/patches/files/internal/fastyaml/{fastyaml,quick}.go "$directory/api/internal/fastyaml/"
