"""Finding packages: indexes in git and in OCI registries, kept in SQLite on this machine."""
import contextlib
import gzip
import json
import pathlib
import shutil
import sqlite3
import subprocess

from harness import check, config_map, contains, equal, test, workload
from registries import MANIFEST, LyingRegistry, Registry, digest
from test_publish import printed
from test_registries import chart, module


def found(t, *arguments):
    return [package["reference"] for package in printed(t, "search", "search", *arguments)["packages"]]


def git(directory, *arguments):
    subprocess.run(["git", "-C", directory, "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments], check=True,
                   capture_output=True)


def git_registry(t):
    """A working copy with a program, a chart and plain YAML, not committed yet."""
    root = t.dir / "packages-repo"
    (root / "sites/hello-web").mkdir(parents=True)
    shutil.copy(module(t, "1.4.0"), root / "sites/hello-web/hello-web-1.4.0.mist-pack.wasm")
    shutil.copytree(chart(t, "0.1.0"), root / "packages/shop/0.1.0")
    document = json.loads((root / "packages/shop/0.1.0/Chart.yaml").read_text())
    document |= {"keywords": ["store", "front end"], "maintainers": [{"name": "Ann Example", "email": "ann@example.org"}]}
    (root / "packages/shop/0.1.0/Chart.yaml").write_text(json.dumps(document))
    shutil.copytree(t.package("plain", workload("StatefulSet", "db"), config_map("x")), root / "packages/database/2.0.0")
    shutil.copytree(t.package("pre", workload("Deployment", "db")), root / "packages/database/2.1.0-rc.1")
    git(t.dir, "init", "-q", "-b", "main", str(root))
    return root


@test
def search_of_a_git_registry_with_an_index(t):
    root = git_registry(t)
    report = printed(t, "registry-index", "registry", "index", str(root))
    equal([report["packages"], report["read"], report["leftOut"]], [3, 3, 0])
    first = (root / "mistletoe-index.jsonl").read_bytes()
    equal(printed(t, "registry-index", "registry", "index", str(root))["read"], 0, "nothing changed")
    equal((root / "mistletoe-index.jsonl").read_bytes(), first)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    t.run("registry", "remove", "mistletoe")
    t.run("registry", "add", "team", "-g", str(root))

    equal(found(t, "shop"), ["team/shop:0.1.0"])
    equal(found(t, "hello"), ["team/sites/hello-web:1.4.0"])
    equal(found(t, "--kind", "StatefulSet"), ["team/database:2.0.0"], "the prerelease is not the newest")
    equal(found(t, "--kind", "Deployment"), ["team/sites/hello-web:1.4.0"])
    equal(found(t, "--keyword", "front end"), ["team/shop:0.1.0"])
    equal(found(t, "--maintainer", "ann"), ["team/shop:0.1.0"])
    equal(found(t, "nothing-of-that-name"), [])
    # What was found can be installed as it is named.
    t.run("install", "shop", "-p", found(t, "shop")[0])
    t.run("uninstall", "shop", "--yes")

    # New packages are found after an update, and a damaged database is recreated.
    shutil.copytree(t.package("more", config_map("m")), root / "packages/more/1.0.0")
    equal(printed(t, "registry-index", "registry", "index", str(root))["read"], 1)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "two")
    equal(found(t, "more"), [])
    t.run("registry", "update", "team")
    equal(found(t, "more"), ["team/more:1.0.0"])
    database = t.dir / "home/cache/search.db"
    for damage in (b"not a database", database.read_bytes()[:5000], database.read_bytes()[:4096] + b"\xff" * 40000):
        database.write_bytes(damage)
        equal(found(t, "more"), ["team/more:1.0.0"])
    t.run("registry", "remove", "team")
    equal(found(t), [])


@test
def an_index_whose_packages_name_servers_that_are_away(t):
    root = git_registry(t)
    t.run("registry", "index", str(root))
    away = t.files("away", {"kustomization.yaml": "resources: ['http://127.0.0.1:1/a.yaml']\n"})
    shutil.copytree(away, root / "packages/away/1.0.0")
    shutil.copytree(away, root / "packages/database/3.0.0")
    report = printed(t, "registry-index", "registry", "index", str(root))
    equal([report["packages"], report["read"], report["leftOut"]], [3, 0, 1], "one is as in the earlier index")
    entries = [json.loads(line) for line in (root / "mistletoe-index.jsonl").read_text().splitlines()]
    equal([(e["version"], e["versions"][0]) for e in entries if e.get("path") == "database"], [("2.0.0", "3.0.0")])


@test
def search_without_an_index_knows_names(t):
    root = git_registry(t)
    t.run("registry", "remove", "mistletoe")
    t.run("registry", "add", "local", "-d", str(root))
    equal(found(t, "database"), ["local/database:2.0.0"])
    equal(found(t, "--kind", "StatefulSet"), [])
    t.run("registry", "index", str(root))
    equal(found(t, "--kind", "StatefulSet"), ["local/database:2.0.0"])


@test
def search_of_an_oci_registry(t):
    registry = Registry(t)
    url = registry("team")
    t.run("push", module(t, "1.4.0"), registry("team/sites/web:1.4.0"))
    t.run("push", chart(t, "0.1.0"), registry("team/shop"))
    t.run("push", t.package("plain", workload("StatefulSet", "db")), registry("team/database:2.0.0"))
    t.run("push", t.package("other", config_map("o")), registry("elsewhere/other:1.0.0"))
    t.run("registry", "remove", "mistletoe")
    t.run("registry", "add", "shop", "--oci", url)
    outcome = t.run("search", "web")
    contains(outcome.err, "has no index of its packages", f"mistctl registry index {url}")

    report = printed(t, "registry-index", "registry", "index", url)
    equal([report["packages"], report["read"]], [3, 3])
    contains(report["written"], registry("team/mistletoe-index:v1@sha256:"))
    equal(found(t, "web"), ["shop/sites/web:1.4.0"])
    equal(found(t, "--kind", "StatefulSet"), ["shop/database:2.0.0"])
    mark = registry.mark()
    equal(found(t, "shop"), ["shop/shop:0.1.0"])
    equal(registry.requests(mark), [], "searching asks nobody")
    t.run("search", "shop", "--refresh")
    equal(registry.requests(mark), ["HEAD /v2/team/mistletoe-index/manifests/v1"], "one question if nothing is new")

    # Of a changed index, only what changed is fetched.
    t.run("push", module(t, "1.5.0"), registry("team/sites/web:1.5.0"))
    equal(printed(t, "registry-index", "registry", "index", url)["read"], 1)
    mark = registry.mark()
    equal(found(t, "web", "--refresh"), ["shop/sites/web:1.5.0"])
    equal(len([line for line in registry.requests(mark) if "/blobs/" in line]), 1)
    # And a name leads to the package.
    t.run("generate", "web", "-p", "shop/sites/web:1.4.0")
    t.refused("generate", "web", "-p", "shop/sites/web:9.0.0", says=["there is no 9.0.0", "1.5.0"])
    completed = t.run("__complete", "mistctl generate x -p shop/sites/web:1", " :=").out
    equal(completed.split()[1:], ["1.4.0", "1.5.0"])
    # Named repositories, where a registry lists none.
    equal(printed(t, "registry-index", "registry", "index", url, "--package", "shop")["packages"], 1)
    equal(found(t, "web", "--refresh"), [])
    # A registry that is away is searched as it was.
    registry.stop()
    equal(found(t, "shop"), ["shop/shop:0.1.0"])
    contains(t.run("search", "shop", "--refresh").err, "shop is searched as it was read last")
    # So is one whose index an older version stored, or which is here in part: it has no state.
    with contextlib.closing(sqlite3.connect(t.dir / "home/cache/search.db")) as database, database:
        database.execute("UPDATE source SET state = ''")
    outcome = t.run("search", "shop")
    contains(outcome.out, "shop/shop")
    contains(outcome.err, "shop is searched as it was read last")


@test
def an_index_leaves_out_repositories_without_a_whole_version_and_says_so(t):
    registry = Registry(t)
    url = registry("team")
    t.run("push", chart(t, "0.1.0"), registry("team/shop"))
    t.run("registry", "copy", registry("team/shop:0.1.0"), registry("team/moving:v1"))
    t.run("registry", "copy", registry("team/shop:0.1.0"), registry("team/named:prod"))
    outcome = t.run("registry", "index", url, "-o", "json")
    equal([outcome.json["packages"], outcome.json["leftOut"]], [1, 1], "prod is no version at all")
    contains(outcome.err, f"left out: moving: no tag of {registry('team/moving')} is a whole version",
             "tags that are not whole versions, such as 1.4.0, are left out: v1")


@test
def search_of_an_index_that_lies(t):
    t.run("registry", "remove", "mistletoe")
    config = b"{}"

    def serve(body, **changes):
        layer = {"mediaType": "application/vnd.mistletoe.index.v1.jsonl+gzip", "digest": digest(body), "size": len(body),
                 "annotations": {"dev.mistletoe.index.shard": shard_of("good")}, **changes}
        manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST,
                               "config": {"mediaType": "application/vnd.mistletoe.index.config.v1+json", "digest": digest(config),
                                          "size": len(config)}, "layers": [layer]}).encode()
        liar = LyingRegistry(t, {"/v2/team/mistletoe-index/manifests/v1": (200, {"Content-Type": MANIFEST}, manifest),
                                 f"/v2/team/mistletoe-index/blobs/{layer['digest']}": (200, {}, body)})
        t.run("registry", "remove", "liar", code=None)
        t.run("registry", "add", "liar", "--oci", liar("team"))

    def shard_of(path):
        number = 0xcbf29ce484222325
        for byte in path.encode():
            number = (number ^ byte) * 0x100000001b3 % (1 << 64)
        return f"{number % 16:02}"

    late = next(f"late{i}" for i in range(1000) if shard_of(f"late{i}") == shard_of("good"))
    elsewhere = next(f"elsewhere{i}" for i in range(1000) if shard_of(f"elsewhere{i}") != shard_of("good"))

    def index(*lines):
        header = {"apiVersion": "mistletoe.dev/v1alpha1", "kind": "PackageIndex"}
        return gzip.compress("".join(json.dumps(line) + "\n" for line in (header, *lines)).encode())
    serve(index({"path": "good", "version": "1.0.0", "description": "\x1b[31mred\x07 \u202eevil", "kinds": ["A"] * 500},
                {"path": "\x1b[2J", "version": "1.0.0"}, {"path": "../../up", "version": "1.0.0"},
                {"path": "x';--", "version": "1"}, {"path": ["a"], "version": {}}, 7, {"path": late, "version": "2.0.0"},
                {"path": elsewhere, "version": "1.0.0"}, {"path": "good", "version": "7.0.0"}))
    outcome = t.run("search")
    contains(outcome.err, "the index of liar has 7 packages that no reference could name")
    check("\x1b" not in outcome.out and "\u202e" not in outcome.out and "\x07" not in outcome.out, repr(outcome.out))
    equal(found(t), ["liar/good:1.0.0", f"liar/{late}:2.0.0"])
    for body, says in ((gzip.compress(b"\0" * (200 << 20)), "while unpacking"), (b"no gzip", "while unpacking"),
                       (gzip.compress(b"hello\n"), "is not an index of packages"), (index(), None)):
        serve(body)
        outcome = t.run("search")
        if says:
            contains(outcome.err, "liar can't be searched", says)
    serve(index(), annotations={"dev.mistletoe.index.shard": "16"})
    contains(t.run("search").err, "has a shard that is none: '16'", "from 00 to 15")
    serve(index(), size=1 << 40)
    contains(t.run("search").err, "is too large")
    pathlib.Path(t.dir / "home/cache/search.db").unlink()
    equal(found(t), [])
