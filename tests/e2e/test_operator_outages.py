"""The operator under load while its server goes away, and while its replicas die or stand still at any moment."""
import collections
import os
import pathlib
import random
import signal
import subprocess
import time

from cluster import Cluster
from harness import T, check, config_map, equal, kubeconfig_text, test
from proxy import Proxy, Refuse
from test_operator import Operator, quiet
from test_operator_faults import GROUP, blueprint, kind
from test_release_resource import make, publish, registry, remove, serve, wait_for

INSTANCE = "mistletoe.dev/instance-uid"

# Three objects one after the other, and a Job between the second and the third.
CHAIN = '''let m = import "mistletoe.ncl" in
let map = fun called given => { apiVersion = "v1", kind = "ConfigMap", metadata.name = called, data.value = given } in
{
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes = {
    one.own = fun { instance, .. } => map "%{instance.metadata.name}-one" instance.spec.text,
    two.own = fun { instance, before } => map "%{instance.metadata.name}-two" before,
    step.act = fun { instance, .. } => {
      apiVersion = "batch/v1", kind = "Job", metadata.name = "%{instance.metadata.name}-step",
      spec.template.spec = { restartPolicy = "Never", containers = [{ name = "step", image = "step:1" }] },
    },
    three.own = fun { instance, before } => map "%{instance.metadata.name}-three" before,
  },
  also = [{ from = "instance", to = "one" }, { from = "instance", to = "two" }, { from = "instance", to = "three" },
          { from = "instance", to = "step", when = "spec.step" }],
  sequence = [
    { from = "one", to = "two", extract.before = "data.value" },
    { from = "two", to = "step" },
    { from = "step", to = "three" },
    { from = "two", to = "three", extract.before = "data.value" },
  ],
} | m.Blueprint'''


def chain(t):
    """The path of instances of this blueprint."""
    where = kind(t, "Thing", "things")
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "app", "labels": {"mistletoe.dev/blueprint": "true"}},
                                      "data": {"blueprint.ncl": CHAIN.replace("GROUP", GROUP.format(ns=t.ns))}})
    return where


def create(t, where, name, text, step=False):
    t.kube.checked("POST", where, {"apiVersion": "/".join(where.split("/")[2:4]), "kind": "Thing", "metadata": {"name": name},
                                   "spec": {"text": text, "step": step}})


def is_ready(instance):
    return any(each["type"] == "Ready" and each["status"] == "True" and each["observedGeneration"] == instance["metadata"]["generation"]
               for each in instance.get("status", {}).get("conditions", []))


def values(t):
    return {each["metadata"]["name"]: each["data"]["value"] for each in t.kube.list("ConfigMap", t.ns) if "value" in each.get("data", {})}


def wait_all(t, where, wanted, seconds=120):
    """Each instance of {name: text} is ready, and there are its objects and no others."""
    t.kube.wait("all are ready", lambda: all(map(is_ready, t.kube.checked("GET", where)["items"])), seconds)
    equal(sorted(each["metadata"]["name"] for each in t.kube.checked("GET", where)["items"]), sorted(wanted), "instances")
    equal(values(t), {f"{name}-{part}": text for name, text in wanted.items() for part in ("one", "two", "three")}, "objects")


class Restarting:
    """A control plane whose API server can be killed and comes back as it was, at the same address."""

    def __init__(self, t):
        self.cluster = Cluster(t.devcluster, "--keep", name="e2e-outage")
        t.cleanup(lambda: subprocess.run([t.devcluster, "down", "--purge", "--name", self.cluster.name], capture_output=True))

    def kill(self):
        """Of the API server; the others of its control plane end with it."""
        mine = str(self.cluster.directory)
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"kube-apiserver" in words[0] and mine in b" ".join(words).decode():
                os.kill(int(place.name), signal.SIGKILL)
                return
        raise AssertionError("there is no API server")

    def start(self):
        done = subprocess.run([self.cluster.devcluster, "up", "-q", "--keep", "--name", self.cluster.name, "--parent-pid", str(os.getpid())],
                              capture_output=True, text=True)
        check(done.returncode == 0, done.stderr)


def calm(t, operators):
    """Each of them stops writing."""
    for _ in range(10):
        mark = t.mark()
        time.sleep(2)
        written = [each.uri for operator in operators for each in t.requests(mark, operator.user) if each.writes]
        if not written:
            return
    check(False, "still written:", written[:10])


def most_asked(requests, count=3):
    asked = collections.Counter(f"{each.verb} {each.path}" for each in requests if each.resource != "events")
    return asked.most_common(count)


@test(full=True)
def an_operator_survives_restarts_of_its_server_under_load(outer):
    server = Restarting(outer)
    t = T("outage", outer.mistctl, server.cluster)
    outer.cleanup(t.close)
    where = chain(t)
    operator = Operator(t)
    t.kube.wait("the blueprint is in force", lambda: "is in force for Thing" in operator.said())
    wanted = {f"i{number}": "a" for number in range(50)}

    def outage(what):
        there = len(values(t))
        check(0 < there < 150, f"{there} objects: too late for an outage")
        server.kill()
        time.sleep(10)
        server.start()
        outer.note(f"after {what}: {len(operator.said().splitlines())} lines logged")

    for name, text in wanted.items():
        create(t, where, name, text, step=name.endswith("1"))
    t.kube.wait("some are made", lambda: len(values(t)) > 20)
    outage("an outage while 50 are created")
    wait_all(t, where, wanted)
    asked = t.requests(0)
    made = collections.Counter(each.path for each in asked if each.verb == "patch" and each.code == 201)
    equal([path for path, times in made.items() if times > 1], [], "made twice")
    outer.note(f"{len(asked)} requests since it is back, most of them {most_asked(asked)}")
    # Two hundred objects, a record and a status of each, and what has to be asked again.
    check(max(times for _, times in most_asked(asked)) <= 10, most_asked(asked))
    jobs = collections.Counter(each["metadata"]["name"].rsplit("-", 1)[0] for each in t.kube.list("Job", t.ns))
    equal(jobs, collections.Counter({f"{name}-step": 1 for name in wanted if name.endswith("1")}), "Jobs")
    quiet(t)
    mark = t.mark()
    quiet(t)
    equal([each for each in t.requests(mark) if each.writes], [], "writes when all is calm")

    for name in wanted:
        t.kube.checked("DELETE", f"{where}/{name}")
    t.kube.wait("some are gone", lambda: len(values(t)) < 130)
    outage("an outage while 50 are deleted")
    t.kube.wait("all are gone", lambda: t.kube.checked("GET", where)["items"] == [], 120)
    equal((values(t), [each for each in t.kube.list("Job", t.ns) if "deletionTimestamp" not in each["metadata"]]), ({}, []), "what is left")
    asked = t.requests(0)
    outer.note(f"{len(asked)} requests, most of them {most_asked(asked)}")
    equal(operator.stop(), 0, "exit code")


@test(waits=True)
def watches_whose_version_is_gone_begin_again_without_haste(t):
    """For 12 s each watch is answered with 410, and each list goes well."""
    where = chain(t)
    until = [0.0]

    def before(_, method, path):
        if method == "GET" and "watch=1" in path and time.monotonic() < until[0]:
            raise Refuse(410, {"Content-Type": "application/json"},
                         b'{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}')
    proxy = Proxy(t.kube, t.token, before)
    t.cleanup(proxy.stop)
    operator = Operator(t, "--kubeconfig", t.file("proxied.yaml", kubeconfig_text(proxy.url, {}, namespace=t.ns)))
    t.kube.wait("the blueprint is in force", lambda: "is in force for Thing" in operator.said())
    proxy.accepted.clear()
    until[0] = time.monotonic() + 12
    wanted = {f"i{number}": "a" for number in range(10)}
    for name, text in wanted.items():
        create(t, where, name, text)
    while time.monotonic() < until[0]:
        time.sleep(0.2)
    lists = collections.Counter(path.split("?")[0] for method, path, _ in proxy.accepted
                                if method == "GET" and "watch=1" not in path and "limit=" in path)
    t.note(f"lists in 12 s: {lists.most_common(3)}")
    check(all(times <= 15 for times in lists.values()), lists)
    wait_all(t, where, wanted)
    for name in wanted:
        t.kube.checked("DELETE", f"{where}/{name}")
    t.kube.wait("all are gone", lambda: t.kube.checked("GET", where)["items"] == [], 60)
    equal(values(t), {}, "what is left")
    equal(operator.stop(), 0, "exit code")


class Identified(Operator):
    """With an identity of its own, which is in the audit log."""

    def __init__(self, t, name, *flags):
        self.user, token = t.identity(name, administrator=True)
        path = t.file(f"{name}.yaml", kubeconfig_text(t.kube.server, {"token": token}, t.kube.ca, t.ns))
        super().__init__(t, "--kubeconfig", path, *flags, name=name)


class Replica(Identified):
    """One of several, of which one leads."""

    def __init__(self, t, name):
        super().__init__(t, name, "--leader-elect", "--lease-duration", "3s")

    def revive(self):
        if self.process.poll() is not None:
            self.start()


@test(waits=True)
def two_operators_by_mistake_want_the_same(t):
    """Neither was told to elect a leader: both work at everything. That costs requests, but no object and no peace."""
    serve(t)
    registry(t)
    publish(t, "hello", "1.0.0", config_map("hello", {"text": "1"}))
    where = chain(t)
    operators = [Identified(t, name, "--releases", "own") for name in ("one", "two")]
    for each in operators:
        t.kube.wait("the blueprint is in force", lambda each=each: "is in force for Thing" in each.said())
    mark = t.mark()
    wanted = {f"i{number}": "a" for number in range(15)}
    for name, text in wanted.items():
        create(t, where, name, text, step=name.endswith("1"))
    make(t, package="team/hello:1.0.0")
    wait_all(t, where, wanted)
    wait_for(t, "Deployed")
    calm(t, operators)
    uids = {each["metadata"]["name"]: each["metadata"]["uid"] for kind_of in ("ConfigMap", "Job") for each in t.kube.list(kind_of, t.ns)}

    # Drift, other wishes, and both at once.
    t.kube.delete("ConfigMap", t.ns, "i2-two")
    for name in list(wanted)[:8]:
        wanted[name] = "b"
        t.kube.checked("PATCH", f"{where}/{name}", {"spec": {"text": "b"}}, content_type="application/merge-patch+json")
    wait_all(t, where, wanted)
    calm(t, operators)
    now = {each["metadata"]["name"]: each["metadata"]["uid"] for kind_of in ("ConfigMap", "Job") for each in t.kube.list(kind_of, t.ns)}
    equal({name for name in uids if now.get(name) != uids[name]}, {"i2-two"}, "made again")
    asked = [each for operator in operators for each in t.requests(mark, operator.user)]
    jobs = [each.path for each in asked if each.resource == "jobs" and each.code == 201]
    equal(len(jobs), len(set(jobs)), "a Job was made twice")
    equal([each.path for each in asked if each.verb == "delete"], [], "deletes")
    equal(len(t.run("history", "web", "-o", "json").json["revisions"]), 1, "revisions of the release")

    for name in wanted:
        t.kube.checked("DELETE", f"{where}/{name}")
    remove(t)
    t.kube.wait("all are gone", lambda: t.kube.checked("GET", where)["items"] == [], 60)
    equal(values(t), {}, "what is left")
    for each in operators:
        equal(each.stop(), 0, "exit code")


@test(full=True, waits=True)
def replicas_that_die_or_stand_still_at_any_moment_lose_nothing(t):
    where = chain(t)
    seed = int.from_bytes(os.urandom(4), "big")
    t.note(f"seed {seed}")
    chance = random.Random(seed)
    replicas = [Replica(t, name) for name in ("one", "two", "three")]
    wanted, number = {}, 0
    mark = t.mark()
    for _ in range(25):
        for _ in range(chance.randint(1, 6)):
            choice = chance.random()
            if choice < 0.5 or not wanted:
                number += 1
                wanted[f"i{number}"] = str(number)
                create(t, where, f"i{number}", str(number), step=chance.random() < 0.3)
            elif choice < 0.8:
                name = chance.choice(list(wanted))
                wanted[name] = f"{number}-{chance.random()}"
                t.kube.checked("PATCH", f"{where}/{name}", {"spec": {"text": wanted[name]}}, content_type="application/merge-patch+json")
            else:
                name = chance.choice(list(wanted))
                del wanted[name]
                t.kube.checked("DELETE", f"{where}/{name}")
        time.sleep(chance.random() * 1.5)
        victim = chance.choice(replicas)
        if chance.random() < 0.5:
            victim.stop(signal.SIGKILL)
        else:
            victim.process.send_signal(signal.SIGSTOP)
            time.sleep(chance.uniform(3.0, 6.0))
            victim.process.send_signal(signal.SIGCONT)
        for each in replicas:
            each.revive()
    t.kube.wait("what was deleted is gone", lambda: len(t.kube.checked("GET", where)["items"]) == len(wanted), 120)
    wait_all(t, where, wanted)
    twice = [each.path for replica in replicas for each in t.requests(mark, replica.user) if each.verb == "patch" and each.code == 201]
    t.note(f"{number} instances, {len(twice)} creations, " + ", ".join(
        f"{each.said().count('leads: it holds')} times led by {each.log.stem}" for each in replicas))
    alive = {each["metadata"]["uid"] for each in t.kube.checked("GET", where)["items"]}
    for kind_of in ("ConfigMap", "Job"):
        for each in t.kube.list(kind_of, t.ns, INSTANCE):
            check(each["metadata"]["labels"][INSTANCE] in alive, "an orphan:", each["metadata"]["name"])
    for name in wanted:
        t.kube.checked("DELETE", f"{where}/{name}")
    t.kube.wait("all are gone", lambda: t.kube.checked("GET", where)["items"] == [], 120)
    equal(values(t), {}, "what is left")
    for each in replicas:
        each.revive()
        each.stop()
