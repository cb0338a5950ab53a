"""Versions of a blueprint's kind that differ: the operator's webhook converts between them."""
import base64
import concurrent.futures
import signal

from catalog import free_port
from harness import check, contains, equal, test
from test_blueprint_crds import CRDS, publish, remove_crd, wait_told
from test_operator import Operator

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


def two_versions(group, stored, to_hub=TO_HUB, from_hub=FROM_HUB):
    return f"""
let m = import "mistletoe.ncl" in
{{
  kind = {{
    group = "{group}",
    version = "v2",
    kind = "App",
    crd = 'manage,
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
