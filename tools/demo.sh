#!/bin/bash
# make demo: from nothing to installed packages on a real Kubernetes control plane on this machine. Safe to repeat: it
# works in a home of its own, which it empties first, and on a cluster of its own name, which it leaves running.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
# run COMMAND...: shows it as one would type it, then does it.
run() {
  local word line='$ mistctl'
  for word in "$@"; do
    [[ $word == *' '* ]] && word="'$word'"
    line+=" $word"
  done
  printf '\033[1m%s\033[0m\n' "$line"
  "$mistctl" "$@"
}

step "Checking what the build needs"
tools/prerequisites.sh
step "Building mistctl and a control plane (the first time on a machine takes minutes: Wasmtime, Kubernetes)"
# Beside each other, since each has a long end on one core. The engines for charts and the like are left to the first
# build that needs them, unless they are configured already.
mkdir -p build
devcluster/build.sh >build/devcluster.path 2>build/devcluster.log &
control_plane=$!
trap 'kill "$control_plane" 2>/dev/null || true' EXIT
engines=-DMIST_ENGINES=none
[[ ! -e build/release/CMakeCache.txt ]] || engines=
tools/build.sh release ${engines:+"$engines"} mistctl
mistctl=$PWD/build/release/bin/mistctl
source tools/progress.sh
follow "building the control plane" build/devcluster.log &
follower=$!
wait "$control_plane" || { kill "$follower"; tail -n 20 build/devcluster.log >&2; exit 1; }
{ kill "$follower" && wait "$follower" || true; } 2>/dev/null
trap - EXIT
devcluster=$(<build/devcluster.path)
step "Starting the control plane"
KUBECONFIG=$("$devcluster" up --name demo)
export KUBECONFIG

export MIST_HOME_LOCATION=$PWD/build/demo
rm -rf "$MIST_HOME_LOCATION"
mkdir -p "$MIST_HOME_LOCATION"
for release in my-namespace hello; do # of an earlier run
  # Should that run still hold the lock, or its objects still be going, this waits.
  if "$mistctl" -q status "$release" >/dev/null 2>&1; then
    "$mistctl" -q uninstall "$release" --yes --delete-namespaces --wait --lock-wait 1m
  fi
done

step "Publishing two packages of packages/ into the git registry \"mistletoe\""
packages/publish.sh "$MIST_HOME_LOCATION/packages.git" namespace-example hello-web
"$mistctl" -q registry remove mistletoe
run registry add mistletoe -g "file://$MIST_HOME_LOCATION/packages.git"

step "A first release"
run inspect package mistletoe/examples/namespace-example:0.1.2
run install my-namespace -p mistletoe/examples/namespace-example:0.1.2
"$devcluster" kubectl --name demo get namespace my-namespace --show-labels

step "A release with a Deployment, and waiting until its Pods are ready"
run install hello -p mistletoe/examples/hello-web:0.1.0 -s 'replicas: 2' -s features.extra=true --wait
run status hello
"$devcluster" kubectl --name demo get pods

step "An upgrade that changes one thing and drops another"
run upgrade hello -s 'replicas: 2, message: Merry Christmas' --wait
run status hello
run upgrade hello -s 'replicas: 2, message: Merry Christmas'

step "What is installed"
run list -A

step "Uninstalling"
run uninstall hello --yes
run uninstall my-namespace --yes
run list -A

cat <<END

That was all of it. The cluster goes on; to use it:

    export KUBECONFIG=$KUBECONFIG
    export MIST_HOME_LOCATION=$MIST_HOME_LOCATION
    export PATH=$PWD/build/release/bin:\$PATH
    mistctl help

and to stop it:

    $devcluster down --name demo
END
