"""Air gap for what is in no OCI registry: packages in git, charts of chart repositories, what kustomizations name elsewhere."""
import gzip
import hashlib
import json
import pathlib
import shutil
import subprocess
import tarfile

from harness import check, config_map, contains, equal, test
from quiet_server import QuietHandler, QuietServer
from registries import Registry
from test_helm_repositories import ChartRepository
from test_mirrors import fresh, mirrored
from test_provenance import Keys, SignedCharts
from test_registries import module, package_of
from test_remotes import BASE, git, overlay, repository, served
from test_signatures import minisign_keys, policy


def absolute(t, place):
    kind, _, path = place.partition(":")
    return place if kind == "oci" else f"{kind}:{t.dir}/{path}"


def away(t, name, registries=(), mirrors=(), only=True):
    """Another machine, which knows these registries, {name: source}, and reads from these mirrors alone."""
    home = fresh(t, name)
    (home / "config.yaml").write_text(json.dumps({
        "apiVersion": "mistletoe.dev/v1alpha1", "kind": "MistletoeConfig",
        "spec": {"registries": [{"name": each, "remotes": [{"name": "default", **source}]}
                                for each, source in dict(registries).items()],
                 "mirrors": [{**each, "places": [absolute(t, place) for place in each["places"]], "only": only} for each in mirrors]}}))
    return home


def in_git(t, name, versions, **files):
    """A registry in a repository behind a server: packages/plain in these versions. (server, what it is asked, its URL)"""
    repository(t, name, {**{f"packages/plain/{version}/map.yaml": json.dumps(config_map("plain", {"version": version}))
                            for version in versions}, **files})
    server, asked = served(t.dir)
    t.cleanup(server.stop)
    return server, asked, f"http://127.0.0.1:{server.port}/{name}.git"


def caller(t, dependency, version, **more):
    return t.files("platform", {"mistletoe.yaml": json.dumps({
        "apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": "platform"},
        "spec": {"engine": "jinja", "dependencies": [{"name": "plain", "package": dependency, "version": version}]}}),
        "templates/a.yaml.j2": json.dumps(config_map("own")), **more})


@test
def mirror_has_packages_of_git_registries(t):
    server, asked, url = in_git(t, "packages", ("0.1.0", "0.2.0"))
    shutil.copy(module(t, "1.4.0"), t.dir / "hello-web-1.4.0.mist-pack.wasm")
    work = t.dir / "packages-work"
    (work / "Team/web").mkdir(parents=True)
    shutil.copy(module(t, "1.4.0"), work / "Team/web/web-1.4.0.mist-pack.wasm")  # capital letters: no registry has them
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "more", cwd=work)
    git("push", "-q", str(t.dir / "packages.git"), "main", cwd=work)
    t.run("registry", "add", "shop", "-g", url)
    expected = t.run("generate", "x", "-p", "shop/plain:0.1.0").out
    t.run("install", "plain", "-p", "shop/plain:0.1.0")
    recorded = package_of(t, "plain")
    copied = mirrored(t, "shop/plain:^0", "shop/plain:0.1.0", "shop/Team/web:1.4.0", "--to", "oci-layout:copies")
    host = f"127.0.0.1:{server.port}"
    equal([each["original"] for each in copied["artifacts"]],
          [f"{host}/packages.git//plain"] * 2 + [f"{host}/packages.git//Team/web"])
    equal([each["from"].split("@")[0] for each in copied["artifacts"]][:2],
          [f"oci://{host}/packages.git/plain:{version}" for version in ("0.1.0", "0.2.0")])
    equal(copied["mirrors"], [{"prefix": host, "places": ["oci-layout:copies"]}])
    equal([[each["place"], "there is no mistletoe-index.jsonl" in each["because"]] for each in copied["withoutIndex"]], [[url, True]])
    again = mirrored(t, "shop/plain:^0", "shop/plain:0.1.0", "--to", "oci-layout:copies")
    equal([[each["wasThere"], each["blobs"]] for each in again["artifacts"]], [[True, 0], [True, 0]])
    shown = t.run("mirror", "shop/plain:0.1.0", "--to", "oci-layout:copies")
    contains(shown.out, f"{host}/packages.git//plain:0.1.0")
    contains(shown.err, f"mistctl search finds nothing of {url} in the mirror", "mistctl registry index makes one")
    # Before the server is away, it isn't asked either.
    del asked[:]
    shop = {"shop": {"git": {"url": url}}}
    away(t, "near", shop, copied["mirrors"], only=False)
    equal(t.run("generate", "x", "-p", "shop/plain:0.1.0").out, expected)
    equal(asked, [])
    server.stop()
    away(t, "away", shop, copied["mirrors"])
    equal(t.run("generate", "x", "-p", "shop/plain:0.1.0").out, expected)
    contains(t.run("generate", "x", "-p", "shop/plain:^0").out, "0.2.0")
    contains(t.run("generate", "x", "-p", "shop/Team/web:1.4.0").out, "Deployment")
    # The mirror has the installed package, byte for byte.
    contains(t.run("diff", "plain").out, "no differences")
    t.run("upgrade", "plain", "-p", "shop/plain:^0")
    equal(package_of(t, "plain").split("@")[0], "shop/plain:0.2.0")
    check(recorded.split("@")[0] == "shop/plain:0.1.0", recorded)
    t.refused("generate", "x", "-p", "shop/plain:0.3.0", says=[f"there is no shop/plain:0.3.0 in the mirrors of {host}", "mistctl mirror"])
    t.refused("generate", "x", "-p", "shop/plain:^7", says=["shop/plain:^7", "the newest there: 0.2.0"])
    # What it lists isn't known there, and that stops nothing.
    t.run("registry", "add", "local", "-d", str(t.dir))
    outcome = t.run("registry", "update")
    contains(outcome.err, "the registry shop can't be asked what it has", "single packages")
    contains(outcome.out, "local")
    contains(t.run("search", "plain").err, "shop can't be searched: the registry shop can't be asked what it has")
    t.run("uninstall", "plain", "--yes")


@test
def mirror_has_the_index_that_a_git_registry_committed(t):
    _, _, url = in_git(t, "packages", ("0.1.0", "0.2.0"))
    work = t.dir / "packages-work"
    t.run("registry", "index", str(work))
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "index", cwd=work)
    git("push", "-q", str(t.dir / "packages.git"), "main", cwd=work)
    t.run("registry", "add", "shop", "-g", url)
    copied = mirrored(t, "shop/plain:0.1.0", "--to", "oci-layout:copies")
    equal([each["original"].split("//")[1] for each in copied["artifacts"]], ["mistletoe-index.jsonl", "plain"])
    equal(copied["withoutIndex"], [])
    shop = {"shop": {"git": {"url": url}}}
    # As long as git may be asked, its own index counts.
    away(t, "near", shop, copied["mirrors"], only=False)
    contains(t.run("search", "plain").out, "shop/plain", "0.2.0")
    check(any((t.dir / "near/cache/registries").iterdir()), "git was asked")
    away(t, "away", shop, copied["mirrors"])
    contains(t.run("search", "plain").out, "shop/plain", "0.2.0")
    contains(t.run("registry", "update", "shop").out, "shop", "1", "2")
    contains(t.run("generate", "x", "-p", "shop/plain:0.1.0").out, "ConfigMap")
    t.refused("generate", "x", "-p", "shop/plain:0.2.0", says=["there is no shop/plain:0.2.0 in the mirrors of"])
    check(not (t.dir / "away/cache/registries").exists(), "git was not asked")
    # The next run copies the changes, too.
    t.env["MIST_HOME_LOCATION"] = str(t.dir / "home")
    (work / "packages/plain/0.3.0").mkdir()
    (work / "packages/plain/0.3.0/map.yaml").write_text(json.dumps(config_map("plain", {"version": "0.3.0"})))
    t.run("registry", "index", str(work))
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "0.3.0", cwd=work)
    git("push", "-q", str(t.dir / "packages.git"), "main", cwd=work)
    t.run("registry", "update", "shop")
    mirrored(t, "shop/plain:0.1.0", "--to", "oci-layout:copies")
    t.env["MIST_HOME_LOCATION"] = str(t.dir / "away")
    contains(t.run("search", "plain").out, "0.3.0")


@test
def mirror_has_what_a_package_calls_in_git_and_by_address(t):
    server, _, url = in_git(t, "packages", ("0.1.0", "0.2.0"))
    t.run("registry", "add", "shop", "-g", url)
    target = Registry(t)
    package = caller(t, "shop/plain", "^0.1")
    t.run("package", "lock", package)
    lock = (pathlib.Path(package) / "mistletoe.lock").read_text()
    expected = t.run("generate", "x", "-p", package, "--locked").out
    copied = mirrored(t, package, "--to", target("copies"))
    equal([each["reference"].split("@")[0] for each in copied["artifacts"]],
          [target(f"copies/127.0.0.1_{server.port}/packages.git/plain:0.1.0")])
    server.stop()
    away(t, "away", {"shop": {"git": {"url": url}}}, copied["mirrors"])
    equal(t.run("generate", "x", "-p", package, "--locked").out, expected)
    # Resolved again, among what is mirrored.
    t.run("package", "lock", package, "--update-all")
    equal((pathlib.Path(package) / "mistletoe.lock").read_text(), lock)


@test
def mirror_has_directories_of_git_repositories(t):
    server, _, url = in_git(t, "packages", ("0.1.0",), **BASE, **{"deploy/kustomization.yaml": "resources: [../base]\n"})
    commit = git("rev-parse", "v1", cwd=t.dir / "packages-work")
    plain = f"git+{url}//packages/plain/0.1.0?ref=v1"
    base = f"git+{url}//deploy?ref=main"
    head = f"git+{url}//packages/plain/0.1.0"
    expected = [t.run("generate", "x", "-p", each).out for each in (plain, base, head)]
    t.run("install", "plain", "-p", plain)
    copied = mirrored(t, plain, base, head, "--to", "oci-archive:copies.tar")
    tags = [each["from"].split("@")[0].split("packages.git/")[1] for each in copied["artifacts"]]
    equal(tags, ["deploy:ref-" + commit, "deploy:ref-main"] +
          [f"packages/plain/0.1.0:{tag}" for tag in sorted(("ref-" + commit, "ref-HEAD", "ref-v1"))])
    server.stop()
    away(t, "away", {}, copied["mirrors"])
    equal([t.run("generate", "x", "-p", each).out for each in (plain, base, head)], expected)
    contains(t.run("diff", "plain").out, "no differences")
    contains(package_of(t, "plain"), commit)
    t.refused("generate", "x", "-p", plain.replace("v1", "v2"), says=["in the mirrors of 127.0.0.1"])
    # The engine decides which files belong to a Kustomize directory.
    t.refused("generate", "x", "-p", base, "--engine", "jinja", says=["it is a Kustomize directory"])
    t.run("uninstall", "plain", "--yes")


@test
def mirror_has_charts_of_chart_repositories(t):
    charts = ChartRepository(t)
    for version in ("15.1.0", "15.2.0+b.1", "16.0.0"):
        charts.publish("postgresql", version)
    t.run("registry", "add", "shop", "--helm", charts.url)
    t.run("install", "db", "-p", "shop/postgresql:15.1.0")
    copied = mirrored(t, "shop/postgresql:15.1.0", "shop/postgresql:15.x", "--to", "oci-layout:copies")
    host = f"127.0.0.1:{charts.web.port}"
    equal([[each["from"].split("@")[0], each["original"]] for each in copied["artifacts"]],
          [[f"oci://{host}/stable/index.yaml:index", f"{host}/stable//index.yaml"]] +
          [[f"oci://{host}/stable/postgresql:{tag}", f"{host}/stable//postgresql"] for tag in ("15.1.0", "15.2.0_b.1")])
    equal(copied["withoutIndex"], [])
    charts.web.stop()
    away(t, "away", {"shop": {"helm": {"url": charts.url}}}, copied["mirrors"])
    contains(t.run("diff", "db").out, "no differences")
    t.run("upgrade", "db", "-p", "shop/postgresql:^15")
    equal(package_of(t, "db").split("@")[0], "shop/postgresql:15.2.0+b.1")
    equal(t.kube.get("ConfigMap", t.ns, "db")["data"], {"version": "15.2.0+b.1"})
    t.refused("upgrade", "db", "-p", "shop/postgresql:16.0.0", says=["there is no shop/postgresql:16.0.0 in the mirrors of"])
    # The index lists what the mirror lacks, too.
    contains(t.run("registry", "update", "shop").out, "shop", "1", "3")
    contains(t.run("search", "postgresql").out, "shop/postgresql", "16.0.0")
    # A copy is the chart as Helm pushes it.
    target = Registry(t)
    t.run("registry", "copy", f"oci-layout:copies:{host}/stable/postgresql:15.1.0", target("charts/postgresql:15.1.0"))
    contains(t.run("generate", "x", "-p", target("charts/postgresql:15.1.0")).out, "15.1.0")
    t.run("uninstall", "db", "--yes")


@test
def mirror_has_the_charts_that_a_chart_depends_on(t):
    charts = ChartRepository(t)
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        charts.publish("db", version)
    chart = t.files("web", {"Chart.yaml": json.dumps({"apiVersion": "v2", "name": "web", "version": "1.0.0", "dependencies": [
        {"name": "db", "version": "^1", "repository": charts.url}]})})
    t.run("dependency", "update", chart)
    archive = (pathlib.Path(chart) / "charts/db-1.1.0.tgz").read_bytes()
    shutil.rmtree(pathlib.Path(chart) / "charts")
    copied = mirrored(t, chart, "--to", "oci-layout:copies")
    equal([each["from"].split("@")[0].rsplit("/", 1)[1] for each in copied["artifacts"]], ["db:1.1.0"])
    charts.web.stop()
    away(t, "away", {}, copied["mirrors"])
    for command in ("build", "update"):
        t.run("dependency", command, chart)
        equal((pathlib.Path(chart) / "charts/db-1.1.0.tgz").read_bytes(), archive)
        shutil.rmtree(pathlib.Path(chart) / "charts")
    (pathlib.Path(chart) / "Chart.lock").unlink()
    (pathlib.Path(chart) / "Chart.yaml").write_text((pathlib.Path(chart) / "Chart.yaml").read_text().replace("^1", "^2"))
    t.refused("dependency", "update", chart, says=["chart db ^2 of", "in the mirrors of"])


@test
def mirror_has_what_a_kustomization_names_elsewhere(t):
    repository(t, "shared", BASE)
    server, _ = served(t.dir)
    t.cleanup(server.stop)
    charts = ChartRepository(t)
    charts.publish("db", "1.0.0")

    class Files(QuietHandler):
        def handle_any(self):
            self.body()
            content = json.dumps(config_map("extra")).encode()
            self.send_response(200 if self.path.startswith("/extra.yaml") else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    files = QuietServer(Files)
    t.cleanup(files.stop)
    package = t.files("overlay", {"kustomization.yaml": json.dumps({
        "namePrefix": "my-", "resources": [f"http://127.0.0.1:{server.port}/shared.git//base?ref=v1",
                                           f"http://127.0.0.1:{files.port}/extra.yaml"],
        "helmCharts": [{"name": "db", "repo": charts.url, "version": "1.0.0", "releaseName": "db"}]})})
    expected = t.run("generate", "x", "-p", package).out
    contains(expected, "my-shared", "my-extra", "my-db")
    unlocked = mirrored(t, package, "--to", "oci-layout:copies")
    commit = git("rev-parse", "v1", cwd=t.dir / "shared-work")
    equal(sorted(each["from"].split("@")[0].split("/", 3)[3] for each in unlocked["artifacts"]),
          sorted(["extra.yaml:file", f"shared.git/base:base-{commit}", "shared.git/base:base-v1", "stable/db:1.0.0"]))
    t.run("package", "lock", package)
    mirrored(t, package, "--to", "oci-layout:copies")
    for each in (server, files, charts.web):
        each.stop()
    for name in ("locked", "unlocked"):
        away(t, name, {}, unlocked["mirrors"])
        equal(t.run("generate", "x", "-p", package).out, expected, name)
        (pathlib.Path(package) / "mistletoe.lock").unlink(missing_ok=True)
    other = overlay(t, "other", f"http://127.0.0.1:{server.port}/shared.git//base?ref=v2")
    t.refused("generate", "x", "-p", other, says=["in the mirrors of 127.0.0.1", "base"])


@test
def mirror_keeps_signatures_of_files_and_charts(t):
    keys = Keys(t)
    ann = keys.make("ann")
    keys.export(t, "home/team.gpg", "ann")
    minisign_keys(t, "release")
    charts = SignedCharts(t)
    for version in ("1.0.0", "1.1.0"):
        charts.publish("db", version)
    charts.put("db", "1.0.0", keys.sign(charts.archive("db", "1.0.0")))
    server, _, url = in_git(t, "packages", ("0.1.0", "0.2.0"))
    work = t.dir / "packages-work"
    t.run("sign", str(work / "packages/plain/0.1.0"), "--key", str(t.dir / "release.key"))
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "signed", cwd=work)
    git("push", "-q", str(t.dir / "packages.git"), "main", cwd=work)
    t.run("registry", "add", "shop", "-g", url)
    t.run("registry", "add", "charts", "--helm", charts.url)
    copied = mirrored(t, "shop/plain:0.1.0", "shop/plain:0.2.0", "charts/db:1.0.0", "charts/db:1.1.0", "--to", "oci-layout:copies")
    server.stop()
    charts.web.stop()
    home = away(t, "away", {"shop": {"git": {"url": url}}, "charts": {"helm": {"url": charts.url}}}, copied["mirrors"])
    policy(t, {"match": "shop/**", "keys": [{"name": "release", "file": str(t.dir / "release.pub")}]},
           {"match": "charts/**", "keyring": str(t.dir / "home/team.gpg"), "fingerprints": [ann]})
    shutil.copy(t.dir / "home/trust.yaml", home / "trust.yaml")
    for package in ("shop/plain:0.1.0", "charts/db:1.0.0"):
        contains(t.run("generate", "x", "-p", package).out, "ConfigMap")
    for package in ("shop/plain:0.2.0", "charts/db:1.1.0"):
        t.refused("generate", "x", "-p", package, says=["is not signed by"])


@test
def mirror_says_what_no_other_machine_can_name(t):
    repository(t, "packages", BASE)
    t.file("local/packages/plain/1.0.0/a.yaml", json.dumps(config_map("a")))
    t.run("registry", "add", "local", "-d", str(t.dir / "local"))
    for reference in ("local/plain:1.0.0", f"git+file://{t.dir}/packages.git//base?ref=v1"):
        t.refused("mirror", reference, "--to", "oci-layout:copies", says=["can't be mirrored", "it is on this machine", "mistctl push"])
    package = caller(t, "local/plain", "^1")
    t.refused("mirror", package, "--to", "oci-layout:copies", says=["platform needs local/plain:1.0.0", "nothing was copied"])
    contains(t.run("mirror", package, "--to", "oci-layout:copies", "--allow-missing").err, "there is nothing to mirror")


@test
def mirror_with_a_copy_of_something_else_is_refused(t):
    server, _, url = in_git(t, "packages", ("0.1.0",))
    t.run("registry", "add", "shop", "-g", url)
    copied = mirrored(t, "shop/plain:0.1.0", "--to", "oci-layout:copies")
    host = f"127.0.0.1:{server.port}"
    away(t, "other", {"shop": {"git": {"url": f"http://{host}/packages.git/plain"}}}, copied["mirrors"])
    index = json.loads((t.dir / "copies/index.json").read_text())
    for entry in index["manifests"]:
        entry["annotations"] = {key: text.replace("/plain:", "/plain/plain:") for key, text in entry["annotations"].items()}
    (t.dir / "copies/index.json").write_text(json.dumps(index))
    t.refused("generate", "x", "-p", "shop/plain:0.1.0", says=[f"is not a copy of {host}/packages.git/plain//plain",
                                                               f"it is one of {host}/packages.git//plain"])
    # A package that somebody pushed under that name is no copy.
    target = Registry(t)
    t.run("push", t.package("plain", config_map("a")), target(f"copies/{host.replace(':', '_')}/packages.git/plain:0.1.0"))
    away(t, "pushed", {"shop": {"git": {"url": url}}},
         [{"prefix": host, "places": [target(f"copies/{host.replace(':', '_')}")]}])
    t.refused("generate", "x", "-p", "shop/plain:0.1.0", says=["is not a copy of", "it has no annotation dev.mistletoe/copy-of"])
    # Other bytes than those that were used here before.
    away(t, "changed", {"shop": {"git": {"url": url}}})
    t.run("generate", "x", "-p", "shop/plain:0.1.0")
    subprocess.run(["rm", "-rf", t.dir / "changed/cache"], check=True)
    other = t.dir / "packages-work"
    (other / "packages/plain/0.1.0/map.yaml").write_text(json.dumps(config_map("plain", {"version": "changed"})))
    git("commit", "-qam", "changed", cwd=other)
    git("push", "-q", str(t.dir / "packages.git"), "main", cwd=other)
    home = fresh(t, "copier")
    shutil.copy(t.dir / "changed/config.yaml", home / "config.yaml")
    again = mirrored(t, "shop/plain:0.1.0", "--to", "oci-layout:changed-copies")
    t.env["MIST_HOME_LOCATION"] = str(t.dir / "changed")
    state = t.dir / "changed/state"
    check(state.exists())
    away(t, "changed", {"shop": {"git": {"url": url}}}, again["mirrors"])
    t.refused("generate", "x", "-p", "shop/plain:0.1.0", says=["isn't what it was when it was first used here"])


def lying(t, source, target, old, new):
    """A copy of the layout `source` whose files have `new` for `old`, and which says of itself what it said before."""
    shutil.copytree(t.dir / source, t.dir / target)
    blobs = t.dir / target / "blobs/sha256"

    def keep(data):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}

    index = json.loads((t.dir / target / "index.json").read_text())
    for entry in index["manifests"]:
        manifest = json.loads((blobs / entry["digest"].split(":")[1]).read_text())
        layer = manifest["layers"][0]
        tar = gzip.decompress((blobs / layer["digest"].split(":")[1]).read_bytes())
        check(old in tar and len(old) == len(new), tar)
        layer.update(keep(gzip.compress(tar.replace(old, new))))
        entry.update(keep(json.dumps(manifest).encode()))
    (t.dir / target / "index.json").write_text(json.dumps(index))
    return f"oci-layout:{target}"


@test
def mirror_that_lies_about_a_commit_changes_no_locked_base(t):
    repository(t, "shared", BASE)
    server, _ = served(t.dir)
    t.cleanup(server.stop)
    host = f"127.0.0.1:{server.port}"
    package = overlay(t, "overlay", f"http://{host}/shared.git//base?ref=v1")
    t.run("package", "lock", package)
    lock = pathlib.Path(package) / "mistletoe.lock"
    text = lock.read_text()
    contains(text, "commit: ", "digest: sha256:")
    expected = t.run("generate", "x", "-p", package, "--locked").out
    copied = mirrored(t, package, "--to", "oci-layout:copies")
    lie = [{"prefix": host, "places": [lying(t, "copies", "lies", b"a: b", b"a: c")]}]
    away(t, "honest", {}, copied["mirrors"], only=False)
    honest = t.run("generate", "x", "-p", package, "--locked")
    equal(honest.out, expected)
    check("nothing proves" not in honest.err, honest.err)
    away(t, "lied-to", {}, lie, only=False)
    for command in (["generate", "x", "-p", package, "--locked"], ["package", "lock", package, "--locked"]):
        t.refused(*command, says=["is not what mistletoe.lock has", "a commit never changes", "lies"])
    # A lock of an older version has no digest: a warning says what nothing proves.
    lock.write_text("".join(line for line in text.splitlines(True) if "digest: " not in line))
    old = t.run("generate", "x", "-p", package, "--locked")
    contains(old.err, "nothing proves that the copy of", "mistctl package lock")
    # A machine that used the commit before knows it, without its cache too.
    fresh(t, "used")
    equal(t.run("generate", "x", "-p", package, "--locked").out, expected)
    contains(t.run("package", "lock", package, "--locked").out, "up to date")
    shutil.rmtree(t.dir / "used/cache")
    away(t, "used", {}, lie, only=False)
    t.refused("generate", "x", "-p", package, "--locked", says=["isn't what it was when it was first used here"])
    # Where git itself is read, the digest comes into the lock.
    fresh(t, "locker")
    contains(t.run("package", "lock", package).out, "written")
    equal(lock.read_text(), text)


@test
def mirror_that_lies_about_a_commit_changes_no_release(t):
    server, _, url = in_git(t, "packages", ("0.1.0",))
    host = f"127.0.0.1:{server.port}"
    commit = git("rev-parse", "v1", cwd=t.dir / "packages-work")
    package = f"git+{url}//packages/plain/0.1.0?ref={commit}"
    t.run("install", "plain", "-p", package)
    digest = t.run("inspect", "release", "plain", "-o", "json").json["revisions"][-1]["package"]["digest"]
    mirrored(t, package, "--to", "oci-layout:copies")
    lie = [{"prefix": host, "places": [lying(t, "copies", "lies", b'"0.1.0"', b'"9.9.9"')]}]
    away(t, "lied-to", {}, lie, only=False)
    t.refused("upgrade", "plain", says=["is not what the release was made from", digest])
    t.refused("generate", "x", "-p", f"{package}@{digest}", says=["pins other content"])
    contains(t.run("generate", "x", "-p", package).err, "nothing proves that the copy of", commit)
    away(t, "honest", {}, [{"prefix": host, "places": ["oci-layout:copies"]}], only=False)
    honest = t.run("upgrade", "plain")
    check("nothing proves" not in honest.err, honest.err)
    t.run("uninstall", "plain", "--yes")


@test
def mirror_that_lied_about_a_commit_is_overruled_by_git(t):
    server, asked, url = in_git(t, "packages", ("0.1.0",))
    host = f"127.0.0.1:{server.port}"
    commit = git("rev-parse", "v1", cwd=t.dir / "packages-work")
    package = f"git+{url}//packages/plain/0.1.0?ref={commit}"
    mirrored(t, package, "--to", "oci-layout:copies")
    lie = [{"prefix": host, "places": [lying(t, "copies", "lies", b'"0.1.0"', b'"9.9.9"')]}]
    home = away(t, "lied-to", {}, lie, only=False)
    del asked[:]
    first = t.run("generate", "x", "-p", package)
    contains(first.out, "9.9.9")
    contains(first.err, "nothing proves that the copy of", commit)
    equal(asked, [])
    # Without the mirror, what is in the cache isn't taken for git's own.
    configuration = (home / "config.yaml").read_text()
    t.run("registry", "mirror", "remove", host)
    truth = t.run("generate", "x", "-p", package)
    contains(truth.out, "0.1.0")
    contains(truth.err, "was used here before with other files", "don't trust that mirror")
    check(asked, "git was asked")
    # From then on, git's bytes are the known ones, without a request.
    del asked[:]
    contains(t.run("generate", "x", "-p", package).out, "0.1.0")
    equal(asked, [])
    (home / "config.yaml").write_text(configuration)
    shutil.rmtree(home / "cache")
    t.refused("generate", "x", "-p", package, says=["isn't what it was when it was first used here", "a commit never changes"])
    # While git is away, a copy that nothing proved stays usable, with the warning.
    away(t, "lonely", {}, lie, only=False)
    t.run("generate", "x", "-p", package)
    server.stop()
    t.run("registry", "mirror", "remove", host)
    lonely = t.run("generate", "x", "-p", package)
    contains(lonely.out, "9.9.9")
    contains(lonely.err, "nothing proves that the copy of", "git can't be asked")


@test
def mirror_that_lies_leaves_nothing_behind_where_a_lock_or_a_release_knows_better(t):
    server, _, url = in_git(t, "packages", ("0.1.0",))
    host = f"127.0.0.1:{server.port}"
    shop = {"shop": {"git": {"url": url}}}
    t.run("registry", "add", "shop", "-g", url)
    package = caller(t, "shop/plain", "^0.1")
    t.run("package", "lock", package)
    expected = t.run("generate", "x", "-p", package, "--locked").out
    t.run("install", "plain", "-p", "shop/plain:0.1.0")
    copied = mirrored(t, package, "--to", "oci-layout:copies")
    lie = [{"prefix": host, "places": [lying(t, "copies", "lies", b'"0.1.0"', b'"9.9.9"')]}]
    for name, command, says in (("locked", ["generate", "x", "-p", package, "--locked"], ["is not what mistletoe.lock of"]),
                                ("unlocked", ["generate", "x", "-p", package], ["is not what mistletoe.lock of"]),
                                ("released", ["upgrade", "plain"], ["is not what the release was made from"])):
        home = away(t, name, shop, lie)
        t.refused(*command, says=says)
        # The right bytes are welcome afterwards.
        away(t, name, shop, copied["mirrors"])
        done = t.run(*command)
        check(command[0] != "generate" or done.out == expected, done.out)
        check((home / "state").exists(), "they are known now")
        shutil.rmtree(home / "cache")
        away(t, name, shop, lie)
        t.refused("generate", "x", "-p", "shop/plain:0.1.0", says=["isn't what it was when it was first used here"])
    t.run("uninstall", "plain", "--yes")


@test
def mirror_to_an_archive_that_is_something_else_touches_nothing(t):
    _, _, url = in_git(t, "packages", ("0.1.0",))
    package = f"git+{url}//packages/plain/0.1.0?ref=v1"
    with tarfile.open(t.dir / "other.tar", "w") as tar:
        tar.add(t.file("a.txt", b"a"), "a.txt")
    before = (t.dir / "other.tar").read_bytes()
    t.refused("mirror", package, "--to", "oci-archive:other.tar", says=["other.tar is not an OCI layout", "name a new file"])
    (t.dir / "directory").mkdir()
    t.refused("mirror", package, "--to", "oci-archive:directory", says=["directory is a directory", "--to oci-layout:directory"])
    equal((t.dir / "other.tar").read_bytes(), before)
    equal([str(each) for each in t.dir.glob("*.partial")], [])
