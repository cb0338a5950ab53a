"""A catalog that has something of everything: each format, each state, several versions, and texts that want to break pages."""
import json
import re
import signal

from catalog import Catalog, Repository
from catalog_person import PASSWORD, Person, code_of, with_person
from issuer import Issuer
from harness import config_map, equal, workload
from test_tests import pod_test

HOSTILE = "<img src=x onerror=\"window.broken = 1\"><script>window.broken = 1</script>"
LONG = "averylongwordwithoutanyplacetobreakit" * 6

WEB_SCHEMA = {"type": "object", "required": ["host", "password"], "properties": {
    "host": {"type": "string", "description": "The name under which browsers reach it"},
    "replicas": {"type": "integer", "default": 2, "minimum": 1, "maximum": 9, "description": "How many Pods run"},
    "ratio": {"type": "number", "default": 0.5},
    "debug": {"type": "boolean", "default": False, "description": "Write more to the log"},
    "mode": {"enum": ["fast", "safe"], "default": "safe"},
    "hosts": {"type": "array", "items": {"type": "string"}, "description": "Further names"},
    "password": {"type": "string", "format": "password", "description": "Of the administrator"},
    "resources": {"type": "object", "properties": {
        "cpu": {"type": "string", "default": "100m"}, "memory": {"type": "string", "default": "64Mi"}}},
    LONG: {"type": "string", "description": HOSTILE}}}

CHART = """apiVersion: v2
name: web
version: %s
description: A web server that answers with a page of yours, as a Helm chart
home: https://web.example.com
maintainers: [{name: Ann Author, email: ann@example.com}]
"""
CHART_VALUES = "replicas: %d\nhost: \"\"\nmode: safe\ndebug: false\nresources:\n  cpu: 100m\n  memory: 64Mi\n"
CHART_TEMPLATE = """apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web:1
        envFrom: [{configMapRef: {name: settings}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {host: {{ .Values.host | quote }}, mode: {{ .Values.mode }}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
"""
README = """# Web

It *answers* with **your** page. See the [manual](https://web.example.com/manual).

[![A picture](https://web.example.com/picture.png)](https://web.example.com/a_(b))

## Quick start

1. Install it.
2. Open it: `curl http://localhost`

- small
- fast
  - really

> It was tested on one machine.

```yaml
host: www.example.com
replicas: 3 # a comment that is so long that it doesn't fit into the column and has to be scrolled to be read
```

| Setting | Meaning | Since |
|---|---|---|
| `host` | The name under which browsers reach it | 1.0.0 |
| `replicas` | How many Pods run | 1.1.0 |

### Details

HTML is text: <b>bold</b> """ + HOSTILE + "\n"

NICKEL_HEAD = """apiVersion: mistletoe.dev/v1
kind: MistPackage
metadata: {name: greeter}
spec:
  description: Says hello in the words that you give it
  version: 1.0.0
  engine: nickel
  inputs:
    type: object
    properties: {name: {type: string, default: hello}, size: {type: integer, default: 3}}
"""
NICKEL = """fun input => [{
  apiVersion = "v1",
  kind = "ConfigMap",
  metadata = {name = input.name},
  data = {size = std.string.from_number input.size},
}]
"""


def publish(t, catalog, token, name, versions):
    """`versions`: {version: {path: text}}, what is left out stays as it was."""
    repository = Repository(t, name)
    for version, files in versions.items():
        for path, text in files.items():
            repository.file(path, text if isinstance(text, str) else json.dumps(text, indent=1))
        repository.tag(f"v{version}")
    catalog.link(token, name, repository.url)


def shop_objects():
    web = workload("Deployment", "web")
    pod = web["spec"]["template"]["spec"]
    pod["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    pod["serviceAccountName"] = "web"
    pod["hostNetwork"] = True
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "web"},
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]},
                      {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]}]}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "web"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "web"},
               "subjects": [{"kind": "ServiceAccount", "name": "web"}]}
    return [web, config_map("settings"), {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}}, role, binding,
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
             "spec": {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80}]}},
            workload("StatefulSet", "a-database-with-a-rather-long-name"), pod_test("smoke", log="it answers")]


def manifests(*objects):
    return {f"manifests/{number}.yaml": each for number, each in enumerate(objects)}


def k3(name, version, **more):
    return {"K3.yaml": {"name": name, "version": version, **more}}


def gallery(t):
    """(the catalog, its process). No worker runs any more: `waiting` stays queued and `slow` is being tested."""
    catalog = Catalog(t)
    server = catalog.serve("--poll-interval", "1h", "--reads-per-second", "0")
    worker = catalog.worker("--workers", "2", "--timeout", "20s", "--lease", "1h")
    token = catalog.account("ann")
    publish(t, catalog, token, "web", {
        "1.0.0": {"Chart.yaml": CHART % "1.0.0", "values.yaml": CHART_VALUES % 1, "templates/all.yaml": CHART_TEMPLATE,
                  "README.md": README},
        "1.1.0": {"Chart.yaml": CHART % "1.1.0", "values.yaml": CHART_VALUES % 2},
        "1.2.0-rc.1": {"Chart.yaml": CHART % "1.2.0-rc.1", "values.yaml": CHART_VALUES % 2,
                       "values.schema.json": {**WEB_SCHEMA, "required": []}}})
    publish(t, catalog, token, "forms", {
        "1.0.0": {"Chart.yaml": "apiVersion: v2\nname: forms\nversion: 1.0.0\ndescription: A chart whose inputs have every type\n",
                  "values.yaml": "mode: safe\n", "values.schema.json": WEB_SCHEMA,
                  "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {host: {{ .Values.host | quote }}}\n"}})
    publish(t, catalog, token, "shop", {
        "1.0.0": {**k3("shop", "1.0.0", description="A shop with a database, two accounts and too many rights", home="https://shop.example.com",
                       maintainers=["Ann Author <ann@example.com>", "Ben <ben@example.com>"], values={"size": 3, "mode": "fast"},
                       dependencies=[{"name": "web", "version": "^1.0"}, {"name": "queue", "version": ">=2"}]),
                  **manifests(*shop_objects())},
        "1.1.0": {**k3("shop", "1.1.0", description="A shop with a database, two accounts and too many rights", values={"size": 4}),
                  "manifests/1.yaml": config_map("settings", {"a": "b", "long": LONG})}})
    publish(t, catalog, token, "base", {"1.0.0": {"kustomization.yaml": "namePrefix: my-\nresources: [a.yaml]\n", "a.yaml": config_map("a")}})
    publish(t, catalog, token, "greeter", {"1.0.0": {"mistletoe.yaml": NICKEL_HEAD, "main.ncl": NICKEL}})
    publish(t, catalog, token, "plain", {"1.0.0": {
        "mistletoe.yaml": "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: plain}\n"
                          "spec: {version: 1.0.0, description: One ConfigMap}\n", "a.yaml": config_map("a")}})
    publish(t, catalog, token, "unready", {"1.0.0": {
        **k3("unready", "1.0.0", description="Its test fails"),
        **manifests(config_map("a"), pod_test("smoke", "fail", log=f"no answer from {LONG}\n{HOSTILE}"))}})
    publish(t, catalog, token, "hostile", {"1.0.0": {
        **k3("hostile", "1.0.0", description=f"{LONG} {HOSTILE} \u202eback\u202c", home="javascript:alert(1)",
             maintainers=[HOSTILE, LONG[:200]], dependencies=[{"name": "x", "version": "*"}]),
        **manifests(config_map("a-" + "b" * 200, {LONG: HOSTILE})), "README.md": f"# {HOSTILE}\n\n{LONG}\n\n[{HOSTILE}](javascript:alert(1))\n"}})
    for name, version in (("web", "1.0.0"), ("web", "1.1.0"), ("web", "1.2.0-rc.1"), ("forms", "1.0.0"), ("shop", "1.0.0"), ("shop", "1.1.0"),
                          ("base", "1.0.0"), ("greeter", "1.0.0"), ("plain", "1.0.0"), ("unready", "1.0.0"), ("hostile", "1.0.0")):
        catalog.wait_tested(name, version, 240)
    catalog.ask("PUT", "/api/v1/packages/web/versions/1.0.0/yank", {"reason": "it loses pages"}, token)
    publish(t, catalog, token, "slow", {"1.0.0": {**k3("slow", "1.0.0", description="Its Pods take their time"), **manifests(
        workload("Deployment", "web", annotations={"mistletoe.dev/dev-delay": "15s"}))}})
    t.kube.wait("it is being tested", lambda: catalog.state("slow", "1.0.0") == "testing")
    catalog.stop(worker, signal.SIGKILL)
    publish(t, catalog, token, "waiting", {"1.0.0": {**k3("waiting", "1.0.0"), **manifests(config_map("a"))}})
    t.kube.wait("it waits", lambda: catalog.state("waiting", "1.0.0") == "queued")
    return catalog, server


# Every kind of page: what stands in the name of its picture, and its address.
PAGES = {
    "home": "/", "search": "/search", "search-facets": "/search?q=a&format=Kube&state=passed", "search-empty": "/search?q=nothing+like+it",
    "package-chart": "/packages/web", "package-kube": "/packages/shop", "package-plain": "/packages/plain",
    "package-failed": "/packages/unready", "package-hostile": "/packages/hostile", "package-queued": "/packages/waiting",
    "package-testing": "/packages/slow", "version-yanked": "/packages/web/1.0.0", "changes": "/packages/shop/1.1.0/changes",
    "changes-none": "/packages/web/1.1.0/changes?from=1.2.0-rc.1", "inputs": "/packages/forms/1.0.0/inputs",
    "inputs-faults": "/packages/forms/1.0.0/inputs?host=a.example&replicas=99&debug=true&hosts=x",
    "inputs-plain": "/packages/plain/1.0.0/inputs", "test": "/packages/shop/1.0.0/test", "test-failed": "/packages/unready/1.0.0/test",
    "test-queued": "/packages/waiting/1.0.0/test", "submit": "/submit", "comments-none": "/packages/shop/comments", "not-found": "/packages/nothing", "bad-request": "/search?state=x",
}


class AccountGallery:
    """A catalog without workers whose accounts have something of everything, and a browser that is any of them."""

    def __init__(self, t, browser):
        self.t, self.browser = t, browser
        self.catalog = catalog = Catalog(t)
        issuer = Issuer(t)
        catalog.serve("--poll-interval", "1h", "--reads-per-second", "0", "--registration", "open", "--oidc-issuer", issuer.url,
                      "--oidc-client-id", issuer.CLIENT)
        self.people = {name: with_person(t, catalog, name, *flags)
                       for name, flags in (("root", ("--role", "administrator")), ("mod", ("--role", "moderator")), ("ann", ()), ("new", ()))}
        catalog.command("user", "add", "gone")
        catalog.command("user", "disable", "gone")
        catalog.command("user", "link", "ann", HOSTILE, "--oidc-issuer", issuer.url)
        token = catalog.command("token", "create", "ann", "--label", LONG[:100]).strip()
        catalog.command("token", "create", "ann", "--label", HOSTILE[:100], "--expires", "24h")
        publish(t, catalog, token, "shop", {"1.0.0": {**k3("shop", "1.0.0"), **manifests(config_map("a"))},
                                            "1.1.0": {**k3("shop", "1.1.0"), **manifests(config_map("a"))}})
        catalog.link(token, "unreadable", f"file:///nothing/{LONG}")
        t.kube.wait("shop is there", lambda: catalog.version("shop", "1.1.0"))
        catalog.ask("PUT", "/api/v1/packages/shop/versions/1.1.0/yank", {"reason": HOSTILE}, token)
        new, mod = (catalog.command("token", "create", name).strip() for name in ("new", "mod"))
        for who, text in ((new, f"It works.\n\n{HOSTILE} {LONG}"), (token, "Thank you!"), (new, "Buy at example.com"), (new, LONG)):
            equal(catalog.ask("POST", "/api/v1/packages/shop/comments", {"text": text}, who)[0], 201)
        for who, stars in ((new, 4), (mod, 5)):
            equal(catalog.ask("PUT", "/api/v1/packages/shop/rating", {"stars": stars}, who)[0], 204)
        equal(catalog.ask("PUT", "/api/v1/comments/3/hidden", {"reason": HOSTILE}, mod)[0], 204)
        equal(catalog.ask("POST", "/api/v1/comments/1/reports", {"reason": f"{HOSTILE} {LONG}"}, token)[0], 202)
        equal(catalog.ask("POST", "/api/v1/packages/shop/reports", {"reason": "It mines coins"}, new)[0], 202)
        for name, person in self.people.items():
            person.sign_in(name)
        ann = self.people["ann"]
        ann.open("/account")
        ann.submit("/account/code", password=PASSWORD)
        ann.submit("/account/code/confirm", code=code_of(re.search(r"<code>([A-Z2-7]{32})</code>", ann.text)[1]))
        self.waiting = Person(catalog)
        self.waiting.sign_in("ann")

    def open(self, who, path, *forms):
        """As that account (None: nobody), and then what these forms are answered with, one after the other."""
        browser, person = self.browser, {"waiting": self.waiting, **self.people}.get(who)
        browser.call("Network.clearBrowserCookies")
        for name, value in (person.cookies if person else {}).items():
            browser.call("Network.setCookie", name=name, value=value, url=self.catalog.url)
        browser.open(self.catalog.url + path)
        for action, fields in forms:
            for name, value in fields.items():
                browser.value(f"document.querySelector('form[action=\"{action}\"] [name={name}]').value = {value!r}")
            browser.is_true(f"window.before = true; document.querySelector('form[action=\"{action}\"]').submit()")
            browser.wait("!window.before && document.readyState === 'complete'")


# Every kind of page of accounts: its heading, who sees it, where, and the forms of which it is the answer.
ACCOUNT_PAGES = {
    "login": ("Sign in", None, "/login?next=%2Faccount"),
    "login-refused": ("Sign in", None, "/login", ("/login", {"name": "ann", "password": "wrong"})),
    "register": ("Make an account", None, "/register"),
    "register-refused": ("Make an account", None, "/register", ("/register", {"name": "eve", "password": "short"})),
    "code": ("Code", "waiting", "/login/code"),
    "code-refused": ("Code", "waiting", "/login/code", ("/login/code", {"code": "000000"})),
    "account": ("ann", "ann", "/account"),
    "account-new": ("new", "new", "/account"),
    "account-administrator": ("root", "root", "/account"),
    "project-refused": ("That didn't work", "ann", "/account", ("/account/projects", {"name": "No", "url": "https://git.example.com/a"})),
    "token": ("The new token", "ann", "/account", ("/account/tokens", {"label": "ci"})),
    "authenticator": ("Set up an authenticator", "new", "/account", ("/account/code", {"password": PASSWORD})),
    "authenticator-refused": ("Set up an authenticator", "new", "/account", ("/account/code", {"password": PASSWORD}),
                              ("/account/code/confirm", {"code": "no"})),
    "version-of-mine": ("shop", "ann", "/packages/shop/1.0.0"),
    "version-of-mine-yanked": ("shop", "ann", "/packages/shop/1.1.0"),
    "comments": ("Comments on shop", None, "/packages/shop/comments"),
    "comments-of-mine": ("Comments on shop", "new", "/packages/shop/comments"),
    "comments-owner": ("Comments on shop", "ann", "/packages/shop/comments"),
    "comments-moderator": ("Comments on shop", "mod", "/packages/shop/comments"),
    "comment-refused": ("That didn't work", "new", "/packages/shop/comments", ("/account/comments", {"text": " "})),
    "comments-oldest": ("Comments on shop", None, "/packages/shop/comments?after=1"),
    "account-moderator": ("mod", "mod", "/account"),
    "reports": ("Reports", "mod", "/admin/reports"),
    "reports-none": ("Reports", "mod", "/admin/reports?after=1000"),
    "reviews-none": ("Versions that await a review", "mod", "/admin/reviews"),
    "admin": ("Accounts", "root", "/admin"),
    "admin-refused": ("That didn't work", "ann", "/admin"),
    "audit": ("What was changed", "root", "/admin/audit"),
    "audit-empty": ("What was changed", "root", "/admin/audit?who=nobody"),
}
