"""Releases as custom resources: what the operator makes of them, and how mistctl and it share a release."""
import hashlib
import json
import pathlib
import signal
import subprocess
import time

from harness import check, config_map, contains, equal, test, workload
from test_demo import ROOT
from test_operator import Operator, writes

GROUP = "/apis/mistletoe.dev/v1alpha1"


def serve(t):
    """The kind, for all tests: it stays with the cluster."""
    program = pathlib.Path(t.mistctl).with_name("mistletoe-operator")
    printed = subprocess.run([program, "--crds"], check=True, capture_output=True, text=True).stdout
    check(printed == (ROOT / "packages/mistletoe-operator/src/release.crd.yaml").read_text(), "the package has another")
    path = t.file("releases.yaml", printed)
    definition = json.loads(subprocess.run([t.mistctl, "generate", "kind", "-p", path, "-o", "json"], env=t.environment(),
                                           check=True, capture_output=True, text=True).stdout)["items"][0]
    t.kube.apply("CustomResourceDefinition", None, definition, "tests")
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", f"{GROUP}/releases")[0] == 200)


def publish(t, name, version, *objects):
    """A package of the directory registry `team`."""
    target = t.dir / "team/packages" / name / version
    target.mkdir(parents=True, exist_ok=True)
    for number, item in enumerate(objects):
        (target / f"{number:05}.yaml").write_text(json.dumps(item, indent=1))


def registry(t):
    (t.dir / "team").mkdir(exist_ok=True)
    t.run("registry", "add", "team", "-d", str(t.dir / "team"))


def chart(t, name, version, text, values="{}"):
    """A chart of one template in the registry."""
    target = t.dir / "team/packages" / name / version
    (target / "templates").mkdir(parents=True, exist_ok=True)
    (target / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: {version}\n")
    (target / "values.yaml").write_text(values)
    (target / "templates/all.yaml").write_text(text)


CONFIG = """apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings}
data:
  greeting: {{ .Values.greeting | quote }}
  password: {{ .Values.password | quote }}
"""


def address(t, name="", ns=None):
    return f"{GROUP}/namespaces/{ns or t.ns}/releases" + (f"/{name}" if name else "")


def make(t, name="web", ns=None, **spec):
    t.kube.checked("POST", address(t, ns=ns), {
        "apiVersion": "mistletoe.dev/v1alpha1", "kind": "Release",
        "metadata": {"name": name, "labels": {"e2e": t.ns}}, "spec": spec})
    # Its finalizer must not outlive the test's operator.
    t.cleanup(lambda: t.kube.request("PATCH", address(t, name, ns), {"metadata": {"finalizers": None}},
                                     content_type="application/merge-patch+json"))


def change(t, name="web", **spec):
    t.kube.checked("PATCH", address(t, name), {"spec": spec}, content_type="application/merge-patch+json")


def read(t, name="web", ns=None):
    status, body = t.kube.request("GET", address(t, name, ns))
    return body if status == 200 else None


def condition(t, kind="Ready", name="web", ns=None):
    """Of the spec as it is now."""
    object_ = read(t, name, ns) or {}
    found = [c for c in object_.get("status", {}).get("conditions", []) if c["type"] == kind]
    return found[0] if found and found[0]["observedGeneration"] == object_["metadata"]["generation"] else {}


def wait_for(t, reason, name="web", ns=None, seconds=30):
    t.kube.wait(f"{name} says {reason}", lambda: condition(t, name=name, ns=ns).get("reason") == reason, seconds=seconds)
    return condition(t, name=name, ns=ns)["message"]


def ask_for_a_look(t, name, mark):
    t.kube.checked("PATCH", address(t, name), {"metadata": {"annotations": {"mistletoe.dev/reconcile-at": mark}}},
                   content_type="application/merge-patch+json")
    t.kube.wait("it is looked at", lambda: read(t, name)["status"].get("handledReconcileAt") == mark)


def drift_events(t):
    return [e for e in t.kube.list("Event", t.ns) if e["involvedObject"]["kind"] == "Release" and e["reason"] == "Drifted"]


def remove(t, name="web", ns=None):
    t.kube.checked("DELETE", address(t, name, ns))
    t.kube.wait(f"{name} is gone", lambda: read(t, name, ns) is None)


def settings(t, name="web"):
    return (t.kube.get("ConfigMap", t.ns, f"{name}-settings") or {}).get("data")


@test
def a_release_resource_is_a_release_of_mistctl(t):
    serve(t)
    registry(t)
    chart(t, "hello", "1.0.0", CONFIG, "greeting: hi\npassword: none\n")
    chart(t, "hello", "1.1.0", CONFIG + "  extra: x\n", "greeting: hi\npassword: none\n")
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "base"}, "data": {"values.yaml": "greeting: from-base\n"}})
    t.kube.create("Secret", t.ns, {"metadata": {"name": "db"}, "stringData": {"pass": "s3cr3t,a=b"}})
    operator = Operator(t, "--releases", "own")
    make(t, package="team/hello:1.0.0", valuesFrom=[
        {"kind": "ConfigMap", "name": "base"}, {"kind": "Secret", "name": "db", "key": "pass", "targetPath": "password"},
        {"kind": "ConfigMap", "name": "not-there", "optional": True}])
    contains(wait_for(t, "Deployed"), "hello 1.0.0 is deployed as v0")
    equal(settings(t), {"greeting": "from-base", "password": "s3cr3t,a=b"})
    contains(t.run("status", "web").out, "team/hello:1.0.0")
    status = read(t)["status"]
    equal((status["package"], status["revision"], status["release"]), ("team/hello:1.0.0", 0, f"{t.ns}/web"))

    # Its own values go over those that it names, and another package makes another revision.
    change(t, package="team/hello:1.1.0", values={"greeting": "mine"})
    contains(wait_for(t, "Deployed"), "hello 1.1.0 is deployed as v1")
    equal(settings(t), {"greeting": "mine", "password": "s3cr3t,a=b", "extra": "x"})
    # What others do with mistctl is undone at the next look: the resource says what is wanted, and mistctl that.
    equal(t.run("status", "web", "-o", "json").json["keptBy"],
          {"namespace": t.ns, "name": "web", "state": "ready", "message": None})
    warned = t.run("rollback", "web", "0").err
    contains(warned, f"warning: Release {t.ns}/web keeps the release {t.ns}/web and undoes this at its next look",
             f"kubectl patch releases.mistletoe.dev web -n {t.ns}", '"suspend":true')
    contains(t.run("uninstall", "web", "--dry-run").err, "installs it again at its next look",
             f"kubectl delete releases.mistletoe.dev web -n {t.ns}")
    t.kube.checked("PATCH", address(t, "web"), {"metadata": {"annotations": {"mistletoe.dev/reconcile-at": "now"}}},
                   content_type="application/merge-patch+json")
    t.kube.wait("it is as wanted again", lambda: (settings(t) or {}).get("extra") == "x")
    equal([r["action"] for r in t.run("history", "web", "-o", "json").json["revisions"]],
          ["install", "upgrade", "rollback", "upgrade"])
    events = {e["reason"] for e in t.kube.list("Event", t.ns) if e["involvedObject"]["kind"] == "Release"}
    check("Deployed" in events, events)

    # One that rests undoes nothing.
    change(t, suspend=True)
    t.kube.wait("it rests", lambda: condition(t, "Suspended").get("status") == "True")
    contains(t.run("status", "web").out, f"Kept by    Release {t.ns}/web, suspended")
    check("keeps the release" not in t.run("upgrade", "web", "-p", "team/hello:1.1.0", "--dry-run").err, "it is suspended")
    change(t, suspend=False)

    # Where nothing changes nothing is written.
    t.kube.wait("it is ready", lambda: condition(t).get("status") == "True")
    time.sleep(1)
    mark = t.mark()
    time.sleep(3)
    equal([r.uri for r in writes(t, mark)], [], "writes in steady state")
    remove(t)
    equal((settings(t), t.record("web")), (None, []), "nothing is left")
    check("s3cr3t" not in operator.said(), "the log has the secret")
    equal(operator.stop(), 0, "exit code")


@test
def a_release_made_by_hand_is_taken_over_as_it_is(t):
    serve(t)
    registry(t)
    publish(t, "app", "1.0.0", workload("Deployment", "app"), config_map("app", {"a": "1"}))
    t.run("install", "app", "-p", "team/app:1.0.0", "--wait")
    pods = {p["metadata"]["uid"] for p in t.kube.list("Pod", t.ns)}
    operator = Operator(t, "--releases", "own")
    make(t, "app", package="team/app:1.0.0")
    contains(wait_for(t, "Deployed", "app"), "is deployed as v0")
    equal({p["metadata"]["uid"] for p in t.kube.list("Pod", t.ns)}, pods, "no Pod was restarted")
    contains(t.run("uninstall", "app", "--dry-run").err, f"Release {t.ns}/app keeps the release {t.ns}/app")
    # It goes back to mistctl in the same way.
    change(t, "app", onDelete="Keep")
    wait_for(t, "Deployed", "app")
    remove(t, "app")
    contains(t.run("status", "app").out, "team/app:1.0.0")
    equal({p["metadata"]["uid"] for p in t.kube.list("Pod", t.ns)}, pods)
    equal(operator.stop(), 0, "exit code")


@test
def a_release_that_is_taken_over_keeps_its_record_and_its_commands(t):
    serve(t)
    registry(t)
    chart(t, "app", "1.0.0", """apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}, annotations: {a: "{{ .Values.a }}", password: "{{ .Values.password | sha256sum }}"}}
    spec: {containers: [{name: app, image: "app:1"}]}
""", "a: x\npassword: none\n")
    t.run("install", "app", "-p", "team/app:1.0.0", "--set", "a=1", "--set", "password=hunter2hunter2", "--wait")
    t.run("upgrade", "app", "-p", "team/app:1.0.0", "--set", "a=2", "--set", "password=hunter2hunter2", "--wait")
    pods = {p["metadata"]["uid"] for p in t.kube.list("Pod", t.ns) if "deletionTimestamp" not in p["metadata"]}
    before = t.run("history", "app", "-o", "json").json["revisions"]
    t.kube.create("Secret", t.ns, {"metadata": {"name": "app-values"}, "stringData": {"password": "hunter2hunter2"}})
    annotations = lambda: t.kube.get("Deployment", t.ns, "app")["spec"]["template"]["metadata"]["annotations"]
    operator = Operator(t, "--releases", "own")
    mark = t.mark()
    make(t, "app", package="team/app:1.0.0", values={"a": 2},
         valuesFrom=[{"kind": "Secret", "name": "app-values", "key": "password", "targetPath": "password"}])
    contains(wait_for(t, "Deployed", "app"), "is deployed as v1")
    # Nothing changes: only the record learns which Release keeps it now.
    equal([r.uri.split("?")[0].rsplit("/", 1)[1] for r in writes(t, mark)
           if r.resource in ("secrets", "deployments") and "dryRun" not in r.uri], ["mistletoe.app"], "writes")
    contains(t.run("status", "app").out, f"Kept by    Release {t.ns}/app")
    equal({p["metadata"]["uid"] for p in t.kube.list("Pod", t.ns) if "deletionTimestamp" not in p["metadata"]}, pods, "Pods")
    facts = lambda revisions: [(r["revision"], r["action"], r["created"], r["objects"]) for r in revisions]
    now = t.run("history", "app", "-o", "json").json["revisions"]
    equal(now, before, "the history")
    equal(t.run("drift", "app", "-o", "json").json["releases"][0]["objects"], [], "drift")
    contains(t.run("diff", "app", "--from", "v0", "--to", "v1").out, "a")
    change(t, "app", values={"a": 3})
    t.kube.wait("it is upgraded", lambda: annotations()["a"] == "3")
    wait_for(t, "Deployed", "app")
    change(t, "app", suspend=True)
    t.kube.wait("it rests", lambda: condition(t, "Suspended", "app").get("status") == "True")
    t.run("rollback", "app", "1")
    equal(annotations()["a"], "2", "what was rolled back to")
    # Deleted as it rests: the release stays, and another Release may have it.
    remove(t, "app")
    rolled = t.run("history", "app", "-o", "json").json["revisions"]
    equal((facts(rolled)[:2], rolled[-1]["action"]), (facts(before), "rollback"), "the history")
    make(t, "again", package="team/app:1.0.0", releaseName="app", values={"a": 2},
         valuesFrom=[{"kind": "Secret", "name": "app-values", "key": "password", "targetPath": "password"}])
    wait_for(t, "Deployed", "again")
    equal(annotations()["a"], "2", "what was taken over")
    contains(t.run("status", "app").out, f"Kept by    Release {t.ns}/again")
    remove(t, "again")
    equal((t.record("app"), t.kube.get("Deployment", t.ns, "app")), ([], None), "it is uninstalled")
    check("hunter2" not in operator.said(), "the log has the secret")
    equal(operator.stop(), 0, "exit code")


@test
def of_two_releases_for_one_the_younger_follows(t):
    serve(t)
    registry(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}))
    publish(t, "app", "1.1.0", config_map("app", {"a": "2"}))
    operator = Operator(t, "--releases", "own")
    data = lambda: (t.kube.get("ConfigMap", t.ns, "app") or {}).get("data")
    make(t, "elder", package="team/app:1.0.0", releaseName="app")
    wait_for(t, "Deployed", "elder")
    time.sleep(1.1)  # which of the two is older is known to the second
    make(t, "younger", package="team/app:1.1.0", releaseName="app")
    wait_for(t, "Duplicate", "younger")
    equal(data(), {"a": "1"})
    # It follows at once, when the elder lets the release go, is uninstalled, or rests as it is deleted.
    change(t, "elder", onDelete="Keep")
    wait_for(t, "Deployed", "elder")
    remove(t, "elder")
    wait_for(t, "Deployed", "younger")
    equal((data(), len(t.run("history", "app", "-o", "json").json["revisions"])), ({"a": "2"}, 2), "it was upgraded")
    time.sleep(1.1)
    make(t, "third", package="team/app:1.0.0", releaseName="app")
    wait_for(t, "Duplicate", "third")
    operator.stop(signal.SIGKILL)
    t.kube.checked("DELETE", address(t, "younger"))
    operator.start()
    wait_for(t, "Deployed", "third")
    t.kube.wait("the other is gone", lambda: t.kube.request("GET", address(t, "younger"))[0] == 404)
    equal((data(), len(t.run("history", "app", "-o", "json").json["revisions"])), ({"a": "1"}, 1), "it was installed anew")
    remove(t, "third")
    equal((data(), t.record("app")), (None, []), "nothing is left")
    equal(operator.stop(), 0, "exit code")


@test
def a_release_whose_account_loses_its_rights_goes_on_when_it_has_them_again(t):
    serve(t)
    registry(t)
    for minor in range(3):
        publish(t, "app", f"1.{minor}.0", *(config_map(name, {"a": str(minor)}) for name in ("app", "more")))
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "deployer"}})
    t.kube.create("RoleBinding", t.ns, {
        "metadata": {"name": "deployer"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": t.ns}]})
    t.kube.create("Role", t.ns, {"metadata": {"name": "deployer"}, "rules": []})

    def allow(*rules):
        t.kube.patch("Role", t.ns, "deployer", {"rules": [
            {"apiGroups": [""], "resources": [resource], "verbs": verbs} for resource, verbs in rules]})
    everything = (("configmaps", ["*"]), ("secrets", ["*"]))
    allow(*everything)
    operator = Operator(t, "--releases", "own")
    make(t, "app", package="team/app:1.0.0", serviceAccountName="deployer", retries=0)
    wait_for(t, "Deployed", "app", seconds=60)
    allow(("secrets", ["*"]), ("configmaps", ["get", "list", "watch"]))
    time.sleep(1)
    change(t, "app", package="team/app:1.1.0")
    contains(wait_for(t, "DeployFailed", "app"), f"system:serviceaccount:{t.ns}:deployer")
    equal([t.kube.get("ConfigMap", t.ns, name)["data"] for name in ("app", "more")], [{"a": "0"}] * 2, "nothing was changed")
    allow(*everything)
    contains(wait_for(t, "Deployed", "app", seconds=90), "app 1.1.0")
    # Its deletion, too.
    allow()
    time.sleep(1)
    t.kube.checked("DELETE", address(t, "app"))
    contains(wait_for(t, "UninstallFailed", "app"), f"system:serviceaccount:{t.ns}:deployer")
    check(t.kube.get("ConfigMap", t.ns, "app"), "it is there")
    allow(*everything)
    t.kube.wait("it is uninstalled", lambda: t.kube.request("GET", address(t, "app"))[0] == 404, seconds=90)
    equal((t.record("app"), t.kube.get("ConfigMap", t.ns, "app")), ([], None), "nothing is left")
    equal(operator.stop(), 0, "exit code")


@test
def a_release_with_an_object_that_the_server_refuses_writes_none_of_them(t):
    """Bounds are in no published schema, so that only the server knows them."""
    serve(t)
    registry(t)

    def service(port):
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": port}]}}

    publish(t, "app", "1.0.0", config_map("app"), service(99999))
    publish(t, "app", "1.0.1", config_map("app"), service(80))
    publish(t, "app", "1.1.0", config_map("app", {"a": "2"}), service(80), {**service(99999), "metadata": {"name": "more"}})
    operator = Operator(t, "--releases", "own")
    mark = t.mark()
    make(t, "app", package="team/app:1.0.0")
    contains(wait_for(t, "DeployFailed", "app"), f"Service {t.ns}/web", "spec.ports[0].port", "is refused by the server")
    made = [r.uri for r in writes(t, mark) if r.resource in ("configmaps", "secrets", "services") and "dryRun=All" not in r.uri]
    equal(made, [], "writes of a release that the server refuses")
    equal((t.kube.get("ConfigMap", t.ns, "app"), t.record("app")), (None, []), "nothing is there")
    change(t, "app", package="team/app:1.0.1")
    contains(wait_for(t, "Deployed", "app"), "is deployed as v0")
    # An upgrade that creates such an object changes nothing.
    change(t, "app", package="team/app:1.1.0")
    contains(wait_for(t, "DeployFailed", "app"), f"Service {t.ns}/more", "is refused by the server")
    equal(t.kube.get("ConfigMap", t.ns, "app")["data"], config_map("app")["data"], "the ConfigMap")
    equal((read(t, "app")["status"]["revision"], len(t.run("history", "app", "-o", "json").json["revisions"])), (0, 1))
    equal(operator.stop(), 0, "exit code")


@test
def a_release_waits_for_those_that_it_depends_on(t):
    serve(t)
    registry(t)
    for name in ("db", "app"):
        publish(t, name, "1.0.0", config_map(name))
    publish(t, "broken", "1.0.0", workload("Deployment", "db", state="crash"))
    operator = Operator(t, "--releases", "own")
    make(t, "app", package="team/app:1.0.0", dependsOn=[{"name": "db"}])
    contains(wait_for(t, "DependencyNotReady", "app"), f"waits for Release {t.ns}/db: there is no such Release")
    make(t, "db", package="team/broken:1.0.0", timeout="3s")
    wait_for(t, "DeployFailed", "db", seconds=180)
    t.kube.wait("the reason is passed on", lambda: "0 of 1 replicas" in condition(t, name="app").get("message", ""))
    check(t.kube.get("ConfigMap", t.ns, "app") is None, "it was not installed")
    change(t, "db", package="team/db:1.0.0")
    wait_for(t, "Deployed", "db")
    wait_for(t, "Deployed", "app")
    # A cycle is said at once.
    make(t, "one", package="team/app:1.0.0", dependsOn=[{"name": "two"}])
    make(t, "two", package="team/app:1.0.0", dependsOn=[{"name": "one"}])
    t.kube.wait("the cycle is told", lambda: "waits for itself" in condition(t, name="one").get("message", ""))
    equal(condition(t, "Stalled", "one").get("status"), "True")
    for name in ("one", "two", "app", "db"):
        remove(t, name)
    equal(operator.stop(), 0, "exit code")


@test
def drift_of_a_release_resource_is_told_or_fixed(t):
    serve(t)
    registry(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}))
    operator = Operator(t, "--releases", "own")
    make(t, "app", package="team/app:1.0.0", interval="10s")
    wait_for(t, "Deployed", "app")
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"a": "2"}})
    t.kube.wait("the drift is told", lambda: condition(t, "Drifted", "app").get("status") == "True")
    contains(condition(t, "Drifted", "app")["message"], f"ConfigMap {t.ns}/app", ".data.a")
    equal(t.kube.get("ConfigMap", t.ns, "app")["data"], {"a": "2"}, "it is only told")
    told = read(t, "app")["status"]["driftDigest"]
    # Looks at the same drift, also of an operator that starts anew, are no news; another drift is.
    t.kube.wait("an Event shows it", lambda: len(drift_events(t)) == 1)
    equal(operator.stop(), 0, "exit code")
    operator = Operator(t, "--releases", "own")
    ask_for_a_look(t, "app", "again")
    equal(len(drift_events(t)), 1, "Events of the same drift")
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"a": None}})
    t.kube.wait("another drift is another digest", lambda: read(t, "app")["status"].get("driftDigest", told) != told)
    t.kube.wait("and another Event", lambda: len(drift_events(t)) == 2)
    change(t, "app", drift="Fix")
    t.kube.wait("it is fixed", lambda: t.kube.get("ConfigMap", t.ns, "app").get("data") == {"a": "1"})
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"a": "3"}})
    t.kube.wait("it is fixed again", lambda: t.kube.get("ConfigMap", t.ns, "app").get("data") == {"a": "1"})
    t.kube.wait("that is said", lambda: condition(t, "Drifted", "app") == {} and condition(t, name="app").get("status") == "True")
    remove(t, "app")
    equal(operator.stop(), 0, "exit code")


@test
def an_upgrade_that_fails_goes_back_and_is_given_up(t):
    serve(t)
    registry(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}))
    publish(t, "app", "2.0.0", config_map("app", {"a": "2"}), workload("Deployment", "web", state="crash"))
    publish(t, "app", "3.0.0", config_map("app", {"a": "3"}))
    operator = Operator(t, "--releases", "own")
    make(t, "app", package="team/app:1.0.0", timeout="3s", retries=1)
    wait_for(t, "Deployed", "app")
    change(t, "app", package="team/app:2.0.0")
    t.kube.wait("it is given up", lambda: condition(t, "Stalled", "app").get("status") == "True", seconds=180)
    message = wait_for(t, "RolledBack", "app")
    contains(message, "Deployment", "0 of 1 replicas", "rolled back to v")
    check("message" in condition(t, "Stalled", "app"), json.dumps(read(t, "app")["status"], indent=1), operator.said())
    contains(condition(t, "Stalled", "app")["message"], "failed 2 times")
    equal(t.kube.get("ConfigMap", t.ns, "app")["data"], {"a": "1"}, "what was before is back")
    history = len(t.run("history", "app", "-o", "json").json["revisions"])
    # Another operator knows as well that it was given up; who asks gets another try.
    operator.stop(signal.SIGKILL)
    operator.start()
    time.sleep(7)
    equal(len(t.run("history", "app", "-o", "json").json["revisions"]), history, "it is not tried again")
    t.kube.checked("PATCH", address(t, "app"), {"metadata": {"annotations": {"mistletoe.dev/reconcile-at": "1"}}},
                   content_type="application/merge-patch+json")
    t.kube.wait("it is tried again", lambda: len(t.run("history", "app", "-o", "json").json["revisions"]) > history)
    # A change overtakes the try that waits.
    change(t, "app", timeout="10m")
    t.kube.wait("it waits", lambda: condition(t, name="app").get("reason") == "Progressing", seconds=40)
    change(t, "app", package="team/app:3.0.0", timeout="3s")
    contains(wait_for(t, "Deployed", "app"), "app 3.0.0", "is deployed")
    equal(t.kube.get("ConfigMap", t.ns, "app")["data"], {"a": "3"})
    equal(condition(t, "Stalled", "app"), {})
    remove(t, "app")
    equal(operator.stop(), 0, "exit code")


@test
def an_upgrade_is_given_up_although_its_status_is_refused(t):
    serve(t)
    registry(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}))
    publish(t, "app", "2.0.0", config_map("app", {"a": "2"}), workload("Deployment", "web", state="crash"))
    operator = Operator(t, "--releases", "own")
    make(t, "app", package="team/app:1.0.0", timeout="3s", retries=1)
    wait_for(t, "Deployed", "app")
    policy = f"{t.ns}-policy"
    t.kube.create("ValidatingAdmissionPolicy", None, {"metadata": {"name": policy}, "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{"apiGroups": ["mistletoe.dev"], "apiVersions": ["v1alpha1"],
                                                "resources": ["releases/status"], "operations": ["UPDATE"]}],
                             "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}}},
        "validations": [{"expression": "!has(object.status.attempt)", "message": "nobody counts"}]}})
    t.cleanup(lambda: t.kube.delete("ValidatingAdmissionPolicy", None, policy))
    t.kube.create("ValidatingAdmissionPolicyBinding", None, {
        "metadata": {"name": policy}, "spec": {"policyName": policy, "validationActions": ["Deny"]}})
    t.cleanup(lambda: t.kube.delete("ValidatingAdmissionPolicyBinding", None, policy))
    t.kube.wait("the policy is enforced", lambda: t.kube.request(
        "PATCH", address(t, "app") + "/status?dryRun=All", {"status": {"attempt": {"inputs": "x", "failures": 1}}},
        content_type="application/merge-patch+json")[0] == 422)
    change(t, "app", package="team/app:2.0.0")
    # One after the first try, two of the second one, and those of looks that try nothing any more.
    t.kube.wait("it is refused", lambda: operator.said().count("while the status of Release") >= 6)
    t.kube.delete("ValidatingAdmissionPolicyBinding", None, policy)
    t.kube.wait("it is said", lambda: condition(t, "Stalled", "app").get("status") == "True")
    contains(condition(t, "Stalled", "app")["message"], "failed 2 times")
    equal(len(t.run("history", "app", "-o", "json").json["revisions"]), 5, "an install, and two tries that went back")
    remove(t, "app")
    equal(operator.stop(), 0, "exit code")


@test
def a_release_that_was_given_up_says_so_again_after_another_fault(t):
    serve(t)
    registry(t)
    publish(t, "db", "1.0.0", config_map("db"))
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}))
    publish(t, "app", "2.0.0", config_map("app", {"a": "2"}), workload("Deployment", "web", state="crash"))
    operator = Operator(t, "--releases", "own")
    make(t, "db", package="team/db:1.0.0")
    make(t, "app", package="team/app:1.0.0", timeout="3s", retries=0, interval="10s", dependsOn=[{"name": "db"}])
    wait_for(t, "Deployed", "app")
    change(t, "app", package="team/app:2.0.0")
    message = wait_for(t, "RolledBack", "app", seconds=180)
    equal(condition(t, "Stalled", "app").get("status"), "True")
    remove(t, "db")
    wait_for(t, "DependencyNotReady", "app", seconds=60)
    make(t, "db", package="team/db:1.0.0")
    equal(wait_for(t, "RolledBack", "app", seconds=60), message, "why it was given up")
    equal(condition(t, "Stalled", "app").get("status"), "True")
    for name in ("app", "db"):
        remove(t, name)
    equal(operator.stop(), 0, "exit code")


@test
def a_release_resource_does_what_its_account_may(t):
    serve(t)
    registry(t)
    tenant = t.namespace("tenant")
    publish(t, "app", "1.0.0", config_map("app"))
    # Other tests' Releases are none of its business.
    operator = Operator(t, "--releases", "all", "--release-selector", f"e2e={t.ns}")
    make(t, "app", ns=tenant, package="team/app:1.0.0")
    contains(wait_for(t, "NoServiceAccount", "app", tenant), "names no ServiceAccount", "serviceAccountName", tenant)
    t.kube.checked("PATCH", address(t, "app", tenant), {"spec": {"serviceAccountName": "deployer"}},
                   content_type="application/merge-patch+json")
    message = wait_for(t, "RecordNotRead", "app", tenant)
    contains(message, f"system:serviceaccount:{tenant}:deployer", "cannot")
    t.kube.create("ServiceAccount", tenant, {"metadata": {"name": "deployer"}})
    t.kube.create("Role", tenant, {"metadata": {"name": "deployer"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"]}]})
    t.kube.create("RoleBinding", tenant, {
        "metadata": {"name": "deployer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": tenant}]})
    mark = t.mark()
    wait_for(t, "Deployed", "app", tenant, seconds=180)
    made = [r for r in writes(t, mark) if "/configmaps/app" in r.uri]
    equal({r.on_behalf_of for r in made}, {f"system:serviceaccount:{tenant}:deployer"}, "who made it")
    # The operator's machine is nobody's package.
    for package in ("/etc", "./app", "git+file:///srv/git/x", "git+http://127.0.0.1/x"):
        make(t, "local", ns=tenant, package=package, serviceAccountName="deployer")
        contains(wait_for(t, "PackageNotRead", "local", tenant), "operator's own machine")
        remove(t, "local", tenant)
    # A second resource of one release never touches it.
    make(t, "other", ns=tenant, package="team/app:1.0.0", releaseName="app", serviceAccountName="deployer")
    contains(wait_for(t, "Duplicate", "other", tenant), f"Release {tenant}/app keeps the release {tenant}/app already")
    remove(t, "other", tenant)
    check(t.kube.get("ConfigMap", tenant, "app"), "the elder's objects stay")
    # Another release elsewhere is more than the account may.
    make(t, "away", ns=tenant, package="team/app:1.0.0", targetNamespace=t.ns, serviceAccountName="deployer")
    wait_for(t, "RecordNotRead", "away", tenant)
    check(t.kube.get("ConfigMap", t.ns, "app") is None, "nothing was made elsewhere")
    t.kube.checked("PATCH", address(t, "away", tenant), {"spec": {"onDelete": "Keep"}},
                   content_type="application/merge-patch+json")
    remove(t, "away", tenant)
    # A namespace that goes, with the account first, isn't held up.
    t.kube.delete("RoleBinding", tenant, "deployer")
    t.kube.delete("Namespace", None, tenant)
    t.kube.wait("the namespace is gone", lambda: t.kube.get("Namespace", None, tenant) is None, seconds=180)
    equal(operator.stop(), 0, "exit code")


@test
def a_release_resource_that_is_wrong_says_so_and_one_that_is_suspended_rests(t):
    serve(t)
    registry(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}))
    publish(t, "app", "1.1.0", config_map("app", {"a": "2"}))
    operator = Operator(t, "--releases", "own")
    # The server refuses what its schema can tell.
    for wrong, words in (({"interval": "1s"}, "must be a duration from 10s to 8784h"), ({"interval": "soon"}, "spec.interval"),
                         ({"timeout": "25h"}, "must be a duration from 1s to 24h"), ({"serviceAccountName": "a b"}, "spec.serviceAccountName"),
                         ({"allowLookup": ["shop/Secret"]}, "spec.allowLookupSecrets does"), ({"drift": "Maybe"}, "spec.drift"),
                         ({"valuesFrom": [{"kind": "Secret", "name": "A B"}]}, "spec.valuesFrom[0].name")):
        status, refused = t.kube.request("POST", address(t), {"apiVersion": "mistletoe.dev/v1alpha1", "kind": "Release",
                                                              "metadata": {"name": "x"}, "spec": {"package": "a/b:1", **wrong}})
        equal(status, 422, refused)
        contains(refused["message"], words)
    path = {"kind": "Secret", "name": "none", "targetPath": "a["}
    make(t, "bad", package="team/app:1.0.0", valuesFrom=[path])
    contains(wait_for(t, "InvalidSpec", "bad"), "spec.valuesFrom has an item whose targetPath is not the path of a value")
    equal(condition(t, "Stalled", "bad").get("status"), "True")
    change(t, "bad", valuesFrom=[], package="team/ap:1.0.0")
    contains(wait_for(t, "PackageNotRead", "bad"), "the registry team has no package ap")
    change(t, "bad", package="team/app:1.0.0", valuesFrom=[{"kind": "Secret", "name": "none"}])
    contains(wait_for(t, "ValuesNotRead", "bad"), "none")
    t.kube.create("Secret", t.ns, {"metadata": {"name": "none"}, "stringData": {"values.yaml": "pass: [hunter2hunter2"}})
    t.kube.wait("the Secret is read", lambda: "key values.yaml" in condition(t, name="bad").get("message", ""), seconds=180)
    check("hunter2" not in json.dumps(read(t, "bad")) + operator.said(), "the message has the secret")
    # Text that a template derived from a secret isn't quoted either, by the server or by the engine.
    for name, text in (("label", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: leak, labels: {a: 'l {{ .Values.pass | upper }}!'}}\n"),
                       ("name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'l_{{ .Values.pass | title }}_{{ .Values.pass | b64enc }}'}\n"),
                       ("fails", "{{ fail (printf \"no %s, %s\" (.Values.pass | sha256sum | trunc 12) (.Values.pass | trunc 10)) }}\n")):
        chart(t, name, "1.0.0", text)
        t.kube.patch("Secret", t.ns, "none", {"stringData": {"values.yaml": "pass: hunter2hunter2"}})
        change(t, "bad", package=f"team/{name}:1.0.0")
        t.kube.wait(f"{name} is told", lambda: "***" in condition(t, name="bad").get("message", ""), seconds=60)
        told = json.dumps(read(t, "bad")["status"]) + json.dumps(t.kube.list("Event", t.ns)) + operator.said()
        for secret in ("hunter2", "HUNTER2", "Hunter2", "aHVudGVyM", hashlib.sha256(b"hunter2hunter2").hexdigest()[:12]):
            check(secret not in told, secret)
    remove(t, "bad")

    make(t, "app", package="team/app:1.0.0", suspend=True)
    t.kube.wait("it rests", lambda: condition(t, "Suspended", "app").get("status") == "True")
    check(t.kube.get("ConfigMap", t.ns, "app") is None, "nothing was made")
    change(t, "app", suspend=False)
    wait_for(t, "Deployed", "app")
    change(t, "app", suspend=True, package="team/app:1.1.0")
    t.kube.wait("it rests", lambda: condition(t, "Suspended", "app").get("status") == "True")
    equal(t.kube.get("ConfigMap", t.ns, "app")["data"], {"a": "1"})
    remove(t, "app")
    check(t.kube.get("ConfigMap", t.ns, "app"), "what rests isn't uninstalled")

    # Whatever is wrong by then, what was deployed goes with its Release.
    publish(t, "other", "1.0.0", config_map("other"))
    make(t, "gone", package="team/other:1.0.0")
    wait_for(t, "Deployed", "gone")
    change(t, "gone", valuesFrom=[path])
    wait_for(t, "InvalidSpec", "gone")
    remove(t, "gone")
    equal((t.record("gone"), t.kube.get("ConfigMap", t.ns, "other")), ([], None), "it is uninstalled")
    equal(operator.stop(), 0, "exit code")


@test
def an_operator_that_dies_at_any_time_goes_on_with_its_releases(t):
    serve(t)
    registry(t)
    for minor in range(4):
        publish(t, "app", f"1.{minor}.0", *(config_map(f"c{i}", {"a": str(minor)}) for i in range(30)))
    operator = Operator(t, "--releases", "own")
    make(t, "app", package="team/app:1.0.0")
    for minor, pause in enumerate((0.1, 0.3, 0.5, 0.8)):
        change(t, "app", package=f"team/app:1.{minor}.0")
        time.sleep(pause)
        operator.stop(signal.SIGKILL)
        operator.start()
    t.kube.wait("all of it is there", lambda: {(t.kube.get("ConfigMap", t.ns, f"c{i}") or {"data": {}})["data"].get("a")
                                              for i in range(30)} == {"3"}, seconds=90)
    wait_for(t, "Deployed", "app", seconds=180)
    equal(t.run("drift", "app", "-o", "json").json["releases"][0]["objects"], [])
    remove(t, "app")
    check(all(t.kube.get("ConfigMap", t.ns, f"c{i}") is None for i in range(30)), "nothing is left")
    equal(operator.stop(), 0, "exit code")


@test
def accounts_that_releases_invent_leave_nothing_in_the_operator(t):
    """Whoever may write Releases names accounts as they like: clients of those that are not used are dropped (kube/client_pool.h)."""
    serve(t)
    registry(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}))
    operator = Operator(t, "--releases", "own")
    count = 150
    for at in range(count):
        make(t, f"r{at}", package="team/app:1.0.0", serviceAccountName=f"invented-{at}", retries=0)
    for at in range(count):
        wait_for(t, "RecordNotRead", f"r{at}", seconds=120)
    threads = len(list(pathlib.Path(f"/proc/{operator.process.pid}/task").iterdir()))
    descriptors = len(list(pathlib.Path(f"/proc/{operator.process.pid}/fd").iterdir()))
    t.note(f"{threads} threads and {descriptors} descriptors after {count} accounts")
    # One thread and a handful of descriptors for each of 64 clients, and the operator's own.
    check(threads < 64 + 50, f"{threads} threads")
    check(descriptors < 64 * 6 + 100, f"{descriptors} descriptors")
    operator.stop()


@test
def packages_of_releases_are_not_read_from_the_operators_machine(t):
    serve(t)
    operator = Operator(t, "--releases", "own")
    local = ("oci://127.0.0.1:5000/a/b:1", "oci://[::1]:5000/a/b:1", "oci://localhost/a/b:1", "oci://127.1/a/b:1", "oci://169.254.169.254/a/b:1",
             "git+ssh://git@localhost/x", "git+https://[::1]/x", "git+https://0x7f000001/x")
    for at, package in enumerate(local):
        make(t, f"r{at}", package=package)
        contains(wait_for(t, "PackageNotRead", f"r{at}"), "operator's own machine")
    # Another network is no reason.
    make(t, "away", package="oci://[fd00::1]:5000/a/b:1", valuesFrom=[{"kind": "Secret", "name": "none", "targetPath": "a["}])
    contains(wait_for(t, "InvalidSpec", "away"), "spec.valuesFrom")
    operator.stop()
