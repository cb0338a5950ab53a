"""A blueprint in several ConfigMaps."""
from harness import check, contains, equal, test
from test_operator import Operator
from test_operator_faults import GROUP, kind, make, wait_torn_down

FIRST = '''let {Blueprint, ..} = import "mistletoe.ncl" in
let {text} = import "lib.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes.child.own = fun {instance, ..} =>
    { apiVersion = "v1", kind = "ConfigMap", metadata.name = instance.metadata.name, data.text = text },
  also = [{from = "instance", to = "child"}],
} | Blueprint'''


def first(t, parts):
    t.kube.create("ConfigMap", t.ns, {
        "metadata": {"name": "app", "labels": {"mistletoe.dev/blueprint": "true"}, "annotations": {"mistletoe.dev/blueprint-parts": parts}},
        "data": {"blueprint.ncl": FIRST.replace("GROUP", GROUP.format(ns=t.ns))}})


def part(t, name, **files):
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": name, "labels": {"mistletoe.dev/blueprint": "part"}},
                                      "data": {f"{file}.ncl": text for file, text in files.items()}})


def annotations(t):
    return t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("annotations", {})


def wait_said(t, status, *pieces):
    t.kube.wait(f"the blueprint is {status}", lambda: annotations(t).get("mistletoe.dev/status") == status and all(
        piece in annotations(t).get("mistletoe.dev/message", "") for piece in pieces))


@test
def a_blueprint_has_parts_in_other_config_maps(t):
    where = kind(t, "Thing", "things")
    operator = Operator(t)
    make(t, where)
    first(t, "lib, words")
    wait_said(t, "Rejected", "its part lib is missing", "mistletoe.dev/blueprint=part")

    def text():
        return ((t.kube.get("ConfigMap", t.ns, "web") or {}).get("data") or {}).get("text")
    # Nothing of it changes: the parts come.
    part(t, "lib", lib='{ text = "hello " ++ (import "words.ncl") }')
    part(t, "words", words='"one"')
    t.kube.wait("the child is made", lambda: text() == "hello one")
    wait_said(t, "InForce")
    t.kube.patch("ConfigMap", t.ns, "words", {"data": {"words.ncl": '"two"'}})
    t.kube.wait("a change of a part is a new revision", lambda: text() == "hello two")
    check("nodes" in t.run("blueprint", "status", f"thing.{GROUP.format(ns=t.ns)}/web", "-o", "json").json, "mistctl reads the parts")

    # The last good revision goes on while a part is missing, be it faulty or gone.
    t.kube.patch("ConfigMap", t.ns, "words", {"data": {"words.ncl": '"three'}})
    wait_said(t, "Rejected", "words.ncl")
    t.kube.delete("ConfigMap", t.ns, "words")
    wait_said(t, "Rejected", "its part words is missing")
    t.kube.delete("ConfigMap", t.ns, "web")
    t.kube.wait("it is made again", lambda: text() == "hello two")
    part(t, "words", words='"four"', lib="1")
    wait_said(t, "Rejected", "lib and words both have a file lib.ncl")
    t.kube.patch("ConfigMap", t.ns, "words", {"data": {"lib.ncl": None}})
    t.kube.wait("it is good again", lambda: text() == "hello four")
    wait_said(t, "InForce")

    # A restart finds all of it, and nobody takes a part for a blueprint.
    equal(operator.stop(), 0, "exit code")
    before = t.kube.get("ConfigMap", t.ns, "app")["metadata"]["resourceVersion"]
    again = Operator(t, name="again")
    t.kube.delete("ConfigMap", t.ns, "web")
    t.kube.wait("it is made again", lambda: text() == "hello four")
    equal(t.kube.get("ConfigMap", t.ns, "app")["metadata"]["resourceVersion"], before, "the blueprint's ConfigMap")
    equal([line for line in again.said().splitlines() if "rejected" in line or "was deleted" in line], [], "what it said")
    equal(t.kube.get("ConfigMap", t.ns, "lib")["metadata"].get("annotations"), None, "annotations of the part")
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    contains(again.said(), "blueprint app is in force")
    equal(again.stop(), 0, "exit code")
