"""Each error text of docs/troubleshooting.md is what mistctl prints in that situation."""
import re

from guides import ROOT
from harness import check, config_map, equal, kubeconfig_text, test, workload
from registries import Registry, basic

TEXTS = {}


def says(text):
    """Registers what provokes an error: provoke(t) returns the outcome of the command."""
    def register(provoke):
        TEXTS[text] = provoke
        return provoke
    return register


def fails(t, *arguments, **options):
    return t.run(*arguments, code=1, **options)


def web(app):
    body = workload("Deployment", "web")
    body["spec"]["selector"]["matchLabels"] = body["spec"]["template"]["metadata"]["labels"] = {"app": app}
    return body


@says("release NAMESPACE/NAME exists already, at revision N")
def exists(t):
    package = t.package("p", config_map("exists"))
    t.run("install", "exists", "-p", package)
    return fails(t, "install", "exists", "-p", package)


@says("release NAMESPACE/NAME does not exist")
def missing(t):
    return fails(t, "status", "nobody")


@says("the namespace NAMESPACE does not exist")
def no_namespace(t):
    return fails(t, "install", "shop", "-p", t.package("p", config_map("a")), "-n", f"{t.ns}-nowhere")


@says('release NAMESPACE/NAME is locked: WHO has been running "COMMAND" since TIME')
def locked(t):
    process = t.start("install", "locked", "-p", t.package("slow", workload("Deployment", "slow", state="never-ready")), "--wait")
    t.kube.wait("it waits", lambda: t.kube.get("Deployment", t.ns, "slow"))
    outcome = fails(t, "upgrade", "locked", "-p", t.package("p", config_map("a")))
    process.kill()
    return outcome


@says("release NAMESPACE/NAME is half uninstalled")
def half(t):
    held = config_map("held", finalizers=["example.com/hold"])
    package = t.package("held", held)
    t.run("install", "half", "-p", package)
    process = t.start("uninstall", "half", "--yes", "--wait", term_ms=300)
    t.kube.wait("it is being deleted", lambda: t.kube.get("ConfigMap", t.ns, "held")["metadata"].get("deletionTimestamp"))
    process.kill()
    process.wait()
    outcome = fails(t, "upgrade", "half", "-p", package, "--lock-wait", "10s")
    t.kube.patch("ConfigMap", t.ns, "held", {"metadata": {"finalizers": []}})
    return outcome


@says("the plan is stale: WHAT")
def stale(t):
    t.run("install", "stale", "-p", t.package("p", config_map("stale")))
    t.run("plan", "stale", "-p", t.package("p", config_map("stale", {"a": "1"})), "-o", str(t.dir / "plan"))
    t.run("upgrade", "stale", "-p", t.package("p", config_map("stale", {"a": "2"})))
    return fails(t, "apply-plan", str(t.dir / "plan"))


@says("KIND NAMESPACE/NAME exists already and belongs to no release")
def foreign(t):
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "foreign"}})
    return fails(t, "install", "foreign", "-p", t.package("p", config_map("foreign")))


@says("KIND NAMESPACE/NAME belongs to the Helm release NAMESPACE/OTHER")
def helms(t):
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "helms", "annotations": {
        "meta.helm.sh/release-name": "old", "meta.helm.sh/release-namespace": t.ns}}})
    return fails(t, "install", "helms", "-p", t.package("p", config_map("helms")))


@says("KIND NAMESPACE/NAME belongs to release NAMESPACE/OTHER")
def of_another(t):
    package = t.package("p", config_map("shared"))
    t.run("install", "first", "-p", package)
    return fails(t, "install", "second", "-p", package)


@says("KIND NAMESPACE/NAME has fields that other managers own: CONFLICTS")
def conflict(t):
    t.run("install", "conflict", "-p", t.package("p", config_map("conflict", {"a": "1"})))
    t.kube.request("PATCH", t.kube.path("ConfigMap", t.ns, "conflict") + "?fieldManager=somebody",
                   {"data": {"a": "2"}}, "application/merge-patch+json")
    return fails(t, "upgrade", "conflict", "-p", t.package("p", config_map("conflict", {"a": "3"})))


@says("KIND NAMESPACE/NAME can't change FIELD in place")
def immutable(t):
    t.run("install", "immutable", "-p", t.package("p", web("one")))
    return fails(t, "upgrade", "immutable", "-p", t.package("p", web("two")))


@says("1 object is not ready after TIME")
def unready(t):
    return fails(t, "install", "unready", "-p", t.package("p", workload("Deployment", "unready", state="image-pull-backoff")),
                 "--wait", "--timeout", "2s")


@says("the cluster has no kind KIND")
def no_kind(t):
    return fails(t, "install", "kind", "-p", t.package("p", {"apiVersion": "example.com/v1", "kind": "Database",
                                                             "metadata": {"name": "db"}}))


@says("the values don't fit the package NAME")
def values(t):
    package = t.files("template", {
        "mistletoe.yaml": "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: shop}\n"
                          "spec: {version: 0.1.0, engine: jinja, inputs: {type: object, properties: {a: {type: integer}}}}\n",
        "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ name }}'}\n"})
    return fails(t, "generate", "shop", "-p", package, "--set", "a=many")


@says("REFERENCE is plain Kubernetes YAML and takes no values, but KEY is set")
def no_values(t):
    return fails(t, "generate", "shop", "-p", t.package("p", config_map("a")), "--set", "replicas=3")


@says("there is no registry named NAME")
def no_registry(t):
    return fails(t, "install", "shop", "-p", "nowhere/web:1.0.0")


@says("REFERENCE isn't what it was when it was first used here")
def moved(t):
    registry = Registry(t)
    for text in ("one", "two"):
        chart = t.files("chart", {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
                                  "templates/a.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {text}}}\n"})
        t.run("push", chart, registry("web"), "--overwrite")
        if text == "one":
            t.run("generate", "web", "-p", registry("web:1.0.0"))
    return fails(t, "generate", "web", "-p", registry("web:1.0.0"))


@says("KIND NAME does not fit the cluster's schema: PROBLEM")
def not_of_the_schema(t):
    body = web("a")
    body["spec"]["replcas"] = body["spec"].pop("replicas", 1)
    return fails(t, "install", "misfit", "-p", t.package("misfit", body))


@says("HOST needs credentials, and there are none")
def private(t):
    return fails(t, "inspect", "package", Registry(t, auth=basic(t))("team/web:1.0.0"))


@says("release NAMESPACE/NAME would get other secrets in 1 field")
def other_secrets(t):
    def chart(length):
        return t.files("draws", {"Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n",
                                 "templates/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n"
                                                     f"stringData: {{password: {{{{ randAlphaNum {length} }}}}}}\n"})
    t.run("install", "draws", "-p", chart(12))
    return fails(t, "upgrade", "draws", "-p", chart(20))


@says('RESOURCE is forbidden: User "USER" cannot VERB resource')
def forbidden(t):
    _, token = t.identity("nobody")
    poor = t.file("poor", kubeconfig_text(t.kube.server, {"token": token}, t.kube.ca, t.ns))
    return fails(t, "install", "shop", "-p", t.package("p", config_map("a")), kubeconfig=poor)


@says("nothing listens at ADDRESS (connection refused)")
def refused(t):
    return fails(t, "list", kubeconfig=t.file("dead", kubeconfig_text("https://127.0.0.1:1", {"token": "x"})))


@says('the context "NAME" is not in FILE')
def context(t):
    return fails(t, "list", "--context", "nope")


@test
def each_documented_error_is_what_one_meets(t):
    headings = re.findall(r"^### `(.*)`$", (ROOT / "docs/troubleshooting.md").read_text(), re.M)
    equal(sorted(headings), sorted(TEXTS), "the headings of docs/troubleshooting.md")
    for heading in headings:
        pattern = ".+".join(re.escape(part) for part in re.split(r"(?<![\w-])[A-Z]+(?![\w-])", heading))
        outcome = TEXTS[heading](t)
        check(re.search(pattern, outcome.err), f"{heading!r} is not in", outcome)
