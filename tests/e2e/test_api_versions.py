"""A package moves to another version of a kind: what the old version had and the new one doesn't want goes."""
from harness import contains, config_map, definition, equal, test
from test_exact import writes

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def scaler(version, **spec):
    return {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
            "spec": {"scaleTargetRef": TARGET, "maxReplicas": 3, **spec}}


def live_scaler(t):
    path = f"/apis/autoscaling/v2/namespaces/{t.ns}/horizontalpodautoscalers/web"
    return t.kube.checked("GET", path)["spec"]


@test
def a_field_of_the_old_version_goes_with_it(t):
    t.run("install", "shop", "-p", t.package("old", scaler("v1", targetCPUUtilizationPercentage=60, minReplicas=2)))
    # What v1 calls targetCPUUtilizationPercentage is an item of v2's metrics.
    equal(live_scaler(t)["metrics"][0]["resource"]["target"]["averageUtilization"], 60)
    new = t.package("new", scaler("v2"))
    outcome = t.run("diff", "shop", "-p", new, "--exit-code", code=3)
    t.note(outcome.out)
    t.run("upgrade", "shop", "-p", new)
    spec = live_scaler(t)
    # This one goes as the server has it: pruned in the fields of v1, converted, and filled in from what is there.
    equal([m["resource"]["target"]["averageUtilization"] for m in spec.get("metrics", [])], [60], "metrics")
    equal(spec["minReplicas"], 1, "the default of what is not wanted any more")
    equal(writes(t, "upgrade", "shop", "-p", new), [], "writes without a change")


@test
def a_field_of_a_version_that_is_not_served_any_more_goes_too(t):
    group = f"{t.ns}.example.com"

    def kind(*versions, served=None):
        crd = definition(group, "pairs", "Pair")
        one = crd["spec"]["versions"][0]
        crd["spec"]["versions"] = [{**one, "name": v, "storage": v == versions[-1],
                                    "served": served is None or v in served} for v in versions]
        return crd

    def pair(version, **spec):
        return {"apiVersion": f"{group}/{version}", "kind": "Pair", "metadata": {"name": "one"}, "spec": spec}

    t.run("install", "kinds", "-p", t.package("kinds", kind("v1", "v2")), "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    t.run("install", "shop", "-p", t.package("old", config_map("a", {"a": "b"}), pair("v1", kept="1", gone="1")))
    t.run("upgrade", "kinds", "-p", t.package("kinds", kind("v1", "v2", served=["v2"])), "--wait")
    new = t.package("new", config_map("a", {"a": "b"}), pair("v2", kept="1"))
    t.run("upgrade", "shop", "-p", new)
    path = f"/apis/{group}/v2/namespaces/{t.ns}/pairs/one"
    equal(t.kube.checked("GET", path)["spec"], {"kept": "1"})
    equal(writes(t, "upgrade", "shop", "-p", new), [], "writes without a change")


@test
def a_field_of_a_version_that_is_gone_goes_too(t):
    group = f"{t.ns}.example.com"

    def kind(*versions):
        crd = definition(group, "pairs", "Pair")
        one = crd["spec"]["versions"][0]
        crd["spec"]["versions"] = [{**one, "name": v, "storage": v == versions[-1]} for v in versions]
        return crd

    def pair(version, **spec):
        return {"apiVersion": f"{group}/{version}", "kind": "Pair", "metadata": {"name": "one"}, "spec": spec}

    t.run("install", "kinds", "-p", t.package("kinds", kind("v1", "v2")), "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    t.run("install", "shop", "-p", t.package("old", pair("v1", kept="1", gone="1", map={"a": "1", "b": "2"})))
    t.run("upgrade", "kinds", "-p", t.package("kinds", kind("v2")), "--wait")
    new = t.package("new", pair("v2", kept="1", map={"a": "1"}))
    t.run("upgrade", "shop", "-p", new)
    path = f"/apis/{group}/v2/namespaces/{t.ns}/pairs/one"
    equal(t.kube.checked("GET", path)["spec"], {"kept": "1", "map": {"a": "1"}})
    equal(writes(t, "upgrade", "shop", "-p", new), [], "writes without a change")


@test
def a_kind_that_got_another_scope_is_written_and_found_under_that(t):
    group = f"{t.ns}.example.com"

    def scopes():
        status, kinds = t.kube.request("GET", f"/apis/{group}/v1")
        return [r["namespaced"] for r in kinds["resources"] if r["name"] == "foos"] if status == 200 else []

    def define(scope):
        crd = definition(group, "foos", "Foo")
        crd["spec"]["scope"] = scope
        t.kube.checked("POST", DEFINITIONS, crd)
        t.kube.wait(f"{scope} Foo", lambda: any(
            c["type"] == "Established" and c["status"] == "True"
            for c in t.kube.checked("GET", f"{DEFINITIONS}/foos.{group}").get("status", {}).get("conditions") or []))
        served = scope == "Namespaced"
        t.kube.wait("discovery", lambda: served in scopes())

    def undefine():
        t.kube.request("DELETE", f"{DEFINITIONS}/foos.{group}")
        t.kube.wait("no Foo", lambda: t.kube.request("GET", f"{DEFINITIONS}/foos.{group}")[0] == 404)

    t.cleanup(undefine)
    package = t.package("p", config_map("x", {"a": "1"}),
                        {"apiVersion": f"{group}/v1", "kind": "Foo", "metadata": {"name": "f1"}, "spec": {"a": 1}})
    for before, after in (("Namespaced", "Cluster"), ("Cluster", "Namespaced")):
        release = after.lower()
        define(before)
        t.run("install", release, "-p", package)  # which leaves what the server served in the cache
        undefine()
        define(after)
        t.run("upgrade", release, "-p", package)
        where = f"/apis/{group}/v1/" + (f"namespaces/{t.ns}/foos/f1" if after == "Namespaced" else "foos/f1")
        equal(t.kube.checked("GET", where)["spec"], {"a": 1})
        ns = t.ns if after == "Namespaced" else None
        recorded = [o.get("namespace") or None for o in t.run("status", release, "-o", "json").json["objects"]
                    if o["kind"] == "Foo"]
        equal(recorded, [ns], "the namespace that the record has")
        equal(writes(t, "upgrade", release, "-p", package), [], "writes without a change")
        t.run("uninstall", release, "--yes")
        equal(t.kube.request("GET", where)[0], 404, "what uninstall left")
        undefine()


def lv_kind(group, *versions):
    crd = definition(group, "lvs", "Lv")
    one = crd["spec"]["versions"][0]
    crd["spec"]["versions"] = [{**one, "name": v, "storage": v == "v1"} for v in versions]
    return crd


def lv(group, version, **spec):
    return {"apiVersion": f"{group}/{version}", "kind": "Lv", "metadata": {"name": "o"}, "spec": spec}


@test
def owners_of_fields_in_versions_that_are_gone_stay_owners(t):
    group = f"{t.ns}.example.com"

    def written_in(version, manager, **spec):
        path = f"/apis/{group}/{version}/namespaces/{t.ns}/lvs/o?fieldManager={manager}"
        t.kube.checked("PATCH", path, {"spec": spec}, "application/merge-patch+json")

    def owned():
        entries = t.kube.checked("GET", f"/apis/{group}/v1/namespaces/{t.ns}/lvs/o")["metadata"]["managedFields"]
        return sorted((e["manager"], e["apiVersion"].split("/")[1], sorted(e["fieldsV1"].get("f:spec", {}))) for e in entries)

    t.run("install", "kinds", "-p", t.package("kinds", lv_kind(group, "v1alpha1", "v1beta1", "v1")), "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    t.run("install", "shop", "-p", t.package("old", lv(group, "v1", a="1")))
    written_in("v1alpha1", "ed", x="1", x2="1")
    written_in("v1beta1", "al", y="1")
    written_in("v1", "ed", z="1")
    t.run("upgrade", "kinds", "-p", t.package("kinds", lv_kind(group, "v1")), "--wait")
    t.run("upgrade", "shop", "-p", t.package("new", lv(group, "v1", a="2")))
    equal(owned(), [("al", "v1", ["f:y"]), ("ed", "v1", ["f:x", "f:x2", "f:z"]), ("mistctl", "v1", [".", "f:a"])])
    t.refused("upgrade", "shop", "-p", t.package("greedy", lv(group, "v1", a="2", x="mine", y="mine", z="mine")), code=None,
              says=[".spec.x", ".spec.y", ".spec.z"])


@test
def adopting_what_was_written_in_versions_that_are_gone_takes_its_fields(t):
    group = f"{t.ns}.example.com"

    t.run("install", "kinds", "-p", t.package("kinds", lv_kind(group, "v1alpha1", "v1beta1", "v1")), "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    path = f"/apis/{group}/%s/namespaces/{t.ns}/lvs"
    t.kube.checked("POST", path % "v1alpha1" + "?fieldManager=helm", lv(group, "v1alpha1", a="1", gone="1"))
    t.kube.checked("PATCH", path % "v1beta1" + "/o?fieldManager=al", {"spec": {"y": "1"}}, "application/merge-patch+json")
    t.run("upgrade", "kinds", "-p", t.package("kinds", lv_kind(group, "v1")), "--wait")
    t.run("install", "shop", "-p", t.package("new", lv(group, "v1", a="2")), "--adopt")
    live = t.kube.checked("GET", path % "v1" + "/o")
    equal(live["spec"], {"a": "2", "y": "1"})
    equal(sorted(e["manager"] for e in live["metadata"]["managedFields"]), ["al", "mistctl"])


@test
def a_version_that_lacks_a_new_field_is_no_obstacle_to_it(t):
    group = f"{t.ns}.example.com"

    def kinds(**versions):
        crd = definition(group, "lvs", "Lv")
        crd["spec"]["versions"] = [{"name": name, "served": True, "storage": name == max(versions), "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {f: {"type": "string"} for f in fields}}}}}}
            for name, fields in versions.items()]
        return crd

    t.run("install", "kinds", "-p", t.package("kinds", kinds(v1="ax")), "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    t.run("install", "shop", "-p", t.package("old", lv(group, "v1", a="1")))
    path = f"/apis/{group}/%s/namespaces/{t.ns}/lvs/o"
    t.kube.checked("PATCH", path % "v1" + "?fieldManager=ed", {"spec": {"x": "1"}}, "application/merge-patch+json")
    t.run("upgrade", "kinds", "-p", t.package("kinds", kinds(v1="ax", v2="axb")), "--wait")
    new = t.package("new", lv(group, "v2", a="1", b="2"))
    t.run("upgrade", "shop", "-p", new)
    live = t.kube.checked("GET", path % "v2")
    equal(live["spec"], {"a": "1", "b": "2", "x": "1"})
    equal(sorted((e["manager"], e["apiVersion"].split("/")[1], sorted(e["fieldsV1"]["f:spec"])) for e in live["metadata"]["managedFields"]),
          [("ed", "v2", ["f:x"]), ("mistctl", "v2", ["f:a", "f:b"])])
    contains(t.run("upgrade", "shop", "-p", new).out, "nothing was written")
    t.run("upgrade", "shop", "-p", t.package("less", lv(group, "v2", b="3")))
    equal(t.kube.checked("GET", path % "v2")["spec"], {"b": "3", "x": "1"})


@test
def a_default_that_an_owners_version_lacks_is_no_obstacle(t):
    group = f"{t.ns}.example.com"
    text = {"type": "string"}
    crd = definition(group, "lvs", "Lv")
    crd["spec"]["versions"] = [{"name": name, "served": True, "storage": name == "v2", "schema": {"openAPIV3Schema": {
        "type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}}}
        for name, fields in (("v1", {"a": text, "o": text}), ("v2", {"a": text, "o": text, "d": {**text, "default": "d"}}))]
    t.run("install", "kinds", "-p", t.package("kinds", crd), "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    t.run("install", "shop", "-p", t.package("old", lv(group, "v2", a="1")))
    t.kube.checked("PATCH", f"/apis/{group}/v1/namespaces/{t.ns}/lvs/o?fieldManager=team",
                   lv(group, "v1", o="theirs"), "application/apply-patch+yaml")
    t.run("upgrade", "shop", "-p", t.package("new", lv(group, "v2", a="2")))
    equal(t.kube.checked("GET", f"/apis/{group}/v2/namespaces/{t.ns}/lvs/o")["spec"], {"a": "2", "d": "d", "o": "theirs"})
    t.run("rollback", "shop", "0")
