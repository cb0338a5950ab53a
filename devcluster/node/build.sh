#!/bin/bash
# Builds what `devcluster up --node real` needs into the cache, unless it is there, links it to devcluster's program, and
# prints its path: programs from Go modules, a root file system and images from Debian packages. Progress and errors
# go to standard error. Safe to run several times at once.
#   build.sh              builds what is missing: about ten minutes the first time
#   build.sh --if-built   builds nothing; exit code 3 if something is missing
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${MIST_CACHE:-$HOME/.cache/mistletoe-build}
if_built=false
case ${1:-} in
  '') ;;
  --if-built) if_built=true ;;
  *) echo "usage: build.sh [--if-built]" >&2; exit 2 ;;
esac

say() { printf 'devcluster node build: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
hash_of() { (cd "$here" && find "$@" -type f | LC_ALL=C sort | xargs sha256sum; echo "${salt:-}") | sha256sum | cut -c1-16; }

programs_hash=$(hash_of build.sh pause.c kubernetes containerd coredns etcd ../go.mod ../go.sum)
images_hash=$(salt=$programs_hash hash_of images.py images.toml files)
programs=$cache/devcluster-node-programs-$programs_hash
images=$cache/devcluster-node-images-$images_hash
out=$cache/devcluster-node-$images_hash

# Everything is there: whatever is in use stays in the cache, see the end of ../build.sh.
built() { [[ -e $programs/bin/containerd && -e $images/images && -e $out/bin ]]; }

link_to_devcluster() {
  local devcluster=$1 temporary
  temporary=$(dirname "$(dirname "$devcluster")")/node.$$
  ln -sfn "$out" "$temporary"
  mv -T "$temporary" "${temporary%.*}"
}

if built; then
  touch -c "$programs" "$images" "$out"
  link_to_devcluster "$("$here/../build.sh")"
  echo "$out"
  exit 0
fi
$if_built && exit 3

need() { command -v "$1" >/dev/null || die "needs $1: $2"; }
[[ $(id -u) = 0 ]] || die "needs root, to unpack images as containerd does"
need apt-get "the images are made of packages of Debian 12"
need dpkg-deb "the images are made of packages of Debian 12"
need cc "a C compiler"
need unshare "the Debian package util-linux"
need python3 "version 3.11 or newer"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "needs Python 3.11 or newer, but $(command -v python3) is $(python3 -V)"
devcluster=$("$here/../build.sh")

mkdir -p "$cache"
exec 9>"$cache/devcluster-node.lock"
flock -n 9 || { say "another build is running, waiting for it"; flock 9; }
work=$(mktemp -d "$cache/.devcluster-node-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# The machine's toolchain, never one that Go would fetch by itself; C is not used.
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-trimpath CGO_ENABLED=0

version_of() { (cd "$here/$1" && go list -m -f '{{.Version}}' "$2"); }
# program MODULE PACKAGE OUTPUT [LDFLAGS [TAGS]]
program() {
  say "compiling ${3##*/}"
  (cd "$here/$1" && go build -tags "${5:-}" -ldflags="-s -w ${4:-}" -o "$3" "$2" 9>&-) >&2 || die "go build failed (see above)"
}

build_programs() {
  local bin=$1/bin cni=$1/cni extra=$1/image-programs version minor x=k8s.io/component-base/version name
  mkdir -p "$bin" "$cni" "$extra"
  version=$(version_of kubernetes k8s.io/kubernetes)
  minor=${version#v1.}; minor=${minor%%.*}
  program kubernetes . "$bin/kubernetes-node" "-X $x.gitVersion=$version -X $x.gitMajor=1 -X $x.gitMinor=$minor -X $x.gitTreeState=clean"
  ln -s kubernetes-node "$bin/kubelet"
  ln -s kubernetes-node "$bin/kube-proxy"
  version=$(version_of containerd github.com/containerd/containerd/v2)
  for name in containerd containerd-shim-runc-v2 ctr; do
    program containerd "github.com/containerd/containerd/v2/cmd/$name" "$bin/$name" \
      "-X github.com/containerd/containerd/v2/version.Version=$version" "no_btrfs no_devmapper no_zfs"
  done
  for name in main/ptp main/loopback ipam/host-local meta/portmap; do
    program containerd "github.com/containernetworking/plugins/plugins/$name" "$cni/${name#*/}"
  done
  program coredns . "$bin/coredns"
  program etcd go.etcd.io/etcd/server/v3 "$extra/etcd"
  program etcd go.etcd.io/etcd/etcdctl/v3 "$extra/etcdctl"
  program etcd go.etcd.io/etcd/etcdutl/v3 "$extra/etcdutl"
  cc -static -Os -s -Wall -Wextra -Werror -o "$extra/pause" "$here/pause.c" || die "can't compile pause.c (see above)"
}

# A containerd with nothing but its image store fills one, in namespaces that end with it.
fill_store() {
  local archives=$1 store=$2 log=$work/import.log
  cat >"$work/containerd.toml" <<CONFIG
version = 3
root = "$store"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.nri.v1.nri",
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.native"]
[grpc]
  address = "/run/containerd/containerd.sock"
CONFIG
  # shellcheck disable=SC2016 # for the inner shell
  BIN=$programs/bin ARCHIVES=$archives CONFIG=$work/containerd.toml unshare --mount --pid --fork --kill-child --mount-proc bash -euc '
    mount -t tmpfs tmpfs /run
    ctr() { "$BIN/ctr" -a /run/containerd/containerd.sock -n k8s.io "$@"; }
    "$BIN/containerd" --config "$CONFIG" & containerd=$!
    for _ in $(seq 300); do ctr version >/dev/null 2>&1 && break; sleep 0.1; done
    for archive in "$ARCHIVES"/*.tar; do ctr images import --snapshotter overlayfs "$archive"; done
    kill $containerd
    wait $containerd || :
  ' 9>&- >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "can't fill the image store (see above)"; }
  find "$store" -mindepth 1 -maxdepth 1 ! -name '*.content.v1.content' ! -name '*.metadata.v1.bolt' ! -name '*.snapshotter.v1.overlayfs' -exec rm -rf {} +
}

build_images() {
  local result=$1
  say "making the node's root file system"
  "$here/images.py" root "$work/debian" "$result/root" 9>&-
  say "making images"
  mkdir "$work/archives"
  "$here/images.py" images "$work/debian" "$programs/image-programs" "$work/archives" 9>&-
  say "unpacking images"
  mkdir "$work/store"
  fill_store "$work/archives" "$work/store"
  mv "$work/store" "$result/images"
}

# publish PART BUILDER: into a temporary directory, then with its name in one step.
publish() {
  [[ ! -e $1 ]] || return 0
  local began=$SECONDS temporary=$work/part
  rm -rf "$temporary"
  mkdir -m 755 "$temporary"
  "$2" "$temporary"
  mv -T "$temporary" "$1" 2>/dev/null || [[ -e $1 ]] || die "can't publish $1"
  say "${1##*/}: $((SECONDS - began)) s, $(du -sm "$1" | cut -f1) MB"
}
build_whole() { ln -s "$programs/bin" "$programs/cni" "$images/root" "$images/images" "$1"; }

publish "$programs" build_programs
publish "$images" build_images
publish "$out" build_whole
link_to_devcluster "$devcluster"
echo "$out"
