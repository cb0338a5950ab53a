"""oras and crane as programs beside mistctl, each reading what the others wrote: in CNCF's registry, and in one with the referrers
API."""
import io
import json
import pathlib
import subprocess
import tarfile

from harness import check, config_map, contains, equal, test
from registries import MANIFEST, ROOT, WASM_CONFIG, Registry, digest
from small_registry import SmallRegistry
from test_mirrors import required_key
from test_publish import printed
from test_registries import chart, module
from test_signatures import keys, policy

BILL = "application/vnd.cyclonedx+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"


class Peer:
    """oras or crane: run("manifest", …) gives what it prints."""

    def __init__(self, t, name):
        built = subprocess.run([ROOT / "tests/registries/build.sh", name], capture_output=True, text=True)
        check(built.returncode == 0, built.stderr)
        self.program, self.directory = built.stdout.strip(), t.dir
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(t.dir)}

    def __call__(self, *arguments, code=0):
        done = subprocess.run([self.program, *arguments], cwd=self.directory, env=self.environment, capture_output=True, text=True)
        check(done.returncode == code, " ".join(map(str, arguments)), done.stdout, done.stderr)
        return done.stdout


def plain(reference):
    return reference.removeprefix("oci://")


def registries(t):
    return Registry(t), SmallRegistry(t)


@test
def oras_reads_what_mistctl_pushed(t):
    oras = Peer(t, "oras")
    keys(t, "release")
    path = module(t, "1.4.0")
    for number, registry in enumerate(registries(t)):
        reference = registry("team/web:1.4.0")
        pushed = printed(t, "push", "push", path, reference, "--sign", str(t.dir / "release.key"), "--sbom", "--provenance")
        t.run("push", module(t, "1.5.0"), registry("team/web"))
        t.run("push", chart(t, "0.1.0"), registry("team/shop"))
        t.run("push", t.package("plain", config_map("a")), registry("team/plain:2.0.0"))
        equal(oras("resolve", "--plain-http", plain(reference)).strip(), pushed["digest"])
        tags = oras("repo", "tags", "--plain-http", plain(registry("team/web"))).split()
        equal([tag for tag in tags if not tag.startswith("sha256-")], ["1.4.0", "1.5.0"])
        manifest = json.loads(oras("manifest", "fetch", "--plain-http", plain(reference)))
        equal([manifest["mediaType"], manifest["config"]["mediaType"]], [MANIFEST, WASM_CONFIG])
        layer = manifest["layers"][0]
        equal([layer["mediaType"], layer["digest"]], ["application/wasm", digest(pathlib.Path(path).read_bytes())])
        # `oras pull` writes layers that have a file name, which neither helm nor mistctl gives them; a blob can be had all the same.
        contains(oras("pull", "--plain-http", "--output", "pulled", plain(reference)), "Skipped pulling layers without file name")
        oras("blob", "fetch", "--plain-http", "--output", f"{number}.wasm", f"{plain(registry('team/web'))}@{layer['digest']}")
        equal((t.dir / f"{number}.wasm").read_bytes(), pathlib.Path(path).read_bytes())
        # SBOM and provenance, and which is whose.
        found = json.loads(oras("discover", "--plain-http", "--format", "json", plain(reference)))["referrers"]
        equal(sorted(each["artifactType"] for each in found), [BILL, BUNDLE])
        for each in found:
            document = json.loads(oras("manifest", "fetch", "--plain-http", f"{plain(registry('team/web'))}@{each['digest']}"))
            equal(document["subject"]["digest"], pushed["digest"])
            kind = "sbom" if each["artifactType"] == BILL else "provenance"
            held = f"{plain(registry('team/web'))}@{document['layers'][0]['digest']}"
            text = oras("blob", "fetch", "--plain-http", "--output", "-", held)
            equal(text, t.run("registry", "attached", reference, kind).out, "the document itself")
        # All of it, with what refers to it, to the other kind of registry and into a layout; mistctl reads that.
        other = (SmallRegistry if isinstance(registry, Registry) else Registry)(t)
        oras("copy", "-r", "--from-plain-http", "--to-plain-http", plain(reference), plain(other("copies/web:1.4.0")))
        documents = t.run("inspect", "package", other("copies/web:1.4.0"), "-o", "json").json["documents"]
        equal([each["kind"] for each in documents], ["sbom", "provenance"])
        oras("copy", "--from-plain-http", "--to-oci-layout", plain(reference), f"layout-{number}:1.4.0")
        copied = t.run("registry", "copy", f"oci-layout:layout-{number}:1.4.0", other("again/web"), "-o", "json").json
        equal(copied["reference"], f"{other('again/web:1.4.0')}@{pushed['digest']}")


@test
def oras_writes_what_mistctl_reads(t):
    oras = Peer(t, "oras")
    path = pathlib.Path(module(t, "1.4.0"))
    t.file("config.json", "{}")
    t.file("bill.json", json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
                                    "components": [{"type": "library", "name": "left"}]}))
    t.file("note.txt", "hello")
    for registry in registries(t):
        reference = registry("team/web:1.4.0")
        oras("push", "--plain-http", "--config", f"config.json:{WASM_CONFIG}", plain(reference), f"{path.name}:application/wasm")
        named = oras("resolve", "--plain-http", plain(reference)).strip()
        contains(t.run("generate", "web", "-p", reference).out, "Deployment")
        t.run("pull", reference, "-o", "back.wasm")
        equal((t.dir / "back.wasm").read_bytes(), path.read_bytes())
        (t.dir / "back.wasm").unlink()
        oras("tag", "--plain-http", plain(reference), "1.4.1", "stable")
        equal(t.run("registry", "tags", registry("team/web")).out.split(), ["1.4.1", "1.4.0", "stable"])
        # An SBOM of its own, and something that is no document.
        oras("attach", "--plain-http", "--artifact-type", BILL, plain(reference), f"bill.json:{BILL}")
        oras("attach", "--plain-http", "--artifact-type", "application/vnd.example.note", plain(reference), "note.txt:text/plain")
        shown = t.run("inspect", "package", reference, "-o", "json").json
        equal([[each["kind"], each["signatures"]] for each in shown["documents"]], [["sbom", []]])
        equal(json.loads(t.run("registry", "attached", reference, "sbom").out)["components"][0]["name"], "left")
        contains(t.run("inspect", "package", reference).out, f"Attached     sbom {BILL} sha256:")
        # mistctl adds its own, and both see all.
        keys(t, "release")
        t.run("sign", reference, "--key", str(t.dir / "release.key"))
        t.run("verify", reference, "--key", str(t.dir / "release.pub"))
        found = json.loads(oras("discover", "--plain-http", "--format", "json", plain(reference)))["referrers"]
        equal(sorted(each["artifactType"] for each in found), sorted([BILL, "application/vnd.example.note"]))
        copied = t.run("registry", "copy", reference, registry("copies/web:1.4.0"), "-o", "json").json
        equal([copied["digest"], copied["referrers"]], [named, 3])
        found = json.loads(oras("discover", "--plain-http", "--format", "json", plain(registry("copies/web:1.4.0"))))["referrers"]
        equal(len(found), 2)


@test
def crane_reads_what_mistctl_pushed(t):
    crane = Peer(t, "crane")
    for registry in registries(t):
        keys(t, "release")
        path = module(t, "1.4.0")
        pushed = printed(t, "push", "push", path, registry("team/web"), "--sign", str(t.dir / "release.key"), "--sbom")
        t.run("push", chart(t, "0.1.0"), registry("team/shop"))
        reference = plain(registry("team/web:1.4.0"))
        equal(crane("digest", reference).strip(), pushed["digest"])
        raw = crane("manifest", reference)
        equal(digest(raw.encode()), pushed["digest"])
        check("1.4.0" in crane("ls", plain(registry("team/web"))).split())
        layer = json.loads(raw)["layers"][0]["digest"]
        done = subprocess.run([crane.program, "blob", f"{plain(registry('team/web'))}@{layer}"], env=crane.environment, capture_output=True)
        equal([done.returncode, done.stdout], [0, pathlib.Path(path).read_bytes()])
        # Its copy of a module and of a chart is what it was.
        other = Registry(t)
        crane("copy", reference, plain(other("copies/web:1.4.0")))
        crane("copy", plain(registry("team/shop:0.1.0")), plain(other("copies/shop:0.1.0")))
        contains(t.run("generate", "web", "-p", other("copies/web:1.4.0")).out, "Deployment")
        contains(t.run("generate", "web", "-p", other("copies/shop:0.1.0")).out, "0.1.0")
        equal(crane("digest", plain(other("copies/web:1.4.0"))).strip(), pushed["digest"])
        # It copies no referrers, so a policy at the other side refuses the copy.
        policy(t, required_key(t, other, "copies/**", signedFor=[registry("team/*")]))
        t.refused("verify", other("copies/web:1.4.0"), says=["is not signed"])
        t.run("registry", "copy", registry("team/web:1.4.0"), other("copies/web:1.4.0"))
        t.run("verify", other("copies/web:1.4.0"))
        (t.dir / "home/trust.yaml").unlink()


@test
def crane_writes_what_mistctl_reads(t):
    crane, registry = Peer(t, "crane"), Registry(t)
    # An image of one layer.
    with tarfile.open(t.dir / "layer.tar", "w") as archive:
        content = json.dumps(config_map("a")).encode()
        entry = tarfile.TarInfo("objects/a.yaml")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    crane("append", "--oci-empty-base", "-f", "layer.tar", "-t", plain(registry("team/image:1.0.0")))
    t.refused("pull", registry("team/image:1.0.0"), "-o", "x", says=["is not a package", "container image"])
    copied = t.run("registry", "copy", registry("team/image:1.0.0"), registry("copies/image"), "-o", "json").json
    equal(copied["digest"], crane("digest", plain(registry("team/image:1.0.0"))).strip())
    crane("validate", "--remote", plain(registry("copies/image:1.0.0")))
    mirrored = t.run("mirror", registry("team/image:1.0.0"), "--to", "oci-layout:copies", "-o", "json").json
    equal(mirrored["artifacts"][0]["digest"], copied["digest"])
    crane("push", "copies", plain(registry("pushed/image:1.0.0")))
    equal(crane("digest", plain(registry("pushed/image:1.0.0"))).strip(), copied["digest"])
    # A package that crane tagged, pulled into a layout, and pushed again.
    t.run("push", module(t, "1.4.0"), registry("team/web"))
    crane("tag", plain(registry("team/web:1.4.0")), "1.4.1")
    equal(t.run("registry", "tags", registry("team/web")).out.split(), ["1.4.1", "1.4.0"])
    crane("pull", "--format", "oci", plain(registry("team/web:1.4.0")), "pulled")
    crane("push", "pulled", plain(registry("back/web:1.4.0")))
    contains(t.run("generate", "web", "-p", registry("back/web:^1")).out, "Deployment")
    crane("delete", f"{plain(registry('back/web'))}@{crane('digest', plain(registry('back/web:1.4.0'))).strip()}")
    t.refused("generate", "web", "-p", registry("back/web:^1"), says=["there is no version ^1"])
