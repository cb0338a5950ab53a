"""CRDs from contracts: applied, awaited and published by the operator; what they can't say is checked by it."""
import http.server
import json
import random
import socket
import threading
import time

from harness import check, contains, equal, test
from test_operator import Operator, wait_gone
from test_blueprint_commands import OperatorAs, account, allowed, grant, printed

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

SPEC = """{
      image | String | doc "What runs",
      replicas | m.Int | m.Min 0 | m.Max 9 | default = 1,
      mode | m.Enum ["fast", "safe"] | default = "safe",
      name | m.Pattern "^[a-z]+$" | m.MaxLength 8 | optional,
      hosts | Array m.Quantity | default = [],
      limits | { _ | std.number.PosNat } | default = {},
      even | Number | std.contract.from_predicate (fun n => n % 2 == 0) | optional,
      nested.deep | { size | m.Int, even | std.contract.from_predicate (fun n => std.is_number n && n % 2 == 0) | optional } | optional,
    }"""


def blueprint(group, crd="crd = 'manage,", spec=SPEC, more=""):
    return f"""
let m = import "mistletoe.ncl" in
{{
  kind = {{
    group = "{group}",
    version = "v1",
    kind = "App",
    {crd}
    short_names = ["ap"],
    columns = [{{ name = "Image", path = "spec.image" }}],
    spec = {spec},
    {more}
  }},
  nodes.config.own = fun {{ instance, .. }} => {{
    apiVersion = "v1",
    kind = "ConfigMap",
    metadata.name = instance.metadata.name,
    data = {{ image = instance.spec.image, replicas = std.to_string instance.spec.replicas }},
  }},
  also = [{{ from = "instance", to = "config" }}],
}} | m.Blueprint
"""


def publish(t, text, name="app"):
    """Writes a blueprint's ConfigMap, or its next revision."""
    if t.kube.get("ConfigMap", t.ns, name) is None:
        t.kube.create("ConfigMap", t.ns, {"metadata": {"name": name, "labels": {"mistletoe.dev/blueprint": "true"}},
                                          "data": {"blueprint.ncl": text}})
    else:
        t.kube.patch("ConfigMap", t.ns, name, {"data": {"blueprint.ncl": text}})


def told(t, name="app"):
    """(status, message) that the operator wrote to the blueprint."""
    notes = t.kube.get("ConfigMap", t.ns, name)["metadata"].get("annotations", {})
    return notes.get("mistletoe.dev/status"), notes.get("mistletoe.dev/message", "")


def wait_told(t, status, *pieces, name="app"):
    t.kube.wait(f"the blueprint is {status}", lambda: told(t, name)[0] == status and all(
        piece in told(t, name)[1] for piece in pieces))


def remove_crd(t, group):
    t.cleanup(lambda: t.kube.request("DELETE", f"{CRDS}/apps.{group}"))


def create(t, address, **spec):
    group = address.split("/")[2]
    return t.kube.request("POST", address, {"apiVersion": f"{group}/v1", "kind": "App", "metadata": {"name": "web"},
                                            "spec": {"image": "nginx:1", **spec}})


def conditions(t, address, name="web"):
    instance = t.kube.checked("GET", f"{address}/{name}")
    return {c["type"]: c for c in instance.get("status", {}).get("conditions", [])
            if c.get("observedGeneration") == instance["metadata"]["generation"]}


def wait_condition(t, address, kind, status, name="web"):
    t.kube.wait(f"{kind} is {status}", lambda: conditions(t, address, name).get(kind, {}).get("status") == status)
    return conditions(t, address, name)[kind]


def patch(t, address, spec, name="web"):
    return t.kube.request("PATCH", f"{address}/{name}", {"spec": spec}, content_type="application/merge-patch+json")


@test
def a_contract_becomes_the_crd_and_the_operator_checks_the_rest(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    remove_crd(t, group)
    publish(t, blueprint(group))
    operator = Operator(t)
    wait_told(t, "InForce")
    crd = t.kube.checked("GET", f"{CRDS}/apps.{group}")
    equal(crd["metadata"]["annotations"]["mistletoe.dev/blueprint"], f"{t.ns}/app", "its blueprint")
    equal([c["status"] for c in crd["status"]["conditions"] if c["type"] == "NonStructuralSchema"], [], "not structural")
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    equal(fields["replicas"], {"type": "integer", "minimum": 0, "maximum": 9, "default": 1}, "a range with a default")
    equal(fields["image"], {"type": "string", "description": "What runs"}, "documentation")

    # The server refuses what the schema says.
    for spec, says in (({"replicas": 10}, "less than or equal to 9"), ({"replicas": "a"}, "integer"),
                       ({"mode": "slow"}, "Unsupported value"), ({"name": "A"}, "should match"),
                       ({"hosts": ["1X"]}, "should match"), ({"limits": {"a": 0}}, "greater than or equal to 1")):
        code, answer = create(t, address, **spec)
        equal(code, 422, spec)
        contains(answer["message"], says)
    code, answer = t.kube.request("POST", address, {"apiVersion": f"{group}/v1", "kind": "App",
                                                    "metadata": {"name": "web"}, "spec": {}})
    equal(code, 422, "an instance without what is required")
    equal(create(t, address)[0], 201, "a good instance")
    wait_condition(t, address, "Ready", "True")
    equal(wait_condition(t, address, "SpecValid", "True")["reason"], "ContractMet", "reason")
    equal(t.kube.get("ConfigMap", t.ns, "web")["data"]["replicas"], "1", "the default reached the function")

    # kubectl get.
    table = t.kube.request("GET", address, accept=TABLE)[1]
    columns = [column["name"] for column in table["columnDefinitions"] if column["priority"] == 0]
    equal(columns, ["Name", "Ready", "Reason", "Image", "Age", "Waits for"], "columns")
    equal(table["rows"][0]["cells"][:4], ["web", "True", "Ready", "nginx:1"], "its row")

    # What no schema says.
    equal(patch(t, address, {"even": 3, "image": "nginx:2"})[0], 200, "the server takes it")
    broken = wait_condition(t, address, "SpecValid", "False")
    equal(broken["reason"], "ContractBroken", "reason")
    contains(broken["message"], "spec.even: ")
    equal(conditions(t, address)["Ready"]["reason"], "SpecInvalid", "why it isn't ready")
    equal(t.kube.get("ConfigMap", t.ns, "web")["data"]["image"], "nginx:1", "what was there stays")
    patch(t, address, {"even": 4, "nested": {"deep": {"size": 1, "even": 5}}})
    t.kube.wait("the place is exact", lambda: conditions(t, address).get("SpecValid", {}).get("message", "").startswith(
        "spec.nested.deep.even: "))
    patch(t, address, {"nested": {"deep": {"even": 6}}})
    wait_condition(t, address, "Ready", "True")
    equal(t.kube.get("ConfigMap", t.ns, "web")["data"]["image"], "nginx:2", "what is wanted now")
    changed = conditions(t, address)["SpecValid"]["lastTransitionTime"]

    # An operator that starts again writes nothing, and what somebody changes in the CRD is restored.
    operator.stop()
    mark = t.mark()
    operator.start()
    t.kube.wait("it is in force again", lambda: operator.said().count("is in force") >= 2)
    t.kube.checked("PATCH", f"{CRDS}/apps.{group}", [
        {"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicas/maximum",
         "value": 20}], content_type="application/json-patch+json")
    t.kube.wait("the CRD is restored", lambda: t.kube.checked("GET", f"{CRDS}/apps.{group}")["spec"]["versions"][0][
        "schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["replicas"]["maximum"] == 9)
    # Others see a write before its answer has ended, and its line is there.
    t.kube.wait("it is told", lambda: any(r.writes for r in t.requests(mark)))
    equal([r.uri.split("?")[0] for r in t.requests(mark) if r.writes], [f"{CRDS}/apps.{group}"], "writes")
    equal(conditions(t, address)["SpecValid"]["lastTransitionTime"], changed, "no transition")
    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)


@test
def a_change_of_the_contract_that_breaks_something_is_refused_with_reasons(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    remove_crd(t, group)
    publish(t, blueprint(group))
    Operator(t)
    wait_told(t, "InForce")
    create(t, address, replicas=9)
    wait_condition(t, address, "Ready", "True")
    before = t.kube.checked("GET", f"{CRDS}/apps.{group}")["metadata"]["generation"]
    publish(t, blueprint(group, spec=SPEC.replace("m.Max 9", "m.Max 5").replace("name |", "label |").replace(
        "replicas |", "size | m.Int,\n replicas |")))
    wait_told(t, "Rejected", "this revision would break objects or clients of apps.", "version v1: spec.replicas: its maximum becomes 5",
              "version v1: spec.name: the field is gone", "version v1: spec.size: it has to be set now",
              "mistletoe.dev/allow-breaking-changes=true")
    equal(t.kube.checked("GET", f"{CRDS}/apps.{group}")["metadata"]["generation"], before, "the CRD's generation")
    # The last good one goes on.
    t.kube.delete("ConfigMap", t.ns, "web")
    t.kube.wait("it is repaired", lambda: t.kube.get("ConfigMap", t.ns, "web") is not None)

    # One that only allows more is taken at once, and one that breaks when a person says so.
    publish(t, blueprint(group, spec=SPEC.replace("m.Max 9", "m.Max 12").replace('"safe"]', '"safe", "slow"]')))
    wait_told(t, "InForce")
    t.kube.wait("more is allowed", lambda: patch(t, address, {"replicas": 12, "mode": "slow"})[0] == 200)
    wait_condition(t, address, "Ready", "True")
    publish(t, blueprint(group, spec=SPEC))
    wait_told(t, "Rejected", "its maximum becomes 9", 'it can no longer be "slow"')
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"annotations": {"mistletoe.dev/allow-breaking-changes": "true"}}})
    wait_told(t, "InForce")
    contains(wait_condition(t, address, "SpecValid", "False")["message"], "spec.")

    # Versions: the same contract under two names, and then one of them gone that objects are stored in.
    publish(t, blueprint(group, more=f'versions.v1beta1 = {{ spec = {SPEC}, deprecated = "use v1" }}, stored = "v1beta1",'))
    t.kube.wait("the CRD has both versions", lambda: len(t.kube.checked("GET", f"{CRDS}/apps.{group}")["spec"]["versions"]) == 2)
    wait_told(t, "InForce")
    crd = t.kube.checked("GET", f"{CRDS}/apps.{group}")
    equal([(v["name"], v["storage"], v.get("deprecationWarning")) for v in crd["spec"]["versions"]],
          [("v1", False, None), ("v1beta1", True, "use v1")], "versions")
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"annotations": {"mistletoe.dev/allow-breaking-changes": None}}})
    publish(t, blueprint(group))
    wait_told(t, "Rejected", "version v1beta1 is gone, and objects may be stored in it")
    publish(t, blueprint(group, more=f'versions.v1beta1.spec = {SPEC.replace("m.Max 9", "m.Max 8")},'))
    wait_told(t, "Rejected", "version v1beta1 can't be read as version v1: spec.replicas differs")


@test
def an_operator_that_finds_more_faults_than_the_one_before_keeps_what_is_in_force(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    remove_crd(t, group)
    publish(t, blueprint(group))
    operator = Operator(t)
    wait_told(t, "InForce")
    create(t, address)
    wait_condition(t, address, "Ready", "True")
    operator.stop()
    # Older operators took a default that is computed, and said that it is in force.
    computed = SPEC.replace("name |", 'title | String | default = "mode %{mode}",\n      name |')
    fault = "the contract of spec.title in version v1: its default is computed from mode"
    publish(t, blueprint(group, spec=computed))
    operator.start()
    wait_told(t, "InForce", f"warning: {fault}")
    crd = t.kube.checked("GET", f"{CRDS}/apps.{group}")
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    equal(fields["title"], {"type": "string", "default": "mode safe"}, "as they wrote it")
    t.kube.delete("ConfigMap", t.ns, "web")
    t.kube.wait("its instances are served", lambda: t.kube.get("ConfigMap", t.ns, "web") is not None)
    publish(t, blueprint(group, spec=computed.replace("m.Max 9", "m.Max 12")))
    wait_told(t, "Rejected", fault)
    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)


@test
def rules_that_an_older_operator_did_not_write_come_with_the_next_revision(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    rules = ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties", "image", "x-kubernetes-validations")

    def has_rule():
        found = t.kube.checked("GET", f"{CRDS}/apps.{group}")
        for step in rules:
            found = found.get(step) if isinstance(step, str) and found else found and found[step]
        return bool(found)

    remove_crd(t, group)
    publish(t, blueprint(group))
    operator = Operator(t)
    wait_told(t, "InForce")
    create(t, address)
    wait_condition(t, address, "Ready", "True")
    operator.stop()
    ruled = SPEC.replace("image | String |", "image | String | m.Rule { cel = \"self.size() > 6\" } |")
    publish(t, blueprint(group, spec=ruled))
    operator.start()
    wait_told(t, "InForce", "spec.image: the CRD lacks the rule self.size() > 6")
    # Restoring what others change brings no rule either.
    t.kube.request("PATCH", f"{CRDS}/apps.{group}", {"spec": {"names": {"shortNames": ["other"]}}}, content_type="application/merge-patch+json")
    t.kube.wait("the CRD is restored", lambda: t.kube.checked("GET", f"{CRDS}/apps.{group}")["spec"]["names"]["shortNames"] == ["ap"])
    check(not has_rule(), "the rule came with the restoration")
    again = ruled.replace("m.Max 9", "m.Max 12")
    publish(t, blueprint(group, spec=again))
    wait_told(t, "Rejected", "spec.image", "it has a new rule, self.size() > 6")
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"annotations": {"mistletoe.dev/allow-breaking-changes": "true"}}})
    publish(t, blueprint(group, spec=again.replace("m.Max 12", "m.Max 13")))
    wait_told(t, "InForce")
    check(has_rule(), "the rule is in the CRD")
    equal(patch(t, address, {"image": "a"})[0], 422, "an image against the rule")
    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)


@test
def a_crd_is_awaited_or_published_for_a_person(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    remove_crd(t, group)
    publish(t, blueprint(group, crd="crd = 'await,"))
    operator = Operator(t)
    wait_told(t, "AwaitingCRD", f"CustomResourceDefinition apps.{group} isn't there yet")
    # One that doesn't fit, and then what mistctl prints of the blueprint.
    path = t.file("app/blueprint.ncl", blueprint(group, crd="crd = 'await,"))
    crd = t.run("blueprint", "crd", path, "-o", "json").json
    field = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["replicas"]
    field.update({"maximum": 5})
    del field["default"]
    t.kube.checked("POST", CRDS, crd)
    wait_told(t, "Rejected", "doesn't fit the contract of the blueprint", "version v1: spec.replicas: its maximum becomes 5",
              "version v1: spec.replicas: it has no default")
    good = t.run("blueprint", "crd", path, "-o", "json").json
    t.kube.checked("PATCH", f"{CRDS}/apps.{group}", {"spec": good["spec"]}, content_type="application/merge-patch+json")
    wait_told(t, "InForce")
    create(t, address)
    wait_condition(t, address, "Ready", "True")
    equal([r for r in t.requests(0) if r.writes and "customresourcedefinitions" in r.uri], [], "the operator's writes of CRDs")
    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)

    # It is there already, and is nobody's: it is taken over only where the blueprint says so.
    publish(t, blueprint(group, crd="crd = 'manage,"))
    wait_told(t, "Rejected", "exists already, and no blueprint manages it", "adopt = true")
    publish(t, blueprint(group, crd="crd = 'manage, adopt = true,"))
    wait_told(t, "InForce")
    t.kube.wait("it is the blueprint's", lambda: t.kube.checked("GET", f"{CRDS}/apps.{group}")["metadata"].get(
        "annotations", {}).get("mistletoe.dev/blueprint") == f"{t.ns}/app")
    # Another blueprint doesn't get it.
    publish(t, blueprint(group, crd="crd = 'manage, adopt = true,"), name="other")
    wait_told(t, "Rejected", "is the kind of the blueprint app already", name="other")
    t.kube.delete("ConfigMap", t.ns, "other")

    # Published.
    second = f"second.{group}"
    remove_crd(t, second)
    publish(t, blueprint(second, crd="crd = 'publish,"), name="late")
    wait_told(t, "AwaitingCRD", "isn't there yet", name="late")
    published = t.kube.get("ConfigMap", t.ns, "late-crd")["data"]["crd.yaml"]
    equal(published, t.run("blueprint", "crd", t.file("late/blueprint.ncl", blueprint(second, crd="crd = 'publish,"))).out.split(
        "\n", 3)[3] if published.startswith("#") else published, "what was published")
    t.run("install", "kinds", "-p", t.file("crd.yaml", published), "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    wait_told(t, "InForce", name="late")
    check("created CustomResourceDefinition" not in operator.said(), "the operator created a CRD")


@test
def an_operator_that_manages_crds_needs_no_more_rights_than_rbac_prints(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    remove_crd(t, group)
    path = t.file("app/blueprint.ncl", blueprint(group))
    found = printed(t, "check", path)["blueprints"][0]
    equal([note["path"] for note in found["crd"]["operatorOnly"]], ["spec.even", "spec.nested.deep.even"], "what no CRD can ask")
    rights = printed(t, "rbac", path, "-n", t.ns, "--service-account", "worker")
    config, user = account(t, "worker")
    grant(t, rights["manifests"])
    t.kube.wait("the account has its rights", lambda: allowed(t, user, "list", "", "configmaps") and
                allowed(t, user, "create", "apiextensions.k8s.io", "customresourcedefinitions"))
    publish(t, blueprint(group))
    operator = OperatorAs(t, config)
    wait_told(t, "InForce")
    create(t, address)
    wait_condition(t, address, "Ready", "True")
    publish(t, blueprint(group, spec=SPEC.replace("m.Max 9", "m.Max 10")))
    t.kube.wait("the CRD is changed", lambda: patch(t, address, {"replicas": 10})[0] == 200)
    equal([line for line in operator.said().splitlines() if "forbidden" in line.lower()], [], "what it wasn't allowed to do")


@test
def an_operator_that_manages_a_crd_changes_its_account(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    remove_crd(t, group)
    path = t.file("app/blueprint.ncl", blueprint(group))
    _, user = account(t, "worker")
    grant(t, printed(t, "rbac", path, "-n", t.ns, "--run-as", "worker")["manifests"])
    t.kube.wait("the account has its rights", lambda: allowed(t, user, "create", "apiextensions.k8s.io", "customresourcedefinitions"))
    publish(t, blueprint(group))
    operator = Operator(t)
    wait_told(t, "InForce")
    create(t, address)
    wait_condition(t, address, "Ready", "True")
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"annotations": {"mistletoe.dev/service-account": "worker"}}})
    t.kube.wait("the other account works", lambda: operator.said().count("is in force") > 1)
    patch(t, address, {"image": "other"})
    t.kube.wait("the instance is looked at", lambda: t.kube.get("ConfigMap", t.ns, "web")["data"]["image"] == "other")


class Contracts:
    """Random contracts of values, as Nickel writes them, and values near their bounds."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def contract(self, depth=0):
        """(Nickel, a function that makes a value that may or may not meet it)"""
        pick = self.random.choice(("int", "number", "text", "enum", "bool", "quantity", "duration", "either", "nullable")
                                  + (("list", "map", "record", "typed", "keyed") if depth < 2 else ()))
        return getattr(self, pick)(depth)

    def bound(self):
        return self.random.randint(-3, 6)

    def int(self, _):
        parts = ["m.Int"] + self.random.sample([f"m.Min {self.nickel(self.bound())}", f"m.Max {self.nickel(self.bound())}", "m.MultipleOf 2",
                                                f"m.Above {self.nickel(self.bound())}", "std.number.Nat", "std.number.NonZero"],
                                               self.random.randint(0, 2))
        return " | ".join(parts), lambda: self.random.choice([self.random.randint(-4, 7)] * 4 + [1.5, "1", True])

    def number(self, _):
        parts = ["Number"] + self.random.sample([f"m.Min {self.nickel(self.bound())}", f"m.Below {self.nickel(self.bound())}",
                                                 f"m.Max {self.nickel(self.bound())}"], self.random.randint(0, 2))
        return " | ".join(parts), lambda: self.random.choice([self.random.randint(-4, 7), self.bound() + 0.5, "a", False])

    @staticmethod
    def nickel(number):
        return f"({number})" if number < 0 else str(number)

    def text(self, _):
        patterns = ['"^[a-c]+$"', r'"^\\d{1,2}$"', r'"\\w"', r'"^[^\\s]*$"', r'"a.c"', r'"^\\\\d$"']
        parts = ["String"] + self.random.sample([f"m.MinLength {self.random.randint(0, 3)}", f"m.MaxLength {self.random.randint(0, 4)}",
                                                 f"m.Pattern {self.random.choice(patterns)}", "std.string.NonEmpty"],
                                                self.random.randint(0, 2))
        words = ["", "a", "abc", "abcd", "ü", "e\u0301", "٣", "12", "a c", "a\u2003c", "\\d", "a\nc", "👩‍👩‍👧", "ABC"]
        return " | ".join(parts), lambda: self.random.choice([*words, *words, 1, []])

    def enum(self, _):
        words = self.random.sample(["a", "b", "c", "true", "1"], self.random.randint(1, 3))
        text = ", ".join(f'"{word}"' for word in words)
        tags = [word for word in words if word.isalpha()]
        nickel = f"m.Enum [{text}]"
        if tags and self.random.random() < 0.5:
            nickel = "std.enum.TagOrString | [| " + ", ".join(f"'{word}" for word in tags) + " |]"
        return nickel, lambda: self.random.choice(["a", "b", "c", "true", "1", "", 1, True])

    def bool(self, _):
        return "Bool", lambda: self.random.choice([True, False, "true", 0])

    def quantity(self, _):
        return "m.Quantity", lambda: self.random.choice(["1", "500m", "1.5Gi", ".5", "1e3", "1E", "a", "-1", "", "1 Gi", 5, 1.5, True])

    def duration(self, _):
        return "m.Duration", lambda: self.random.choice(["30s", "1h30m", "1.5s", "5", "", "s", "1d", "10µs", 5])

    def either(self, _):
        return "m.IntOrString", lambda: self.random.choice(["a", "", 5, -1, 1.5, True, []])

    def nullable(self, depth):
        nickel, value = self.contract(depth + 1)
        inner = nickel.split(" | ")
        if len(inner) > 1 or "{" in nickel:
            return "m.Nullable m.Int", lambda: self.random.choice([None, 1, "a"])
        return f"m.Nullable ({nickel})", lambda: None if self.random.random() < 0.3 else value()

    def item(self, depth):
        nickel, value = self.contract(depth + 1)
        # What stands in place of a type can't have more contracts behind it.
        while " | " in nickel and not (nickel.startswith("{") and nickel.endswith("}")):
            nickel, value = self.contract(depth + 1)
        return nickel, value

    def some(self, make):
        return [make() for _ in range(self.random.randint(0, 3))]

    def list(self, depth):
        nickel, value = self.item(depth)
        more = self.random.choice(["", " | m.MinItems 1", " | m.MaxItems 2", " | std.array.NonEmpty"])
        scalar = "{" not in nickel and "Array" not in nickel and "Nullable" not in nickel
        if scalar and self.random.random() < 0.3:
            more += " | m.Unique"
        return f"Array ({nickel}){more}", lambda: self.random.choice([self.some(value)] * 6 + ["a", {}])

    def map(self, depth):
        nickel, value = self.item(depth)
        kind = self.random.choice(["_ |", "_ :"])
        more = self.random.choice(["", " | m.MinFields 1", " | m.MaxFields 1"])
        return f"{{ {kind} {nickel} }}{more}", lambda: self.random.choice(
            [{name: value() for name in self.random.sample("abc", self.random.randint(0, 2))}] * 6 + [[], 1])

    def typed(self, depth):
        del depth
        return self.random.choice([("Array (Array Number)", lambda: [[1], self.random.choice([[], ["a"], "b"])]),
                                   ("{ _ : Array Bool }", lambda: {"a": self.random.choice([[True], [1], True])})])

    def keyed(self, depth):
        del depth
        return ('Array { name | String, size | m.Int | default = 1 } | m.KeyedBy ["name"]',
                lambda: [{"name": self.random.choice("ab"), **self.random.choice([{}, {"size": 2}, {"size": "x"}])}
                         for _ in range(self.random.randint(0, 3))])

    def record(self, depth):
        fields, values, optional = [], {}, set()
        for name in self.random.sample(["one", "two", "three"], self.random.randint(1, 3)):
            nickel, values[name] = self.contract(depth + 1)
            kind = self.random.choice(["", " | optional"])
            optional |= {name} if kind else set()
            fields.append(f"{name} | {nickel}{kind}")
        is_open = self.random.random() < 0.3

        def make():
            made = {name: value() for name, value in values.items() if self.random.random() < 0.8}
            if self.random.random() < 0.15:
                made["other"] = 1
            return made
        return "{ " + ", ".join(fields + ([".."] if is_open else [])) + " }", make


@test
def the_schema_accepts_exactly_what_the_contract_accepts(t):
    compare(t, 20260101, 24, 4)


@test(full=True)
def more_schemas_accept_exactly_what_their_contracts_accept(t):
    compare(t, int(time.time()), 80, 40)


def compare(t, seed, count, values):
    """The server's verdict by the schema against the operator's by the contract, for random contracts and values."""
    contracts = Contracts(seed)
    chosen = [contracts.contract() for _ in range(count)]
    spec = "{\n" + ",\n".join(f"      f{i} | {nickel} | optional" for i, (nickel, _) in enumerate(chosen)) + "\n    }"
    strict, loose = f"strict.{t.ns}.example.com", f"loose.{t.ns}.example.com"
    made = t.run("blueprint", "crd", t.file("a/blueprint.ncl", blueprint(strict, spec=spec).replace(
        "instance.spec.image", '"a"').replace("std.to_string instance.spec.replicas", '"b"')), "-o", "json").json
    plain = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"apps.{loose}"},
             "spec": {"group": loose, "scope": "Namespaced", "names": {"plural": "apps", "kind": "App"}, "versions": [{
                 "name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
                     "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
    for crd, group in ((made, strict), (plain, loose)):
        remove_crd(t, group)
        t.kube.checked("POST", CRDS, crd)
    t.kube.wait("both are served", lambda: all(t.kube.request("GET", f"/apis/{group}/v1/namespaces/{t.ns}/apps")[0] == 200
                                               for group in (strict, loose)))
    publish(t, blueprint(loose, crd="", spec=spec).replace("instance.spec.image", '"a"').replace(
        "std.to_string instance.spec.replicas", '"b"'))
    Operator(t)
    cases = {}
    for i, (nickel, value) in enumerate(chosen):
        for j in range(values):
            cases[f"c-{i}-{j}"] = (nickel, {f"f{i}": value()})
    answers = {}
    for name, (_, spec) in cases.items():
        def sent(group, query, name=name, spec=spec):
            return t.kube.request("POST", f"/apis/{group}/v1/namespaces/{t.ns}/apps{query}", {
                "apiVersion": f"{group}/v1", "kind": "App", "metadata": {"name": name}, "spec": spec})
        answers[name] = sent(strict, "?dryRun=All&fieldValidation=Strict")
        equal(sent(loose, "")[0], 201, f"{name} of the loose kind")

    def judged():
        items = t.kube.checked("GET", f"/apis/{loose}/v1/namespaces/{t.ns}/apps")["items"]
        found = {}
        for each in items:
            for c in each.get("status", {}).get("conditions", []):
                if c["type"] == "SpecValid":
                    found[each["metadata"]["name"]] = c
        return found
    t.kube.wait("every instance is judged", lambda: len(judged()) == len(cases), seconds=300)
    verdicts, wrong, accepted = judged(), [], 0
    for name, (nickel, spec) in cases.items():
        code, answer = answers[name]
        check(code in (201, 400, 422), name, nickel, spec, code, answer)
        by_contract = verdicts[name]["status"] == "True"
        accepted += by_contract
        if (code == 201) != by_contract:
            wrong.append(f"{nickel}\n  {spec}\n  server {code}: {answer.get('message', '')[:300]}\n  contract: {verdicts[name]['message']}")
    t.note(f"seed {seed}: {len(cases)} values of {count} contracts, {accepted} accepted")
    check(accepted > len(cases) / 8 and accepted < len(cases) * 7 / 8, "one answer for nearly all", accepted)
    check(not wrong, f"{len(wrong)} differ:", "\n".join(wrong))
    # So that the instances go with the namespace.
    for name in cases:
        t.kube.request("DELETE", f"/apis/{loose}/v1/namespaces/{t.ns}/apps/{name}")
    t.kube.wait("the instances are gone", lambda: not t.kube.checked("GET", f"/apis/{loose}/v1/namespaces/{t.ns}/apps")["items"],
                seconds=120)


class Reporter(http.server.ThreadingHTTPServer):
    """What a Service leads to: it says what `answer` is."""

    def __init__(self, address):
        self.answer, self.asked, self.paths, self.seconds, self.headers = (200, b"{}"), 0, set(), 0, {}
        reporter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                reporter.asked += 1
                reporter.paths.add(self.path)
                code, body = reporter.answer
                time.sleep(reporter.seconds)
                self.send_response(code)
                for header in reporter.headers.items():
                    self.send_header(*header)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        super().__init__((address, 0), Handler)

    def handle_error(self, *_):
        """Of a client that didn't wait."""

    def say(self, code=200, **body):
        self.answer = (code, json.dumps(body).encode())


def address_of_this_machine():
    """One that the API server takes for a Pod's: neither loopback nor link-local."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


def serve_report(t, service=None, port_name=None):
    """A Reporter behind the Service `report`, or behind another one that somebody else makes, with a port of that name. The API
    server forwards only to addresses that a Pod has."""
    reporter = Reporter(address_of_this_machine())
    threading.Thread(target=reporter.serve_forever, daemon=True).start()
    t.cleanup(reporter.shutdown)
    place, port = reporter.server_address[:2]
    t.kube.create("Pod", t.ns, {"metadata": {"name": "report"}, "spec": {"containers": [
        {"name": "report", "image": "report", "ports": [{"containerPort": port}]}]}})
    t.kube.checked("PATCH", f"/api/v1/namespaces/{t.ns}/pods/report/status", {
        "status": {"phase": "Running", "podIP": place, "podIPs": [{"ip": place}]}}, content_type="application/merge-patch+json")
    if not service:
        t.kube.create("Service", t.ns, {"metadata": {"name": "report"}, "spec": {"ports": [{"port": 80, "targetPort": port}]}})
    t.kube.checked("POST", f"/api/v1/namespaces/{t.ns}/endpoints", {
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": service or "report"},
        "subsets": [{"addresses": [{"ip": place, "targetRef": {"kind": "Pod", "namespace": t.ns, "name": "report"}}],
                     "ports": [{"port": port, **({"name": port_name} if port_name else {})}]}]})
    return reporter


REPORT = """
  kind = {
    group = "GROUP", version = "v1", kind = "App", crd = 'manage,
    spec = { on | Bool | default = true },
    status = { phase | m.Enum ["Running", "Done"], percent | m.Int | m.Min 0 | m.Max 100 },
    columns = [{ name = "Percent", path = "status.percent", type = "integer" }],
  },
  nodes = {
    report = {
      http = fun { instance, .. } => { service = "report", path = "/v1/report?app=%{instance.metadata.name}", interval = "1s", timeout = "2s" },
      status = { phase = "phase", percent = { path = "percent", default = 0 } },
      ready = { phase | m.Enum ["Done"], .. },
    },
    result.own = fun { instance, link, .. } =>
      { apiVersion = "v1", kind = "ConfigMap", metadata.name = instance.metadata.name, data = { include link } },
  },
  also = [{ from = "instance", to = "report", when = "spec.on" }, { from = "report", to = "result" }],
  sequence = [{ from = "report", to = "result", extract = { link = "link" } }],
"""


@test(waits=True)
def the_report_of_a_service_becomes_the_status(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    remove_crd(t, group)
    reporter = serve_report(t)
    reporter.say(phase="Running", percent=40)
    text = 'let m = import "mistletoe.ncl" in {' + REPORT.replace("GROUP", group) + "} | m.Blueprint\n"
    rights = printed(t, "rbac", t.file("app/blueprint.ncl", text), "-n", t.ns, "--service-account", "worker")
    config, user = account(t, "worker")
    grant(t, rights["manifests"])
    t.kube.wait("the account has its rights", lambda: allowed(t, user, "list", "", "configmaps") and
                allowed(t, user, "create", "apiextensions.k8s.io", "customresourcedefinitions"))
    publish(t, text)
    operator = OperatorAs(t, config)
    wait_told(t, "InForce")
    t.kube.checked("POST", address, {"apiVersion": f"{group}/v1", "kind": "App", "metadata": {"name": "web"}, "spec": {}})

    def status():
        return t.kube.checked("GET", f"{address}/web").get("status", {})
    t.kube.wait("the report is the status", lambda: (status().get("phase"), status().get("percent")) == ("Running", 40))
    equal(conditions(t, address)["Ready"]["reason"], "Waiting", "while it runs")
    check(t.kube.get("ConfigMap", t.ns, "web") is None, "the result is there before it is done")
    equal(reporter.paths, {"/v1/report?app=web"}, "what was asked")
    row = t.kube.request("GET", address, accept=TABLE)[1]["rows"][0]["cells"]
    equal(row[1:4], ["False", "Waiting", 40], "its row")

    # Nothing changes, so nothing is written, however often it is asked.
    asked, mark = reporter.asked, t.mark()
    t.kube.wait("it is asked again and again", lambda: reporter.asked >= asked + 3)
    equal([r.uri for r in t.requests(mark, user) if r.writes], [], "writes while nothing changes")

    # What the contract refuses, and what is no answer.
    reporter.say(phase="Lost", percent=41)
    contains(wait_condition(t, address, "StatusValid", "False")["message"], "status.phase: ")
    equal((status()["phase"], status()["percent"]), ("Running", 40), "the last good values")
    reporter.answer = (200, b"<html>")
    contains(wait_condition(t, address, "SourcesAnswer", "False")["message"], "report: ", "isn't JSON")
    reporter.answer = (503, b"busy")
    t.kube.wait("the code is said", lambda: "answers with 503" in conditions(t, address).get("SourcesAnswer", {}).get("message", ""))
    t.kube.wait("it counts after a while", lambda: conditions(t, address)["Ready"]["reason"] == "Failed")
    equal((status()["phase"], status()["percent"]), ("Running", 40), "what was known stays")
    reporter.answer = (200, b'{"phase": "Done", "pad": "' + b"x" * 70000 + b'"}')
    t.kube.wait("it is too large", lambda: "answers with" not in conditions(t, address).get("SourcesAnswer", {}).get("message", "with"))

    # An operator that starts again keeps what it knew, until it knows more.
    operator.stop()
    operator.start()
    t.kube.wait("it is in force again", lambda: operator.said().count("is in force") >= 2)
    equal(status()["percent"], 40, "after a restart")
    reporter.say(phase="Done", percent=100, link="https://example.com")
    wait_condition(t, address, "Ready", "True")
    check("SourcesAnswer" not in conditions(t, address), "a condition that is over stays")
    equal((status()["phase"], t.kube.get("ConfigMap", t.ns, "web")["data"]), ("Done", {"link": "https://example.com"}), "the end")
    equal([line for line in operator.said().splitlines() if "forbidden" in line.lower()], [], "what it wasn't allowed to do")

    # A node that isn't wanted asks nobody, and its values go.
    patch(t, address, {"on": False})
    t.kube.wait("the values go", lambda: "phase" not in status() and "percent" not in status())
    asked = reporter.asked
    time.sleep(3)
    equal(reporter.asked, asked, "questions that nobody has any more")
    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)


@test
def what_is_no_good_answer_is_reported_and_changes_nothing(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    remove_crd(t, group)
    reporter = serve_report(t)
    publish(t, 'let m = import "mistletoe.ncl" in {' + REPORT.replace("GROUP", group) + "} | m.Blueprint\n")
    Operator(t)
    wait_told(t, "InForce")
    # Before the first good answer as well.
    reporter.say(percent="a")
    t.kube.checked("POST", address, {"apiVersion": f"{group}/v1", "kind": "App", "metadata": {"name": "web"}, "spec": {}})
    contains(wait_condition(t, address, "StatusValid", "False")["message"], "status.percent: ")

    def values():
        status = t.kube.checked("GET", f"{address}/web").get("status", {})
        return status.get("phase"), status.get("percent")
    equal(values(), (None, 0), "what was refused isn't written: the default stays")
    reporter.say(phase="Running", percent=7)
    t.kube.wait("the report is the status", lambda: values() == ("Running", 7))

    def wait_silent(says):
        t.kube.wait(f"the source {says}", lambda: says in conditions(t, address).get("SourcesAnswer", {}).get("message", ""))
        equal(values(), ("Running", 7), f"the last good values: {says}")

    def wait_answered():
        reporter.seconds, reporter.headers = 0, {}
        reporter.say(phase="Running", percent=7)
        t.kube.wait("it is answered again", lambda: "SourcesAnswer" not in conditions(t, address), seconds=180)
    reporter.answer = (404, b"not here")
    wait_silent("answers with 404")
    wait_answered()
    reporter.answer, reporter.headers = (302, b""), {"Location": "/elsewhere"}
    wait_silent("answers with 302")
    equal([path for path in reporter.paths if "elsewhere" in path], [], "a redirect is not followed")
    wait_answered()
    reporter.seconds = 4
    wait_silent("did not answer within")
    wait_answered()
    reporter.answer = (200, b"[" * 60000)
    wait_silent("isn't JSON")
    wait_answered()
    # JSON, and not what the node looks for.
    mark = t.mark()
    reporter.say(phase=None, percent=8)
    t.kube.wait("the number is there", lambda: values() == (None, 8))
    asked = reporter.asked
    t.kube.wait("it is asked again", lambda: reporter.asked >= asked + 3)
    check(len([r for r in t.requests(mark) if r.writes and r.uri.startswith(f"{address}/web/status")]) <= 3, "writes of the status")
    reporter.answer = (200, b'["Running"]')
    t.kube.wait("the node fails", lambda: conditions(t, address)["Ready"]["reason"] == "Failed")
    reporter.say(phase="Done", percent=100, link="https://example.com")
    wait_condition(t, address, "Ready", "True")
    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)


@test
def a_crd_that_somebody_changed_or_deleted_comes_back(t):
    group = f"{t.ns}.example.com"
    address = f"/apis/{group}/v1/namespaces/{t.ns}/apps"
    remove_crd(t, group)
    publish(t, blueprint(group))
    operator = Operator(t)
    wait_told(t, "InForce")
    create(t, address)
    wait_condition(t, address, "Ready", "True")

    # While no operator runs, so that it can't know what was there before.
    operator.stop()
    field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicas/maximum"
    t.kube.checked("PATCH", f"{CRDS}/apps.{group}", [{"op": "replace", "path": field, "value": 20}],
                   content_type="application/json-patch+json")
    operator.start()
    t.kube.wait("the CRD is restored", lambda: t.kube.checked("GET", f"{CRDS}/apps.{group}")["spec"]["versions"][0]["schema"][
        "openAPIV3Schema"]["properties"]["spec"]["properties"]["replicas"]["maximum"] == 9)
    wait_told(t, "InForce")

    # With a CRD go its instances, and their objects, in order.
    uid = t.kube.checked("GET", f"{CRDS}/apps.{group}")["metadata"]["uid"]
    t.kube.checked("DELETE", f"{CRDS}/apps.{group}")
    t.kube.wait("the objects of the instance go", lambda: t.kube.get("ConfigMap", t.ns, "web") is None)
    t.kube.wait("the CRD is there again", lambda: t.kube.request("GET", f"{CRDS}/apps.{group}")[1].get("metadata", {}).get(
        "uid", uid) != uid)
    t.kube.wait("it is served", lambda: create(t, address, image="nginx:2")[0] == 201)
    t.kube.wait("a new instance is ready", lambda: (t.kube.get("ConfigMap", t.ns, "web") or {"data": {}})["data"].get(
        "image") == "nginx:2", seconds=180)
    t.kube.checked("DELETE", f"{address}/web")
    wait_gone(t, address)


@test
def a_rule_that_costs_the_server_too_much_is_refused_before_it(t):
    group = f"{t.ns}.example.com"

    def printed_crd(spec):
        return t.run("blueprint", "crd", t.file("app/blueprint.ncl", blueprint(group, spec=spec)), "-o", "json").json

    def server_takes(crd):
        return t.kube.request("POST", f"{CRDS}?dryRun=All", crd)[0] in (200, 201)

    def values(crd):
        return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["l"]

    def spec(value, more):
        return f"""{{ image | String, replicas | m.Int | default = 1,
                     l | Array {{ k | String, v | {value} }} | m.KeyedBy ["k"] {more} }}"""

    # What is allowed and one more: here and at the server, of the list's items and of the text's length.
    for value, most, above, at in (
            ("String | m.Unchanged", "| m.MaxItems 31", "| m.MaxItems 32", lambda crd: (values(crd), "maxItems")),
            ("String | m.MaxLength 17 | m.Unchanged", "", None, lambda crd: (values(crd)["items"]["properties"]["v"], "maxLength")),
            # Of the rule that a field within another can't be removed.
            ("{ w | Number | m.Unchanged | optional } | optional", "| m.MaxItems 1428571", "| m.MaxItems 1428572",
             lambda crd: (values(crd), "maxItems"))):
        crd = printed_crd(spec(value, most))
        check(server_takes(crd), f"the server takes {value} {most}")
        schema, keyword = at(crd)
        schema[keyword] += 1
        check(not server_takes(crd), f"the server takes no {keyword} of {schema[keyword]}")
        path = t.file("app/blueprint.ncl", blueprint(group, spec=spec(value, above) if above else spec("String | m.MaxLength 18 | m.Unchanged", "")))
        contains(t.run("blueprint", "check", path, code=1).out, "the contract of spec.l[]", " in version v1: the API server estimates")
    crd = printed_crd(spec("Number | m.Unchanged", ""))
    check(server_takes(crd), "numbers need no bound")
    # A rule about anything.
    values(crd)["items"]["properties"]["v"].pop("type")
    values(crd)["items"]["properties"]["v"]["x-kubernetes-preserve-unknown-fields"] = True
    check(not server_takes(crd), "the server takes no rule about anything")
    path = t.file("app/blueprint.ncl", blueprint(group, spec=spec("Dyn | m.Unchanged", "")))
    contains(t.run("blueprint", "check", path, code=1).out, "spec.l[].v in version v1: the API server takes no rule")


@test
def a_blueprint_of_another_name_takes_the_crd_over_once_the_first_is_gone(t):
    group = f"{t.ns}.example.com"
    Operator(t)
    remove_crd(t, group)
    # Without a field in its spec, too, it is written once.
    plain = blueprint(group, spec="{}").replace("data = { image = instance.spec.image, replicas = std.to_string instance.spec.replicas }",
                                                'data = { a = "b" }')
    publish(t, plain)
    wait_told(t, "InForce")
    mark = t.mark()
    for text in ("one", "two"):
        t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"annotations": {"example.com/touched": text}}})
        publish(t, plain + f"# {text}\n")
        t.kube.wait("it is looked at", lambda: told(t)[0] == "InForce")
    equal([r.uri for r in t.requests(mark) if r.writes and "/customresourcedefinitions/" in r.uri], [], "writes of the CRD")
    t.kube.delete("ConfigMap", t.ns, "app")
    t.kube.wait("the first is gone", lambda: t.kube.get("ConfigMap", t.ns, "app") is None)
    publish(t, plain, name="other")
    wait_told(t, "Rejected", f"is managed by blueprint {t.ns}/app", name="other")
    publish(t, plain.replace("crd = 'manage,", "crd = 'manage, adopt = true,"), name="other")
    wait_told(t, "InForce", name="other")
    equal(t.kube.checked("GET", f"{CRDS}/apps.{group}")["metadata"]["annotations"]["mistletoe.dev/blueprint"], f"{t.ns}/other")
