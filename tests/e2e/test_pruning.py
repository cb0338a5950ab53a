"""What goes, what stays, and who decides."""
from harness import check, config_map, contains, definition, equal, kubeconfig_text, secret, test
from proxy import Proxy


def claim(name):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def namespace_object(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def retained(t, release):
    return {f"{o['kind']}/{o['name']}" for o in t.run("status", release, "-o", "json").json["objects"]
            if o["retained"]}


@test
def upgrade_leaves_claims_definitions_and_namespaces(t):
    crd = "prunes.prune.example.com"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd))
    other = t.namespace("made", create=False)
    base = config_map("base")
    everything = t.package("all", base, claim("data"), definition("prune.example.com", "prunes", "Prune"), namespace_object(other),
                           config_map("kept", annotations={"mistletoe.dev/keep": "true"}), config_map("goes"))
    less = t.package("less", base)
    t.run("install", "shop", "-p", everything)
    t.run("upgrade", "shop", "-p", less)
    check(t.kube.get("ConfigMap", t.ns, "goes") is None, "what is not wanted goes")
    stays = {f"CustomResourceDefinition/{crd}", "PersistentVolumeClaim/data", f"Namespace/{other}", "ConfigMap/kept"}
    equal(retained(t, "shop"), stays, "retained")
    equal(t.run("upgrade", "shop", "-p", less, "-o", "json").json["changed"], False, "and nothing is new about it")
    # Wanted again, they are simply the release's again.
    t.run("upgrade", "shop", "-p", everything)
    equal(retained(t, "shop"), set(), "retained")
    t.run("upgrade", "shop", "-p", less, "--delete-pvcs", "--delete-crds", "--delete-namespaces")
    check(retained(t, "shop") <= {"ConfigMap/kept", f"Namespace/{other}"}, "a namespace takes seconds to go")
    t.kube.wait("all that was asked for is gone", lambda: not (
        t.kube.get("PersistentVolumeClaim", t.ns, "data") or t.kube.get("CustomResourceDefinition", None, crd)
        or t.kube.get("Namespace", None, other)))
    t.run("upgrade", "shop", "-p", t.package("later", base, config_map("later")))
    equal(retained(t, "shop"), {"ConfigMap/kept"}, "retained once the namespace is gone")
    t.run("uninstall", "shop", "--yes")
    check(t.kube.get("ConfigMap", t.ns, "kept"), "keep also holds for uninstall")
    equal(t.record("shop"), [], "record")


@test
def a_namespace_with_other_peoples_objects_stays(t):
    other = t.namespace("made", create=False)
    package = t.package("p", namespace_object(other), config_map("ours", namespace=other))
    t.run("install", "shop", "-p", package)
    t.kube.create("ConfigMap", other, {"metadata": {"name": "theirs"}})
    t.kube.create("Secret", other, {"metadata": {"name": "theirs-too"}})
    plan = t.run("uninstall", "shop", "--dry-run")
    contains(plan.out + plan.err, "theirs", "--delete-namespaces")
    t.run("uninstall", "shop", "--yes")
    check(t.kube.get("ConfigMap", other, "theirs"), "their object")
    check(t.kube.get("ConfigMap", other, "ours") is None, "our object")
    check("deletionTimestamp" not in t.kube.get("Namespace", None, other)["metadata"], "the namespace")

    t.run("install", "shop", "-p", package)  # takes its namespace up again
    listed = t.run("uninstall", "shop", "--yes", "--delete-namespaces", "--wait")
    contains(listed.out + listed.err, "ConfigMap", "theirs")
    check(t.kube.get("Namespace", None, other) is None, "the namespace goes with them when that is asked for")


@test
def a_namespace_that_somebody_moves_into_meanwhile_stays(t):
    """Between the plan that somebody agreed to and the end of the namespace all the rest is deleted."""
    other = t.namespace("made", create=False)
    t.run("install", "shop", "-p", t.package("p", namespace_object(other), config_map("ours", namespace=other)))

    def move_in(number, method, path):
        if method == "DELETE" and path.endswith("/configmaps/ours"):
            t.kube.create("ConfigMap", other, {"metadata": {"name": "theirs"}})

    proxy = Proxy(t.kube, t.token, before=move_in)
    t.cleanup(proxy.stop)
    kubeconfig = t.file("kubeconfig-slow", kubeconfig_text(proxy.url, {}, namespace=t.ns))
    said = t.run("uninstall", "shop", "--yes", kubeconfig=kubeconfig)
    words = f"since the plan, 1 object in it is not the release's (ConfigMap {other}/theirs)"
    contains(said.out, "1 object deleted, 1 retained", f"Namespace {other} stays: {words}")
    contains(said.err, f"Namespace {other}: retained")
    check("deletionTimestamp" not in t.kube.get("Namespace", None, other)["metadata"], "the namespace")
    check(t.kube.get("ConfigMap", other, "theirs"), "their object")
    equal((t.kube.get("ConfigMap", other, "ours"), t.record("shop")), (None, []), "the release is gone all the same")


@test
def a_namespace_with_only_our_own_goes(t):
    """What Kubernetes puts into each namespace, and what our own objects own, is not foreign."""
    other = t.namespace("made", create=False)
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": other},
               "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}}}
    t.run("install", "shop", "-p", t.package("p", namespace_object(other), service))
    t.kube.wait("the Service has its EndpointSlice",
                lambda: t.kube.list("/apis/discovery.k8s.io/v1/endpointslices", other))
    quiet = t.run("-q", "uninstall", "shop", "--yes", "--wait")
    equal(quiet.err, "", "words of a quiet uninstall")
    check(t.kube.get("Namespace", None, other) is None, "the namespace goes")


@test
def a_release_in_the_namespace_that_it_brings(t):
    home = t.namespace("home", create=False)
    package = t.package("p", namespace_object(home), config_map("ours"))
    refused = t.refused("install", "shop", "-n", home, "-p", package, says=["does not exist", "--create-namespace"])
    check(t.kube.get("Namespace", None, home) is None, refused)
    t.run("install", "shop", "-n", home, "-p", package, "--create-namespace")
    check(t.kube.get("ConfigMap", home, "ours"))
    t.run("uninstall", "shop", "-n", home, "--yes", "--wait")
    check(t.kube.get("Namespace", None, home) is None, "deleted last, with the record")
    t.refused("status", "shop", "-n", home, says=["does not exist"])


@test
def create_namespace_makes_what_stays(t):
    home = t.namespace("home", create=False)
    t.run("install", "shop", "-n", home, "-p", t.package("p", config_map("ours")), "--create-namespace")
    t.run("uninstall", "shop", "-n", home, "--yes")
    check("deletionTimestamp" not in t.kube.get("Namespace", None, home)["metadata"], "it is not the release's")
    equal([item["metadata"]["name"] for item in t.kube.list("ConfigMap", home)
           if item["metadata"]["name"] != "kube-root-ca.crt"], [], "left behind")


@test
def what_was_deleted_or_changed_by_hand_is_repaired(t):
    package = t.package("p", config_map("a"), config_map("b"), secret("c"))
    t.run("install", "shop", "-p", package)
    t.kube.delete("ConfigMap", t.ns, "a")
    t.kube.patch("ConfigMap", t.ns, "b", {"data": {"key": "by hand", "more": "kept"}})
    health = {o["name"]: o["health"] for o in t.run("status", "shop", "-o", "json").json["objects"]}
    equal(health, {"a": "missing", "b": "ready", "c": "ready"}, "status")
    conflict = t.refused("upgrade", "shop", "-p", package, says=["ConfigMap", "/b", "--force-conflicts"])
    check("python" in conflict.err or "manager" in conflict.err, "who else changed it isn't named:", conflict)
    t.run("upgrade", "shop", "-p", package, "--force-conflicts")
    equal(t.kube.get("ConfigMap", t.ns, "b")["data"], {"key": "b", "more": "kept"}, "only our own fields")
    check(t.kube.get("ConfigMap", t.ns, "a"), "what was deleted is back")
    # An object of the same name that came later is another one: it is neither changed nor deleted.
    t.kube.delete("ConfigMap", t.ns, "a")
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "a"}, "data": {"whose": "theirs"}})
    t.refused("upgrade", "shop", "-p", package, says=["ConfigMap", "/a", "belongs to no release"])
    t.run("uninstall", "shop", "--yes")
    equal(t.kube.get("ConfigMap", t.ns, "a")["data"], {"whose": "theirs"}, "somebody else's object")


@test
def what_a_finalizer_holds_is_named_with_it(t):
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    package = t.package("p", held, config_map("free"))
    t.run("install", "shop", "-p", package)
    words = "its finalizer example.com/hold holds it"
    t.refused("uninstall", "shop", "--yes", "--wait", "--timeout", "1s", says=["ConfigMap", "/held is gone", words, "again"])
    status = t.run("status", "shop", "-o", "json").json
    details = {o["name"]: o["detail"] for o in status["objects"]}
    contains(details["held"], words)
    equal(details["free"], "it was deleted", "what the uninstall itself deleted")
    t.refused("install", "shop", "-p", package, says=["half uninstalled"])
    t.kube.patch("ConfigMap", t.ns, "held", {"metadata": {"finalizers": None}})
    t.run("uninstall", "shop", "--yes", "--wait")
