"""Signed packages of OCI registries: the trust policy and the memory of this machine, held before anything is rendered."""
import base64
import json
import shutil
import subprocess

from harness import check, config_map, contains, equal, test
from registries import MANIFEST, PASSWORD, USER, LyingRegistry, Registry, RelayedRegistry, TokenServer, digest, wasm_manifest
from test_calls import caller, calls
from test_publish import printed
from test_registries import module, package_of
from test_search import git


def keys(t, *names):
    """NAME.key and NAME.pub of each, in the test's directory."""
    for name in names:
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", t.dir / f"{name}.key"], check=True,
                       capture_output=True)
        subprocess.run(["openssl", "ec", "-in", t.dir / f"{name}.key", "-pubout", "-out", t.dir / f"{name}.pub"], check=True,
                       capture_output=True)
        (t.dir / f"{name}.key").chmod(0o600)


def policy(t, *rules, **spec):
    t.file("home/trust.yaml", json.dumps({"apiVersion": "mistletoe.dev/v1alpha1", "kind": "TrustPolicy",
                                          "spec": {**spec, "rules": list(rules)}}))


def pushed(t, registry, version, *flags, name="shop"):
    directory = t.package(name, config_map("a", {"version": version}))
    return printed(t, "push", "push", directory, registry(f"team/{name}:{version}"), *flags)


@test
def signatures_required_by_the_policy_are_held_by_every_verb(t):
    registry = Registry(t)
    keys(t, "release", "ops", "other")
    policy(t, {"match": f"oci://{registry.host}/team/**", "threshold": 2,
               "keys": [{"name": "release", "file": str(t.dir / "release.pub")}, {"name": "ops", "file": str(t.dir / "ops.pub")}]})
    reference = registry("team/shop:1.0.0")
    pushed(t, registry, "1.0.0", "--sign", str(t.dir / "release.key"))
    says = ["is not signed by 2 of release, ops, as the trust policy requires", "trust.yaml"]
    for command in (["install", "shop", "-p", reference], ["generate", "shop", "-p", reference], ["pull", reference],
                    ["plan", "shop", "-p", reference], ["inspect", "package", reference]):
        t.refused(*command, says=says)
    equal(t.record("shop"), [], "nothing was written")
    check(not (t.dir / "shop-1.0.0").exists())
    t.run("sign", reference, "--key", str(t.dir / "other.key"))
    t.refused("install", "shop", "-p", reference, says=says)
    t.run("sign", reference, "--key", str(t.dir / "ops.key"))
    t.run("install", "shop", "-p", reference)

    # The next version is signed by one of them.
    pushed(t, registry, "1.1.0", "--sign", str(t.dir / "ops.key"))
    t.refused("upgrade", "shop", "-p", registry("team/shop:^1"), says=says)
    contains(package_of(t, "shop"), "team/shop:1.0.0@sha256:")
    # What it was installed from still does, without a request.
    mark = registry.mark()
    t.run("upgrade", "shop")
    equal(registry.requests(mark), [])
    contains(t.run("inspect", "package", reference).out, "Signed by    release (key sha256:", "ops (key sha256:")
    names = [each["name"] for each in t.run("inspect", "package", reference, "-o", "json").json["signatures"]]
    equal(sorted(name or "" for name in names), ["", "ops", "release"])
    t.run("uninstall", "shop", "--yes")


@test
def signatures_of_another_key_than_before_are_refused(t):
    registry = Registry(t)
    keys(t, "first", "second")
    policy(t, default="remember")
    one = pushed(t, registry, "1.0.0", "--sign", str(t.dir / "first.key"))
    t.run("install", "shop", "-p", registry("team/shop:1.0.0"))
    two = pushed(t, registry, "1.1.0", "--sign", str(t.dir / "second.key"))
    pushed(t, registry, "1.2.0")
    says = [one["signedWith"], "what was used of it before is signed by"]
    t.refused("upgrade", "shop", "-p", registry("team/shop:1.1.0"), says=[*says, two["signedWith"]])
    t.refused("upgrade", "shop", "-p", registry("team/shop:1.2.0"), says=[*says, "is not signed"])
    t.refused("verify", registry("team/shop:1.1.0"), says=says)
    # The owner changed the key, and said so elsewhere.
    t.run("verify", registry("team/shop:1.1.0"), "--accept-changed")
    t.run("upgrade", "shop", "-p", registry("team/shop:1.1.0"))
    t.refused("upgrade", "shop", "-p", registry("team/shop:1.2.0"), says=[two["signedWith"]])
    # The installed package stays as it was.
    t.run("rollback", "shop", "v1")
    t.run("uninstall", "shop", "--yes")


@test
def what_was_once_signed_must_stay_signed_without_any_policy(t):
    registry = Registry(t)
    keys(t, "first", "second")
    one = pushed(t, registry, "1.0.0", "--sign", str(t.dir / "first.key"))
    two = pushed(t, registry, "1.1.0", "--sign", str(t.dir / "second.key"))
    pushed(t, registry, "1.2.0")
    # Whoever only copies it remembers nothing.
    t.run("pull", registry("team/shop:1.1.0"), "-o", str(t.dir / "pulled"))
    t.run("install", "shop", "-p", registry("team/shop:1.0.0"))
    says = [one["signedWith"], "what was used of it before is signed by", "--accept-changed"]
    for command in (["upgrade", "shop", "-p"], ["plan", "shop", "-p"], ["generate", "shop", "-p"], ["pull"], ["inspect", "package"]):
        t.refused(*command, registry("team/shop:1.1.0"), says=[*says, two["signedWith"]])
        t.refused(*command, registry("team/shop:1.2.0"), says=[*says, "is not signed"])
    t.run("verify", registry("team/shop:1.1.0"), "--accept-changed")
    t.run("upgrade", "shop", "-p", registry("team/shop:1.1.0"))
    # An unsigned package is no worse than before.
    pushed(t, registry, "1.0.0", name="web")
    pushed(t, registry, "1.1.0", name="web")
    for version in ("1.0.0", "1.1.0"):
        outcome = t.run("generate", "web", "-p", registry(f"team/web:{version}"))
        check("warning" not in outcome.err, outcome.err)
    t.run("uninstall", "shop", "--yes")


@test
def signers_of_a_release_are_known_on_every_machine(t):
    registry = Registry(t)
    keys(t, "first", "second")
    one = pushed(t, registry, "1.0.0", "--sign", str(t.dir / "first.key"))
    two = pushed(t, registry, "1.1.0", "--sign", str(t.dir / "second.key"))
    pushed(t, registry, "1.2.0")
    three = pushed(t, registry, "1.3.0", "--sign", str(t.dir / "first.key"))

    def machine(name):
        home = t.dir / name
        home.mkdir(mode=0o700)
        t.env["MIST_HOME_LOCATION"] = str(home)

    def recorded():
        package = t.run("inspect", "release", "shop", "-o", "json").json["revisions"][-1]["package"]
        return [each["signers"] for each in package["signers"]]
    t.run("install", "shop", "-p", registry("team/shop:1.0.0"))
    equal(recorded(), [[one["signedWith"]]])
    machine("second")
    for command in ("upgrade", "plan", "diff"):
        t.refused(command, "shop", "-p", registry("team/shop:1.1.0"),
                  says=[f"is signed by key {two['signedWith']}", f"what the release runs of it is signed by key {one['signedWith']}"])
    machine("third")
    t.refused("upgrade", "shop", "-p", registry("team/shop:1.2.0"), says=["is not known to be signed", "--accept-changed"])
    t.run("upgrade", "shop", "-p", registry("team/shop:1.3.0"))
    equal(recorded(), [[one["signedWith"]]])
    # The owner changed the key, and said so elsewhere.
    machine("fourth")
    t.run("verify", registry("team/shop:1.1.0"), "--key", str(t.dir / "second.pub"))
    t.run("upgrade", "shop", "-p", registry("team/shop:1.1.0"))
    equal(recorded(), [[two["signedWith"]]])
    machine("fifth")
    t.refused("upgrade", "shop", "-p", registry("team/shop:1.3.0"), says=[f"signed by key {two['signedWith']}"])
    machine("sixth")
    t.run("upgrade", "shop", "-p", f"{registry('team/shop:1.3.0')}@{three['digest']}")
    equal(recorded(), [[one["signedWith"]]])
    # An upgrade without a package keeps them, and so does a rollback.
    machine("seventh")
    t.run("upgrade", "shop")
    equal(recorded(), [[one["signedWith"]]])
    t.run("rollback", "shop", "0")
    equal(recorded(), [[one["signedWith"]]])
    t.run("uninstall", "shop", "--yes")


@test
def signatures_that_cannot_be_had_stop_no_first_install(t):
    registry = Registry(t)
    keys(t, "release")
    answers = {}

    def instead(_, path):
        return answers.get("answer") if "/referrers/" in path or path.endswith(".sig") else None
    front = RelayedRegistry(t, registry, instead)
    pushed(t, front, "1.0.0")
    signed = pushed(t, front, "1.1.0", "--sign", str(t.dir / "release.key"))
    pushed(t, front, "1.2.0")
    reference = front("team/shop:1.0.0")
    for number, answer in enumerate(((403, b""), (405, b""), (200, b"<html>"))):
        answers["answer"] = answer
        home = t.dir / f"home-{number}"
        home.mkdir(mode=0o700)
        t.env["MIST_HOME_LOCATION"] = str(home)
        outcome = t.run("generate", "shop", "-p", reference)
        equal(outcome.err.count("warning: "), 1, outcome.err)
        contains(outcome.err, f"whether {reference.rsplit(':', 1)[0]} is signed could not be asked", "no signer is remembered")
    # The next one that can be asked is the first that is remembered.
    answers.clear()
    t.run("generate", "shop", "-p", front("team/shop:1.1.0"))
    answers["answer"] = (403, b"")
    t.refused("generate", "shop", "-p", front("team/shop:1.2.0"), says=["while reading the signatures of", "without which it isn't used"])
    answers.clear()
    t.refused("generate", "shop", "-p", front("team/shop:1.2.0"), says=["is not signed", signed["signedWith"]])


@test
def a_verified_package_must_stay_signed_without_any_policy(t):
    registry = Registry(t)
    keys(t, "first", "second")
    one = pushed(t, registry, "1.0.0", "--sign", str(t.dir / "first.key"))
    pushed(t, registry, "1.1.0", "--sign", str(t.dir / "second.key"))
    pushed(t, registry, "1.2.0")
    pushed(t, registry, "1.3.0", "--sign", str(t.dir / "first.key"))
    t.run("pull", registry("team/shop:1.2.0"), "-o", str(t.dir / "pulled"))
    contains(t.run("verify", registry("team/shop:1.0.0")).err, "later versions must be of the same one")
    says = [one["signedWith"], "what was used of it before is signed by"]
    t.refused("generate", "shop", "-p", registry("team/shop:1.1.0"), says=says)
    t.refused("install", "shop", "-p", registry("team/shop:1.2.0"), says=[*says, "is not signed"])
    t.run("install", "shop", "-p", registry("team/shop:1.3.0"))
    t.run("verify", registry("team/shop:1.1.0"), "--accept-changed")
    t.run("upgrade", "shop", "-p", registry("team/shop:1.1.0"))
    t.run("uninstall", "shop", "--yes")
    # By the publisher's key as well.
    pushed(t, registry, "1.0.0", "--sign", str(t.dir / "first.key"), name="web")
    pushed(t, registry, "1.1.0", name="web")
    t.run("verify", registry("team/web:1.0.0"), "--key", str(t.dir / "first.pub"))
    t.refused("generate", "shop", "-p", registry("team/web:1.1.0"), says=[*says, "is not signed"])


@test
def signatures_of_a_version_that_moved_are_not_remembered(t):
    registry = Registry(t)
    keys(t, "publisher", "mallory")
    reference = registry("team/shop:1.0.0")
    pushed(t, registry, "1.0.0", "--sign", str(t.dir / "publisher.key"))
    t.run("generate", "shop", "-p", reference)
    # Somebody who may write to the registry gives the version other bytes.
    t.run("push", t.package("shop", config_map("a", {"version": "another"})), reference, "--overwrite", "--sign",
          str(t.dir / "mallory.key"))
    says = ["team/shop:1.0.0 isn't what it was when it was first used here"]
    for spec in ({}, {"default": "remember"}):
        policy(t, **spec)
        t.refused("verify", reference, says=says)
        t.refused("verify", reference, "--key", str(t.dir / "mallory.pub"), says=says)
    pushed(t, registry, "1.1.0", "--sign", str(t.dir / "publisher.key"))
    t.run("verify", registry("team/shop:1.1.0"))
    t.run("verify", reference, "--accept-changed")


@test
def signatures_beside_the_one_that_was_named_are_not_remembered(t):
    """Somebody who may write to the registry signs what the publisher signed, and the next version alone."""
    registry = Registry(t)
    keys(t, "publisher", "mallory", "next")
    for version, names in (("1.0.0", ("publisher", "mallory")), ("1.1.0", ("mallory",)), ("1.2.0", ("publisher",)),
                           ("1.3.0", ("next", "mallory"))):
        pushed(t, registry, version)
        for name in names:
            t.run("sign", registry(f"team/shop:{version}"), "--key", str(t.dir / f"{name}.key"))
    t.run("verify", registry("team/shop:1.0.0"), "--key", str(t.dir / "publisher.pub"))
    t.refused("generate", "shop", "-p", registry("team/shop:1.1.0"), says=["what was used of it before is signed by"])
    t.run("generate", "shop", "-p", registry("team/shop:1.2.0"))
    # The publisher's next key takes the place of the one before, and hers doesn't.
    new = registry("team/shop:1.3.0")
    t.refused("verify", new, "--key", str(t.dir / "publisher.pub"), "--accept-changed", says=["is not signed by"])
    t.run("generate", "shop", "-p", registry("team/shop:1.2.0"))
    t.run("verify", new, "--key", str(t.dir / "next.pub"), "--accept-changed")
    t.refused("generate", "shop", "-p", registry("team/shop:1.1.0"), says=["what was used of it before is signed by"])
    t.run("generate", "shop", "-p", new)


@test
def signatures_are_made_and_shown(t):
    registry = Registry(t)
    keys(t, "release", "other")
    reference = registry("team/shop:1.0.0")
    there = pushed(t, registry, "1.0.0")
    # Nobody looks at signatures of what nobody has verified, and verify shows them all the same.
    check("Signed by" not in t.run("inspect", "package", reference).out)
    policy(t, default="ignore")
    t.refused("verify", reference, "--accept-changed", says=["the trust policy says so: ", "trust.yaml"], code=2)
    policy(t, default="remember")
    equal(there["signedWith"], None)
    t.refused("verify", reference, says=["has no valid signature"])
    report = printed(t, "sign", "sign", reference, "--key", str(t.dir / "release.key"), "--annotation", "build=7")
    equal(report["reference"], f"{reference}@{there['digest']}")
    equal(report["signatures"][0]["wasThere"], False)
    again = printed(t, "sign", "sign", registry("team/shop:^1"), "--key", str(t.dir / "release.key"))
    equal(again["signatures"][0]["wasThere"], True)
    verified = printed(t, "verify", "verify", reference, "--key", str(t.dir / "release.pub"))
    equal([verified["trusted"], len(verified["signatures"]), verified["signatures"][0]["valid"]], [True, 1, True])
    equal(verified["signatures"][0]["keys"], [report["signatures"][0]["key"]])
    refused = printed(t, "verify", "verify", reference, "--key", str(t.dir / "other.pub"), code=1)
    equal(refused["trusted"], False)
    contains(t.run("verify", reference).out, "valid", report["signatures"][0]["key"])
    contains(t.run("inspect", "package", reference).out, f"Signed by    key {report['signatures'][0]['key']}")
    # In its own repository it stays valid under any tag, and in another it was not made for that.
    t.run("registry", "tag", reference, "prod")
    t.run("verify", registry("team/shop:prod"), "--key", str(t.dir / "release.pub"))
    tag = report["signatures"][0]["tag"]
    t.run("registry", "copy", reference, registry("mirror/shop"))
    t.run("registry", "copy", registry(f"team/shop:{tag}"), registry(f"mirror/shop:{tag}"))
    t.refused("verify", registry("mirror/shop:1.0.0"), "--key", str(t.dir / "release.pub"),
              says=["it was made for another repository"])
    t.run("verify", registry("mirror/shop:1.0.0"), "--key", str(t.dir / "release.pub"), "--signed-for",
          f"oci://{registry.host}/team/*")
    # Signers of one command sign one manifest: the tag may move meanwhile.
    mark = registry.mark()
    t.run("sign", reference, "--key", str(t.dir / "release.key"), "--key", str(t.dir / "other.key"))
    equal(registry.requests(mark).count("GET /v2/team/shop/manifests/1.0.0"), 1, "the tag is read once")


@test
def signatures_of_what_is_published_are_those_of_push(t):
    registry = Registry(t)
    keys(t, "release", "other")
    package = t.package("shop", config_map("a", {"version": "1"}))
    arguments = ["publish", package, registry("deploy/shop:prod"), "--clock", "2026-01-01T00:00:00Z"]
    # The signer has to be named before anything is sent.
    mark = registry.mark()
    t.refused(*arguments, "--sign", code=2, says=["--sign needs a value", "--sign FILE signs with a key, --keyless with an identity"])
    t.refused(*arguments, "--sign", str(t.dir / "nothing.key"), says=["nothing.key"])
    equal(registry.requests(mark), [])
    equal([printed(t, "publish", *arguments)[each] for each in ("signedWith", "signedBy")], [None, None])
    t.refused("verify", registry("deploy/shop:prod"), says=["has no valid signature"])
    published = printed(t, "publish", *arguments, "--sign", str(t.dir / "release.key"))
    verified = printed(t, "verify", "verify", registry("deploy/shop:prod"), "--key", str(t.dir / "release.pub"))
    equal([verified["trusted"], verified["digest"], verified["signatures"][0]["keys"]],
          [True, published["digest"], [published["signedWith"]]])
    t.refused("verify", registry("deploy/shop:prod"), "--key", str(t.dir / "other.pub"), says=["other.pub"])


@test
def signatures_of_an_old_version_do_not_vouch_for_a_new_tag(t):
    registry = Registry(t)
    keys(t, "release")
    rule = {"match": f"oci://{registry.host}/team/**", "keys": [{"name": "release", "file": str(t.dir / "release.pub")}]}
    old = printed(t, "push", "push", module(t, "1.4.0"), registry("team/web:1.4.0"), "--sign", str(t.dir / "release.key"))
    # Somebody who may write to the registry gives the old manifest, signed as it is, the tag of a new version.
    t.run("registry", "tag", registry("team/web:1.4.0"), "1.5.0")
    t.refused("generate", "web", "-p", registry("team/web:1.5.0"), says=["1.5.0 says that it is version 1.4.0", old["digest"]])
    for more in (["--key", str(t.dir / "release.pub")], [], ["--accept-changed"]):
        t.refused("verify", registry("team/web:1.5.0"), *more, says=["1.5.0 says that it is version 1.4.0", old["digest"]])
    # Nothing was remembered.
    t.run("pull", registry("team/web:1.5.0"), "-o", str(t.dir / "pulled"))
    for policy_of in ({"default": "remember"}, {}):
        policy(t, *([] if policy_of else [rule]), **policy_of)
        t.run("generate", "web", "-p", registry("team/web:1.4.0"))
        for reference in ("1.5.0", "^1"):
            t.refused("generate", "web", "-p", registry(f"team/web:{reference}"), says=["1.5.0 says that it is version 1.4.0", old["digest"]])
        t.run("generate", "web", "-p", registry(f"team/web:1.5.0@{old['digest']}"))


@test
def signatures_of_called_packages_are_required_too(t):
    registry = Registry(t)
    keys(t, "release")
    pushed(t, registry, "1.0.0", name="inner")
    outer = caller(t, "outer", {"inner": (registry("team/inner"), "^1")})
    t.run("generate", "shop", "-p", outer, *calls(("inner", {})))
    policy(t, {"match": f"oci://{registry.host}/team/**", "keys": [{"name": "release", "file": str(t.dir / "release.pub")}]})
    says = ["team/inner@sha256:", "is not signed by release, as the trust policy requires"]
    t.refused("generate", "shop", "-p", outer, *calls(("inner", {})), says=says)
    t.run("sign", registry("team/inner:1.0.0"), "--key", str(t.dir / "release.key"))
    t.run("generate", "shop", "-p", outer, *calls(("inner", {})))


@test
def signatures_are_held_whatever_was_used_before(t):
    """Packages in the cache, installed releases and other ways to write the host, after the policy was written."""
    registry = Registry(t)
    keys(t, "release")
    reference = registry("team/shop:1.0.0")
    there = pushed(t, registry, "1.0.0")
    t.run("install", "shop", "-p", reference)
    policy(t, {"match": f"oci://{registry.host}/team/**", "keys": [{"name": "release", "file": str(t.dir / "release.pub")}]})
    says = ["is not signed by release, as the trust policy requires"]
    host, port = registry.host.rsplit(":", 1)
    for used in (reference, f"{reference}@{there['digest']}", registry(f"team/shop@{there['digest']}"), registry("team/shop:^1"),
                 f"oci://{host.upper()}:0{port}/team/shop:1.0.0"):
        t.refused("generate", "shop", "-p", used, says=says)
    t.refused("upgrade", "shop", says=says)
    t.run("registry", "add", "named", "--oci", registry("team"))
    t.refused("generate", "shop", "-p", "named/shop:1.0.0", says=says)
    t.run("uninstall", "shop", "--yes")
    # A policy that can't be read lets nothing through.
    for text in ("spec: [", "kind: TrustPolicy\n"):
        t.file("home/trust.yaml", text)
        t.refused("generate", "shop", "-p", reference, says=["trust.yaml"])
    (t.dir / "home/trust.yaml").unlink()
    (t.dir / "home/trust.yaml").symlink_to(t.dir / "gone")
    t.refused("generate", "shop", "-p", reference, says=["is a link that leads nowhere"])


@test
def signatures_keys_with_passwords_ask_no_argument(t):
    registry = Registry(t)
    keys(t, "plain")
    subprocess.run(["openssl", "pkcs8", "-topk8", "-in", t.dir / "plain.key", "-out", t.dir / "locked.key", "-passout",
                    "pass:open-sesame"], check=True, capture_output=True)
    pushed(t, registry, "1.0.0")
    arguments = ("sign", registry("team/shop:1.0.0"), "--key", str(t.dir / "locked.key"))
    t.refused(*arguments, says=["asks for what it wasn't given", "MIST_KEY_PASSWORD"], code=2)
    t.env["MIST_KEY_PASSWORD"] = "wrong"
    t.refused(*arguments, says=["the password is wrong, or the key is damaged"])
    t.env["MIST_KEY_PASSWORD"] = "open-sesame"
    t.run(*arguments)
    t.run("verify", registry("team/shop:1.0.0"), "--key", str(t.dir / "plain.pub"))


@test
def signatures_reach_a_registry_that_wants_tokens(t):
    tokens = TokenServer(t)
    registry = Registry(t, auth=tokens.auth())
    keys(t, "release")
    t.env["DOCKER_CONFIG"] = str(t.dir / "docker")
    login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    t.file("docker/config.json", json.dumps({"auths": {registry.host: {"auth": login}}}))
    pushed(t, registry, "1.0.0", "--sign", str(t.dir / "release.key"))
    t.run("verify", registry("team/shop:1.0.0"), "--key", str(t.dir / "release.pub"))
    t.run("generate", "shop", "-p", registry("team/shop:1.0.0"))


@test
def signatures_that_lie_are_named_and_bounded(t):
    keys(t, "release")
    module = b"\0asm\1\0\0\0"
    manifest = wasm_manifest(module)
    config = b"{}"
    name = f"/v2/team/web/manifests/sha256-{digest(manifest)[7:]}.sig"

    def layers(payloads, **changes):
        return json.dumps({"schemaVersion": 2, "mediaType": MANIFEST,
                           "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(config),
                                      "size": len(config)},
                           "layers": [{"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", "digest": digest(payload),
                                       "size": len(payload), "annotations": {"dev.cosignproject.cosign/signature": "AAAA"}, **changes}
                                      for payload in payloads]}).encode()

    def endless():
        while True:
            yield b"x" * 65536

    def ok(body):
        return 200, {"Content-Type": MANIFEST}, body
    payload = b'{"critical":{}}'
    cases = {
        "a payload that is none": (layers([payload]), {f"/v2/team/web/blobs/{digest(payload)}": ok(payload)}, "its payload is no"),
        "a payload of other bytes": (layers([payload]), {f"/v2/team/web/blobs/{digest(payload)}": ok(b'{"critical":[]}')},
                                     "is not what its digest says"),
        "a payload without end": (layers([payload]), {f"/v2/team/web/blobs/{digest(payload)}": ok(endless())},
                                  "is not what its digest says"),
        "a payload that is too large": (layers([payload], size=1 << 30), {}, "is too large"),
        "many signatures": (layers([b"%d" % i for i in range(101)]), {}, "has 101 signatures; 100 are allowed"),
        "no manifest": (b"[]", {}, "is damaged, or not a manifest"),
        "a manifest without end": (endless(), {}, "is larger than the 4194304 bytes allowed"),
    }
    for what, (signatures, more, says) in cases.items():
        liar = LyingRegistry(t, {"/v2/team/web/manifests/1.0.0": ok(manifest), name: ok(signatures), **more})
        policy(t, {"match": f"oci://{liar.host}/**", "keys": [{"name": "release", "file": str(t.dir / "release.pub")}]})
        outcome = t.run("generate", "web", "-p", liar("team/web:1.0.0"), code=1)
        contains(outcome.err, "error: ", says)
        check(not any("/blobs/" + digest(module) in path for _, path, _ in liar.asked), f"{what}: the package was read")


def minisign_keys(t, name):
    """NAME.key and NAME.pub as `minisign -G -W` writes them."""
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-outform", "DER", "-out", t.dir / "raw"], check=True, capture_output=True)
    public = subprocess.run(["openssl", "pkey", "-in", t.dir / "raw", "-inform", "DER", "-pubout", "-outform", "DER"], check=True,
                            capture_output=True).stdout[-32:]
    seed, number = (t.dir / "raw").read_bytes()[-32:], name.encode().ljust(8, b"_")[:8]
    body = b"Ed" + b"\0\0" + b"B2" + bytes(48) + number + seed + public + bytes(32)
    t.file(f"{name}.key", "untrusted comment: secret\n" + base64.b64encode(body).decode() + "\n")
    t.file(f"{name}.pub", "untrusted comment: public\n" + base64.b64encode(b"Ed" + number + public).decode() + "\n")


@test
def signatures_of_files_in_a_git_registry(t):
    root = t.dir / "repository"
    minisign_keys(t, "release")
    minisign_keys(t, "other")
    (root / "web").mkdir(parents=True)
    for version in ("1.4.0", "1.5.0"):
        shutil.copy(module(t, version), root / f"web/web-{version}.mist-pack.wasm")
    shutil.copytree(t.package("plain", config_map("a")), root / "packages/plain/1.0.0")
    git(t.dir, "init", "-q", "-b", "main", str(root))

    def commit():
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", "more")
        t.run("registry", "update", "team")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    t.run("registry", "add", "team", "-g", str(root))
    policy(t, {"match": "team/**", "keys": [{"name": "release", "file": str(t.dir / "release.pub")}]})
    says = ["is not signed by release, as the trust policy requires", "it has no signature"]
    packages = ("team/web:1.4.0", "team/plain:1.0.0")
    for package in packages:
        t.refused("generate", "x", "-p", package, says=says)
    for path in ("web/web-1.4.0.mist-pack.wasm", "packages/plain/1.0.0"):
        equal(t.run("sign", str(root / path), "--key", str(t.dir / "release.key")).out, f"{root / path}.minisig\n")
        t.run("verify", str(root / path), "--key", str(t.dir / "release.pub"))
        t.refused("verify", str(root / path), "--key", str(t.dir / "other.pub"), says=["is not signed by"])
    commit()
    for package in packages:
        t.run("generate", "x", "-p", package)
    t.run("install", "web", "-p", packages[0])
    # The signature of another version, and one of another key.
    shutil.copy(root / "web/web-1.4.0.mist-pack.wasm.minisig", root / "web/web-1.5.0.mist-pack.wasm.minisig")
    commit()
    t.refused("upgrade", "web", "-p", "team/web:1.5.0", says=["it is of another file, or of no key that is known here"])
    t.run("sign", str(root / "web/web-1.5.0.mist-pack.wasm"), "--key", str(t.dir / "other.key"))
    commit()
    t.refused("upgrade", "web", "-p", "team/web:1.5.0", says=["it is of another file, or of no key that is known here"])
    # Bytes of 1.4.0 under a new name, with their signature.
    shutil.copy(root / "web/web-1.4.0.mist-pack.wasm", root / "web/web-1.6.0.mist-pack.wasm")
    shutil.copy(root / "web/web-1.4.0.mist-pack.wasm.minisig", root / "web/web-1.6.0.mist-pack.wasm.minisig")
    commit()
    t.refused("upgrade", "web", "-p", "team/web:1.6.0", says=["it was made for another file, web-1.4.0.mist-pack.wasm"])
    t.run("sign", str(root / "web/web-1.5.0.mist-pack.wasm"), "--key", str(t.dir / "release.key"))
    commit()
    t.run("upgrade", "web", "-p", "team/web:1.5.0")
    # Of a registry that is an OCI registry such a rule says nothing, which is not to be overlooked.
    t.run("registry", "add", "shop", "--oci", "oci://localhost:1/shop")
    policy(t, {"match": "shop/**", "keys": [{"name": "release", "file": str(t.dir / "release.pub")}]})
    t.refused("generate", "x", "-p", "shop/web:1.0.0", says=["can't be held for oci://localhost:1/shop/web"])
    t.run("uninstall", "web", "--yes")


def slsa_statement(bundle):
    return json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))


@test
def signatures_and_documents_say_what_a_package_is_made_of(t):
    registry = Registry(t)
    keys(t, "release")
    t.file("work/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
    t.file("work/web/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    source = str(t.dir / "work/web")
    for arguments in (["init", "--quiet"], ["remote", "add", "origin", "https://user:geheim@git.example/team/web.git"], ["add", "."],
                      ["commit", "--quiet", "-m", "one"]):
        git(t.dir / "work", *arguments)
    commit = subprocess.run(["git", "-C", t.dir / "work", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    reference = registry("team/web:1.0.0")
    flags = ("--sbom", "--provenance", "--sign", str(t.dir / "release.key"))
    pushed_once = printed(t, "push", "push", source, reference, *flags)
    equal([each["kind"] for each in pushed_once["attached"]], ["sbom", "provenance"])
    key = pushed_once["signedWith"]
    equal([each["signedWith"] for each in pushed_once["attached"]], [None, key])
    # Nothing is attached twice.
    again = printed(t, "push", "push", source, reference, *flags)
    equal([each["wasThere"] for each in again["attached"]], [True, True])
    equal([each["digest"] for each in again["attached"]], [each["digest"] for each in pushed_once["attached"]])

    shown = t.run("inspect", "package", reference)
    contains(shown.out, "Attached     sbom application/vnd.cyclonedx+json sha256:",
             "Attached     provenance https://slsa.dev/provenance/v1 sha256:", f"signed by key {key}")
    documents = t.run("inspect", "package", reference, "-o", "json").json["documents"]
    equal([(each["kind"], [proof["keys"] for proof in each["signatures"]]) for each in documents],
          [("sbom", []), ("provenance", [[key]])])

    bill = json.loads(t.run("registry", "attached", reference, "sbom").out)
    equal([bill["bomFormat"], bill["specVersion"], bill["metadata"]["component"]["name"]], ["CycloneDX", "1.6", "web"])
    equal(bill["metadata"]["component"]["hashes"], [{"alg": "SHA-256", "content": pushed_once["digest"][7:]}])
    equal([each["name"] for each in bill["components"]], ["helm"])
    statement = slsa_statement(json.loads(t.run("registry", "attached", reference, documents[1]["digest"]).out))
    equal(statement["subject"], [{"name": f"{registry.host}/team/web", "digest": {"sha256": pushed_once["digest"][7:]}}])
    equal(statement["predicate"]["buildDefinition"]["externalParameters"],
          {"reference": reference, "source": {"uri": "git+https://git.example/team/web.git", "digest": {"gitCommit": commit},
                                              "path": "web", "dirty": False}})
    equal(statement["predicate"]["runDetails"]["byproducts"][0]["digest"], {"sha256": documents[0]["digest"][7:]})
    # They are no signatures of the package, and go where it goes.
    equal(len(printed(t, "verify", "verify", reference, "--key", str(t.dir / "release.pub"))["signatures"]), 1)
    t.run("registry", "copy", reference, registry("mirror/web"))
    equal(len(t.run("inspect", "package", registry("mirror/web:1.0.0"), "-o", "json").json["documents"]), 2)

    # Files that are no commit's, and nobody's signature.
    t.file("work/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.1.0\n")
    changed = t.run("push", source, registry("other/web:1.1.0"), "--provenance")
    contains(changed.err, "the provenance names no commit: files of", "not signed")
    statement = json.loads(t.run("registry", "attached", registry("other/web:1.1.0"), "provenance").out)
    equal(statement["predicate"]["buildDefinition"]["externalParameters"]["source"],
          {"uri": "git+https://git.example/team/web.git", "path": "web", "dirty": True})
    check(commit not in json.dumps(statement) and "geheim" not in json.dumps(statement))
    contains(t.run("inspect", "package", registry("other/web:1.1.0")).out, "provenance https://slsa.dev/provenance/v1", ", not signed")
    t.refused("registry", "attached", registry("other/web:1.1.0"), "sbom", says=["no sbom is attached to", "there is provenance sha256:"])
    # A package that is here is shown while the registry is away.
    registry.stop()
    outcome = t.run("inspect", "package", changed.out.strip(), "-o", "json")
    equal(outcome.json["documents"], None)
    contains(outcome.err, "SBOMs and provenance are not known")
