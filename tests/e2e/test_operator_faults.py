"""The operator where others don't play along: kinds that come late or go, labels that are removed, revisions that are bad."""
from harness import check, contains, equal, test
from test_operator import Operator

GROUP = "{ns}.example.com"

# An instance Thing has one child.
ONE = '''let {Blueprint, ..} = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes.child.own = fun {instance, ..} =>
    { apiVersion = "VERSION", kind = "KIND", metadata.name = instance.metadata.name, BODY },
  also = [{from = "instance", to = "child"}],
} | Blueprint'''

# The child of each instance has what a ConfigMap that they share says.
SHARED = '''let {Blueprint, ..} = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes = {
    shared.read = fun {..} => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "shared" },
    child.own = fun {instance, a, ..} =>
      { apiVersion = "v1", kind = "ConfigMap", metadata.name = instance.metadata.name, data.got = a },
  },
  also = [{from = "instance", to = "child"}, {from = "child", to = "shared"}],
  sequence = [{from = "shared", to = "child", extract = {a = "data.a"}}],
} | Blueprint'''


def kind(t, name, plural):
    """A kind of this test's own, without a schema; the path of its objects."""
    group = GROUP.format(ns=t.ns)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    t.kube.create("CustomResourceDefinition", None, {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced",
                 "names": {"kind": name, "plural": plural, "singular": name.lower()},
                 "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                               "schema": {"openAPIV3Schema": schema}}]}})
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"{plural}.{group}"))
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", f"/apis/{group}/v1/{plural}")[0] == 200)
    return f"/apis/{group}/v1/namespaces/{t.ns}/{plural}"


def blueprint(t, text, version="v1", kind="ConfigMap", body='data = {a = "1"}'):
    for word, value in (("GROUP", GROUP.format(ns=t.ns)), ("VERSION", version), ("KIND", kind), ("BODY", body)):
        text = text.replace(word, value)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "app", "labels": {"mistletoe.dev/blueprint": "true"}},
                                      "data": {"blueprint.ncl": text}})


def make(t, where, name="web", **spec):
    t.kube.checked("POST", where, {"apiVersion": "/".join(where.split("/")[2:4]), "kind": "Thing",
                                   "metadata": {"name": name}, "spec": spec})
    # Its finalizer must not outlive the test's operator.
    t.cleanup(lambda: t.kube.request("PATCH", f"{where}/{name}", {"metadata": {"finalizers": None}},
                                     content_type="application/merge-patch+json"))


def wait_made(t, name="web"):
    t.kube.wait("the child is made", lambda: t.kube.get("ConfigMap", t.ns, name))


def wait_torn_down(t, where):
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{where}/web")[0] == 404)


@test
def an_operator_waits_for_a_kind_that_comes_later(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE, f"{GROUP.format(ns=t.ns)}/v1", "Late", "spec = {}")
    operator = Operator(t)
    make(t, where)
    t.kube.wait("it is said", lambda: "while looking for Late" in operator.said())
    late = kind(t, "Late", "lates")
    t.kube.wait("the child is made", lambda: t.kube.request("GET", f"{late}/web")[0] == 200)


@test
def an_operator_tears_down_where_the_kind_of_a_child_is_gone(t):
    where, late = kind(t, "Thing", "things"), kind(t, "Late", "lates")
    blueprint(t, ONE, f"{GROUP.format(ns=t.ns)}/v1", "Late", "spec = {}")
    operator = Operator(t)
    make(t, where)
    t.kube.wait("the child is made", lambda: t.kube.request("GET", f"{late}/web")[0] == 200)
    operator.stop()
    name = f"lates.{GROUP.format(ns=t.ns)}"
    t.kube.delete("CustomResourceDefinition", None, name)
    t.kube.wait("the kind is gone", lambda: t.kube.get("CustomResourceDefinition", None, name) is None)
    t.kube.checked("DELETE", f"{where}/web")
    operator.start()
    wait_torn_down(t, where)


@test
def an_operator_tells_every_instance_of_what_they_share(t):
    where = kind(t, "Thing", "things")
    blueprint(t, SHARED)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "shared"}, "data": {"a": "1"}})
    Operator(t)
    names = ("one", "two", "three")

    def got():
        return [(t.kube.get("ConfigMap", t.ns, name) or {"data": {"got": None}})["data"]["got"] for name in names]

    for name in names:
        make(t, where, name)
    t.kube.wait("all have it", lambda: got() == ["1"] * 3)
    t.kube.patch("ConfigMap", t.ns, "shared", {"data": {"a": "2"}})
    t.kube.wait("all have what it became", lambda: got() == ["2"] * 3)


@test
def an_operator_knows_its_objects_without_their_label(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    operator = Operator(t)
    make(t, where)
    wait_made(t)
    unlabelled = {"metadata": {"labels": {"mistletoe.dev/instance-uid": None}}}
    t.kube.patch("ConfigMap", t.ns, "web", unlabelled)
    t.kube.wait("the label is back", lambda: "mistletoe.dev/instance-uid" in t.kube.get("ConfigMap", t.ns, "web")[
        "metadata"].get("labels", {}))
    operator.stop()
    t.kube.patch("ConfigMap", t.ns, "web", unlabelled)
    t.kube.checked("DELETE", f"{where}/web")
    operator.start()
    wait_torn_down(t, where)
    check(t.kube.get("ConfigMap", t.ns, "web") is None, "the child is orphaned")


@test
def an_operator_tears_down_without_a_revision_that_is_good(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    operator = Operator(t)
    make(t, where)
    wait_made(t)
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": "{ nodes = 1 + \"a\" }"}})
    t.kube.wait("the revision is rejected", lambda: "is rejected" in operator.said())
    operator.stop()
    operator.start()
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    check(t.kube.get("ConfigMap", t.ns, "web") is None, "the child is orphaned")


@test
def an_instance_that_is_repaired_does_not_wait_for_the_next_try(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE, body='data = { "%{instance.spec.key}" = "x" }')
    operator = Operator(t)
    make(t, where, key="not valid!")
    t.kube.wait("the next try is far away", lambda: "next try in 12800 ms" in operator.said())
    t.kube.checked("PATCH", f"{where}/web", {"spec": {"key": "fine"}}, content_type="application/merge-patch+json")
    wait_made(t)
    contains(operator.said(), "created ConfigMap")
    equal(operator.said().count("next try in 25600 ms"), 0, "tries before the repair was seen")


@test
def a_blueprint_keeps_its_kind_while_it_has_instances(t):
    where, other = kind(t, "Thing", "things"), kind(t, "Other", "others")
    blueprint(t, ONE)
    operator = Operator(t)
    make(t, where)
    wait_made(t)
    text = t.kube.get("ConfigMap", t.ns, "app")["data"]["blueprint.ncl"].replace('"Thing"', '"Other"')
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": text}})
    t.kube.wait("the revision is rejected", lambda: "its last good revision goes on" in operator.said())
    contains(operator.said(), f"its kind became {GROUP.format(ns=t.ns)}/v1 Other", "there are instances of")
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    t.kube.wait("it is good now", lambda: "is in force for Other" in operator.said())
    t.kube.checked("POST", other, {"apiVersion": "/".join(other.split("/")[2:4]), "kind": "Other",
                                   "metadata": {"name": "web"}})
    wait_made(t)
    t.kube.checked("DELETE", f"{other}/web")
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{other}/web")[0] == 404)
