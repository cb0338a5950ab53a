#!/bin/bash
# Tests devcluster's real node as its users run it: containers, network, volumes, logs, and that nothing stays behind.
#   test.sh          builds what it needs, if need be
#   test.sh quick    the same, but skipped unless that was built before
# Exit code 77: it can't run here; the last line says why.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
which=${1:-full}
case $which in quick | full) ;; *) echo "usage: test.sh [quick|full]" >&2; exit 2 ;; esac

skip() { echo "$*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "a real node needs root"
for program in apt-get dpkg-deb cc; do
  command -v $program >/dev/null || skip "a real node needs $program, to build its images"
done
if [ "$which" = quick ]; then
  "$here/build.sh" --if-built >/dev/null || skip "the real node is not built; devcluster/node/build.sh does it, in about ten minutes"
fi
"$here/build.sh" >/dev/null
devcluster=$("$here/../build.sh")

home=$(mktemp -d "${TMPDIR:-/tmp}/devcluster-node-test-XXXXXX")
export MIST_DEVCLUSTER_HOME=$home
unset KUBECONFIG
trap '"$devcluster" down --all 2>/dev/null || :; rm -rf "$home"' EXIT
"$devcluster" check >"$home/.check" 2>&1 || skip "$(tr '\n' ' ' <"$home/.check")"

began=$(date +%s.%N)
step() { printf '%6.1f s  %s\n' "$(awk "BEGIN {print $(date +%s.%N) - $began}")" "$*"; }
fail() {
  echo "FAILED: $*" >&2
  kubectl get pods,pvc -A -o wide >&2 || :
  kubectl get events -A --sort-by=.lastTimestamp 2>/dev/null | tail -n 15 >&2 || :
  tail -n 15 "$home"/*/log/{supervisor,node,containerd,kubelet}.log >&2 2>/dev/null || :
  exit 1
}
kubectl() { "$devcluster" kubectl "$@"; }
expect() { # expect WANTED COMMAND...: waits up to 90 s for the output
  local wanted=$1 got='' deadline=$((SECONDS + 90))
  shift
  while [ $SECONDS -lt $deadline ]; do
    got=$("$@" 2>&1) || :
    [ "$got" = "$wanted" ] && return 0
    sleep 0.2
  done
  fail "$*: expected '$wanted', got '$got'"
}
refused() { # refused CODE WORDS COMMAND...
  local code=$1 words=$2 said status=0
  shift 2
  said=$("$@" 2>&1) || status=$?
  [ $status = "$code" ] || fail "$*: exit code $status: $said"
  [[ $said == *"$words"* ]] || fail "$* says $said"
}
field() { kubectl get -n work "$1" -o "jsonpath={$2}"; }
sql() { kubectl exec -n work db-0 -- psql -At -U app -d shop -c "$1"; }

# A node as the machine sees it: processes in its PID namespace, control groups, mounts.
node_pid() { "$devcluster" status --name "$1" | awk '$1 == "component" && $3 == "node" {print $2}'; }
processes_in() { # of a PID namespace
  local p
  for p in /proc/[0-9]*; do [ "$(readlink "$p/ns/pid" 2>/dev/null)" != "$1" ] || echo "${p#/proc/}"; done
}
traces() { # of any node
  find /sys/fs/cgroup -maxdepth 2 -type d -name 'mistletoe-devcluster-*'
  grep -F "$home" /proc/self/mountinfo || :
  ip netns list 2>/dev/null | grep mist || :
}

step "mistakes"
refused 2 "--node is fake or real" "$devcluster" up --node other
refused 2 "doesn't go with --node real" "$devcluster" up --node real --keep
if command -v setpriv >/dev/null; then
  chmod 755 "$home"
  MIST_DEVCLUSTER_HOME=/tmp refused 1 "missing:
  root (this is user 65534)" setpriv --reuid 65534 --clear-groups "$devcluster" up --node real 2>/dev/null
  chmod 700 "$home"
fi

others=$(traces) # another cluster may run on this machine
step "up"
start=$(date +%s%N)
config=$("$devcluster" up -q --node real --parent-pid $$)
up_ms=$((($(date +%s%N) - start) / 1000000))
step "  (ready after $up_ms ms)"
[ "$("$devcluster" up -q --node real)" = "$config" ] || fail "a second up printed another path"
expect "real-0 True" kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{end}'
namespace=$(readlink "/proc/$(node_pid default)/ns/pid")
[ -n "$namespace" ] && [ "$namespace" != "$(readlink /proc/self/ns/pid)" ] || fail "the node has no processes of its own"

step "workloads"
kubectl create namespace work >/dev/null
start=$(date +%s%N)
kubectl apply -n work -f "$here/testdata/workloads.yaml" >/dev/null
kubectl rollout status -n work deployment/web --timeout=90s >/dev/null || fail "the web server is not available"
step "  (two web servers are ready after $((($(date +%s%N) - start) / 1000000)) ms)"
kubectl wait -n work --for=condition=Ready pod/client --timeout=90s >/dev/null || fail "the client does not run"

step "a Service answers: through the API server, by name, from a Pod"
expect "served by a real Pod" kubectl get --raw /api/v1/namespaces/work/services/web:http/proxy/
expect "served by a real Pod" kubectl exec -n work client -- wget -qO- http://web.work.svc.cluster.local
expect "served by a real Pod" kubectl exec -n work client -- wget -qO- "http://$(field service/web .spec.clusterIP)"
expect 200 kubectl exec -n work deployment/web -- curl -sk -o /dev/null -w '%{http_code}' https://kubernetes.default/version

step "exec, logs, port-forward"
expect "in the Pod" kubectl exec -n work client -- echo "in the Pod"
expect "through standard input" sh -c "echo through standard input | '$devcluster' kubectl exec -i -n work client -- cat"
[[ $(kubectl logs -n work deployment/web) == *'"GET / HTTP/1.1" 200'* ]] || fail "the web server's log has no request"
kubectl port-forward -n work service/web :80 >"$home/.forward" 2>&1 & forward=$!
expect 1 sh -c "grep -c '127.0.0.1' '$home/.forward' | sed 's/[2-9]/1/'"
port=$(sed -n 's/.*127.0.0.1:\([0-9]*\).*/\1/p' "$home/.forward" | head -n 1)
expect "served by a real Pod" curl -s "http://127.0.0.1:$port/"
kill $forward

step "a Job runs SQL"
kubectl wait -n work --for=condition=Complete job/migrate --timeout=120s >/dev/null || fail "the Job is not complete"
[[ $(kubectl logs -n work job/migrate) == *" 42"* ]] || fail "the row is not in its log"

step "a volume keeps data"
kubectl delete -n work pod db-0 >/dev/null
kubectl rollout status -n work statefulset/db --timeout=90s >/dev/null || fail "the database does not come back"
expect 42 sql "select * from t"

step "failing probes restart, greedy containers are killed, unknown images are refused"
expect true sh -c "[ \"\$('$devcluster' kubectl get pod -n work sick -o 'jsonpath={.status.containerStatuses[0].restartCount}')\" -ge 1 ] && echo true"
expect "words of a run" kubectl logs -n work sick --previous
kubectl get events -n work --field-selector involvedObject.name=sick,reason=Unhealthy -o name | grep -q . || fail "no Event tells of the probe"
expect "OOMKilled 137" field pod/greedy '.status.containerStatuses[0].state.terminated.reason} {.status.containerStatuses[0].state.terminated.exitCode'
expect true sh -c "'$devcluster' kubectl get pod -n work imageless -o 'jsonpath={.status.containerStatuses[0].state.waiting.reason}' | grep -qE 'ErrImagePull|ImagePullBackOff' && echo true"

step "a volume goes with its claim"
volume=$(field pvc/data-db-0 .spec.volumeName)
[ -d "$home/default/node/volumes/$volume" ] || fail "no directory of volume $volume"
kubectl delete -n work statefulset/db --timeout=60s >/dev/null
kubectl delete -n work pvc/data-db-0 --timeout=60s >/dev/null
expect "" kubectl get pv -o name
[ ! -e "$home/default/node/volumes/$volume" ] || fail "the data of volume $volume is still there"

step "down leaves nothing"
[ "$(processes_in "$namespace" | wc -l)" -gt 5 ] || fail "the node's processes are somewhere else"
start=$(date +%s%N)
"$devcluster" down 2>/dev/null
down_ms=$((($(date +%s%N) - start) / 1000000))
[ -z "$(processes_in "$namespace")" ] || fail "processes are left: $(processes_in "$namespace" | tr '\n' ' ')"
[ "$(traces)" = "$others" ] || fail "left behind: $(traces)"
[ ! -e "$home/default" ] || fail "$home/default is left"
step "  (down took $down_ms ms)"

if [ "$which" = quick ]; then
  step "passed"
  exit 0
fi

step "two at once, one of them beside fake nodes"
"$devcluster" up -q --node real --name one --nodes 2 --parent-pid $$ >"$home/.one" & one=$!
"$devcluster" up -q --node real --name two --parent-pid $$ >"$home/.two" & two=$!
wait $one && wait $two || fail "a start failed"
for name in one two; do
  kubectl --name $name create namespace work >/dev/null
  kubectl --name $name apply -n work -f "$here/testdata/workloads.yaml" >/dev/null
done
expect "node-0 node-1 real-0" kubectl --name one get nodes -o 'jsonpath={.items[*].metadata.name}'
for name in one two; do
  kubectl --name $name patch -n work deployment/web --type=merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"mistletoe.dev/real":"true"}}}}}' >/dev/null
  kubectl --name $name rollout status -n work deployment/web --timeout=120s >/dev/null || fail "$name has no web server"
  expect "served by a real Pod" kubectl --name $name get --raw /api/v1/namespaces/work/services/web:http/proxy/
done
expect "Running" kubectl --name one get pod -n work db-0 -o 'jsonpath={.status.phase}'
expect "real-0" kubectl --name one get pod -n work db-0 -o 'jsonpath={.spec.nodeName}'

step "kill -9 of the supervisor takes all with it"
namespace=$(readlink "/proc/$(node_pid one)/ns/pid")
kill -9 "$("$devcluster" status --name one | awk '$1 == "supervisor" {print $2}')"
expect "" processes_in "$namespace"
expect "1" sh -c "find /sys/fs/cgroup -maxdepth 2 -type d -name 'mistletoe-devcluster-*' | sed 's/.*devcluster-//' | sort -u | wc -l"
[[ $("$devcluster" status --name one) == *"reason "*"was killed"* ]] || fail "status does not tell"
expect "served by a real Pod" kubectl --name two get --raw /api/v1/namespaces/work/services/web:http/proxy/

step "kill -9 of one of the node's programs stops the cluster, and says why"
namespace=$(readlink "/proc/$(node_pid two)/ns/pid")
for p in $(processes_in "$namespace"); do
  [ "$(cat "/proc/$p/comm" 2>/dev/null)" != coredns ] || kill -9 "$p"
done
expect "" processes_in "$namespace"
expect "reason      node ended: node: coredns ended: signal: killed (see $home/two/log/node.log)" sh -c "'$devcluster' status --name two | grep ^reason"
"$devcluster" down --all 2>/dev/null
expect "$others" traces

step "a fake cluster is not taken for a real one"
"$devcluster" up -q --parent-pid $$ >/dev/null
refused 1 "without a real node" "$devcluster" up -q --node real
"$devcluster" down 2>/dev/null
step "passed"
