"""Packages that call packages: versions, locks, errors, and every kind of package as the called one."""
import json
import pathlib
import shutil
import subprocess

from harness import check, contains, equal, test
from test_demo import ROOT, git_registry

PLATFORM = "mistletoe/examples/platform-example:0.2.0"


@test
def what_is_called_and_not_there_is_named(t):
    git_registry(t)
    # The service that it calls takes 100 replicas at most, and so does the platform.
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
    publish_again(t, "microservice", "0.1.0", "0.1.9")
    contains(t.run("diff", "shop").out, "no differences")
    contains(t.run("upgrade", "shop").out, "nothing was written")
    contains(t.run("upgrade", "shop", "-s", "replicas=2").out, "revision 1")

    change = "mistletoe/examples/microservice 0.1.0 → 0.1.9"
    contains(t.run("diff", "shop", "-p", PLATFORM).out, change)
    equal(t.run("diff", "shop", "-p", PLATFORM, "-o", "json").json["packages"],
          [{"package": "mistletoe/examples/microservice", "before": "0.1.0", "after": "0.1.9"}], "packages of the diff")
    contains(t.run("upgrade", "shop", "-p", PLATFORM).out, change, "revision 2")
    calls = t.run("inspect", "release", "shop", "-o", "json").json["revisions"][-1]["package"]["calls"]
    equal([(c["id"], c["version"]) for c in calls],
          [("mistletoe/examples/mariadb", "0.1.1"), ("mistletoe/examples/microservice", "0.1.9"),
           ("mistletoe/examples/redis", "0.1.1")], "calls")
    contains(t.run("rollback", "shop", "0").out, "microservice 0.1.9 → 0.1.0")
    contains(t.run("upgrade", "shop").out, "nothing was written")


def built(script):
    answer = subprocess.run(["bash", ROOT / script], capture_output=True, text=True)
    check(answer.returncode == 0, answer.stderr)
    return pathlib.Path(answer.stdout.strip())


def caller(t, name, dependencies, folder="packages", **spec):
    """The package that calls what its values name: {name: reference}, or {name: (reference, range)}."""
    declared = [{"name": each, "package": where} if isinstance(where, str) else
                {"name": each, "package": where[0], "version": where[1]} for each, where in dependencies.items()]
    metadata = t.file(f"{folder}/{name}.yaml", json.dumps({
        "apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": name},
        "spec": {"version": "0.1.0", "dependencies": declared, **spec}}))
    target = str(t.dir / folder / f"{name}.wasm")
    t.run("package", "build", str(built("tests/conformance/build.sh") / "rust/caller.wasm"), "-m", metadata, "-o", target)
    return target


def calls(*each):
    return ["--set-json", "calls=" + json.dumps([{"package": package, "input": values} for package, values in each])]


CHART = {
    "Chart.yaml": "apiVersion: v2\nname: redis\nversion: 2.1.0\n",
    "values.yaml": "port: 6379\n",
    "values.schema.json": json.dumps({"type": "object", "properties": {"port": {"type": "integer"}}}),
    "templates/service.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  ports:\n"
                              "  - port: {{ required \"a port\" .Values.port }}\n",
    "templates/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\nstringData:\n"
                             "  password: {{ randAlphaNum 20 }}\n"}
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\ndata: {{a: '1'}}\n"


def package_of_each_kind(t):
    t.files("redis", CHART)
    t.files("kustomized", {"kustomization.yaml": "resources: [a.yaml]\nnamePrefix: pre-\n", "a.yaml": CONFIG.format("kust")})
    t.files("jinja", {"mistletoe.yaml": json.dumps({"apiVersion": "mistletoe.dev/v1", "kind": "MistPackage",
                                                    "metadata": {"name": "jinja"}, "spec": {"engine": "jinja"}}),
                      "templates/a.yaml.j2": CONFIG.format("{{ name }}")})
    t.files("plain", {"a.yaml": CONFIG.format("plain")})
    return caller(t, "platform", {"redis": "./redis", "kustomized": "./kustomized", "jinja": "./jinja",
                                  "plain": "./plain"})


EACH_KIND = (("redis", {"name": "cache"}), ("kustomized", {}), ("jinja", {"name": "tpl"}), ("plain", {}))


@test
def a_platform_of_charts_kustomizations_templates_and_yaml(t):
    platform = package_of_each_kind(t)
    t.run("install", "shop", "-p", platform, *calls(*EACH_KIND))
    names = {f"{o['kind']}/{o['name']}" for o in t.run("status", "shop", "-o", "json").json["objects"]}
    equal(names, {"Service/cache", "Secret/cache", "ConfigMap/pre-kust", "ConfigMap/tpl", "ConfigMap/plain",
                  "ConfigMap/shop-exports"}, "objects")

    # Each object knows who made it, and in which line.
    revision = t.run("inspect", "release", "shop", "-o", "json").json["revisions"][-1]
    made = {f"{o['object']['kind']}/{o['object']['metadata']['name']}": (o["package"], o["file"], o["line"])
            for o in revision["objects"]}
    equal(made["Service/cache"], ("platform → redis", "templates/service.yaml", 1), "of a chart")
    equal(made["ConfigMap/plain"], ("platform → plain", "a.yaml", 1), "of YAML")
    equal(made["ConfigMap/shop-exports"][0], None, "the caller's own")
    equal([o for o in made.values() if o[0] is None], [made["ConfigMap/shop-exports"]], "the caller's own")
    drawn = t.run("diff", "shop", *calls(("redis", {"name": "cache", "port": 7000}), *EACH_KIND[1:]))
    contains(drawn.out, "templates/service.yaml:1 of platform → redis", "# templates/service.yaml:7")
    other = t.run("diff", "shop", *calls(("redis", {"name": "cache", "port": 7000}), *EACH_KIND[1:]), "-o", "json").json
    equal([(o["kind"], o["package"]) for o in other["objects"] if o["kind"] == "Service"],
          [("Service", "platform → redis")], "diff")

    # What the chart draws stays, also when another caller of the same chart comes before it.
    secret = t.kube.get("Secret", t.ns, "cache")["data"]["password"]
    mark = t.mark()
    contains(t.run("upgrade", "shop").out, "nothing was written")
    equal([r for r in t.requests(mark) if r.writes], [], "writes")
    t.run("upgrade", "shop", *calls(("redis", {"name": "second"}), *EACH_KIND))
    equal(t.kube.get("Secret", t.ns, "cache")["data"]["password"], secret, "the password beside a second caller")
    check(t.kube.get("Secret", t.ns, "second")["data"]["password"] != secret, "both have one password")

    graph = t.run("graph", "shop", "--packages", "-o", "json").json
    equal([(c["name"], graph["packages"][c["called"]]["install"]) for c in graph["calls"]],
          [("redis", "second"), ("redis", "cache"), ("kustomized", "shop-kustomized"), ("jinja", "tpl"),
           ("plain", "shop-plain")], "who was called")
    equal(graph["packages"][1]["version"], "2.1.0", "the chart's version")
    contains(t.run("graph", "shop", "--packages").out, "redis: redis 2.1.0 as cache")
    contains(t.run("graph", "shop", "--packages", "-o", "mermaid").out, "flowchart LR", '-->|"redis"|')
    contains(t.run("graph", "shop", "--packages", "-o", "dot").out, "digraph", '[label="redis"]')


@test
def errors_name_the_path_through_the_packages(t):
    platform = package_of_each_kind(t)
    caller(t, "outer", {"platform": "./platform.wasm"})
    outer = str(t.dir / "packages/outer.wasm")

    def refused(*each, package=platform):
        return t.refused("generate", "shop", "-p", package, *calls(*each)).err
    contains(refused(("redis", {"port": "many"})), "platform → redis: ", "port")
    contains(refused(("redis", {"port": None})), "platform → redis: templates/service.yaml:7", "a port")
    contains(refused(("mongo", {})), 'platform declares no dependency "mongo"')
    inner = [{"package": "redis", "input": {"port": "many"}}]
    contains(refused(("platform", {"calls": inner}), package=outer), "outer → platform → redis: ", "port")
    contains(refused(("platform", {"calls": [{"package": "mongo"}]}), package=outer),
             "outer → platform: package.call: platform declares no dependency")
    # A refusal of the server is about the called package's line, too.
    wrong = t.refused("install", "shop", "-p", platform, *calls(("redis", {"name": "cache", "port": 70000})))
    contains(wrong.err, "templates/service.yaml:", "of platform → redis", "70000")

    # A cycle, by its path.
    caller(t, "one", {"two": "./two.wasm"})
    caller(t, "two", {"one": "./one.wasm"})
    contains(t.refused("generate", "x", "-p", str(t.dir / "packages/one.wasm")).err, "one → two → one")


def publish(t, path, version, dependencies=None):
    """A package of the directory registry "team" that calls these."""
    name = path.rsplit("/", 1)[-1]
    module = caller(t, name, dependencies or {}, folder="build")
    target = t.dir / "team" / path / f"{name}-{version}.mist-pack.wasm"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(module, target)


@test
def a_lock_decides_which_versions_are_called(t):
    publish(t, "a/db", "1.0.0")
    publish(t, "a/web", "0.1.0", {"db": ("team/a/db", "<2")})
    t.run("registry", "add", "team", "-d", str(t.dir / "team"))
    dependencies = {"db": ("team/a/db", "^1"), "web": "team/a/web"}
    values = calls(("web", {"calls": [{"package": "db"}]}), ("db", {}))

    def versions(package, *more):
        graph = t.run("graph", "-p", package, "--packages", *values, *more, "-o", "json").json
        return {p["id"]: p["version"] for p in graph["packages"][1:]}

    package = caller(t, "platform", dependencies)
    contains(t.refused("generate", "x", "-p", package, "--locked").err, "has no mistletoe.lock", "mistctl package lock")
    written = t.run("package", "lock", package)
    contains(written.out, "team/a/db 1.0.0", "2 packages, written")
    lock = (t.dir / "packages/mistletoe.lock").read_text()
    contains(lock, "name: team/a/db", "source: team/a/db:1.0.0", "digest: sha256:")
    contains(t.run("package", "lock", package).out, "up to date")
    package = caller(t, "platform", dependencies)  # with the lock that is beside its metadata now

    publish(t, "a/db", "1.5.0")
    publish(t, "a/db", "2.0.0")
    outdated = t.run("package", "outdated", package, "-o", "json").json["packages"]
    equal([(p["package"], p["locked"], p["fits"], p["newest"]) for p in outdated],
          [("team/a/db", "1.0.0", "1.5.0", "2.0.0"), ("team/a/web", "0.1.0", "0.1.0", "0.1.0")], "outdated")
    contains(t.run("package", "outdated", package).out, "1.5.0")
    equal(versions(package, "--locked"), {"team/a/web": "0.1.0", "team/a/db": "1.0.0"}, "locked versions")
    t.run("install", "shop", "-p", package, "--locked", *values)
    recorded = t.run("inspect", "release", "shop", "-o", "json").json["revisions"][-1]["package"]
    equal({c["id"]: c["version"] for c in recorded["calls"]}, {"team/a/db": "1.0.0", "team/a/web": "0.1.0"}, "locked")
    equal([(c["caller"] and c["caller"]["id"], c["id"]) for c in recorded["callTree"]],
          [("team/a/web", "team/a/db"), (None, "team/a/web"), (None, "team/a/db")], "who called whom")
    why = t.run("package", "why", "team/a/db", package)
    contains(why.out, "team/a/db 1.0.0", "platform asks for", "platform → team/a/web 0.1.0 asks for <2")
    contains(t.refused("package", "why", "team/a/dbb", package).err, "did you mean team/a/db?")

    contains(t.run("package", "lock", package, "--update", "team/a/db").out, "team/a/db 1.0.0 → 1.5.0")
    package = caller(t, "platform", dependencies)
    contains(t.run("upgrade", "shop", "-p", package, "--locked").out, "team/a/db 1.0.0 → 1.5.0")

    # A lock that is not what the package asks for now.
    package = caller(t, "platform", {"db": ("team/a/db", "^2"), "web": "team/a/web"})
    failed = t.refused("upgrade", "shop", "-p", package, "--locked")
    contains(failed.err, "team/a/db")
    package = caller(t, "platform", {"db": ("team/a/db", "^1")})
    contains(t.refused("generate", "shop", "-p", package, "--locked", *calls()).err, "not up to date", "nothing asks for it")
    t.run("generate", "shop", "-p", package, *calls())
    contains(t.refused("package", "lock", package, "--locked").err, "not up to date")

    # Other bytes under a locked version.
    publish(t, "a/db", "1.5.0", {"web": "team/a/web"})
    t.run("registry", "update", "team", "--accept-changed")  # what this machine remembers says nothing now; the lock does
    contains(t.refused("generate", "shop", "-p", package, *calls()).err, "team/a/db:1.5.0 is not what mistletoe.lock of",
             f"mistctl package lock {package} --update team/a/db")
