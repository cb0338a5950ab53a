"""What a plan says, and that exactly this happens: replacing, adopting, conflicts of field managers."""
import hashlib
import json
import os
import signal
import threading

from harness import check, config_map, contains, definition, equal, kubeconfig_text, secret, test, workload
from proxy import Proxy


def uids(t, kind):
    return {item["metadata"]["name"]: item["metadata"]["uid"] for item in t.kube.list(kind, t.ns)}


def applied_by(t, manager, body):
    """Server-side apply as another tool does it."""
    path = t.kube.path(body["kind"], t.ns, body["metadata"]["name"])
    return t.kube.checked("PATCH", f"{path}?fieldManager={manager}&force=true", body, "application/apply-patch+yaml")


@test
def a_replaced_stateful_set_keeps_its_pods(t):
    t.run("install", "db", "-p", t.package("p", workload("StatefulSet", "db", replicas=2)), "--wait", "--timeout", "60s")
    before, pods = uids(t, "StatefulSet"), uids(t, "Pod")
    equal(len(pods), 2)
    changed = t.package("q", workload("StatefulSet", "db", replicas=2, podManagementPolicy="Parallel"))
    mark = t.mark()
    t.refused("upgrade", "db", "-p", changed,
              says=["StatefulSet", "can't change .spec.podManagementPolicy", "00000.yaml:28", "--replace", "Forbidden"])
    equal([r for r in t.requests(mark) if r.writes], [], "a refused plan writes nothing")
    t.run("upgrade", "db", "-p", changed, "--replace", "--wait", "--timeout", "60s")
    after = t.kube.get("StatefulSet", t.ns, "db")
    check(after["metadata"]["uid"] != before["db"], "it is another object")
    equal(after["spec"]["podManagementPolicy"], "Parallel")
    equal(uids(t, "Pod"), pods, "no Pod died")
    equal([o["action"] for o in t.run("upgrade", "db", "-p", changed, "--dry-run", "-o", "json").json["objects"]],
          ["unchanged"], "and that is the end of it")
    t.run("uninstall", "db", "--yes", "--wait")
    check(t.kube.get("StatefulSet", t.ns, "db") is None, "the new one is the release's")


@test
def an_annotation_lets_a_job_be_replaced(t):
    def job(command):
        body = workload("Job", "once")
        body["metadata"]["annotations"] = {"mistletoe.dev/replace": "true"}
        body["spec"]["template"]["spec"]["containers"][0]["args"] = [command]
        return t.package("p", body)
    t.run("install", "shop", "-p", job("one"), "--wait", "--timeout", "60s")
    first = t.kube.get("Job", t.ns, "once")["metadata"]["uid"]
    plan = t.run("upgrade", "shop", "-p", job("two"), "--dry-run", "-o", "json").json
    equal([o["action"] for o in plan["objects"]], ["replace"])
    t.run("upgrade", "shop", "-p", job("two"), "--wait", "--timeout", "60s")
    second = t.kube.get("Job", t.ns, "once")
    check(second["metadata"]["uid"] != first, "a new Job")
    equal(second["status"]["succeeded"], 1)


@test
def fields_of_other_managers_are_named_before_anything_is_written(t):
    package = t.package("p", config_map("one"), config_map("two"), workload("Deployment", "web", replicas=1))
    t.run("install", "shop", "-p", package)
    applied_by(t, "kubectl", {**config_map("two"), "data": {"key": "theirs"}})
    applied_by(t, "scaler", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                             "spec": {"replicas": 4}})
    changed = t.package("q", config_map("one", {"key": "new"}), config_map("two"),
                        workload("Deployment", "web", replicas=1))
    refused = t.refused("upgrade", "shop", "-p", changed, says=[
        f"ConfigMap {t.ns}/two", '"kubectl"', ".data.key", "00001.yaml:8:", "--force-conflicts"])
    contains(refused.err, f"also: Deployment {t.ns}/web", '"scaler"', ".spec.replicas", "00002.yaml:28:")
    equal(t.kube.get("ConfigMap", t.ns, "one")["data"], {"key": "one"}, "nothing was written")
    t.run("upgrade", "shop", "-p", changed, "--force-conflicts")
    equal(t.kube.get("ConfigMap", t.ns, "two")["data"], {"key": "two"})
    equal(t.kube.get("Deployment", t.ns, "web")["spec"]["replicas"], 1)


@test
def adopted_objects_are_the_releases(t):
    for name in ("one", "two"):
        applied_by(t, "kubectl", {**config_map(name), "data": {"key": name, "theirs": "x"}})
    package = t.package("p", config_map("one"), config_map("two"), config_map("three"))
    refused = t.refused("install", "shop", "-p", package, says=["one exists already", "belongs to no release", "--adopt"])
    contains(refused.err, "also: ConfigMap", "two exists already")
    plan = t.run("install", "shop", "-p", package, "--adopt", "--dry-run", "-o", "json").json
    equal([o["action"] for o in plan["objects"]], ["adopt", "adopt", "create"])
    before = uids(t, "ConfigMap")
    t.run("install", "shop", "-p", package, "--adopt")
    after = uids(t, "ConfigMap")
    equal((after["one"], after["two"]), (before["one"], before["two"]), "the same objects")
    equal(t.owned("shop"), {"ConfigMap/one", "ConfigMap/two", "ConfigMap/three"})
    equal(t.kube.get("ConfigMap", t.ns, "one")["data"], {"key": "one"}, "what kubectl applied is the release's by now")
    t.run("uninstall", "shop", "--yes")
    check(t.kube.get("ConfigMap", t.ns, "one") is None, "and go with it")


@test
def diff_says_what_an_upgrade_would_change(t):
    def package(name, value, password, *more):
        return t.package(name, config_map("one", {"key": value}), secret("s", password), *more)
    nothing = t.run("diff", "shop", "-p", package("p", "old", "hunter2"), "--exit-code", code=3)
    contains(nothing.out, "create ConfigMap", "+  key: old  # 00000.yaml:", "2 to create")
    t.run("install", "shop", "-p", package("p", "old", "hunter2"))
    mark = t.mark()
    same = t.run("diff", "shop", "--exit-code")
    equal(same.out, "shop: no differences\n")
    lists = [r for r in t.requests(mark) if r.verb == "list"]
    equal(len(lists), 2, f"one LIST for each kind and namespace: {lists}")
    changed = package("q", "new", "correct-horse-battery", config_map("two"))
    outcome = t.run("diff", "shop", "-p", changed)
    contains(outcome.out, "update ConfigMap", ".data.key differs", "-  key: old", "+  key: new  # 00000.yaml:",
             "-  password: '*** (before)'", "+  password: '*** (after)'", "create ConfigMap", "1 to create, 2 to change")
    for hidden in ("hunter2", "aHVudGVyMg", "correct-horse", "Y29ycmVjd"):
        check(hidden not in outcome.out + outcome.err, hidden)
    contains(t.run("diff", "shop", "-p", changed, "--show-secrets").out, "aHVudGVyMg==")
    document = t.run("diff", "shop", "-p", changed, "-o", "json", "--exit-code", code=3).json
    equal({o["name"]: o["action"] for o in document["objects"]}, {"one": "update", "s": "update", "two": "create"})
    equal(t.kube.get("ConfigMap", t.ns, "one")["data"], {"key": "old"}, "nothing is written")
    # What somebody changed by hand is what the next upgrade changes back.
    body = t.kube.get("ConfigMap", t.ns, "one")
    t.kube.checked("PUT", t.kube.path("ConfigMap", t.ns, "one"), {**body, "data": {"key": "by hand"}})
    contains(t.run("diff", "shop", "--exit-code", code=3).out, "conflict ConfigMap", "-  key: by hand", "+  key: old")


@test
def a_saved_plan_is_carried_out_as_it_was_shown(t):
    before = t.package("p", config_map("one"), config_map("goes"))
    t.run("install", "shop", "-p", before)
    after = t.package("q", config_map("one", {"key": "new"}), config_map("two"), secret("s"))
    planned = t.run("plan", "shop", "-p", after, "-o", "shop.plan")
    contains(planned.out, "update", "create", "delete", "2 to create, 1 to change, 1 to delete")
    equal((t.dir / "shop.plan").stat().st_mode & 0o777, 0o600, "mode")
    equal(t.kube.get("ConfigMap", t.ns, "one")["data"], {"key": "one"}, "planning writes nothing")
    # What the package would be now doesn't matter.
    t.package("q", config_map("other"))
    body = t.kube.get("ConfigMap", t.ns, "one")
    t.kube.checked("PUT", t.kube.path("ConfigMap", t.ns, "one"), {**body, "data": {"key": "moved"}})
    t.refused("apply-plan", "shop.plan", says=["the plan is stale", "ConfigMap", "/one", "mistctl plan shop"])
    t.run("upgrade", "shop", "-p", t.package("mid", config_map("one", {"key": "mid"}), config_map("goes")),
          "--force-conflicts")
    t.refused("apply-plan", "shop.plan", says=["the plan is stale", "is at revision 1"])
    t.package("q", config_map("one", {"key": "new"}), config_map("two"), secret("s"))
    t.run("plan", "shop", "-p", after, "-o", "shop.plan")
    done = t.run("apply-plan", "shop.plan", "-o", "json").json
    equal({o["name"]: o["action"] for o in done["objects"]},
          {"one": "update", "two": "create", "s": "create", "goes": "delete"})
    equal(t.kube.get("ConfigMap", t.ns, "one")["data"], {"key": "new"})
    check(t.kube.get("ConfigMap", t.ns, "goes") is None)
    t.refused("apply-plan", "shop.plan", says=["the plan is stale", "is at revision"])
    # And one of a release that isn't there yet.
    t.run("plan", "fresh", "-p", t.package("r", config_map("fresh")), "-o", "fresh.plan")
    t.refused("apply-plan", "fresh.plan", "-n", "other", code=2, says=[f"the plan is for release {t.ns}/fresh, and -n says other"])
    contains(t.run("apply-plan", "fresh.plan").out, "fresh is installed at revision 0")


@test
def a_plan_of_another_cluster_is_refused(t):
    t.run("plan", "fresh", "-p", t.package("p", config_map("fresh")), "-o", "fresh.plan")
    head, body, _ = (t.dir / "fresh.plan").read_text().split("\n")
    uid = t.kube.get("Namespace", None, "kube-system")["metadata"]["uid"]
    check(f'"clusterUid":"{uid}"' in body, "the plan doesn't say of which cluster it is")

    def write(cluster, address=None):
        changed = body.replace(uid, cluster)
        if address:
            changed = changed.replace(json.loads(body)["cluster"], address)
        digest = f"sha256:{hashlib.sha256(changed.encode()).hexdigest()}"
        (t.dir / "other.plan").write_text(f"{json.dumps({**json.loads(head), 'digest': digest})}\n{changed}\n")

    mark = t.mark()
    elsewhere = "https://elsewhere:6443 (context far)"
    write("11111111-2222-3333-4444-555555555555", elsewhere)
    t.refused("apply-plan", "other.plan", says=["made for another cluster", elsewhere, uid, "11111111-2222", "--context"])
    write("", elsewhere)
    t.refused("apply-plan", "other.plan", says=["made for another cluster", elsewhere, "addresses differ"])
    equal([r for r in t.requests(mark) if r.writes], [], "nothing is written")
    # The address is nothing to go by while the uid is known; and it is enough where that isn't.
    write(uid, elsewhere)
    t.run("apply-plan", "other.plan")
    t.run("uninstall", "fresh", "--yes")
    write("")
    t.run("apply-plan", "other.plan")


@test
def objects_move_from_one_release_to_another(t):
    old = t.package("old", config_map("moves"), config_map("stays"))
    new = t.package("new", config_map("moves", {"key": "new"}))
    t.run("install", "old", "-p", old)
    uid = t.kube.get("ConfigMap", t.ns, "moves")["metadata"]["uid"]
    t.refused("install", "new", "-p", new, says=[f"belongs to release {t.ns}/old", "--take-over-from"])
    t.refused("install", "new", "-p", new, "--take-over-from", "non/sen/se", says=["[NAMESPACE/]NAME"], code=2)
    contains(t.run("diff", "new", "-p", new, "--take-over-from", f"{t.ns}/old").out, "adopt ConfigMap", "+  key: new")
    t.run("install", "new", "-p", new, "--take-over-from", f"{t.ns}/old")
    moved = t.kube.get("ConfigMap", t.ns, "moves")
    equal((moved["metadata"]["uid"], moved["data"]), (uid, {"key": "new"}))
    t.refused("upgrade", "old", "-p", old, says=[f"belongs to release {t.ns}/new"])
    t.run("upgrade", "old", "-p", t.package("less", config_map("stays")))
    t.run("uninstall", "old", "--yes")
    check(t.kube.get("ConfigMap", t.ns, "stays") is None)
    equal(t.kube.get("ConfigMap", t.ns, "moves")["metadata"]["uid"], uid, "the other release's")
    t.run("uninstall", "new", "--yes")
    check(t.kube.get("ConfigMap", t.ns, "moves") is None)


@test
def custom_resources_are_checked_against_the_definitions_beside_them(t):
    crd = "gadgets.plan.example.com"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd))
    spec = {"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1}, "mode": {"type": "string", "enum": ["fast", "slow"]}}}
    gadgets = definition("plan.example.com", "gadgets", "Gadget", {"type": "object", "properties": {"spec": spec}})

    def gadget(body):
        return f"apiVersion: plan.example.com/v1\nkind: Gadget\nmetadata: {{name: one}}\nspec:\n{body}"

    t.refused("install", "shop", "-p", t.package("p", gadgets, gadget("  size: many\n  moed: fast\n")),
              says=["Gadget", "00001.yaml:6", "did you mean mode?", "size", "00001.yaml:5", crd])
    check(t.kube.get("CustomResourceDefinition", None, crd) is None, "nothing is written")
    t.run("install", "shop", "-p", t.package("q", gadgets, gadget("  size: 1\n  mode: fast\n")))
    t.run("uninstall", "shop", "--yes", "--delete-crds")


@test
def an_interrupted_command_says_what_is_done_and_what_is_not(t):
    many = 200
    package = t.package("p", *(config_map(f"c{i:03}") for i in range(many)))
    ready, writes = threading.Event(), []

    def interrupt(number, method, path):
        if method == "PATCH" and "/configmaps/" in path:
            writes.append(path)
            if len(writes) == 20:
                ready.wait()
                os.kill(process.pid, signal.SIGINT)

    proxy = Proxy(t.kube, t.token, after=interrupt)
    t.cleanup(proxy.stop)
    process = t.start("install", "shop", "-p", package,
                      kubeconfig=t.file("kubeconfig-proxy", kubeconfig_text(proxy.url, {}, namespace=t.ns)))
    ready.set()
    stopped = t.finish(process, code=130)
    contains(stopped.err, "stopped on request", f"of {many} objects are written", "not begun: ConfigMap", " more",
             "mistctl status shop")
    check(len(t.owned("shop", ["ConfigMap"])) < many, "it went on to the end")
    equal(t.run("status", "shop", "-o", "json").json["lockedBy"], None, "the lock is given back")
    t.run("install", "shop", "-p", package)
    equal(len(t.owned("shop", ["ConfigMap"])), many)
