"""Order on a real cluster: what comes before what, told by the audit log."""
import pathlib
import re

from harness import check, config_map, contains, definition, equal, secret, test, workload
from test_waiting import custom


def after(*targets):
    return {"mistletoe.dev/after": ", ".join(targets)}


def annotated(item, **annotations):
    item["metadata"].setdefault("annotations", {}).update(
        {f"mistletoe.dev/{name}": text for name, text in annotations.items()})
    return item


def writes(t, mark):
    """("verb", "resource/name") of what was written to objects, in the order of the answers."""
    return [(r.verb, f"{r.resource}/{r.path.rsplit('/', 1)[-1]}") for r in t.requests(mark)
            if r.writes and not r.of_record and "mistletoe." not in r.path and r.code < 300]


def before(order, first, second):
    check(first in order and second in order, first, "or", second, "is missing in", order)
    check(order.index(first) < order.index(second), first, "should come before", second, "in", order)


@test
def references_and_namespaces_come_first(t):
    other = t.namespace("b", create=False)
    web = workload("Deployment", "web")
    web["metadata"]["namespace"] = other
    web["spec"]["template"]["spec"].update({
        "serviceAccountName": "runner",
        "volumes": [{"name": "all", "projected": {"sources": [{"configMap": {"name": "settings"}},
                                                              {"secret": {"name": "key"}}]}}]})
    # Backwards: order is found, not given.
    package = t.package(
        "p",
        {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": other},
         "spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}},
        web, secret("key", namespace=other), config_map("settings", namespace=other),
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
         "metadata": {"name": "runner", "namespace": other},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
         "subjects": [{"kind": "ServiceAccount", "name": "runner"}]},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader", "namespace": other},
         "rules": []},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner", "namespace": other}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    mark = t.mark()
    t.run("install", "shop", "-p", package)
    order = [name for verb, name in writes(t, mark)]
    equal(len(order), 8, "writes")
    equal(order[0], f"namespaces/{other}", "the first write")
    for first in ("secrets/key", "configmaps/settings", "serviceaccounts/runner", "rolebindings/runner"):
        before(order, first, "deployments/web")
    before(order, "roles/reader", "rolebindings/runner")
    before(order, "deployments/web", "horizontalpodautoscalers/web")

    mark = t.mark()
    t.run("uninstall", "shop", "--yes")
    order = [name for verb, name in writes(t, mark) if verb == "delete"]
    for second in ("secrets/key", "configmaps/settings", "serviceaccounts/runner", "rolebindings/runner"):
        before(order, "deployments/web", second)
    before(order, "rolebindings/runner", "roles/reader")
    equal(order[-1], f"namespaces/{other}", "the last deletion")


@test
def a_declared_edge_waits_until_its_source_is_ready(t):
    package = t.package(
        "p", annotated(workload("Deployment", "web"), after="Job/migrate@ready"),
        annotated(workload("Job", "migrate"), after="Deployment/db@ready"), workload("Deployment", "db"),
        config_map("free"))
    mark = t.mark()
    t.run("install", "shop", "-p", package, "--timeout", "60s")
    order = [name for verb, name in writes(t, mark)]
    before(order, "deployments/db", "jobs/migrate")
    before(order, "jobs/migrate", "deployments/web")
    # What came later was sent only when the earlier one was so.
    stamp = {"db": next(c["lastTransitionTime"] for c in t.kube.get("Deployment", t.ns, "db")["status"]["conditions"]
                        if c["type"] == "Available"),
             "migrate": t.kube.get("Job", t.ns, "migrate")["metadata"]["creationTimestamp"],
             "done": t.kube.get("Job", t.ns, "migrate")["status"]["completionTime"],
             "web": t.kube.get("Deployment", t.ns, "web")["metadata"]["creationTimestamp"]}
    check(stamp["db"] <= stamp["migrate"] and stamp["done"] <= stamp["web"], stamp)
    # Nothing else is watched, and a Deployment only if it wasn't ready when the watch's list came.
    watches = {r.resource for r in t.requests(mark) if r.verb == "watch"}
    check(watches in ({"deployments", "jobs"}, {"jobs"}), watches)
    # Nothing changed: nothing is waited for, and nothing is written.
    mark = t.mark()
    equal(t.run("upgrade", "shop", "-p", package, "-o", "json").json["changed"], False)
    equal([r for r in t.requests(mark) if r.writes or r.verb == "watch"], [])


@test
def a_source_that_is_never_ready_is_named_and_only_its_followers_wait(t):
    package = t.package("p", annotated(workload("Deployment", "web"), after="Deployment/db@ready"),
                        workload("Deployment", "db", "image-pull-backoff"), config_map("free"))
    # The root cause, down to the container.
    failed = t.refused("install", "shop", "-p", package, "--timeout", "4s",
                       says=["db is not ready", "web waits for it", "0 of 1", "container main", "ImagePullBackOff"])
    equal(t.owned("shop"), {"Deployment/db", "ConfigMap/free"}, "written")
    contains(failed.err, "was not begun")
    # After the fix, the same command continues.
    t.run("install", "shop", "-p", t.package(
        "p", annotated(workload("Deployment", "web"), after="Deployment/db@ready"), workload("Deployment", "db"),
        config_map("free")))


@test
def what_is_outside_of_the_release_is_waited_for(t):
    package = t.package("p", annotated(config_map("late"), after="outside:Secret/creds"), config_map("free"))
    started = t.start("install", "shop", "-p", package, "--timeout", "60s")
    t.kube.wait("what is free is there", lambda: t.kube.get("ConfigMap", t.ns, "free"))
    check(t.kube.get("ConfigMap", t.ns, "late") is None, "it did not wait")
    t.kube.create("Secret", t.ns, {"metadata": {"name": "creds"}})
    t.finish(started, 0)
    check(t.kube.get("ConfigMap", t.ns, "late"), "it is not there")
    t.run("uninstall", "shop", "--yes")
    check(t.kube.get("Secret", t.ns, "creds"), "what is outside was deleted")


@test
def mistakes_in_the_order_write_nothing(t):
    unknown = t.package("p", annotated(config_map("one"), after="ConfigMap/tow"), config_map("two"))
    t.refused("install", "shop", "-p", unknown,
              says=['"ConfigMap/tow" is not part of the release', "did you mean ConfigMap/two?", "00000.yaml:7"])
    cycle = t.package("p", annotated(config_map("one"), after="ConfigMap/two"),
                       annotated(config_map("two"), after="ConfigMap/one@ready"))
    t.refused("install", "shop", "-p", cycle,
              says=["the order has a cycle", "comes after", "mistletoe.dev/after", "00001.yaml"])
    t.refused("graph", "-p", cycle, says=["the order has a cycle"])
    equal((t.owned("shop"), t.record("shop")), (set(), []), "written")


@test
def webhooks_come_last_and_go_first(t):
    name = f"{t.ns}.example.com"
    hook = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [{"name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None",
                          "clientConfig": {"service": {"name": "hook", "namespace": t.ns}},
                          # For nothing that this cluster has: nobody answers behind it.
                          "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"],
                                     "resources": ["nothings"]}]}]}
    path = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}"
    t.cleanup(lambda: t.kube.request("DELETE", path))
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"},
               "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443}]}}
    package = t.package("p", hook, config_map("one"), workload("Deployment", "hook"), service)
    mark = t.mark()
    t.run("install", "shop", "-p", package)
    equal(writes(t, mark)[-1][1], f"validatingwebhookconfigurations/{name}", "the last write")
    mark = t.mark()
    t.run("uninstall", "shop", "--yes")
    equal(writes(t, mark)[0], ("delete", f"validatingwebhookconfigurations/{name}"), "the first deletion")


@test
def the_graph_of_a_release_tells_the_order(t):
    crd = "gadgets.e2e.example.com"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd))
    package = t.package("p", custom("Gadget", "one", size=1), definition("e2e.example.com", "gadgets", "Gadget"),
                        annotated(config_map("last"), after="Gadget/one"))
    offline = t.run("graph", "shop", "-p", package, "-o", "json").json
    t.run("install", "shop", "-p", package)
    installed = t.run("graph", "shop", "-o", "json").json
    equal(installed["revision"], 0)
    equal(installed["edges"], offline["edges"], "the same order before and after installing")
    equal([(e["predicate"], e["declared"]) for e in installed["edges"]], [("established", False), ("present", True)])
    contains(t.run("graph", "shop").out, "3 objects in 3 steps", f"CustomResourceDefinition {crd} (established)",
             "the CRD of its kind", "mistletoe.dev/after")
    contains(t.run("graph", "shop", "-o", "dot").out, "digraph", "->")
    contains(t.run("graph", "shop", "-o", "mermaid").out, "flowchart LR", "==>")
    t.run("uninstall", "shop", "--yes", "--delete-crds")


@test
def the_example_of_the_document_is_true(t):
    document = pathlib.Path(__file__).parents[2] / "docs" / "order.md"
    # The block with objects; the other declares edges of a package.
    example = next(block for block in re.findall(r"```yaml\n(.*?)```", document.read_text(), re.S) if "kind: StatefulSet" in block)
    package = t.package("p", example)
    drawn = t.run("graph", "-p", package).out
    contains(drawn, "StatefulSet default/db (ready)", "Job default/migrate (ready)")
    mark = t.mark()
    t.run("install", "shop", "-p", package, "--timeout", "60s")
    order = [name for verb, name in writes(t, mark)]
    equal(order, ["statefulsets/db", "jobs/migrate", "deployments/web"])
    mark = t.mark()
    t.run("uninstall", "shop", "--yes")
    equal([name for verb, name in writes(t, mark) if verb == "delete"],
          ["deployments/web", "jobs/migrate", "statefulsets/db"])


@test
def a_package_declares_edges_in_a_document_of_its_own(t):
    order = {"apiVersion": "mistletoe.dev/v1", "kind": "MistOrder", "edges": [
        {"object": "Deployment/web", "after": ["Job/migrate@ready"]},
        {"object": "Job/migrate", "after": "ConfigMap/settings", "before": "ConfigMap/last"}]}
    objects = [workload("Deployment", "web"), config_map("last"), workload("Job", "migrate"), config_map("settings")]
    package = t.package("p", order, *objects)
    mark = t.mark()
    t.run("install", "shop", "-p", package, "--timeout", "60s")
    written = [name for verb, name in writes(t, mark)]
    before(written, "configmaps/settings", "jobs/migrate")
    before(written, "jobs/migrate", "deployments/web")
    before(written, "jobs/migrate", "configmaps/last")
    check(t.kube.get("Job", t.ns, "migrate")["status"]["completionTime"] <=
          t.kube.get("Deployment", t.ns, "web")["metadata"]["creationTimestamp"], "it did not wait for the Job")
    edges = t.run("graph", "shop", "-o", "json").json["edges"]
    equal(len([e for e in edges if e["reason"] in ("mistletoe.dev/after", "mistletoe.dev/before")]), 3, edges)
    mark = t.mark()
    t.run("uninstall", "shop", "--yes")
    deleted = [name for verb, name in writes(t, mark) if verb == "delete"]
    before(deleted, "deployments/web", "jobs/migrate")
    before(deleted, "jobs/migrate", "configmaps/settings")
    order["edges"][0]["object"] = "Deployment/wbe"
    t.refused("install", "shop", "-p", t.package("q", order, *objects),
              says=["renders no Deployment/wbe", "00000.yaml:", "did you mean Deployment/web?"])
    equal(t.record("shop"), [], "records of what was refused")
