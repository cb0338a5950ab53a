"""Signatures, SBOMs and provenance as referrers: in a registry with the API of the distribution specification 1.1, in CNCF's, which
has none, and from each to the other."""
import http.client
import json

from harness import check, contains, equal, test
from registries import MANIFEST, Registry, digest
from small_registry import SmallRegistry
from test_mirrors import configured, required_key
from test_publish import printed
from test_registries import chart
from test_search import git
from test_signatures import keys, policy

EMPTY = "application/vnd.oci.empty.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
BILL = "application/vnd.cyclonedx+json"


def documented(t, reference):
    """A chart with an SBOM and provenance, signed with release.key; the digest of its manifest."""
    if not (t.dir / "release.key").exists():
        keys(t, "release")
    flags = ("--sign", str(t.dir / "release.key"), "--sbom", "--provenance")
    return printed(t, "push", "push", chart(t, "1.0.0"), reference, *flags)["digest"]


def fallback_tag(manifest):
    return manifest.replace(":", "-")


def kinds(t, reference):
    documents = t.run("inspect", "package", reference, "-o", "json").json["documents"]
    return [each["kind"] for each in documents]


def raw(registry, method, path, body=b"", content_type=MANIFEST):
    """The answer of a registry: (status, headers, content)."""
    connection = http.client.HTTPConnection("127.0.0.1", int(registry.host.rsplit(":", 1)[1]))
    connection.request(method, path, body, {"Content-Type": content_type, "Accept": "*/*"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, content


def tags_of(registry, name):
    return json.loads(raw(registry, "GET", f"/v2/{name}/tags/list")[2])["tags"]


def attach_others(registry, name, subject, count):
    """`count` referrers of a type that nobody here reads, each with an empty config."""
    size = len(raw(registry, "GET", f"/v2/{name}/manifests/{subject}")[2])
    blob = digest(b"{}")
    raw(registry, "POST", f"/v2/{name}/blobs/uploads/?digest={blob}", b"{}", "application/octet-stream")
    for number in range(count):
        content = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": "application/vnd.example.note",
                              "config": {"mediaType": EMPTY, "digest": blob, "size": 2},
                              "layers": [{"mediaType": EMPTY, "digest": blob, "size": 2}],
                              "subject": {"mediaType": MANIFEST, "digest": subject, "size": size},
                              "annotations": {"number": str(number)}}).encode()
        status, headers, answer = raw(registry, "PUT", f"/v2/{name}/manifests/{digest(content)}", content)
        equal([status, headers["OCI-Subject"]], [201, subject], answer)


@test
def referrers_of_a_registry_with_the_api_need_no_tag(t):
    registry = SmallRegistry(t)
    reference = registry("team/shop:1.0.0")
    manifest = documented(t, reference)
    equal(registry.tags("team/shop"), sorted(["1.0.0", f"{fallback_tag(manifest)}.sig"]), "cosign's tag of signatures, and no list")
    equal(sorted(each["artifactType"] for each in registry.repositories["team/shop"].referrers(manifest)), sorted([BILL, BUNDLE]))
    equal(kinds(t, reference), ["sbom", "provenance"])
    equal(json.loads(t.run("registry", "attached", reference, "sbom").out)["bomFormat"], "CycloneDX")
    # Nothing is attached twice.
    before = dict(registry.repositories["team/shop"].manifests)
    documented(t, reference)
    equal(registry.repositories["team/shop"].manifests, before)
    # Signatures are asked for by their type, so that others cost nothing.
    registry.asked.clear()
    verified = t.run("verify", reference, "--key", str(t.dir / "release.pub"), "-o", "json").json
    equal(len(verified["signatures"]), 1)
    asked = [line for line in registry.asked if "/referrers/" in line]
    check(asked and all("artifactType=application%2Fvnd.dev.sigstore.bundle.v0.3%2Bjson" in line for line in asked), asked)
    check(registry.filtered >= 1)
    check(not any(line.split("?")[0].endswith(f"/manifests/{fallback_tag(manifest)}") for line in registry.asked), "the list under the tag")
    # A policy is held by what is there.
    policy(t, required_key(t, registry))
    contains(t.run("generate", "shop", "-p", reference).out, "ConfigMap")


@test
def referrers_come_in_pages_and_without_filters(t):
    for filters, page in ((False, None), (True, 1), (False, 2)):
        registry = SmallRegistry(t, filters=filters, page=page)
        name = f"team/shop{page or 0}"
        reference = registry(f"{name}:1.0.0")
        manifest = documented(t, reference)
        attach_others(registry, name, manifest, 5)
        registry.asked.clear()
        equal(kinds(t, reference), ["sbom", "provenance"], (filters, page))
        pages = [line for line in registry.asked if "/referrers/" in line and "from_item" in line]
        equal(bool(pages), page is not None)
        registry.asked.clear()
        verified = t.run("verify", reference, "--key", str(t.dir / "release.pub"), "-o", "json").json
        equal(len(verified["signatures"]), 1)
        read = [line for line in registry.asked if line.startswith("GET") and "/manifests/sha256:" in line]
        others = {each["digest"] for each in registry.repositories[name].referrers(manifest)
                  if each["artifactType"] == "application/vnd.example.note"}
        check(not any(line.endswith(tuple(others)) for line in read), "those of other types aren't read")
        equal(registry.filtered > 0, filters)
        # A signature isn't a document: it goes where the package goes.
        target = SmallRegistry(t, filters=filters, page=page)
        copied = t.run("registry", "copy", reference, target(f"{name}:1.0.0"), "-o", "json").json
        equal(copied["referrers"], 8, "SBOM, provenance, five others, and cosign's")
        equal(target.repositories[name].referrers(manifest), registry.repositories[name].referrers(manifest))


@test
def referrers_are_listed_under_a_tag_only_where_there_is_no_api(t):
    with_api, without = SmallRegistry(t), Registry(t)
    first = without("team/shop:1.0.0")
    manifest = documented(t, first)
    check(fallback_tag(manifest) in tags_of(without, "team/shop"))
    equal(kinds(t, first), ["sbom", "provenance"])
    # There and back.
    t.run("registry", "copy", first, with_api("copies/shop"))
    equal(with_api.tags("copies/shop"), sorted(["1.0.0", f"{fallback_tag(manifest)}.sig"]))
    equal(kinds(t, with_api("copies/shop:1.0.0")), ["sbom", "provenance"])
    t.run("registry", "copy", with_api("copies/shop:1.0.0"), without("back/shop"))
    check(fallback_tag(manifest) in tags_of(without, "back/shop"))
    equal(kinds(t, without("back/shop:1.0.0")), ["sbom", "provenance"])
    # A mirror of each kind, and what is read from it with the registry away.
    policy(t, required_key(t, without))
    trust = (t.dir / "home/trust.yaml").read_text()
    listed = {}
    for kind, place in (("api", SmallRegistry(t)), ("tag", Registry(t)), ("layout", None)):
        to = place("mirror") if place else "oci-layout:copies"
        mirrored = t.run("mirror", first, "--to", to, "-o", "json").json
        listed[kind] = (mirrored["mirrors"], place)
    segment = f"mirror/{without.host.replace(':', '_')}/team/shop"
    equal(listed["api"][1].tags(segment), sorted(["1.0.0", f"{fallback_tag(manifest)}.sig"]))
    check(fallback_tag(manifest) in tags_of(listed["tag"][1], segment))
    without.stop()
    for kind, (mirrors, _) in listed.items():
        places = [place.replace("oci-layout:", f"oci-layout:{t.dir}/") for place in mirrors[0]["places"]]
        home = configured(t, kind, {**mirrors[0], "places": places, "only": True})
        (home / "trust.yaml").write_text(trust)
        t.run("verify", first)
        equal(kinds(t, first), ["sbom", "provenance"], kind)


@test
def referrers_with_the_commit_survive_another_push_of_the_same(t):
    """Provenance of a commit, pushed by two machines: one referrer each, in a registry that keeps them itself."""
    registry = SmallRegistry(t)
    keys(t, "release")
    t.file("work/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "one"]):
        git(t.dir / "work", *arguments)
    flags = ("--provenance", "--sign", str(t.dir / "release.key"))
    pushed = [printed(t, "push", "push", str(t.dir / "work/web"), registry("team/web:1.0.0"), *flags) for _ in range(2)]
    equal([each["attached"][0]["wasThere"] for each in pushed], [False, True])
    equal(len(registry.repositories["team/web"].referrers(pushed[0]["digest"])), 1)
