"""The operator: a blueprint in a ConfigMap, from an instance to ready objects, through repairs and a crash, to nothing."""
import pathlib
import re
import signal
import subprocess
import time

from harness import check, contains, equal, test
from test_demo import ROOT

BLUEPRINT = (ROOT / "examples/blueprints/app/blueprint.ncl").read_text()


class Operator:
    """mistletoe-operator on the test's namespace; ends with the test."""

    def __init__(self, t, *flags, name="operator"):
        self.t, self.flags, self.log = t, flags, t.dir / f"{name}.log"
        self.start()
        t.cleanup(self.stop)

    def start(self):
        program = pathlib.Path(self.t.mistctl).with_name("mistletoe-operator")
        self.process = subprocess.Popen([program, "-n", self.t.ns, *self.flags], env=self.t.environment(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=self.log.open("ab"))

    def stop(self, by=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(by)
        return self.process.wait(timeout=30)

    def said(self):
        return self.log.read_text()


def define(t):
    """A kind of this test's own, and the example's blueprint for it."""
    group = f"{t.ns}.example.com"
    crd = (ROOT / "examples/blueprints/app/crd.yaml").read_text().replace("example.com", group)
    path = t.file("crd.yaml", crd)
    t.run("install", "kinds", "-p", path, "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    t.kube.create("ConfigMap", t.ns, {
        "metadata": {"name": "app", "labels": {"mistletoe.dev/blueprint": "true"}},
        "data": {"blueprint.ncl": BLUEPRINT.replace('"example.com"', f'"{group}"')}})
    return f"/apis/{group}/v1/namespaces/{t.ns}/apps"


def condition(t, address):
    instance = t.kube.checked("GET", f"{address}/web")
    found = [c for c in instance.get("status", {}).get("conditions", []) if c["type"] == "Ready"]
    return found[0] if found and found[0]["observedGeneration"] == instance["metadata"]["generation"] else {}


def wait_ready(t, address):
    t.kube.wait("the instance is ready", lambda: condition(t, address).get("status") == "True")


def wait_gone(t, address):
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{address}/web")[0] == 404)
    t.kube.wait("the blueprint is let go", lambda: not (t.kube.get("ConfigMap", t.ns, "app") or {"metadata": {}})[
        "metadata"].get("finalizers"))


def create(t, address, **spec):
    group = address.split("/")[2]
    t.kube.checked("POST", address, {"apiVersion": f"{group}/v1", "kind": "App", "metadata": {"name": "web"},
                                     "spec": {"image": "nginx:1", "replicas": 2, **spec}})


def writes(t, mark):
    return [r for r in t.requests(mark) if r.writes]


def watched(t, mark):
    return {r.uri.split("?")[0] for r in t.requests(mark) if r.verb == "watch"}


def quiet(t):
    """Where nothing changes nothing is asked either, but for watches that begin again."""
    asked = []
    for _ in range(10):
        mark = t.mark()
        time.sleep(2)
        asked = [r.uri for r in t.requests(mark) if r.verb != "watch"]
        if not asked:
            return
    check(False, "requests in steady state:", asked)


def data(t):
    return t.kube.get("ConfigMap", t.ns, "web-address")["data"]


CHAIN = """
let m = import "mistletoe.ncl" in
let map = fun called given => { apiVersion = "v1", kind = "ConfigMap", metadata = { name = called }, data = { value = given } } in
{
  kind = { group = "GROUP", version = "v1", kind = "App" },
  nodes = {
    one = { own = fun { instance, .. } => map "%{instance.metadata.name}-one" instance.spec.image },
    two = { own = fun { instance, before } => map "%{instance.metadata.name}-two" before },
    three = { own = fun { instance, before } => map "%{instance.metadata.name}-three" before },
  },
  also = [{ from = "instance", to = "one" }, { from = "instance", to = "two" }, { from = "instance", to = "three" }],
  sequence = [
    { from = "one", to = "two", extract = { before = "data.value" } },
    { from = "two", to = "three", extract = { before = "data.value" } },
  ],
} | m.Blueprint
"""


@test
def a_chain_of_three_takes_five_writes(t):
    """The record with all three names, the objects, and the status, on a busy machine more than once; a change of all of them
    leaves the record as it is."""
    address = define(t)
    group = address.split("/")[2]
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": CHAIN.replace("GROUP", group)}})
    operator = Operator(t)
    t.kube.wait("the blueprint is in force", lambda: "is in force for App" in operator.said())

    def value(name):
        return (t.kube.get("ConfigMap", t.ns, name) or {"data": {}})["data"].get("value")
    # The first one has more to be written: that the blueprint has instances.
    create(t, address)
    wait_ready(t, address)
    mark = t.mark()
    t.kube.checked("POST", address, {"apiVersion": f"{group}/v1", "kind": "App", "metadata": {"name": "other"}, "spec": {"image": "a"}})
    t.kube.wait("the chain is complete", lambda: value("other-three") == "a")
    quiet(t)
    equal([r.name for r in writes(t, mark) if not r.path.endswith(("/status", "/events"))],
          ["other", "other-one", "other-two", "other-three"], "writes")
    equal([r.uri for r in t.requests(mark) if r.verb in ("get", "list")], [], "what the operator asked")
    mark = t.mark()
    t.kube.checked("PATCH", f"{address}/other", {"spec": {"image": "b"}}, content_type="application/merge-patch+json")
    t.kube.wait("the chain is changed", lambda: value("other-three") == "b")
    quiet(t)
    equal([r.name for r in writes(t, mark) if not r.path.endswith(("/status", "/events"))],
          ["other-one", "other-two", "other-three"], "writes of a change")

    # What a crash leaves is known: an object that was deleted meanwhile is made again, and all go in the end.
    operator.stop(signal.SIGKILL)
    t.kube.delete("ConfigMap", t.ns, "other-two")
    operator.start()
    t.kube.wait("the object is back", lambda: value("other-two") == "b")
    for name in ("web", "other"):
        t.kube.checked("DELETE", f"{address}/{name}")
    t.kube.wait("all are gone", lambda: not [m for m in t.kube.list("ConfigMap", t.ns) if m["metadata"]["name"].endswith(("-one", "-two", "-three"))])


@test
def a_blueprint_becomes_ready_objects_and_nothing_again(t):
    address = define(t)
    operator = Operator(t)
    t.kube.wait("the blueprint is in force", lambda: "is in force for App" in operator.said())
    create(t, address)
    wait_ready(t, address)
    ip = t.kube.get("Service", t.ns, "web")["spec"]["clusterIP"]
    env = t.kube.get("Deployment", t.ns, "web")["spec"]["template"]["spec"]["containers"][0]["env"]
    equal(env, [{"name": "PUBLIC_ADDRESS", "value": ip}], "what flowed along the edge")
    equal(data(t), {"address": f"{ip}:80", "replicas": "2"}, "what flowed into the third node")
    made = re.findall(r"created (\S+)", operator.said())
    equal(made, ["Service", "Deployment", "ConfigMap"], "the order of creation")

    # Another instance's input, a deleted child, a changed one: all become as wanted.
    t.kube.checked("PATCH", f"{address}/web", {"spec": {"replicas": 3}}, content_type="application/merge-patch+json")
    t.kube.wait("three replicas are published", lambda: data(t)["replicas"] == "3")
    wait_ready(t, address)
    t.kube.delete("ConfigMap", t.ns, "web-address")
    t.kube.wait("the deleted child is back", lambda: t.kube.get("ConfigMap", t.ns, "web-address") is not None)
    t.kube.patch("Service", t.ns, "web", {"spec": {"ports": [{"name": "http", "port": 80, "targetPort": 1}]}})
    # Another manager's field isn't taken by force: the status names both.
    t.kube.wait("the conflict is reported", lambda: condition(t, address).get("reason") == "Failed")
    contains(condition(t, address)["message"], f"Service {t.ns}/web", "conflict", "targetPort")
    t.kube.delete("Service", t.ns, "web")
    t.kube.wait("the Service is back", lambda: (t.kube.get("Service", t.ns, "web") or {}).get(
        "spec", {}).get("ports", [{}])[0].get("targetPort") == 8080)
    wait_ready(t, address)
    # A guard that no longer holds takes its node along.
    t.kube.checked("PATCH", f"{address}/web", {"spec": {"publish": False}}, content_type="application/merge-patch+json")
    t.kube.wait("what isn't wanted goes", lambda: t.kube.get("ConfigMap", t.ns, "web-address") is None)
    wait_ready(t, address)

    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)
    check(t.kube.get("Deployment", t.ns, "web") is None and t.kube.get("Service", t.ns, "web") is None, "something stays")
    equal(re.findall(r"deleted (\S+)", operator.said())[-2:], ["Deployment", "Service"], "the order of deletion")
    equal(operator.stop(), 0, "exit code after SIGTERM")


@test
def an_operator_that_is_killed_goes_on_where_it_was(t):
    address = define(t)
    operator = Operator(t)
    create(t, address)
    t.kube.wait("something was created", lambda: t.kube.get("Service", t.ns, "web") is not None)
    operator.stop(signal.SIGKILL)
    t.kube.delete("Service", t.ns, "web")
    operator.start()
    # It may have said that it is ready before it was killed.
    t.kube.wait("the Service is there again", lambda: t.kube.get("Service", t.ns, "web") is not None)
    wait_ready(t, address)
    ip = t.kube.get("Service", t.ns, "web")["spec"]["clusterIP"]
    t.kube.wait("the new address is published", lambda: data(t)["address"] == f"{ip}:80")
    wait_ready(t, address)
    # Nothing changes, so nothing is asked and nothing is written; and a new operator finds nothing to write.
    operator.stop()
    mark = t.mark()
    operator.start()
    t.kube.wait("the blueprint is in force again", lambda: operator.said().count("is in force") >= 3)
    t.kube.wait("its kinds are watched", lambda: len(watched(t, mark)) >= 5)
    quiet(t)
    equal(writes(t, mark), [], "writes of an operator that starts again")
    # Killed while it is torn down.
    operator.stop(signal.SIGKILL)
    t.kube.checked("DELETE", f"{address}/web")
    operator.start()
    wait_gone(t, address)
    for kind in ("Deployment", "Service"):
        check(t.kube.get(kind, t.ns, "web") is None, f"the {kind} stays")


@test
def what_the_operator_cannot_do_is_said_in_the_status(t):
    address = define(t)
    t.kube.create("Service", t.ns, {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 1}]}})
    operator = Operator(t)
    create(t, address)
    t.kube.wait("the status says why", lambda: condition(t, address).get("reason") == "Failed")
    contains(condition(t, address)["message"], f"Service {t.ns}/web")
    equal(t.kube.get("Service", t.ns, "web")["spec"]["ports"][0]["port"], 1, "somebody else's port")
    # A revision of the blueprint that can't be evaluated changes nothing, and its error has Nickel's own place.
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": "{ nodes = 1 + \"a\" }"}})
    t.kube.wait("the revision is rejected", lambda: "its last good revision stays in force" in operator.said())
    contains(operator.said(), "blueprint.ncl:1:")
    t.kube.delete("Service", t.ns, "web")
    wait_ready(t, address)
    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)


@test
def a_blueprint_stays_until_its_instances_are_gone(t):
    address = define(t)
    operator = Operator(t)
    create(t, address)
    wait_ready(t, address)
    t.kube.delete("ConfigMap", t.ns, "app")
    t.kube.wait("it is said", lambda: "it stays until its instances are gone" in operator.said())
    operator.stop()
    operator.start()
    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)
    t.kube.wait("the blueprint is gone", lambda: t.kube.get("ConfigMap", t.ns, "app") is None)
    check(t.kube.get("Service", t.ns, "web") is None, "the Service stays")
