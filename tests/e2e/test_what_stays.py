"""What a release must neither delete nor forget, however it is tied to what goes."""
import base64
import json
import pathlib
import time

from harness import check, config_map, contains, definition, equal, test, workload
from test_pruning import claim, namespace_object, retained

KEEP = {"mistletoe.dev/keep": "true"}


def owned_by(t, ns, owner, item):
    """`item` as somebody's, whose only owner is a ConfigMap."""
    uid = t.kube.get("ConfigMap", ns, owner)["metadata"]["uid"]
    item["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid}]
    return item


@test
def a_claim_of_another_release_keeps_the_namespace_and_its_owner(t):
    other = t.namespace("made", create=False)
    t.run("install", "first", "-p", t.package("first", namespace_object(other), config_map("owner", namespace=other)))
    data = owned_by(t, other, "owner", claim("data"))
    data["metadata"]["namespace"] = other
    t.run("install", "second", "-p", t.package("second", data))
    plan = t.run("uninstall", "first", "--dry-run", "--delete-namespaces")
    contains(plan.out, f"PersistentVolumeClaim {other}/data, which belongs to release {t.ns}/second")
    t.run("uninstall", "first", "--yes", "--delete-namespaces")
    for kind, name in (("PersistentVolumeClaim", "data"), ("ConfigMap", "owner")):
        check("deletionTimestamp" not in t.kube.get(kind, other, name)["metadata"], f"{kind} {name} stays")
    check("deletionTimestamp" not in t.kube.get("Namespace", None, other)["metadata"], "the namespace stays")


@test
def what_is_to_be_kept_keeps_the_only_object_that_owns_it(t):
    t.run("install", "shop", "-p", t.package("both", config_map("base"), config_map("owner")))
    kept = owned_by(t, t.ns, "owner", claim("data"))
    kept["metadata"]["annotations"] = KEEP
    t.kube.create("PersistentVolumeClaim", t.ns, kept)
    said = t.run("upgrade", "shop", "-p", t.package("base", config_map("base")))
    contains(said.err, "with it would go PersistentVolumeClaim", "mistletoe.dev/keep")
    equal(retained(t, "shop"), {"ConfigMap/owner"}, "retained")
    check("deletionTimestamp" not in t.kube.get("PersistentVolumeClaim", t.ns, "data")["metadata"], "the claim stays")


@test
def an_owner_goes_with_the_reference_to_it(t):
    """What is still wanted no longer names it, which is written before anything is deleted."""
    t.run("install", "shop", "-p", t.package("owner", config_map("owner")))
    child = owned_by(t, t.ns, "owner", config_map("child", {"a": "1"}))
    child["metadata"]["annotations"] = KEEP
    t.run("upgrade", "shop", "-p", t.package("both", config_map("owner"), child))
    free = config_map("child", {"a": "1"})
    free["metadata"]["annotations"] = KEEP
    t.run("upgrade", "shop", "-p", t.package("child", free))
    equal((t.owned("shop"), retained(t, "shop")), ({"ConfigMap/child"}, set()))
    time.sleep(3)  # the garbage collector has looked by then
    equal(t.kube.get("ConfigMap", t.ns, "child")["metadata"].get("ownerReferences"), None)


@test
def a_kind_that_others_use_by_now_outlives_the_install_that_made_it(t):
    group, plural = f"{t.ns}.example.com", "widgets"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"{plural}.{group}"))
    package = t.package("p", definition(group, plural, "Widget"), workload("Deployment", "never", "never-ready"))
    waiting = t.start("install", "shop", "-p", package, "--wait", "--timeout", "8s", "--rollback-on-failure")
    theirs = f"/apis/{group}/v1/namespaces/default/{plural}"
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", theirs)[0] == 200)
    t.kube.wait("somebody uses it", lambda: t.kube.request("POST", theirs, {
        "apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "precious"}})[0] in (201, 409))
    said = t.finish(waiting, code=1).err
    contains(said, "rolled back", "Widget default/precious", "--delete-crds")
    equal(t.kube.request("GET", f"{theirs}/precious")[0], 200, "what somebody made")
    check(t.kube.get("Deployment", t.ns, "never") is None, "the rest is undone")


@test
def objects_of_a_kind_that_is_not_served_for_now_are_not_forgotten(t):
    group, plural = f"{t.ns}.example.com", "gadgets"
    name = f"{plural}.{group}"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, name))
    t.run("install", "kinds", "-p", t.package("kinds", definition(group, plural, "Gadget")), "--wait")
    gadget = {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "one"}}
    t.run("install", "shop", "-p", t.package("shop", gadget, config_map("base")))

    def serve(on):
        versions = t.kube.get("CustomResourceDefinition", None, name)["spec"]["versions"]
        t.kube.patch("CustomResourceDefinition", None, name, {"spec": {"versions": [{**each, "served": on} for each in versions]}})
        t.kube.wait("it shows", lambda: (t.kube.request("GET", f"/apis/{group}/v1/{plural}")[0] == 200) == on)

    serve(False)
    contains(t.run("status", "shop").out, "serves no version of Gadget")
    t.refused("uninstall", "shop", "--yes", says=[f"{name} serves no version of Gadget", f"kubectl edit crd {name}"])
    less = t.package("less", config_map("base"))
    t.refused("upgrade", "shop", "-p", less, says=["serves no version of Gadget"])
    serve(True)
    t.run("recover", "shop")
    one = f"/apis/{group}/v1/namespaces/{t.ns}/{plural}/one"
    equal(t.kube.request("GET", one)[0], 404, "it goes with the upgrade that is finished")

    # Where the definition goes too, so do its objects.
    t.run("upgrade", "kinds", "-p", t.package("kinds", definition(group, plural, "Gadget"), gadget))
    serve(False)
    t.refused("uninstall", "kinds", "--yes", says=["serves no version of Gadget", "--delete-crds"])
    t.run("uninstall", "kinds", "--yes", "--delete-crds")
    t.kube.wait("the definition is gone", lambda: t.kube.get("CustomResourceDefinition", None, name) is None)


@test
def what_a_finalizer_holds_is_named_until_it_is_gone(t):
    t.run("install", "shop", "-p", t.package("both", config_map("base"), config_map("held", finalizers=["example.com/hold"])))
    less = t.package("less", config_map("base"))
    t.cleanup(lambda: t.kube.request("PATCH", t.kube.path("ConfigMap", t.ns, "held"), {"metadata": {"finalizers": None}},
                                     "application/merge-patch+json"))
    said = t.run("upgrade", "shop", "-p", less)
    contains(said.err, f"ConfigMap {t.ns}/held stays in the record until it is gone", "example.com/hold")
    equal(retained(t, "shop"), {"ConfigMap/held"}, "retained")
    equal(t.run("upgrade", "shop", "-p", less, "-o", "json").json["changed"], False, "and nothing is new about it")
    said = t.run("uninstall", "shop", "--yes")
    contains(said.out, f"ConfigMap {t.ns}/held is not gone yet")


@test
def a_permission_to_take_fields_is_for_one_run(t):
    first = t.package("p", workload("Deployment", "web", replicas=2))
    t.run("install", "shop", "-p", first, "--force-conflicts")
    other = workload("Deployment", "web")
    del other["spec"]["replicas"]
    t.run("upgrade", "shop", "-p", t.package("p", other))
    t.kube.apply("Deployment", t.ns, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                                      "spec": {"replicas": 8}}, manager="autoscaler")
    t.refused("rollback", "shop", "0", says=["autoscaler", ".spec.replicas", "--force-conflicts"])
    equal(t.kube.get("Deployment", t.ns, "web")["spec"]["replicas"], 8, "replicas")
    t.run("rollback", "shop", "0", "--force-conflicts")
    equal(t.kube.get("Deployment", t.ns, "web")["spec"]["replicas"], 2, "replicas")


@test
def what_others_write_to_the_record_is_no_sign_of_a_dead_holder(t):
    t.run("install", "shop", "-p", t.package("p", config_map("one")))
    anchor = "mistletoe.shop"
    lock = {"holder": "somebody@elsewhere", "token": "t", "operation": "upgrade", "acquired": "2999-01-01T00:00:00Z",
            "renewed": "2999-01-01T00:00:00.000000Z", "termMs": 2000}
    t.kube.patch("Secret", t.ns, anchor, {"metadata": {"annotations": {"mistletoe.dev/lock": json.dumps(lock)}}})
    taking = t.start("upgrade", "shop", "-p", t.package("p", config_map("two")))
    for number in range(40):
        if taking.poll() is not None:
            break
        t.kube.patch("Secret", t.ns, anchor, {"metadata": {"annotations": {"example.com/round": str(number)}}})
        time.sleep(0.7)
    contains(t.finish(taking, code=0).err, "taking over the lock")
    check(t.kube.get("ConfigMap", t.ns, "two"), "it was written")


def guard(t, **members):
    """A webhook for the ConfigMaps of the test's namespace, behind which nobody answers."""
    nobody = base64.b64encode(pathlib.Path(t.kube.ca).read_bytes()).decode()
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": f"{t.ns}-guard"}, "webhooks": [{
                "name": f"guard.{t.ns}.example.com", "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 1,
                "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/none", "caBundle": nobody},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}],
                **members}]}


@test
def a_webhook_that_is_down_is_named_with_what_to_do(t):
    name = f"{t.ns}-guard"
    t.cleanup(lambda: t.kube.delete("ValidatingWebhookConfiguration", None, name))
    t.kube.create("ValidatingWebhookConfiguration", None, guard(t))
    t.refused("install", "shop", "-p", t.package("p", config_map("one")),
              says=["failed calling webhook", f"kubectl delete validatingwebhookconfiguration {name}"])


@test
def what_a_webhook_that_is_down_keeps_from_being_written_is_known_before(t):
    one, two = (config_map(name, {"a": "1"}) for name in ("one", "two"))
    t.run("install", "shop", "-p", t.package("p", one, two, workload("Deployment", "web")))
    name = f"{t.ns}-guard"
    t.cleanup(lambda: t.kube.delete("ValidatingWebhookConfiguration", None, name))
    t.kube.create("ValidatingWebhookConfiguration", None, guard(t))
    t.kube.wait("it refuses", lambda: t.kube.request(
        "POST", f"/api/v1/namespaces/{t.ns}/configmaps?dryRun=All", config_map("other"))[0] == 500)
    mark = t.mark()
    t.refused("upgrade", "shop", "-p", t.package("q", config_map("one", {"a": "2"}), two, workload("Deployment", "web", replicas=2)),
              says=["can't be written now", "failed calling webhook", f"kubectl delete validatingwebhookconfiguration {name}"])
    equal([r for r in t.requests(mark) if r.writes], [], "writes")
    # One that the upgrade may repair is tried: what answers for it is in a namespace that is written to.
    t.kube.patch("ValidatingWebhookConfiguration", None, name, {"webhooks": [{
        **guard(t)["webhooks"][0], "clientConfig": {"service": {"name": "guard", "namespace": t.ns}}}]})
    t.kube.wait("it still refuses", lambda: t.kube.request(
        "POST", f"/api/v1/namespaces/{t.ns}/configmaps?dryRun=All", config_map("other"))[0] == 500)
    t.refused("upgrade", "shop", "-p", t.package("q", config_map("one", {"a": "2"}), two, workload("Deployment", "web", replicas=2)),
              says=["failed calling webhook"])
    equal(t.kube.get("Deployment", t.ns, "web")["spec"]["replicas"], 2)


@test
def a_release_gets_past_its_own_webhook_that_is_down(t):
    """By an upgrade that has it refuse less, whichever way: that is written before everything else."""
    t.run("install", "shop", "-p", t.package("p", guard(t), config_map("one")))
    t.kube.wait("it refuses", lambda: t.kube.request(
        "POST", f"/api/v1/namespaces/{t.ns}/configmaps?dryRun=All", config_map("other"))[0] == 500)
    t.refused("upgrade", "shop", "-p", t.package("p", guard(t), config_map("one", {"a": "1"})),
              says=["failed calling webhook"])
    away = {"matchLabels": {"kubernetes.io/metadata.name": t.ns, "checked": "yes"}}
    for number, less in enumerate(({"failurePolicy": "Ignore"}, {"namespaceSelector": away})):
        t.run("upgrade", "shop", "-p", t.package("p", guard(t, **less), config_map("one", {"a": f"less-{number}"})))
        equal(t.kube.get("ConfigMap", t.ns, "one")["data"], {"a": f"less-{number}"})
        t.run("upgrade", "shop", "-p", t.package("p", guard(t), config_map("one", {"a": f"less-{number}"})))
    t.kube.wait("it refuses again", lambda: t.kube.request(
        "POST", f"/api/v1/namespaces/{t.ns}/configmaps?dryRun=All", config_map("other"))[0] == 500)
    t.run("uninstall", "shop", "--yes")
    equal(t.owned("shop"), set())


@test
def an_uninstall_that_a_webhook_keeps_from_going_through_deletes_nothing(t):
    t.run("install", "shop", "-p", t.package("p", workload("Deployment", "web"), config_map("one")))
    name = f"{t.ns}-guard"
    t.cleanup(lambda: t.kube.delete("ValidatingWebhookConfiguration", None, name))
    t.kube.create("ValidatingWebhookConfiguration", None, guard(t))
    t.kube.wait("it refuses", lambda: t.kube.request(
        "POST", f"/api/v1/namespaces/{t.ns}/configmaps?dryRun=All", config_map("other"))[0] == 500)
    mark = t.mark()
    t.refused("uninstall", "shop", "--yes",
              says=["can't delete it now", "failed calling webhook", f"kubectl delete validatingwebhookconfiguration {name}"])
    equal([r for r in t.requests(mark) if r.writes and "dryRun" not in r.uri], [], "writes")


@test(waits=True)
def a_volume_stays_with_the_claim_that_is_bound_to_it(t):
    name = f"{t.ns}-disk"
    t.cleanup(lambda: t.kube.delete("/api/v1/persistentvolumes", None, name))
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": name,
        "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/none"}}}
    data = claim("data")
    data["spec"] = {"accessModes": ["ReadWriteOnce"], "storageClassName": name, "volumeName": name,
                    "resources": {"requests": {"storage": "1Gi"}}}

    def there():
        return t.kube.checked("GET", f"/api/v1/persistentvolumes/{name}")
    t.run("install", "db", "-p", t.package("both", volume, data, config_map("a")))
    t.kube.wait("it is bound", lambda: there().get("status", {}).get("phase") == "Bound")
    contains(t.run("upgrade", "db", "-p", t.package("none", config_map("a")), "--dry-run").out, "which stays, is bound to it")
    t.run("upgrade", "db", "-p", t.package("none", config_map("a")))
    volume["spec"]["hostPath"]["path"] = "/other"
    t.refused("upgrade", "db", "-p", t.package("other", volume, data, config_map("a")), "--replace", says=["is bound to it"])
    contains(t.run("uninstall", "db", "--yes").out, "retained")
    check("deletionTimestamp" not in there()["metadata"], "the volume is being deleted under its claim")


@test(waits=True)
def claims_that_go_with_their_stateful_set_are_named(t):
    db = workload("StatefulSet", "db")
    db["spec"]["persistentVolumeClaimRetentionPolicy"] = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    db["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]
    t.run("install", "shop", "-p", t.package("p", db))

    def owned():
        data = t.kube.get("PersistentVolumeClaim", t.ns, "data-db-0")
        return data and data["metadata"].get("ownerReferences")
    t.kube.wait("its claim is its own", owned)
    contains(t.run("uninstall", "shop", "--dry-run").out, "with it go, since it owns them: PersistentVolumeClaim", "data-db-0")
    # Replaced by one that selects others, it is deleted with all that it owns.
    labels = {"app": "other"}
    db["spec"]["selector"]["matchLabels"] = labels
    db["spec"]["template"]["metadata"]["labels"] = labels
    contains(t.run("upgrade", "shop", "-p", t.package("other", db), "--replace", "--dry-run").out,
             "with it go, since it owns them: PersistentVolumeClaim", "data-db-0")
