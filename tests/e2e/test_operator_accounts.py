"""Blueprints whose work is done with the rights of a ServiceAccount of their own."""
from harness import check, contains, equal, kubeconfig_text, test
from test_operator import Operator, writes
from test_operator_faults import GROUP, ONE, blueprint, kind, make, wait_made, wait_torn_down

ANNOTATION = "mistletoe.dev/service-account"


def annotate(t, account):
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"annotations": {ANNOTATION: account}}})


def grant(t, account, text):
    """What `blueprint rbac` prints for a blueprint whose child is a ConfigMap."""
    words = {"GROUP": GROUP.format(ns=t.ns), "VERSION": "v1", "KIND": "ConfigMap", "BODY": 'data = {a = "1"}'}
    for word, value in words.items():
        text = text.replace(word, value)
    directory = t.files(f"{account}/app", {"blueprint.ncl": text})
    printed = t.run("blueprint", "rbac", directory, "-n", t.ns, "--run-as", account, "-o", "json").json
    for each in printed["manifests"]:
        # Names of roles are those of blueprints, and tests share the cluster.
        each["metadata"]["name"] = f"{t.ns}-{account}"
        each.get("roleRef", {})["name"] = f"{t.ns}-{account}"
        namespace = each["metadata"].get("namespace")
        t.kube.create(each["kind"], namespace, each)
        t.cleanup(lambda each=each, namespace=namespace: t.kube.delete(each["kind"], namespace, each["metadata"]["name"]))


def message(t):
    return t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("annotations", {}).get("mistletoe.dev/message", "")


def why(t, where):
    conditions = t.kube.checked("GET", f"{where}/web").get("status", {}).get("conditions", [])
    return next((c["message"] for c in conditions if c["type"] == "Ready"), "")


@test
def a_blueprint_gets_no_more_than_its_account_has(t):
    where = kind(t, "Thing", "things")
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "worker"}})
    blueprint(t, ONE)
    annotate(t, "worker")
    make(t, where)
    operator = Operator(t)
    t.kube.wait("the blueprint says what it lacks", lambda: "things" in message(t))
    contains(message(t), f"system:serviceaccount:{t.ns}:worker", "cannot list")
    check(t.kube.get("ConfigMap", t.ns, "web") is None, "nothing was made")

    mark = t.mark()
    grant(t, "worker", ONE)
    wait_made(t)
    made = [r for r in writes(t, mark) if "/configmaps/web" in r.uri]
    equal({r.on_behalf_of for r in made}, {f"system:serviceaccount:{t.ns}:worker"}, "who made it")
    t.kube.wait("the message is gone", lambda: message(t) == "")

    # A child that the account may not make: the server's words, and nothing else happens.
    secret = ONE.replace('metadata.name = instance', 'metadata.name = "secret-" ++ instance')
    for word, value in {"GROUP": GROUP.format(ns=t.ns), "VERSION": "v1", "KIND": "Secret", "BODY": "type = \"Opaque\""}.items():
        secret = secret.replace(word, value)
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": secret}})
    t.kube.wait("the status says what it lacks", lambda: "secrets" in why(t, where) and "worker" in why(t, where))
    check(t.kube.get("Secret", t.ns, "secret-web") is None, "nothing was made")
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    equal(operator.stop(), 0, "exit code")


@test
def a_blueprint_changes_its_account_while_it_works(t):
    where = kind(t, "Thing", "things")
    for name in ("one", "two"):
        t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": name}})
        grant(t, name, ONE)
    blueprint(t, ONE)
    make(t, where)
    operator = Operator(t, "--default-service-account", "one")

    def writer(account):
        mark = t.mark()
        t.kube.delete("ConfigMap", t.ns, "web")
        wait_made(t)
        made = {r.on_behalf_of for r in writes(t, mark) if "/configmaps/web" in r.uri}
        return made == {f"system:serviceaccount:{t.ns}:{account}"}

    wait_made(t)
    t.kube.wait("the default account works", lambda: writer("one"))
    annotate(t, "two")
    t.kube.wait("the named account works", lambda: writer("two"))
    # A name that is none can't smuggle anything into a request.
    annotate(t, "two\r\nImpersonate-Group: system:masters")
    t.kube.wait("it is refused", lambda: "is not the name of a ServiceAccount" in message(t))
    check(writer("two"), "the last good account goes on")
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    equal(operator.stop(), 0, "exit code")


@test
def an_account_is_named_before_it_has_its_rights(t):
    """The order of the documentation: the annotation, and then what `blueprint rbac` prints."""
    where = kind(t, "Thing", "things")
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "worker"}})
    blueprint(t, ONE)
    make(t, where)
    operator = Operator(t)
    wait_made(t)
    annotate(t, "worker")
    t.kube.wait("the blueprint says what it lacks", lambda: "things" in message(t))
    grant(t, "worker", ONE)
    t.kube.wait("the message is gone", lambda: message(t) == "")
    mark = t.mark()
    t.kube.delete("ConfigMap", t.ns, "web")
    wait_made(t)
    made = {r.on_behalf_of for r in writes(t, mark) if "/configmaps/web" in r.uri}
    equal(made, {f"system:serviceaccount:{t.ns}:worker"}, "who made it")
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    equal(operator.stop(), 0, "exit code")


@test
def an_operator_that_impersonates_needs_little_itself(t):
    """The operator's own rights are those that `blueprint rbac --run-as` prints, and its requests are within them."""
    where = kind(t, "Thing", "things")
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "mistletoe-operator"}})
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "worker"}})
    grant(t, "worker", ONE)
    blueprint(t, ONE)
    annotate(t, "worker")
    make(t, where)
    path = f"/api/v1/namespaces/{t.ns}/serviceaccounts/mistletoe-operator/token"
    answer = t.kube.checked("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    operator = Operator(t, "--kubeconfig", t.file("limited.yaml", kubeconfig_text(
        t.kube.server, {"token": answer["status"]["token"]}, t.kube.ca, t.ns)))
    wait_made(t)
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    check("orbidden" not in operator.said() and "cannot" not in operator.said(), operator.said())
