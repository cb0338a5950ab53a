#!/bin/bash
# Tests devcluster as its users run it.
#   test.sh quick   the way through its life, about 15 s
#   test.sh         that, all workloads, several clusters, and everything killed
# The clusters live in a directory of their own and end with this script, come what may.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
which=${1:-full}
case $which in quick | full) ;; *) echo "usage: test.sh [quick|full]" >&2; exit 2 ;; esac

devcluster=$("$here/build.sh")
home=$(mktemp -d "${TMPDIR:-/tmp}/devcluster-test-XXXXXX")
export MIST_DEVCLUSTER_HOME=$home
unset KUBECONFIG
trap '"$devcluster" down --all --purge 2>/dev/null || :; rm -rf "$home"' EXIT

step() { printf '%6.1f s  %s\n' "$(awk "BEGIN {print $(date +%s.%N) - $began}")" "$*"; }
began=$(date +%s.%N)
fail() {
  echo "FAILED: $*" >&2
  tail -n 20 "$home"/*/log/supervisor.log >&2 2>/dev/null || :
  exit 1
}
up() { "$devcluster" up -q --parent-pid $$ "$@"; }
down() { "$devcluster" down "$@" 2>"$home/.down" || { cat "$home/.down" >&2; fail "down $*"; }; }
kubectl() { "$devcluster" kubectl "$@"; }
# refused WORDS COMMAND...: the command fails, and says so.
refused() {
  local words=$1 said
  shift
  if said=$("$@" 2>&1); then fail "$* went well: $said"; fi
  [[ $said == *"$words"* ]] || fail "$* says $said"
}
# The processes of a cluster, supervisor first.
state() { "$devcluster" status --name "$1" || :; } # exit code 1 unless ready
pids() { state "$1" | awk '$1 == "supervisor" || $1 == "component" {print $2}'; }
pid_of() { state "$1" | awk -v c="$2" '$1 == "component" && $3 == c {print $2}'; }
# A process that ended but that nobody has collected yet counts as gone.
alive() { [ -e "/proc/$1/stat" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; }
all_gone() {
  local p
  for _ in $(seq 600); do
    for p in "$@"; do alive "$p" && break; done
    alive "$p" || return 0
    sleep 0.05
  done
  fail "processes still run: $*"
}
expect() { # expect WANTED COMMAND...: waits up to 30 s for the output
  local wanted=$1 got=
  shift
  for _ in $(seq 300); do
    got=$("$@" 2>&1) || :
    [ "$got" = "$wanted" ] && return 0
    sleep 0.1
  done
  fail "$*: expected '$wanted', got '$got'"
}
field() { kubectl get -n work "$1" -o "jsonpath={$2}"; }
exit_code() { local c=0; "$@" >/dev/null 2>&1 || c=$?; echo "$c"; }

step "unit tests"
(cd "$here" && CGO_ENABLED=0 GOFLAGS=-trimpath go test ./internal/... >"$home/.unit" 2>&1) || { cat "$home/.unit" >&2; fail "go test ./internal/..."; }

step "up"
config=$(up)
[ "$config" = "$home/default/kubeconfig" ] || fail "unexpected path of the kubeconfig: $config"
[ "$(stat -c %a "$home/default")" = 700 ] || fail "$home/default is open to others"
first=$(pids default)
[ "$(wc -w <<<"$first")" = 5 ] || fail "five processes expected, not: $first"
step "up again: the same cluster"
[ "$(up)" = "$config" ] || fail "a second up printed another path"
[ "$(pids default)" = "$first" ] || fail "a second up started something"

step "credentials"
[ "$(kubectl version -o json | grep -c '"gitVersion": "v1\.[1-9]')" = 2 ] || fail "no version: $(kubectl version -o json)"
expect yes kubectl auth can-i '*' '*'
expect yes "$devcluster" kubectl --name default --kubeconfig "$home/default/kubeconfig-token" auth can-i '*' '*'
expect no "$devcluster" kubectl --kubeconfig "$home/default/kubeconfig-limited" auth can-i list pods

step "a Deployment and a Job"
kubectl create namespace work >/dev/null
kubectl create deployment -n work --image=x --replicas=2 hello >/dev/null
kubectl create job -n work --image=x once >/dev/null
kubectl rollout status -n work deployment/hello --timeout=60s >/dev/null
kubectl wait -n work --for=condition=complete job/once --timeout=60s >/dev/null

step "audit log"
# By its address: the end of an earlier command's watch is a line too, and comes when the server notices.
once='/api/v1/namespaces/work/configmaps?labelSelector=asked%3Donce'
kubectl get --raw "$once" >/dev/null
lines=$(grep -cF "\"requestURI\":\"$once\"" "$("$devcluster" audit)" || :)
[ "$lines" = 1 ] || fail "one request made $lines lines"

step "kill -9 of the supervisor takes all with it"
kill -9 "$(head -n 1 <<<"$first")"
# shellcheck disable=SC2086 # words are wanted
all_gone $first
[ "$(exit_code "$devcluster" status)" = 1 ] || fail "status of a killed cluster is not 1"
state default | grep -q '^reason .*was killed' || fail "status does not tell"

step "up after that: a fresh cluster"
up >/dev/null
[ "$(kubectl get namespace work --ignore-not-found)" = "" ] || fail "old data in a fresh cluster"

step "down"
second=$(pids default)
start=$(date +%s%N)
down
took=$((($(date +%s%N) - start) / 1000000))
# shellcheck disable=SC2086
all_gone $second
[ ! -e "$home/default" ] || fail "down left $home/default"
down # what is down stays so

step "mistakes (down took $took ms)"
[ "$(exit_code "$devcluster")" = 2 ] || fail "no command is not a usage error"
[ "$(exit_code "$devcluster" frob)" = 2 ] || fail "an unknown command is not a usage error"
[ "$(exit_code "$devcluster" up --frob)" = 2 ] || fail "an unknown flag is not a usage error"
[ "$(exit_code "$devcluster" up --name A_B)" = 2 ] || fail "a bad name is not a usage error"
[ "$(exit_code "$devcluster" kubeconfig)" = 1 ] || fail "kubeconfig of a stopped cluster is not 1"
[ "$(exit_code "$devcluster" up --help)" = 0 ] || fail "help fails"

if [ "$which" = quick ]; then
  step "passed"
  exit 0
fi

step "two starts of one name, and another cluster, at once"
up >"$home/.a" & a=$!
up >"$home/.b" & b=$!
up --name other --nodes 1 >"$home/.c" & c=$!
wait $a && wait $b && wait $c || fail "a start failed"
[ "$(cat "$home/.a")" = "$config" ] && [ "$(cat "$home/.b")" = "$config" ] || fail "the starts don't agree"
[ "$("$devcluster" list | grep -c ' ready ')" = 2 ] || fail "two clusters expected: $("$devcluster" list)"
[ "$(kubectl get nodes -o name | wc -l)" = 3 ] && [ "$(kubectl --name other get nodes -o name | wc -l)" = 1 ] || fail "wrong nodes"
others=$(pids other)

step "all kinds of workloads"
kubectl create namespace work >/dev/null
kubectl apply -n work -f "$here/testdata/workloads.yaml" >/dev/null
for w in deployment/web statefulset/db daemonset/agent; do
  kubectl rollout status -n work $w --timeout=30s >/dev/null || fail "$w"
done
expect "Complete" field job/job '.status.conditions[-1:].type'
expect "Failed" field job/job-fails '.status.conditions[-1:].type'
expect "BackoffLimitExceeded" field job/job-fails-on-failure '.status.conditions[-1:].reason'
expect "Bound Bound Bound" field pvc '.items[*].status.phase'
expect "192.0.2.1" field service/lb '.status.loadBalancer.ingress[0].ip'
expect "Running true" field pod/always '.status.phase} {.status.containerStatuses[0].ready'
expect "Succeeded 0 0" field pod/never '.status.phase} {.status.containerStatuses[*].state.terminated.exitCode'
expect "Succeeded" field pod/slow '.status.phase'
expect "Running true" field pod/runs '.status.phase} {.status.containerStatuses[0].ready'
expect "Running false" field pod/never-ready '.status.phase} {.status.containerStatuses[0].ready'
expect "Failed 1" field pod/fails '.status.phase} {.status.containerStatuses[0].state.terminated.exitCode'
expect "Running CrashLoopBackOff 7" field pod/fails-always '.status.phase} {.status.containerStatuses[0].state.waiting.reason} {.status.containerStatuses[0].restartCount'
expect "Running CrashLoopBackOff" field pod/crash-loop '.status.phase} {.status.containerStatuses[0].state.waiting.reason'
expect "Pending ImagePullBackOff" field pod/no-image '.status.phase} {.status.containerStatuses[0].state.waiting.reason'
expect "Pending" field pod/pending '.status.phase'
kubectl get events -n work --field-selector reason=Failed -o name | grep -q . || fail "no event tells of the image"
expect "3 Error" field pod/crash-loop '.status.containerStatuses[0].lastState.terminated.exitCode} {.status.containerStatuses[0].lastState.terminated.reason'
expect "CrashLoopBackOff 137 OOMKilled" field pod/oom '.status.containerStatuses[0].state.waiting.reason} {.status.containerStatuses[0].lastState.terminated.exitCode} {.status.containerStatuses[0].lastState.terminated.reason'
expect "Unschedulable" field pod/nowhere '.status.conditions[?(@.type=="PodScheduled")].reason'
expect "FailedScheduling" kubectl get events -n work --field-selector involvedObject.name=nowhere -o 'jsonpath={.items[0].reason}'

step "logs"
expect "last words" kubectl logs -n work crash-loop --tail=1
expect "$(printf 'one\ntwo\nlast words')" kubectl logs -n work crash-loop --previous
expect "" kubectl logs -n work always
refused 'waiting to start: trying and failing to pull image' kubectl logs -n work no-image
refused 'previous terminated container "c" in pod "always" not found' kubectl logs -n work always --previous

step "deletion: a scale-down's volumes, a new kind in the foreground, a Namespace"
kubectl delete -n work statefulset/db --timeout=20s >/dev/null
kubectl delete -n work pvc/data-db-0 --timeout=20s >/dev/null
expect 2 sh -c "'$devcluster' kubectl get pv -o name | wc -l"
kubectl apply -f "$here/testdata/crd.yaml" >/dev/null
kubectl wait --for=condition=Established crd/foos.devcluster.test --timeout=20s >/dev/null
kubectl apply -n work -f - >/dev/null <<<'{"apiVersion":"devcluster.test/v1","kind":"Foo","metadata":{"name":"x"}}'
kubectl delete -n work foo/x --cascade=foreground --timeout=20s >/dev/null || fail "foreground deletion hangs"
kubectl delete namespace work --timeout=20s >/dev/null || fail "the Namespace does not go"
expect "" kubectl get pv -o name

step "kill -9 of each component stops the cluster, and says why"
for c in kube-apiserver kube-controller-manager kube-scheduler kwok; do
  up >/dev/null
  old=$(pids default)
  kill -9 "$(pid_of default $c)"
  # shellcheck disable=SC2086
  all_gone $old
  state default | grep -q "^reason .*$c ended: signal: killed" || fail "status does not say that $c was killed: $(state default)"
done

step "kill -9 of everything at once"
up >/dev/null
old=$(pids default)
# shellcheck disable=SC2086
kill -9 $old
# shellcheck disable=SC2086
all_gone $old

step "a stale state file, sockets and half data are no obstacle"
printf '{"phase":"ready","pid":%d,"startTicks":1' $$ >"$home/default/state.json"
rm -rf "$home/default/etcd/member/wal"
up >/dev/null
[ "$(kubectl get nodes -o name | wc -l)" = 3 ] || fail "wrong nodes"
down

step "--keep: data survives down and kill -9"
up --keep >/dev/null
kubectl create configmap kept >/dev/null
down
up --keep >/dev/null
kubectl get configmap kept -o name >/dev/null || fail "data is lost after down"
kill -9 "$(pids default | head -n 1)"
up --keep >/dev/null
kubectl get configmap kept -o name >/dev/null || fail "data is lost after kill -9"
kubectl create deployment --image=x after >/dev/null
kubectl rollout status deployment/after --timeout=30s >/dev/null || fail "no work with kept data"
down --purge
[ ! -e "$home/default" ] || fail "down --purge left $home/default"

step "--ttl, the end of --parent-pid, SIGTERM: nothing stays"
"$devcluster" up -q --name brief --ttl 1s >/dev/null
sleep 60 & parent=$!
"$devcluster" up -q --name child --parent-pid $parent >/dev/null
up --name term >/dev/null
old="$(pids child) $(pids term)"
kill -TERM "$(pids term | head -n 1)"
kill $parent
# shellcheck disable=SC2086
all_gone $old
expect "" find "$home" -maxdepth 1 '(' -name brief -o -name child -o -name term ')'

step "an interrupted start leaves nothing"
"$devcluster" up --name broken-off 2>"$home/.up" & starting=$!
expect 1 grep -c 'etcd is ready' "$home/.up"
kill -TERM $starting
code=0
wait $starting || code=$?
[ "$code" = 130 ] || fail "exit code $code: $(cat "$home/.up")"
[ ! -e "$home/broken-off" ] || fail "it left its directory"

step "a start that takes too long says so"
[ "$(exit_code "$devcluster" up --name late --timeout 1ms)" = 1 ] || fail "it did not fail"
state late | grep -q '^reason .*not ready after' || fail "status does not say why: $(state late)"

step "a long directory, in the foreground, without audit log"
long=$home/$(printf 'd%.0s' $(seq 120))
"$devcluster" up -f -q --dir "$long" --audit=off >"$home/.f" & foreground=$!
expect "$long/kubeconfig" cat "$home/.f"
kubectl --dir "$long" get nodes >/dev/null || fail "no answer from $long"
[ "$(exit_code "$devcluster" audit --dir "$long")" = 1 ] || fail "there is an audit log"
kill -INT "$foreground"
wait "$foreground" || fail "the foreground's exit code is $?"
[ ! -e "$long" ] || fail "$long is still there"

step "a directory that is somebody's is left alone"
mkdir "$home/mine" && touch "$home/mine/file"
[ "$(exit_code "$devcluster" up -q --dir "$home/mine")" = 1 ] && [ -e "$home/mine/file" ] || fail "it was taken"
[ "$(exit_code "$devcluster" down --dir "$home/mine")" = 1 ] && [ -e "$home/mine/file" ] || fail "it was removed"

step "down --all"
# shellcheck disable=SC2086
for p in $others; do alive "$p" || fail "the other cluster suffered"; done
down --all
# shellcheck disable=SC2086
all_gone $others
[ "$("$devcluster" list | wc -l)" = 1 ] || fail "something is left: $("$devcluster" list)"
step "passed"
