"""Answers that look like another: a 409 that isn't "exists", a 404 that isn't "gone", a 500 that no retry cures."""
import base64
import json

from harness import certificate, check, config_map, contains, equal, kubeconfig_text, test, workload
from proxy import Proxy, Refuse
from quiet_server import AdmissionHandler, QuietServer
from test_rbac import Deployer


def through(t, name="proxy", **hooks):
    """The kubeconfig of a proxy with these hooks."""
    proxy = Proxy(t.kube, t.token, **hooks)
    t.cleanup(proxy.stop)
    return t.file(f"kubeconfig-{name}", kubeconfig_text(proxy.url, {}, namespace=t.ns))


# -- --create-namespace

@test
def a_namespace_that_somebody_makes_meanwhile_is_taken(t):
    home = t.namespace("home", create=False)

    def meanwhile(number, method, path):
        if method == "POST" and path.startswith("/api/v1/namespaces?"):
            t.kube.namespace(home)
    t.run("install", "web", "-n", home, "-p", t.package("p", config_map("a")), "--create-namespace",
          kubeconfig=through(t, before=meanwhile))
    equal(t.owned("web", namespace=home), {"ConfigMap/a"})


@test
def a_namespace_that_is_being_deleted_meanwhile_is_not_taken(t):
    home = t.namespace("home", create=False)

    def meanwhile(number, method, path):
        if method == "POST" and path.startswith("/api/v1/namespaces?"):
            t.kube.namespace(home)
            t.kube.create("ConfigMap", home, config_map("held", finalizers=["example.com/hold"]))
            t.kube.delete("Namespace", None, home)
    t.cleanup(lambda: t.kube.patch("ConfigMap", home, "held", {"metadata": {"finalizers": None}}))
    t.refused("install", "web", "-n", home, "-p", t.package("p", config_map("a")), "--create-namespace",
              kubeconfig=through(t, before=meanwhile), says=[f"the namespace {home} is being deleted", "wait until it is gone"])
    equal(t.record("web", namespace=home), [])


@test
def a_namespace_that_a_webhook_denies_with_409_does_not_exist(t):
    home = t.namespace("home", create=False)

    class Handler(AdmissionHandler):
        def denies(self, request):
            if request["name"] == home:
                return {"code": 409, "reason": "AlreadyExists", "message": "the team has all its namespaces"}
            return None

    tls, bundle = certificate(t)
    server = QuietServer(Handler, tls)
    t.cleanup(server.stop)
    hook = f"{t.ns}-quota"
    t.kube.create("ValidatingWebhookConfiguration", None, {"metadata": {"name": hook}, "webhooks": [{
        "name": "quota.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
        "clientConfig": {"url": f"https://127.0.0.1:{server.port}/deny", "caBundle": base64.b64encode(bundle).decode()},
        "matchConditions": [{"name": "ours", "expression": f"object.metadata.name == '{home}'"}],
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"]}]}]})
    t.cleanup(lambda: t.kube.delete("ValidatingWebhookConfiguration", None, hook))
    t.kube.wait("the webhook is asked", lambda: t.kube.request("POST", "/api/v1/namespaces?dryRun=All", {
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}})[0] == 409)
    t.refused("install", "web", "-n", home, "-p", t.package("p", config_map("a")), "--create-namespace",
              says=["the team has all its namespaces", "while creating the release's namespace"])


# -- a record that may not be stored

def allow_secrets(t, count):
    t.kube.delete("ResourceQuota", t.ns, "secrets")
    t.kube.wait("no quota", lambda: not t.kube.get("ResourceQuota", t.ns, "secrets"))
    t.kube.create("ResourceQuota", t.ns, {"metadata": {"name": "secrets"}, "spec": {"hard": {"count/secrets": str(count)}}})
    t.kube.wait("it is in force", lambda: t.kube.get("ResourceQuota", t.ns, "secrets").get("status", {}).get("used"))


def without_ages(status):
    return {**status, "objects": [{**each, "ageSeconds": None} for each in status["objects"]]}


@test(waits=True)
def a_revision_that_a_quota_forbids_leaves_the_release_as_it_was(t):
    package, other = (t.package(name, config_map("settings", {"a": name})) for name in ("p", "q"))
    allow_secrets(t, 1)  # the anchor, and no revision
    t.refused("install", "web", "-p", package, says=["exceeded quota"])
    equal((t.owned("web"), t.record("web")), (set(), []), "after the install")
    allow_secrets(t, 2)
    t.run("install", "web", "-p", package)
    before = without_ages(t.run("status", "web", "-o", "json").json)
    t.refused("upgrade", "web", "-p", other, says=["exceeded quota"])
    equal(without_ages(t.run("status", "web", "-o", "json").json), before, "status after the upgrade")
    contains(t.run("recover", "web").out, "nothing unfinished")
    contains(t.run("upgrade", "web", "-p", package).out, "nothing was written")
    allow_secrets(t, 5)
    t.run("upgrade", "web", "-p", other)
    contains(t.run("status", "web").out, "v1")


# -- what the server refuses of an update

def rolling(replicas, strategy):
    body = workload("Deployment", "web")
    body["spec"].update(replicas=replicas, strategy=strategy)
    return body


@test
def an_update_that_the_server_refuses_is_known_before_anything_is_written(t):
    good = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    t.run("install", "shop", "-p", t.package("v0", config_map("cfg", {"a": "1"}), rolling(1, good)))
    for about, refused, words in (
            ("a strategy with another's fields", [rolling(1, {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})], "rollingUpdate"),
            ("too many annotations", [config_map("cfg", {"a": "2"}, annotations={f"a{i}": "x" * 30000 for i in range(10)})], "annotations")):
        package = t.package("bad", config_map("other"), *refused, *([config_map("cfg", {"a": "2"})] if refused[0]["kind"] != "ConfigMap" else []))
        mark = t.mark()
        contains(t.run("diff", "shop", "-p", package).out, "it is refused by the server", words)
        t.refused("upgrade", "shop", "-p", package, says=["is refused by the server", words])
        equal([r for r in t.requests(mark) if r.writes], [], about)
    equal(t.kube.get("ConfigMap", t.ns, "cfg")["data"], {"a": "1"})


@test
def a_first_install_that_the_server_refuses_writes_nothing(t):
    """Its schema fits, and its selector chooses other Pods than its own."""
    web = workload("Deployment", "web")
    web["spec"]["selector"]["matchLabels"] = {"app": "other"}
    mark = t.mark()
    package = t.package("p", config_map("cfg", {"a": "1"}), web)
    contains(t.run("diff", "shop", "-p", package).out, "conflict Deployment", "does not match template", "1 to create, 1 in conflict")
    t.refused("install", "shop", "-p", package, says=["Deployment", "does not match template"])
    equal([r for r in t.requests(mark) if r.writes and "dryRun" not in r.uri], [], "writes")
    equal((t.owned("shop"), t.record("shop")), (set(), []), "written")


@test
def who_may_not_change_all_of_it_changes_nothing_and_sees_what_would(t):
    t.run("install", "shop", "-p", t.package("v0", config_map("cfg", {"a": "1"}), rolling(1, {"type": "Recreate"})))
    verbs = ["get", "list", "watch", "create", "patch", "delete"]
    deployer = Deployer(t, "half", [
        {"apiGroups": [""], "resources": [kind], "verbs": verbs} for kind in ("secrets", "configmaps")] + [
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]}])
    changed = t.package("v1", config_map("cfg", {"a": "2"}), rolling(2, {"type": "Recreate"}))
    contains(t.run("diff", "shop", "-p", changed, kubeconfig=deployer.kubeconfig).out, "+  replicas: 2")
    mark = t.mark()
    t.refused("upgrade", "shop", "-p", changed, kubeconfig=deployer.kubeconfig, says=["Deployment", "forbidden", "cannot patch"])
    equal([r for r in t.requests(mark) if r.writes], [], "writes")


@test
def a_quota_that_is_raised_with_what_needs_it_is_waited_for(t):
    def package(number, kind):
        return t.package(f"v{number}", {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
                                        "spec": {"hard": {"services.nodeports": str(number)}}},
                         {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
                          "spec": {"type": kind, "ports": [{"port": 80}]}})
    t.run("install", "shop", "-p", package(0, "ClusterIP"))
    t.kube.wait("the quota is in force", lambda: t.kube.get("ResourceQuota", t.ns, "q").get("status", {}).get("hard"))
    t.run("upgrade", "shop", "-p", package(5, "NodePort"))
    equal(t.kube.get("Service", t.ns, "s")["spec"]["type"], "NodePort")


# -- 404

def html_404(what):
    """A proxy that lost its way for a moment."""
    def lost(number, method, path):
        if what(method, path):
            raise Refuse(404, {"Content-Type": "text/html"}, b"<html>no such page</html>")
    return lost


@test
def a_404_that_is_not_about_the_record_leaves_it(t):
    t.run("install", "web", "-p", t.package("p", config_map("a")))
    for number, part in enumerate(("/secrets/mistletoe.web.v0", "/secrets/mistletoe.web")):
        lost = html_404(lambda method, path, part=part: method == "DELETE" and path.endswith(part))
        t.refused("uninstall", "web", "--yes", kubeconfig=through(t, f"delete{number}", before=lost), says=["no such page"])
        check("mistletoe.web" in t.record("web"), "the record")
    t.run("uninstall", "web", "--yes")
    equal(t.record("web"), [])


@test
def a_404_that_is_not_about_the_release_does_not_say_that_there_is_none(t):
    package = t.package("p", config_map("a"))
    t.run("install", "web", "-p", package)
    lost = through(t, before=html_404(lambda method, path: method == "GET" and path.endswith("/secrets/mistletoe.web")))
    for arguments in (("status", "web"), ("upgrade", "web", "-p", package), ("install", "web", "-p", package)):
        failed = t.refused(*arguments, kubeconfig=lost, says=["no such page"])
        check("does not exist" not in failed.err, failed)


# -- 500

def lease(**spec):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"}, "spec": spec}


@test
def a_time_that_the_server_cannot_read_is_a_mistake_and_no_outage(t):
    for number, time in enumerate(("yesterday", "2026-01-01T00:00:00Z")):
        failed = t.refused("install", f"web{number}", "-p", t.package("p", config_map(f"a{number}"), lease(renewTime=time)),
                           says=["Lease", "is refused by the server", "parsing time", "00001.yaml"])
        check("trying the API server again" not in failed.err, failed)


# -- a lost anchor

@test
def a_record_without_its_anchor_is_not_taken_for_none(t):
    packages = [t.package(f"p{i}", config_map("a", {"key": str(i)})) for i in range(4)]
    t.run("install", "web", "-p", packages[0])
    for package in packages[1:]:
        t.run("upgrade", "web", "-p", package, "--history-max", "2")
    check("mistletoe.web.v0" not in t.record("web"), "v0 is kept, so that installing would meet it")
    t.kube.delete("Secret", t.ns, "mistletoe.web")
    mark = t.mark()
    for arguments in (("status",), ("history",), ("graph",), ("drift",), ("test",), ("rollback",), ("uninstall", "--yes"),
                      ("recover",), ("upgrade", "-p", packages[0]), ("install", "-p", packages[0]),
                      ("diff", "-p", packages[0])):
        verb, *rest = arguments
        t.refused(verb, "web", *rest, says=["has lost its Secret mistletoe.web", "--from-labels"])
    t.refused("inspect", "release", "web", says=["has lost its Secret mistletoe.web", "--from-labels"])
    equal([r for r in t.requests(mark) if r.writes], [], "writes")
    t.run("recover", "web", "--from-labels", "--yes")
    t.run("upgrade", "web", "-p", packages[0])
    t.run("uninstall", "web", "--yes")


# -- --replace

@test
def what_holds_data_is_not_replaced_and_the_hint_says_which_flag_does(t):
    def claim(mode):
        return t.package("p", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
                               "spec": {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}})
    t.run("install", "web", "-p", claim("ReadWriteOnce"))
    contains(t.refused("upgrade", "web", "-p", claim("ReadWriteMany")).err, "with --replace")
    failed = t.refused("upgrade", "web", "-p", claim("ReadWriteMany"), "--replace", says=["--delete-pvcs"])
    check("with --replace" not in failed.err, failed)
    t.run("upgrade", "web", "-p", claim("ReadWriteMany"), "--replace", "--delete-pvcs")


# -- adopting

@test
def the_diff_of_an_adoption_shows_that_kubectls_annotation_goes(t):
    name = "kubectl.kubernetes.io/last-applied-configuration"
    body = config_map("a", {"key": "1"})
    for kind, item in (("ConfigMap", body), ("Secret", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
                                                       "stringData": {"password": "hidden-value"}})):
        text = json.dumps(item)
        made = json.loads(text)
        made["metadata"]["annotations"] = {name: text}
        t.kube.create(kind, t.ns, made)
    package = t.package("p", body, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
                                    "data": {"password": base64.b64encode(b"hidden-value").decode()}})
    shown = t.run("diff", "web", "-p", package, "--adopt")
    equal(sum(line.startswith("-") and name in line for line in shown.out.splitlines()), 2, shown)
    fields = [{f["path"]: f for f in o["fields"]} for o in t.run("diff", "web", "-p", package, "--adopt", "-o", "json").json["objects"]]
    for each in fields:
        field = each[f'.metadata.annotations["{name}"]']
        check(field["before"] and field["after"] is None, field)
    check("hidden-value" not in shown.out and "hidden-value" not in json.dumps(fields), "a secret is shown")
    t.run("install", "web", "-p", package, "--adopt")
    for kind in ("ConfigMap", "Secret"):
        check(name not in t.kube.get(kind, t.ns, "a")["metadata"]["annotations"], "it is still there")


# -- what the plan itself changes of the admission

def limited_objects(t, most):
    """A policy of the release, and its binding."""
    name = f"{t.ns}-most"
    rules = [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]}]
    api = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    return [
        {**api, "kind": "ValidatingAdmissionPolicy", "spec": {
            "failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": f"object.spec.replicas <= {most}", "message": f"at most {most}"}]}},
        {**api, "kind": "ValidatingAdmissionPolicyBinding", "spec": {
            "policyName": name, "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}}}}}]


def limited(t, most, size, policy=True):
    """With what they judge."""
    objects = limited_objects(t, most) if policy else []
    return t.package(f"p{most}-{size}-{policy}", *objects, workload("Deployment", "web", replicas=size))


def is_at_most(t, most, name="web"):
    path = t.kube.path("Deployment", t.ns, name) + "?dryRun=All"
    return t.kube.request("PATCH", path, {"spec": {"replicas": most + 1}}, "application/merge-patch+json")[0] == 422


@test
def a_policy_that_the_same_change_loosens_or_drops_is_no_obstacle(t):
    t.run("install", "shop", "-p", limited(t, 3, 3))
    t.cleanup(lambda: t.run("uninstall", "shop", "--yes", code=None))
    t.kube.wait("the policy is enforced", lambda: is_at_most(t, 3))
    plan = t.run("upgrade", "shop", "-p", limited(t, 9, 5), "--dry-run")
    contains(plan.out, "at most 3", "is written first")
    t.run("upgrade", "shop", "-p", limited(t, 9, 5))
    t.kube.wait("the new one is enforced", lambda: is_at_most(t, 9))
    # One that stays has the last word, before anything is written.
    mark = t.mark()
    t.refused("upgrade", "shop", "-p", limited(t, 9, 20), says=["at most 9"])
    equal([r for r in t.requests(mark) if r.writes and "dryRun" not in r.uri], [], "writes")
    t.run("upgrade", "shop", "-p", limited(t, 9, 20, policy=False))
    equal(t.kube.get("Deployment", t.ns, "web")["spec"]["replicas"], 20)
    t.run("rollback", "shop", "1")
    t.kube.wait("it is enforced again", lambda: is_at_most(t, 9))
    t.run("rollback", "shop", "2")
    equal(t.kube.get("Deployment", t.ns, "web")["spec"]["replicas"], 20)
    equal(t.kube.get("ValidatingAdmissionPolicy", None, f"{t.ns}-most"), None)


# -- what the server refuses to delete

ALL_OF_MAPS = {"apiGroups": [""], "resources": ["configmaps"]}
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch", "create", "patch", "update", "delete"]}


@test
def who_may_not_delete_what_goes_changes_nothing(t):
    t.run("install", "shop", "-p", t.package("v0", config_map("cfg", {"a": "1"}), config_map("old")))
    deployer = Deployer(t, "keeper", [SECRETS, {**ALL_OF_MAPS, "verbs": ["get", "list", "watch", "create", "patch"]}])
    changed = t.package("v1", config_map("cfg", {"a": "2"}))
    mark = t.mark()
    contains(t.run("diff", "shop", "-p", changed, kubeconfig=deployer.kubeconfig).out, "delete ConfigMap")
    t.refused("upgrade", "shop", "-p", changed, kubeconfig=deployer.kubeconfig, says=["cannot delete resource", "configmaps"])
    equal([r for r in t.requests(mark) if r.writes and "dryRun" not in r.uri], [], "writes")
    t.run("upgrade", "shop", "-p", changed)
    equal(t.owned("shop"), {"ConfigMap/cfg"})


def hold(t, label):
    """No ConfigMap with that label is deleted; what lets go again."""
    name = f"{label}-{t.ns}"
    for kind, spec in (
            ("ValidatingAdmissionPolicy", {
                "failurePolicy": "Fail", "validations": [{"expression": "false", "message": "it is held"}],
                "matchConstraints": {"objectSelector": {"matchLabels": {label: t.ns}}, "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["DELETE"]}]}}),
            ("ValidatingAdmissionPolicyBinding", {"policyName": name, "validationActions": ["Deny"]})):
        t.kube.create(kind, None, {"metadata": {"name": name}, "spec": spec})
        t.cleanup(lambda kind=kind: t.kube.delete(kind, None, name))
    return lambda: t.kube.delete("ValidatingAdmissionPolicyBinding", None, name)


@test
def a_delete_that_admission_forbids_is_known_before(t):
    held, cfg = config_map("held", {"a": "1"}), config_map("cfg", {"a": "1"})
    held["metadata"]["labels"] = {"held": t.ns}
    t.run("install", "shop", "-p", t.package("v0", held, cfg))
    let_go = hold(t, "held")
    t.kube.wait("the policy is enforced", lambda: t.kube.request(
        "DELETE", t.kube.path("ConfigMap", t.ns, "held") + "?dryRun=All")[0] == 422)
    mark = t.mark()
    t.refused("upgrade", "shop", "-p", t.package("v1", cfg), says=["ConfigMap", "it is held", "mistletoe.dev/keep"])
    equal([r for r in t.requests(mark) if r.writes and "dryRun" not in r.uri], [], "writes")
    # What else is written may change the answer.
    plan = t.run("diff", "shop", "-p", t.package("v2", config_map("cfg", {"a": "2"})))
    contains(plan.out, "it is held")
    let_go()


@test
def what_could_not_be_made_again_is_not_deleted(t):
    fixed = {**config_map("fixed", {"a": "1"}), "immutable": True}
    t.run("install", "shop", "-p", t.package("v0", fixed, config_map("cfg", {"a": "1"})))
    deployer = Deployer(t, "half", [SECRETS, {**ALL_OF_MAPS, "verbs": ["get", "list", "watch", "patch", "delete"]}])
    changed = t.package("v1", {**fixed, "data": {"a": "2"}}, config_map("cfg", {"a": "2"}))
    t.refused("upgrade", "shop", "-p", changed, "--replace", kubeconfig=deployer.kubeconfig, says=["cannot create resource"])
    equal([t.kube.get("ConfigMap", t.ns, name)["data"] for name in ("fixed", "cfg")], [{"a": "1"}] * 2)
    t.run("upgrade", "shop", "-p", changed, "--replace")
    equal(t.kube.get("ConfigMap", t.ns, "fixed")["data"], {"a": "2"})


@test
def a_policy_that_refuses_what_is_new_and_changes_with_it_comes_first(t):
    """A Deployment of the old policy's bound and one beyond it, which the upgrade adds with the new policy."""
    def package(most, *sizes):
        objects = limited_objects(t, most) + [workload("Deployment", f"web{i}", replicas=size) for i, size in enumerate(sizes)]
        return t.package(f"n{most}-{len(sizes)}", *objects)
    t.run("install", "shop", "-p", package(3, 1))
    t.cleanup(lambda: t.run("uninstall", "shop", "--yes", code=None))
    t.kube.wait("the policy is enforced", lambda: is_at_most(t, 3, "web0"))
    t.run("upgrade", "shop", "-p", package(9, 2, 5))
    equal(t.kube.get("Deployment", t.ns, "web1")["spec"]["replicas"], 5)
    t.run("rollback", "shop", "0")
    t.kube.wait("the old one is enforced", lambda: is_at_most(t, 3, "web0"))
    t.run("rollback", "shop", "1")
    equal(t.kube.get("Deployment", t.ns, "web1")["spec"]["replicas"], 5)


@test
def going_back_leaves_what_admission_forbids_to_delete(t):
    held = config_map("held", {"a": "1"})
    held["metadata"]["labels"] = {"held": t.ns}
    t.run("install", "shop", "-p", t.package("v0", config_map("cfg", {"a": "1"})))
    t.run("upgrade", "shop", "-p", t.package("v1", config_map("cfg", {"a": "2"}), held, config_map("more")))
    let_go = hold(t, "held")
    t.kube.wait("the policy is enforced", lambda: t.kube.request(
        "DELETE", t.kube.path("ConfigMap", t.ns, "held") + "?dryRun=All")[0] == 422)
    contains(t.run("rollback", "shop", "0", "--dry-run").out, "it is held")
    done = t.run("rollback", "shop", "0", code=3)
    contains(done.out, "but for 1 object", "1 left as it is")
    equal((t.kube.get("ConfigMap", t.ns, "cfg")["data"], t.kube.get("ConfigMap", t.ns, "more")), ({"a": "1"}, None))
    let_go()
    t.kube.wait("it may be deleted", lambda: t.kube.request(
        "DELETE", t.kube.path("ConfigMap", t.ns, "held") + "?dryRun=All")[0] == 200)
    t.run("rollback", "shop", "0")
    equal(t.kube.get("ConfigMap", t.ns, "held"), None)


@test
def who_may_not_delete_uninstalls_nothing(t):
    t.run("install", "shop", "-p", t.package("v0", config_map("cfg", {"a": "1"}), config_map("other")))
    deployer = Deployer(t, "keeper", [SECRETS, {**ALL_OF_MAPS, "verbs": ["get", "list", "watch", "create", "patch"]}])
    mark = t.mark()
    t.refused("uninstall", "shop", "--yes", kubeconfig=deployer.kubeconfig, says=["cannot delete resource", "configmaps"])
    equal([r for r in t.requests(mark) if r.writes], [], "writes")
    t.run("uninstall", "shop", "--yes")


@test
def an_uninstall_that_a_policy_forbids_deletes_nothing(t):
    held = config_map("held", {"a": "1"})
    held["metadata"]["labels"] = {"held": t.ns}
    t.run("install", "shop", "-p", t.package("v0", held, config_map("cfg", {"a": "1"}), config_map("early")))
    let_go = hold(t, "held")
    held_path = t.kube.path("ConfigMap", t.ns, "held") + "?dryRun=All"
    t.kube.wait("the policy is enforced", lambda: t.kube.request("DELETE", held_path)[0] == 422)
    mark = t.mark()
    t.refused("uninstall", "shop", "--yes", says=["ConfigMap", "it is held", "mistletoe.dev/keep"])
    equal([r for r in t.requests(mark) if r.writes and "dryRun" not in r.uri], [], "writes")
    let_go()
    t.kube.wait("it may be deleted", lambda: t.kube.request("DELETE", held_path)[0] == 200)
    t.run("uninstall", "shop", "--yes")
    equal(t.owned("shop"), set())


@test
def an_uninstall_gets_past_its_own_policy(t):
    """The policy goes first, and what the server judges by it for a moment longer is sent again."""
    held = config_map("held", {"a": "1"})
    held["metadata"]["labels"] = {"held": t.ns}
    name, api = f"own-{t.ns}", {"apiVersion": "admissionregistration.k8s.io/v1"}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["DELETE"]}]
    policy = {**api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
        "failurePolicy": "Fail", "validations": [{"expression": "false", "message": "it is held"}],
        "matchConstraints": {"objectSelector": {"matchLabels": {"held": t.ns}}, "resourceRules": rules}}}
    binding = {**api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
               "spec": {"policyName": name, "validationActions": ["Deny"]}}
    for each in (policy, binding):
        t.cleanup(lambda each=each: t.kube.delete(each["kind"], None, name))
    t.run("install", "shop", "-p", t.package("v0", held, policy, binding))
    t.kube.wait("the policy is enforced", lambda: t.kube.request(
        "DELETE", t.kube.path("ConfigMap", t.ns, "held") + "?dryRun=All")[0] == 422)
    contains(t.run("uninstall", "shop", "--dry-run").out, "it is held", "is deleted first")
    t.run("uninstall", "shop", "--yes")
    equal(t.owned("shop"), set())


@test
def a_denial_is_a_denial_whatever_status_it_has(t):
    code = {"now": 409}

    class Handler(AdmissionHandler):
        def denies(self, request):
            return {"code": code["now"], "message": "it is in use"}

    tls, bundle = certificate(t)
    server = QuietServer(Handler, tls)
    t.cleanup(server.stop)
    hook = f"{t.ns}-use"
    t.run("install", "shop", "-p", t.package("v0", config_map("used", {"a": "1"}), config_map("cfg", {"a": "1"})))
    t.kube.create("ValidatingWebhookConfiguration", None, {"metadata": {"name": hook}, "webhooks": [{
        "name": "use.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
        "clientConfig": {"url": f"https://127.0.0.1:{server.port}/deny", "caBundle": base64.b64encode(bundle).decode()},
        "matchConditions": [{"name": "ours", "expression": f"object.metadata.namespace == '{t.ns}' && object.metadata.name == 'used'"}],
        "rules": [{"operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}]})
    t.cleanup(lambda: t.kube.delete("ValidatingWebhookConfiguration", None, hook))
    t.kube.wait("the webhook is asked", lambda: t.kube.request(
        "PATCH", t.kube.path("ConfigMap", t.ns, "used") + "?dryRun=All", {"data": {"a": "3"}}, "application/merge-patch+json")[0] == 409)
    for code["now"] in (401, 404, 409, 413, 429, 500, 503):
        mark = t.mark()
        t.refused("upgrade", "shop", "-p", t.package("v1", config_map("used", {"a": "2"}), config_map("cfg", {"a": "2"})),
                  says=["is forbidden by the server", "it is in use"])
        equal([r for r in t.requests(mark) if r.writes], [], f"writes at {code['now']}")
