"""The catalog's preview: a browser runs a package itself, and shows what mistctl prints."""
import re
import shlex
import time

from browser import Browser
from catalog import Catalog, Repository
from harness import check, contains, equal, test
from test_catalog_pages import STUMBLES

KUBE_TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ name }}"}
data: {host: "{{ host }}", size: "{{ size }}"}
"""
SCRIPT = """import kpm

kpm.info(f"for {kpm.values['host']}")
kpm.render("templates/more.yaml.j2", "manifests/more.yaml", twice=2 * kpm.values["size"])
"""
MORE = """apiVersion: v1
kind: ConfigMap
metadata: {name: more}
data: {twice: '{{ twice }}'}
"""
CHART_TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  labels: {kube: {{ .Capabilities.KubeVersion.Version | quote }}, revision: "{{ .Release.Revision }}"}
data: {size: {{ .Values.size | quote }}, now: {{ now | date "2006-01-02T15:04:05" | quote }}}
"""
NICKEL = """fun input => [{
  apiVersion = "v1",
  kind = "ConfigMap",
  metadata = {name = input.name},
  data = {size = std.string.from_number input.size},
}]
"""
SECRETS = """import kpm

server = kpm.ecdsa("server")
kpm.render("templates/secret.yaml.j2", "manifests/secret.yaml", password=kpm.password("admin"), key=server.private_key)
"""
SECRET = """apiVersion: v1
kind: Secret
metadata: {name: keys}
data: {password: '{{ password | b64encode }}', length: '{{ password | length }}', key: '{{ key | b64encode }}'}
stringData: {url: 'https://admin:{{ password }}@db'}
"""
PUBLIC = "<img src=x onerror=\"window.broken = 1\"><script>window.broken = 1</script>"


def publish(t, catalog, token, name, files, version="1.0.0"):
    repository = Repository(t, name)
    for path, text in files.items():
        repository.file(path, text)
    repository.tag(f"v{version}")
    catalog.link(token, name, repository.url)
    t.kube.wait(f"{name} is there", lambda: catalog.version(name, version))


def kube(t, catalog, token, name, template=KUBE_TEMPLATE, **files):
    publish(t, catalog, token, name, {"K3.yaml": f"name: {name}\nversion: 1.0.0\nvalues: {{host: a.example, size: 3}}\n",
                                      "manifests/map.yaml.j2": template, **files})


def serve(t):
    catalog = Catalog(t)
    catalog.serve("--poll-interval", "1h")
    return catalog, catalog.account("ann")


def text_of(browser, name):
    return browser.value(f"document.querySelector('[aria-label=\"{name}\"] code')?.textContent ?? null")


def status(browser):
    return browser.value("document.getElementById('rendered-status').textContent")


def open_form(browser, catalog, name):
    browser.open(f"{catalog.url}/packages/{name}/1.0.0/inputs")


def press_preview(browser):
    """With the keyboard."""
    browser.value("document.getElementById('rendered-start').focus()")
    browser.press("Enter")


def wait_rendered(browser, words, seconds=120):
    """Until the status begins with `words`; engines take their time on a busy machine."""
    end = time.monotonic() + seconds
    while not (said := status(browser)).startswith(words):
        over = said.startswith(("Rendered", "Not rendered"))
        check(time.monotonic() < end and not over, "it doesn't say", words, "but", said, text_of(browser, "The error"))
        time.sleep(0.1)


def same_as_mistctl(t, browser):
    """What the page shows, which is what the command on it prints."""
    values = browser.value("document.querySelector('#preview pre')?.textContent ?? ''")
    (t.dir / "values.yaml").write_text(values)
    command = text_of(browser, "The command").replace("-f values.yaml", f"-f {t.dir / 'values.yaml'}")
    words = shlex.split(command.replace("\\\n", " "))
    equal(words[:2], ["mistctl", "generate"])
    shown = text_of(browser, "The objects")
    equal(shown, t.run(*words[1:]).out, command)
    return shown


@test(waits=True)
def a_catalog_previews_in_the_browser_what_mistctl_prints(t):
    catalog, token = serve(t)
    kube(t, catalog, token, "shop")
    browser = Browser(t)
    open_form(browser, catalog, "shop")
    browser.value("document.querySelector('[name=host]').focus()")
    browser.type("b.example")
    browser.wait("document.getElementById('preview').textContent.includes('host: b.example')")
    press_preview(browser)
    wait_rendered(browser, "Rendered, 1 object.")
    contains(same_as_mistctl(t, browser), 'host: "b.example", size: "3"')
    equal(browser.value("document.activeElement.id"), "rendered-start", "who used the keyboard goes on there")
    for scheme, width in (("light", 1200), ("dark", 360)):
        browser.emulate(prefers_color_scheme=scheme)
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        equal(browser.value(STUMBLES), [], f"{scheme}, {width} pixels wide")
    # Another value, another object; what was shown is no longer what the form says.
    browser.value("document.querySelector('[name=size]').focus()")
    browser.type("5")
    contains(status(browser), "have changed")
    browser.wait("document.getElementById('preview').textContent.includes('size: 5')")
    press_preview(browser)
    wait_rendered(browser, "Rendered")
    contains(same_as_mistctl(t, browser), 'size: "5"')
    # A value that doesn't fit.
    browser.value("document.querySelector('[name=size]').focus()")
    browser.type("x")
    press_preview(browser)
    wait_rendered(browser, "Not rendered")
    contains(text_of(browser, "The error"), "error: the values don't fit the package shop", "because: size: must be a whole number")
    # Without the script there is nothing to press.
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    page = catalog.page("/packages/shop/1.0.0/inputs")
    contains(page, 'id="rendered" aria-labelledby="rendered-title"', " hidden>")


@test(waits=True)
def a_catalog_previews_each_format(t):
    catalog, token = serve(t)
    kube(t, catalog, token, "templates")
    kube(t, catalog, token, "scripted", **{"scripts/pre-install.py": SCRIPT, "templates/more.yaml.j2": MORE})
    publish(t, catalog, token, "chart", {"Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n", "values.yaml": "size: 3\n",
                                         "templates/a.yaml": CHART_TEMPLATE})
    publish(t, catalog, token, "bases", {"kustomization.yaml": "namePrefix: my-\nresources: [a.yaml]\n",
                                         "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
    publish(t, catalog, token, "program", {"mistletoe.yaml": "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: program}\n"
                                                             "spec:\n  version: 1.0.0\n  engine: nickel\n  inputs:\n    type: object\n"
                                                             "    properties: {name: {type: string}, size: {type: integer, default: 3}}\n",
                                           "main.ncl": NICKEL})
    publish(t, catalog, token, "plain", {"mistletoe.yaml": "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: plain}\n"
                                                           "spec: {version: 1.0.0}\n",
                                         "a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
    browser = Browser(t)
    for name, objects, words in (("templates", 1, 'size: "3"'), ("scripted", 2, "twice: '6'"), ("chart", 1, 'revision: "1"'), ("program", 1, "size"), ("bases", 1, "my-a")):
        began = time.monotonic()
        open_form(browser, catalog, name)
        press_preview(browser)
        wait_rendered(browser, f"Rendered, {objects} object")
        seconds = time.monotonic() - began
        contains(same_as_mistctl(t, browser), words)
        plan = catalog.json(f"/api/v1/packages/{name}/versions/1.0.0/preview")
        t.note(f"{name}: {plan['module']['bytes']} bytes, {plan['transfer']} on the way, {seconds:.1f} s")
    contains(browser.value("document.getElementById('rendered-output').textContent"), "-o raw")
    open_form(browser, catalog, "scripted")
    press_preview(browser)
    wait_rendered(browser, "Rendered")
    contains(browser.value("document.getElementById('rendered-output').textContent"), "The package says: for a.example")
    t.kube.wait("it is decided", lambda: catalog.ask("GET", "/api/v1/packages/plain/versions/1.0.0/preview")[0] == 404)
    t.kube.wait("the page says so", lambda: "no-preview" in catalog.page("/packages/plain/1.0.0/inputs"))
    contains(catalog.page("/packages/plain/1.0.0/inputs"), "There is no preview of its objects: it is plain Kubernetes YAML")


@test(waits=True)
def a_catalogs_preview_gives_no_command_once_the_repository_is_unlinked(t):
    catalog, token = serve(t)
    kube(t, catalog, token, "shop")
    equal(catalog.ask("DELETE", "/api/v1/projects/shop", token=token)[0], 204)
    browser = Browser(t)
    open_form(browser, catalog, "shop")
    press_preview(browser)
    wait_rendered(browser, "Rendered, 1 object.")
    contains(text_of(browser, "The objects"), 'host: "a.example"')
    equal(text_of(browser, "The command"), None)
    equal(catalog.json("/api/v1/packages/shop/versions/1.0.0/preview")["command"], None)


@test(waits=True)
def a_catalogs_preview_has_placeholders_for_secrets(t):
    catalog, token = serve(t)
    kube(t, catalog, token, "keeper", **{"scripts/pre-install.py": SECRETS, "templates/secret.yaml.j2": SECRET})
    publish(t, catalog, token, "asks", {"Chart.yaml": "apiVersion: v2\nname: asks\nversion: 1.0.0\n", "values.yaml": "size: 3\n",
                                        "values.schema.json": '{"required": ["password"], "properties": {"size": {"type": "integer"},'
                                                              ' "password": {"type": "string", "format": "password"}}}',
                                        "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
                                                            "data: {password: {{ .Values.password | quote }}, r: {{ randAlphaNum 9 }}}\n"})
    browser = Browser(t)
    open_form(browser, catalog, "keeper")
    press_preview(browser)
    wait_rendered(browser, "Rendered, 2 objects.")
    contains(text_of(browser, "The objects"), "{password: '(secret admin)', length: '24', key: '(secret server)'}", "https://admin:(secret admin)@db")
    contains(browser.value("document.getElementById('rendered-output').textContent"), "a secret of its own: server, admin.")
    open_form(browser, catalog, "asks")
    press_preview(browser)
    wait_rendered(browser, "Rendered, 1 object.")
    contains(text_of(browser, "The objects"), 'password: "(secret password)"')
    contains(browser.value("document.getElementById('rendered-output').textContent"), "drew random values")


@test(waits=True)
def a_catalogs_preview_withstands_hostile_packages(t):
    catalog, token = serve(t)
    kube(t, catalog, token, "markup", template=KUBE_TEMPLATE + "# " + PUBLIC + "\n")
    kube(t, catalog, token, "endless", **{"scripts/pre-install.py": "while True:\n    pass\n"})
    kube(t, catalog, token, "greedy", **{"scripts/pre-install.py": "kept = []\nwhile True:\n    kept.append(bytearray(32 << 20))\n"})
    kube(t, catalog, token, "talks", **{"scripts/pre-install.py": f"import kpm\nkpm.warn({PUBLIC!r})\nraise SystemExit({PUBLIC!r})\n"})
    kube(t, catalog, token, "wordy", **{"scripts/pre-install.py": "raise Exception('x' * (4 << 20))\n"})
    kube(t, catalog, token, "broken", template="a: {{ size / 0 }}\nb: {{ nothing.at.all }}\n")
    browser = Browser(t)
    open_form(browser, catalog, "markup")
    press_preview(browser)
    wait_rendered(browser, "Rendered, 1 object.")
    contains(text_of(browser, "The objects"), PUBLIC)
    check(browser.value("window.broken") is None, "a package's output was run")
    equal(browser.value("document.querySelectorAll('#rendered-output img, #rendered-output script').length"), 0)
    # The tab answers while the package runs, and the person may stop it.
    open_form(browser, catalog, "endless")
    press_preview(browser)
    wait_rendered(browser, "Rendering")
    equal(browser.value("1 + 1"), 2)
    equal(browser.value("document.activeElement.id"), "rendered-stop")
    browser.value("document.getElementById('rendered-stop').click()")
    equal(status(browser), "Stopped.")
    press_preview(browser)
    wait_rendered(browser, "Rendering")
    began = time.monotonic()
    wait_rendered(browser, "Not rendered: endless 1.0.0 could not be rendered.")
    check(15 < time.monotonic() - began < 40, "it ran for", time.monotonic() - began)
    contains(text_of(browser, "The error"), "because: it ran for 20 s, the limit of a preview", "try: mistctl generate")
    open_form(browser, catalog, "greedy")
    press_preview(browser)
    wait_rendered(browser, "Not rendered")
    contains(text_of(browser, "The error"), "greedy 1.0.0 could not be rendered")
    check("512 MiB of memory" in text_of(browser, "The error") or "MemoryError" in text_of(browser, "The error"), text_of(browser, "The error"))
    open_form(browser, catalog, "talks")
    press_preview(browser)
    wait_rendered(browser, "Not rendered")
    contains(text_of(browser, "The error"), PUBLIC)
    check(browser.value("window.broken") is None, "a package's words were run")
    open_form(browser, catalog, "wordy")
    press_preview(browser)
    wait_rendered(browser, "Not rendered")
    check(len(text_of(browser, "The error")) < 100_000, "an error is cut before the page shows it")
    open_form(browser, catalog, "broken")
    press_preview(browser)
    wait_rendered(browser, "Not rendered")
    shown = text_of(browser, "The error")
    contains(shown, "error: broken 1.0.0 could not be rendered", "at manifests/map.yaml.j2:1")
    # As mistctl shows it, which calls the package by its reference.
    reference = f"git+{(t.dir / 'repositories' / 'broken').as_uri()}?ref="
    said = t.run("generate", "broken", "-p", reference + "v1.0.0", code=1).err
    equal(shown.strip(), re.sub(re.escape(reference) + "[0-9a-f]+", "broken 1.0.0", said[said.index("error: "):]).strip())


@test(waits=True)
def a_catalogs_preview_is_allowed_nothing_else(t):
    catalog, token = serve(t)
    kube(t, catalog, token, "shop")
    browser = Browser(t)
    open_form(browser, catalog, "shop")
    press_preview(browser)
    wait_rendered(browser, "Rendered")
    worker = browser.value("document.getElementById('rendered').dataset.worker")
    for path, allowed in (("/", False), ("/packages/shop/1.0.0/inputs", False), (worker, True)):
        policy = catalog.ask("GET", path)[2]["Content-Security-Policy"]
        equal("'wasm-unsafe-eval'" in policy, allowed, path)
        check("unsafe-inline" not in policy and "'unsafe-eval'" not in policy and "http" not in policy, policy)
    # The page itself may compile nothing: only the worker may.
    refused = browser.value("WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(() => '', (failure) => failure.message)")
    contains(refused, "Content Security Policy")
    plan = catalog.json("/api/v1/packages/shop/versions/1.0.0/preview")
    for url in [plan["module"]["url"], *[each["url"] for each in plan["runs"]]]:
        code, _, headers = catalog.ask("HEAD", url, headers={"Accept-Encoding": "gzip"})
        equal((code, headers["Content-Type"]), (200, "application/wasm"))
        contains(headers["Cache-Control"], "immutable")
        equal(catalog.ask("GET", url, headers={"Accept-Encoding": "gzip", "If-None-Match": headers["ETag"]})[0], 304)
    equal(headers["Content-Encoding"], "gzip", "an engine is packed")
    # One client gets some at once, and then one a second.
    codes = [catalog.ask("GET", "/api/v1/packages/shop/versions/1.0.0/preview")[0] for _ in range(40)]
    equal((codes[0], codes[-1]), (200, 429))
