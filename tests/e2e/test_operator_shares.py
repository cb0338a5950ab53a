"""Several replicas of the operator that work at the same time, each in namespaces of its own."""
import json
import signal

from harness import check, config_map, contains, equal, test
from test_operator import Operator
from test_operator_faults import GROUP, ONE, blueprint, kind, make
from test_operator_replicas import served
from test_release_resource import make as make_release, publish, registry, remove, serve, wait_for

SHARE = ("--sharding", "--lease-duration", "3s", "--listen", "127.0.0.1:0")
SLOTS = 64

# Its kind comes from its contract.
MANAGED = '''let {Blueprint, ..} = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing", crd = 'manage, spec = {size | String | optional} },
  nodes.child.own = fun {instance, ..} =>
    { apiVersion = "v1", kind = "ConfigMap", metadata.name = instance.metadata.name, data.a = "1" },
  also = [{from = "instance", to = "child"}],
} | Blueprint'''


def slot_of(namespace):
    value = 0xcbf29ce484222325
    for byte in namespace.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value % SLOTS


def shares(t):
    """{replica: its slots}."""
    lease = t.kube.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{t.ns}/leases/mistletoe-operator-slots")[1]
    text = lease.get("metadata", {}).get("annotations", {}).get("mistletoe.dev/slots", "{}")
    ranges = lambda words: [[int(end) for end in word.split("-")] for word in words.split()]
    return {replica: {slot for each in ranges(words) for slot in range(each[0], each[-1] + 1)}
            for replica, words in json.loads(text).items()}


def replica_of(operator):
    """As which it takes part, once its work has begun."""
    held = [line for line in operator.said().splitlines() if "shares the namespaces: it holds Lease" in line]
    return held[-1].rsplit("mistletoe-operator-", 1)[1].strip() if held else None


def even(t, *operators):
    sizes = [len(slots) for slots in shares(t).values()]
    return sum(sizes) == SLOTS and len(sizes) == len(operators) and max(sizes) - min(sizes) <= 1 and \
        all(f"mistletoe_shard_slots {size_of(t, each)}\n" in served(t, each, "/metrics")[1] for each in operators)


def size_of(t, operator):
    return len(slots_of(t, operator))


def slots_of(t, operator):
    return next((slots for replica, slots in shares(t).items() if replica.endswith(replica_of(operator))), set())


def namespace_of(t, operator, taken):
    """A new namespace that is this replica's to work in."""
    number = next(i for i in range(10000) if f"{t.ns}-n{i}" not in taken and slot_of(f"{t.ns}-n{i}") in slots_of(t, operator))
    taken.add(f"{t.ns}-n{number}")
    return t.namespace(f"n{number}")


def make_in(t, ns):
    """The address of a new instance there."""
    where = f"/apis/{GROUP.format(ns=t.ns)}/v1/namespaces/{ns}/things"
    make(t, where)
    return f"{where}/web"


def made(t, *namespaces):
    t.kube.wait("the children are made", lambda: all(t.kube.get("ConfigMap", ns, "web") for ns in namespaces))


def creations(operator, ns):
    return operator.said().count(f"created ConfigMap {ns}/web")


@test
def replicas_share_the_namespaces_and_take_over_from_one_another(t):
    kind(t, "Thing", "things")
    blueprint(t, ONE)
    first = Operator(t, *SHARE, name="first")
    t.kube.wait("one alone has all", lambda: even(t, first))
    second, third = Operator(t, *SHARE, name="second"), Operator(t, *SHARE, name="third")
    t.kube.wait("they share", lambda: even(t, first, second, third))
    for each in (first, second, third):
        equal(served(t, each, "/readyz")[0], 200, "each is ready")

    taken = set()
    homes = {each: [namespace_of(t, each, taken), namespace_of(t, each, taken)] for each in (first, second, third)}
    addresses = {ns: make_in(t, ns) for each in homes.values() for ns in each}
    made(t, *addresses)
    for owner, namespaces in homes.items():
        for ns in namespaces:
            equal([creations(each, ns) for each in (first, second, third)], [int(each is owner) for each in (first, second, third)],
                  f"who made the child in {ns}")

    # One that was killed keeps its namespaces for its term; then others see to them.
    second.stop(signal.SIGKILL)
    for ns in homes[second]:
        t.kube.delete("ConfigMap", ns, "web")
    made(t, *homes[second])
    t.kube.wait("two share", lambda: even(t, first, third))
    contains(first.said() + third.said(), "is silent: its slots go to others")

    # The first one, which alone writes to blueprints, ends in order; the last one does everything.
    equal(first.stop(), 0, "exit code")
    t.kube.wait("one has all", lambda: even(t, third))
    for address in addresses.values():
        t.kube.checked("DELETE", address)
    t.kube.wait("all are gone", lambda: all(t.kube.request("GET", each)[0] == 404 for each in addresses.values()))
    t.kube.wait("the blueprint is let go", lambda: not t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("finalizers"))
    equal(third.stop(), 0, "exit code")
    equal(shares(t), {}, "nobody has any")


@test
def of_replicas_that_share_one_writes_what_is_there_once(t):
    group = GROUP.format(ns=t.ns)
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"things.{group}"))
    operators = [Operator(t, *SHARE, name=name) for name in ("first", "second")]
    t.kube.wait("they share", lambda: even(t, *operators))
    blueprint(t, MANAGED)
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", f"/apis/{group}/v1/things")[0] == 200)
    taken = set()
    homes = [namespace_of(t, each, taken) for each in operators]
    addresses = [make_in(t, ns) for ns in homes]
    made(t, *homes)
    equal(sorted(each.said().count("created CustomResourceDefinition") for each in operators), [0, 1], "who made the CRD")
    equal(t.kube.get("ConfigMap", t.ns, "app")["metadata"]["annotations"]["mistletoe.dev/status"], "InForce")

    # A breaking revision is refused, and both go on with what was good.
    before = t.kube.get("ConfigMap", t.ns, "app")
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": before["data"]["blueprint.ncl"].replace("size | String", "other | String")}})
    t.kube.wait("it is refused", lambda: t.kube.get("ConfigMap", t.ns, "app")["metadata"]["annotations"]["mistletoe.dev/status"] == "Rejected")
    for ns in homes:
        t.kube.delete("ConfigMap", ns, "web")
    made(t, *homes)
    for address in addresses:
        t.kube.checked("DELETE", address)
    t.kube.wait("all are gone", lambda: all(t.kube.request("GET", each)[0] == 404 for each in addresses))
    t.kube.wait("the blueprint is let go", lambda: not t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("finalizers"))


@test
def a_replica_that_stood_still_writes_nothing_more(t):
    kind(t, "Thing", "things")
    blueprint(t, ONE)
    first = Operator(t, *SHARE, name="first")
    t.kube.wait("one alone has all", lambda: even(t, first))
    second = Operator(t, *SHARE, name="second")
    t.kube.wait("they share", lambda: even(t, first, second))
    ns = namespace_of(t, second, set())
    make_in(t, ns)
    t.kube.wait("it said what it made", lambda: creations(second, ns) == 1)
    second.process.send_signal(signal.SIGSTOP)
    t.kube.wait("the other one has all", lambda: [len(slots) for slots in shares(t).values()] == [SLOTS])
    t.kube.delete("ConfigMap", ns, "web")
    made(t, ns)
    second.process.send_signal(signal.SIGCONT)
    equal(second.process.wait(timeout=30), 1, "exit code")
    contains(second.said(), "its share was lost")
    equal(creations(second, ns), 1, "what it made before")


@test
def replicas_share_releases_too(t):
    serve(t)
    registry(t)
    publish(t, "app", "1.0.0", config_map("c", {"a": "1"}))
    operators = [Operator(t, *SHARE, "--releases", "own", name=name) for name in ("first", "second")]
    t.kube.wait("they share", lambda: even(t, *operators))
    owner = next(each for each in operators if slot_of(t.ns) in slots_of(t, each))
    other = next(each for each in operators if each is not owner)
    make_release(t, "app", package="team/app:1.0.0")
    wait_for(t, "Deployed", "app", seconds=180)
    check(f"{t.ns}/app" in owner.said() and f"{t.ns}/app" not in other.said(), "who deployed it")
    owner.stop(signal.SIGKILL)
    t.kube.delete("ConfigMap", t.ns, "c")
    t.kube.wait("the other one has all", lambda: even(t, other))
    t.kube.checked("PATCH", f"/apis/mistletoe.dev/v1alpha1/namespaces/{t.ns}/releases/app",
                   {"spec": {"drift": "Fix"}}, content_type="application/merge-patch+json")
    remove(t, "app")
