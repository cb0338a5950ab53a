"""Objects that had another manager, or have another name: adopting them, and one object under two API groups."""
import json

from harness import check, config_map, contains, equal, refused_when_written, test, workload
from test_refusals import html_404, through

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def made_by(t, manager, body, query=""):
    """As `manager` makes it."""
    kind = body["kind"]
    t.kube.checked("POST", t.kube.path(kind, t.ns) + f"?fieldManager={manager}{query}", body)


def with_sidecar(name):
    body = workload("Deployment", name)
    body["spec"]["template"]["spec"]["containers"].append(
        {"name": "evil", "image": "example.com/evil:1", "securityContext": {"privileged": True}})
    return body


def managers(t, kind, name):
    entries = t.kube.get(kind, t.ns, name)["metadata"]["managedFields"]
    return sorted(f"{e['manager']} {e['operation']}" for e in entries if not e.get("subresource"))


def containers(t, name):
    return [c["name"] for c in t.kube.get("Deployment", t.ns, name)["spec"]["template"]["spec"]["containers"]]


@test
def adopting_takes_the_fields_of_helm_and_kubectl(t):
    for manager in ("helm", "kubectl-client-side-apply", "kubectl-create"):
        name = f"by-{manager}"
        body = with_sidecar(name)
        body["metadata"]["annotations"] = {LAST_APPLIED: "{}"}
        made_by(t, manager, body)
        package = t.package("p", workload("Deployment", name))
        plan = t.run("install", name, "-p", package, "--adopt", "--dry-run", "--explain")
        contains(plan.err + plan.out, f"with the fields of {manager}",
                 ".spec.template.spec.containers[name=evil]")
        check("terminationMessagePath" not in plan.err + plan.out, "defaults are no removals:", plan)
        t.run("install", name, "-p", package, "--adopt")
        equal(containers(t, name), ["main"])
        check(LAST_APPLIED not in t.kube.get("Deployment", t.ns, name)["metadata"].get("annotations", {}), "it stays")
        check(not any(m.startswith(manager) for m in managers(t, "Deployment", name)), managers(t, "Deployment", name))
        mark = t.mark()
        contains(t.run("upgrade", name, "-p", package).out, "as wanted")
        equal([r for r in t.requests(mark) if r.writes], [], "writes")


@test
def what_helm_made_is_named_with_the_way_out(t):
    made_by(t, "helm", config_map("cfg", {"a": "1"}, annotations={
        "meta.helm.sh/release-name": "old shop", "meta.helm.sh/release-namespace": t.ns}))
    t.refused("install", "shop", "-p", t.package("p", config_map("cfg", {"a": "1"})), says=[
        f"belongs to the Helm release {t.ns}/old shop", "--adopt", f"kubectl delete secret -n {t.ns} -l 'owner=helm,name=old shop'"])


@test
def adopting_the_same_restarts_nothing(t):
    made_by(t, "helm", workload("Deployment", "web"))
    t.kube.wait("it is observed", lambda: t.kube.get("Deployment", t.ns, "web").get("status", {}).get("observedGeneration"))
    before = t.kube.get("Deployment", t.ns, "web")
    t.kube.checked("PATCH", t.kube.path("Deployment", t.ns, "web") + "/scale?fieldManager=scaler",
                   {"spec": {"replicas": 3}}, "application/merge-patch+json")
    body = workload("Deployment", "web")
    del body["spec"]["replicas"]
    t.run("install", "shop", "-p", t.package("p", body), "--adopt")
    after = t.kube.get("Deployment", t.ns, "web")
    equal(after["spec"]["template"], before["spec"]["template"])
    equal(after["spec"]["replicas"], 3, "what was scaled is the scaler's")


@test
def what_the_hooks_of_a_chart_made_is_adopted_and_given_back(t):
    hook = {"annotations": {"helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": "before-hook-creation"}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", **hook},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}

    def key(value):
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", **hook}, "data": {"key": value}}

    def uids():
        return [t.kube.get(kind, t.ns, name)["metadata"]["uid"] for kind, name in (("PersistentVolumeClaim", "data"), ("Secret", "key"))]
    made_by(t, "helm", claim)
    made_by(t, "helm", key("b2xk"))
    before = uids()
    # The API server refuses it only when it is written: what comes before it is adopted by then.
    broken = refused_when_written(t, "broken")
    templates = {"templates/all.yaml": "\n---\n".join(json.dumps(each) for each in (claim, key("bmV3"), broken))}
    chart = t.files("chart", {"Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n", **templates})
    t.refused("install", "shop", "-p", chart, "--adopt", code=None)
    equal(uids(), before, "nothing was recreated")
    equal(t.kube.get("Secret", t.ns, "key")["data"]["key"], "bmV3")
    t.run("recover", "shop", "--undo", "--yes")
    equal(uids(), before, "nor by undoing it")
    equal(t.kube.get("Secret", t.ns, "key")["data"]["key"], "b2xk")


@test
def an_event_that_moves_to_the_other_group_stays(t):
    def event(version, **more):
        return {"apiVersion": version, "kind": "Event", "metadata": {"name": "started"}, **more}
    shared = {"eventTime": "2026-01-02T03:04:05.000000Z", "reportingInstance": "i", "action": "Start",
              "reason": "Started", "type": "Normal"}
    regarding = {"kind": "ConfigMap", "name": "x", "namespace": t.ns}
    old = event("v1", involvedObject=regarding, message="m", reportingComponent="example.com/c", **shared)
    new = event("events.k8s.io/v1", regarding=regarding, note="m", reportingController="example.com/c", **shared)
    t.run("install", "shop", "-p", t.package("p", old))
    uid = t.kube.get("Event", t.ns, "started")["metadata"]["uid"]
    for package in (new, old, new):
        package["metadata"]["labels"] = {"turn": str(id(package))[-5:]}
        plan = t.run("upgrade", "shop", "-p", t.package("p", package, config_map("more")), "--dry-run", "-o", "json").json
        equal([o["action"] for o in plan["objects"] if o["action"] == "delete"], [])
        t.run("upgrade", "shop", "-p", t.package("p", package, config_map("more")))
        equal((t.kube.get("Event", t.ns, "started") or {"metadata": {"uid": "gone"}})["metadata"]["uid"], uid)
    t.refused("install", "twice", "-p", t.package("q", {**old, "metadata": {"name": "e"}}, {**new, "metadata": {"name": "e"}}),
              says=["twice", "two API groups"])
    t.run("uninstall", "shop", "--yes")
    check(not t.kube.get("Event", t.ns, "started"), "left behind")


@test
def a_policy_that_looks_at_the_release_decides_when_the_turn_comes(t):
    name = f"{t.ns}-limit"
    policy = {"metadata": {"name": name}, "spec": {
        "failurePolicy": "Fail", "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}},
                             "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                                                "resources": ["configmaps"]}]},
        "validations": [{"expression": "!has(object.data.size) || int(object.data.size) <= int(params.data.most)",
                         "message": "it is larger than the limit"}]}}
    binding = {"metadata": {"name": name}, "spec": {
        "policyName": name, "validationActions": ["Deny"],
        "paramRef": {"name": "limits", "namespace": t.ns, "parameterNotFoundAction": "Allow"}}}
    t.kube.create("ValidatingAdmissionPolicy", None, policy)
    t.cleanup(lambda: t.kube.delete("ValidatingAdmissionPolicy", None, name))
    t.kube.create("ValidatingAdmissionPolicyBinding", None, binding)
    t.cleanup(lambda: t.kube.delete("ValidatingAdmissionPolicyBinding", None, name))

    def package(most, size, ordered=True):
        after = {"annotations": {"mistletoe.dev/after": "ConfigMap/limits"}} if ordered else {}
        return t.package("p", config_map("limits", {"most": str(most)}), config_map("judged", {"size": str(size)}, **after))
    made_by(t, "kubectl-create", config_map("judged", {"size": "1"}))
    made_by(t, "kubectl-create", config_map("limits", {"most": "1"}))

    def is_enforced():
        status, _ = t.kube.request("PATCH", t.kube.path("ConfigMap", t.ns, "judged") + "?dryRun=All",
                                   {"data": {"size": "99"}}, "application/merge-patch+json")
        return status == 422
    t.kube.wait("the policy is enforced", is_enforced)
    for mode in ("client", "server"):
        plan = t.run("install", "shop", "-p", package(5, 3), "--adopt", f"--dry-run={mode}", "--explain")
        contains(plan.out + plan.err, "larger than the limit", "limits is written first")
    # Nothing before it changes the answer: that is known before anything is written.
    mark = t.mark()
    t.refused("install", "shop", "-p", package(1, 3, ordered=False), "--adopt", says=["larger than the limit"])
    equal([r for r in t.requests(mark) if r.writes and "dryRun" not in r.uri], [], "writes")
    t.run("install", "shop", "-p", package(5, 3), "--adopt")
    equal(t.kube.get("ConfigMap", t.ns, "judged")["data"], {"size": "3"})


def adopted_things(t):
    """As Helm and kubectl leave them, with fields that no package of ours has."""
    web = with_sidecar("web")
    web["spec"]["replicas"] = 2
    web["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
    web["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
    made_by(t, "helm", web)
    data = config_map("cfg", {"a": "1", "b": "2"})
    data["metadata"].update(labels={"old": "yes"}, annotations={LAST_APPLIED: '{"kept":"too"}'})
    made_by(t, "kubectl-client-side-apply", data)
    t.kube.patch("ConfigMap", t.ns, "cfg", {"data": {"by-hand": "1"}})


def as_it_is(t, kind, name):
    """Without what controllers and the server write."""
    live = t.kube.get(kind, t.ns, name)
    live.pop("status", None)
    live["metadata"] = {k: v for k, v in live["metadata"].items() if k not in ("resourceVersion", "generation")}
    live["metadata"]["annotations"] = {k: v for k, v in live["metadata"].get("annotations", {}).items()
                                       if not k.startswith("deployment.kubernetes.io/")}
    live["metadata"]["managedFields"] = sorted(
        (e["manager"], e["operation"], str(e["fieldsV1"])) for e in live["metadata"]["managedFields"] if not e.get("subresource"))
    return live


@test
def an_install_that_is_undone_gives_adopted_objects_back_as_they_were(t):
    adopted_things(t)
    before = {name: as_it_is(t, kind, name) for kind, name in (("Deployment", "web"), ("ConfigMap", "cfg"))}
    wanted = [workload("Deployment", "web"), config_map("cfg", {"a": "other", "new": "1"})]
    bad = refused_when_written(t, "bad", "ConfigMap/cfg", "Deployment/web")
    outcome = t.refused("install", "shop", "-p", t.package("shop", *wanted, bad), "--adopt", "--rollback-on-failure", code=None,
                        says=["rolled back"])
    contains(outcome.err, "is as it was")
    for kind, name in (("Deployment", "web"), ("ConfigMap", "cfg")):
        equal(as_it_is(t, kind, name), before[name], f"{kind} {name}")
    # Nothing says that it belongs to a release that isn't there.
    t.run("install", "other", "-p", t.package("other", *wanted), "--adopt")
    equal(containers(t, "web"), ["main"])


@test
def an_upgrade_that_is_undone_gives_adopted_objects_back_as_they_were(t):
    t.run("install", "shop", "-p", t.package("v1", config_map("own", {"a": "1"})))
    adopted_things(t)
    before = {name: as_it_is(t, kind, name) for kind, name in (("Deployment", "web"), ("ConfigMap", "cfg"))}
    bad = refused_when_written(t, "bad", "ConfigMap/cfg", "Deployment/web")
    wanted = [config_map("own", {"a": "2"}), workload("Deployment", "web"), config_map("cfg", {"a": "other", "new": "1"})]
    t.refused("upgrade", "shop", "-p", t.package("v2", *wanted, bad), "--adopt", code=None)
    # Somebody changes what we left alone, and something that we wrote.
    t.kube.patch("ConfigMap", t.ns, "cfg", {"data": {"by-hand": "2", "a": "since"}})
    outcome = t.run("recover", "shop", "--undo", "--yes")
    equal(as_it_is(t, "Deployment", "web"), before["web"])
    cfg = as_it_is(t, "ConfigMap", "cfg")
    equal(cfg["data"], {"a": "since", "b": "2", "by-hand": "2"})
    equal([cfg["metadata"][k] for k in ("labels", "annotations")], [before["cfg"]["metadata"][k] for k in ("labels", "annotations")])
    contains(outcome.out + outcome.err, ".data.a")
    equal([m for m, _, fields in cfg["metadata"]["managedFields"] if "'f:b'" in fields], ["kubectl-client-side-apply"])
    equal(t.kube.get("ConfigMap", t.ns, "own")["data"], {"a": "1"})
    equal(t.run("status", "shop", "-o", "json").json["objects"][0]["name"], "own")
    equal(len(t.run("status", "shop", "-o", "json").json["objects"]), 1, "objects of the release")


def adopt_in_vain(t, verb, *objects):
    """An attempt that adopts ConfigMap precious and then fails."""
    made_by(t, "kubectl-create", config_map("precious", {"years": "of data"}))
    before = as_it_is(t, "ConfigMap", "precious")
    t.refused(verb, "shop", "-p", t.package("bad", *objects, config_map("precious", {"a": "1"}),
                                            refused_when_written(t, "bad", "ConfigMap/precious")), "--adopt", code=None)
    contains(str(t.kube.get("ConfigMap", t.ns, "precious")["metadata"]["annotations"]), "mistletoe.dev/release")
    return before


@test
def what_only_a_failed_upgrade_adopted_is_deleted_by_no_later_one(t):
    good = t.package("good", config_map("own", {"a": "1"}))
    t.run("install", "shop", "-p", good)
    before = adopt_in_vain(t, "upgrade", config_map("own", {"a": "2"}))
    done = t.run("upgrade", "shop", "-p", good)
    contains(done.out + done.err, "is as it was")
    equal(as_it_is(t, "ConfigMap", "precious"), before)
    t.run("upgrade", "shop", "-p", t.package("more", config_map("own", {"a": "3"})))
    t.run("uninstall", "shop", "--yes")
    equal(as_it_is(t, "ConfigMap", "precious"), before)


@test
def going_back_over_an_adoption_leaves_what_was_there_before(t):
    own = config_map("own", {"a": "1"})
    t.run("install", "shop", "-p", t.package("v0", own))
    adopted_things(t)
    before = {name: as_it_is(t, kind, name) for kind, name in (("Deployment", "web"), ("ConfigMap", "cfg"))}
    wanted = [own, workload("Deployment", "web"), config_map("cfg", {"a": "other", "new": "1"})]
    t.run("upgrade", "shop", "-p", t.package("v1", *wanted), "--adopt")
    t.run("upgrade", "shop", "-p", t.package("v2", *wanted, config_map("more", {"a": "1"})))
    diff = t.run("rollback", "shop", "0", "--dry-run")
    contains(diff.out + diff.err, "it was there before the release")
    done = t.run("rollback", "shop", "0")
    contains(done.out + done.err, "is as it was")
    for kind, name in (("Deployment", "web"), ("ConfigMap", "cfg")):
        equal(as_it_is(t, kind, name), before[name], f"{kind} {name}")
    equal(t.kube.get("ConfigMap", t.ns, "more"), None)
    equal([o["name"] for o in t.run("status", "shop", "-o", "json").json["objects"]], ["own"])
    t.refused("rollback", "shop", "1", says=["belongs to no release", "--adopt"])
    t.run("rollback", "shop", "1", "--adopt")
    equal((containers(t, "web"), t.kube.get("ConfigMap", t.ns, "cfg")["data"]["new"]), (["main"], "1"))
    t.run("rollback", "shop", "0")
    equal(as_it_is(t, "ConfigMap", "cfg"), before["cfg"])
    t.run("uninstall", "shop", "--yes")
    equal(as_it_is(t, "ConfigMap", "cfg"), before["cfg"])


@test
def a_rollback_over_an_adoption_that_did_not_end_can_be_undone(t):
    own = config_map("own", {"a": "1"})
    held = config_map("held", {"a": "1"})
    made_by(t, "kubectl-create", config_map("cfg", {"a": "1", "b": "2"}))
    t.run("install", "shop", "-p", t.package("v0", own))
    t.run("upgrade", "shop", "-p", t.package("v1", own, held, config_map("cfg", {"a": "other"})), "--adopt")
    lost = html_404(lambda method, path: method == "DELETE" and path.endswith("/configmaps/held"))
    t.refused("rollback", "shop", "0", kubeconfig=through(t, before=lost), says=["no such page"])
    equal(t.kube.get("ConfigMap", t.ns, "cfg")["data"], {"a": "1", "b": "2"})
    t.run("recover", "shop", "--undo", "--yes")
    equal(t.kube.get("ConfigMap", t.ns, "cfg")["data"], {"a": "other"})
    contains(t.run("upgrade", "shop", "-p", t.package("v1", own, held, config_map("cfg", {"a": "other"}))).out, "nothing was written")


@test
def going_back_over_a_finished_take_over_deletes_nothing(t):
    moved, own = config_map("moved", {"years": "of data"}), config_map("own", {"a": "1"})
    t.run("install", "first", "-p", t.package("first", moved, config_map("rest", {"a": "1"})))
    t.run("install", "shop", "-p", t.package("v0", own))
    t.run("upgrade", "shop", "-p", t.package("v1", own, moved), "--take-over-from", f"{t.ns}/first")
    contains(t.run("rollback", "shop", "0", code=3).out, "but for 1 object")
    live = t.kube.get("ConfigMap", t.ns, "moved")
    equal(live["data"], {"years": "of data"})
    check("labels" not in live["metadata"], "it belongs to nobody")
    t.run("upgrade", "first", "-p", t.package("first", moved, config_map("rest", {"a": "1"})), "--adopt")


@test
def going_back_to_what_was_moved_since_makes_only_what_is_gone(t):
    moved, other, rest = (config_map(name, {"a": "1"}) for name in ("moved", "other", "rest"))
    t.run("install", "old", "-p", t.package("v0", moved, other, rest))
    t.run("install", "new", "-p", t.package("new", moved), "--take-over-from", "old")
    t.run("install", "newer", "-p", t.package("newer", other), "--take-over-from", "old")
    done = t.run("rollback", "old", "0")
    contains(done.out, "nothing was written")
    contains(done.err, f"moved of v0 stays as it is: release {t.ns}/new took it over since")
    t.run("uninstall", "new", "--yes")
    done = t.run("rollback", "old", "0")
    contains(done.err, f"other of v0 stays as it is: release {t.ns}/newer")
    equal((t.owned("old"), t.owned("newer")), ({"ConfigMap/moved", "ConfigMap/rest"}, {"ConfigMap/other"}))


@test
def what_went_to_another_release_and_came_back_is_the_releases(t):
    kept, moved = config_map("kept", {"a": "1"}), config_map("moved", {"a": "1"})
    t.run("install", "one", "-p", t.package("v0", kept, moved))
    t.run("install", "two", "-p", t.package("two", moved), "--take-over-from", "one")
    t.run("upgrade", "one", "-p", t.package("v1", config_map("kept", {"a": "2"}), moved), "--take-over-from", "two")
    t.run("rollback", "one", "0")
    equal(t.owned("one"), {"ConfigMap/kept", "ConfigMap/moved"})
    equal(t.run("rollback", "one", "1", "-o", "json").json["changed"], True)


@test
def an_upgrade_that_adopts_replaces_and_fails_tells_what_it_can_not_give_back(t):
    mine = {**config_map("old", {"a": "mine", "b": "2"}), "immutable": True}
    t.run("install", "shop", "-p", t.package("v0", config_map("own", {"a": "1"})))
    made_by(t, "kubectl-create", mine)
    bad = refused_when_written(t, "bad", "ConfigMap/old")
    changed = {**config_map("old", {"a": "ours"}), "immutable": True}
    done = t.refused("upgrade", "shop", "-p", t.package("v1", config_map("own", {"a": "1"}), changed, bad),
                     "--adopt", "--replace", "--rollback-on-failure", says=["rolled back to v0", "but for 1 object", "old is left as it is"])
    contains(done.err, "could not be given back")
    check("labels" not in t.kube.get("ConfigMap", t.ns, "old")["metadata"], "it is nobody's")


@test
def what_no_record_tells_how_to_give_back_is_said(t):
    own = config_map("own", {"a": "1"})
    t.run("install", "shop", "-p", t.package("v0", own))
    made_by(t, "kubectl-create", config_map("cfg", {"a": "1"}))
    t.run("upgrade", "shop", "-p", t.package("v1", own, config_map("cfg", {"a": "other"})), "--adopt")
    t.run("upgrade", "shop", "-p", t.package("v2", own, config_map("cfg", {"a": "more"})))
    for each in t.kube.list("Secret", t.ns):
        if each["metadata"]["name"].endswith(".v1") or ".v1." in each["metadata"]["name"]:
            t.kube.delete("Secret", t.ns, each["metadata"]["name"])
    plan = t.run("rollback", "shop", "0", "--dry-run", code=3)
    contains(plan.out, "no record tells what it was", "1 to leave as it is")
    done = t.run("rollback", "shop", "0", code=3)
    contains(done.out, "but for 1 object", "1 left as it is")
    live = t.kube.get("ConfigMap", t.ns, "cfg")
    equal((live["data"], live["metadata"].get("labels")), ({"a": "more"}, None))


@test
def what_was_adopted_and_replaced_gets_its_earlier_fields_back(t):
    own, mine = config_map("own", {"a": "1"}), config_map("cfg", {"a": "1", "b": "1"})
    t.run("install", "shop", "-p", t.package("v0", own))
    made_by(t, "kubectl-create", mine)
    t.run("upgrade", "shop", "-p", t.package("v1", own, {**config_map("cfg", {"a": "2"}), "immutable": True}), "--adopt")
    t.run("upgrade", "shop", "-p", t.package("v2", own, config_map("cfg", {"a": "3"})), "--replace")
    t.run("rollback", "shop", "0")
    live = t.kube.get("ConfigMap", t.ns, "cfg")
    equal((live["data"], live["metadata"].get("labels")), ({"a": "1", "b": "1"}, None))


@test
def what_only_a_failed_install_adopted_is_deleted_by_no_later_one(t):
    before = adopt_in_vain(t, "install", config_map("own", {"a": "2"}))
    t.run("install", "shop", "-p", t.package("good", config_map("own", {"a": "1"})))
    equal(as_it_is(t, "ConfigMap", "precious"), before)
    t.run("uninstall", "shop", "--yes")
    equal(as_it_is(t, "ConfigMap", "precious"), before)


@test
def what_only_a_failed_attempt_adopted_is_not_uninstalled(t):
    before = adopt_in_vain(t, "install", config_map("own", {"a": "2"}))
    t.run("uninstall", "shop", "--yes")
    equal((as_it_is(t, "ConfigMap", "precious"), t.owned("shop")), (before, set()))


@test
def what_an_attempt_adopted_and_the_next_one_wants_is_the_releases(t):
    made_by(t, "kubectl-create", config_map("precious", {"years": "of data"}))
    wanted = config_map("precious", {"a": "1"})
    t.refused("install", "shop", "-p", t.package("bad", wanted, refused_when_written(t, "bad", "ConfigMap/precious")), "--adopt", code=None)
    t.run("install", "shop", "-p", t.package("good", wanted))
    equal(t.kube.get("ConfigMap", t.ns, "precious")["data"], {"a": "1"})
    t.run("uninstall", "shop", "--yes")
    equal(t.kube.get("ConfigMap", t.ns, "precious"), None)
