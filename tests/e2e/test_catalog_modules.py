"""Packages of the catalog that are WebAssembly modules: from a tag to an installed release, what fails, and previews."""
import hashlib
import json
import shutil
import subprocess

from browser import Browser
from catalog import Catalog, Repository
from harness import check, contains, equal, test
from test_catalog import STEPS, failed, names
from test_catalog_preview import KUBE_TEMPLATE, open_form, press_preview, same_as_mistctl, serve, text_of, wait_rendered
from wasm_modules import GROW, LOOP, TRAP, commit_module, guest, module, publish_module

INPUTS = {"type": "object", "properties": {"name": {"type": "string"}}}


def bytes_of(catalog, digest):
    return subprocess.run(["curl", "-sf", f"{catalog.url}/api/v1/blobs/{digest}"], check=True, capture_output=True).stdout


@test(waits=True)
def a_catalog_takes_a_module_to_a_badge_and_kpm_installs_it(t):
    catalog = Catalog(t)
    catalog.serve("--kubeconfig", t.kubeconfig, "--poll-interval", "1h")
    token = catalog.account("ann")
    name = "keeper"
    first = guest(t, "c/secrets.wasm", name, description="Keeps secrets", home="https://example.com", inputs=INPUTS)
    repository = Repository(t, name)
    repository.file("deploy/README.md", "# Keeper\n\nIt *keeps* some.\n")
    repository.file("deploy/main.c", "int main(void) { return 0; }\n")
    commit_module(repository, "v1.0.0", first, "deploy/package.wasm")
    project = catalog.link(token, name, repository.url, "deploy")
    run = catalog.wait_tested(name, "1.0.0")
    equal(failed(run), [], "steps that failed")
    steps = [STEPS[0], "compile", *STEPS[1:]]
    equal(names(run), steps)
    contains(run["steps"][0]["log"], "package.wasm (")
    check(str(catalog.data) not in json.dumps(run), "shows where the worker's files are")
    equal(catalog.namespaces(), [], "what the test left")
    version = catalog.version(name, "1.0.0")
    equal((version["format"], version["module"], version["files"]), ("WebAssembly module", "deploy/package.wasm", ["package.wasm"]))
    equal((version["description"], version["home"], version["inputs"]), ("Keeps secrets", "https://example.com", INPUTS))
    equal(version["digest"], "sha256:" + hashlib.sha256(first).hexdigest())
    equal(bytes_of(catalog, version["digest"]), first)
    reference = f"git+{repository.url}//deploy/package.wasm?ref=v1.0.0"
    contains(catalog.page(f"/packages/{name}"), "<em>keeps</em>", "WebAssembly module", f"kpm install {name}:1.0.0", reference.replace("'", "&#39;"))
    contains(catalog.page(f"/packages/{name}/badge.svg"), f"{name}: passed")
    contains(t.run("generate", "x", "-p", reference).out, "kind: Secret")
    # The next has the name that registries give modules, and is upgraded to.
    second = guest(t, "rust/secrets.wasm", name, "1.1.0", description="Keeps secrets", inputs=INPUTS)
    commit_module(repository, "v1.1.0", second, f"deploy/{name}-1.1.0.mist-pack.wasm")
    equal(catalog.call_webhook(project), 202)
    run = catalog.wait_tested(name, "1.1.0")
    equal((failed(run), names(run)), ([], steps[:-1] + ["upgrade", "uninstall"]))
    equal(catalog.version(name, "1.1.0")["module"], f"deploy/{name}-1.1.0.mist-pack.wasm")
    # A tag whose module is of another version.
    repository.file("deploy/README.md", "# Keeper\n")
    repository.tag("v1.2.0")
    equal(catalog.call_webhook(project), 202)
    step = failed(catalog.wait_tested(name, "1.2.0"))[0]
    equal((step["name"], step["summary"]), ("read", "package.wasm has version 1.0.0, and the tag says 1.2.0"))
    # kpm has the module with what the catalog knows of it.
    home = t.dir / ".kpm"
    t.run("kpm", "archive-add", "--service", "catalog", catalog.url)
    t.run("kpm", "update")
    contains(t.run("kpm", "search", "secrets").out, f"\t{name}: Keeps secrets\n")
    contains(t.run("kpm", "info", name).out, "\tVersion: 1.1.0\n", "\tProvides: package.wasm\n")
    got = t.run("kpm", "get", f"{name}:1.0.0")
    contains(got.out, f"Cached files into {home}/{name}/", "package.wasm is a WebAssembly module, in which nothing can be edited")
    equal((home / name / "package.wasm").read_bytes(), first)
    contains((home / name / "K3.yaml").read_text(), f"name: {name}", "version: 1.0.0")
    equal(t.run("kpm", "diff", name).out, "")
    contains(t.run("kpm", "install", name, "--wait").out, "Using your working copy", "---> Done")
    contains(t.run("history", name).out, "1.0.0")
    equal(t.owned(name), {f"Secret/{name}"})
    t.run("kpm", "uninstall", name, "--yes", "--wait")
    shutil.rmtree(home / name)
    contains(t.run("kpm", "test", f"{name}:1.1.0").out, f"{name}-1.1.0 passes")
    contains(t.run("kpm", "install", name, "--wait").out, "---> Done")
    contains(t.run("history", name).out, "1.1.0")


@test(waits=True)
def a_catalog_refuses_hostile_modules_and_says_why(t):
    catalog = Catalog(t)
    server = catalog.serve("--kubeconfig", t.kubeconfig, "--workers", "2", "--timeout", "30s")
    token = catalog.account("ann")
    cases = {
        # name: (where it fails, words of its summary and log, the module)
        "no-module": ("read", "HTML", b"<html>"),
        "says-nothing": ("read", "no section mistletoe.package", module("says-nothing", said="")),
        "wrong-name": ("read", "is of other", module("other")),
        "much-metadata": ("read", "more than 1048576", module("much-metadata", said=" " * (2 << 20))),
        "strange-imports": ("compile", "env", module("strange-imports", imports=[("env", "launch")])),
        "no-entry": ("compile", "a WebAssembly module, but no package", module("no-entry", exports="run")),
        "broken-code": ("compile", "failed to compile", module("broken-code", code=b"\x1a")),
        "for-ever": ("lint", "time limit", module("for-ever", code=LOOP)),
        "starts-for-ever": ("lint", "time limit", module("starts-for-ever", start=LOOP)),
        "much-memory": ("lint", "memory limit", module("much-memory", code=GROW)),
        "begins-large": ("lint", "memory limit", module("begins-large", pages=20_000)),
        "traps": ("lint", "unreachable", module("traps", code=TRAP)),
    }
    for name, (_, _, bytes_) in cases.items():
        repository = Repository(t, name)
        commit_module(repository, "v1.0.0", bytes_)
        catalog.link(token, name, repository.url)
    for name, (step, words, _) in cases.items():
        run = catalog.wait_tested(name, "1.0.0", 240)
        first = failed(run)[0]
        equal(first["name"], step, f"{name}: {first['summary']}")
        contains(first["summary"] + first["log"], words)
        check(str(catalog.data) not in json.dumps(run), name, "shows where the worker's files are")
        t.note(f"{name}: {first['name']}: {first['summary'][:120]}")
    equal(server.poll(), None, server.log.read_text())
    equal(catalog.json("/api/v1/index")["kubes"], [], "what failed is not for kpm")


@test(waits=True)
def a_catalog_previews_modules_in_the_browser(t):
    catalog, token = serve(t)
    for name, file in (("command", "c-command.wasm"), ("reactor", "rust-reactor.wasm")):
        publish_module(t, catalog, token, name, guest(t, file, name, inputs=INPUTS))
    for name, flags in (("whole", []), ("thin", ["--thin"])):
        kube = t.files(name, {"K3.yaml": f"name: {name}\nversion: 1.0.0\nvalues: {{host: a.example, size: 3}}\n", "manifests/map.yaml.j2": KUBE_TEMPLATE})
        t.run("package", "build", kube, *flags, "-o", str(t.dir / f"{name}.wasm"))
        publish_module(t, catalog, token, name, (t.dir / f"{name}.wasm").read_bytes())
    browser = Browser(t)
    for name, words in (("command", "kind: Namespace"), ("reactor", "kind: Namespace"), ("thin", 'size: "3"'), ("whole", 'size: "3"')):
        open_form(browser, catalog, name)
        press_preview(browser)
        wait_rendered(browser, "Rendered, 1 object.")
        contains(same_as_mistctl(t, browser), words)
        plan = catalog.json(f"/api/v1/packages/{name}/versions/1.0.0/preview")
        equal((plan["module"]["files"], plan["runs"][0]["engine"]), (True, "jinja") if name == "thin" else (False, None))
        t.note(f"{name}: {plan['module']['bytes']} bytes, {plan['transfer']} on the way")
    # What can't be run there has no button, and the page says why.
    publish_module(t, catalog, token, "component", guest(t, "rust/both-component.wasm", "component"))
    publish_module(t, catalog, token, "original", guest(t, "rust-v1alpha1.wasm", "original"))
    for name, words in (("component", "it is a WebAssembly component, and browsers run core modules only"), ("original", "exports neither _start nor mistletoe_generate")):
        t.kube.wait("the page says so", lambda name=name: "no-preview" in catalog.page(f"/packages/{name}/1.0.0/inputs"))
        contains(catalog.page(f"/packages/{name}/1.0.0/inputs"), words)


@test(waits=True)
def a_catalogs_preview_withstands_hostile_modules(t):
    catalog, token = serve(t)
    cases = {
        # name: (words of the error, the module)
        "imports": ("it imports the function launch of env, which a preview doesn't have", module("imports", imports=[("env", "launch")])),
        "memory": ("512 MiB of memory", module("memory", code=b"\x41\x80\x3c\x40\x00\x1a" + TRAP)),
        "traps": ("the program stopped: unreachable", module("traps", code=TRAP)),
        "starts": ("the program stopped: unreachable", module("starts", start=TRAP)),
    }
    for name, (_, bytes_) in cases.items():
        publish_module(t, catalog, token, name, bytes_)
    for name, start in (("endless", False), ("starting", True)):
        publish_module(t, catalog, token, name, module(name, **({"start": LOOP} if start else {"code": LOOP})))
    browser = Browser(t)
    for name, (words, _) in cases.items():
        open_form(browser, catalog, name)
        press_preview(browser)
        wait_rendered(browser, "Not rendered")
        contains(text_of(browser, "The error"), words)
    for name in ("endless", "starting"):
        open_form(browser, catalog, name)
        press_preview(browser)
        wait_rendered(browser, "Rendering")
        equal(browser.value("1 + 1"), 2, "the tab answers")
        wait_rendered(browser, f"Not rendered: {name} 1.0.0 could not be rendered.")
        contains(text_of(browser, "The error"), "because: it ran for 20 s, the limit of a preview")
