"""Packages that call packages: from a git registry to ready objects, twice beside each other."""
import base64
import json
import shutil
import subprocess

from harness import check, contains, equal, test
from test_demo import git_registry

PLATFORM = "mistletoe/examples/platform-example:0.1.0"


def password(t, name):
    return base64.b64decode(t.kube.get("Secret", t.ns, name)["data"]["password"]).decode()


@test
def a_platform_of_other_packages(t):
    git_registry(t)
    for release in ("shop-a", "shop-b"):
        t.run("install", release, "-p", PLATFORM, "--wait")
        status = t.run("status", release, "-o", "json").json
        equal({o["health"] for o in status["objects"]}, {"ready"}, f"health of {release}")
        names = {f"{o['kind']}/{o['name']}" for o in status["objects"]}
        check({f"Secret/{release}-db", f"StatefulSet/{release}-db", f"Deployment/{release}-web",
               f"Deployment/{release}-mic-a"} <= names, names)
        env = t.kube.get("Deployment", t.ns, f"{release}-mic-a")["spec"]["template"]["spec"]["containers"][0]["env"]
        equal(env[0]["value"], f"{release}-web:80", "what the web server exports")
        equal(env[1]["valueFrom"]["secretKeyRef"]["name"], f"{release}-db", "what the database exports")
    first, other = password(t, "shop-a-db"), password(t, "shop-b-db")
    check(first != other, "two releases share a password")

    mark = t.mark()
    contains(t.run("upgrade", "shop-a").out, "nothing was written")
    equal([r for r in t.requests(mark) if r.writes], [], "writes of an upgrade without changes")
    contains(t.run("upgrade", "shop-a", "-s", "replicas=2", "--wait").out, "revision 1")
    equal(password(t, "shop-a-db"), first, "the password after an upgrade")

    names = t.refused("upgrade", "shop-a", "--rotate-secrets=nobody", code=2).err
    contains(names, "postgres-credentials/shop-a-db/user")
    t.run("upgrade", "shop-a", "--rotate-secrets=postgres-credentials/shop-a-db/user")
    check(password(t, "shop-a-db") not in (first, other), "the password was not rotated")
    equal(password(t, "shop-b-db"), other, "the other release's password")
    for release in ("shop-a", "shop-b"):
        t.run("uninstall", release, "--yes")


@test
def what_is_called_and_not_there_is_named(t):
    git_registry(t)
    # The platform takes any image; the web server that it calls takes 100 replicas at most, and so does the platform.
    failed = t.refused("generate", "shop", "-p", PLATFORM, "-s", "replicas=101")
    contains(failed.err, "replicas", "must be at most 100")
    directory = t.files("caller", {
        "mistletoe.yaml": json.dumps({"apiVersion": "mistletoe.dev/v1", "kind": "MistPackage",
                                      "metadata": {"name": "caller"},
                                      "spec": {"engine": "jinja", "dependencies": [
                                          {"name": "web", "package": "mistletoe/examples/no-such-package"}]}}),
        "templates/a.yaml.j2": "a: 1\n"})
    failed = t.refused("generate", "x", "-p", directory)
    contains(failed.err, "mistletoe/examples/no-such-package")


@test
def dependencies_that_do_not_fit_say_why(t):
    git_registry(t)
    directory = t.files("two", {
        "mistletoe.yaml": json.dumps({"apiVersion": "mistletoe.dev/v1", "kind": "MistPackage",
                                      "metadata": {"name": "two"},
                                      "spec": {"engine": "jinja", "dependencies": [
                                          {"name": "web", "package": "mistletoe/examples/hello-web",
                                           "version": ">=7.0.0"}]}}),
        "templates/a.yaml.j2": "a: 1\n"})
    failed = t.refused("generate", "x", "-p", directory)
    contains(failed.err, "mistletoe/examples/hello-web", ">=7.0.0")


def publish_again(t, name, version, other):
    """The same bytes of a package of git_registry() under a further version."""
    repository = t.dir / "packages.git"
    git = ["git", "-C", repository, "-c", "user.name=t", "-c", "user.email=t@example.com"]
    directory = next(repository.rglob(f"{name}-{version}.mist-pack.wasm")).parent
    shutil.copy(directory / f"{name}-{version}.mist-pack.wasm", directory / f"{name}-{other}.mist-pack.wasm")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", f"{name} {other}"], check=True)
    t.run("registry", "update")


@test
def a_release_keeps_the_versions_of_what_it_calls(t):
    git_registry(t)
    t.run("install", "shop", "-p", PLATFORM)
    publish_again(t, "hello-web", "0.1.0", "0.1.9")
    contains(t.run("diff", "shop").out, "no differences")
    contains(t.run("upgrade", "shop").out, "nothing was written")
    contains(t.run("upgrade", "shop", "-s", "replicas=2").out, "revision 1")

    change = "mistletoe/examples/hello-web 0.1.0 → 0.1.9"
    contains(t.run("diff", "shop", "-p", PLATFORM).out, change)
    equal(t.run("diff", "shop", "-p", PLATFORM, "-o", "json").json["packages"],
          [{"package": "mistletoe/examples/hello-web", "before": "0.1.0", "after": "0.1.9"}], "packages of the diff")
    contains(t.run("upgrade", "shop", "-p", PLATFORM).out, change, "revision 2")
    calls = t.run("inspect", "release", "shop", "-o", "json").json["revisions"][-1]["package"]["calls"]
    equal([(c["id"], c["version"]) for c in calls],
          [("mistletoe/examples/hello-web", "0.1.9"), ("mistletoe/examples/postgres-credentials", "0.1.0")], "calls")
    contains(t.run("rollback", "shop", "0").out, "hello-web 0.1.9 → 0.1.0")
    contains(t.run("upgrade", "shop").out, "nothing was written")
