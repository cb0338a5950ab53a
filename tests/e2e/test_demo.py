"""The flow that the README shows, and what must hold at each of its steps."""
import os
import pathlib
import subprocess

from harness import check, contains, equal, test

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "mistletoe.dev/tied-to-install-"


def git_registry(t):
    """The packages of this repository, published; the registry "mistletoe" of the test's home."""
    repository = str(t.dir / "packages.git")
    published = subprocess.run([ROOT / "packages/publish.sh", repository], capture_output=True, text=True,
                               env={**os.environ, "LC_ALL": "C.UTF-8"})
    check(published.returncode == 0, published.stderr)
    t.run("registry", "remove", "mistletoe")
    t.run("registry", "add", "mistletoe", "-g", f"file://{repository}")


@test
def demo_namespace_and_web(t):
    git_registry(t)
    target = t.namespace("made", create=False)
    # The package's Namespace is named as the release.
    installed = t.run("install", target, "-p", "mistletoe/examples/namespace-example:0.1.2")
    contains(installed.out, f"{target} is installed at revision 0")
    made = t.kube.get("Namespace", None, target)
    equal(made["metadata"]["labels"].get(PREFIX + "name"), target, "label")
    equal(made["metadata"]["labels"].get(PREFIX + "version"), "v0", "label")
    check("mistletoe.dev/tied-to-install-name" in t.run(
        "generate", target, "-p", "mistletoe/examples/namespace-example:0.1.2", "-r").out)

    t.run("install", "hello", "-p", "mistletoe/examples/hello-web:0.1.0",
          "-s", "replicas: 2", "-s", "features.extra=true", "--wait")
    status = t.run("status", "hello", "-o", "json").json
    equal({f"{o['kind']}/{o['name']}": o["health"] for o in status["objects"]},
          {"ConfigMap/hello-content": "ready", "ConfigMap/hello-extra": "ready", "Deployment/hello": "ready",
           "Service/hello": "ready"}, "status")
    equal(t.kube.get("Deployment", t.ns, "hello")["status"]["readyReplicas"], 2, "replicas that --wait waited for")

    again = t.refused("install", "hello", "-p", "mistletoe/examples/hello-web:0.1.0", says=["mistctl upgrade hello"])
    contains(again.err, "exists already")

    values = ["-s", "replicas: 2, message: Merry Christmas"]
    changed = t.run("upgrade", "hello", *values, "--wait")
    contains(changed.out, "revision 1", "2 changed, 1 unchanged, 1 deleted")
    check(t.kube.get("ConfigMap", t.ns, "hello-extra") is None, "hello-extra should be pruned")
    contains(str(t.kube.get("ConfigMap", t.ns, "hello-content")["data"]), "Merry Christmas")
    labels = {kind: t.kube.get(kind, t.ns, name)["metadata"]["labels"][PREFIX + "version"]
              for kind, name in (("ConfigMap", "hello-content"), ("Deployment", "hello"), ("Service", "hello"))}
    equal(labels, {"ConfigMap": "v1", "Deployment": "v1", "Service": "v0"}, "the revision that last changed each")

    mark = t.mark()
    same = t.run("upgrade", "hello", *values)
    contains(same.out, "nothing")
    equal([r for r in t.requests(mark) if r.writes], [], "writes of an upgrade without changes")
    equal(t.run("upgrade", "hello", "-o", "json").json["changed"], False, "with package and values of the record")

    listed = t.run("list", "-o", "json").json["releases"]
    equal([(r["name"], r["status"], r["deployedRevision"]) for r in listed],
          [(target, "deployed", 0), ("hello", "deployed", 1)] if target < "hello" else
          [("hello", "deployed", 1), (target, "deployed", 0)], "list")

    t.run("uninstall", "hello", "--yes", "--wait")
    t.run("uninstall", target, "--yes", "--wait")
    check(t.kube.get("Namespace", None, target) is None, "the release's Namespace should be gone")
    equal(t.owned("hello"), set(), "left behind")
    equal(t.record("hello") + t.record(target), [], "records left behind")
    equal(t.run("list", "-o", "json").json, {"releases": []}, "list")


@test
def uninstall_asks_and_names_what_is_missing(t):
    package = t.package("p", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    t.run("install", "shop", "-p", package)
    asked = t.run("uninstall", "shop", code=None)  # standard input is not a terminal
    check(asked.code in (1, 2), asked)
    contains(asked.err, "--yes")
    check(t.kube.get("ConfigMap", t.ns, "a"), "nothing may be deleted without an answer")
    mark = t.mark()
    contains(t.run("uninstall", "shop", "--dry-run").out, "ConfigMap")
    equal([r for r in t.requests(mark) if r.writes], [], "writes of a dry run")
    t.run("uninstall", "shop", "--yes")
    t.refused("uninstall", "shop", "--yes", says=["does not exist", "mistctl list"])
    t.refused("status", "shop", says=["does not exist"])
    t.refused("upgrade", "shop", "-p", package, says=["does not exist", "mistctl install shop"])
