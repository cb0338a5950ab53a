"""Packages and charts of OCI registries: the real CNCF distribution registry, and servers that lie."""
import collections
import itertools
import json
import os
import pathlib
import subprocess

from harness import certificate, check, config_map, contains, equal, test
from registries import (MANIFEST, PASSWORD, ROOT, USER, LyingRegistry, Registry, RelayedRegistry, TokenServer, basic, digest, wasm_manifest)
from test_secrets import built

ALL = "GET /v2/team/web/"


def module(t, version, name="hello-web"):
    """A starting package, saying that it is that version (of five characters)."""
    path = next(built("packages/build.sh").glob(f"{name}-?.?.?.mist-pack.wasm"))
    own = f'"version":"{path.name.removeprefix(name + "-")[:5]}"'.encode()
    original = path.read_bytes()
    check(own in original)
    return t.file(f"{name}-{version}.wasm", original.replace(own, f'"version":"{version}"'.encode()))


def chart(t, version, **data):
    return t.files(f"chart-{version}", {
        "Chart.yaml": json.dumps({"apiVersion": "v2", "name": "shop", "version": version, "description": "A shop"}),
        "values.yaml": json.dumps({"greeting": "hello"}),
        "templates/map.yaml": json.dumps({**config_map("{{ .Release.Name }}", {
            "greeting": "{{ .Values.greeting }}", "version": "{{ .Chart.Version }}", **data})})})


def package_of(t, release):
    return t.run("status", release, "-o", "json").json["package"]


@test
def oci_module_is_pushed_installed_and_upgraded_by_range(t):
    registry = Registry(t)
    pushed = t.run("push", module(t, "1.4.0"), registry("team/web:1.4.0"), "-o", "json").json
    schema = json.loads((ROOT / "schemas/cli/push.schema.json").read_text())
    equal(sorted(pushed), sorted(schema["required"]))
    t.run("install", "web", "-p", registry("team/web:^1.4"))
    reference = f"{registry('team/web:1.4.0')}@{pushed['digest']}"
    equal(package_of(t, "web"), reference)
    contains(t.run("list").out, "1.4.0")

    t.run("push", module(t, "1.5.0"), registry("team/web"))
    t.run("push", module(t, "2.0.0"), registry("team/web"))
    completed = t.run("__complete", f"mistctl upgrade web -p {registry('team/web:1')}", " :=").out
    equal(completed.split()[1:], ["1.4.0", "1.5.0"], "what the Tab key offers")
    # Without a package it stays as it is, with nothing asked of the registry.
    mark = registry.mark()
    t.run("upgrade", "web", "-s", "replicas=2")
    equal(package_of(t, "web"), reference)
    equal(registry.requests(mark), [])
    t.run("upgrade", "web", "-p", registry("team/web:^1.4"))
    contains(package_of(t, "web"), registry("team/web:1.5.0@sha256:"))
    check(t.owned("web"))
    t.run("uninstall", "web", "--yes")


@test
def oci_packages_cost_few_requests(t):
    registry = Registry(t)
    digest_of = t.run("push", module(t, "1.4.0"), registry("team/web"), "-o", "json").json["digest"]

    def requests(*command):
        mark = registry.mark()
        t.run(*command)
        return registry.requests(mark)

    def copied(version):
        return requests("pull", registry(f"team/web{version}"), "-o", str(t.dir / "pulled"))

    def rendered(version):
        return requests("generate", "web", "-p", registry(f"team/web{version}"))

    equal(len(copied(":1.4.0")), 2, "nothing is here")
    equal(copied(":1.4.0"), [ALL + "manifests/1.4.0"])
    equal(copied(f"@{digest_of}"), [])
    # The bytes of a digest are here, and nobody's key is remembered.
    equal(rendered(f"@{digest_of}"), [])
    equal(rendered(f":1.4.0@{digest_of}"), [])
    # What is rendered by a tag is asked for its signers once for each version.
    module_digest = digest(pathlib.Path(module(t, "1.5.0")).read_bytes())
    digest_of = t.run("push", module(t, "1.5.0"), registry("team/web"), "-o", "json").json["digest"]
    named = digest_of.replace(":", "-")
    equal(sorted(line.split("team/web/")[1].split("?")[0] for line in rendered(":1.5.0")),
          sorted(["manifests/1.5.0", "blobs/" + module_digest, f"manifests/{named}.sig", f"referrers/{digest_of}", f"manifests/{named}"]))
    equal(rendered(":1.5.0"), [ALL + "manifests/1.5.0"])
    equal(rendered(":^1"), [ALL + "tags/list", ALL + "manifests/1.5.0"])
    # The version is known, and will do while the registry is away; that nobody rendered it before makes no difference.
    registry.stop()
    for version in ("1.4.0", "1.5.0"):
        outcome = t.run("generate", "web", "-p", registry(f"team/web:{version}"))
        contains(outcome.err, "is taken as it was when it was last fetched")
        check("is signed" not in outcome.err, outcome.err)
    t.refused("generate", "web", "-p", registry("team/web:^1"), says=[registry.host])


@test
def oci_registry_with_a_name_knows_ranges(t):
    registry = Registry(t)
    for version in ("1.4.0", "1.5.0"):
        t.run("push", module(t, version), registry("team/web"))
        t.run("push", chart(t, version), registry("team/shop"))
    t.run("registry", "add", "named", "--oci", registry("team"))
    for text, version in (("~1.4", "1.4.0"), ("^1.4", "1.5.0"), ("1.4.x", "1.4.0"), (">=1 <1.5", "1.4.0"), ("*", "1.5.0")):
        t.run("upgrade", "web", "-p", f"named/web:{text}", "--install")
        equal(package_of(t, "web").split("@")[0], registry(f"team/web:{version}"))
        contains(t.run("generate", "shop", "-p", f"named/shop:{text}").out, version)
    t.refused("generate", "web", "-p", "named/web:^2", says=["there is no version ^2", "1.5.0"])
    # A directory is a registry too.
    for version in ("1.4.0", "1.5.0"):
        t.file(f"local/packages/plain/{version}/a.yaml", json.dumps(config_map("a", {"version": version})))
    t.run("registry", "add", "local", "-d", str(t.dir / "local"))
    contains(t.run("generate", "x", "-p", "local/plain:~1.4").out, "1.4.0")
    contains(t.run("generate", "x", "-p", "local/plain:^1.4").out, "1.5.0")
    t.refused("generate", "x", "-p", "local/plain:^2", says=["has no version ^2 of plain", "1.5.0"])


@test
def oci_chart_is_pushed_installed_and_upgraded(t):
    registry = Registry(t)
    t.run("push", chart(t, "0.1.0"), registry("charts/shop"))
    t.run("install", "shop", "-p", registry("charts/shop:0.1.0"), "-s", "greeting=hi")
    equal(t.kube.get("ConfigMap", t.ns, "shop")["data"], {"greeting": "hi", "version": "0.1.0"})
    t.run("push", chart(t, "0.2.0", more="x"), registry("charts/shop"))
    t.run("upgrade", "shop", "-p", registry("charts/shop:^0.2"), "-s", "greeting=hi")
    equal(t.kube.get("ConfigMap", t.ns, "shop")["data"], {"greeting": "hi", "version": "0.2.0", "more": "x"})


@test
def oci_directory_of_yaml_is_pushed_and_pulled(t):
    registry = Registry(t)
    directory = t.package("plain", config_map("a"), config_map("b"))
    # Its author's; whoever pulls it would run what git and editors find in such files.
    hidden = pathlib.Path(directory) / ".vscode/tasks.json"
    hidden.parent.mkdir()
    hidden.write_text("{}")
    t.run("push", directory, registry("plain:1.0.0"))
    t.run("install", "plain", "-p", registry("plain:1.0.0"))
    equal(t.owned("plain"), {"ConfigMap/a", "ConfigMap/b"})
    target = t.dir / "pulled"
    pulled = t.run("pull", registry("plain:1.0.0"), "-o", str(target))
    equal(pulled.out, f"{target}\n")
    contains(pulled.err, "left out, because other programs would read them as configuration: .vscode/tasks.json")
    equal(sorted(file.name for file in target.iterdir()),
          sorted(file.name for file in pathlib.Path(directory).iterdir() if file.is_file()), "what was written")
    for file in target.iterdir():
        equal((pathlib.Path(directory) / file.name).read_bytes(), file.read_bytes())
    t.refused("pull", registry("plain:1.0.0"), "-o", str(target), says=["isn't empty", "-o"])
    equal(t.run("pull", registry("plain:^1")).out, "plain-1.0.0\n")
    check((t.dir / "plain-1.0.0").is_dir())


@test
def oci_kustomization_is_pushed_with_its_bases(t):
    registry = Registry(t)
    root = pathlib.Path(t.files("kustom", {
        "base/kustomization.yaml": "resources: [map.yaml]\n", "base/map.yaml": json.dumps(config_map("a")),
        "base/unused.txt": "x", "overlay/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\n"}))
    t.run("push", str(root / "overlay"), registry("kustom:1.0.0"))
    t.run("install", "kustom", "-p", registry("kustom:1.0.0"))
    equal(t.owned("kustom"), {"ConfigMap/b-a"})


@test
def oci_packages_call_others_of_oci_registries(t):
    registry = Registry(t)
    modules = built("packages/build.sh")
    versions = {"mariadb": "0.1.1", "microservice": "0.1.0", "redis": "0.1.1"}
    for name, version in versions.items():
        t.run("push", str(next(modules.glob(f"{name}-{version}.*"))), registry(f"team/{name}"))
    metadata = t.file("platform.json", json.dumps({
        "apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": "platform-example"},
        "spec": {"version": "0.1.0", "dependencies": [
            {"name": name, "package": registry(f"team/{name}"), "version": "^0.1.0"} for name in versions]}}))
    t.run("package", "build", str(next(modules.glob("platform-example-*"))), "-m", metadata, "-o", "platform.wasm")
    t.run("push", "platform.wasm", registry("team/platform"))
    t.run("install", "shop", "-p", registry("team/platform:^0.1"), "-s", "replicas=1")
    check({"Secret/shop-mariadb-root", "Deployment/shop-mic-a"} <= t.owned("shop"), t.owned("shop"))
    calls = t.run("inspect", "release", "shop", "-o", "json").json["revisions"][-1]["package"]["calls"]
    equal([(call["id"], call["version"]) for call in calls],
          [(registry(f"team/{name}"), version) for name, version in versions.items()])
    # The release keeps what it calls, though the registry has a newer one.
    t.run("push", module(t, "0.1.9", "redis"), registry("team/redis"))
    contains(t.run("upgrade", "shop").out, "nothing was written")
    contains(t.run("upgrade", "shop", "-p", registry("team/platform:0.1.0")).out, "0.1.1 → 0.1.9")


@test
def oci_locked_packages_need_no_tag(t):
    """A lock names manifests: tags that were moved or deleted change nothing, and outdated and lock --update say so."""
    registry, machines = Registry(t), iter(range(99))
    program = t.file("empty.wasm", b"\0asm\1\0\0\0\1\4\1\x60\0\0\3\2\1\0\5\3\1\0\1\7\x13\2\6memory\2\0\6_start\0\0\x0a\4\1\2\0\x0b")

    def another_machine():
        t.env["MIST_HOME_LOCATION"] = str(t.dir / f"home-{next(machines)}")
        t.run("registry", "add", "team", "--oci", registry("team"))

    def package(name, **spec):
        metadata = t.file(f"packages/{name}/mistletoe.yaml", json.dumps({
            "apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": name}, "spec": spec}))
        t.run("package", "build", program, "-m", metadata, "-o", f"packages/{name}/{name}.wasm")
        return str(t.dir / f"packages/{name}/{name}.wasm")

    def publish(says):
        t.run("push", package("db", version="1.0.0", description=says), registry("team/db"), "--overwrite")

    def states(caller):
        return [(p["locked"], p["fits"], p["tag"]) for p in t.run("package", "outdated", caller, "-o", "json").json["packages"]]

    another_machine()
    for name, package_id in (("by-address", registry("team/db")), ("by-name", "team/db")):
        publish("first")
        wanted = {"version": "1.0.0", "dependencies": [{"name": "db", "package": package_id, "version": "^1"}]}
        caller = package(name, **wanted)
        another_machine()
        t.run("package", "lock", caller)
        lock = t.dir / f"packages/{name}/mistletoe.lock"
        before = lock.read_text()
        contains(before, f"source: {registry('team/db:1.0.0')}@sha256:")
        caller = package(name, **wanted)  # with its lock
        publish("second")
        for _ in range(2):
            t.run("generate", "x", "-p", caller, "--locked")
            contains(t.run("package", "lock", caller).out, "up to date")
            equal(states(caller), [("1.0.0", "1.0.0", "moved")])
            contains(t.run("package", "outdated", caller).out, "its tag in the registry was moved")
            another_machine()
        equal(lock.read_text(), before)
        t.run("registry", "delete", registry("team/db:1.0.0"), "--yes")
        another_machine()
        t.run("install", name, "-p", caller, "--locked")
        equal(states(caller), [("1.0.0", "1.0.0", "gone")])
        publish("third")
        contains(t.run("package", "lock", caller, "--update", package_id).out, "other content, its tag was moved in the registry")
        check(lock.read_text() != before)


@test
def oci_push_refuses_what_is_no_package_or_published_otherwise(t):
    registry = Registry(t)
    package = module(t, "1.4.0")
    first = t.run("push", package, registry("team/web")).out
    equal(t.run("push", package, registry("team/web")).out, first)
    other = t.file("other.wasm", pathlib.Path(package).read_bytes() + b"\0\1\0")  # a custom section without a name
    t.refused("push", other, registry("team/web:1.4.0"), says=["is published already, with other content", "--overwrite"])
    t.run("push", other, registry("team/web:1.4.0"), "--overwrite")
    t.refused("push", package, registry("team/web:1.5.0"), says=["says that it is version 1.4.0, not 1.5.0"])
    mark = registry.mark()
    t.refused("push", t.file("no.wasm", "no"), registry("team/web:1.4.0"))
    t.refused("push", chart(t, "0.1.0"), registry("charts/shop:0.2.0"), says=["version 0.1.0, not 0.2.0"])
    t.refused("push", t.package("plain", config_map("a")), registry("plain"), says=["doesn't say its version"])
    equal(registry.requests(mark), [])


@test
def oci_version_that_two_push_at_once_is_one_of_them(t):
    registry = Registry(t)
    ours = module(t, "1.4.0")
    theirs = t.file("theirs.wasm", pathlib.Path(ours).read_bytes() + b"\0\1\0")
    ours_digest, theirs_digest = (
        t.run("push", file, registry(f"{name}:1.4.0"), "-o", "json").json["digest"] for name, file in (("ours", ours), ("theirs", theirs)))
    others = {}  # path: (at which question for that tag somebody else does something, what)
    asked = collections.Counter()

    def before(method, path):
        asked[method, path] += 1
        at, act = others.get(path, (None, None))
        if method == "HEAD" and asked[method, path] == at:
            act()
    relay = RelayedRegistry(t, registry, before)

    def tag_is(name, digest_of):
        copied = t.run("registry", "copy", registry(name), registry("compare:x"), "-o", "json").json
        equal(copied["digest"], digest_of)
    # While the blobs of ours are sent: theirs is not replaced.
    others["/v2/during/manifests/1.4.0"] = 2, lambda: t.run("push", theirs, registry("during:1.4.0"))
    t.refused("push", ours, relay("during"), says=["is published already, with other content"])
    tag_is("during:1.4.0", theirs_digest)
    equal(asked["PUT", "/v2/during/manifests/1.4.0"], 0)
    # After ours was written.
    others["/v2/after/manifests/1.4.0"] = 3, lambda: t.run("push", theirs, registry("after:1.4.0"), "--overwrite")
    t.refused("push", ours, relay("after"),
              says=["was published by somebody else at the same time", theirs_digest, ours_digest, "push yours as another version"])
    tag_is("after:1.4.0", theirs_digest)
    # A tag that may move.
    others["/v2/moving/manifests/prod"] = 2, lambda: t.run("registry", "copy", registry("theirs:1.4.0"), registry("moving:prod"))
    moved = t.run("registry", "copy", registry("ours:1.4.0"), relay("moving:prod"))
    contains(moved.err, f"moving:prod is {theirs_digest} now, not {ours_digest}: somebody else moved it at the same time")


@test
def oci_version_that_moved_is_refused(t):
    registry = Registry(t)
    t.run("push", chart(t, "0.1.0"), registry("charts/shop"))
    t.run("install", "shop", "-p", registry("charts/shop:0.1.0"))
    t.run("push", chart(t, "0.1.0", evil="x"), registry("charts/shop"), "--overwrite")
    t.refused("upgrade", "shop", "-p", registry("charts/shop:0.1.0"),
              says=["isn't what it was when it was first used here", "oci://…@sha256:"])
    t.refused("upgrade", "shop", "-p", registry("charts/shop:^0.1"), says=["isn't what it was"])
    # The release goes on with what it was made from.
    t.run("upgrade", "shop", "-s", "greeting=hi")
    equal(t.kube.get("ConfigMap", t.ns, "shop")["data"], {"greeting": "hi", "version": "0.1.0"})


@test
def oci_registry_with_basic_authentication(t):
    registry = Registry(t, auth=basic(t))
    package = module(t, "1.4.0")
    t.refused("push", package, registry("team/web"), says=["needs credentials, and there are none",
                                                           f"mistctl login {registry.host}"])
    login(t, registry.host, "wrong", code=1)
    check(not (t.dir / ".docker/config.json").exists())
    login(t, registry.host, PASSWORD)
    config = t.dir / ".docker/config.json"
    equal(config.stat().st_mode & 0o777, 0o600)
    check(PASSWORD not in t.run("push", package, registry("team/web"), "-vv").err)
    t.run("install", "web", "-p", registry("team/web:1.4.0"))
    t.run("logout", registry.host)
    check(registry.host not in config.read_text())
    t.refused("inspect", "package", registry("team/web:1.5.0"), says=["needs credentials"])


def login(t, host, password, code=0, **more):
    process = t.start("login", host, "-u", USER, "--password-stdin", stdin=subprocess.PIPE, **more)
    process.stdin.write(password.encode())
    process.stdin.close()
    process.stdin = None
    outcome = t.finish(process, code)
    check(password not in outcome.out + outcome.err, outcome)
    return outcome


@test
def oci_registry_with_token_authentication(t):
    tokens = TokenServer(t)
    registry = Registry(t, auth=tokens.auth())
    login(t, registry.host, "wrong", code=1)
    login(t, registry.host, PASSWORD)
    tokens.asked.clear()
    t.run("push", module(t, "1.4.0"), registry("team/web"))
    equal(tokens.asked, ["repository:team/web:pull,push"], "one token for the whole push")
    tokens.asked.clear()
    mark = registry.mark()
    t.run("install", "web", "-p", registry("team/web:1.4.0"))
    equal(tokens.asked, ["repository:team/web:pull"])
    equal(len(registry.requests(mark)), 6, "refused once, then the manifest, the blob, and three questions for its signatures")


@test
def oci_expired_token_is_renewed_in_the_middle_of_a_push(t):
    # The registry grants a minute beyond the end, so these tokens are dead when they are born.
    tokens = TokenServer(t, lifetime=-120)
    registry = Registry(t, auth=tokens.auth())
    t.file(".docker/config.json", json.dumps({"auths": {registry.host: {"username": USER, "password": PASSWORD}}}))
    t.refused("push", module(t, "1.4.0"), registry("team/web"), says=["refuses the credentials"])
    born = iter([300, -120, -120, 300, 300])
    original = tokens.token

    def token(query):
        tokens.lifetime = next(born, 300)
        return original(query)
    tokens.token = token
    tokens.lifetime = 300
    t.run("push", module(t, "1.4.0"), registry("team/web"))


@test
def oci_registry_with_its_own_authority(t):
    _, authority = certificate(t)
    registry = Registry(t, tls=True)
    package = module(t, "1.4.0")
    t.refused("push", package, registry("team/web"), says=["certificate"])
    t.env["SSL_CERT_FILE"] = t.file("ca.crt", authority)
    t.run("push", package, registry("team/web:v1.4.0"))
    t.run("generate", "web", "-p", registry("team/web:v1.4.0"))
    equal(t.run("pull", registry("team/web:^1")).out, "web-v1.4.0.wasm\n")


@test
def oci_plain_http_to_another_machine_needs_a_flag(t):
    # A name that isn't this machine's own, for all that mistctl knows: a proxy stands for the rest of the world.
    registry = LyingRegistry(t, {})
    t.env["http_proxy"] = t.env["https_proxy"] = f"http://{registry.host}"
    t.refused("inspect", "package", "oci://registry.example/team/web:1.4.0")
    check(not any(path.startswith("http://") for _, path, _ in registry.asked), registry.asked)
    t.refused("inspect", "package", "oci://registry.example/team/web:1.4.0", "--plain-http", says=["there is no 1.4.0"])
    contains(str(registry.asked), "http://registry.example/v2/team/web/manifests/1.4.0")


@test
def oci_registries_that_lie(t):
    code = b"\0asm\1\0\0\0"
    layer, other = digest(code), digest(b"other")
    base = "/v2/a/b"
    good = wasm_manifest(code)
    json_type = {"Content-Type": MANIFEST}

    def endless():
        return itertools.repeat(b"x" * 65536)

    def case(answers, *says):
        registry = LyingRegistry(t, {base + path: answer for path, answer in answers.items()})
        t.refused("inspect", "package", registry("a/b:1.4.0"), says=says)
        return registry

    manifest = {"/manifests/1.4.0": (200, json_type, good)}
    case({**manifest, f"/blobs/{layer}": (200, {}, b"\0asm\1\0\0\1")}, "is not what its digest says", layer)
    case({**manifest, f"/blobs/{layer}": (200, {}, endless())}, "more than the 8 bytes came")
    case({**manifest, f"/blobs/{layer}": (200, {}, b"\0asm")}, "4 bytes came, and its manifest says 8")
    case(manifest, "has lost a part of")
    case({"/manifests/1.4.0": (200, json_type, endless())})
    case({"/manifests/1.4.0": (200, json_type, wasm_manifest(code, mediaType="text/plain"))}, "is not a package",
         "its layers are: text/plain")
    case({"/manifests/1.4.0": (200, json_type, good.replace(b"wasm.config.v0", b"other.config.v0"))}, "is not a package")
    case({"/manifests/1.4.0": (200, json_type, wasm_manifest(code, size=1 << 40))}, "is too large")
    case({"/manifests/1.4.0": (200, json_type, b"<html>")}, "is damaged, or not a manifest")
    case({"/manifests/1.4.0": (200, {"Content-Type": "application/vnd.oci.image.index.v1+json"}, good)},
         "is damaged, or not a manifest")
    case({"/manifests/1.4.0": (401, {}, b"")}, "in a way that mistctl doesn't know")
    case({"/manifests/1.4.0": (401, {"WWW-Authenticate": 'Basic realm="r"'}, b"")}, "needs credentials", "mistctl login")
    case({"/manifests/1.4.0": (403, {}, b'{"errors":[{"code":"DENIED","message":"no"}]}')}, "no (DENIED)")
    case({}, "there is no 1.4.0", "MANIFEST_UNKNOWN")
    # By digest, other bytes are never taken.
    registry = LyingRegistry(t, {f"{base}/manifests/{other}": (200, json_type, good)})
    t.refused("inspect", "package", registry(f"a/b@{other}"), says=["is not what its digest says", digest(good)])


@test
def oci_credentials_stay_with_their_registry(t):
    elsewhere = LyingRegistry(t, {"/steal": (200, {}, b"\0asm\1\0\0\0")})
    code = b"\0asm\1\0\0\0"
    registry = LyingRegistry(t, {"/v2/a/b/manifests/1.4.0": (401, {"WWW-Authenticate": 'Basic realm="r"'}, b"")})
    t.file(".docker/config.json", json.dumps({"auths": {registry.host: {"username": USER, "password": PASSWORD}}}))
    t.refused("inspect", "package", registry("a/b:1.4.0"), says=["refuses the credentials"])
    check(any(authorization for _, _, authorization in registry.asked))
    registry.answers = {"/v2/a/b/manifests/1.4.0": (200, {"Content-Type": MANIFEST}, wasm_manifest(code)),
                        f"/v2/a/b/blobs/{digest(code)}": (307, {"Location": f"http://{elsewhere.host}/steal"}, b"")}
    t.run("pull", registry("a/b:1.4.0"), "-o", str(t.dir / "x.wasm"))
    equal([authorization for _, _, authorization in elsewhere.asked], [None])


def helm():
    """The real helm, where the benchmark's peers were built."""
    cache = pathlib.Path(os.environ.get("MIST_CACHE", pathlib.Path.home() / ".cache/mistletoe-build"))
    return next(iter(sorted(cache.glob("peers-*/helm"))), None)


@test
def oci_helm_reads_and_writes_the_same_charts(t):
    program = helm()
    if not program:
        return t.note("not run: bench/peers was never built here")
    registry = Registry(t)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(t.dir)}

    def run(*arguments):
        done = subprocess.run([program, *arguments], cwd=t.dir, env=environment, capture_output=True, text=True)
        check(done.returncode == 0, done.stderr)
        return done.stdout

    t.run("push", chart(t, "0.1.0"), registry("charts/shop"))
    run("pull", registry("charts/shop"), "--version", "0.1.0", "--plain-http")
    contains(run("template", "x", "shop-0.1.0.tgz"), '"version": "0.1.0"')
    run("package", chart(t, "0.2.0+b.1"))
    run("push", "shop-0.2.0+b.1.tgz", registry("charts"), "--plain-http")
    t.run("install", "shop", "-p", registry("charts/shop:0.2.0+b.1"))
    equal(t.kube.get("ConfigMap", t.ns, "shop")["data"]["version"], "0.2.0+b.1")
    t.run("pull", registry("charts/shop:^0.2"), "-o", "back.tgz")
    equal((t.dir / "back.tgz").read_bytes(), (t.dir / "shop-0.2.0+b.1.tgz").read_bytes())
