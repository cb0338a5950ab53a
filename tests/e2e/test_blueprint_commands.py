"""mistctl blueprint: what init writes runs with the rights that rbac prints; status and why decide as the operator does."""
import json
import pathlib
import subprocess

from harness import check, contains, equal, kubeconfig_text, test
from test_demo import ROOT
from test_operator import Operator, create, define, wait_gone, wait_ready

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def valid(value, schema, where="$"):
    """Holds JSON against what the schemas of schemas/cli use."""
    if "enum" in schema:
        check(value in schema["enum"], where, value)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}
    if types:
        check(any(isinstance(value, kinds[name]) and (name != "integer" or value is not True) for name in types), where, value, types)
    if isinstance(value, dict) and "properties" in schema:
        check(set(schema.get("required", [])) <= set(value), where, "lacks", set(schema.get("required", [])) - set(value))
        if schema.get("additionalProperties", True) is False:
            check(set(value) <= set(schema["properties"]), where, "has", set(value) - set(schema["properties"]))
        for name, item in value.items():
            valid(item, schema["properties"].get(name, {}), f"{where}.{name}")
    if isinstance(value, list):
        for number, item in enumerate(value):
            valid(item, schema.get("items", {}), f"{where}[{number}]")


def printed(t, name, *arguments, code=0):
    """What a command prints with -o json, held against its schema."""
    value = t.run("blueprint", name, *arguments, "-o", "json", code=code).json
    valid(value, json.loads((ROOT / f"schemas/cli/blueprint-{name}.schema.json").read_text()))
    return value


def grant(t, manifests):
    """Writes roles as an administrator does; they are removed with the test."""
    for each in json.loads(json.dumps(manifests)):
        kind, place = each["kind"], each["metadata"].get("namespace")
        # Tests that run at once have cluster roles of their own.
        if not place:
            each["metadata"]["name"] += "-" + t.ns
        if each.get("roleRef", {}).get("kind") == "ClusterRole":
            each["roleRef"]["name"] += "-" + t.ns
        address = f"{RBAC}/namespaces/{place}/{kind.lower()}s" if place else f"{RBAC}/{kind.lower()}s"
        t.kube.checked("POST", address, each)
        t.cleanup(lambda address=address, each=each: t.kube.request("DELETE", f"{address}/{each['metadata']['name']}"))


def account(t, name):
    """The kubeconfig of a ServiceAccount of the test's namespace without rights, and its name in the audit log."""
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": name}})
    return config_of(t, name), f"system:serviceaccount:{t.ns}:{name}"


def config_of(t, name):
    """The kubeconfig of a ServiceAccount that is there."""
    answer = t.kube.checked("POST", t.kube.path("ServiceAccount", t.ns, name) + "/token",
                            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                             "spec": {"expirationSeconds": 3600}})
    return t.file(f"kubeconfig-{name}", kubeconfig_text(t.kube.server, {"token": answer["status"]["token"]}, t.kube.ca, t.ns))


class OperatorAs(Operator):
    """The operator with another identity than the test's."""

    def __init__(self, t, kubeconfig):
        self.kubeconfig = kubeconfig
        super().__init__(t)

    def start(self):
        program = pathlib.Path(self.t.mistctl).with_name("mistletoe-operator")
        self.process = subprocess.Popen([program, "-n", self.t.ns], env=self.t.environment(self.kubeconfig),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log.open("ab"))


def granted(manifests):
    """(verb, group, resource) of every rule."""
    return {(verb, group, resource) for each in manifests if each["kind"] in ("Role", "ClusterRole") for rule in each["rules"]
            for verb in rule["verbs"] for group in rule["apiGroups"] for resource in rule["resources"]}


def used(t, user, mark):
    found = set()
    for request in t.requests(mark, user):
        path = request.uri.split("?")[0].strip("/").split("/")
        if path[0] not in ("api", "apis") or len(path) < 3:
            continue  # discovery
        group, rest = ("", path[2:]) if path[0] == "api" else (path[1], path[3:])
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            rest = rest[2:]
        if rest:
            found.add((request.verb, group, "/".join([rest[0], *rest[2:3]])))
    return found


@test
def a_blueprint_of_init_runs_with_the_rights_that_rbac_prints(t):
    group = f"{t.ns}.example.com"
    where = str(t.dir / "web-app")
    t.run("blueprint", "init", "web-app", where, "--group", group)
    equal(printed(t, "check", where)["blueprints"][0]["findings"], [], "findings")
    valid(t.run("blueprint", "test", where, "-o", "json").json, json.loads((ROOT / "schemas/cli/blueprint-test.schema.json").read_text()))
    printed(t, "graph", where)
    played = printed(t, "simulate", where, "--instance", f"{where}/instance.yaml")
    equal(played["steps"][0]["ready"]["status"], "True", "the simulation's end")
    rights = printed(t, "rbac", where, "-n", t.ns, "--service-account", "worker")
    equal((rights["unknown"], rights["guessed"]), ([], []), "what isn't known")

    t.run("install", "kinds", "-p", f"{where}/crd.yaml", "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    config, user = account(t, "worker")
    grant(t, rights["manifests"])
    t.kube.wait("the account has its rights", lambda: allowed(t, user, "list", "", "configmaps") and
                allowed(t, user, "patch", group, "webapps"))
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "web-app", "labels": {"mistletoe.dev/blueprint": "true"}},
                                      "data": {"blueprint.ncl": (pathlib.Path(where) / "blueprint.ncl").read_text()}})
    mark = t.mark()
    operator = OperatorAs(t, config)
    address = f"/apis/{group}/v1/namespaces/{t.ns}/webapps"
    t.kube.checked("POST", address, {"apiVersion": f"{group}/v1", "kind": "WebApp", "metadata": {"name": "web"},
                                     "spec": {"image": "nginx:1", "replicas": 2, "public": True}})
    wait_ready(t, address)
    # The same rounds as in the simulation, but for what controllers take their time for.
    actions = [action.split()[1] for round in played["steps"][0]["rounds"] for action in round["actions"]
               if action.startswith("create")]
    made = [line.split("created ")[1].split()[0] for line in operator.said().splitlines() if " created " in line]
    equal(made, actions, "what was created, in that order")

    graph = printed(t, "status", "webapp/web")
    equal({node["name"]: node["state"] for node in graph["nodes"]},
          {"deployment": "Ready", "public": "Ready", "service": "Ready"}, "states")
    equal((graph["ready"]["status"], graph["unknown"]), ("True", []), "the operator's word")
    t.kube.delete("ConfigMap", t.ns, "web-public")
    t.kube.wait("it is back", lambda: t.kube.get("ConfigMap", t.ns, "web-public") is not None)
    t.kube.checked("PATCH", f"{address}/web", {"spec": {"public": False}}, content_type="application/merge-patch+json")
    t.kube.wait("what isn't wanted goes", lambda: t.kube.get("ConfigMap", t.ns, "web-public") is None)
    t.kube.checked("DELETE", f"{address}/web")
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{address}/web")[0] == 404)
    t.kube.wait("the blueprint is let go", lambda: not (t.kube.get("ConfigMap", t.ns, "web-app") or {"metadata": {}})[
        "metadata"].get("finalizers"))
    equal([line for line in operator.said().splitlines() if "forbidden" in line.lower()], [], "what it wasn't allowed to do")
    # Nothing is allowed that it doesn't do, but for reading what somebody took its label from, and for the creation that
    # an apply may be, which the audit log has as a patch; and for saying why a workload isn't ready, which this one was.
    diagnosis = {("list", "", "pods"), ("list", "", "events"), ("list", "apps", "replicasets")}
    idle = {entry for entry in granted(rights["manifests"]) - used(t, user, mark) if entry[0] not in ("get", "create")} - diagnosis
    equal(idle, set(), "rights that aren't used")


def allowed(t, user, verb, group, resource):
    review = t.kube.checked("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": {"namespace": t.ns, "verb": verb, "group": group, "resource": resource}}})
    return review["status"]["allowed"]


@test
def status_and_why_say_what_an_instance_waits_for(t):
    address = define(t)
    t.kube.create("Service", t.ns, {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 1}]}})
    create(t, address)

    # Before any operator runs: what it would do.
    web = f"app.{t.ns}.example.com/web"  # other tests have Apps, too
    told = t.run("blueprint", "status", web)
    contains(told.out, f"App {t.ns}/web: the operator has not written its status yet", f"blueprint {t.ns}/app",
             f"service  Failed  Service {t.ns}/web", "exists already and is nobody's: delete it, or let the node adopt it",
             "deployment  Waiting", "waits for spec.clusterIP of service")
    Operator(t)
    t.kube.wait("the operator says why", lambda: "exists already" in t.run("blueprint", "status", web).out.split("\n")[0])
    mark = t.mark()
    why = printed(t, "why", "deployment/web")
    equal([r for r in t.requests(mark) if r.writes], [], "writes")
    equal((why["exists"], len(why["nodes"])), (False, 1), "the Deployment")
    node = why["nodes"][0]["node"]
    equal((node["name"], node["state"], node["reasons"]), ("deployment", "Waiting", ["instance → service → deployment"]), "its node")

    t.kube.delete("Service", t.ns, "web")
    wait_ready(t, address)
    graph = printed(t, "status", web)
    equal([node["state"] for node in graph["nodes"]], ["Ready"] * 3, "states")
    contains(t.run("blueprint", "why", "deployment/web").out, "is there", "made by the node deployment",
             "instance → service → deployment", "Ready")

    # An object that isn't wanted, one of nobody, and an instance that isn't there.
    t.kube.checked("PATCH", f"{address}/web", {"spec": {"publish": False}}, content_type="application/merge-patch+json")
    t.kube.wait("it is gone", lambda: t.kube.get("ConfigMap", t.ns, "web-address") is None)
    contains(t.run("blueprint", "why", "configmap/web-address", "--instance", "app/web").out, "is not there",
             "not wanted: instance → address (when spec.publish): that isn't so")
    contains(t.run("blueprint", "why", "secret/none").out, "Secret %s/none is not there" % t.ns,
             "no node makes it or looks at it (1 instance looked at)")
    t.refused("blueprint", "status", "app/none", says=["none"])
    t.refused("blueprint", "status", "nothing/web", says=["no blueprint is for the kind nothing", "App"])
    t.refused("blueprint", "status", "web", says=["is not KIND/NAME"], code=2)

    # Suspended, and going.
    t.kube.checked("PATCH", f"{address}/web", {"metadata": {"annotations": {"mistletoe.dev/suspend": "true"}}},
                   content_type="application/merge-patch+json")
    t.kube.wait("it is suspended", lambda: printed(t, "status", "app/web")["ready"]["reason"] == "Suspended")
    check(printed(t, "status", "app/web")["suspended"], "it isn't said to be suspended")
    t.kube.checked("PATCH", f"{address}/web", {"metadata": {"annotations": {"mistletoe.dev/suspend": None}}},
                   content_type="application/merge-patch+json")
    t.kube.patch("Service", t.ns, "web", {"metadata": {"finalizers": ["example.com/hold"]}})
    t.kube.checked("DELETE", f"{address}/web")
    t.kube.wait("the Service goes last", lambda: "deletionTimestamp" in t.kube.get("Service", t.ns, "web")["metadata"])
    graph = printed(t, "status", "app/web")
    check(graph["deleting"], "it isn't said to be deleted")
    equal([one["object"]["name"] for one in graph["leaving"]], ["web"], "what is left")
    contains(graph["leaving"][0]["why"], "example.com/hold")
    t.kube.patch("Service", t.ns, "web", {"metadata": {"finalizers": None}})
    wait_gone(t, address)


@test
def a_kind_that_two_groups_have_is_the_one_whose_instance_is_there(t):
    address = define(t)
    group = address.split("/")[2]
    crd = (ROOT / "examples/blueprints/app/crd.yaml").read_text()
    # Its namespace is looked at first.
    other = t.namespace("-0")
    t.run("install", "others", "-p", t.file("crd2.yaml", crd.replace("example.com", f"a.{group}")), "--wait")
    t.cleanup(lambda: t.run("uninstall", "others", "--delete-crds", "--yes"))
    text = t.kube.get("ConfigMap", t.ns, "app")["data"]["blueprint.ncl"]
    t.kube.create("ConfigMap", other, {"metadata": {"name": "app", "labels": {"mistletoe.dev/blueprint": "true"}},
                                       "data": {"blueprint.ncl": text.replace(f'"{group}"', f'"a.{group}"')}})
    t.refused("blueprint", "status", "app/web", says=["web", "not found"])
    create(t, address)
    contains(t.run("blueprint", "status", "app/web").out, f"blueprint {t.ns}/app")
    contains(t.run("blueprint", "why", "service/web", "--instance", "app/web").out, "made by the node service", f"blueprint {t.ns}/app")
    create(t, address.replace(group, f"a.{group}"))
    t.refused("blueprint", "status", "app/web", says=["several kinds", f"apps.{group}/web", f"apps.a.{group}/web"], code=2)
    contains(t.run("blueprint", "status", f"apps.a.{group}/web").out, f"blueprint {other}/app")
    for each in (address, address.replace(group, f"a.{group}")):
        t.kube.checked("DELETE", f"{each}/web")


# Characters that mean something to Nickel, or whose indentation it would take away.
AWKWARD = {"lines": "a\n  b\n\nc\n", "indented": "  a\n  b", "blank": "a\n  \nb", "end": "a\n\n\n", "quotes": 'say "%{x}" and "% \\ \n"%%{y}"',
           "tab": "\ta\n\tb\n", "cr": "a\r\nb", "percent": "100%", "empty": "", "newline": "\n", "unicode": "ä\u2028\U0001f384", "control": "a\x01b"}


@test
def a_draft_from_manifests_makes_the_same_objects(t):
    group = f"{t.ns}.example.com"
    manifests = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": AWKWARD},
                 {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-more", "labels": {"instance": "x", "of": "web"}},
                  "data": {"instance": "web-more", "std": "web"}},
                 {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                  "spec": {"selector": {"app": "web"}, "ports": [{"name": "web", "port": 80, "targetPort": 8080}]}}]
    t.file("all.yaml", "---\n".join(json.dumps(each, ensure_ascii=False) + "\n" for each in manifests))
    directory = t.dir / "web-app"
    t.run("blueprint", "from-yaml", "web-app", str(directory), "-f", str(t.dir / "all.yaml"), "--group", group)
    contains(t.run("blueprint", "check", str(directory), "--strict").out, "0 errors, 0 warnings")
    t.run("install", "kinds", "-p", str(directory / "crd.yaml"), "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "app", "labels": {"mistletoe.dev/blueprint": "true"}},
                                      "data": {"blueprint.ncl": (directory / "blueprint.ncl").read_text()}})
    Operator(t)
    where = f"/apis/{group}/v1/namespaces/{t.ns}/webapps"
    for name in ("web", "two"):
        t.kube.checked("POST", where, {"apiVersion": f"{group}/v1", "kind": "WebApp", "metadata": {"name": name}})
        t.cleanup(lambda name=name: t.kube.request("PATCH", f"{where}/{name}", {"metadata": {"finalizers": None}},
                                                   content_type="application/merge-patch+json"))
        t.kube.wait("its objects are made", lambda: t.kube.get("ConfigMap", t.ns, f"{name}-more") and t.kube.get("Service", t.ns, name))
        equal(t.kube.get("ConfigMap", t.ns, name)["data"], AWKWARD, "text")
        more = t.kube.get("ConfigMap", t.ns, f"{name}-more")
        equal(more["data"], {"instance": f"{name}-more", "std": name}, "names in fields that hide the argument")
        equal(more["metadata"]["labels"]["of"], name)
        service = t.kube.get("Service", t.ns, name)["spec"]
        equal((service["selector"], service["ports"][0]["name"], service["ports"][0]["targetPort"]), ({"app": name}, "web", 8080))
