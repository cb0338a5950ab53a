"""--wait: until what a release brings really runs, and why not when it doesn't."""
from harness import check, config_map, contains, equal, test, workload


def claim_template(name):
    return {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"],
                                                "resources": {"requests": {"storage": "1Gi"}}}}


def health(t, release):
    objects = t.run("status", release, "-o", "json").json["objects"]
    return {f"{o['kind']}/{o['name']}": o["health"] for o in objects}


@test
def waits_for_workloads_of_each_kind(t):
    package = t.package(
        "p", workload("Deployment", "web", replicas=2), workload("DaemonSet", "agent"), workload("Job", "once"),
        workload("StatefulSet", "db", replicas=2, volumeClaimTemplates=[claim_template("data")]),
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "files"},
         "spec": claim_template("files")["spec"]})
    t.run("install", "shop", "-p", package, "--wait", "--timeout", "60s")
    kinds = {"Deployment": "web", "DaemonSet": "agent", "StatefulSet": "db", "Job": "once"}
    live = {kind: t.kube.get(kind, t.ns, name)["status"] for kind, name in kinds.items()}
    equal(live["Deployment"]["availableReplicas"], 2)
    equal(live["StatefulSet"]["readyReplicas"], 2)
    equal(live["DaemonSet"]["numberReady"], live["DaemonSet"]["desiredNumberScheduled"])
    equal(live["Job"]["succeeded"], 1)
    equal(t.kube.get("PersistentVolumeClaim", t.ns, "files")["status"]["phase"], "Bound")
    equal(set(health(t, "shop").values()), {"ready"}, "status")
    # What the StatefulSet made of its template isn't the release's: it stays.
    t.run("uninstall", "shop", "--yes", "--wait")
    equal({item["metadata"]["name"] for item in t.kube.list("PersistentVolumeClaim", t.ns)},
          {"data-db-0", "data-db-1", "files"}, "claims")


@test
def a_deployment_that_is_never_ready_is_named_with_its_reason(t):
    package = t.package("p", config_map("fine"), workload("Deployment", "sick", "never-ready"))
    failed = t.refused("install", "shop", "-p", package, "--wait", "--timeout", "3s",
                       says=["Deployment", "sick", "0 of 1"])
    check("ConfigMap" not in failed.err.split("error: ")[1], "what is ready is named too:", failed)
    status = t.run("status", "shop", "-o", "json").json
    equal((status["status"], status["deployedRevision"]), ("failed", None), "the release")
    equal(health(t, "shop"), {"ConfigMap/fine": "ready", "Deployment/sick": "in progress"}, "status")
    # Mended, the same command goes on; nothing has to be removed first.
    t.run("install", "shop", "-p", t.package("p", config_map("fine"), workload("Deployment", "sick")), "--wait")
    equal(t.run("status", "shop", "-o", "json").json["status"], "deployed")


@test
def an_image_that_cannot_be_pulled_is_the_reason(t):
    package = t.package("p", workload("Deployment", "sick", "image-pull-backoff"))
    t.refused("install", "shop", "-p", package, "--wait", "--timeout", "4s", says=["Deployment", "sick"])


@test
def a_failing_job_fails_at_once(t):
    package = t.package("p", workload("Job", "broken", "fail", backoffLimit=0), config_map("fine"))
    # Far longer than the test may take: it must not wait for it.
    t.refused("install", "shop", "-p", package, "--wait", "--timeout", "10m", says=["Job", "broken", "BackoffLimit"])
    equal(health(t, "shop")["Job/broken"], "failed")


@test
def without_wait_nothing_is_waited_for(t):
    t.run("install", "shop", "-p", t.package("p", workload("Deployment", "sick", "never-ready")))
    equal(health(t, "shop"), {"Deployment/sick": "in progress"})


def definition(plural, kind):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.e2e.example.com"},
            "spec": {"group": "e2e.example.com", "scope": "Namespaced",
                     "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": {
                                       "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def custom(kind, name, **spec):
    return {"apiVersion": "e2e.example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@test
def a_definition_and_its_objects_in_one_release(t):
    crd = "widgets.e2e.example.com"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd))
    widgets = "/apis/e2e.example.com/v1/widgets"
    # The objects come first in the package: order is found, not given.
    package = t.package("p", custom("Widget", "one", size=1), custom("Widget", "two", size=2),
                        definition("widgets", "Widget"))
    plan = t.run("install", "shop", "-p", package, "--dry-run", "-o", "json").json
    equal({o["action"] for o in plan["objects"]}, {"create"}, "plan")
    t.run("install", "shop", "-p", package, "--wait")
    equal({item["metadata"]["name"] for item in t.kube.list(widgets, t.ns)}, {"one", "two"})
    mark = t.mark()
    equal(t.run("upgrade", "shop", "-p", package, "-o", "json").json["changed"], False)
    equal([r for r in t.requests(mark) if r.writes], [], "writes of an upgrade without changes")
    t.run("upgrade", "shop", "-p", t.package("p", custom("Widget", "one", size=3), definition("widgets", "Widget")))
    left = {item["metadata"]["name"]: item["spec"]["size"] for item in t.kube.list(widgets, t.ns)}
    equal(left, {"one": 3}, "after an upgrade that changes and prunes")
    kept = t.run("uninstall", "shop", "--yes")
    contains(kept.out + kept.err, crd, "--delete-crds")
    check(t.kube.get("CustomResourceDefinition", None, crd), "a definition stays without --delete-crds")
    equal(t.kube.list(widgets, t.ns), [], "its objects")
    # What stayed is taken up again by the same release, and goes when that is asked for.
    t.run("install", "shop", "-p", package)
    t.run("uninstall", "shop", "--yes", "--delete-crds", "--wait")
    check(t.kube.get("CustomResourceDefinition", None, crd) is None, "--delete-crds removes it")


@test
def a_kind_that_nobody_defines_writes_nothing(t):
    t.refused("install", "shop", "-p", t.package("p", config_map("fine"), custom("Nothing", "one")),
              says=["Nothing", "e2e.example.com", "00001.yaml:1"])
    equal((t.owned("shop"), t.record("shop")), (set(), []), "written")
