"""--wait: until what a release brings really runs, and why not when it doesn't."""
import json
import re
import signal
import time

from harness import check, config_map, contains, definition, equal, kubeconfig_text, test, workload


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
def a_job_that_has_begun_is_enough_if_that_is_said(t):
    package = t.package("p", workload("Job", "import", "run"), workload("Deployment", "web"))
    t.run("install", "shop", "-p", package, "--wait", "--no-wait-for-jobs", "--timeout", "60s")
    equal(health(t, "shop"), {"Job/import": "in progress", "Deployment/web": "ready"}, "after the install")
    t.refused("upgrade", "shop", "-p", package, "--wait", "--timeout", "300ms", says=["Job", "import", "0 of 1 completions"])


@test
def a_deployment_that_is_never_ready_is_named_with_its_reason(t):
    package = t.package("p", config_map("fine"), workload("Deployment", "sick", "never-ready"))
    failed = t.refused("install", "shop", "-p", package, "--wait", "--timeout", "3s",
                       says=["Deployment", "sick", "0 of 1"])
    check("ConfigMap" not in failed.err.split("error: ")[1], "what is ready is named too:", failed)
    status = t.run("status", "shop", "-o", "json").json
    equal((status["status"], status["deployedRevision"]), ("failed", None), "the release")
    equal(health(t, "shop"), {"ConfigMap/fine": "ready", "Deployment/sick": "in progress"}, "status")
    # After the fix, the same command continues; nothing has to be removed first.
    t.run("install", "shop", "-p", t.package("p", config_map("fine"), workload("Deployment", "sick")), "--wait")
    equal(t.run("status", "shop", "-o", "json").json["status"], "deployed")


@test
def a_rollout_that_failed_before_does_not_end_the_wait_for_its_repair(t):
    web = workload("Deployment", "web", replicas=1, progressDeadlineSeconds=1)
    web["spec"]["template"]["spec"]["volumes"] = [{"name": "files", "persistentVolumeClaim": {"claimName": "files"}}]
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "files"},
             "spec": claim_template("files")["spec"]}
    broken = t.package("broken", web)
    t.run("install", "shop", "-p", broken)

    def failed():
        conditions = t.kube.get("Deployment", t.ns, "web").get("status", {}).get("conditions", [])
        return any(c.get("reason") == "ProgressDeadlineExceeded" for c in conditions)
    t.kube.wait("the rollout has failed", failed)
    equal(health(t, "shop"), {"Deployment/web": "failed"}, "status")
    # Nothing is to be written, so nothing can get better.
    t.refused("upgrade", "shop", "-p", broken, "--wait", "--timeout", "60s", says=["ProgressDeadlineExceeded"])
    t.run("upgrade", "shop", "-p", t.package("repaired", web, claim), "--wait", "--timeout", "60s",
          "--rollback-on-failure")
    equal(t.kube.get("Deployment", t.ns, "web")["status"]["availableReplicas"], 1)
    check(t.kube.get("PersistentVolumeClaim", t.ns, "files"), "the claim is still there")


def pod_of(t, app):
    return next(iter(t.kube.list("Pod", t.ns, f"app={app}")), None)


def reason_of(pod):
    """Why the first container waits or ended."""
    states = (pod or {}).get("status", {}).get("containerStatuses", [{}])[0].get("state", {})
    return next((state.get("reason") for state in states.values()), None)


def has_event(t, uid, reason):
    return any(e["reason"] == reason for e in t.kube.list("Event", t.ns) if e["involvedObject"].get("uid") == uid)


def explained(t, objects, until, release="shop", says=(), **options):
    """What a wait says of objects after the cluster has shown what is wrong with them: (text, diagnosis)."""
    t.run("install", release, "-p", t.package("p", *objects))
    until()
    # Something new, so that there is something to do and to wait for.
    package = t.package("p", *objects, config_map("more"))
    text = t.refused("upgrade", release, "-p", package, "--wait", "--timeout", "5s", says=says, **options).err
    text = text[text.index("error: "):]  # without the progress before it
    package = t.package("p", *objects, config_map("even-more"))
    failed = t.run("upgrade", release, "-p", package, "--wait", "--timeout", "5s", "-o", "json", code=1, **options)
    report = json.loads(failed.err[failed.err.index('{"kind":"Error"'):])["error"]
    return text, report


def child(node, *path):
    """Down a diagnosis by the beginnings of names."""
    for step in path:
        found = [c for c in node["children"] if f"{c['kind']} {c['name']}".startswith(step)]
        equal(len(found), 1, f"children {step} of {node['name']}: {[c['name'] for c in node['children']]}")
        node = found[0]
    return node


@test(waits=True)
def each_failure_of_a_pod_is_explained_down_to_its_container(t):
    limits = [{"name": "main", "image": "example.com/main:1", "resources": {"limits": {"memory": "64Mi"}}}]
    log = {"mistletoe.dev/dev-exit-code": "3", "mistletoe.dev/dev-log": "first\n" + "\n".join(
        f"line {i}" for i in range(20)) + "\n\x1b[31mpanic\x1b[0m: no database"}
    objects = [
        workload("Deployment", "image", "image-pull-backoff"),
        workload("Deployment", "crash", "crash-loop", annotations=log, replicas=2),
        workload("StatefulSet", "hungry", "oom", pod_spec={"containers": limits}),
        workload("DaemonSet", "agent", "crash-loop"),
        workload("Deployment", "nowhere", pod_spec={"nodeSelector": {"disk": "none"}}),
        workload("Deployment", "fine")]

    def shown():
        for app, reason in [("image", "ImagePullBackOff"), ("crash", "CrashLoopBackOff"), ("hungry", "CrashLoopBackOff"),
                            ("agent", "CrashLoopBackOff")]:
            t.kube.wait(f"{app} fails", lambda: reason_of(pod_of(t, app)) == reason)
        for app, event in [("image", "Failed"), ("crash", "BackOff"), ("nowhere", "FailedScheduling")]:
            t.kube.wait(f"{app} has its event", lambda: has_event(t, pod_of(t, app)["metadata"]["uid"], event))
        t.kube.wait("both crash", lambda: [reason_of(p) for p in t.kube.list("Pod", t.ns, "app=crash")] == ["CrashLoopBackOff"] * 2)

    text, report = explained(t, objects, shown, says=["5 objects are not ready after 5.0s"])
    equal(report["kind"], "Timeout")
    tree = report["diagnosis"]
    equal((tree["kind"], tree["name"]), ("Release", f"{t.ns}/shop"))
    equal(len(tree["children"]), 5, "objects that are not ready")

    pod = child(tree, f"Deployment {t.ns}/image", "ReplicaSet", "Pod")
    equal([e["reason"] for e in pod["events"]], ["Failed"])
    container = child(pod, "container main")
    equal((container["reason"], container["exitCode"], container["log"]), ("ImagePullBackOff", None, []))
    contains(json.dumps(container["notes"]), "example.com/main:1")

    pod = child(tree, f"Deployment {t.ns}/crash", "ReplicaSet", "Pod")
    equal([note["text"] for note in pod["notes"]], ["1 more pod like it"], "of two pods that fail alike one is shown")
    container = child(pod, "container main")
    equal((container["reason"], container["exitCode"], container["logIsPrevious"]), ("CrashLoopBackOff", 3, True))
    equal([line["text"] for line in container["log"]],
          [f"line {i}" for i in range(11, 20)] + ["\x1b[31mpanic\x1b[0m: no database"], "the last ten lines")

    container = child(tree, f"StatefulSet {t.ns}/hungry", "Pod", "container main")
    equal((container["reason"], container["exitCode"]), ("OOMKilled", 137))
    contains(container["state"], "its limit of 64Mi")
    equal(child(tree, f"DaemonSet {t.ns}/agent", "Pod", "container main")["exitCode"], 1)

    pod = child(tree, f"Deployment {t.ns}/nowhere", "ReplicaSet", "Pod")
    equal(pod["reason"], "Unschedulable")
    contains(pod["state"], "no node takes it", "node")
    equal(pod["events"], [], "FailedScheduling says what the condition says already")

    contains(text, "└─ ", "last log │ line 19", "\\x1b[31mpanic\\x1b[0m: no database", "ended with exit code 3",
             "killed because it used more memory than its limit of 64Mi", "ImagePullBackOff", "no node takes it",
             "try: fix the cause")
    check("\x1b" not in text, "control characters of a log on the terminal")
    check("fine" not in text, "what is ready is named too")
    # The record knows the cause too.
    contains(t.run("status", "shop").out, "CrashLoopBackOff")


@test(waits=True)
def the_reason_is_shown_while_it_is_waited_for(t):
    package = t.package("p", workload("Deployment", "image", "image-pull-backoff"),
                        workload("Deployment", "crash", "crash-loop"),
                        workload("StatefulSet", "nowhere", pod_spec={"nodeSelector": {"disk": "none"}}))
    waiting = t.start("install", "shop", "-p", package, "--wait", "--timeout", "60s")
    seen = ""
    wanted = ["Deployment {}/image: waiting (container main: ImagePullBackOff", "StatefulSet {}/nowhere: waiting (no node takes it: 0/",
              "Deployment {}/crash: waiting (container main: CrashLoopBackOff"]
    for line in waiting.stderr:
        seen += line.decode()
        wanted = [text for text in wanted if text.format(t.ns) not in seen]
        if not wanted:
            break
    equal(wanted, [], "what was not said of\n" + seen)
    check(waiting.poll() is None, "it was said only at the end:\n", seen)
    waiting.send_signal(signal.SIGINT)
    waiting.wait(30)
    check(len(re.findall(r"image: waiting \(container main: ErrImagePull", seen)) <= 1, "it goes back and forth:\n", seen)


@test(waits=True)
def the_last_report_says_each_thing_once(t):
    package = t.package("p", workload("Deployment", "image", "image-pull-backoff"))
    t.run("install", "shop", "-p", package)
    t.kube.wait("the image fails", lambda: reason_of(pod_of(t, "image")) == "ImagePullBackOff")
    failed = t.refused("upgrade", "shop", "-p", t.package("p", workload("Deployment", "image", "image-pull-backoff"),
                                                          config_map("more")), "--wait", "--timeout", "4s").err
    report = failed[failed.index("error: "):]
    equal(report.count("ImagePullBackOff"), 1, report)
    check("because: " not in report, "the tree says it:\n", report)


@test(waits=True)
def a_quota_that_refuses_pods_and_a_claim_without_volume_are_explained(t):
    t.kube.create("ResourceQuota", t.ns, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})
    t.kube.wait("the quota counts", lambda: (t.kube.get("ResourceQuota", t.ns, "few").get("status") or {}).get("used"))
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "metadata": {"name": "files", "annotations": {"mistletoe.dev/dev-state": "pending"}},
             "spec": claim_template("files")["spec"]}
    volume = {"volumes": [{"name": "files", "persistentVolumeClaim": {"claimName": "files"}}]}
    objects = [claim, workload("Deployment", "web", replicas=2, pod_spec=volume)]

    def shown():
        t.kube.wait("a pod is refused", lambda: any(
            e["reason"] == "FailedCreate" and "quota" in e["message"] for e in t.kube.list("Event", t.ns)))
        t.kube.wait("no node takes the other", lambda: pod_of(t, "web") and has_event(
            t, pod_of(t, "web")["metadata"]["uid"], "FailedScheduling"))
        t.kube.wait("the claim waits", lambda: has_event(
            t, t.kube.get("PersistentVolumeClaim", t.ns, "files")["metadata"]["uid"], "ExternalProvisioning"))

    text, report = explained(t, objects, shown)
    pod = child(report["diagnosis"], f"Deployment {t.ns}/web", "ReplicaSet", "Pod")
    claims = child(pod, f"PersistentVolumeClaim {t.ns}/files")
    contains(json.dumps(claims["events"]), "ExternalProvisioning")
    contains(json.dumps(child(report["diagnosis"], f"PersistentVolumeClaim {t.ns}/files")["events"]), "ExternalProvisioning")
    contains(text, "it is not bound yet")
    # Without any pod, only the ReplicaSet's events tell.
    t.run("uninstall", "shop", "--yes", "--wait", "--delete-pvcs")
    t.kube.wait("the pods are gone", lambda: not t.kube.list("Pod", t.ns))
    t.kube.request("PATCH", t.kube.path("ResourceQuota", t.ns, "few"), {"spec": {"hard": {"pods": "0"}}},
                   "application/merge-patch+json")
    t.kube.wait("none is allowed", lambda: t.kube.get("ResourceQuota", t.ns, "few")["status"]["hard"]["pods"] == "0")

    def refused():
        sets = t.kube.list("ReplicaSet", t.ns, "app=alone")
        return sets and has_event(t, sets[0]["metadata"]["uid"], "FailedCreate")

    text, report = explained(t, [workload("Deployment", "alone")],
                             lambda: t.kube.wait("its pod is refused", refused), release="other")
    contains(text, "FailedCreate", "exceeded quota: few")
    # The Deployment's condition says what its ReplicaSet's condition and events say.
    tree = text[text.index("1 object is not ready"):]
    equal(tree.count("exceeded quota: few"), 1, tree)


@test(waits=True)
def what_may_not_be_read_is_a_note(t):
    user, token = t.identity("limited")
    t.kube.create("Role", t.ns, {"metadata": {"name": "limited"}, "rules": [
        {"apiGroups": ["", "apps"], "resources": ["secrets", "configmaps", "deployments", "replicasets", "pods"],
         "verbs": ["*"]}]})
    t.kube.create("RoleBinding", t.ns, {
        "metadata": {"name": "limited"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "limited"},
        "subjects": [{"kind": "User", "name": user}]})
    kubeconfig = t.file("limited", kubeconfig_text(t.kube.server, {"token": token}, t.kube.ca, t.ns))
    _, report = explained(
        t, [workload("Deployment", "crash", "crash-loop", annotations={"mistletoe.dev/dev-log": "hidden"})],
        lambda: t.kube.wait("it fails", lambda: reason_of(pod_of(t, "crash")) == "CrashLoopBackOff"),
        kubeconfig=kubeconfig)
    pod = child(report["diagnosis"], f"Deployment {t.ns}/crash", "ReplicaSet", "Pod")
    contains(json.dumps(pod["notes"]), "its events may not be read", "forbidden")
    container = child(pod, "container main")
    contains(json.dumps(container["notes"]), "its log may not be read", "forbidden")
    equal((container["exitCode"], container["log"]), (1, []))


@test
def a_failing_job_fails_at_once(t):
    package = t.package("p", workload("Job", "broken", "fail", backoffLimit=0, annotations={
        "mistletoe.dev/dev-exit-code": "7", "mistletoe.dev/dev-log": "select * from nowhere"}), config_map("fine"))
    # Far longer than the test may take: it must not wait for it.
    failed = t.refused("install", "shop", "-p", package, "--wait", "--timeout", "10m",
                       says=["Job", "broken failed", "BackoffLimit"])
    # The Job fails when its pod has: that is in the tree, with its last words.
    contains(failed.err, "container main: ended with exit code 7", "log │ select * from nowhere")
    equal(health(t, "shop")["Job/broken"], "failed")


@test
def without_wait_nothing_is_waited_for(t):
    t.run("install", "shop", "-p", t.package("p", workload("Deployment", "sick", "never-ready")))
    equal(health(t, "shop"), {"Deployment/sick": "in progress"})


def custom(kind, name, **spec):
    return {"apiVersion": "e2e.example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@test
def an_object_of_a_version_that_is_no_longer_served_is_not_forgotten(t):
    crd = "agers.e2e.example.com"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd))
    kind = definition("e2e.example.com", "agers", "Ager")
    new, = kind["spec"]["versions"]
    old = {**new, "name": "v1alpha1", "storage": False}
    kind["spec"]["versions"] = [old, new]
    t.kube.create("CustomResourceDefinition", None, kind)
    first, agers = {**custom("Ager", "one"), "apiVersion": "e2e.example.com/v1alpha1"}, "/apis/e2e.example.com/v1/agers"
    t.kube.wait("its kind is served", lambda: t.kube.request("GET", "/apis/e2e.example.com/v1alpha1/agers")[0] == 200)
    t.run("install", "shop", "-p", t.package("p", first, config_map("settings")))
    # Somebody else upgrades the definition; what was kept of discovery knows the old version only.
    t.kube.patch("CustomResourceDefinition", None, crd, {"spec": {"versions": [{**old, "served": False}, new]}})
    t.kube.wait("the old version is gone", lambda: t.kube.request("GET", "/apis/e2e.example.com/v1alpha1/agers")[0] == 404)
    equal({o["name"]: o["health"] for o in t.run("status", "shop", "-o", "json").json["objects"]},
          {"one": "ready", "settings": "ready"}, "status")
    t.refused("upgrade", "shop", "-p", t.package("p", first, config_map("settings", {"key": "new"})), says=["v1alpha1", "v1", "00000.yaml"])
    t.run("upgrade", "shop", "-p", t.package("p", config_map("settings")))
    equal(t.kube.list(agers, t.ns), [], "what the upgrade no longer wants")
    t.run("uninstall", "shop", "--yes")


@test
def a_replaced_definition_takes_its_objects_along(t):
    crd = "movers.e2e.example.com"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd))
    kind = definition("e2e.example.com", "movers", "Mover")
    kind["spec"]["scope"] = "Cluster"
    t.run("install", "shop", "-p", t.package("p", kind, custom("Mover", "one", size=1), config_map("settings")))
    kind["spec"]["scope"] = "Namespaced"
    package = t.package("p", kind, custom("Mover", "one", size=1), config_map("settings"))
    t.refused("upgrade", "shop", "-p", package, says=[".spec.scope", "--replace"])
    t.refused("upgrade", "shop", "-p", package, "--replace", says=[".spec.scope", "--delete-crds"])
    plan = t.run("upgrade", "shop", "-p", package, "--replace", "--delete-crds", "--dry-run", "-o", "json").json
    equal(sorted((o["kind"], o["action"]) for o in plan["objects"]),
          [("ConfigMap", "unchanged"), ("CustomResourceDefinition", "replace"), ("Mover", "create"), ("Mover", "delete")], "plan")
    t.run("upgrade", "shop", "-p", package, "--replace", "--delete-crds")
    equal([item["metadata"]["name"] for item in t.kube.list("/apis/e2e.example.com/v1/movers", t.ns)], ["one"])
    equal(set(health(t, "shop").values()), {"ready"}, "status")
    t.run("uninstall", "shop", "--yes", "--delete-crds", "--wait")


@test
def a_definition_and_its_objects_in_one_release(t):
    crd = "widgets.e2e.example.com"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd))
    widgets = "/apis/e2e.example.com/v1/widgets"
    kind = definition("e2e.example.com", "widgets", "Widget")
    # The objects come first in the package: order is found, not given.
    package = t.package("p", custom("Widget", "one", size=1), custom("Widget", "two", size=2), kind)
    plan = t.run("install", "shop", "-p", package, "--dry-run", "-o", "json").json
    equal({o["action"] for o in plan["objects"]}, {"create"}, "plan")
    t.run("install", "shop", "-p", package, "--wait")
    equal({item["metadata"]["name"] for item in t.kube.list(widgets, t.ns)}, {"one", "two"})
    mark = t.mark()
    equal(t.run("upgrade", "shop", "-p", package, "-o", "json").json["changed"], False)
    equal([r for r in t.requests(mark) if r.writes], [], "writes of an upgrade without changes")
    t.run("upgrade", "shop", "-p", t.package("p", custom("Widget", "one", size=3), kind))
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
    # Discovery, which is kept for ten minutes, still knows the kind.
    t.run("install", "shop", "-p", package)
    equal([item["metadata"]["name"] for item in t.kube.list(widgets, t.ns)], ["one"], "after the definition came back")
    t.run("uninstall", "shop", "--yes", "--delete-crds", "--wait")
    alone = t.package("alone", config_map("settings"), custom("Widget", "one", size=1))
    mark = t.mark()
    t.refused("install", "other", "-p", alone, says=["Widget", "00001.yaml"])
    equal([r for r in t.requests(mark) if r.writes], [], "writes where a kind is gone")


@test
def a_kind_that_nobody_defines_writes_nothing(t):
    t.refused("install", "shop", "-p", t.package("p", config_map("fine"), custom("Nothing", "one")),
              says=["Nothing", "e2e.example.com", "00001.yaml:1"])
    equal((t.owned("shop"), t.record("shop")), (set(), []), "written")


def set_status(t, plural, name, status):
    t.kube.checked("PATCH", f"/apis/e2e.example.com/v1/namespaces/{t.ns}/{plural}/{name}", {"status": status},
                   "application/merge-patch+json")


def defined(t, plural, kind):
    """A kind of its own, served."""
    t.kube.create("CustomResourceDefinition", None, definition("e2e.example.com", plural, kind))
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"{plural}.e2e.example.com"))
    t.kube.wait("the kind is served", lambda: t.kube.request(
        "GET", f"/apis/e2e.example.com/v1/namespaces/{t.ns}/{plural}")[0] == 200)


@test
def custom_resources_are_ready_by_condition_or_by_annotation(t):
    defined(t, "engines", "Engine")
    by_annotation = custom("Engine", "by-annotation")
    by_annotation["metadata"]["annotations"] = {"mistletoe.dev/ready-when": "{.status.phase}=Running"}
    package = t.package("p", custom("Engine", "by-condition"), by_annotation)
    starting = {"conditions": [{"type": "Ready", "status": "False", "reason": "Starting", "message": "be patient"}]}
    t.run("install", "shop", "-p", package)
    set_status(t, "engines", "by-condition", starting)
    set_status(t, "engines", "by-annotation", {"phase": "Pending"})
    equal(health(t, "shop"), {"Engine/by-condition": "in progress", "Engine/by-annotation": "in progress"})
    package = t.package("p", custom("Engine", "by-condition"), by_annotation, config_map("more"))
    t.refused("upgrade", "shop", "-p", package, "--wait", "--timeout", "5s",
              says=["2 objects are not ready after 5.0s", "it is not Ready: Starting: be patient",
                    "{.status.phase} is Pending, not Running"])
    # They become ready while it waits.
    package = t.package("p", custom("Engine", "by-condition"), by_annotation, config_map("even-more"))
    waiting = t.start("upgrade", "shop", "-p", package, "--wait", "--timeout", "5m")
    t.kube.wait("it was written", lambda: t.kube.get("ConfigMap", t.ns, "even-more"))
    set_status(t, "engines", "by-condition", {"conditions": [{"type": "Ready", "status": "True"}]})
    set_status(t, "engines", "by-annotation", {"phase": "Running"})
    t.finish(waiting, 0)
    equal(set(health(t, "shop").values()), {"ready"})


@test
def annotations_that_cannot_be_read_write_nothing(t):
    bad = config_map("bad")
    bad["metadata"]["annotations"] = {"mistletoe.dev/ready-when": "{.status.phase=Running"}
    t.refused("install", "shop", "-p", t.package("p", config_map("fine"), bad),
              says=["mistletoe.dev/ready-when can't be read", "00001.yaml:", "is not a JSONPath"])
    bad["metadata"]["annotations"] = {"mistletoe.dev/timeout": "ten minutes"}
    t.refused("install", "shop", "-p", t.package("p", config_map("fine"), bad),
              says=["mistletoe.dev/timeout can't be read", "00001.yaml:", "10m"])
    equal((t.owned("shop"), t.record("shop")), (set(), []), "written")


@test
def one_watch_for_each_kind_and_namespace_however_many_objects(t):
    other = t.namespace("b")
    # Later than the first look, which would need no watch.
    later = {"mistletoe.dev/dev-delay": "500ms"}
    objects = [workload("Deployment", f"web-{i}", annotations=later) for i in range(12)]
    objects += [workload("Job", f"once-{i}") for i in range(6)]
    for item in objects[:4]:
        item["metadata"]["namespace"] = other
    package = t.package("p", *objects)
    mark = t.mark()
    t.run("install", "shop", "-p", package, "--wait", "--timeout", "5m")
    requests = t.requests(mark)
    # On a slow machine their Pods are looked at too, to tell why they aren't ready.
    watches = sorted(r.path for r in requests if r.verb == "watch" and not r.path.endswith("/pods"))
    equal(watches, sorted([f"/apis/apps/v1/namespaces/{t.ns}/deployments", f"/apis/apps/v1/namespaces/{other}/deployments",
                           f"/apis/batch/v1/namespaces/{t.ns}/jobs"]), "watches")
    for path in set(watches):
        # One to look what there is, one before the watch.
        check(sum(r.path == path and r.verb == "list" for r in requests) <= 3, "lists of", path, requests)
    equal([r for r in requests if r.verb == "get" and r.resource in ("deployments", "jobs", "pods")], [], "polling")


@test
def a_claim_that_binds_late_is_ready_and_an_own_timeout_counts(t):
    late = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "late"},
            "spec": {**claim_template("late")["spec"], "storageClassName": "wait-for-first-consumer"}}
    t.run("install", "shop", "-p", t.package("p", late), "--wait", "--timeout", "5m")
    status = t.run("status", "shop", "-o", "json").json["objects"]
    equal([(o["health"], o["detail"]) for o in status], [("ready", "it binds when a pod uses it")])
    slow = workload("Deployment", "slow", "never-ready")
    slow["metadata"]["annotations"] = {"mistletoe.dev/timeout": "2s"}
    t.refused("install", "web", "-p", t.package("q", slow), "--wait", "--timeout", "10m",
              says=["1 object is not ready after 2.0s", "slow"])


# -- Jobs that remove themselves

FINISHED = "finished; removed by its ttlSecondsAfterFinished"


def job_uids(t, name):
    """Of every Job of that name that ever was, by its Events."""
    return {e["involvedObject"]["uid"] for e in t.kube.list("Event", t.ns)
            if e["involvedObject"]["kind"] == "Job" and e["involvedObject"]["name"] == name}


def writes_of(t, mark):
    return [r for r in t.requests(mark) if r.verb not in ("get", "list", "watch")]


@test(waits=True)
def a_job_that_removes_itself_is_ready_and_is_not_run_again(t):
    for ttl in (0, 1):
        release = f"ttl{ttl}"
        job = workload("Job", f"once-{ttl}", ttlSecondsAfterFinished=ttl)
        after = config_map(f"after-{ttl}", annotations={"mistletoe.dev/after": f"Job/once-{ttl}@ready"})
        t.run("install", release, "-p", t.package("p", job, after), "--wait", "--rollback-on-failure", "--timeout", "60s")
        t.kube.wait("it is gone", lambda: not t.kube.get("Job", t.ns, f"once-{ttl}"))
        mark = t.mark()
        t.run("upgrade", release, "-p", t.package("p", job, after), "--wait", "--timeout", "60s")
        equal(writes_of(t, mark), [], "an upgrade with nothing new")
        t.run("upgrade", release, "-p", t.package("p", job, after, config_map("more")), "--wait", "--timeout", "60s")
        t.run("rollback", release, "0", "--wait", "--timeout", "60s")
        equal(len(job_uids(t, f"once-{ttl}")), 1, "runs")
        contains(t.run("status", release).out, FINISHED)
        equal(health(t, release)[f"Job/once-{ttl}"], "ready")
        drift = t.run("drift", release, "--exit-code")
        contains(drift.out, f"Job {t.ns}/once-{ttl}  {FINISHED}")
        # Another one runs.
        other = workload("Job", f"once-{ttl}", ttlSecondsAfterFinished=ttl, backoffLimit=2)
        t.run("upgrade", release, "-p", t.package("p", other, after), "--wait", "--timeout", "60s")
        t.kube.wait("the other ran", lambda: len(job_uids(t, f"once-{ttl}")) == 2)
        t.run("uninstall", release, "--yes")


@test(waits=True)
def a_job_that_fails_and_removes_itself_has_failed(t):
    job = workload("Job", "once", "fail", ttlSecondsAfterFinished=0, backoffLimit=0)
    t.refused("install", "shop", "-p", t.package("p", job), "--wait", "--timeout", "60s",
              says=["Job", "once", "failed", "BackoffLimitExceeded"])
    t.kube.wait("it is gone", lambda: not t.kube.get("Job", t.ns, "once"))
    # It did not do what it is for, so it runs again.
    t.run("install", "shop", "-p", t.package("p", workload("Job", "once", ttlSecondsAfterFinished=0, backoffLimit=0)), "--wait",
          "--timeout", "60s")
    check(len(job_uids(t, "once")) == 2, "it did not run again")


@test(waits=True)
def a_job_that_somebody_deletes_is_missed(t):
    package = t.package("p", workload("Job", "once", "run", ttlSecondsAfterFinished=600))
    waiting = t.start("install", "shop", "-p", package, "--wait", "--timeout", "60s")
    t.kube.wait("it runs", lambda: (t.kube.get("Job", t.ns, "once") or {}).get("status", {}).get("active"))
    t.kube.delete("Job", t.ns, "once")
    contains(t.finish(waiting, code=1).err, "once was deleted while it was waited for")


def slow_deployment(*, ready):
    slow = workload("Deployment", "slow", *([] if ready else ["never-ready"]))
    slow["metadata"]["annotations"] = {**slow["metadata"].get("annotations", {}), "mistletoe.dev/timeout": "2s"}
    return slow


@test(waits=True)
def a_job_that_removed_itself_before_its_revision_failed_is_not_run_again(t):
    job = workload("Job", "once", ttlSecondsAfterFinished=0)
    gone = lambda: not t.kube.get("Job", t.ns, "once")  # noqa: E731
    for verb, runs in (("install", 1), ("upgrade", 2)):
        failing, fixed = (t.package("p", job, slow_deployment(ready=False)), t.package("q", job, slow_deployment(ready=True)))
        t.refused(verb, "shop", "-p", failing, "--wait", "--timeout", "60s", says=["slow"])
        t.kube.wait("it is gone", gone)
        contains(t.run("status", "shop", code=None).out, FINISHED)
        equal(health(t, "shop")["Job/once"], "ready")
        t.run(verb, "shop", "-p", fixed, "--wait", "--timeout", "60s")
        equal(len(job_uids(t, "once")), runs, f"runs, after {verb}")
        contains(t.run("status", "shop").out, FINISHED)
        job = workload("Job", "once", ttlSecondsAfterFinished=0, backoffLimit=2)


@test(waits=True)
def a_job_that_somebody_deletes_before_it_ends_runs_again_however_late(t):
    package = t.package("p", workload("Job", "once", "run", ttlSecondsAfterFinished=1))
    t.run("install", "shop", "-p", package)
    t.kube.wait("it runs", lambda: (t.kube.get("Job", t.ns, "once") or {}).get("status", {}).get("active"))
    t.kube.wait("its Events are there", lambda: job_uids(t, "once"))
    time.sleep(2)  # from here on it might have removed itself, had it ended at once
    t.kube.delete("Job", t.ns, "once")
    t.kube.wait("it is gone", lambda: not t.kube.get("Job", t.ns, "once"))
    equal(health(t, "shop")["Job/once"], "missing")
    t.run("drift", "shop", "--exit-code", code=3)
    t.run("upgrade", "shop", "-p", package)
    t.kube.wait("it runs again", lambda: len(job_uids(t, "once")) == 2)


@test
def a_job_that_never_ran_and_that_somebody_deletes_is_missed_after_its_events_are_gone(t):
    suspended = workload("Job", "suspended", ttlSecondsAfterFinished=0, suspend=True)
    running = workload("Job", "running", "run", ttlSecondsAfterFinished=86400)
    t.run("install", "shop", "-p", t.package("p", suspended, running, config_map("settings", {"a": "1"})))
    package = t.package("p", suspended, running, config_map("settings", {"a": "2"}))
    t.run("upgrade", "shop", "-p", package)  # which leaves both as they are
    for name in ("suspended", "running"):
        t.kube.wait("it has Events", lambda: job_uids(t, name))
        t.kube.delete("Job", t.ns, name)
        t.kube.wait("it is gone", lambda: not t.kube.get("Job", t.ns, name))
    for event in t.kube.list("Event", t.ns):
        t.kube.delete("Event", t.ns, event["metadata"]["name"])
    equal(health(t, "shop"), {"Job/suspended": "missing", "Job/running": "missing", "ConfigMap/settings": "ready"})
    t.run("drift", "shop", "--exit-code", code=3)
    contains(t.run("upgrade", "shop", "-p", package).out, "2 created")
    check(t.kube.get("Job", t.ns, "suspended") and t.kube.get("Job", t.ns, "running"), "they were not made again")


@test(waits=True)
def how_long_something_may_take_to_go_is_what_the_user_says(t):
    held = config_map("held", finalizers=["example.com/hold"])
    t.run("install", "shop", "-p", t.package("p", held))
    t.cleanup(lambda: t.kube.patch("ConfigMap", t.ns, "held", {"metadata": {"finalizers": None}}))
    changed = config_map("held", finalizers=["example.com/hold"])
    changed["immutable"] = True
    t.run("upgrade", "shop", "-p", t.package("p", changed))
    changed = dict(changed, data={"key": "other"})
    t.refused("upgrade", "shop", "-p", t.package("p", changed), "--replace", "--timeout", "1s",
              says=["while waiting until the old ConfigMap", "example.com/hold"], seconds=30)


@test(waits=True)
def what_a_finalizer_keeps_is_not_called_deleted(t):
    held = config_map("held", finalizers=["example.com/hold"])
    t.cleanup(lambda: t.kube.request("PATCH", t.kube.path("ConfigMap", t.ns, "held"), {"metadata": {"finalizers": None}},
                                     "application/merge-patch+json"))
    t.run("install", "shop", "-p", t.package("p", held, config_map("free")))
    t.refused("uninstall", "shop", "--yes", "--wait", "--timeout", "1s",
              says=["while waiting until ConfigMap", "example.com/hold", "--wait again"])
    said = t.run("uninstall", "shop", "--yes").out
    contains(said, "1 still being deleted", f"ConfigMap {t.ns}/held is not gone yet", "example.com/hold")
    check("2 objects deleted" not in said, said)
    # What goes at once is deleted, finalizer or not.
    t.kube.patch("ConfigMap", t.ns, "held", {"metadata": {"finalizers": None}})
    t.run("install", "other", "-p", t.package("q", config_map("plain")))
    equal(t.run("uninstall", "other", "--yes").out, "other is uninstalled: 1 object deleted\n")
