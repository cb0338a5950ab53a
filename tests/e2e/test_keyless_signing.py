"""Keyless signing: identity tokens become signatures, with services of the test's own. Nothing outside of this machine is asked."""
import json
import re
import ssl

from harness import check, config_map, contains, equal, test
from registries import Registry
from sigstore import GITHUB_SECRET, ISSUER, Services, openssl
from terminal import Terminal
from test_publish import printed
from test_signatures import policy

SUBJECT = "release@team.example"
SIGNER = f"{SUBJECT} ({ISSUER})"


def package(t, version, name="shop"):
    return t.package(name, config_map("a", {"version": version}))


def flags(t, services, token=None):
    """--keyless with files of the test's."""
    t.file("token.txt", (token or services.token()) + "\n")
    return ["--keyless", "--identity-token", str(t.dir / "token.txt"), "--signing-config", services.config, "--trust-root", services.root]


def push(t, registry, version, *more):
    outcome = t.run("push", package(t, version), registry(f"team/shop:{version}"), "-o", "json", *more)
    return outcome.json


@test
def keyless_signing_makes_what_verify_accepts(t):
    registry = Registry(t)
    for rekor, timestamps in ((1, True), (1, False), (2, True)):
        services = Services(t, f"rekor{rekor}{timestamps}", rekor, timestamps)
        reference = registry(f"team/shop{rekor}{'' if timestamps else '-unstamped'}:1.0.0")
        t.run("push", package(t, f"{rekor}{timestamps}"), reference)
        outcome = t.run("sign", reference, "-o", "json", *flags(t, services))
        signature = outcome.json["signatures"][0]
        equal([signature[key] for key in ("identity", "issuer", "key", "tag", "wasThere")], [SUBJECT, ISSUER, None, None, False])
        contains(outcome.err, f"signed by {SIGNER}")
        equal(services.asked, ["fulcio", *(["tsa"] if timestamps else []), f"rekor{rekor}"])
        told = ["--identity", SUBJECT, "--issuer", ISSUER, "--trust-root", services.root]
        contains(t.run("verify", reference, *told).out, SUBJECT, ISSUER, "bundle", "valid")
        # Another run of the same identity adds nothing, and writes nothing into the log.
        again = t.run("sign", reference, "-o", "json", *flags(t, services)).json["signatures"][0]
        equal([again["wasThere"], again["manifest"]], [True, signature["manifest"]])
        equal(services.asked[-1], "fulcio")
        # It is one for this repository alone.
        t.run("registry", "copy", reference, registry(f"mirror/shop{rekor}{timestamps}:1.0.0".lower()))
        copied = registry(f"mirror/shop{rekor}{timestamps}:1.0.0".lower())
        t.refused("verify", copied, *told, says=["it was made for another repository"])
        t.run("verify", copied, *told, "--signed-for", registry("team/*"))
        # Somebody else's is beside it.
        t.run("sign", reference, *flags(t, services, services.token("ops@team.example")))
        found = t.run("verify", reference, *told, "-o", "json").json["signatures"]
        equal(sorted(each["identity"] for each in found), ["ops@team.example", SUBJECT])
        # Of another Sigstore it proves nothing.
        other = Services(t, f"other{rekor}{timestamps}")
        t.refused("verify", reference, *told[:4], "--trust-root", other.root, says=[f"is not signed by {SIGNER}"])


@test
def keyless_push_signs_package_and_provenance(t):
    registry, services = Registry(t), Services(t)
    policy(t, trustRoot=services.root, signingConfig=services.config)
    t.file("token.txt", services.token())
    keyless = ["--keyless", "--identity-token", str(t.dir / "token.txt")]
    pushed = push(t, registry, "1.0.0", "--sbom", "--provenance", *keyless)
    who = {"identity": SUBJECT, "issuer": ISSUER}
    equal([pushed["signedBy"], pushed["signedWith"]], [who, None])
    equal([(each["kind"], each["signedBy"], each["wasThere"]) for each in pushed["attached"]],
          [("sbom", None, False), ("provenance", who, False)])
    equal(services.asked, ["fulcio", "tsa", "rekor1", "tsa", "rekor1"], "one certificate for both")
    # The same again sends and logs nothing.
    again = push(t, registry, "1.0.0", "--sbom", "--provenance", *keyless)
    equal([again["wasThere"], [each["wasThere"] for each in again["attached"]]], [True, [True, True]])
    equal(services.asked[5:], ["fulcio"])
    reference = registry("team/shop:1.0.0")
    contains(t.run("inspect", "package", reference).out, f"signed by {SIGNER}")
    # It is known by that identity once it was verified.
    t.run("verify", reference)
    contains(t.run("inspect", "package", reference).out, f"Signed by    {SIGNER}")
    push(t, registry, "1.1.0", *keyless)
    t.run("generate", "shop", "-p", registry("team/shop:1.1.0"))
    t.file("token.txt", services.token("mallory@team.example"))
    push(t, registry, "1.2.0", *keyless)
    t.refused("generate", "shop", "-p", registry("team/shop:1.2.0"),
              says=[f"is signed by mallory@team.example ({ISSUER})", f"is signed by {SIGNER}"])
    push(t, registry, "1.3.0")
    t.refused("generate", "shop", "-p", registry("team/shop:1.3.0"), says=["is not signed"])


@test
def keyless_publish_signs_what_it_published(t):
    registry, services = Registry(t), Services(t)
    destination, source = registry("deploy/shop:prod"), package(t, "1.0.0")
    published = printed(t, "publish", "publish", source, destination, "--clock", "2026-01-01T00:00:00Z", *flags(t, services))
    equal([published["signedBy"], published["signedWith"]], [{"identity": SUBJECT, "issuer": ISSUER}, None])
    verified = printed(t, "verify", "verify", destination, "--identity", SUBJECT, "--issuer", ISSUER, "--trust-root", services.root)
    equal([verified["trusted"], verified["digest"]], [True, published["digest"]])
    # Without an identity nothing is published.
    t.refused("publish", source, registry("deploy/shop:next"), "--keyless", "--signing-config", services.config, "--trust-root", services.root,
              says=["there is no identity token to sign with"])
    t.refused("verify", registry("deploy/shop:next"), "--identity", SUBJECT, "--issuer", ISSUER, "--trust-root", services.root, says=["next"])


@test
def keyless_signing_finds_its_token(t):
    registry, services = Registry(t), Services(t)
    reference = registry("team/shop:1.0.0")
    t.run("push", package(t, "1.0.0"), reference)
    files = ["--keyless", "--signing-config", services.config, "--trust-root", services.root]
    t.refused("sign", reference, *files, says=["there is no identity token to sign with", "SIGSTORE_ID_TOKEN", "--identity-token FILE"])
    t.env["GITHUB_ACTIONS"] = "true"
    t.refused("sign", reference, *files, says=["permissions: {id-token: write}"])
    t.env |= {"ACTIONS_ID_TOKEN_REQUEST_URL": f"{services.urls['github']}/token?api-version=2.0", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "wrong"}
    refused = t.refused("sign", reference, *files, says=["GitHub gives out no identity token", "status 401"])
    check("wrong" not in refused.err)
    t.env["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = GITHUB_SECRET
    signed = t.run("sign", reference, *files, "-v")
    contains(signed.err, "signed by https://ci.example/team/shop/.github/workflows/release.yml@refs/tags/1")
    check(GITHUB_SECRET not in signed.err)
    t.env["SIGSTORE_ID_TOKEN"] = services.token("variable@team.example")
    contains(t.run("sign", reference, *files).err, "signed by variable@team.example")
    file = t.file("token.txt", services.token("input@team.example"))
    with open(file) as given:
        contains(t.run("sign", reference, *files, "--identity-token", "-", stdin=given).err, "signed by input@team.example")


@test
def keyless_push_publishes_nothing_that_is_not_signed(t):
    """Each service refuses, is away, or lies: the package isn't pushed, the message says which, and no token is in it."""
    registry, services = Registry(t), Services(t)
    source, reference = package(t, "1.0.0"), registry("team/shop:1.0.0")
    t.file("nowhere", "")

    def refused(*says, token=None, more=()):
        given = flags(t, services, token)
        outcome = t.refused("push", source, reference, "-v", *given, *more, says=says)
        secret = (t.dir / "token.txt").read_text().strip()
        for part in (secret, *(part for part in secret.split(".") if len(part) > 8)):
            check(part not in outcome.out + outcome.err, "the token is in a message")
        writes = [line for line in registry.requests() if line.startswith(("PUT", "PATCH", "POST"))]
        equal(writes, [], "nothing was sent")
        return outcome

    refused("the identity token of", "has expired", "this machine's clock shows", token=services.token(exp=1_700_000_000))
    refused("is not for sigstore", "for kubernetes", "--token-audience", token=services.token(aud="kubernetes"))
    refused("holds no identity token", token="bm90aGluZw.bm90aGluZyBhdCBhbGw.bm90aGluZw")
    equal(services.asked, [], "a token that can't do is not sent")
    # The authority's own words.
    refused("issued no certificate", "status 400: There was an error processing the identity token", "it must accept the issuer",
            token=services.token(iss="https://elsewhere.example"))
    services.change["fulcio"] = lambda *_: (503, {}, b"down for maintenance")
    refused("issued no certificate", "status 503: down for maintenance")
    services.change["fulcio"] = lambda *_: (200, {}, b"<html>")
    refused("the certificate authority's answer can't be read")
    other = Services(t, "other")
    services.change["fulcio"] = lambda *_: (201, {}, json.dumps({"signedCertificateEmbeddedSct": {"chain": {"certificates": [
        (other.dir / "ca.crt").read_text()]}}}).encode())
    refused("the certificate of", "can't be used", "its certificate is for another key")

    def unpromised(status, headers, body):
        request = json.loads(services.bodies[-1])
        claims = services.claims(request["credentials"]["oidcIdentityToken"])
        pem = openssl("x509", "-inform", "DER", data=services.issue(services.key_of(request, claims), claims, promised=False)).decode()
        return status, headers, json.dumps({"signedCertificateEmbeddedSct": {"chain": {"certificates": [pem]}}}).encode()
    services.change["fulcio"] = unpromised
    refused("can't be used", "no promise of a log of certificates")

    def late(status, headers, body):
        request = json.loads(services.bodies[-1])
        claims = services.claims(request["credentials"]["oidcIdentityToken"])
        pem = openssl("x509", "-inform", "DER", data=services.issue(services.key_of(request, claims), claims, begins=7200)).decode()
        return status, headers, json.dumps({"signedCertificateEmbeddedSct": {"chain": {"certificates": [pem]}}}).encode()
    services.change["fulcio"] = late
    refused("can't be verified, so it is not sent to the registry", "was not valid at", "the clocks of its services must agree")
    del services.change["fulcio"]

    services.change["tsa"] = lambda *_: (400, {}, b"no time")
    refused("the timestamp authority", "gave no timestamp", "status 400: no time")
    services.change["tsa"] = lambda *_: (200, {}, b"\x30\x10\x30\x0e\x02\x01\x02\x30\x09\x0c\x07no time")
    refused("gave no timestamp", "status 2: no time")
    del services.change["tsa"]

    services.change["rekor1"] = lambda *_: (400, {}, json.dumps({"code": 400, "message": "the log is frozen"}).encode())
    refused("took no entry", "status 400: the log is frozen")

    def altered(pattern, replacement):
        def change(status, headers, body):
            changed, count = re.subn(pattern, replacement, body.decode())
            check(count > 0)
            return status, headers, changed.encode()
        return change
    services.change["rekor1"] = altered(r'"treeSize": \d+', '"treeSize": 999')
    refused("can't be verified, so it is not sent to the registry", "leads to another tree")
    services.change["rekor1"] = altered(r'"integratedTime": \d+', '"integratedTime": 1700000000')
    refused("can't be verified, so it is not sent to the registry", "the log's promise for its entry is not valid")
    services.change["rekor1"] = lambda *_: (201, {}, b"{}")
    refused("the transparency log's answer can't be read")
    del services.change["rekor1"]

    # Nobody listens.
    gone = services.signing_config()
    text = json.loads(open(gone).read())
    text["rekorTlogUrls"][0]["url"] = "http://127.0.0.1:1"
    services.config = services.file("gone.json", json.dumps(text))
    refused("127.0.0.1:1", "while adding an entry to the transparency log http://127.0.0.1:1")
    services.config = services.signing_config(rekor=2, timestamps=False)
    refused("has 0 of tsaUrls that can be used now")
    services.config = services.signing_config()
    t.run("push", source, reference, *flags(t, services))
    # Published, and then no other content.
    services.asked.clear()
    t.refused("push", package(t, "changed"), reference, *flags(t, services), says=["is published already, with other content"])
    equal(services.asked, [], "no certificate for what can't be published")


@test
def keyless_signing_uses_only_services_that_are_configured(t):
    registry, services = Registry(t), Services(t)
    reference = registry("team/shop:1.0.0")
    t.run("push", package(t, "1.0.0"), reference)
    file = t.file("token.txt", services.token())
    contains(t.run("sign", reference, code=2).err, "mistctl sign needs --key FILE or --keyless")
    contains(t.run("sign", reference, "--keyless", "--identity-token", file, code=2).err, "--keyless needs a signing configuration",
             "spec.signingConfig in trust.yaml")
    contains(t.run("sign", reference, "--keyless", "--signing-config", services.config, code=2).err, "--keyless needs a trust root")
    contains(t.run("sign", reference, "--key", "x", "--identity-token", file, code=2).err, "--identity-token goes with --keyless")
    # A private authority may accept another audience.
    policy(t, trustRoot=services.root, signingConfig="services/signing_config.json")
    t.refused("sign", reference, "--keyless", "--identity-token", file, says=["services/signing_config.json"])
    policy(t, trustRoot=services.root, signingConfig=services.config)
    t.refused("sign", reference, "--keyless", "--identity-token", file, "--token-audience", "team", says=["is not for team"])
    t.run("sign", reference, "--keyless", "--identity-token", file)


@test
def keyless_signing_trusts_the_certificates_that_registries_are_trusted_by(t):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2, "-subj", "/CN=127.0.0.1",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", t.dir / "web.key", "-out", t.dir / "web.crt")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(t.dir / "web.crt", t.dir / "web.key")
    registry, services = Registry(t), Services(t, tls=tls)
    reference = registry("team/shop:1.0.0")
    t.run("push", package(t, "1.0.0"), reference)
    t.refused("sign", reference, *flags(t, services), says=["while requesting a certificate from https://127.0.0.1"])
    equal(services.asked, [])
    t.env["SSL_CERT_FILE"] = str(t.dir / "web.crt")
    t.run("sign", reference, *flags(t, services))


@test
def keyless_signing_logs_a_person_in(t):
    registry, services = Registry(t), Services(t)
    reference = registry("team/shop:1.0.0")
    t.run("push", package(t, "1"), reference)
    command = ["sign", reference, "--keyless", "--signing-config", services.config, "--trust-root", services.root]
    # Nobody is there to ask.
    contains(t.refused(*command, says=["there is no identity token"]).err, "On a terminal you are asked to log in")
    check("login" not in services.asked, services.asked)
    terminal = Terminal([t.mistctl, *command], t.environment(TERM="xterm", NO_COLOR="1"), 24, 160, t.dir)
    terminal.wait_for(f"open {services.urls['login']}/device and enter ABCD-EFGH")
    services.confirmed = True
    equal(terminal.finish(), 0, terminal.text())
    contains(terminal.text(), f"signed by {SIGNER}")
    check("hidden" not in terminal.text(), terminal.text())
    t.run("verify", reference, "--identity", SUBJECT, "--issuer", ISSUER, "--trust-root", services.root)
