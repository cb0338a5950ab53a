"""The operator where others don't play along: kinds that come late or go, labels that are removed, revisions that are bad."""
import time

from harness import check, contains, equal, kubeconfig_text, test
from proxy import Proxy
from test_operator import Operator, quiet

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

# One node has a child for each name.
MANY = '''let {Blueprint, ..} = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes.children.own = fun {instance, ..} => instance.spec.names |> std.array.map (fun called =>
    { apiVersion = "v1", kind = "ConfigMap", metadata.name = called, data.of = called }),
  also = [{from = "instance", to = "children"}],
} | Blueprint'''


def kind(t, name, plural, subresources={"status": {}}):
    """A kind of this test's own, without a schema; the path of its objects."""
    group = GROUP.format(ns=t.ns)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    t.kube.create("CustomResourceDefinition", None, {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced",
                 "names": {"kind": name, "plural": plural, "singular": name.lower()},
                 "versions": [{"name": "v1", "served": True, "storage": True, "subresources": subresources,
                               "schema": {"openAPIV3Schema": schema}}]}})
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"{plural}.{group}"))
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", f"/apis/{group}/v1/{plural}")[0] == 200)
    return f"/apis/{group}/v1/namespaces/{t.ns}/{plural}"


def blueprint(t, text, version="v1", kind="ConfigMap", body='data = {a = "1"}', name="app"):
    for word, value in (("GROUP", GROUP.format(ns=t.ns)), ("VERSION", version), ("KIND", kind), ("BODY", body)):
        text = text.replace(word, value)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": name, "labels": {"mistletoe.dev/blueprint": "true"}},
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
def a_kind_of_children_that_cannot_be_listed_is_told_with_the_servers_words(t):
    """The server lists nothing of a kind while the webhook that converts one of its objects doesn't answer."""
    where, group = kind(t, "Thing", "things"), GROUP.format(ns=t.ns)
    version = {"served": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    t.kube.create("CustomResourceDefinition", None, {"metadata": {"name": f"parts.{group}"}, "spec": {
        "group": group, "scope": "Namespaced", "names": {"kind": "Part", "plural": "parts", "singular": "part"},
        "versions": [{"name": "v1", "storage": True, **version}, {"name": "v2", "storage": False, **version}]}})
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"parts.{group}"))
    parts = f"/apis/{group}/v2/namespaces/{t.ns}/parts"
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", parts)[0] == 200)
    blueprint(t, ONE, f"{group}/v2", "Part", "spec = {}")
    operator = Operator(t)
    make(t, where)
    t.kube.wait("the child is made", lambda: t.kube.request("GET", f"{parts}/web")[0] == 200)
    operator.stop()
    crd = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/parts.{group}"
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"}}
    t.kube.checked("PATCH", crd, {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}, "application/merge-patch+json")
    # With a limit and no selector it asks etcd, and says why; else that its own copy isn't ready.
    t.kube.wait("nothing is listed", lambda: t.kube.request("GET", parts + "?limit=500")[0] == 500)
    operator.start()
    said = lambda: next((c["message"] for c in t.kube.checked("GET", f"{where}/web").get("status", {}).get("conditions", [])  # noqa: E731
                         if c["type"] == "Ready"), "")
    t.kube.wait("it is said", lambda: f"Part {t.ns}/web can't be read" in said() and "conversion webhook for" in said())
    contains(said(), "https://127.0.0.1:1/convert")
    t.kube.checked("PATCH", crd, {"spec": {"conversion": {"strategy": "None", "webhook": None}}}, "application/merge-patch+json")
    t.kube.wait("it is well again", lambda: "can't be read" not in said())
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)


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
def an_operator_tears_down_where_the_version_of_a_child_is_gone(t):
    """The kind is still served, in another version: the child is there."""
    where, group = kind(t, "Thing", "things"), GROUP.format(ns=t.ns)
    name, schema = f"lates.{group}", {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}

    def versions(is_old_served):
        return [{"name": "v1alpha1", "served": is_old_served, "storage": False, "schema": schema},
                {"name": "v1", "served": True, "storage": True, "schema": schema}]
    t.kube.create("CustomResourceDefinition", None, {
        "metadata": {"name": name},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Late", "plural": "lates", "singular": "late"},
                 "versions": versions(True)}})
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, name))
    old, late = (f"/apis/{group}/{version}/namespaces/{t.ns}/lates" for version in ("v1alpha1", "v1"))
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", old)[0] == 200)
    blueprint(t, ONE, f"{group}/v1alpha1", "Late", "spec = {}")
    operator = Operator(t)
    make(t, where)
    t.kube.wait("the child is made", lambda: t.kube.request("GET", f"{late}/web")[0] == 200)
    operator.stop()
    t.kube.patch("CustomResourceDefinition", None, name, {"spec": {"versions": versions(False)}})
    t.kube.wait("the version is gone", lambda: t.kube.request("GET", old)[0] == 404)
    t.kube.checked("DELETE", f"{where}/web")
    operator.start()
    wait_torn_down(t, where)
    equal(t.kube.request("GET", f"{late}/web")[0], 404, "the child")
    equal(operator.stop(), 0, "exit code")


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


LABEL = "mistletoe.dev/blueprint"


@test
def a_blueprint_that_lost_its_label_while_no_operator_ran_is_found(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    operator = Operator(t)
    for name in ("web", "wed"):
        make(t, where, name)
        wait_made(t, name)
    operator.stop()
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"labels": {LABEL: None}}})
    t.kube.checked("DELETE", f"{where}/web")
    operator.start()
    wait_torn_down(t, where)
    check(t.kube.get("ConfigMap", t.ns, "web") is None, "the child is orphaned")
    contains(operator.said(), f"blueprint {t.ns}/app: it has instances of Thing and lost the label {LABEL}=true")
    said = t.kube.get("ConfigMap", t.ns, "app")["metadata"]["annotations"]
    equal(said.get("mistletoe.dev/status"), "LabelMissing")
    contains(said.get("mistletoe.dev/message"), f"kubectl label configmap app -n {t.ns} {LABEL}=true")
    t.kube.wait("the other one says so", lambda: "has lost its label" in message(t, where, "wed"))
    # Nothing is repaired, and nothing lost.
    t.kube.delete("ConfigMap", t.ns, "wed")
    quiet(t)
    check(t.kube.get("ConfigMap", t.ns, "wed") is None, "it is repaired without a blueprint")
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"labels": {LABEL: "true"}}})
    wait_made(t, "wed")
    t.kube.wait("it is ready", lambda: message(t, where, "wed") == "everything is as wanted")
    # The same while an operator runs. The last instance lets the ConfigMap go.
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"labels": {LABEL: None}}})
    t.kube.wait("it is said", lambda: operator.said().count("and lost the label") == 2)
    t.kube.checked("DELETE", f"{where}/wed")
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{where}/wed")[0] == 404)
    check(t.kube.get("ConfigMap", t.ns, "wed") is None, "the child is orphaned")
    t.kube.wait("the ConfigMap is let go", lambda: not t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("finalizers"))
    equal(operator.stop(), 0, "exit code")


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
    t.kube.wait("the revision is rejected", lambda: "its last good revision stays in force" in operator.said())
    contains(operator.said(), f"its kind became {GROUP.format(ns=t.ns)}/v1 Other", "there are instances of")
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    t.kube.wait("it is good now", lambda: "is in force for Other" in operator.said())
    t.kube.checked("POST", other, {"apiVersion": "/".join(other.split("/")[2:4]), "kind": "Other",
                                   "metadata": {"name": "web"}})
    wait_made(t)
    t.kube.checked("DELETE", f"{other}/web")
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{other}/web")[0] == 404)


def message(t, where, name="web"):
    status = t.kube.checked("GET", f"{where}/{name}").get("status", {})
    return next((each["message"] for each in status.get("conditions", []) if each["type"] == "Ready"), "")


def written(t, mark):
    """(writes of children, of the status, Events) of the operator."""
    asked = [each for each in t.requests(mark) if each.writes]
    return ([each for each in asked if each.resource == "configmaps" and each.name != "app"],
            [each for each in asked if each.path.endswith("/status")], [each for each in asked if each.resource == "events"])


@test
def objects_of_a_node_that_fail_are_each_tried_with_growing_pauses(t):
    where = kind(t, "Thing", "things")
    blueprint(t, MANY)
    Operator(t)
    mark = t.mark()
    make(t, where, names=["web_c", "fine", "web_a", "web_b"])
    wait_made(t, "fine")
    t.kube.wait("the first of them is named", lambda: "web_a and 2 more" in message(t, where))
    time.sleep(12)
    contains(message(t, where), f"ConfigMap {t.ns}/web_a and 2 more: ", '"web_a" is invalid')
    children, statuses, events = written(t, mark)
    # After 0.2, 0.4, … s: seven times in 12 s.
    for name in ("web_a", "web_b", "web_c"):
        tries = [each for each in children if each.name == name]
        check(2 <= len(tries) <= 8, f"{len(tries)} writes of {name}")
    check(len(statuses) <= 5 and len(events) <= 3, f"{len(statuses)} of the status, {len(events)} Events")
    t.kube.checked("PATCH", f"{where}/web", {"spec": {"names": ["fine", "good"]}}, content_type="application/merge-patch+json")
    t.kube.wait("it is ready", lambda: message(t, where) == "everything is as wanted")


@test
def deletes_that_fail_are_each_tried_with_growing_pauses(t):
    where = kind(t, "Thing", "things")
    blueprint(t, MANY)
    Operator(t)
    names = ["one", "three", "two"]
    make(t, where, names=names)
    t.kube.wait("it is ready", lambda: message(t, where) == "everything is as wanted")
    policy = f"{t.ns}-policy"
    t.kube.create("ValidatingAdmissionPolicy", None, {"metadata": {"name": policy}, "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                                                "operations": ["DELETE"]}],
                             "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}}},
        "validations": [{"expression": "false", "message": "nothing goes"}]}})
    t.cleanup(lambda: t.kube.delete("ValidatingAdmissionPolicy", None, policy))
    t.kube.create("ValidatingAdmissionPolicyBinding", None, {
        "metadata": {"name": policy}, "spec": {"policyName": policy, "validationActions": ["Deny"]}})
    t.cleanup(lambda: t.kube.delete("ValidatingAdmissionPolicyBinding", None, policy))
    t.kube.wait("the policy is enforced", lambda: t.kube.request(
        "DELETE", t.kube.path("ConfigMap", t.ns, "one") + "?dryRun=All")[0] in (403, 422))
    mark = t.mark()
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("it is said", lambda: "nothing goes" in message(t, where))
    time.sleep(12)
    contains(message(t, where), f"ConfigMap {t.ns}/one and 2 more: ")
    children, statuses, events = written(t, mark)
    for name in names:
        tries = [each for each in children if each.name == name]
        check(2 <= len(tries) <= 8, f"{len(tries)} deletes of {name}")
    check(len(statuses) <= 5 and len(events) <= 3, f"{len(statuses)} of the status, {len(events)} Events")
    t.kube.delete("ValidatingAdmissionPolicyBinding", None, policy)
    wait_torn_down(t, where)


@test
def a_value_that_alternates_is_no_fight(t):
    where = kind(t, "Thing", "things")
    blueprint(t, SHARED)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "shared"}, "data": {"a": "1"}})
    operator = Operator(t)
    make(t, where)
    for i in range(30):
        value = str(i % 2)
        t.kube.patch("ConfigMap", t.ns, "shared", {"data": {"a": value}})
        t.kube.wait("it is copied", lambda: (t.kube.get("ConfigMap", t.ns, "web") or {"data": {}})["data"].get("got") == value, 20)
        check("something else changes" not in message(t, where), message(t, where))
    equal(operator.said().count("something else changes"), 0, "fights")


@test
def a_kind_without_the_status_subresource_is_written_to_once(t):
    """There each status that is written is a new generation."""
    where = kind(t, "Thing", "things", subresources={})
    blueprint(t, ONE)
    operator = Operator(t)
    mark = t.mark()
    make(t, where)
    t.kube.wait("it is ready", lambda: "everything is as wanted" in str(t.kube.checked("GET", f"{where}/web").get("status")))
    quiet(t)
    written = [r.uri for r in t.requests(mark) if r.writes and "/things/" in r.uri]
    check(len(written) <= 4, "writes to the instance:", written)
    equal(operator.stop(), 0, "exit code")


# An instance whose spec says so never ends, or takes more memory than there is.
HEAVY = '''let {Blueprint, ..} = import "mistletoe.ncl" in
let rec spin = fun n => if n < 0 then n else spin (n + 1) in
let grow = fun n => std.array.fold_left (fun sum each => sum + each) 0 (std.array.generate (fun i => i) n) in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes.child.own = fun {instance, ..} => {
    apiVersion = "v1", kind = "ConfigMap", metadata.name = instance.metadata.name,
    data.got =
      if instance.spec.work == "spin" then std.to_string (spin 0)
      else if instance.spec.work == "grow" then std.to_string (grow 100000000)
      else instance.spec.work,
  },
  also = [{from = "instance", to = "child"}],
} | Blueprint'''


@test
def an_instance_that_never_ends_keeps_no_other_waiting(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAVY)
    operator = Operator(t)
    t.kube.wait("the blueprint is in force", lambda: "is in force" in operator.said())
    for name in ("web", "wed", "wee"):
        make(t, where, name, work="spin")
    make(t, where, "good", work="fine")
    # The sandbox ends each of them only after a minute of processor time.
    t.kube.wait("the other one is made", lambda: t.kube.get("ConfigMap", t.ns, "good"), seconds=55)
    make(t, where, "next", work="fine")
    wait_made(t, "next")
    equal([t.kube.get("ConfigMap", t.ns, name) for name in ("web", "wed", "wee")], [None] * 3, "children of what never ends")
    t.kube.checked("DELETE", f"{where}/wed")
    t.kube.wait("one that is evaluated can go", lambda: t.kube.request("GET", f"{where}/wed")[0] == 404)
    equal(operator.stop(), 0, "exit code")


@test
def an_instance_that_reached_a_limit_rests(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAVY)
    operator = Operator(t)
    make(t, where, work="grow")
    t.kube.wait("the limit is told", lambda: "memory" in message(t, where), seconds=60)
    contains(message(t, where), "; it is evaluated again at 20", "or when the instance or its blueprint changes")
    mark = t.mark()
    t.kube.wait("it was tried again", lambda: "it is evaluated again in 20 s" in operator.said(), seconds=60)
    t.kube.wait("and again", lambda: "it is evaluated again in 40 s" in operator.said(), seconds=90)
    children, statuses, _ = written(t, mark)
    equal([each.uri for each in children], [])
    check(len(statuses) <= 3, f"{len(statuses)} writes of the status")
    t.kube.checked("PATCH", f"{where}/web", {"spec": {"work": "fine"}}, content_type="application/merge-patch+json")
    wait_made(t)
    t.kube.wait("it is ready", lambda: message(t, where) == "everything is as wanted")
    equal(operator.said().count("it is evaluated again in"), 3, "rests")


# Each is expensive as soon as it is read, before there is an instance.
HOSTILE = {
    "endless": "(let rec spin = fun n => if n < 0 then n else spin (n + 1) in spin 0)",
    "huge": "(std.array.range 0 20000000 |> std.array.map std.string.from_number |> std.array.length)",
    "quadratic": "(let texts = std.array.generate std.string.from_number 200000 in "
                 "std.array.fold_left (fun sum each => if std.array.elem each texts then sum + 1 else sum) 0 texts)",
}


def hostile(work):
    """The kind of its instances depends on the work."""
    return ONE.replace("{\n  kind = {", "let work = " + work + " in {\n  kind = {", 1).replace(
        'kind = "Thing"', 'kind = if work > 0 then "Thing" else "Other"')


@test(waits=True)
def hostile_revisions_are_rejected_while_others_go_on(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE, body="data = { a = instance.spec.a }")
    operator = Operator(t, "--limit-time", "5s", "--limit-memory", "300")
    make(t, where, "first", a="1")
    wait_made(t, "first")

    def told(name):
        return t.kube.get("ConfigMap", t.ns, name)["metadata"].get("annotations", {})
    for name, work in HOSTILE.items():
        blueprint(t, hostile(work), name=name)
        # While it is evaluated, and after.
        make(t, where, f"beside-{name}", a="1")
        wait_made(t, f"beside-{name}")
    for name in HOSTILE:
        t.kube.wait(f"{name} is rejected", lambda: told(name).get("mistletoe.dev/status") == "Rejected", 120)
        contains(told(name)["mistletoe.dev/message"], "reached its ", " limit")
    contains(told("huge")["mistletoe.dev/message"], "memory limit", "raise --limit-memory, now 300 MiB")
    contains(told("quadratic")["mistletoe.dev/message"], "time limit of 5 s", "raise --limit-time, now 5s")

    # As a new revision of the blueprint that is in force.
    t.kube.checked("PATCH", f"/api/v1/namespaces/{t.ns}/configmaps/app", {"data": {
        "blueprint.ncl": t.kube.get("ConfigMap", t.ns, "quadratic")["data"]["blueprint.ncl"]}}, content_type="application/merge-patch+json")
    t.kube.wait("it is rejected", lambda: told("app").get("mistletoe.dev/status") == "Rejected", 120)
    contains(operator.said(), "blueprint app is rejected, its last good revision stays in force")
    t.kube.checked("PATCH", f"{where}/first", {"spec": {"a": "2"}}, content_type="application/merge-patch+json")
    t.kube.wait("the last good one is followed", lambda: t.kube.get("ConfigMap", t.ns, "first")["data"] == {"a": "2"})
    equal(operator.stop(), 0, "exit code")


# A Job that never gets to run, as its annotation for devcluster's node says or because a quota keeps it from making a Pod.
STUCK = '''let {Blueprint, ..} = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes.job.act = fun {instance, ..} => {
    apiVersion = "batch/v1", kind = "Job", metadata.name = instance.metadata.name,
    spec.template = {
      metadata.annotations = { "mistletoe.dev/dev-state" = instance.spec.state },
      spec = { restartPolicy = "Never", containers = [{ name = "main", image = "example.com/main:1" }] },
    },
  },
  also = [{from = "instance", to = "job"}],
} | Blueprint'''


@test
def an_act_that_can_not_run_says_why(t):
    where = kind(t, "Thing", "things")
    blueprint(t, STUCK)
    operator = Operator(t)
    make(t, where, state="image-pull-backoff")
    t.kube.wait("the image is told", lambda: "ImagePullBackOff" in message(t, where), seconds=60)
    contains(message(t, where), f"Job {t.ns}/web-", "its Job is running; container main: ")
    t.kube.create("ResourceQuota", t.ns, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    t.kube.wait("the quota counts", lambda: (t.kube.get("ResourceQuota", t.ns, "none").get("status") or {}).get("used"))
    make(t, where, "full", state="complete")
    t.kube.wait("the quota is told", lambda: "exceeded quota: none" in message(t, where, "full"), seconds=60)
    contains(message(t, where, "full"), "its Job is running; FailedCreate: Error creating: pods")
    check("exceeded" not in message(t, where), message(t, where))
    # Its Jobs have a finalizer, which nobody would remove.
    for name in ("web", "full"):
        t.kube.checked("DELETE", f"{where}/{name}")
        t.kube.wait("it is torn down", lambda: t.kube.request("GET", f"{where}/{name}")[0] == 404)
    equal(operator.stop(), 0, "exit code")


FINALIZER = "mistletoe.dev/operator"


@test
def what_a_backup_restored_is_let_go_of(t):
    """The manager that restored an object owns its finalizer beside the operator, so the operator giving up its own share isn't enough."""
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    operator = Operator(t)
    group = GROUP.format(ns=t.ns)
    t.kube.checked("POST", f"{where}?fieldManager=velero-server", {
        "apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "web", "finalizers": [FINALIZER]}, "spec": {}})
    t.kube.wait("it is ready", lambda: message(t, where) == "everything is as wanted")
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    check(t.kube.get("ConfigMap", t.ns, "web") is None, "the child is orphaned")
    t.kube.wait("the blueprint is let go", lambda: not t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("finalizers"))
    operator.stop()
    text = t.kube.get("ConfigMap", t.ns, "app")["data"]
    t.kube.delete("ConfigMap", t.ns, "app")
    t.kube.create("ConfigMap", t.ns, {"data": text, "metadata": {
        "name": "app", "labels": {LABEL: "true"}, "finalizers": [FINALIZER],
        "annotations": {"mistletoe.dev/kind": f"{group}/v1/Thing"}}}, manager="velero-server")
    t.kube.delete("ConfigMap", t.ns, "app")
    operator.start()
    t.kube.wait("the blueprint is gone", lambda: t.kube.get("ConfigMap", t.ns, "app") is None)
    equal(operator.stop(), 0, "exit code")


@test
def what_is_made_again_by_others_just_before_a_write_is_left_alone(t):
    """The change was decided for an object that is gone when it arrives."""
    where = kind(t, "Thing", "things")
    blueprint(t, ONE, body='data = { a = instance.spec.a }')
    first = []  # what happens before the next write of the child

    def before(_, method, path):
        if method == "PATCH" and path.split("?")[0].endswith("/configmaps/web") and first:
            first.pop()()

    def replace():
        t.kube.delete("ConfigMap", t.ns, "web")
        t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "web"}, "data": {"b": "theirs"}}, manager="other")
    proxy = Proxy(t.kube, t.token, before)
    t.cleanup(proxy.stop)
    operator = Operator(t, "--kubeconfig", t.file("proxied.yaml", kubeconfig_text(proxy.url, {}, namespace=t.ns)))
    make(t, where, a="1")
    t.kube.wait("it is ready", lambda: message(t, where) == "everything is as wanted")
    first.append(replace)
    t.kube.checked("PATCH", f"{where}/web", {"spec": {"a": "2"}}, content_type="application/merge-patch+json")
    t.kube.wait("it is said", lambda: f"ConfigMap {t.ns}/web exists already and is nobody's" in message(t, where))
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    left = t.kube.get("ConfigMap", t.ns, "web")
    equal((left["data"], left["metadata"].get("labels")), ({"b": "theirs"}, None), "what others made")
    equal(operator.stop(), 0, "exit code")


@test
def what_changes_just_before_the_status_is_written_is_not_missed(t):
    """The answer to that write has it before the watch tells of it, here a second later."""
    where = kind(t, "Thing", "things")
    blueprint(t, ONE, body='data = { a = instance.spec.a }')
    first = []  # what happens before the next status is written

    def before(_, method, path):
        if method == "PATCH" and path.split("?")[0].endswith("/status") and first:
            first.pop()()
    proxy = Proxy(t.kube, t.token, before, watched=lambda path: time.sleep(1) if "/things?" in path else None)
    t.cleanup(proxy.stop)
    operator = Operator(t, "--kubeconfig", t.file("proxied.yaml", kubeconfig_text(proxy.url, {}, namespace=t.ns)))

    def ask(a):
        t.kube.checked("PATCH", f"{where}/web", {"spec": {"a": a}}, content_type="application/merge-patch+json")
    make(t, where, a="1")
    t.kube.wait("it is ready", lambda: message(t, where) == "everything is as wanted")
    first.append(lambda: ask("3"))
    ask("2")
    t.kube.wait("the change is seen", lambda: t.kube.get("ConfigMap", t.ns, "web")["data"] == {"a": "3"}, 30)
    check(not first, "no status was written")
    time.sleep(2)
    first.append(lambda: t.kube.checked("DELETE", f"{where}/web"))
    ask("4")
    t.kube.wait("it is torn down", lambda: t.kube.request("GET", f"{where}/web")[0] == 404, 30)
    check(t.kube.get("ConfigMap", t.ns, "web") is None, "the child is orphaned")
    equal(operator.stop(), 0, "exit code")
