"""mistctl dependency: the same locks and the same charts/ as the real helm's, and each accepts what the other wrote."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

from harness import check, config_map, contains, equal, test
from quiet_server import QuietHandler, QuietServer
from registries import ROOT, Registry
from test_registries import helm

LOGIN = ("carol", "open:sesame")
RANGES = ["^1", "~1.0", ">=1 <3", "1.x || 3.x", "*", "1.2", "2.0.0-rc.1", ">=2.0.0-0", "1.0 - 1.1", "!=2.0.0"]


def chart_files(name, version, dependencies=(), **more):
    api = more.pop("api", "v2")
    meta = {"apiVersion": api, "name": name, "version": version, **more}
    if dependencies and api == "v2":
        meta["dependencies"] = list(dependencies)
    files = {"Chart.yaml": json.dumps(meta), "values.yaml": json.dumps({"of": name}),
             "templates/map.yaml": json.dumps(config_map(f"{{{{ .Release.Name }}}}-{name}", {"version": version}))}
    if dependencies and api == "v1":
        files["requirements.yaml"] = json.dumps({"dependencies": list(dependencies)})
    return files


class Helm:
    def __init__(self, t):
        self.t, self.program = t, helm()
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(t.dir)}

    def __call__(self, *arguments, code=0):
        done = subprocess.run([self.program, *arguments], cwd=self.t.dir, env=self.env, capture_output=True, text=True)
        check(done.returncode == code, done.stdout, done.stderr)
        return done.stdout


class ChartServer:
    """A chart repository over HTTP: what is in a directory. With `login` nothing without it."""

    def __init__(self, t, directory, login=None):
        self.asked = []
        server, wanted = self, login and "Basic " + base64.b64encode(":".join(login).encode()).decode()

        class Handler(QuietHandler):
            def handle_any(self):
                server.asked.append(self.path)
                file = directory / self.path.lstrip("/")
                allowed = wanted is None or self.headers.get("Authorization") == wanted
                body = file.read_bytes() if allowed and file.is_file() else b"no"
                self.send_response(401 if not allowed else 200 if file.is_file() else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.web = QuietServer(Handler)
        t.cleanup(self.web.stop)
        self.url = f"http://127.0.0.1:{self.web.port}"


def published(t, run):
    """A directory with db in five versions, and its index."""
    directory = t.dir / "published"
    directory.mkdir(exist_ok=True)
    for version in ("1.0.0", "1.0.7", "1.2.0", "2.0.0-rc.1", "2.0.0"):
        run("package", t.files(f"db-{version}", chart_files("db", version)), "-d", str(directory))
    run("repo", "index", str(directory))
    return directory


def lock_of(chart):
    for name in ("Chart.lock", "requirements.lock"):
        if (file := pathlib.Path(chart) / name).is_file():
            return name, [line for line in file.read_text().splitlines() if not line.startswith("generated:")]
    return None


def contents(chart, run):
    """charts/: each archive's files, and its Chart.yaml as helm sees it; helm writes that file again when it packs."""
    found = {}
    for file in sorted((pathlib.Path(chart) / "charts").rglob("*")):
        name = str(file.relative_to(chart))
        if file.suffix != ".tgz":
            found[name] = file.read_text() if file.is_file() else None
            continue
        with tarfile.open(file) as archive:
            files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        meta = [path for path in files if path.count("/") == 1 and path.endswith("/Chart.yaml")]
        for path in meta:
            files[path] = run("show", "chart", str(file))
        found[name] = files
    return found


def statuses(chart, run):
    rows = run("dependency", "list", str(chart)).splitlines()[1:]
    return [[part.strip() for part in row.split("\t")][::len(row.split("\t")) - 1] for row in rows if "\t" in row]


def compared(t, run, name, files, prepare=lambda chart: None):
    ours, theirs = (pathlib.Path(t.files(f"{who}/{name}", files)) for who in ("ours", "theirs"))
    for chart in (ours, theirs):
        prepare(chart)
    t.run("dependency", "update", str(ours))
    run("dependency", "update", str(theirs))
    equal(lock_of(ours), lock_of(theirs), f"{name}: the lock")
    expected = contents(theirs, run)
    equal(contents(ours, run), expected, f"{name}: charts/")
    listed = t.run("dependency", "list", str(ours), "-o", "json").json["dependencies"]
    equal([[row["name"], row["status"]] for row in listed], statuses(theirs, run), f"{name}: list")
    # Each builds from the other's lock.
    for chart, build in ((ours, lambda c: run("dependency", "build", str(c))),
                         (theirs, lambda c: t.run("dependency", "build", str(c)))):
        before = lock_of(chart)
        for archive in (chart / "charts").glob("*.tgz"):
            archive.unlink()
        build(chart)
        equal(contents(chart, run), expected, f"{name}: charts/ built from the other's lock")
        equal(lock_of(chart), before, f"{name}: the lock after it")
    t.run("dependency", "build", str(ours))  # over what helm packed
    return t.run("dependency", "build", str(ours), "-o", "json").json


@test
def dependencies_are_those_of_helm(t):
    if not helm():
        return t.note("not run: bench/peers was never built here")
    run = Helm(t)
    directory = published(t, run)
    web, closed = ChartServer(t, directory), ChartServer(t, directory, LOGIN)
    run("repo", "add", "open", web.url)
    run("repo", "add", "closed", closed.url + "/", "--username", LOGIN[0], "--password", LOGIN[1])
    registry = Registry(t)
    for archive in directory.glob("db-[12].*0.tgz"):
        run("push", str(archive), registry("charts"), "--plain-http")
    for who in ("ours", "theirs"):
        t.files(f"{who}/common", chart_files("common", "3.1.4", type="library"))
        t.files(f"{who}/old", chart_files("old", "0.1.0", api="v1"))

    for number, version in enumerate(RANGES):
        compared(t, run, f"range-{number}", chart_files("app", "1.0.0", [
            {"name": "db", "version": version, "repository": web.url}]))
    report = compared(t, run, "many", chart_files("app", "1.0.0", [
        {"name": "db", "version": "1.x", "repository": web.url, "alias": "first", "condition": "first.on,db.on"},
        {"name": "db", "version": "1.x", "repository": web.url, "alias": "second", "tags": ["<a>", "b&c"]},
        {"name": "common", "version": ">=3 <4", "repository": "file://../common", "import-values": [
            "data", {"parent": "b", "child": "a"}]}]))
    equal([row["written"] for row in report["charts"]], [False] * 3, "what is there already")
    schema = json.loads((ROOT / "schemas/cli/dependency.schema.json").read_text())
    equal(sorted(report), sorted(schema["required"]))
    compared(t, run, "named", chart_files("app", "1.0.0", [{"name": "db", "version": "^1", "repository": "@closed"}]))
    compared(t, run, "alias", chart_files("app", "1.0.0", [{"name": "db", "version": "^1", "repository": "alias:open"}]))
    compared(t, run, "original", chart_files("app", "1.0.0", [
        {"name": "old", "version": "*", "repository": "file://../old"},
        {"name": "db", "version": "^1", "repository": web.url}], api="v1"))
    stale = {"charts/db-0.9.0.tgz": (directory / "db-2.0.0.tgz").read_bytes(), "charts/_notes.txt": "kept",
             **{f"charts/own/{path}": text for path, text in chart_files("own", "7.0.0").items()}}
    compared(t, run, "kept", {**chart_files("app", "1.0.0", [
        {"name": "own", "version": "^7"}, {"name": "db", "version": "^1", "repository": web.url}]), **stale})

    # helm's own flag for a registry without TLS.
    for number, version in enumerate(("1.2.0", "^1", ">=1")):
        files = chart_files("app", "1.0.0", [{"name": "db", "version": version, "repository": registry("charts")}])
        ours, theirs = t.files("ours/oci", files), t.files("theirs/oci", files)
        t.run("dependency", "update", ours)
        run("dependency", "update", theirs, "--plain-http")
        equal(lock_of(ours), lock_of(theirs))
        equal(contents(ours, run), contents(theirs, run))
        run("dependency", "build", ours, "--plain-http")
        t.run("dependency", "build", theirs)


@test
def dependencies_are_needed_and_named(t):
    """A chart without its charts/ says which command fetches them, and that command makes it installable."""
    t.files("charts/common", chart_files("common", "1.0.0"))
    app = t.files("charts/app", chart_files("app", "1.0.0", [
        {"name": "common", "version": "1.x", "repository": "file://../common"}]))
    for verb in ("install", "generate", "diff", "plan"):
        refused = t.refused(verb, "web", "-p", app, says=["common", f"try: mistctl dependency build {app}"])
        check("helm dependency" not in refused.err, refused)
    contains(t.run("package", "lint", app, code=1).out, "mistctl dependency build")
    t.run("dependency", "build", app)
    t.run("install", "web", "-p", app)
    equal(t.kube.get("ConfigMap", t.ns, "web-common")["data"], {"version": "1.0.0"})
    # The same files make the same archive.
    archive = pathlib.Path(app, "charts/common-1.0.0.tgz")
    before = archive.read_bytes()
    archive.unlink()
    t.run("dependency", "build", app)
    equal(archive.read_bytes(), before)


@test
def dependencies_come_from_git(t):
    repository = t.dir / "repository"
    for path, text in chart_files("db", "1.5.0").items():
        t.file(repository / "charts/db" / path, text)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q", "-b", "main"], ["add", "-A"],
                  ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "c"], ["tag", "v1"]):
        subprocess.run(["git", "-C", repository, *words], check=True, env=environment)
    address = f"git+file://{repository}//charts/db?ref=v1"
    app = pathlib.Path(t.files("app", chart_files("app", "1.0.0", [
        {"name": "db", "version": "^1", "repository": address}])))
    t.run("dependency", "update", str(app))
    contains((app / "Chart.lock").read_text(), f"repository: {address}", "version: 1.5.0")
    t.run("install", "web", "-p", str(app))
    check(t.kube.get("ConfigMap", t.ns, "web-db"))
    t.refused("dependency", "update", t.files("bad", chart_files("app", "1.0.0", [
        {"name": "db", "version": "^2", "repository": address}])), says=["no version ^2", "1.5.0"])


@test
def dependencies_that_fail_change_nothing(t):
    index = {"apiVersion": "v1", "entries": {name: [{"name": name, "version": "1.0.0", "urls": [f"{name}-1.0.0.tgz"],
                                                     **({"digest": "0" * 64} if name == "lying" else {})}]
                                             for name in ("good", "lying", "gone", "other", "junk")}}
    directory = t.dir / "server"
    for name, real in (("good", "good"), ("lying", "lying"), ("other", "another")):
        source = t.files(f"s-{name}", chart_files(real, "1.0.0"))
        t.files("packer", chart_files("packer", "1.0.0", [
            {"name": real, "version": "*", "repository": f"file://{source}"}]))
        t.run("dependency", "update", str(t.dir / "packages/packer"))
        t.file(directory / f"{name}-1.0.0.tgz", (t.dir / f"packages/packer/charts/{real}-1.0.0.tgz").read_bytes())
    t.file(directory / "junk-1.0.0.tgz", b"no archive")
    t.file(directory / "index.yaml", json.dumps(index))
    web = ChartServer(t, directory)

    def app(*dependencies):
        files = chart_files("app", "1.0.0", [{"name": "good", "version": "*", "repository": web.url}])
        chart = pathlib.Path(t.files("app", files))
        t.run("dependency", "update", str(chart))
        for path, text in chart_files("app", "1.0.0", dependencies).items():
            t.file(chart / path, text)
        return chart

    def state(chart):
        return {str(file): file.read_bytes() for file in chart.rglob("*") if file.is_file()}

    for name, says in (("lying", ["isn't the chart lying 1.0.0", "the index says 000"]), ("gone", ["there is no"]),
                       ("other", ["isn't the chart other 1.0.0", "its Chart.yaml says another 1.0.0"]), ("junk", ["junk-1.0.0.tgz"]), ("goo", ["did you mean good?"])):
        chart = app({"name": "good", "version": "*", "repository": web.url},
                    {"name": name, "version": "*", "repository": web.url})
        before = state(chart)
        t.refused("dependency", "update", str(chart), says=says)
        equal(state(chart), before, name)
        out_of_step = t.refused("dependency", "build", str(chart), says=["out of sync"])
        contains(out_of_step.err, f"try: mistctl dependency update {chart}")
        equal(state(chart), before, name)
    for repository, says in (("@nobody", "helm repo add nobody URL"), ("stable", "not an address"),
                             ("http://charts.example", "only https"), ("file://../nowhere", "nowhere")):
        t.refused("dependency", "update", str(app({"name": "good", "version": "*", "repository": repository})), says=[says])
    shutil.rmtree(chart)
    t.refused("dependency", "list", str(chart), says=[str(chart)])
