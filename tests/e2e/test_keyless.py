"""Keyless signatures, as cosign writes them, of a Sigstore made with openssl: nothing outside of this machine is asked."""
import base64
import hashlib
import json
import subprocess
import time
import urllib.request

from harness import check, contains, equal, test
from registries import MANIFEST, Registry
from test_signatures import keys, policy, pushed

ISSUER = "https://accounts.example"


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *map(str, arguments)], input=data, capture_output=True, check=True).stdout


def encoded(data):
    return base64.b64encode(data).decode()


class Sigstore:
    """An authority and a log in the test's directory; `root` is their trusted_root.json."""

    def __init__(self, t, name="sigstore"):
        self.dir = t.dir / name
        self.dir.mkdir()
        self.key("ca"), self.key("log")
        self.file("ca.cnf", "[req]\ndistinguished_name=n\nx509_extensions=e\nprompt=no\n[n]\nCN=authority\n"
                            "[e]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n")
        openssl("req", "-new", "-x509", "-key", self.dir / "ca.key", "-days", 2, "-config", self.dir / "ca.cnf", "-out", self.dir / "ca.crt")
        log = openssl("ec", "-in", self.dir / "log.key", "-pubout", "-outform", "DER")
        self.log_id = hashlib.sha256(log).hexdigest()
        since = {"start": "2020-01-01T00:00:00Z"}
        self.root = self.file("trusted_root.json", json.dumps({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [{"publicKey": {"rawBytes": encoded(log), "validFor": since},
                       "logId": {"keyId": encoded(bytes.fromhex(self.log_id))}}],
            "certificateAuthorities": [{"validFor": since, "certChain": {"certificates": [
                {"rawBytes": encoded(openssl("x509", "-in", self.dir / "ca.crt", "-outform", "DER"))}]}}]}))

    def file(self, name, text):
        (self.dir / name).write_text(text)
        return str(self.dir / name)

    def key(self, name):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.dir / f"{name}.key")

    def annotations(self, payload, subject):
        """Of a layer whose blob is `payload`, signed by `subject` now."""
        self.key("leaf")
        self.file("leaf.cnf", "[req]\ndistinguished_name=n\nprompt=no\n[n]\nO=unused\n")
        kind = "URI" if "://" in subject else "email"
        self.file("leaf.ext", f"subjectAltName=critical,{kind}:{subject}\nkeyUsage=critical,digitalSignature\n"
                              f"extendedKeyUsage=codeSigning\n1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:{ISSUER}\n")
        openssl("req", "-new", "-key", self.dir / "leaf.key", "-config", self.dir / "leaf.cnf", "-out", self.dir / "leaf.csr")
        openssl("x509", "-req", "-in", self.dir / "leaf.csr", "-CA", self.dir / "ca.crt", "-CAkey", self.dir / "ca.key", "-set_serial", 7,
                "-days", 1, "-extfile", self.dir / "leaf.ext", "-out", self.dir / "leaf.crt")
        certificate = (self.dir / "leaf.crt").read_bytes()
        signature = openssl("dgst", "-sha256", "-sign", self.dir / "leaf.key", data=payload)
        body = json.dumps({"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()}},
            "signature": {"content": encoded(signature), "publicKey": {"content": encoded(certificate)}}}}).encode()
        entry = {"body": encoded(body), "integratedTime": int(time.time()), "logID": self.log_id, "logIndex": 7}
        promise = openssl("dgst", "-sha256", "-sign", self.dir / "log.key", data=json.dumps(entry, separators=(",", ":")).encode())
        return {"dev.cosignproject.cosign/signature": encoded(signature), "dev.sigstore.cosign/certificate": certificate.decode(),
                "dev.sigstore.cosign/bundle": json.dumps({"SignedEntryTimestamp": encoded(promise), "Payload": entry})}


def ask(registry, path, data=None):
    request = urllib.request.Request(f"http://{registry.host}/v2/team/shop/{path}", data, {"Accept": MANIFEST, "Content-Type": MANIFEST},
                                     method="PUT" if data else "GET")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


def push_signed(t, registry, version, sigstore, subject):
    """Pushes a version; the signature that mistctl wrote for a key becomes one of `subject`."""
    digest = pushed(t, registry, version, "--sign", str(t.dir / "scratch.key"))["digest"]
    tag = f"manifests/sha256-{digest[7:]}.sig"
    manifest = json.loads(ask(registry, tag))
    payload = ask(registry, f"blobs/{manifest['layers'][0]['digest']}")
    manifest["layers"][0]["annotations"] = sigstore.annotations(payload, subject)
    ask(registry, tag, json.dumps(manifest).encode())


@test
def keyless_signatures_count_where_a_rule_names_the_identity(t):
    registry, sigstore = Registry(t), Sigstore(t)
    keys(t, "scratch")
    reference = registry("team/shop:1.0.0")
    push_signed(t, registry, "1.0.0", sigstore, "release@team.example")
    rule = {"match": f"oci://{registry.host}/team/**", "identities": [{"issuer": ISSUER, "subject": "release@team.example"}]}
    policy(t, rule, trustRoot=sigstore.root)
    t.run("install", "shop", "-p", reference)
    contains(t.run("inspect", "package", reference).out, f"Signed by    release@team.example ({ISSUER})")
    mark = registry.mark()
    t.run("upgrade", "shop")
    equal(registry.requests(mark), [])

    # Somebody else, and the same name from another authority.
    push_signed(t, registry, "1.1.0", sigstore, "mallory@team.example")
    t.refused("upgrade", "shop", "-p", registry("team/shop:1.1.0"),
              says=[f"is not signed by release@team.example ({ISSUER}), as the trust policy requires",
                    f"it is of mallory@team.example ({ISSUER}), which the rule doesn't name"])
    push_signed(t, registry, "1.2.0", Sigstore(t, "other"), "release@team.example")
    t.refused("upgrade", "shop", "-p", registry("team/shop:1.2.0"), says=["its log entry is of a log that the trust root doesn't have"])
    t.run("uninstall", "shop", "--yes")


@test
def keyless_signatures_are_verified_and_remembered(t):
    registry, sigstore = Registry(t), Sigstore(t)
    keys(t, "scratch")
    reference = registry("team/shop:1.0.0")
    push_signed(t, registry, "1.0.0", sigstore, "release@team.example")
    contains(t.run("verify", reference, code=1).out, "the trust policy has no spec.trustRoot for those")
    told = ["--identity", "release@team.example", "--issuer", ISSUER]
    contains(t.run("verify", reference, *told, code=2).err, "--identity needs a trust root")
    outcome = t.run("verify", reference, *told, "--trust-root", sigstore.root)
    contains(outcome.out, "release@team.example", ISSUER, "valid")
    contains(t.run("verify", reference, "--identity", "other@team.example", "--issuer", ISSUER, "--trust-root", sigstore.root, code=1).err,
             f"is not signed by other@team.example ({ISSUER})")
    # Without a trust root of its own no other verb could tell the identity again, so it isn't remembered.
    t.run("generate", "shop", "-p", reference)
    policy(t, trustRoot=sigstore.root)
    found = t.run("verify", reference, "-o", "json").json
    equal([found["trusted"], *[(each["identity"], each["issuer"], each["keys"]) for each in found["signatures"]]],
          [True, ("release@team.example", ISSUER, [])])
    # It is known by that identity now.
    push_signed(t, registry, "1.1.0", sigstore, "mallory@team.example")
    contains(t.run("generate", "shop", "-p", registry("team/shop:1.1.0"), code=1).err,
             f"is signed by mallory@team.example ({ISSUER})", f"is signed by release@team.example ({ISSUER})")
    push_signed(t, registry, "1.2.0", sigstore, "release@team.example")
    check("kind" in t.run("generate", "shop", "-p", registry("team/shop:1.2.0")).out)


@test
def keyless_signatures_of_a_workflow_are_remembered_for_all_its_tags(t):
    """The identity of a workflow holds the tag that it ran at, so that each version has another one."""
    registry, sigstore = Registry(t), Sigstore(t)
    keys(t, "scratch")
    workflow = "https://ci.example/team/shop/.ci/release.yml@refs/tags/"
    for version in ("1.0.0", "1.1.0"):
        push_signed(t, registry, version, sigstore, f"{workflow}v{version}")
    push_signed(t, registry, "1.2.0", sigstore, "https://ci.example/mallory/shop/.ci/release.yml@refs/tags/v1.2.0")
    policy(t, trustRoot=sigstore.root)
    # As it is, without a pattern: the next version says how to remember all tags.
    t.run("verify", registry("team/shop:1.0.0"))
    t.refused("generate", "shop", "-p", registry("team/shop:1.1.0"),
              says=["it is the same workflow at another tag", f"--identity '{workflow}*' --issuer {ISSUER} --accept-changed"])
    t.run("verify", registry("team/shop:1.0.0"), "--identity", f"{workflow}*", "--issuer", ISSUER, "--accept-changed")
    t.run("generate", "shop", "-p", registry("team/shop:1.1.0"))
    t.refused("generate", "shop", "-p", registry("team/shop:1.2.0"), says=[f"before is signed by {workflow}* ({ISSUER})"])
