"""A container is never deleted while something in it stays; and a refused deletion is none."""
import base64
import json

from harness import certificate, check, config_map, contains, definition, equal, test
from quiet_server import AdmissionHandler, QuietServer
from test_aggregated import registration, serving, tally

FLAGS = ("--delete-namespaces", "--delete-crds")


def namespace_object(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def alive(t, kind, name):
    there = t.kube.get(kind, None, name)
    return there is not None and "deletionTimestamp" not in there["metadata"]


@test
def an_upgrade_keeps_what_its_containers_hold(t):
    other, group = t.namespace("made", create=False), f"{t.ns}.example.com"
    crd = definition(group, "gadgets", "Gadget")
    crd_name = crd["metadata"]["name"]
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd_name))
    gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "one", "namespace": t.ns}}
    inside = config_map("inside", namespace=other)
    t.run("install", "shop", "-p", t.package("all", config_map("base"), namespace_object(other), inside, crd, gadget))
    wanted = t.package("wanted", config_map("base"), inside, gadget)
    plan = t.run("upgrade", "shop", "-p", wanted, *FLAGS, "--dry-run")
    contains(plan.out, f"with it would go ConfigMap {other}/inside, which is still wanted",
             f"with it would go Gadget {t.ns}/one, which is still wanted")
    t.run("upgrade", "shop", "-p", wanted, *FLAGS)
    check(alive(t, "Namespace", other) and alive(t, "CustomResourceDefinition", crd_name), "the containers")
    check(t.kube.get("ConfigMap", other, "inside"), "what is wanted in the namespace")
    equal(len(t.kube.list(f"/apis/{group}/v1/gadgets", t.ns)), 1, "what is wanted of the kind")
    # Another release moves in: no flag takes its objects and its record along.
    t.run("install", "guest", "-n", other, "-p", t.package("guest", config_map("theirs")))
    base = t.package("base", config_map("base"))
    t.run("upgrade", "shop", "-p", base, *FLAGS)
    check(alive(t, "Namespace", other), "the namespace of another release")
    check(not alive(t, "CustomResourceDefinition", crd_name), "a definition of which nothing is wanted any more")
    left = t.run("uninstall", "shop", "--yes", *FLAGS)
    contains(left.out, "which belongs to release")
    t.run("status", "guest", "-n", other)
    t.run("uninstall", "guest", "-n", other, "--yes")


@test
def what_is_nobodys_is_listed_before_it_goes(t):
    other = t.namespace("made", create=False)
    t.run("install", "shop", "-p", t.package("p", config_map("base"), namespace_object(other)))
    t.kube.create("ConfigMap", other, {"metadata": {"name": "theirs"}})
    said = t.run("upgrade", "shop", "-p", t.package("base", config_map("base")), *FLAGS)
    # Another test's API service may be down just now; what it could hold is listed too.
    contains(said.err, f"with the namespace {other} go ", f"ConfigMap {other}/theirs")
    # Not until it is gone: an API that is down in another test holds every namespace's end up.
    t.kube.wait("the namespace goes", lambda: "deletionTimestamp" in (
        t.kube.get("Namespace", None, other) or {"metadata": {"deletionTimestamp": ""}})["metadata"])


@test
def the_namespace_of_the_record_outlives_upgrades(t):
    home = t.namespace("home", create=False)
    t.run("install", "shop", "-n", home, "-p", t.package("p", namespace_object(home), config_map("ours")), "--create-namespace")
    t.run("upgrade", "shop", "-n", home, "-p", t.package("less", config_map("ours")), *FLAGS)
    check(alive(t, "Namespace", home), "the release's own namespace")
    check(t.record("shop", namespace=home), "its record")


@test(waits=True)
def objects_of_an_api_that_is_down_keep_their_namespace(t):
    """Nobody can say what it holds of them."""
    server = serving(t)
    other = t.namespace("made", create=False)
    service, api = registration(t, server)
    t.kube.create("Service", t.ns, service)
    t.kube.create("APIService", None, api)
    name = api["metadata"]["name"]
    t.run("install", "shop", "-p", t.package("p", config_map("base"), namespace_object(other)))
    t.kube.wait("its kinds are served",
                lambda: t.run("install", "guest", "-p", t.package("g", tally(server, "one", namespace=other)), code=None).code == 0)
    # Taken over by nobody: an object of theirs, of which only that API knows.
    t.kube.delete("APIService", None, name)
    away = json.loads(json.dumps(api))
    away["spec"]["service"]["port"] = 1
    t.kube.wait("the group is gone", lambda: server.group not in json.dumps(t.kube.checked("GET", "/apis")))
    t.kube.create("APIService", None, away)
    t.kube.wait("it is known to be away", lambda: any(
        c["type"] == "Available" and c["status"] == "False"
        for c in (t.kube.get("APIService", None, name).get("status") or {}).get("conditions", [])))
    said = t.run("uninstall", "shop", "--yes")
    contains(said.out, "1 retained", f"v1.{server.group}", "--delete-namespaces")
    check(alive(t, "Namespace", other), "the namespace")
    t.kube.delete("APIService", None, name)


@test
def a_deletion_that_a_webhook_refuses_with_409_is_none(t):
    """As Crossplane's Usage does."""
    asked = []

    class Handler(AdmissionHandler):
        def denies(self, request):
            asked.append(request["name"])
            return {"code": 409, "reason": "Conflict", "message": "in use by Usage shop/one"}

    tls, bundle = certificate(t)
    server = QuietServer(Handler, tls)
    t.cleanup(server.stop)
    hook = f"{t.ns}-usage"
    t.kube.create("ValidatingWebhookConfiguration", None, {"metadata": {"name": hook}, "webhooks": [{
        "name": "usage.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
        "clientConfig": {"url": f"https://127.0.0.1:{server.port}/deny", "caBundle": base64.b64encode(bundle).decode()},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}},
        "objectSelector": {"matchLabels": {"used": "yes"}},
        "rules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}]})
    t.cleanup(lambda: t.kube.delete("ValidatingWebhookConfiguration", None, hook))
    t.run("install", "shop", "-p", t.package("p", config_map("used", labels={"used": "yes"}), config_map("base")))

    def is_denied():
        code, _ = t.kube.request("DELETE", f"/api/v1/namespaces/{t.ns}/configmaps/used?dryRun=All")
        return code == 409
    t.kube.wait("the webhook is asked", is_denied)
    words = "in use by Usage shop/one"
    t.refused("upgrade", "shop", "-p", t.package("base", config_map("base")), says=[words, "ConfigMap", "used"])
    t.refused("uninstall", "shop", "--yes", says=[words])
    check(t.kube.get("ConfigMap", t.ns, "used") and t.record("shop"), "the object and the record that names it")
    t.kube.delete("ValidatingWebhookConfiguration", None, hook)
    t.kube.wait("nothing refuses it any more", lambda: t.run("uninstall", "shop", "--yes", code=None).code == 0)
    check(t.kube.get("ConfigMap", t.ns, "used") is None, "the object is gone")
