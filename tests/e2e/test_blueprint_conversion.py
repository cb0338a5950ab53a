"""Versions of a blueprint's kind that differ: the operator's webhook converts between them."""
import base64
import concurrent.futures
import copy
import json
import signal
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

from catalog import free_port
from harness import certificate, check, contains, equal, test
from test_blueprint_crds import CRDS, publish, remove_crd, wait_told
from test_operator import Operator
from test_operator_replicas import served

OLD_SPEC = '{ image | String, replicas | m.Int | m.Min 0 | default = 1, note | String | optional }'
NEW_SPEC = """{
      image = { name | String, tag | String | default = "latest" },
      replicas | m.Int | m.Min 0 | default = 1,
      note | String | optional,
    }"""
TO_HUB = """fun old =>
      let parts = std.string.split ":" old.spec.image in
      {
        spec = std.record.update "image" (
          if std.array.length parts == 1 then { name = old.spec.image }
          else if std.array.length parts == 2 then { name = std.array.first parts, tag = std.array.last parts }
          else std.fail_with "%{old.spec.image} is no image"
        ) old.spec,
        status = if std.record.has_field "made" old.status then { size = old.status.made } else {},
      }"""
FROM_HUB = """fun new => {
        spec = std.record.update "image" "%{new.spec.image.name}:%{new.spec.image.tag}" new.spec,
        status = if std.record.has_field "size" new.status then { made = new.status.size } else {},
      }"""


def one_version(group):
    return f"""
let m = import "mistletoe.ncl" in
{{
  kind = {{ group = "{group}", version = "v1", kind = "App", crd = 'manage, spec = {OLD_SPEC}, status = {{ made | m.Int }} }},
  nodes.config = {{
    own = fun {{ instance, .. }} => {{
      apiVersion = "v1",
      kind = "ConfigMap",
      metadata.name = instance.metadata.name,
      data.image = instance.spec.image,
    }},
  }},
  also = [{{ from = "instance", to = "config" }}],
}} | m.Blueprint
"""


def two_versions(group, stored, to_hub=TO_HUB, from_hub=FROM_HUB, crd="manage"):
    return f"""
let m = import "mistletoe.ncl" in
{{
  kind = {{
    group = "{group}",
    version = "v2",
    kind = "App",
    crd = '{crd},
    stored = "{stored}",
    spec = {NEW_SPEC},
    status = {{ size | m.Int }},
    versions.v1 = {{
      spec = {OLD_SPEC},
      status = {{ made | m.Int }},
      to_hub = {to_hub},
      from_hub = {from_hub},
    }},
  }},
  nodes.config = {{
    own = fun {{ instance, .. }} => {{
      apiVersion = "v1",
      kind = "ConfigMap",
      metadata.name = instance.metadata.name,
      data = {{ image = instance.spec.image.name, tag = instance.spec.image.tag }},
    }},
  }},
  also = [{{ from = "instance", to = "config" }}],
}} | m.Blueprint
"""


def webhook(t, name="operator", *flags):
    port = free_port()
    return Operator(t, "--webhook-listen", f"127.0.0.1:{port}", "--webhook-url", f"https://127.0.0.1:{port}", *flags, name=name)


def address(t, group, version):
    return f"/apis/{group}/{version}/namespaces/{t.ns}/apps"


def remove_all(t, group):
    """Instances while somebody converts them and takes their finalizers, then the CRD."""
    def none_left():
        status, answer = t.kube.request("GET", address(t, group, "v1"))
        return status == 404 or status == 200 and not answer["items"]

    def remove():
        t.kube.request("DELETE", address(t, group, "v1"))
        t.kube.wait("no instance is left", none_left)
    remove_crd(t, group)
    t.cleanup(remove)


def create(t, group, version, name, **spec):
    return t.kube.request("POST", address(t, group, version),
                          {"apiVersion": f"{group}/{version}", "kind": "App", "metadata": {"name": name}, "spec": spec})


def made(t, name):
    found = t.kube.get("ConfigMap", t.ns, name)
    return found and found["data"]


def crd_of(t, group):
    return t.kube.checked("GET", f"{CRDS}/apps.{group}")


@test
def objects_are_read_and_written_in_two_versions_that_differ(t):
    group = f"{t.ns}.example.com"
    operator = webhook(t)
    remove_all(t, group)
    publish(t, one_version(group))
    wait_told(t, "InForce")
    equal(create(t, group, "v1", "web", image="nginx:1", note="mine")[0], 201, "an object of before")
    t.kube.wait("it is made", lambda: made(t, "web") == {"image": "nginx:1"})
    equal(crd_of(t, group)["spec"]["conversion"], {"strategy": "None"}, "nothing is to be converted")

    # The new version comes, and the old one is still stored.
    publish(t, two_versions(group, "v1"))
    t.kube.wait("both versions are in force", lambda: made(t, "web") == {"image": "nginx", "tag": "1"})
    conversion = crd_of(t, group)["spec"]["conversion"]
    equal(conversion["strategy"], "Webhook", "strategy")
    secret = t.kube.get("Secret", t.ns, "mistletoe-operator-webhook")["data"]
    equal(base64.b64decode(conversion["webhook"]["clientConfig"]["caBundle"]), base64.b64decode(secret["ca.crt"]), "whom it trusts")
    web = t.kube.checked("GET", f"{address(t, group, 'v2')}/web")
    equal(web["spec"], {"image": {"name": "nginx", "tag": "1"}, "replicas": 1, "note": "mine"}, "the old object in the new version")
    check(web["metadata"]["annotations"]["mistletoe.dev/record"], "the operator's record is there in all versions")
    equal(t.kube.checked("GET", f"{address(t, group, 'v1')}/web")["spec"], {"image": "nginx:1", "replicas": 1, "note": "mine"}, "as before")
    ready = [c["status"] for c in web["status"]["conditions"] if c["type"] == "Ready"]
    check(ready, "conditions are kept")

    # Defaults of the other version are filled in, and each version refuses what it doesn't take.
    equal(create(t, group, "v2", "new", image={"name": "redis"})[0], 201, "one in the new version")
    equal(t.kube.checked("GET", f"{address(t, group, 'v1')}/new")["spec"]["image"], "redis:latest", "the new object in the old version")
    equal(create(t, group, "v2", "other", image="redis:1")[0], 422, "an old spec in the new version")
    status, answer = create(t, group, "v1", "bad", image="a:b:c")
    if status == 201:  # it is stored as it is, and nobody can read it in the other version
        status, answer = t.kube.request("GET", f"{address(t, group, 'v2')}/bad")
        t.kube.checked("PATCH", f"{address(t, group, 'v1')}/bad", {"spec": {"image": "a:b"}}, "application/merge-patch+json")
    check(status >= 400, status, answer)
    contains(answer["message"], f"App {t.ns}/bad can't be converted from version v1 to v2", "a:b:c is no image")

    # The stored version moves. What is written from then on is stored in it.
    publish(t, two_versions(group, "v2"))
    t.kube.wait("the new version is stored", lambda: [v["name"] for v in crd_of(t, group)["spec"]["versions"] if v["storage"]] == ["v2"])
    for name in ("web", "new"):
        t.kube.checked("PATCH", f"{address(t, group, 'v1')}/{name}", {"spec": {"replicas": 3}}, "application/merge-patch+json")
    # The server begins to watch what is stored anew.
    t.kube.wait("they can be listed", lambda: all(t.kube.request("GET", address(t, group, v))[0] == 200 for v in ("v1", "v2")))
    items = {i["metadata"]["name"]: i["spec"] for i in t.kube.checked("GET", address(t, group, "v2"))["items"]}
    equal(items["web"], {"image": {"name": "nginx", "tag": "1"}, "replicas": 3, "note": "mine"}, "written in the old version")
    items = {i["metadata"]["name"]: i["spec"] for i in t.kube.checked("GET", address(t, group, "v1"))["items"]}
    equal(items["new"], {"image": "redis:latest", "replicas": 3}, "read in the old version")
    check("created ConfigMap" in operator.said(), operator.said())


@test
def conversions_survive_a_killed_operator_and_a_revision_that_is_rejected(t):
    group = f"{t.ns}.example.com"
    operator = webhook(t)
    remove_all(t, group)
    publish(t, two_versions(group, "v2"))
    wait_told(t, "InForce")
    equal(create(t, group, "v1", "web", image="nginx:1")[0], 201, "an object")
    t.kube.wait("it is made", lambda: made(t, "web") == {"image": "nginx", "tag": "1"})
    before = crd_of(t, group)["spec"]["conversion"]

    # The revision in force stays while the next one isn't good, also for an operator that starts then.
    publish(t, two_versions(group, "v2", to_hub="fun old => { spec = 1 + }"))
    wait_told(t, "Rejected")
    operator.stop(signal.SIGKILL)
    check(t.kube.request("GET", f"{address(t, group, 'v1')}/web")[0] >= 500, "nobody converts")
    operator.start()
    t.kube.wait("it is converted again",
                lambda: t.kube.request("GET", f"{address(t, group, 'v1')}/web")[1].get("spec") == {"image": "nginx:1", "replicas": 1})
    equal(crd_of(t, group)["spec"]["conversion"], before, "the keys are those of before")

    # A deleted Secret is written again, with the same keys.
    secret = t.kube.get("Secret", t.ns, "mistletoe-operator-webhook")["data"]
    t.kube.delete("Secret", t.ns, "mistletoe-operator-webhook")
    t.kube.wait("the keys are back", lambda: (t.kube.get("Secret", t.ns, "mistletoe-operator-webhook") or {}).get("data") == secret)

    # A function that never ends is ended, and says whose object it was.
    publish(t, two_versions(group, "v2", from_hub="let rec f = fun n => f (n + 1) in fun new => f 0"))
    wait_told(t, "InForce")
    status, answer = t.kube.request("GET", f"{address(t, group, 'v1')}/web")
    check(status >= 500, status, answer)
    publish(t, two_versions(group, "v2"))
    t.kube.wait("the next revision is good",
                lambda: t.kube.request("GET", f"{address(t, group, 'v1')}/web")[1].get("spec") == {"image": "nginx:1", "replicas": 1})


@test
def an_operator_without_a_webhook_that_answers_leaves_the_crd_alone(t):
    group = f"{t.ns}.example.com"
    operator = Operator(t, name="without")
    publish(t, two_versions(group, "v2"))
    wait_told(t, "Rejected", "this operator serves no conversion webhook")
    operator.stop()
    elsewhere = Operator(t, "--webhook-listen", "127.0.0.1:0", "--webhook-url", f"https://127.0.0.1:{free_port()}", name="elsewhere")
    wait_told(t, "AwaitingCRD", "the conversion webhook doesn't answer at https://127.0.0.1:")
    equal(t.kube.request("GET", f"{CRDS}/apps.{group}")[0], 404, "the CRD that nobody could read")
    elsewhere.stop()
    webhook(t, "good")
    remove_all(t, group)
    t.kube.wait("the CRD is there", lambda: t.kube.request("GET", f"{CRDS}/apps.{group}")[0] == 200)
    wait_told(t, "InForce")


@test
def a_replica_that_waits_converts_too(t):
    group = f"{t.ns}.example.com"
    port = free_port()
    flags = ("--leader-elect", "--webhook-url", f"https://127.0.0.1:{port}")
    leader = Operator(t, *flags, "--webhook-listen", f"127.0.0.1:{port}", name="leader")
    t.kube.wait("it leads", lambda: "leads: it holds Lease" in leader.said())
    remove_all(t, group)
    publish(t, two_versions(group, "v2"))
    wait_told(t, "InForce")
    equal(create(t, group, "v1", "web", image="nginx:1")[0], 201, "an object")
    t.kube.wait("it is made", lambda: made(t, "web") == {"image": "nginx", "tag": "1"})
    leader.stop(signal.SIGKILL)
    # It takes the address, as the Service would lead to it, and doesn't lead before the Lease's term has passed.
    waiting = Operator(t, *flags, "--lease-duration", "30s", "--webhook-listen", f"127.0.0.1:{port}", name="waiting")
    remove_all(t, group)
    t.kube.wait("it converts", lambda: t.kube.request("GET", f"{address(t, group, 'v1')}/web")[1].get("spec") ==
                {"image": "nginx:1", "replicas": 1})
    check("leads: it holds Lease" not in waiting.said(), waiting.said())
    t.kube.wait("it leads in the end", lambda: "leads: it holds Lease" in waiting.said())


@test
def one_manager_applies_the_one_version_and_then_the_other(t):
    """The server converts what is left of the object without the fields that go."""
    group = f"{t.ns}.example.com"
    webhook(t)
    remove_all(t, group)
    publish(t, two_versions(group, "v2"))
    wait_told(t, "InForce")

    def apply(version, **spec):
        path = f"{address(t, group, version)}/web?fieldManager=flux"
        body = {"apiVersion": f"{group}/{version}", "kind": "App", "metadata": {"name": "web"}, "spec": spec}
        status, answer = t.kube.request("PATCH", path, body, "application/apply-patch+yaml")
        check(status < 300, answer.get("message"))
        return answer["spec"]

    def spec_in(version):
        return t.kube.checked("GET", f"{address(t, group, version)}/web")["spec"]

    apply("v1", image="nginx:1", note="mine")
    equal(apply("v2", image={"name": "nginx"})["image"]["name"], "nginx", "the new version")
    check("note" not in spec_in("v2"), "what is applied no longer goes", spec_in("v2"))
    equal(apply("v2", image={"name": "redis", "tag": "7"}, replicas=2), {"image": {"name": "redis", "tag": "7"}, "replicas": 2})
    equal(apply("v1", image="nginx:2"), {"image": "nginx:2", "replicas": 1}, "back in the old version")
    equal(spec_in("v2"), {"image": {"name": "nginx", "tag": "2"}, "replicas": 1})
    equal(apply("v2", image={"name": "nginx", "tag": "3"})["image"], {"name": "nginx", "tag": "3"})
    t.kube.wait("the operator sees it", lambda: made(t, "web") == {"image": "nginx", "tag": "3"})


@test
def a_revision_that_does_not_fit_the_awaited_crd_leaves_its_conversions(t):
    """Somebody applies the CRD later; until then the server asks for the versions that it has."""
    group = f"{t.ns}.example.com"
    webhook(t)
    remove_all(t, group)
    publish(t, two_versions(group, "v2"))
    wait_told(t, "InForce")
    equal(create(t, group, "v1", "web", image="nginx:1")[0], 201, "an object")
    t.kube.wait("it is made", lambda: made(t, "web") == {"image": "nginx", "tag": "1"})

    def functions():
        return t.kube.get("ConfigMap", t.ns, "app-conversion")["data"]

    awaited = two_versions(group, "v2").replace("crd = 'manage", "crd = 'await")
    publish(t, awaited)
    t.kube.wait("it is in force", lambda: functions()["blueprint.ncl"] == awaited)
    wait_told(t, "InForce")
    for mode in ("await", "publish"):
        renamed = awaited.replace("'await", f"'{mode}").replace("name | String, tag", "picture | String, tag").replace(
            "image.name", "image.picture").replace("name = std.array.first", "picture = std.array.first").replace(
            "{ name = old.spec.image }", "{ picture = old.spec.image }")
        publish(t, renamed)
        wait_told(t, "Rejected", f"apps.{group}")
        check(functions()["blueprint.ncl"] == awaited, "the functions in force", functions())
        equal(t.kube.checked("GET", f"{address(t, group, 'v1')}/web")["spec"]["image"], "nginx:1")
        publish(t, awaited)
        wait_told(t, "InForce")


@test
def an_object_that_cannot_be_converted_is_named_and_hides_only_news(t):
    """The server lists no object of the kind then. What is known is looked after, and the author learns why the rest isn't seen."""
    group = f"{t.ns}.example.com"
    operator = webhook(t, "operator", "--listen", "127.0.0.1:0")
    remove_all(t, group)
    publish(t, two_versions(group, "v1"))
    wait_told(t, "InForce")

    def not_watched():
        line = 'mistletoe_blueprint_not_watched{blueprint="app",namespace=""} '
        return next(each[len(line):] for each in served(t, operator, "/metrics")[1].splitlines() if each.startswith(line))

    equal(create(t, group, "v1", "web", image="nginx:1")[0], 201, "a good object")
    t.kube.wait("it is made", lambda: made(t, "web") == {"image": "nginx", "tag": "1"})
    equal(not_watched(), "0", "before")
    equal(create(t, group, "v1", "bad", image="a:b:c")[0], 201, "one that can't be converted")
    wait_told(t, "NotWatched", f"App {t.ns}/bad can't be converted from version v1 to v2", "a:b:c is no image")
    equal(not_watched(), "1", "while it is there")
    t.kube.wait("there is an Event", lambda: any(
        each["reason"] == "NotWatched" and each["involvedObject"]["name"] == "app" and each["type"] == "Warning"
        for each in t.kube.checked("GET", f"/api/v1/namespaces/{t.ns}/events")["items"]))
    t.kube.delete("ConfigMap", t.ns, "web")
    t.kube.wait("the other one is repaired", lambda: made(t, "web") == {"image": "nginx", "tag": "1"})
    # Of an operator that starts then, too.
    operator.stop(signal.SIGKILL)
    operator.start()
    t.kube.wait("it converts", lambda: t.kube.request("GET", f"{address(t, group, 'v2')}/web")[0] == 200)
    wait_told(t, "NotWatched", f"App {t.ns}/bad can't be converted")
    check(made(t, "web"), "nothing is removed for want of knowledge")

    t.kube.checked("PATCH", f"{address(t, group, 'v1')}/bad", {"spec": {"image": "a:b"}}, "application/merge-patch+json")
    t.kube.wait("it is made", lambda: made(t, "bad") == {"image": "a", "tag": "b"})
    wait_told(t, "InForce")
    t.kube.wait("it is counted no more", lambda: not_watched() == "0")


@test
def many_clients_write_the_old_version_at_once(t):
    """Each create is converted several times; none of them is refused."""
    group = f"{t.ns}.example.com"
    webhook(t)
    remove_all(t, group)
    publish(t, two_versions(group, "v2"))
    wait_told(t, "InForce")
    with concurrent.futures.ThreadPoolExecutor(40) as clients:
        made_by = list(clients.map(lambda i: create(t, group, "v1", f"web-{i}", image="nginx:1"), range(40)))
    equal([(status, answer.get("message")) for status, answer in made_by if status != 201], [], "refused")
    # One that can't be converted fails alone.
    with concurrent.futures.ThreadPoolExecutor(12) as clients:
        images = ["nginx:2"] * 6 + ["a:b:c"] + ["nginx:2"] * 5
        answers = list(clients.map(lambda i: create(t, group, "v1", f"other-{i}", image=images[i])[0], range(12)))
    equal([answers[i] for i in range(12) if i != 6], [201] * 11, "the others")
    t.kube.wait("all are made", lambda: (t.kube.get("ConfigMap", t.ns, "other-0") or {}).get("data") == {"image": "nginx", "tag": "2"})


def published_crd(t, name="app"):
    """The CRD that the operator wrote into a ConfigMap for a person."""
    text = (t.kube.get("ConfigMap", t.ns, f"{name}-crd") or {"data": {}})["data"].get("crd.yaml")
    if not text:
        return None
    [crd] = json.loads(t.run("generate", "kinds", "-p", t.file("published.yaml", text), "-o", "json").out)["items"]
    return crd


def apply_crd(t, crd):
    """As `kubectl apply --server-side --force-conflicts` does."""
    return t.kube.checked("PATCH", f"{CRDS}/{crd['metadata']['name']}?fieldManager=person&force=true", crd, "application/apply-patch+yaml")


def converted_both_ways(t, group):
    """Objects of both versions, each read in the other one."""
    equal(create(t, group, "v1", "web", image="nginx:1")[0], 201, "an object of v1")
    t.kube.wait("it is read in v2", lambda: t.kube.request("GET", f"{address(t, group, 'v2')}/web")[1].get("spec") ==
                {"image": {"name": "nginx", "tag": "1"}, "replicas": 1})
    equal(create(t, group, "v2", "new", image={"name": "redis"})[0], 201, "an object of v2")
    equal(t.kube.checked("GET", f"{address(t, group, 'v1')}/new")["spec"], {"image": "redis:latest", "replicas": 1}, "read in v1")
    t.kube.wait("it is made", lambda: made(t, "web") == {"image": "nginx", "tag": "1"})


@test
def a_crd_that_a_person_applies_asks_the_operators_webhook(t):
    group = f"{t.ns}.example.com"
    operator = webhook(t)
    remove_all(t, group)
    publish(t, two_versions(group, "v2", crd="publish"))
    t.kube.wait("the CRD is published", lambda: published_crd(t))
    wait_told(t, "AwaitingCRD", f"CustomResourceDefinition apps.{group} isn't there yet")
    apply_crd(t, published_crd(t))
    wait_told(t, "InForce")
    secret = t.kube.get("Secret", t.ns, "mistletoe-operator-webhook")["data"]
    client = crd_of(t, group)["spec"]["conversion"]["webhook"]["clientConfig"]
    equal(base64.b64decode(client["caBundle"]), base64.b64decode(secret["ca.crt"]), "the authority is in what was published")
    converted_both_ways(t, group)

    # Another authority, as a person may have left it there: what is in force goes on, and the log says what to do.
    other = certificate(t)[1]
    t.kube.checked("PATCH", f"{CRDS}/apps.{group}", {"spec": {"conversion": {"webhook": {"clientConfig": {
        "caBundle": base64.b64encode(other).decode()}}}}}, "application/merge-patch+json")
    t.kube.wait("it is told", lambda: "caBundle: it has no authority of the webhook's certificate" in operator.said())
    wait_told(t, "InForce")
    check(t.kube.request("GET", f"{address(t, group, 'v1')}/web")[0] >= 500, "the API server trusts nobody there")
    apply_crd(t, published_crd(t))
    t.kube.wait("it is converted again", lambda: t.kube.request("GET", f"{address(t, group, 'v1')}/web")[0] == 200)
    check("created CustomResourceDefinition" not in operator.said(), operator.said())


@test
def a_crd_that_is_awaited_has_to_name_the_operators_webhook(t):
    group = f"{t.ns}.example.com"
    operator = webhook(t)
    remove_all(t, group)
    publish(t, two_versions(group, "v2", crd="publish"))
    t.kube.wait("the CRD is published", lambda: published_crd(t))
    crd = published_crd(t)
    publish(t, two_versions(group, "v2", crd="await"))
    # Without a conversion, then with one that leads elsewhere.
    without, elsewhere = copy.deepcopy(crd), copy.deepcopy(crd)
    del without["spec"]["conversion"]
    client = elsewhere["spec"]["conversion"]["webhook"]["clientConfig"]
    client["url"] = client["url"].replace("/convert/app", "/convert/other")
    apply_crd(t, without)
    wait_told(t, "Rejected", "has the API server ask no conversion webhook",
              "strategy: it isn't Webhook", "set spec.conversion of the CRD to")
    apply_crd(t, elsewhere)
    wait_told(t, "Rejected", "webhook.clientConfig: it leads to https://127.0.0.1:")
    apply_crd(t, crd)
    wait_told(t, "InForce")
    converted_both_ways(t, group)
    check("created CustomResourceDefinition" not in operator.said(), operator.said())


@test
def the_api_server_reaches_the_webhook_by_a_service(t):
    """Behind a Service of type ExternalName, which leads to this machine; its port is the operator's, as 443 would need root."""
    group = f"{t.ns}.example.com"
    port = free_port()
    Operator(t, "--webhook-listen", f"127.0.0.1:{port}", "--webhook-service", "hooks")
    t.kube.create("Service", t.ns, {"metadata": {"name": "hooks"}, "spec": {
        "type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}})
    remove_all(t, group)
    publish(t, two_versions(group, "v2", crd="publish"))
    t.kube.wait("the CRD is published", lambda: published_crd(t))
    crd = published_crd(t)
    service = crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    equal(service, {"namespace": t.ns, "name": "hooks", "path": "/convert/app", "port": 443}, "where the API server asks")
    service["port"] = port
    apply_crd(t, crd)
    wait_told(t, "InForce")
    converted_both_ways(t, group)


class Review:
    """Asks a webhook as the API server does: with its authority, and over TLS."""

    def __init__(self, t, operator, secret="mistletoe-operator-webhook"):
        keys = t.kube.get("Secret", t.ns, secret)["data"]
        self.context = ssl.create_default_context(cadata=base64.b64decode(keys["ca.crt"]).decode())
        self.url = operator.flags[operator.flags.index("--webhook-url") + 1]

    def post(self, body, path="/convert/app"):
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=120) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read()

    def ask(self, wanted, objects, path="/convert/app"):
        code, body = self.post(json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
            "uid": "u-1", "desiredAPIVersion": wanted, "objects": objects}}).encode(), path)
        equal(code, 200, body[:500])
        return json.loads(body)["response"]


@test
def many_objects_are_converted_together_and_too_many_bytes_are_refused(t):
    group = f"{t.ns}.example.com"
    operator = webhook(t, "operator", "--listen", "127.0.0.1:0")
    remove_all(t, group)
    publish(t, two_versions(group, "v2"))
    wait_told(t, "InForce")
    review = Review(t, operator)
    objects = [{"apiVersion": f"{group}/v1", "kind": "App", "metadata": {"name": f"web-{i}", "uid": str(i)},
                "spec": {"image": f"nginx:{i}", "replicas": i}} for i in range(3000)]

    def answered(objects):
        """A machine that is busy with other things may not manage it in 25 s: that is said, and it is asked again."""
        said = review.ask(f"{group}/v2", objects)
        if said["result"].get("reason") == "Timeout":
            equal((said["result"]["code"], said["convertedObjects"]), (504, []), "an answer that took too long")
            return None
        return said

    answer = t.kube.wait("all are converted", lambda: answered(objects), seconds=600)
    equal(answer["result"], {"status": "Success"}, "result")
    equal([each["spec"] for each in answer["convertedObjects"]],
          [{"image": {"name": "nginx", "tag": str(i)}, "replicas": i} for i in range(3000)], "all, in order")
    equal([each["metadata"] for each in answer["convertedObjects"]], [each["metadata"] for each in objects], "their metadata")
    # One of them is bad: it is named, and nothing is answered by halves.
    objects[400]["spec"]["image"] = "a:b:c"
    answer = t.kube.wait("one is refused", lambda: answered(objects[:500]), seconds=600)
    equal((answer["result"]["status"], answer["convertedObjects"]), ("Failed", []), "result")
    contains(answer["result"]["message"], "App web-400 can't be converted from version v1 to v2", "a:b:c is no image")
    try:
        code = review.post(b" " * (65 << 20))[0]
    except (urllib.error.URLError, ConnectionError):  # the connection ended before all was sent
        code = 413
    equal(code, 413, "a body of 65 MB")
    equal(review.ask(f"{group}/v2", [])["result"], {"status": "Success"}, "it answers as before")
    line = next(line for line in operator.said().split("\n") if "serving probes and metrics at " in line)
    with urllib.request.urlopen(f"http://{line.split('metrics at ')[1].split()[0]}/metrics", timeout=30) as answer:
        numbers = answer.read().decode()
    contains(numbers, 'mistletoe_conversion_objects_total{blueprint="app",kind="App",result="error"} ',
             'controller_runtime_webhook_requests_total{code="200",webhook="/convert/app"}')
    contains(operator.said(), "a conversion failed: ")


@test
def a_conversion_that_never_ends_holds_up_no_other_kind(t):
    group, endless = f"{t.ns}.example.com", f"endless.{t.ns}.example.com"
    operator = webhook(t, "operator", "--limit-time", "5s")
    remove_all(t, group)
    remove_all(t, endless)
    publish(t, two_versions(group, "v2"))
    publish(t, two_versions(endless, "v2", from_hub="let rec f = fun n => f (n + 1) in fun new => f 0"), name="endless")
    wait_told(t, "InForce")
    wait_told(t, "InForce", name="endless")
    review = Review(t, operator)
    slow = {"apiVersion": f"{endless}/v2", "kind": "App", "metadata": {"name": "slow"},
            "spec": {"image": {"name": "a", "tag": "1"}, "replicas": 1}}
    quick = {"apiVersion": f"{group}/v1", "kind": "App", "metadata": {"name": "quick"}, "spec": {"image": "a:1", "replicas": 1}}
    done = []
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(lambda: (review.ask(f"{endless}/v1", [slow], "/convert/endless"), done.append("slow"))[0])
                 for _ in range(2)]
        for _ in range(5):
            equal(review.ask(f"{group}/v2", [quick])["result"], {"status": "Success"}, "the other kind")
        done.append("quick")
        answers = [each.result() for each in asked]
    equal(done[0], "quick", "nobody waited for those that never end")
    for answer in answers:
        equal(answer["result"]["status"], "Failed", "result")
        contains(answer["result"]["message"], "slow can't be converted from version v2 to v1")


@test
def reads_go_on_when_the_leader_is_killed(t):
    """Two replicas at one address in turn, as a Service would lead to those that live: nobody is answered wrongly meanwhile."""
    group = f"{t.ns}.example.com"
    port = free_port()
    flags = ("--leader-elect", "--lease-duration", "5s", "--webhook-listen", f"127.0.0.1:{port}", "--webhook-url", f"https://127.0.0.1:{port}")
    first = Operator(t, *flags, name="first")
    remove_all(t, group)
    publish(t, two_versions(group, "v2"))
    wait_told(t, "InForce")
    for i in range(20):
        equal(create(t, group, "v1", f"web-{i}", image=f"nginx:{i}")[0], 201, "an object")
    ended, read, refused, wrong = threading.Event(), [], [], []

    def reads(number):
        while not ended.is_set():
            status, answer = t.kube.request("GET", f"{address(t, group, 'v1')}/web-{number}")
            if status >= 500:
                refused.append(answer.get("message", ""))
            elif answer.get("spec") != {"image": f"nginx:{number}", "replicas": 1}:
                wrong.append((status, answer))
            else:
                read.append(number)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(reads, number) for number in range(8)]
        try:
            for name in ("second", "third"):
                t.kube.wait("objects are read", lambda: len(read) > 50)
                first.stop(signal.SIGKILL)
                first = Operator(t, *flags, name=name)
                before = len(read)
                t.kube.wait("they are read again", lambda: len(read) > before + 50)
        finally:
            ended.set()
        for each in readers:
            each.result()
    equal(wrong, [], "answers are right, or there is none")
    remove_all(t, group)
    t.kube.wait("it leads", lambda: "leads: it holds Lease" in first.said())
    publish(t, two_versions(group, "v1"))
    t.kube.wait("the new leader writes the CRD", lambda: [v["name"] for v in crd_of(t, group)["spec"]["versions"] if v["storage"]] == ["v1"])
    t.kube.wait("all are made", lambda: all(made(t, f"web-{i}") == {"image": "nginx", "tag": str(i)} for i in range(20)))


def issue(t, name):
    """An authority and a certificate for 127.0.0.1 that it signed, in files of the test: (certificate, key, authority)."""
    def openssl(*arguments):
        done = subprocess.run(["openssl", *arguments], cwd=t.dir, capture_output=True, text=True)
        check(done.returncode == 0, done.stderr)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-days", "2", "-subj", f"/CN={name} authority", "-keyout", f"{name}-ca.key", "-out", f"{name}-ca.crt")
    openssl("req", *key, "-subj", "/CN=127.0.0.1", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    extensions = t.file(f"{name}.ext", "subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{name}-ca.crt", "-CAkey", f"{name}-ca.key", "-CAcreateserial", "-days", "1",
            "-extfile", str(extensions), "-out", f"{name}.crt")
    return [(t.dir / f"{name}{end}").read_text() for end in (".crt", ".key", "-ca.crt")]


@test(waits=True)
def a_certificate_and_its_authority_are_replaced_while_objects_are_read(t):
    group = f"{t.ns}.example.com"
    old, new = issue(t, "old"), issue(t, "new")
    files = [t.file(name, text) for name, text in zip(("tls.crt", "tls.key", "ca.crt"), old)]
    webhook(t, "operator", "--webhook-cert", files[0], "--webhook-key", files[1], "--webhook-ca", files[2])
    remove_all(t, group)
    publish(t, two_versions(group, "v2"))
    wait_told(t, "InForce")
    converted_both_ways(t, group)

    def trusted():
        bundle = crd_of(t, group)["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"]
        return base64.b64decode(bundle).decode()

    # The next authority comes first, then the certificate that it signed, then the old authority goes.
    t.file("ca.crt", old[2] + new[2])
    t.kube.wait("the CRD trusts both", lambda: new[2].strip() in trusted() and old[2].strip() in trusted(), seconds=180)
    t.file("tls.crt", new[0])
    t.file("tls.key", new[1])
    t.file("ca.crt", new[2])
    t.kube.wait("the CRD trusts the new one", lambda: old[2].strip() not in trusted(), seconds=180)
    t.kube.wait("it is converted", lambda: t.kube.request("GET", f"{address(t, group, 'v1')}/new")[1].get("spec") ==
                {"image": "redis:latest", "replicas": 1})


@test
def the_functions_in_force_are_restored(t):
    """As the CRD is: without them nobody could read the kind."""
    group = f"{t.ns}.example.com"
    webhook(t)
    remove_all(t, group)
    publish(t, two_versions(group, "v2"))
    wait_told(t, "InForce")
    equal(create(t, group, "v1", "web", image="nginx:1")[0], 201, "an object")

    def functions():
        return t.kube.get("ConfigMap", t.ns, "app-conversion") or {"data": {}, "metadata": {}}

    def is_read():
        return t.kube.request("GET", f"{address(t, group, 'v1')}/web")[1].get("spec", {}).get("image") == "nginx:1"
    text = functions()["data"]
    for change in (lambda: t.kube.delete("ConfigMap", t.ns, "app-conversion"),
                   lambda: t.kube.patch("ConfigMap", t.ns, "app-conversion", {"data": {"blueprint.ncl": "broken {"}}),
                   lambda: t.kube.patch("ConfigMap", t.ns, "app-conversion", {"metadata": {"labels": {"mistletoe.dev/conversion": None}}})):
        change()
        t.kube.wait("they are restored", lambda: functions()["data"] == text
                    and functions()["metadata"].get("labels", {}).get("mistletoe.dev/conversion") == "true")
        t.kube.wait("the object is read", is_read)
