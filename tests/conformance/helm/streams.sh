#!/bin/bash
# What a chart draws depends on the seed and on the template that draws it, and on nothing else:
#
#   tests/conformance/helm/streams.sh MISTCTL [--rsa] [--module]
#
# charts/draws is rendered with two seeds, and again with more templates and more draws around one of its own. With --rsa
# it draws RSA keys too (seconds of processor time for each render). With --module a module is built of it, whose snapshot
# must hold nothing that was drawn (that takes a minute).
set -euo pipefail

mistctl=$(realpath "$1")
shift
rsa=false module=false
for option; do
  case $option in
    --rsa) rsa=true ;;
    --module) module=true ;;
    *) echo "streams: what is $option?" >&2; exit 2 ;;
  esac
done
charts=$(cd "$(dirname "$0")/charts" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
umask 077
for byte in A B; do
  printf '{"seed": "%s", "clock": "2026-01-01T00:00:00Z"}' "$(printf "%32s" | tr ' ' $byte | base64)" >seed$byte
done

fail() { echo "streams: $*" >&2; exit 1; }
render() { "$mistctl" generate r -p "$1" --seed-file "$2" -o helm --no-render-cache --set "rsa=$rsa"; }
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

if $module; then
  "$mistctl" package build "$charts/draws" -o draws.mist-pack.wasm >/dev/null
  for seed in A B; do
    render ./draws.mist-pack.wasm seed$seed | cmp - "${seed,}" || fail "the module draws something else with seed $seed"
  done
fi
echo "streams: $(drawn <a | wc -l) draws, each from its own template's stream"
