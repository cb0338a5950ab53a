"""Records that come back from a backup with other uids, that were damaged, or that are gone."""

from harness import check, config_map, contains, equal, test

VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


def export(t, release):
    secrets = t.kube.list("Secret", t.ns, f"mistletoe.dev/release-name={release}")
    for item in secrets:
        for field in VOLATILE:
            item["metadata"].pop(field, None)
    return secrets


def tie(t, release):
    """Gives revisions the ownerReference that earlier versions of Mistletoe gave them."""
    anchor = t.kube.get("Secret", t.ns, f"mistletoe.{release}")
    for name in t.record(release):
        if name != f"mistletoe.{release}":
            t.kube.patch("Secret", t.ns, name, {"metadata": {"ownerReferences": [
                {"apiVersion": "v1", "kind": "Secret", "name": anchor["metadata"]["name"], "uid": anchor["metadata"]["uid"]}]}})


def restore(t, release, secrets):
    for name in t.record(release):
        t.kube.delete("Secret", t.ns, name)
    t.kube.wait("the record is gone", lambda: not t.record(release))
    for item in secrets:
        t.kube.create("Secret", t.ns, item)


def collected(t):
    """When the garbage collector has looked at all that was made before: it deletes what a dead owner has."""
    dead = config_map("canary", ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody",
                                                  "uid": "00000000-0000-0000-0000-000000000000"}])
    t.kube.create("ConfigMap", t.ns, dead)
    t.kube.wait("the garbage collector is at work", lambda: t.kube.get("ConfigMap", t.ns, "canary") is None)


@test
def a_record_that_is_restored_with_other_uids_stays_and_works(t):
    package = t.package("p", config_map("one"), config_map("two"))
    t.run("install", "web", "-p", package)
    # As an earlier version left it: the first write of this one makes it safe to restore.
    tie(t, "web")
    t.run("upgrade", "web", "-p", t.package("p2", config_map("one"), config_map("three")))
    t.run("upgrade", "web", "-p", package)
    saved = export(t, "web")
    check(all("ownerReferences" not in item["metadata"] for item in saved), "a restored record would be collected")
    restore(t, "web", saved)
    collected(t)
    equal(t.record("web"), sorted(item["metadata"]["name"] for item in saved), "the record after a restore")
    status = t.run("status", "web", "-o", "json").json
    equal((status["status"], status["revision"]), ("deployed", 2))
    equal(len(t.run("history", "web", "-o", "json").json["revisions"]), 3)
    contains(t.run("list").out, "web")
    t.run("drift", "web")
    t.run("rollback", "web", "1")
    equal(t.owned("web"), {"ConfigMap/one", "ConfigMap/three"})
    t.run("upgrade", "web", "-p", package)
    contains(t.run("recover", "web").out, "nothing unfinished")
    t.run("uninstall", "web", "--yes")
    equal((t.owned("web"), t.record("web")), (set(), []), "after uninstalling")


@test
def what_the_garbage_collector_took_of_a_restored_record_is_recorded_anew_from_the_labels(t):
    t.run("install", "web", "-p", t.package("p", config_map("one"), config_map("two")))
    tie(t, "web")
    saved = export(t, "web")
    restore(t, "web", saved)
    t.kube.wait("its revision was collected", lambda: t.record("web") == ["mistletoe.web"])
    t.refused("upgrade", "web", "-p", t.package("p", config_map("one")), says=["mistletoe.web.v0", "--from-labels"])
    equal({o["name"] for o in t.run("status", "web", "-o", "json").json["objects"]}, {"one", "two"})
    report = t.run("recover", "web", "--from-labels", "--yes", "-o", "json").json
    equal((report["outcome"], report["record"]["objects"]), ("rebuilt", 2))
    t.run("upgrade", "web", "-p", t.package("p", config_map("one")))
    equal(t.owned("web"), {"ConfigMap/one"})
    t.run("uninstall", "web", "--yes")
    equal((t.owned("web"), t.record("web")), (set(), []))


@test
def an_anchor_without_its_head_loses_nothing(t):
    t.run("install", "web", "-p", t.package("p", config_map("one"), config_map("two")))
    t.kube.patch("Secret", t.ns, "mistletoe.web", {"metadata": {"annotations": {"mistletoe.dev/head": None}}})
    said = t.run("status", "web")
    contains(said.err, "mistletoe.dev/head")
    contains(said.out, "one", "two")
    t.run("uninstall", "web", "--yes")
    equal((t.owned("web"), t.record("web")), (set(), []))


@test
def a_record_that_is_gone_is_made_anew_from_the_objects(t):
    t.run("install", "web", "-p", t.package("p", config_map("one"), config_map("two")))
    for name in t.record("web"):
        t.kube.delete("Secret", t.ns, name)
    t.refused("uninstall", "web", "--yes", says=["does not exist"])
    asked = t.refused("recover", "web", "--from-labels", code=2, says=["--yes"])
    check(t.record("web") == [], asked)
    t.run("recover", "web", "--from-labels", "--yes")
    equal(t.run("drift", "web", code=None).code, 0, "what was recorded is what is there")
    t.run("upgrade", "web", "-p", t.package("p", config_map("one")))
    equal(t.owned("web"), {"ConfigMap/one"})
    t.run("uninstall", "web", "--yes")
    equal((t.owned("web"), t.record("web")), (set(), []))


def restore_objects(t, apply):
    """All that the release owns, deleted and made again by somebody else, with what others had set in it."""
    objects = []
    for kind in ("ConfigMap", "Deployment", "PersistentVolumeClaim", "Service"):
        for listed in t.kube.list(kind, t.ns, "applyset.kubernetes.io/part-of"):
            item = t.kube.get(kind, t.ns, listed["metadata"]["name"])
            for field in VOLATILE:
                item["metadata"].pop(field, None)
            item.pop("status", None)
            if kind == "PersistentVolumeClaim":
                item["spec"]["volumeName"] = "pv-of-the-backup"
            objects.append(item)
            t.kube.delete(kind, t.ns, item["metadata"]["name"])
    t.kube.wait("they are gone", lambda: not any(
        t.kube.get(item["kind"], t.ns, item["metadata"]["name"]) for item in objects))
    for item in objects:
        apply(item)


def shop(version, *, debug):
    """`debug`: what a later version drops."""
    pod = {"containers": [{"name": "main", "image": f"example.com/shop:{version}"}]}
    if debug:
        pod["hostNetwork"] = True
        pod["containers"].append({"name": "debug", "image": "example.com/debug:1",
                                  "securityContext": {"privileged": True}})
    ports = [{"name": "http", "port": 80}, *([{"name": "debug", "port": 81}] if debug else [])]
    return [
        config_map("settings", {"level": version, **({"debug": "yes"} if debug else {})}),
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"},
         "spec": {"selector": {"matchLabels": {"app": "shop"}},
                  "template": {"metadata": {"labels": {"app": "shop"}}, "spec": pod}}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"},
         "spec": {"selector": {"app": "shop"}, "ports": ports}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]


def check_restored(t, apply, manager):
    t.run("install", "web", "-p", t.package("v0", *shop("one", debug=True)))
    # What others have set stays theirs.
    t.kube.patch("ConfigMap", t.ns, "settings", {"data": {"foreign": "kept"}})
    restore_objects(t, apply)
    contains(t.run("diff", "web", "-p", t.package("v1", *shop("two", debug=False))).out, "debug", "hostNetwork")
    upgraded = t.run("upgrade", "web", "-p", t.package("v1", *shop("two", debug=False)), "--explain")
    contains(upgraded.err + upgraded.out, f"it was recreated outside of Mistletoe, with the fields of {manager}")
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"level": "two", "foreign": "kept"})
    pod = t.kube.get("Deployment", t.ns, "shop")["spec"]["template"]["spec"]
    equal(([each["name"] for each in pod["containers"]], pod.get("hostNetwork")), (["main"], None))
    equal([port["name"] for port in t.kube.get("Service", t.ns, "shop")["spec"]["ports"]], ["http"])
    equal(t.kube.get("PersistentVolumeClaim", t.ns, "data")["spec"]["volumeName"], "pv-of-the-backup")
    contains(t.run("upgrade", "web", "-p", t.package("v1", *shop("two", debug=False))).out, "as wanted")
    t.run("drift", "web")
    t.run("rollback", "web", "0")
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"level": "one", "debug": "yes", "foreign": "kept"})
    t.run("uninstall", "web", "--yes", "--delete-pvcs")
    equal(t.owned("web"), set())


@test
def what_was_ours_in_objects_whose_managers_were_cleared_is_ours_at_once(t):
    t.run("install", "web", "-p", t.package("v0", *shop("one", debug=True)))
    t.kube.patch("ConfigMap", t.ns, "settings", {"data": {"foreign": "kept"}})
    kinds = {"ConfigMap": "settings", "Deployment": "shop", "Service": "shop", "PersistentVolumeClaim": "data"}

    def clear():
        for kind, name in kinds.items():
            t.kube.patch(kind, t.ns, name, {"metadata": {"managedFields": [{}]}})
            check("managedFields" not in t.kube.get(kind, t.ns, name)["metadata"], f"{kind} {name} has managers")
    clear()
    two = t.package("v1", *shop("two", debug=False))
    upgraded = t.run("upgrade", "web", "-p", two, "--explain")
    contains(upgraded.err + upgraded.out, "its managed fields were cleared outside of Mistletoe")
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"level": "two", "foreign": "kept"})
    pod = t.kube.get("Deployment", t.ns, "shop")["spec"]["template"]["spec"]
    equal(([each["name"] for each in pod["containers"]], pod.get("hostNetwork")), (["main"], None))
    equal([port["name"] for port in t.kube.get("Service", t.ns, "shop")["spec"]["ports"]], ["http"])
    contains(t.run("upgrade", "web", "-p", two).out, "as wanted")
    clear()
    t.run("upgrade", "web", "-p", two)
    contains(t.run("upgrade", "web", "-p", two).out, "as wanted")
    t.run("rollback", "web", "0")
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"level": "one", "debug": "yes", "foreign": "kept"})
    t.run("uninstall", "web", "--yes", "--delete-pvcs")
    equal(t.owned("web"), set())


@test
def what_was_ours_in_objects_that_were_restored_is_ours_again(t):
    check_restored(t, lambda item: t.kube.create(item["kind"], t.ns, item, manager="velero-server"), "velero-server")


@test
def what_was_ours_in_objects_that_were_applied_from_a_backup_is_ours_again(t):
    check_restored(t, lambda item: t.kube.apply(item["kind"], t.ns, item, manager="kubectl"), "kubectl")


@test
def a_restore_that_was_upgraded_over_by_the_same_package_settles(t):
    package = t.package("v0", *shop("one", debug=True))
    t.run("install", "web", "-p", package)
    restore_objects(t, lambda item: t.kube.create(item["kind"], t.ns, item, manager="velero-server"))
    t.run("upgrade", "web", "-p", package)
    contains(t.run("upgrade", "web", "-p", package).out, "as wanted")
    t.run("upgrade", "web", "-p", t.package("v1", *shop("one", debug=False)))
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"level": "one"})
