"""Rendered objects in OCI registries, read by Flux's own client; and what else is done to artifacts there."""
import itertools
import json
import pathlib
import re
import subprocess

from guides import Guide
from harness import check, config_map, contains, equal, test
from registries import MANIFEST, PASSWORD, ROOT, USER, LyingRegistry, Registry, TokenServer, digest
from test_registries import module


def drawing_chart(t, where="Secret"):
    """A chart that draws a password, and keeps a checksum of it elsewhere."""
    secret = ('apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n'
              'stringData: {password: {{ randAlphaNum 20 }}}\n')
    variable = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db}\ndata: {password: {{ randAlphaNum 20 }}}\n'
    return t.files("drawing", {
        "Chart.yaml": json.dumps({"apiVersion": "v2", "name": "drawing", "version": "0.1.0"}),
        "templates/drawn.yaml": secret if where == "Secret" else variable,
        "templates/web.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, annotations: {sum: '
                              '{{ randAlphaNum 20 | sha256sum }}}}\ndata: {size: "{{ .Values.size }}"}\n',
        "templates/test.yaml": 'apiVersion: v1\nkind: Pod\nmetadata: {name: check, annotations: {helm.sh/hook: test}}\n',
        "values.yaml": "size: 1\n"})


def seed(t, clock="2026-01-01T00:00:00Z"):
    path = t.file("seed.json", json.dumps({"seed": "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=", "clock": clock}))
    pathlib.Path(path).chmod(0o600)
    return path


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}


def fits(value, schema, where="it"):
    """Of JSON Schema what schemas/cli has for these commands."""
    if kinds := schema.get("type"):
        kinds = [kinds] if isinstance(kinds, str) else kinds
        check(any(type(value) is TYPES[kind] for kind in kinds), f"{where} is no {kinds}: {value}")
    check(value in schema.get("enum", [value]), f"{where}: {value}")
    check(not isinstance(value, str) or re.search(schema.get("pattern", ""), value), f"{where}: {value}")
    if isinstance(value, dict):
        equal(sorted(value), sorted(schema["required"]), where)
        for name, member in value.items():
            fits(member, schema["properties"][name], f"{where}.{name}")
    for item in value if isinstance(value, list) else []:
        fits(item, schema["items"], where + "[]")


def printed(t, schema, *arguments, code=0):
    """What `-o json` prints, which is as schemas/cli/SCHEMA.schema.json says."""
    value = t.run(*arguments, "-o", "json", code=code).json
    fits(value, json.loads((ROOT / f"schemas/cli/{schema}.schema.json").read_text()))
    return value


def flux_pull(t, reference):
    """Metadata and files, {path: text}, as Flux's controllers would see them."""
    built = subprocess.run([ROOT / "tests/registries/build.sh", "flux"], capture_output=True, text=True)
    check(built.returncode == 0, built.stderr)
    target = t.dir / f"flux-{sum(1 for _ in t.dir.glob('flux-*'))}"
    target.mkdir()
    pulled = subprocess.run([built.stdout.strip(), reference.removeprefix("oci://"), target], capture_output=True, text=True,
                            env={"PATH": "/usr/bin:/bin", "HOME": str(t.dir), "DOCKER_CONFIG": str(t.dir / ".docker")})
    check(pulled.returncode == 0, pulled.stderr)
    files = {str(path.relative_to(target)): path.read_text() for path in target.rglob("*") if path.is_file()}
    return json.loads(pulled.stdout), files


@test
def oci_published_objects_are_what_flux_reads(t):
    registry, other = Registry(t), Registry(t)
    package = t.package("plain", config_map("a", {"x": "1"}), config_map("b", namespace="elsewhere"))
    arguments = ["--seed-file", seed(t), "--source", "https://git.example/team/deploy", "--revision", "main@sha1:0123"]
    published = printed(t, "publish", "publish", package, registry("deploy/plain:prod"), *arguments)
    equal((published["objects"], published["wasThere"]), (2, False))

    metadata, files = flux_pull(t, registry("deploy/plain:prod"))
    equal(sorted(files), ["configmap-a.yaml", "elsewhere/configmap-b.yaml"])
    contains(files["configmap-a.yaml"], "name: a", 'x: "1"')
    shown = json.dumps(metadata)
    contains(shown, "https://git.example/team/deploy", "main@sha1:0123", published["digest"], "2026-01-01T00:00:00Z")

    # What was published is published: one question, and nothing is sent.
    mark = registry.mark()
    check(printed(t, "publish", "publish", package, registry("deploy/plain:prod"), *arguments)["wasThere"])
    equal(registry.requests(mark), ["HEAD /v2/deploy/plain/manifests/prod"])
    # In another registry it has the same digest.
    again = printed(t, "publish", "publish", package, other("deploy/plain:prod"), *arguments)
    equal(again["digest"], published["digest"])
    # Another job has another clock, but no other objects.
    later = printed(t, "publish", "publish", package, registry("deploy/plain:prod"), *arguments, "--clock", "2027-01-01T00:00:00Z")
    equal((later["digest"], later["wasThere"]), (published["digest"], True))
    # What is published is a package, too.
    contains(t.run("generate", "plain", "-p", registry("deploy/plain:prod")).out, "name: a", "name: b")


@test
def oci_drawn_secrets_are_published_only_when_asked(t):
    registry = Registry(t)
    chart = drawing_chart(t)
    destination, arguments = registry("deploy/drawing:prod"), ["--seed-file", seed(t)]
    mark = registry.mark()
    t.refused("publish", chart, destination, *arguments,
              says=["1 object would publish secrets that the package drew", "Secret db: .stringData.password",
                    "--secrets=external", "--secrets=include"])
    equal(registry.requests(mark), [])
    t.refused("publish", drawing_chart(t, "ConfigMap"), destination, *arguments, "--secrets=external",
              says=["ConfigMap db: .data.password", "--secrets=include"])

    chart = drawing_chart(t)
    outcome = printed(t, "publish", "publish", chart, destination, *arguments, "--secrets=external")
    equal([(each["kind"], each["name"]) for each in outcome["leftOut"]], [("Secret", "db")])
    equal(sorted(flux_pull(t, destination)[1]), ["configmap-web.yaml"])
    diff = ["diff", "drawing", "-p", chart, "--against", destination, *arguments, "--exit-code"]
    contains(t.run(*diff).out, "no differences, 1 unchanged")
    changed = t.run(*diff, "-s", "size=2", code=3).out
    contains(changed, "changed ConfigMap web", '-  size: "1"', '+  size: "2"', "published/", "rendered/")
    shown = printed(t, "diff-published", *diff, "-s", "size=2", code=3)
    equal([each["change"] for each in shown["objects"]], ["changed"])

    t.run("publish", chart, destination, *arguments, "--secrets=include")
    _, files = flux_pull(t, destination)
    equal(sorted(files), ["configmap-web.yaml", "secret-db.yaml"], "the test of the chart is not there")
    generated = t.run("generate", "drawing", "-p", chart, *arguments).out
    password = re.search(r"password: (\S+)", generated)[1]
    contains(files["secret-db.yaml"], password)
    # A comparison shows no secret, not even one that another seed drew.
    compared = t.run("diff", "drawing", "-p", chart, "--against", destination, "-U", "20")
    contains(compared.out, "changed Secret db", "password: '*** (after)'")
    check(password not in compared.out + compared.err, compared)


@test
def flux_gets_an_artifact_from_a_job(t):
    registry = Registry(t)
    guide = Guide(t, "docs/gitops.md")
    guide.run()
    for name in ("publish.sh", "compare.sh"):
        guide.file(name, guide.files()[name].replace("registry.example", registry.host))
    code, printed = guide.shell("git config --global user.email a@example.com && git config --global user.name a && "
                                "git init -q -b main && mistctl package init shop --template chart && touch prod.yaml && "
                                "git add shop prod.yaml && git commit -qm Begin && sh -e publish.sh && sh -e compare.sh")
    check(code == 0, printed)
    contains(printed, "oci://" + registry.host + "/deploy/shop:prod@sha256:", "shop against", "no differences")
    metadata, files = flux_pull(t, registry("deploy/shop:prod"))
    equal(metadata["source_url"], "https://git.example/team/deploy.git")
    check(re.fullmatch(r"main@sha1:[0-9a-f]{40}", metadata["source_revision"]), metadata)
    check(any(name.startswith("deployment.apps-") for name in files), files)
    guide.file("prod.yaml", "replicas: 5\n")
    code, printed = guide.shell("sh -e compare.sh")
    check(code == 0, printed)
    contains(printed, "changed Deployment", "replicas: 5")


@test
def oci_artifacts_are_tagged_copied_and_deleted(t):
    tokens = TokenServer(t)
    registry, mirror = Registry(t, auth=tokens.auth()), Registry(t)
    t.file(".docker/config.json", json.dumps({"auths": {registry.host: {"username": USER, "password": PASSWORD}}}))
    for version in ("1.4.0", "2.0.0", "1.5.0"):
        t.run("push", module(t, version), registry("team/web"))
    pushed = printed(t, "registry-tag", "registry", "tag", registry("team/web:1.5.0"), "stable")
    equal(pushed["before"], None)
    equal(t.run("registry", "tags", registry("team/web")).out.split(), ["2.0.0", "1.5.0", "1.4.0", "stable"])
    listed = printed(t, "registry-tags", "registry", "tags", registry("team/web:^1"))
    equal([each["tag"] for each in listed["tags"]], ["1.5.0", "1.4.0"])

    # Within the registry the layers stay where they are.
    tokens.asked.clear()
    mark = registry.mark()
    copied = printed(t, "registry-copy", "registry", "copy", registry("team/web:^1"), registry("prod/web"))
    equal((copied["digest"], copied["mounted"], copied["blobs"], copied["bytes"]), (pushed["digest"], 2, 0, 0))
    check(not any(" /v2/team/web/blobs/" in line for line in registry.requests(mark)), registry.requests(mark))
    t.refused("registry", "copy", registry("team/web:2.0.0"), registry("prod/web:1.5.0"), says=["is published already", "--overwrite"])
    # To another one they pass through here.
    copied = printed(t, "registry-copy", "registry", "copy", registry("prod/web:1.5.0"), mirror("far/web"))
    equal((copied["digest"], copied["mounted"], copied["blobs"]), (pushed["digest"], 0, 2))
    check(printed(t, "registry-copy", "registry", "copy", registry("prod/web:1.5.0"), mirror("far/web"))["wasThere"])
    t.run("install", "web", "-p", mirror("far/web:1.5.0"))

    t.refused("registry", "delete", registry("team/web:stable"), code=2, says=["--yes"])
    gone = printed(t, "registry-delete", "registry", "delete", registry("team/web:stable"), "--yes")
    equal(gone["digest"], pushed["digest"])
    equal(t.run("registry", "tags", registry("team/web")).out.split(), ["2.0.0", "1.5.0", "1.4.0"])
    t.refused("registry", "delete", registry("team/web:stable"), "--yes", says=["there is no"])
    t.run("registry", "delete", registry(f"team/web@{pushed['digest']}"), "--yes")
    t.refused("pull", registry("team/web:1.5.0"), says=["there is no 1.5.0"])


@test
def oci_registries_that_lie_while_copying(t):
    target = Registry(t)
    layer, config = b"layer", b"{}"
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST,
                           "config": {"mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": digest(config), "size": 2},
                           "layers": [{"mediaType": "application/vnd.cncf.flux.content.v1.tar+gzip", "digest": digest(layer),
                                       "size": len(layer)}]}).encode()
    good = {"/v2/a/b/manifests/prod": (200, {"Content-Type": MANIFEST}, manifest),
            f"/v2/a/b/blobs/{digest(config)}": (200, {}, config)}

    def case(answer, *says):
        registry = LyingRegistry(t, {**good, f"/v2/a/b/blobs/{digest(layer)}": answer})
        t.refused("registry", "copy", registry("a/b:prod"), target("a/b"), says=says)
        t.refused("registry", "tags", target("a/b"), says=["there is no repository"])
    case((200, {}, b"eyare"), "is not what its digest says")
    case((200, {}, itertools.repeat(b"x" * 65536)), "more than the 5 bytes came")
    case((200, {}, b"la"), "2 bytes came, and its manifest says 5")
    case((404, {}, b""), "has lost a part of")
    # What comes is no archive of YAML.
    registry = LyingRegistry(t, {**good, f"/v2/a/b/blobs/{digest(layer)}": (200, {}, layer)})
    t.refused("diff", "x", "-p", t.package("plain", config_map("a")), "--against", registry("a/b:prod"), says=["while unpacking"])
