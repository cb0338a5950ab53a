#!/bin/bash
# What a chart draws depends on the seed and on the template that draws it, and on nothing else:
#
#   tests/conformance/helm/streams.sh MISTCTL [--module]
#
# charts/draws is rendered with two seeds, and again with more templates and more draws around one of its own. With
# --module a module is built of it too, whose snapshot must hold nothing that was drawn (that takes a minute).
set -euo pipefail

mistctl=$(realpath "$1")
charts=$(cd "$(dirname "$0")/charts" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
umask 077
for byte in A B; do
  printf '{"seed": "%s", "clock": "2026-01-01T00:00:00Z"}' "$(printf "%32s" | tr ' ' $byte | base64)" >seed$byte
done

fail() { echo "streams: $*" >&2; exit 1; }
render() { "$mistctl" generate r -p "$1" --seed-file "$2" -o helm --no-render-cache; }
# Of a line "  name: value" the name; without those that nothing draws.
drawn() { sed -n 's/^  \([a-z]*\): .*/\1/p' | grep -v keys; }

render "$charts/draws" seedA >a
render "$charts/draws" seedA | cmp - a || fail "the same seed gives other bytes"
render "$charts/draws" seedB >b
{ diff a b || true; } | sed -n 's/^< //p' | drawn | cmp - <(drawn <a) || fail "these are the lines that another seed should change, and no others"

cp -R "$charts/draws" more
sed 's/^data:/data:\n  extra: {{ randAlpha 99 }}/' "$charts/draws/templates/a.yaml" >more/templates/a.yaml
for name in 0 z; do sed "s/name: a/name: x$name/" "$charts/draws/templates/a.yaml" >more/templates/$name.yaml; done
of_b() { sed -n '/^# Source: draws.templates.b.yaml$/,/^---$/p' | grep ': '; }
render ./more seedA | of_b | cmp - <(of_b <a) || fail "another template shifts what templates/b.yaml draws"

if [[ ${2-} == --module ]]; then
  "$mistctl" package build "$charts/draws" -o draws.mist-pack.wasm >/dev/null
  for seed in A B; do
    render ./draws.mist-pack.wasm seed$seed | cmp - "${seed,}" || fail "the module draws something else with seed $seed"
  done
fi
echo "streams: $(drawn <a | wc -l) draws, each from its own template's stream"
