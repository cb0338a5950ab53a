"""What a plan says, and that exactly this happens: replacing, adopting, conflicts of field managers."""
from harness import check, config_map, contains, equal, test, workload


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
              says=["StatefulSet", "can't change .spec.podManagementPolicy", "00000.yaml:1", "--replace", "Forbidden"])
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
        f"ConfigMap {t.ns}/two", '"kubectl"', ".data.key", "00001.yaml:1", "--force-conflicts"])
    contains(refused.err, f"also: Deployment {t.ns}/web", '"scaler"', ".spec.replicas", "00002.yaml:1")
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
    equal(t.kube.get("ConfigMap", t.ns, "one")["data"], {"key": "one", "theirs": "x"}, "fields of others stay")
    t.run("uninstall", "shop", "--yes")
    check(t.kube.get("ConfigMap", t.ns, "one") is None, "and go with it")
