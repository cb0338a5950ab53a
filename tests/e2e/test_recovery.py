"""Back, on and away: rollback, recover, --rollback-on-failure and history, as a user meets them."""
from harness import check, config_map, contains, definition, equal, refused_when_written, test
from test_pruning import claim, retained


def data(t):
    return {item["metadata"]["name"]: item["data"]["key"] for item in t.kube.list("ConfigMap", t.ns)
            if item["metadata"]["name"] != "kube-root-ca.crt"}


@test
def rollback_restores_from_the_record_alone(t):
    crd, kind = "goods.recovery.example.com", "/apis/recovery.example.com/v1/goods"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd))

    def text(words):
        return definition("recovery.example.com", "goods", "Good", annotations={"words": words})

    good = {"apiVersion": "recovery.example.com/v1", "kind": "Good", "metadata": {"name": "one"}}
    package = t.package("shop", text("first"), good, config_map("shared", {"key": "first"}), config_map("only-first"))
    t.run("install", "shop", "-p", package)
    t.package("shop", text("second"), config_map("shared", {"key": "second"}), claim("later"))
    t.run("upgrade", "shop")
    check(t.kube.get(kind, t.ns, "one") is None, "what is not wanted goes")
    t.package("shop", "this: is no package any more")
    plan = t.run("rollback", "shop", "--dry-run", "-o", "json").json
    equal((plan["restores"], plan["dryRun"], data(t)["shared"]), (0, True, "second"), "a dry run")
    contains(t.run("rollback", "shop").out, "is rolled back to v0, at revision 2")
    equal(data(t), {"shared": "first", "only-first": "only-first"}, "objects")
    check(t.kube.get(kind, t.ns, "one"), "the custom resource is back")
    equal(t.kube.get("CustomResourceDefinition", None, crd)["metadata"]["annotations"]["words"], "first", "definition")
    equal(retained(t, "shop"), {"PersistentVolumeClaim/later"}, "what holds data stays")
    history = t.run("history", "shop", "-o", "json").json
    equal([(r["action"], r["status"], r["description"]) for r in history["revisions"]],
          [("install", "superseded", None), ("upgrade", "superseded", None), ("rollback", "deployed", "back to v0")],
          "history")
    t.refused("rollback", "shop", "7", says=["no revision v7", "v2", "v1", "v0"])
    t.run("uninstall", "shop", "--yes", "--delete-pvcs", "--delete-crds")


@test
def a_failing_upgrade_rolls_itself_back(t):
    package = t.package("shop", config_map("shared", {"key": "first"}), config_map("only-first"))
    t.run("install", "shop", "-p", package)
    t.package("shop", config_map("shared", {"key": "second"}), config_map("only-second"), refused_when_written(t, "bad", "ConfigMap/shared"))
    outcome = t.refused("upgrade", "shop", "--rollback-on-failure", says=["refused when it was written", "rolled back to v0, as v2"])
    check(outcome.err.index("refused when it was written") < outcome.err.rindex("rolled back to"), "the first cause comes first:", outcome)
    equal(data(t), {"shared": "first", "only-first": "only-first"}, "objects")
    status = t.run("status", "shop", "-o", "json").json
    equal((status["status"], status["deployedRevision"], status["unfinished"]), ("deployed", 2, []), "status")
    equal([r["status"] for r in t.run("history", "shop", "-o", "json").json["revisions"]],
          ["superseded", "failed", "deployed"], "history")
    # Without the flag it stays as it is, until somebody decides.
    t.refused("upgrade", "shop", says=["refused when it was written"])
    equal(data(t)["shared"], "second", "what was written")
    contains(t.run("recover", "shop", "--undo").out, "v3 (upgrade) failed", "is back to v2, at revision 4")
    equal(data(t), {"shared": "first", "only-first": "only-first"}, "objects")
    contains(t.run("recover", "shop").out, "nothing to recover")


@test
def going_back_leaves_what_the_server_refuses_to_change_back(t):
    grows = f"grows-{t.ns}"
    t.kube.checked("POST", "/apis/storage.k8s.io/v1/storageclasses",
                   {"metadata": {"name": grows}, "provisioner": "devcluster.mistletoe.dev/volume",
                    "allowVolumeExpansion": True})
    t.cleanup(lambda: t.kube.checked("DELETE", f"/apis/storage.k8s.io/v1/storageclasses/{grows}"))

    def disk(size):
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"},
                "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": grows,
                         "resources": {"requests": {"storage": size}}}}

    def asked():
        return t.kube.get("PersistentVolumeClaim", t.ns, "disk")["spec"]["resources"]["requests"]["storage"]

    fixed = config_map("fixed", {"key": "first"})
    package = t.package("shop", disk("1Gi"), fixed, config_map("shared", {"key": "first"}))
    t.run("install", "shop", "-p", package, "--wait")
    t.package("shop", disk("2Gi"), {**fixed, "immutable": True}, config_map("shared", {"key": "second"}), refused_when_written(t, "bad", "ConfigMap/shared"))
    outcome = t.refused("upgrade", "shop", "--rollback-on-failure",
                        says=["refused when it was written", "rolled back to v0, as v2, but for 2 objects", "PersistentVolumeClaim", "ConfigMap"])
    contains(outcome.err, "disk is left as it is: it is refused by the server", "status.capacity",
             "fixed is left as it is: it can't change .immutable in place")
    equal((data(t)["shared"], asked()), ("first", "2Gi"), "what could be undone is")
    status = t.run("status", "shop", "-o", "json").json
    equal((status["status"], status["deployedRevision"], status["unfinished"]), ("deployed", 2, []), "status")
    equal({o["name"] for o in status["objects"] if "left as it was" in (o["detail"] or "")}, {"disk", "fixed"}, "status")
    contains(t.run("history", "shop").out, "left as it was: PersistentVolumeClaim")
    release, = t.run("drift", "shop", "-o", "json", "--exit-code", code=3).json["releases"]
    equal({o["name"]: o["drift"] for o in release["objects"]}, {"disk": "changed", "fixed": "changed"}, "drift")
    contains(t.run("drift", "shop", "--fix", code=3).out, "2 of 3 objects drifted from v2: 2 left as they are")

    # By hand; a plan shows it first.
    t.package("shop", disk("2Gi"), fixed, config_map("shared", {"key": "third"}))
    t.run("upgrade", "shop", "--replace")
    plan = t.run("rollback", "shop", "0", "--dry-run", "-o", "json", code=3).json
    equal({o["name"]: o["action"] for o in plan["objects"]}, {"disk": "leave", "fixed": "unchanged", "shared": "update"})
    contains(t.run("rollback", "shop", "0", "--dry-run", code=3).out, "left as it is: ", "1 to leave as it is")
    contains(t.run("rollback", "shop", "0", code=3).out, "is rolled back to v0, but for 1 object, at revision 4")
    equal((data(t)["shared"], asked()), ("first", "2Gi"), "what could be changed back is")
    t.kube.patch("ConfigMap", t.ns, "shared", {"data": {"key": "edited"}})
    contains(t.run("drift", "shop", "--fix", code=3).out, "2 of 3 objects drifted from v4: 1 fixed by v5, 1 left as it is")
    equal(data(t)["shared"], "first", "drift --fix")
    t.run("uninstall", "shop", "--yes", "--delete-pvcs")


@test
def going_back_leaves_objects_of_a_version_that_is_not_served_any_more(t):
    group = f"{t.ns}.example.com"

    def package(version, *versions):
        crd = definition(group, "lvs", "Lv")
        one = crd["spec"]["versions"][0]
        crd["spec"]["versions"] = [{**one, "name": v, "served": v == version, "storage": v == version} for v in versions]
        body = {"apiVersion": f"{group}/{version}", "kind": "Lv", "metadata": {"name": "o"}, "spec": {"a": version}}
        return t.package("shop", crd, body, config_map("shared", {"key": version}))

    t.run("install", "shop", "-p", package("v1alpha1", "v1alpha1"), "--wait")
    t.cleanup(lambda: t.run("uninstall", "shop", "--yes", "--delete-crds", code=None))
    t.run("upgrade", "shop", "-p", package("v1", "v1alpha1", "v1"), "--wait")
    contains(t.run("rollback", "shop", "0", "--dry-run", code=3).out, f"{group}/v1alpha1 is not served", "2 to leave as it is")
    contains(t.run("rollback", "shop", "0", code=3).out, "but for 2 objects")
    equal(t.kube.checked("GET", f"/apis/{group}/v1/namespaces/{t.ns}/lvs/o")["spec"], {"a": "v1"})
    equal(data(t)["shared"], "v1alpha1", "what could be changed back is")
    contains(t.run("status", "shop").out, "is not served")
    t.run("upgrade", "shop", "-p", package("v1", "v1alpha1", "v1"))
    contains(t.run("upgrade", "shop", "-p", package("v1", "v1alpha1", "v1")).out, "nothing was written")


@test
def a_failing_first_install_leaves_nothing(t):
    package = t.package("shop", config_map("shared"), claim("data"), refused_when_written(t, "bad", "ConfigMap/shared"))
    t.refused("install", "shop", "-p", package, "--rollback-on-failure", says=["refused when it was written", "rolled back: "])
    t.kube.wait("the claim is gone", lambda: t.kube.get("PersistentVolumeClaim", t.ns, "data") is None)
    equal((data(t), t.record("shop")), ({}, []), "what is left")
    t.refused("install", "shop", "-p", package, says=["refused when it was written"])
    t.refused("recover", "shop", "--undo", code=2, says=["--yes"])
    contains(t.run("recover", "shop", "--undo", "--yes").out, "is removed", "PersistentVolumeClaim", "--delete-pvcs")
    equal((data(t), t.record("shop")), ({}, []), "what is left")


@test
def a_failing_install_leaves_what_an_earlier_one_of_that_name_left(t):
    """The claim of an uninstalled release carries the mark of the next one too, and its data is years old."""
    package = t.package("shop", config_map("shared"), claim("data"))
    t.run("install", "shop", "-p", package)
    t.run("uninstall", "shop", "--yes", "--wait")
    uid = t.kube.get("PersistentVolumeClaim", t.ns, "data")["metadata"]["uid"]
    t.package("shop", config_map("shared"), claim("data"), claim("fresh"), refused_when_written(t, "bad", "ConfigMap/shared"))
    t.refused("install", "shop", "-p", package, "--rollback-on-failure",
              says=["refused when it was written", "rolled back: ", ", 1 retained"])
    t.kube.wait("the new claim is gone", lambda: t.kube.get("PersistentVolumeClaim", t.ns, "fresh") is None)
    left = t.kube.get("PersistentVolumeClaim", t.ns, "data")["metadata"]
    equal((left["uid"], left.get("deletionTimestamp")), (uid, None), "the claim that was there")
    equal((data(t), t.record("shop")), ({}, []), "what is left")
    # Taken up by an install that ends, it is the release's, and goes when that is asked for.
    t.package("shop", config_map("shared"), claim("data"))
    t.run("install", "shop", "-p", package)
    t.run("uninstall", "shop", "--yes", "--delete-pvcs")
    t.kube.wait("the claim is gone", lambda: t.kube.get("PersistentVolumeClaim", t.ns, "data") is None)
