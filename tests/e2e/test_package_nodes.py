"""Package nodes of blueprints: a chart as a node, its values and exports, failures, accounts, crashes, teardown."""
import json
import re
import shutil
import signal
import time

from harness import check, config_map, contains, equal, test, workload
from test_blueprint_commands import grant, valid
from test_demo import ROOT, git_registry
from test_operator import Operator, quiet, writes
from test_release_resource import GROUP as RELEASES
from test_release_resource import address as release_address
from test_release_resource import chart, publish, registry, serve

EXAMPLE = ROOT / "examples/blueprints/chart"

# A package, and a ConfigMap that has a value of it.
BLUEPRINT = '''let m = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Site" },
  nodes = {
    base = { package = fun { instance, .. } => { package = instance.spec.package, timeout = "4s", MORE } },
    told.own = fun { instance, value, .. } =>
      { apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{instance.metadata.name}-told", data = { include value } },
  },
  also = [{ from = "instance", to = "base" }, { from = "instance", to = "told" }],
  sequence = [{ from = "base", to = "told", extract = { value = "PATH" } }],
} | m.Blueprint'''


def kind(t):
    """Sites of this test's own; the path of its objects."""
    group = f"{t.ns}.example.com"
    t.kube.create("CustomResourceDefinition", None, {
        "metadata": {"name": f"sites.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Site", "plural": "sites", "singular": "site"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                               "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"sites.{group}"))
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", f"/apis/{group}/v1/sites")[0] == 200)


def sites(t, name="", ns=None):
    return f"/apis/{t.ns}.example.com/v1/namespaces/{ns or t.ns}/sites" + (f"/{name}" if name else "")


def blueprint(t, text=BLUEPRINT, path="status.package", more="", account=None):
    for word, value in (("GROUP", f"{t.ns}.example.com"), ("PATH", path), ("MORE", more)):
        text = text.replace(word, value)
    metadata = {"name": "site", "labels": {"mistletoe.dev/blueprint": "true"}}
    if account:
        metadata["annotations"] = {"mistletoe.dev/service-account": account}
    if t.kube.get("ConfigMap", t.ns, "site"):
        t.kube.patch("ConfigMap", t.ns, "site", {"metadata": metadata, "data": {"blueprint.ncl": text}})
    else:
        t.kube.create("ConfigMap", t.ns, {"metadata": metadata, "data": {"blueprint.ncl": text}})
    return text


def make(t, name="web", ns=None, release="web-base", **spec):
    t.kube.checked("POST", sites(t, ns=ns), {"apiVersion": f"{t.ns}.example.com/v1", "kind": "Site",
                                             "metadata": {"name": name}, "spec": spec})
    # Finalizers must not outlive the test's operator.
    for path in (sites(t, name, ns), release_address(t, release, ns)):
        t.cleanup(lambda path=path: t.kube.request("PATCH", path, {"metadata": {"finalizers": None}},
                                                   content_type="application/merge-patch+json"))


def change(t, name="web", ns=None, **spec):
    t.kube.checked("PATCH", sites(t, name, ns), {"spec": spec}, content_type="application/merge-patch+json")


def site(t, name="web", ns=None):
    status, body = t.kube.request("GET", sites(t, name, ns))
    return body if status == 200 else None


def ready(t, name="web", ns=None):
    """The condition of the spec as it is now."""
    object_ = site(t, name, ns) or {}
    found = [c for c in object_.get("status", {}).get("conditions", []) if c["type"] == "Ready"]
    return found[0] if found and found[0]["observedGeneration"] == object_["metadata"]["generation"] else {}


def waited(t, what, condition, seconds, ns=None):
    """As t.kube.wait(); a failure shows how things are."""
    try:
        t.kube.wait(what, condition, seconds=seconds)
    except AssertionError as failure:
        told = [json.dumps((item or {}).get("status")) for item in (site(t, ns=ns), release(t, ns=ns))]
        logs = [log.read_text()[-3000:] for log in t.dir.glob("*.log")]
        raise AssertionError("\n".join([str(failure), *told, *logs])) from failure


def wait_ready(t, name="web", ns=None, seconds=180):
    waited(t, f"{name} is ready", lambda: ready(t, name, ns).get("status") == "True", seconds, ns)


def wait_told(t, *words, reason=None, ns=None, seconds=180):
    """Its status says all these words."""
    def is_told():
        condition = ready(t, ns=ns)
        return all(word in condition.get("message", "") for word in words) and reason in (None, condition.get("reason"))
    waited(t, f"the status says {words}", is_told, seconds, ns)


def release(t, name="web-base", ns=None):
    status, body = t.kube.request("GET", release_address(t, name, ns))
    return body if status == 200 else None


def remove(t, name="web", ns=None):
    t.kube.checked("DELETE", sites(t, name, ns))
    t.kube.wait("the instance is gone", lambda: site(t, name, ns) is None, seconds=180)


def told(t, ns=None):
    return (t.kube.get("ConfigMap", ns or t.ns, "web-told") or {}).get("data", {}).get("value")


def example(t):
    """The example's blueprint, chart and instance."""
    shutil.copytree(EXAMPLE / "registry", t.dir / "team")
    t.run("registry", "add", "team", "-d", str(t.dir / "team"))
    text = (EXAMPLE / "blueprint.ncl").read_text()
    blueprint(t, text.replace('"example.com"', '"GROUP"'))
    group = f"{t.ns}.example.com"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"sites.{group}"))
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", f"/apis/{group}/v1/sites")[0] == 200, seconds=180)


@test
def a_chart_is_a_node_of_a_blueprint(t):
    serve(t)
    operator = Operator(t, "--releases", "own")
    example(t)
    make(t, release="web-cache", image="nginx:1")
    wait_ready(t)
    address = t.kube.get("Service", t.ns, "web-cache")["spec"]["clusterIP"]
    container = t.kube.get("Deployment", t.ns, "web")["spec"]["template"]["spec"]["containers"][0]
    equal(container["env"], [{"name": "CACHE", "value": f"{address}:11211"}], "what flowed from the chart's object")
    equal(site(t)["status"]["cache"], "team/cache:0.1.0", "what flowed into the status")
    made = re.findall(r"created (\S+) \S+/(\S+)", operator.said())
    equal([m for m in made if m[0] in ("Release", "Deployment")], [("Release", "web-cache"), ("Deployment", "web")], "the order")
    contains(t.run("status", "web-cache").out, "team/cache:0.1.0", "Deployment", "Service")

    # Commands lead on to the release.
    graph = t.run("blueprint", "status", f"site.{t.ns}.example.com/web", "-o", "json").json
    valid(graph, json.loads((ROOT / "schemas/cli/blueprint-status.schema.json").read_text()))
    node = next(n for n in graph["nodes"] if n["name"] == "cache")
    equal((node["type"], node["state"], node["release"]), ("package", "Ready", {"namespace": t.ns, "name": "web-cache"}))
    equal({(each["kind"], each["name"], each["health"]) for each in node["releaseObjects"]},
          {("Deployment", "web-cache", "ready"), ("Service", "web-cache", "ready")}, "the objects of the chart")
    equal([n["releaseObjects"] for n in graph["nodes"] if n["type"] != "package"], [None] * (len(graph["nodes"]) - 1), "of other nodes")
    contains(t.run("blueprint", "status", f"site.{t.ns}.example.com/web").out, f"mistctl status web-cache -n {t.ns}",
             f"Deployment {t.ns}/web-cache: ready", f"Service {t.ns}/web-cache: ready")
    contains(t.run("blueprint", "why", "release.mistletoe.dev/web-cache").out, "made by the node cache", "Ready",
             f"mistctl status web-cache -n {t.ns}")
    contains(t.run("blueprint", "why", "service/web-cache").out, "looked at by the node address",
             "of the release web-cache", "node cache of Site")
    quiet(t)

    # Other values and another version are upgrades of the release, and the program stays.
    uid = t.kube.get("Deployment", t.ns, "web")["metadata"]["uid"]
    change(t, cache={"replicas": 2})
    t.kube.wait("the chart has other values", lambda: t.kube.get("Deployment", t.ns, "web-cache")["spec"]["replicas"] == 2)
    wait_ready(t)
    change(t, cache={"version": "0.2.0"})
    t.kube.wait("the next version", lambda: (site(t)["status"] or {}).get("cache") == "team/cache:0.2.0")
    wait_ready(t)
    equal([r["action"] for r in t.run("history", "web-cache", "-o", "json").json["revisions"]], ["install", "upgrade", "upgrade"])
    equal(t.kube.get("Deployment", t.ns, "web")["metadata"]["uid"], uid)
    # Drift is the Release's to tell, and a Release that somebody deletes comes back with its objects.
    t.kube.checked("DELETE", release_address(t, "web-cache"))
    t.kube.wait("it is another one", lambda: (t.kube.get("Service", t.ns, "web-cache") or {}).get("spec", {}).get(
        "clusterIP", address) != address or operator.said().count(f"created Release {t.ns}/web-cache") == 2)
    wait_ready(t)
    address = t.kube.get("Service", t.ns, "web-cache")["spec"]["clusterIP"]
    t.kube.wait("the program has the new address", lambda: t.kube.get("Deployment", t.ns, "web")["spec"]["template"]["spec"][
        "containers"][0]["env"][0]["value"] == f"{address}:11211")

    remove(t)
    for kind_, name in (("Deployment", "web"), ("Deployment", "web-cache"), ("Service", "web-cache")):
        check(t.kube.get(kind_, t.ns, name) is None, f"the {kind_} {name} stays")
    equal((release(t, "web-cache"), t.record("web-cache")), (None, []), "nothing is left of the release")
    deleted = re.findall(r"deleted (\S+) \S+/(\S+)", operator.said())
    # A DELETE may be sent again before its first answer is seen.
    equal(list(dict.fromkeys(reversed([d for d in deleted if d[1] in ("web", "web-cache")])))[1::-1], [("Deployment", "web"), ("Release", "web-cache")],
          "the order of deletion")
    equal(operator.stop(), 0, "exit code")


@test
def a_package_node_that_fails_says_why_and_comes_back(t):
    serve(t)
    registry(t)
    kind(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}))
    publish(t, "app", "2.0.0", config_map("app", {"a": "2"}), workload("Deployment", "slow", state="crash"))
    publish(t, "app", "3.0.0", config_map("app", {"a": "3"}))
    chart(t, "bad", "1.0.0", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: {{ required \"a is needed\" .Values.a }}}\n")
    operator = Operator(t, "--releases", "own")
    blueprint(t, more="retries = 0")
    make(t, package="team/app:1.0.0")
    wait_ready(t)
    equal(told(t), "team/app:1.0.0")
    # Rolled back: the status has the release's own words, and what comes after keeps the last good values.
    change(t, package="team/app:2.0.0")
    wait_told(t, f"Release {t.ns}/web-base", "RolledBack", "0 of 1 replicas", reason="Failed")
    t.kube.wait("it is given up", lambda: any(c["type"] == "Stalled" for c in release(t)["status"]["conditions"]))
    wait_told(t, "RolledBack", "0 of 1 replicas", reason="Failed")
    equal((t.kube.get("ConfigMap", t.ns, "app")["data"], told(t)), ({"a": "1"}, "team/app:1.0.0"), "as before")
    contains(t.run("blueprint", "status", f"site.{t.ns}.example.com/web").out, "Failed", "0 of 1 replicas")
    # What can't be rendered has its place.
    change(t, package="team/bad:1.0.0")
    wait_told(t, "a is needed", "templates/all.yaml:4", reason="Failed")
    equal(t.kube.get("ConfigMap", t.ns, "app")["data"], {"a": "1"}, "nothing was changed")
    change(t, package="team/nothing:1.0.0")
    wait_told(t, "PackageNotRead", "the registry team has no package nothing", reason="Failed")
    change(t, package="team/app:3.0.0")
    wait_ready(t)
    t.kube.wait("what comes after has the new value", lambda: told(t) == "team/app:3.0.0")
    # Drift is put back where the blueprint says so.
    blueprint(t, more="retries = 0, drift = 'Fix, interval = \"10s\"")
    t.kube.wait("the Release has it", lambda: release(t)["spec"].get("drift") == "Fix")
    wait_ready(t)
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"a": "mine"}})
    t.kube.wait("it is put back", lambda: t.kube.get("ConfigMap", t.ns, "app")["data"] == {"a": "3"}, seconds=180)
    remove(t)
    check(t.kube.get("ConfigMap", t.ns, "app") is None, "something stays")
    equal(operator.stop(), 0, "exit code")


@test
def exports_of_a_package_flow_without_its_secrets(t):
    serve(t)
    git_registry(t)
    kind(t)
    operator = Operator(t, "--releases", "own")
    more = 'values = { users = [{ username = "app" }] }'
    blueprint(t, path="exports.fqdn", more=more)
    make(t, package="mistletoe/examples/redis:0.1.1")
    wait_ready(t, seconds=120)
    contains(told(t), "web-base", t.ns)
    status = release(t)["status"]
    equal(status["exports"]["port"], 6379, json.dumps(status))
    # No secret that the package made stands in the status, nor what depends on one.
    record = json.dumps(status["exports"])
    secrets = [s for s in t.kube.list("Secret", t.ns) if not s["metadata"]["name"].startswith("mistletoe.")]
    check(secrets, "the package has Secrets")
    for secret in secrets:
        for value in secret.get("data", {}).values():
            check(len(value) < 12 or value not in record, "a secret is in the exports:", record)
    # An operator that starts without a status of this revision finds the exports again.
    operator.stop(signal.SIGKILL)
    t.kube.checked("PATCH", release_address(t, "web-base") + "/status",
                   {"status": {"exports": None, "hiddenExports": None, "revision": None}},
                   content_type="application/merge-patch+json")
    operator.start()
    t.kube.wait("the exports are there again", lambda: (release(t)["status"].get("exports") or {}) == status["exports"], seconds=180)
    wait_ready(t)
    remove(t)
    equal(operator.stop(), 0, "exit code")


@test
def a_package_node_says_who_does_not_keep_its_release(t):
    registry(t)
    kind(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}))
    blueprint(t)
    operator = Operator(t)
    if t.kube.request("GET", f"{RELEASES}/releases")[0] == 404:
        make(t, package="team/app:1.0.0")
        wait_told(t, "the cluster has no kind Release", "mistletoe-operator --crds | kubectl apply -f -", "--releases")
        serve(t)
    else:
        make(t, package="team/app:1.0.0")
    wait_told(t, f"Release {t.ns}/web-base", "no operator with --releases has looked at it yet",
              "this operator looks at no Releases: start it with --releases all", seconds=90)
    contains(t.run("blueprint", "status", f"site.{t.ns}.example.com/web").out, "no operator with --releases has looked at it yet")
    operator.stop()
    operator = Operator(t, "--releases", "own", "--release-selector", "team=a", name="selected")
    wait_told(t, "whose labels match team=a")
    blueprint(t, more='labels = { team = "a" }')
    wait_ready(t)
    # Without anybody who uninstalls, the instance waits and says so.
    operator.stop()
    operator = Operator(t, name="without")
    t.kube.checked("DELETE", sites(t, "web"))
    wait_told(t, "this operator looks at no Releases", "mistletoe.dev/release", reason="Deleting")
    operator.stop()
    operator = Operator(t, "--releases", "own", name="last")
    t.kube.wait("the instance is gone", lambda: site(t) is None, seconds=180)
    check(t.kube.get("ConfigMap", t.ns, "app") is None, "it is uninstalled")
    equal(operator.stop(), 0, "exit code")


def role(t, ns, name, rules, account_ns):
    t.kube.create("Role", ns, {"metadata": {"name": name}, "rules": rules})
    t.kube.create("RoleBinding", ns, {
        "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": account_ns}]})


@test
def rbac_prints_what_the_packages_of_nodes_need(t):
    serve(t)
    registry(t)
    kind(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}),
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "app"}})
    text = blueprint(t, account="worker", more=f'labels = {{ e2e = "{t.ns}" }}')
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "worker"}})
    instance = t.file("site.yaml", json.dumps({
        "apiVersion": f"{t.ns}.example.com/v1", "kind": "Site", "metadata": {"name": "web", "namespace": t.ns},
        "spec": {"package": "team/app:1.0.0"}}))
    printed = t.run("blueprint", "rbac", t.files("site", {"blueprint.ncl": text}), "-n", t.ns, "--run-as", "worker", "--packages",
                    "--instance", instance, "-o", "json").json
    valid(printed, json.loads((ROOT / "schemas/cli/blueprint-rbac.schema.json").read_text()))
    equal(printed["packages"], [], "nodes whose packages' rights aren't printed")
    of_package = [each for each in printed["manifests"] if each["metadata"]["name"] == "mistletoe-release-web-base"]
    equal([each["kind"] for each in of_package], ["Role", "RoleBinding"], "the roles of the Release")
    equal([rule["resources"] for rule in of_package[0]["rules"]], [["secrets"], ["configmaps"], ["serviceaccounts"]], "what it may write")
    grant(t, printed["manifests"])
    # That is enough to install, change and uninstall it.
    operator = Operator(t, "--releases", "own", "--release-selector", f"e2e={t.ns}")
    mark = t.mark()
    make(t, package="team/app:1.0.0")
    wait_ready(t)
    publish(t, "app", "1.1.0", config_map("app", {"a": "2"}))
    change(t, package="team/app:1.1.0")
    wait_ready(t)
    t.kube.wait("it is upgraded", lambda: t.kube.get("ConfigMap", t.ns, "app")["data"] == {"a": "2"})
    check(t.kube.get("ServiceAccount", t.ns, "app") is None, "what the new version doesn't have is gone")
    remove(t)
    check(t.kube.get("ConfigMap", t.ns, "app") is None, "it is uninstalled")
    user = f"system:serviceaccount:{t.ns}:worker"
    asked = [each for each in t.requests(mark) if each.on_behalf_of == user]
    equal([each for each in asked if each.code == 403 and each.writes], [], "writes that it wasn't allowed")
    check([each for each in asked if each.uri.split("?")[0].endswith("/configmaps/app")], "the account made it")
    equal(operator.stop(), 0, "exit code")


# It needs values of objects that the instance's own node and somebody else make.
FED = '''let m = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Site" },
  nodes = {
    given.own = fun {..} => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "given", data = { "values.yaml" = "extra: true" } },
    base.package = fun { instance, .. } => {
      package = instance.spec.package, timeout = "4s", labels = { e2e = "NAMESPACE" },
      valuesFrom = [{ kind = "ConfigMap", name = "given" }, { kind = "Secret", name = "word", key = "word", targetPath = "word" }],
    },
  },
  also = [{ from = "instance", to = "given" }, { from = "instance", to = "base" }],
  sequence = [{ from = "given", to = "base" }],
} | m.Blueprint'''


@test
def rbac_knows_what_the_values_of_packages_need(t):
    serve(t)
    registry(t)
    kind(t)
    # With these values it makes a ServiceAccount too.
    chart(t, "fed", "1.0.0", '''apiVersion: v1
kind: ConfigMap
metadata: {name: fed}
data:
  word: {{ required "a word" .Values.word | quote }}
{{ if .Values.extra }}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: fed}
{{ end }}
''')
    text = blueprint(t, FED.replace("NAMESPACE", t.ns), account="worker")
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "worker"}})
    source = t.files("site", {"blueprint.ncl": text})
    site = {"apiVersion": f"{t.ns}.example.com/v1", "kind": "Site", "metadata": {"name": "web", "namespace": t.ns},
            "spec": {"package": "team/fed:1.0.0"}}
    command = ("blueprint", "rbac", source, "-n", t.ns, "--run-as", "worker", "--packages", "-o", "json")
    without = t.run(*command, "--instance", t.file("site.yaml", json.dumps(site)), code=1)
    contains(without.err, "a word", "the example has no Secret word, key word: write such an object in the events of --scenario")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "word", "namespace": t.ns}, "stringData": {"word": "hello"}}
    printed = t.run(*command, "--scenario", t.file("scenario.yaml", json.dumps({"instance": site, "events": [{"write": secret}]}))).json
    valid(printed, json.loads((ROOT / "schemas/cli/blueprint-rbac.schema.json").read_text()))
    equal(printed["missingValues"], [], "values that nobody gave")
    of_package = [each for each in printed["manifests"] if each["metadata"]["name"] == "mistletoe-release-web-base"]
    equal([rule["resources"] for rule in of_package[0]["rules"]], [["secrets"], ["configmaps"], ["serviceaccounts"]], "what it may write")
    grant(t, printed["manifests"])
    # That is enough.
    t.kube.create("Secret", t.ns, {key: secret[key] for key in ("metadata", "stringData")})
    operator = Operator(t, "--releases", "own", "--release-selector", f"e2e={t.ns}")
    make(t, package="team/fed:1.0.0")
    wait_ready(t)
    equal(t.kube.get("ConfigMap", t.ns, "fed")["data"], {"word": "hello"}, "the value of the Secret")
    check(t.kube.get("ServiceAccount", t.ns, "fed") is not None, "what the value of the ConfigMap asks for is there")
    remove(t)
    equal(operator.stop(), 0, "exit code")


@test
def a_package_node_has_the_rights_of_its_blueprint_and_no_others(t):
    serve(t)
    registry(t)
    kind(t)
    publish(t, "app", "1.0.0", config_map("app", {"a": "1"}),
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "app"}})
    # Other tests' Releases are none of its business.
    label = f'labels = {{ e2e = "{t.ns}" }}'
    text = blueprint(t, account="worker", more=label)
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "worker"}})
    printed = t.run("blueprint", "rbac", t.files("site", {"blueprint.ncl": text}), "-n", t.ns, "--run-as", "worker", "-o", "json").json
    valid(printed, json.loads((ROOT / "schemas/cli/blueprint-rbac.schema.json").read_text()))
    equal((printed["packages"], printed["unknown"], printed["guessed"]), (["base"], [], [f"sites.{t.ns}.example.com"]))
    for each in printed["manifests"]:
        each["metadata"]["name"] = f"{t.ns}-worker"
        each.get("roleRef", {})["name"] = f"{t.ns}-worker"
        ns = each["metadata"].get("namespace")
        t.kube.create(each["kind"], ns, each)
        t.cleanup(lambda each=each, ns=ns: t.kube.delete(each["kind"], ns, each["metadata"]["name"]))
    operator = Operator(t, "--releases", "all", "--release-selector", f"e2e={t.ns}")
    make(t, package="team/app:1.0.0")
    # The account may write the Release and not what the package makes: it isn't installed as somebody who may.
    user = f"system:serviceaccount:{t.ns}:worker"
    wait_told(t, "RecordNotRead", user, reason="Failed")
    equal(release(t)["spec"]["serviceAccountName"], "worker", "the blueprint's account")
    check(t.kube.get("ConfigMap", t.ns, "app") is None, "it was made with other rights")
    mark = t.mark()
    role(t, t.ns, "worker", [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}], t.ns)
    wait_told(t, "serviceaccounts", user, reason="Failed", seconds=90)
    t.kube.patch("Role", t.ns, "worker", {"rules": [{"apiGroups": [""], "resources": ["secrets", "configmaps", "serviceaccounts"], "verbs": ["*"]}]})
    wait_ready(t, seconds=120)
    made = [r for r in writes(t, mark) if r.uri.split("?")[0].endswith("/configmaps/app")]
    check(made and {r.on_behalf_of for r in made} == {user}, "who made it", {r.on_behalf_of for r in made})

    # In another namespace the account isn't the blueprint's: it has to be named.
    tenant = t.namespace("tenant")
    make(t, ns=tenant, package="team/app:1.0.0")
    wait_told(t, "NoServiceAccount", "spec.serviceAccountName", reason="Failed", ns=tenant)
    check("serviceAccountName" not in release(t, ns=tenant)["spec"], "it has an account")
    check(t.kube.get("ConfigMap", tenant, "app") is None, "something was made there")
    t.kube.create("ServiceAccount", tenant, {"metadata": {"name": "deployer"}})
    role(t, tenant, "deployer", [{"apiGroups": [""], "resources": ["secrets", "configmaps", "serviceaccounts"], "verbs": ["*"]}], tenant)
    blueprint(t, account="worker", more=label + ', serviceAccountName = "deployer"')
    wait_ready(t, ns=tenant, seconds=120)
    made = [r for r in writes(t, mark) if r.uri.split("?")[0].endswith(f"/{tenant}/configmaps/app")]
    equal({r.on_behalf_of for r in made}, {f"system:serviceaccount:{tenant}:deployer"}, "who made it")
    remove(t, ns=tenant)
    blueprint(t, account="worker", more=label)
    t.kube.wait("the account is the blueprint's again", lambda: release(t)["spec"].get("serviceAccountName") == "worker")
    remove(t)
    check(t.kube.get("ConfigMap", t.ns, "app") is None, "something stays")
    equal(operator.stop(), 0, "exit code")


@test
def an_operator_that_dies_at_any_time_goes_on_with_its_packages(t):
    serve(t)
    registry(t)
    kind(t)
    for minor in range(4):
        publish(t, "app", f"1.{minor}.0", *(config_map(f"c{i}", {"a": str(minor)}) for i in range(20)))
    blueprint(t)
    operator = Operator(t, "--releases", "own")
    make(t, package="team/app:1.0.0")
    for minor, pause in enumerate((0.3, 0.6, 0.9, 1.3)):
        change(t, package=f"team/app:1.{minor}.0")
        time.sleep(pause)
        operator.stop(signal.SIGKILL)
        operator.start()
    wait_ready(t, seconds=120)
    equal({t.kube.get("ConfigMap", t.ns, f"c{i}")["data"]["a"] for i in range(20)}, {"3"}, "the last version")
    equal(told(t), "team/app:1.3.0")
    t.kube.checked("DELETE", sites(t, "web"))
    for pause in (0.2, 0.5, 0.8, 1.2):
        time.sleep(pause)
        operator.stop(signal.SIGKILL)
        operator.start()
    t.kube.wait("the instance is gone", lambda: site(t) is None, seconds=90)
    check(all(t.kube.get("ConfigMap", t.ns, f"c{i}") is None for i in range(20)), "something stays")
    equal((release(t), t.record("web-base"), told(t)), (None, [], None), "nothing is left")
    equal(operator.stop(), 0, "exit code")
