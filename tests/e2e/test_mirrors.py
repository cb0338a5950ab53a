"""Air gap: copies with their signatures, mirrors in registries, directories and files, and reading from them."""
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from harness import check, config_map, contains, equal, test
from quiet_server import QuietHandler, QuietServer
from registries import ROOT, Registry
from test_calls import caller, calls
from test_registries import chart, module, package_of
from test_signatures import keys, policy, pushed


def configure(t, *mirrors):
    t.file("home/config.yaml", json.dumps({"apiVersion": "mistletoe.dev/v1alpha1", "kind": "MistletoeConfig",
                                           "spec": {"registries": [], "mirrors": list(mirrors)}}))


def fresh(t, name):
    """Another machine: it has fetched nothing before."""
    home = t.dir / name
    t.env["MIST_HOME_LOCATION"] = str(home)
    home.mkdir(mode=0o700, exist_ok=True)
    return home


def configured(t, name, *mirrors):
    home = fresh(t, name)
    (home / "config.yaml").write_text(json.dumps({"apiVersion": "mistletoe.dev/v1alpha1", "kind": "MistletoeConfig",
                                                  "spec": {"registries": [], "mirrors": list(mirrors)}}))
    return home


def mirrored(t, *arguments, code=0):
    printed = t.run("mirror", *arguments, "-o", "json", code=code).json
    schema = json.loads((ROOT / "schemas/cli/mirror.schema.json").read_text())
    equal(sorted(printed), sorted(schema["required"]))
    for artifact in printed["artifacts"]:
        equal(sorted(artifact), sorted(schema["properties"]["artifacts"]["items"]["required"]))
    return printed


def required_key(t, registry, pattern="team/**", **more):
    return {"match": f"oci://{registry.host}/{pattern}", "keys": [{"name": "release", "file": str(t.dir / "release.pub")}], **more}


@test
def oci_copy_takes_signatures_along(t):
    origin, mirror = Registry(t), Registry(t)
    keys(t, "release", "ops")
    pushed(t, origin, "1.0.0", "--sign", str(t.dir / "release.key"))
    policy(t, required_key(t, mirror, signedFor=[f"oci://{origin.host}/team/*"]))
    copy = t.run("registry", "copy", origin("team/shop:1.0.0"), mirror("team/shop"), "-o", "json").json
    equal([copy["manifests"], copy["referrers"], copy["wasThere"]], [1, 1, False])
    t.run("verify", mirror("team/shop:1.0.0"))
    t.run("install", "shop", "-p", mirror("team/shop:1.0.0"))
    # What was signed since comes with the next copy, and what was signed over there stays.
    t.run("sign", origin("team/shop:1.0.0"), "--key", str(t.dir / "ops.key"))
    again = t.run("registry", "copy", origin("team/shop:1.0.0"), mirror("team/shop"), "-o", "json").json
    equal([again["manifests"], again["referrers"], again["wasThere"]], [0, 1, True])
    signers = t.run("verify", mirror("team/shop:1.0.0"), "-o", "json").json["signatures"]
    equal(len(signers), 2)
    # Without them, a policy at the other side refuses it.
    t.run("registry", "copy", origin("team/shop:1.0.0"), mirror("team/bare"), "--referrers=false")
    t.refused("verify", mirror("team/bare:1.0.0"), says=["is not signed"])


@test
def oci_copy_keeps_signatures_of_both_sides(t):
    origin, mirror = Registry(t), Registry(t)
    keys(t, "release", "there")
    pushed(t, origin, "1.0.0", "--sign", str(t.dir / "release.key"))
    t.run("registry", "copy", origin("team/shop:1.0.0"), mirror("team/shop"), "--referrers=false")
    t.run("sign", mirror("team/shop:1.0.0"), "--key", str(t.dir / "there.key"))
    t.run("registry", "copy", origin("team/shop:1.0.0"), mirror("team/shop"))
    t.run("verify", mirror("team/shop:1.0.0"), "--key", str(t.dir / "there.pub"))
    t.run("verify", mirror("team/shop:1.0.0"), "--key", str(t.dir / "release.pub"), "--signed-for",
          f"oci://{origin.host}/team/*")
    settled = t.run("registry", "copy", origin("team/shop:1.0.0"), mirror("team/shop"), "-o", "json").json
    equal([settled["referrers"], settled["blobs"]], [0, 0])


def platform(t, registry):
    """A signed package that calls another, which calls a third."""
    keys(t, "release")
    sign = ("--sign", str(t.dir / "release.key"))
    pushed(t, registry, "1.0.0", *sign, name="inner")
    middle = caller(t, "middle", {"inner": (registry("team/inner"), "^1")}, version="1.0.0")
    t.run("push", middle, registry("team/middle:1.0.0"), *sign)
    outer = caller(t, "outer", {"middle": (registry("team/middle"), "^1")}, version="1.0.0")
    t.run("push", outer, registry("team/outer:1.0.0"), *sign)
    policy(t, required_key(t, registry))
    return registry("team/outer:1.0.0")


def trusting(t, home):
    (home / "trust.yaml").write_text((t.dir / "home/trust.yaml").read_text())


CALLS = calls(("middle", {"calls": [{"package": "inner", "input": {}}]}))


def objects(t, reference):
    printed = t.run("generate", "shop", "-p", reference, *CALLS).out
    contains(printed, "ConfigMap")
    return printed


@test
def mirror_in_a_directory_installs_without_its_origin(t):
    origin = Registry(t)
    reference = platform(t, origin)
    expected = objects(t, reference)
    copied = mirrored(t, reference, "--to", "oci-layout:copies")
    names = [artifact["from"].split("/")[-1].split("@")[0] for artifact in copied["artifacts"]]
    equal(names, ["inner:1.0.0", "middle:1.0.0", "outer:1.0.0"])
    check(all(artifact["referrers"] == 1 for artifact in copied["artifacts"]), copied)
    equal(copied["mirrors"], [{"prefix": origin.host, "places": ["oci-layout:copies"]}])
    # Nothing is sent twice.
    mark = origin.mark()
    again = mirrored(t, reference, "--to", "oci-layout:copies")
    equal([artifact["blobs"] for artifact in again["artifacts"]], [0, 0, 0])
    check(not any(line.startswith("GET") and "/blobs/" in line for line in origin.requests(mark)))
    origin.stop()
    home = configured(t, "away", {"prefix": origin.host, "places": [f"oci-layout:{t.dir}/copies"], "only": True})
    trusting(t, home)
    equal(objects(t, reference), expected)
    t.run("install", "shop", "-p", reference, *CALLS)
    digest_of = next(artifact["digest"] for artifact in copied["artifacts"] if "/outer:" in artifact["from"])
    equal(package_of(t, "shop"), f"{reference}@{digest_of}")
    t.refused("generate", "shop", "-p", origin("team/outer:2.0.0"), says=["in the mirrors of", "mistctl mirror"])
    t.refused("generate", "shop", "-p", origin("team/outer:^2"), says=["there is no version ^2", "1.0.0"])
    t.run("uninstall", "shop", "--yes")


@test
def mirror_in_a_file_is_the_same_byte_for_byte(t):
    origin = Registry(t)
    reference = platform(t, origin)
    expected = objects(t, reference)
    mirrored(t, reference, "--to", "oci-archive:one.tar")
    mirrored(t, origin("team/inner:1.0.0"), "--to", "oci-archive:two.tar")
    mirrored(t, origin("team/middle:^1"), reference, "--to", "oci-archive:two.tar")
    equal((t.dir / "one.tar").read_bytes(), (t.dir / "two.tar").read_bytes())
    check(not (t.dir / "one.tar.partial").exists())
    listed = subprocess.run(["tar", "tf", t.dir / "one.tar"], capture_output=True, text=True, check=True).stdout.split()
    equal(listed[:2], ["oci-layout", "index.json"])
    # Every blob is what its name says, so any tool may read it.
    subprocess.run(["tar", "xf", t.dir / "one.tar", "-C", t.dir / "home"], check=True)
    for blob in (t.dir / "home/blobs/sha256").iterdir():
        equal(hashlib.sha256(blob.read_bytes()).hexdigest(), blob.name)
    origin.stop()
    trusting(t, configured(t, "away", {"prefix": f"{origin.host}/team", "places": [f"oci-archive:{t.dir}/one.tar"], "only": True}))
    equal(objects(t, reference), expected)
    # One of it into a registry, from the file alone.
    target, name = Registry(t), reference.removeprefix("oci://")
    t.refused("registry", "copy", "oci-archive:one.tar", target("prod/platform"), says=["several artifacts", "name one: oci-archive:one.tar:"])
    t.refused("registry", "copy", "oci-archive:one.tar:nothing", target("prod/platform"), says=['has no "nothing"'])
    copied = t.run("registry", "copy", f"oci-archive:one.tar:{name}", target("prod/platform")).out
    contains(copied, target(f"prod/platform:{name.rsplit(':', 1)[1]}"))


@test
def mirror_in_a_registry_installs_without_its_origin(t):
    origin, mirror = Registry(t), Registry(t)
    reference = platform(t, origin)
    expected = objects(t, reference)
    copied = mirrored(t, reference, "--to", mirror("copies"))
    segment = origin.host.replace(":", "_")
    equal(copied["mirrors"], [{"prefix": origin.host, "places": [mirror(f"copies/{segment}")]}])
    check(copied["artifacts"][2]["reference"].startswith(mirror(f"copies/{segment}/team/outer:1.0.0@")), copied)
    origin.stop()
    trusting(t, configured(t, "away", *copied["mirrors"]))
    equal(objects(t, reference), expected)
    # The signatures are those of the original name.
    t.run("verify", reference)


@test
def mirror_without_signatures_leaves_them_to_the_registry(t):
    origin, mirror = Registry(t), Registry(t)
    keys(t, "release")
    pushed(t, origin, "1.0.0")
    reference = origin("team/shop:1.0.0")
    copied = mirrored(t, reference, "--to", mirror("copies"))
    policy(t, required_key(t, origin))
    # Signed since: the mirror's copy is no answer to a policy that asks for more.
    t.run("sign", reference, "--key", str(t.dir / "release.key"))
    trusting(t, configured(t, "near", *copied["mirrors"]))
    mark = origin.mark()
    t.run("verify", reference)
    t.run("generate", "shop", "-p", reference)
    asked = origin.requests(mark)
    check(asked and not any("/manifests/1.0.0" in line for line in asked), "the package itself comes from the mirror")
    trusting(t, configured(t, "strict", {**copied["mirrors"][0], "only": True}))
    t.refused("generate", "shop", "-p", reference, says=["is not signed"])
    origin.stop()
    trusting(t, configured(t, "away", *copied["mirrors"]))
    began = time.monotonic()
    t.refused("generate", "shop", "-p", reference, says=["is not signed", "a mirror says so", "can't be asked"])
    check(time.monotonic() - began < 5, "a registry that refuses connections is given up quickly")


@test
def mirror_dry_run_copies_nothing(t):
    origin = Registry(t)
    reference = platform(t, origin)
    for place in ("oci-layout:copies", "oci-archive:copies.tar"):
        planned = mirrored(t, reference, "--to", place, "--dry-run")
        equal([artifact["manifests"] for artifact in planned["artifacts"]], [1, 1, 1])
        check(not list(t.dir.glob("copies*")), list(t.dir.glob("copies*")))
    done = mirrored(t, reference, "--to", "oci-layout:copies")
    equal([artifact["bytes"] for artifact in planned["artifacts"]], [artifact["bytes"] for artifact in done["artifacts"]])
    contains(t.run("mirror", reference, "--to", "oci-layout:copies", "--dry-run").out, "was there")


@test
def mirror_takes_the_index_along(t):
    origin = Registry(t)
    t.run("push", module(t, "1.4.0"), origin("team/web"))
    t.run("push", chart(t, "0.1.0"), origin("team/shop"))
    reference = origin("team/web:1.4.0")
    place = {"prefix": origin.host, "places": [f"oci-layout:{t.dir}/copies"], "only": True}

    def away(name):
        configured(t, name, place)
        t.run("registry", "add", "named", "--oci", origin("team"))
    copied = mirrored(t, reference, "--to", "oci-layout:copies")
    equal([each["place"] for each in copied["withoutIndex"]], [origin("team")])
    contains(t.run("mirror", reference, "--to", "oci-layout:copies").err, f"mistctl search finds nothing of {origin('team')} in the mirror")
    # Nothing else stops because of it.
    away("without")
    t.run("registry", "add", "local", "-d", str(t.dir))
    missing = f"the mirrors of {origin('team')} have no index of its packages"
    contains(t.run("search", "web").err, missing)
    outcome = t.run("registry", "update")
    contains(outcome.err, missing)
    contains(outcome.out, "local", "named")

    fresh(t, "connected")
    t.run("registry", "index", origin("team"))
    copied = mirrored(t, reference, "--to", "oci-layout:copies")
    equal([each["from"].split("/")[-1].split("@")[0] for each in copied["artifacts"]], ["mistletoe-index:v1", "web:1.4.0"])
    equal(copied["withoutIndex"], [])
    origin.stop()
    away("with")
    contains(t.run("search", "web").out, "named/web", "1.4.0")
    t.run("registry", "update", "named")
    t.run("generate", "web", "-p", "named/web:1.4.0")


@test
def mirror_of_a_configured_registry_takes_its_index(t):
    origin = Registry(t)
    t.run("push", module(t, "1.4.0"), origin("team/sites/web"))
    t.run("registry", "add", "named", "--oci", origin("team"))
    t.run("registry", "index", origin("team"))
    copied = mirrored(t, "named/sites/web:1.4.0", "--to", "oci-layout:copies")
    equal([each["from"].split(origin.host)[1].split("@")[0] for each in copied["artifacts"]],
          ["/team/mistletoe-index:v1", "/team/sites/web:1.4.0"])


@test
def mirror_that_lags_falls_through_to_the_registry(t):
    origin = Registry(t)
    for version in ("1.4.0", "1.5.0"):
        t.run("push", module(t, version), origin("team/web"))
    mirrored(t, origin("team/web:1.4.0"), "--to", "oci-layout:copies")
    place = {"prefix": origin.host, "places": [f"oci-layout:{t.dir}/copies"]}
    configured(t, "near", place)
    mark = origin.mark()
    t.run("generate", "web", "-p", origin("team/web:1.4.0"))
    t.run("generate", "web", "-p", origin("team/web:~1.4"))
    asked = origin.requests(mark)
    check(asked and not any("/manifests/1.4.0" in line or "/blobs/" in line or "/tags/" in line for line in asked),
          "nothing but who signed it", asked)
    mark = origin.mark()
    t.run("generate", "web", "-p", origin("team/web:1.4.0"))
    equal(origin.requests(mark), [])
    t.run("generate", "web", "-p", origin("team/web:1.5.0"))
    t.run("generate", "web", "-p", origin("team/web:^1.5"))
    check(origin.requests(mark))
    configured(t, "strict", {**place, "only": True})
    mark = origin.mark()
    t.refused("generate", "web", "-p", origin("team/web:1.5.0"), says=["in the mirrors of"])
    equal(origin.requests(mark), [])


@test
def mirror_that_is_away_or_lies_is_passed_over(t):
    origin, mirror = Registry(t), Registry(t)
    t.run("push", module(t, "1.4.0"), origin("team/web"))
    mirrored(t, origin("team/web:1.4.0"), "--to", mirror("copies"))
    mirrored(t, origin("team/web:1.4.0"), "--to", "oci-layout:copies")
    # A layer with other bytes than its digest says.
    blobs = sorted((t.dir / "copies/blobs/sha256").iterdir(), key=lambda path: path.stat().st_size)
    largest = blobs[-1]
    original = largest.read_bytes()
    largest.write_bytes(original[:-1] + b"\xff")
    places = [f"oci-layout:{t.dir}/nowhere", f"oci-layout:{t.dir}/copies",
              mirror(f"copies/{origin.host.replace(':', '_')}")]
    origin.stop()
    configured(t, "away", {"prefix": origin.host, "places": places})
    outcome = t.run("generate", "web", "-p", origin("team/web:1.4.0"))
    contains(outcome.err, "nowhere, a mirror of", "can't be used", "is not what its digest says")
    configured(t, "only", {"prefix": origin.host, "places": places[:2], "only": True})
    t.refused("generate", "web", "-p", origin("team/web:1.4.0"), says=["is not what its digest says"])


def give_out(directory, reference, manifest):
    """Makes a layout give out this manifest under that name: right by its digest, whatever it holds."""
    blob = hashlib.sha256(manifest).hexdigest()
    (directory / "blobs/sha256" / blob).write_bytes(manifest)
    index = json.loads((directory / "index.json").read_text())
    entry, = (each for each in index["manifests"] if each["annotations"]["org.opencontainers.image.ref.name"] == reference)
    entry.update(digest=f"sha256:{blob}", size=len(manifest))
    (directory / "index.json").write_text(json.dumps(index))


def manifest_of(directory, reference):
    index = json.loads((directory / "index.json").read_text())
    entry, = (each for each in index["manifests"] if each["annotations"]["org.opencontainers.image.ref.name"] == reference)
    return (directory / "blobs/sha256" / entry["digest"].split(":")[1]).read_bytes()


@test
def mirror_that_gives_out_something_false_is_named(t):
    origin = Registry(t)
    for version in ("1.0.0", "1.1.0"):
        pushed(t, origin, version)
    reference = origin("team/shop:1.0.0")
    mirrored(t, reference, origin("team/shop:1.1.0"), "--to", "oci-layout:copies")
    copies = t.dir / "copies"
    name = reference.removeprefix("oci://")
    says = [f"while reading {reference} from oci-layout:{copies}, a mirror of {origin.host}"]
    place = {"prefix": origin.host, "places": [f"oci-layout:{copies}"]}
    true_manifest = json.loads(manifest_of(copies, name))
    layer = true_manifest["layers"][0]

    def blob(data):
        found = hashlib.sha256(data).hexdigest()
        (copies / "blobs/sha256" / found).write_bytes(data)
        return {"mediaType": layer["mediaType"], "digest": f"sha256:{found}", "size": len(data)}
    # Each right by its digest, so that nothing but what it holds is wrong.
    for number, (manifest, what) in enumerate((
            (b"{", []),
            (json.dumps({**true_manifest, "layers": []}).encode(), []),
            (json.dumps({**true_manifest, "layers": [blob(b"no archive")]}).encode(), ["while unpacking"]),
            (json.dumps({**true_manifest, "schemaVersion": 7}).encode(), []))):
        give_out(copies, name, manifest)
        for only in (False, True):
            configured(t, f"false-{number}-{only}", {**place, "only": only})
            # What it is said to be counts before what it holds.
            t.refused("generate", "shop", "-p", reference,
                      says=[*says, *(what if only else [f"comes from a mirror, and {origin.host} doesn't have it"])])
    # Another version's bytes, after this one was used.
    home = configured(t, "used")
    t.run("generate", "shop", "-p", reference)
    give_out(copies, name, manifest_of(copies, origin("team/shop:1.1.0").removeprefix("oci://")))
    (home / "config.yaml").write_text(json.dumps({"apiVersion": "mistletoe.dev/v1alpha1", "kind": "MistletoeConfig",
                                                  "spec": {"registries": [], "mirrors": [place]}}))
    t.refused("generate", "shop", "-p", reference, says=["isn't what it was when it was first used here", *says])
    # A blob with other bytes than its digest says, where nothing else may be asked.
    give_out(copies, name, json.dumps(true_manifest).encode())
    (copies / "blobs/sha256" / layer["digest"].split(":")[1]).write_bytes(b"x" * layer["size"])
    configured(t, "bytes", {**place, "only": True})
    pinned = f"{origin('team/shop')}@{layer['digest']}"
    t.refused("generate", "shop", "-p", reference,
              says=["is not what its digest says", f"while reading {pinned} from oci-layout:{copies}, a mirror of {origin.host}"])


@test
def mirror_is_configured_from_the_command_line(t):
    origin, mirror = Registry(t), Registry(t)
    t.run("push", module(t, "1.4.0"), origin("team/web"))
    reference = origin("team/web:1.4.0")
    # What mirror says is to be done is enough.
    said = t.run("mirror", reference, "--to", mirror("copies")).err
    contains(said, f"mistctl registry mirror add {origin.host} {mirror('copies')}/{origin.host.replace(':', '_')}")
    fresh(t, "other")
    command = said.split("there: mistctl ", 1)[1].split("\n")[0].split()
    t.run(*command)
    t.run("mirror", reference, "--to", "oci-layout:copies")
    t.run("registry", "mirror", "add", origin.host, "oci-layout:copies", "--first", "--mirrors-only")
    listed = t.run("registry", "mirror", "list", "-o", "json").json
    equal(listed, {"mirrors": [{"prefix": origin.host, "only": True,
                                "places": [f"oci-layout:{t.dir}/copies", command[-1]]}]})
    origin.stop()
    asked = mirror.mark()
    contains(t.run("generate", "web", "-p", reference).out, "ConfigMap")
    equal([line for line in mirror.requests(asked) if "/referrers/" not in line and "/manifests/sha256-" not in line], [],
          "the layout is asked first for all but signatures")
    t.run("registry", "mirror", "remove", origin.host, "oci-layout:copies")
    shutil.rmtree(t.dir / "other/cache")
    t.run("generate", "web", "-p", reference)
    check(mirror.requests(asked))
    t.run("registry", "mirror", "remove", origin.host)
    equal(t.run("registry", "mirror", "list", "-o", "json").json, {"mirrors": []})
    fresh(t, "third")
    t.refused("generate", "web", "-p", reference)


@test
def mirror_is_a_place_and_no_version(t):
    origin, mirror = Registry(t), Registry(t)
    t.run("push", module(t, "1.4.0"), origin("team/web"))
    for behind in (":1.0.0", ":^1", "@sha256:" + "a" * 64):
        place = mirror("copies") + behind
        for command in (["mirror", origin("team/web:1.4.0"), "--to", place], ["registry", "mirror", "add", origin.host, place],
                        ["registry", "add", "copies", "--oci", place], ["registry", "index", place]):
            outcome = t.refused(*command, says=[f"'{place}' names one package, not a place for many", f"leave out '{behind}'"])
            check("/package" not in outcome.err, outcome.err)
    equal(mirror.requests(), [])


@test
def mirror_without_signatures_changes_nothing_of_what_is_remembered(t):
    """First through a mirror that has no signatures, under a policy that names no key."""
    origin = Registry(t)
    keys(t, "release")
    signed = pushed(t, origin, "1.0.0", "--sign", str(t.dir / "release.key"))
    pushed(t, origin, "1.1.0")
    references = [origin(f"team/shop:{version}") for version in ("1.0.0", "1.1.0")]
    mirrored(t, *references, "--to", "oci-layout:copies", "--referrers=false")
    policy(t, default="remember")
    place = {"prefix": origin.host, "places": [f"oci-layout:{t.dir}/copies"]}
    home = configured(t, "near", place)
    trusting(t, home)
    t.run("generate", "shop", "-p", references[0])
    says = ["is not signed, and what was used of it before is signed by", signed["signedWith"]]
    t.refused("generate", "shop", "-p", references[1], says=says)
    # Wherever it is read from then: the registry, a mirror beside it, a mirror in its place, a mirror while it is away.
    for mirrors in ([], [place], [{**place, "only": True}]):
        (home / "config.yaml").write_text(json.dumps({"apiVersion": "mistletoe.dev/v1alpha1", "kind": "MistletoeConfig",
                                                      "spec": {"registries": [], "mirrors": mirrors}}))
        t.refused("generate", "shop", "-p", references[1], says=says)
    origin.stop()
    (home / "config.yaml").write_text(json.dumps({"apiVersion": "mistletoe.dev/v1alpha1", "kind": "MistletoeConfig",
                                                  "spec": {"registries": [], "mirrors": [place]}}))
    t.refused("generate", "shop", "-p", references[1], says=says)
    # A machine that knows nothing, and can't ask: it says so.
    trusting(t, configured(t, "away", place))
    contains(t.run("generate", "shop", "-p", references[0]).err, "could not be asked for signatures, so those of its mirror count")


@test
def mirror_with_a_package_of_its_own_is_refused_at_first(t):
    origin = Registry(t)
    policy(t, default="remember")
    pushed(t, origin, "1.0.0")
    reference = origin("team/shop:1.0.0")
    mirrored(t, reference, "--to", "oci-layout:copies")
    name = reference.removeprefix("oci://")
    changed = {**json.loads(manifest_of(t.dir / "copies", name)), "annotations": {"org.opencontainers.image.version": "1.0.0", "changed": "yes"}}
    give_out(t.dir / "copies", name, json.dumps(changed).encode())
    place = {"prefix": origin.host, "places": [f"oci-layout:{t.dir}/copies"]}
    trusting(t, configured(t, "near", place))
    t.refused("generate", "shop", "-p", reference, says=[f"comes from a mirror, and {origin.host} doesn't have it", "--mirrors-only"])
    trusting(t, configured(t, "only", {**place, "only": True}))
    t.run("generate", "shop", "-p", reference)


@test
def mirror_repairs_what_is_damaged(t):
    origin = Registry(t)
    keys(t, "release")
    t.run("push", module(t, "1.4.0"), origin("team/web"), "--sign", str(t.dir / "release.key"))
    mirrored(t, origin("team/web:1.4.0"), "--to", "oci-layout:copies")
    blobs = sorted((t.dir / "copies/blobs/sha256").iterdir())
    check(len(blobs) >= 6, "manifest, config and layer, of the package and of its signature")
    for blob in blobs:
        original = blob.read_bytes()
        for damaged in (b"", original[:-1] + b"\xff"):
            blob.write_bytes(damaged)
            mirrored(t, origin("team/web:1.4.0"), "--to", "oci-layout:copies")
            equal(hashlib.sha256(blob.read_bytes()).hexdigest(), blob.name)
        blob.unlink()
        mirrored(t, origin("team/web:1.4.0"), "--to", "oci-layout:copies")
        check(blob.exists(), blob.name)


@test
def mirror_killed_in_the_middle_is_continued(t):
    origin = Registry(t)
    versions = [f"1.{minor}.0" for minor in range(4, 10)]
    for version in versions:
        t.run("push", module(t, version), origin("team/web"))
    references = [origin(f"team/web:{version}") for version in versions]
    mirrored(t, *references, "--to", "oci-archive:whole.tar")
    process = t.start("mirror", *references, "--to", "oci-archive:killed.tar")
    end = time.monotonic() + 60
    blobs = t.dir / "killed.tar.partial/blobs/sha256"
    while not (blobs.is_dir() and len(list(blobs.iterdir())) >= 4):
        check(process.poll() is None and time.monotonic() < end, "it ended before it was killed")
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    check(not (t.dir / "killed.tar").exists(), "half a file")
    there = len([path for path in blobs.iterdir() if not path.name.startswith(".")])
    continued = mirrored(t, *references, "--to", "oci-archive:killed.tar")
    check(there >= 1)
    whole = sum(artifact["blobs"] for artifact in mirrored(t, *references, "--to", "oci-layout:other")["artifacts"])
    check(sum(artifact["blobs"] for artifact in continued["artifacts"]) < whole, continued)
    equal((t.dir / "killed.tar").read_bytes(), (t.dir / "whole.tar").read_bytes())


@test
def mirrors_that_run_at_once_wait_for_one_another(t):
    origin = Registry(t)
    versions = [f"1.{minor}.0" for minor in range(4)]
    for version in versions:
        t.run("push", module(t, version), origin("team/web"))
    mirrored(t, *(origin(f"team/web:{version}") for version in versions), "--to", "oci-archive:whole.tar")
    for place in ("oci-archive:both.tar", "oci-layout:both"):
        running = [t.start("mirror", origin(f"team/web:{version}"), "--to", place) for version in versions]
        for process in running:
            out, err = process.communicate(timeout=120)
            equal(process.returncode, 0, f"exit code of one of four to {place}: {out}{err}")
    equal((t.dir / "both.tar").read_bytes(), (t.dir / "whole.tar").read_bytes())
    check(not (t.dir / "both.tar.partial").exists())
    # Parts of another archive of that name are of no use: what the present one has stays.
    mirrored(t, origin("team/web:1.0.0"), "--to", "oci-archive:one.tar")
    (t.dir / "one.tar.partial").mkdir()
    subprocess.run(["tar", "xf", t.dir / "one.tar", "-C", t.dir / "one.tar.partial"], check=True)
    shutil.copy(t.dir / "both.tar", t.dir / "one.tar")
    mirrored(t, origin("team/web:1.0.0"), "--to", "oci-archive:one.tar")
    equal((t.dir / "one.tar").read_bytes(), (t.dir / "whole.tar").read_bytes())
    # What kill -9 leaves of the first moment is no content of somebody else's.
    (t.dir / "begun").mkdir()
    (t.dir / "begun/.oci-layout.1.1.tmp").touch()
    mirrored(t, origin("team/web:1.0.0"), "--to", "oci-layout:begun")


@test
def mirror_that_is_a_pipe_is_refused(t):
    origin = Registry(t)
    t.run("push", module(t, "1.0.0"), origin("team/web"))
    mirrored(t, origin("team/web:1.0.0"), "--to", "oci-layout:piped")
    (t.dir / "piped/index.json").unlink()
    os.mkfifo(t.dir / "piped/index.json")
    os.mkfifo(t.dir / "piped.tar")
    for place in ("oci-layout:{}/piped", "oci-archive:{}/piped.tar"):
        configure(t, {"prefix": f"{origin.host}/team", "places": [place.format(t.dir)], "only": True})
        t.refused("generate", "shop", "-p", origin("team/web:1.0.0"), says=["is a pipe, a socket or a device, not a file"])


@test
def mirror_of_sources_takes_what_their_locks_say(t):
    origin = Registry(t)
    for version in ("0.1.0", "0.2.0"):
        t.run("push", chart(t, version), origin("charts/shop"))
    directory = t.files("web", {
        "Chart.yaml": json.dumps({"apiVersion": "v2", "name": "web", "version": "1.0.0", "dependencies": [
            {"name": "shop", "version": "^0.1", "repository": origin("charts")}]}),
        "values.yaml": "{}"})
    planned = mirrored(t, directory, "--to", "oci-layout:copies")
    equal([artifact["from"].split("@")[0] for artifact in planned["artifacts"]], [origin("charts/shop:0.1.0")])
    origin.stop()
    configured(t, "away", {"prefix": origin.host, "places": [f"oci-layout:{t.dir}/copies"], "only": True})
    t.run("dependency", "update", directory)
    check((pathlib.Path(directory) / "charts/shop-0.1.0.tgz").exists())


@test
def mirror_refuses_what_it_cannot_copy(t):
    origin = Registry(t)
    t.run("push", module(t, "1.4.0"), origin("team/web"))
    t.run("mirror", origin("team/web:1.4.0"), "--to", "oci-layout:copies")
    t.run("push", module(t, "1.4.1"), origin("team/other:1.4.1"))
    # Another package under a name that the place has already.
    t.run("registry", "delete", origin("team/web:1.4.0"), "--yes")
    t.run("registry", "copy", origin("team/other:1.4.1"), origin("team/web:1.4.0"))
    fresh(t, "later")
    t.refused("mirror", origin("team/web:1.4.0"), "--to", "oci-layout:copies", says=["is published already, with other content"])
    t.run("mirror", origin("team/web:1.4.0"), "--to", "oci-layout:copies", "--overwrite")
    (t.dir / "full").mkdir()
    (t.dir / "full/notes.txt").write_text("mine")
    t.refused("mirror", origin("team/web:1.4.0"), "--to", "oci-layout:full", says=["is not an OCI layout, and not empty", "notes.txt"])
    t.refused("mirror", t.package("plain", config_map("a")), "--to", "oci-layout:copies")


class BreakingProxy:
    """In front of a registry; breaks the connection in the middle of a chunk, as often as `breaks` says. `chunks`: ranges."""

    def __init__(self, t, registry, breaks):
        self.chunks, self.breaks = [], breaks
        server = self

        class Handler(QuietHandler):
            def handle_any(self):
                length = int(self.headers.get("Content-Length") or 0)
                if self.command == "PATCH":
                    server.chunks.append(self.headers.get("Content-Range"))
                    if server.breaks > 0:
                        server.breaks -= 1
                        self.rfile.read(length // 2)
                        self.close_connection = True
                        return self.connection.close()
                body = self.rfile.read(length) if length else None
                connection = http.client.HTTPConnection("127.0.0.1", registry.port, timeout=60)
                headers = {name: value for name, value in self.headers.items() if name.lower() not in ("connection",)}
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                content = answer.read()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length", "date"):
                        self.send_header(name, value)
                size = answer.getheader("Content-Length") if self.command == "HEAD" else len(content)
                self.send_header("Content-Length", str(size or 0))
                self.end_headers()
                self.wfile.write(content)

        Handler.do_HEAD = Handler.dispatch
        self.web = QuietServer(Handler)
        t.cleanup(self.web.stop)
        # Uploads are sent where the registry says, and it says what the Host header has.
        self.host = f"localhost:{self.web.port}"


@test
def oci_large_uploads_go_on_after_they_broke_off(t):
    registry = Registry(t)
    proxy = BreakingProxy(t, registry, breaks=2)
    size = 40 << 20
    directory = t.files("large", {"map.yaml": json.dumps(config_map("a"))})
    noise = b"".join(hashlib.sha256(str(number).encode()).digest() for number in range(size // 32))
    (pathlib.Path(directory) / "noise.bin").write_bytes(noise)
    pushed = t.run("push", directory, f"oci://{proxy.host}/team/large:1.0.0", "-o", "json").json
    check(pushed["bytes"] > size, pushed)
    equal(proxy.chunks[0], None, "the whole in one request first")
    equal([chunk.split("-")[0] for chunk in proxy.chunks[1:4]], ["0", "0", str(16 << 20)])
    equal(proxy.breaks, 0)
    check(len(proxy.chunks) <= 9, proxy.chunks)
    t.run("pull", registry("team/large:1.0.0"), "-o", str(t.dir / "pulled"))
    equal((t.dir / "pulled/noise.bin").read_bytes(), noise)
