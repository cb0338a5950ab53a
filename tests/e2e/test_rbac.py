"""The roles of docs/rbac.md are enough, and no verb of them is too much."""

from guides import ROOT, blocks
from harness import check, equal, kubeconfig_text, test, workload

GROUP = "/apis/rbac.authorization.k8s.io/v1"
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
           "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}


def documented(t):
    """The roles and bindings of the document, by name."""
    found = {}
    for block in blocks(ROOT / "docs/rbac.md"):
        if block.language == "yaml":
            file = t.file("role.yaml", block.text)
            for item in t.run("generate", "x", "-p", file, "-o", "json").json["items"]:
                found[item["metadata"]["name"]] = item
    return found


class Deployer:
    """A ServiceAccount with some rules in one namespace; its commands."""

    def __init__(self, t, name, rules, namespace=None, cluster=False):
        self.t, self.namespace, self.failed = t, namespace or t.ns, []
        user = f"system:serviceaccount:{self.namespace}:{name}"
        t.kube.create("ServiceAccount", self.namespace, {"metadata": {"name": name}})
        place, kind, unique = (None, "ClusterRole", f"{self.namespace}-{name}") if cluster else (self.namespace, "Role", name)
        self.create(f"{kind}", place, {"metadata": {"name": unique}, "rules": rules})
        self.create(f"{kind}Binding", place, {
            "metadata": {"name": unique}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": unique},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}]})
        for rule in rules:
            for verb in rule["verbs"]:
                t.kube.wait(f"{name} may {verb} {rule['resources']}", lambda: self.may(user, rule, verb))
        answer = t.kube.checked("POST", t.kube.path("ServiceAccount", self.namespace, name) + "/token",
                                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                 "spec": {"expirationSeconds": 3600}})
        self.kubeconfig = t.file(f"kubeconfig-{name}-{self.namespace}",
                                 kubeconfig_text(t.kube.server, {"token": answer["status"]["token"]}, t.kube.ca, self.namespace))

    def create(self, kind, place, body):
        address = f"{GROUP}/{kind.lower()}s"
        if place is None:
            self.t.kube.checked("POST", address, body)
            self.t.cleanup(lambda: self.t.kube.request("DELETE", f"{address}/{body['metadata']['name']}"))
        else:
            self.t.kube.create(kind, place, body)

    def may(self, user, rule, verb):
        resource, _, part = rule["resources"][0].partition("/")
        attributes = {"namespace": self.namespace, "verb": verb, "group": rule["apiGroups"][0], "resource": resource}
        review = self.t.kube.checked("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": {**attributes, **({"subresource": part} if part else {})}}})
        return review["status"]["allowed"]

    def run(self, *arguments):
        """Remembers what failed."""
        outcome = self.t.run(*arguments, "-n", self.namespace, code=None, kubeconfig=self.kubeconfig)
        if outcome.code != 0:
            self.failed.append(outcome)
        return outcome


def package(t, name, replicas=1, service=True, state=None):
    return t.package(name, workload("Deployment", "web", replicas=replicas, state=state), *([SERVICE] if service else []))


def as_administrator(t, namespace, *arguments):
    return t.run(*arguments, "-n", namespace)


def lists(t, deployer):
    as_administrator(t, deployer.namespace, "install", "shop", "-p", package(t, "p"))
    deployer.run("list")


def lists_all(t, deployer):
    deployer.run("list", "-A")


def looks(t, deployer):
    as_administrator(t, deployer.namespace, "install", "shop", "-p", package(t, "p"))
    status = deployer.run("status", "shop", "-o", "json")
    if status.code == 0 and any(o["health"] == "unknown" for o in status.json["objects"]):
        deployer.failed.append(status)
    for command in (["drift", "shop"], ["history", "shop"], ["list"], ["inspect", "release", "shop"]):
        deployer.run(*command)


def explains(t, deployer):
    as_administrator(t, deployer.namespace, "install", "shop", "-p", package(t, "sick", state="crash-loop"))
    t.kube.wait("it crashes", lambda: any(
        "waiting" in status.get("state", {}) for pod in t.kube.list("Pod", deployer.namespace)
        for status in pod.get("status", {}).get("containerStatuses", [])))
    status = deployer.run("status", "shop")
    if "may not" in status.out or "forbidden" in status.out or "CrashLoopBackOff" not in status.out:
        deployer.failed.append(status)


def installs(t, deployer):
    deployer.run("install", "shop", "-p", package(t, "p"))


def killed_upgrade(t, namespace):
    """Leaves a lock, and a revision that did not end."""
    process = t.start("upgrade", "shop", "-p", package(t, f"never-{namespace}", state="never-ready"), "--wait", "-n", namespace,
                      term_ms=900)
    t.kube.wait("it waits", lambda: (t.kube.get("Deployment", namespace, "web")["spec"]["template"]["metadata"]
                                     .get("annotations", {}).get("mistletoe.dev/dev-state")))
    process.kill()
    process.wait()


def upgrades(t, deployer):
    """Everything, each command only if those before it went well."""
    plan = t.dir / f"plan-{deployer.namespace}"
    steps = (["install", "shop", "-p", package(t, "p"), "--wait"],
             ["diff", "shop", "-p", package(t, "two", replicas=2)],
             ["plan", "shop", "-p", package(t, "two", replicas=2), "-o", str(plan)],
             ["apply-plan", str(plan), "--wait"],
             ["upgrade", "shop", "-p", package(t, "less", service=False), "--wait", "--history-max", "1"],
             ["rollback", "shop", "--wait"],
             ["drift", "shop", "--fix"],
             ["recover", "shop", "--undo", "--yes", "--lock-wait", "20s"],
             ["uninstall", "shop", "--yes", "--wait"])
    for step in steps:
        if step[0] == "recover":
            killed_upgrade(t, deployer.namespace)
        if deployer.run(*step).code != 0:
            return


SCENARIOS = {"mistctl-list": lists, "mistctl-list-all": lists_all, "mistctl-status": looks, "mistctl-explain": explains,
             "mistctl-install": installs, "mistctl-upgrade": upgrades}


def reduced(rules):
    """(what is missing, the rules without it), for each verb of each resource."""
    single = [{"apiGroups": rule["apiGroups"], "resources": [resource], "verbs": rule["verbs"]}
              for rule in rules for resource in rule["resources"]]
    for i, rule in enumerate(single):
        for verb in rule["verbs"]:
            rest = [other for other in rule["verbs"] if other != verb]
            yield f"{verb} {rule['resources'][0]}", single[:i] + ([{**rule, "verbs": rest}] if rest else []) + single[i + 1:]


def try_role(t, role, roles, number, rules):
    extra = roles["mistctl-status"]["rules"] if role == "mistctl-explain" else []
    namespace = t.namespace(f"{role.removeprefix('mistctl-')}-{number}"[-20:])
    deployer = Deployer(t, "deployer", [*extra, *rules], namespace, cluster=roles[role]["kind"] == "ClusterRole")
    SCENARIOS[role](t, deployer)
    return deployer.failed


def smallest(t, role):
    roles = documented(t)
    check(roles["mistctl"]["roleRef"]["name"] in roles, "the binding names a role that is not there")
    rules = roles[role]["rules"]
    failed = try_role(t, role, roles, 0, rules)
    check(not failed, "it is not enough:", *failed)
    idle = [missing for number, (missing, rest) in enumerate(reduced(rules), 1) if not try_role(t, role, roles, number, rest)]
    equal(idle, [], f"what {role} does not need")


@test
def the_role_to_list_is_the_smallest(t):
    smallest(t, "mistctl-list")
    smallest(t, "mistctl-list-all")


@test
def the_role_for_status_is_the_smallest(t):
    smallest(t, "mistctl-status")


@test
def the_role_to_explain_is_the_smallest(t):
    smallest(t, "mistctl-explain")


@test
def the_role_to_install_is_the_smallest(t):
    smallest(t, "mistctl-install")


@test
def the_role_to_upgrade_is_the_smallest(t):
    smallest(t, "mistctl-upgrade")


@test
def a_deployer_that_makes_its_namespace(t):
    rules = documented(t)["mistctl-install"]["rules"]
    codes = {}
    for number, verbs in enumerate((["get", "create"], ["get"], ["create"])):
        made = t.namespace(f"made-{number}", create=False)
        deployer = Deployer(t, "deployer", [*rules, {"apiGroups": [""], "resources": ["namespaces"], "verbs": verbs}],
                            t.namespace(f"home-{number}"), cluster=True)
        codes["+".join(verbs)] = t.run("install", "shop", "-p", package(t, "p"), "-n", made, "--create-namespace", code=None,
                                       kubeconfig=deployer.kubeconfig).code
    equal(codes, {"get+create": 0, "get": 1, "create": 1})
