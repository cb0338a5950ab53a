#!/usr/bin/env python3
"""Signatures of mistctl and of the real cosign, each verified by the other: check.py MISTCTL. Ends with 77 where cosign can't be
built."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from registries import Registry  # noqa: E402
from sigstore import ISSUER, Services  # noqa: E402

PASSWORD = "geheim"
OFFLINE = ("--tlog-upload=false", "--use-signing-config=false")
LEGACY = (*OFFLINE, "--new-bundle-format=false")


class Place:
    """A directory with a registry and the programs; what tests/e2e/registries.py wants of a test."""

    def __init__(self, mistctl, cosign):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mist-cosign-"))
        self.mistctl, self.cosign_program, self._cleanups = pathlib.Path(mistctl).resolve(), cosign, []
        self.env = {"PATH": "/usr/bin:/bin", "HOME": str(self.dir), "DOCKER_CONFIG": str(self.dir), "COSIGN_PASSWORD": PASSWORD,
                    "MIST_HOME_LOCATION": str(self.dir / "home")}
        self.registry = Registry(self)

    def cleanup(self, action):
        self._cleanups.append(action)

    def file(self, path, content):
        (self.dir / path).write_text(content)
        return str(self.dir / path)

    def close(self):
        for action in reversed(self._cleanups):
            action()
        shutil.rmtree(self.dir, ignore_errors=True)

    def command(self, program, *arguments, ok=True, says="", **env):
        done = subprocess.run([program, *map(str, arguments)], cwd=self.dir, env={**self.env, **env}, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        told = f"$ {' '.join(map(str, [pathlib.Path(program).name, *arguments]))}\n{done.stdout}{done.stderr}"
        if ok != (done.returncode == 0):
            raise AssertionError(f"it should {'succeed' if ok else 'fail'}:\n{told}")
        if says not in done.stdout + done.stderr:
            raise AssertionError(f"{says!r} is missing:\n{told}")
        return done.stdout

    def mist(self, *arguments, **options):
        return self.command(self.mistctl, *arguments, **options)

    def cosign(self, *arguments, **options):
        return self.command(self.cosign_program, *arguments, **options)

    def openssl(self, *arguments):
        self.command("/usr/bin/openssl", *arguments)

    def fresh_home(self):
        """Another user, who remembers nothing."""
        shutil.rmtree(self.dir / "home", ignore_errors=True)

    def remembers(self):
        """Every verb remembers the keys of what it reads."""
        (self.dir / "home").mkdir()
        self.file("home/trust.yaml", "apiVersion: mistletoe.dev/v1alpha1\nkind: TrustPolicy\nspec: {default: remember}\n")

    def push(self, name, *flags):
        """A package of its own: (the reference with its digest for mistctl, for cosign)."""
        (self.dir / "package").mkdir(exist_ok=True)
        self.file("package/map.yaml", json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}))
        pushed = json.loads(self.mist("push", "./package", self.registry(f"team/{name}:1.0.0"), "-o", "json", *flags))
        return f"{self.registry(f'team/{name}')}@{pushed['digest']}", f"{self.registry.host}/team/{name}@{pushed['digest']}"

    def verified(self, reference, *flags):
        return json.loads(self.mist("verify", reference, "-o", "json", *flags))


def cosign_verifies(place, image, key, **options):
    place.cosign("verify", "--key", key, "--insecure-ignore-tlog=true", image, **options)


def mistctl_signs_with_each_kind_of_key(place):
    for name, key, public in KEYS:
        reference, image = place.push(f"signed-{name}")
        cosign_verifies(place, image, public, ok=False)
        place.mist("sign", reference, "--key", key)
        cosign_verifies(place, image, public)
        other = "cosign.pub" if public != "cosign.pub" else "ec.pub"
        cosign_verifies(place, image, other, ok=False)
        place.mist("verify", reference, "--key", public)
        place.mist("verify", reference, "--key", other, ok=False, says=f"is not signed by {other}")


def push_signs(place):
    _, image = place.push("pushed", "--sign", "cosign.key")
    cosign_verifies(place, image, "cosign.pub")


def cosign_signs_and_mistctl_verifies(place):
    for form, flags in (("legacy", LEGACY), ("bundle", OFFLINE)):
        reference, image = place.push(f"by-cosign-{form}")
        place.mist("verify", reference, "--key", "cosign.pub", ok=False, says="it has no signature")
        place.cosign("sign", "--yes", "--key", "cosign.key", *flags, image)
        place.mist("verify", reference, "--key", "cosign.pub")
        place.mist("verify", reference, "--key", "other.pub", ok=False)
        signatures = place.verified(reference, "--key", "cosign.pub")["signatures"]
        assert [each["form"] for each in signatures] == ["cosign" if form == "legacy" else "bundle"], signatures


def annotations_of_cosign_tell_the_time(place):
    reference, image = place.push("timed")
    place.cosign("sign", "--yes", "--key", "cosign.key", *LEGACY, "-a", f"timestamp={int(time.time()) - 3600}", image)
    assert place.verified(reference, "--key", "cosign.pub")["signatures"][0]["signedAt"], "no time"


def two_signers_in_either_order(place):
    for name, first, second in (("mistctl-first", "mistctl", "cosign"), ("cosign-first", "cosign", "mistctl")):
        reference, image = place.push(name)
        for signer in (first, second):
            if signer == "mistctl":
                place.mist("sign", reference, "--key", "ec.key")
            else:
                place.cosign("sign", "--yes", "--key", "cosign.key", *LEGACY, image)
        cosign_verifies(place, image, "cosign.pub")
        cosign_verifies(place, image, "ec.pub")
        place.mist("verify", reference, "--key", "cosign.pub", "--key", "ec.pub")


def the_same_signer_is_known_without_a_key(place):
    """Of cosign's legacy form two keys are possible, until a second version is there; of a bundle one."""
    for form, flags, first_count in (("legacy", LEGACY, 2), ("bundle", OFFLINE, 1)):
        place.fresh_home()
        place.remembers()
        name = f"remembered-{form}"
        (place.dir / "package").mkdir(exist_ok=True)
        counts = []
        for version in ("1.0.0", "1.1.0", "1.2.0"):
            place.file("package/map.yaml", json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": version}}))
            pushed = json.loads(place.mist("push", "./package", place.registry(f"team/{name}:{version}"), "-o", "json"))
            image = f"{place.registry.host}/team/{name}@{pushed['digest']}"
            key = "cosign.key" if version != "1.2.0" else "ec-cosign.key"
            place.cosign("sign", "--yes", "--key", key, *flags, image)
            if version != "1.2.0":
                place.mist("generate", "x", "-p", place.registry(f"team/{name}:{version}"))
                records = list((place.dir / "home/state/signatures/packages").iterdir())
                counts.append(len(json.loads(records[0].read_text())["keys"]))
            else:
                place.mist("generate", "x", "-p", place.registry(f"team/{name}:{version}"), ok=False,
                           says="and what was used of it before is signed by key")
        assert counts == [first_count, 1], counts


def a_moved_signature_is_refused_by_both(place):
    signed, _ = place.push("moved-from")
    place.mist("sign", signed, "--key", "ec.key")
    (place.dir / "package").mkdir(exist_ok=True)
    place.file("package/map.yaml", json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "evil"}}))
    pushed = json.loads(place.mist("push", "./package", place.registry("team/moved-from:2.0.0"), "-o", "json"))
    tag = f"sha256-{signed.split(':')[-1]}.sig"
    place.mist("registry", "copy", place.registry(f"team/moved-from:{tag}"),
               place.registry(f"team/moved-from:sha256-{pushed['digest'].split(':')[1]}.sig"))
    image = f"{place.registry.host}/team/moved-from@{pushed['digest']}"
    cosign_verifies(place, image, "ec.pub", ok=False)
    place.mist("verify", f"{place.registry('team/moved-from')}@{pushed['digest']}", "--key", "ec.pub", ok=False,
               says="it is for another manifest")


def an_attestation_is_no_signature(place):
    reference, image = place.push("attested")
    predicate = place.file("predicate.json", "{}")
    place.cosign("attest", "--yes", "--key", "cosign.key", *OFFLINE, "--predicate", predicate, "--type",
                 "https://example.test/review/v1", image)
    place.mist("verify", reference, "--key", "cosign.pub", ok=False, says="it is no signature but an attestation")


SUBJECT = "release@team.example"


def identity_verified(place, reference, image, services, subject=SUBJECT, **options):
    """By both programs, under the trust root of those services."""
    place.cosign("verify", "--trusted-root", services.root, "--certificate-identity", subject, "--certificate-oidc-issuer", ISSUER, image,
                 **options)
    place.mist("verify", reference, "--trust-root", services.root, "--identity", subject, "--issuer", ISSUER, **options)


def both_sign_with_an_identity(place):
    """With services of the test's own, of either version of Rekor."""
    for signer in ("mistctl", "cosign"):
        for rekor in (1, 2):
            services = Services(place, f"{signer}-{rekor}", rekor)
            reference, image = place.push(f"identity-{signer}-{rekor}")
            identity_verified(place, reference, image, services, ok=False)
            files = ("--signing-config", services.config, "--trusted-root" if signer == "cosign" else "--trust-root", services.root)
            if signer == "mistctl":
                place.mist("sign", reference, "--keyless", *files, "--identity-token", place.file("token.txt", services.token()))
            else:
                place.cosign("sign", "--yes", *files, "--identity-token", place.file("token.txt", services.token()), image)
            identity_verified(place, reference, image, services)
            identity_verified(place, reference, image, services, "mallory@team.example", ok=False)
            identity_verified(place, reference, image, Services(place, f"{signer}-{rekor}-other"), ok=False)


def provenance_is_signed_by_an_identity(place):
    services = Services(place, "provenance")
    token = place.file("token.txt", services.token())
    _, image = place.push("provenance", "--provenance", "--keyless", "--signing-config", services.config, "--trust-root", services.root,
                          "--identity-token", token)
    place.cosign("verify-attestation", "--type", "slsaprovenance1", "--trusted-root", services.root, "--certificate-identity", SUBJECT,
                 "--certificate-oidc-issuer", ISSUER, image)


CASES = (mistctl_signs_with_each_kind_of_key, push_signs, cosign_signs_and_mistctl_verifies, annotations_of_cosign_tell_the_time,
         two_signers_in_either_order, the_same_signer_is_known_without_a_key, a_moved_signature_is_refused_by_both,
         an_attestation_is_no_signature, both_sign_with_an_identity, provenance_is_signed_by_an_identity)
KEYS = (("cosign", "cosign.key", "cosign.pub"), ("ec", "ec.key", "ec.pub"), ("ed25519", "ed.key", "ed.pub"),
        ("encrypted", "encrypted.key", "ec.pub"), ("imported", "ec-cosign.key", "ec-cosign.pub"))


def make_keys(place):
    place.cosign("generate-key-pair")
    place.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "ec.key")
    place.openssl("ec", "-in", "ec.key", "-pubout", "-out", "ec.pub")
    place.openssl("pkcs8", "-topk8", "-in", "ec.key", "-out", "encrypted.key", "-passout", f"pass:{PASSWORD}")
    place.openssl("genpkey", "-algorithm", "ed25519", "-out", "ed.key")
    place.openssl("pkey", "-in", "ed.key", "-pubout", "-out", "ed.pub")
    place.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "other.key")
    place.openssl("ec", "-in", "other.key", "-pubout", "-out", "other.pub")
    place.openssl("pkcs8", "-topk8", "-nocrypt", "-in", "other.key", "-out", "other-pkcs8.key")
    place.cosign("import-key-pair", "--key", "other-pkcs8.key", "--output-key-prefix", "ec-cosign")


def main():
    built = subprocess.run([ROOT / "tests/registries/build.sh", "cosign"], capture_output=True, text=True)
    if built.returncode != 0:
        sys.stderr.write(built.stderr)
        print(f"cosign can't be built here: {built.stderr.strip().splitlines()[-1] if built.stderr.strip() else 'no reason given'}")
        return 77
    place = Place(sys.argv[1], built.stdout.strip())
    failed = 0
    try:
        make_keys(place)
        for case in CASES:
            if sys.argv[2:] and case.__name__ not in sys.argv[2:]:
                continue
            began = time.monotonic()
            place.fresh_home()
            try:
                case(place)
                print(f"ok     {case.__name__} ({time.monotonic() - began:.1f} s)")
            except Exception as problem:  # whatever it is: the other cases run, too
                failed += 1
                print(f"FAILED {case.__name__}\n{type(problem).__name__}: {problem}")
    finally:
        place.close()
    print(f"{len(CASES) - failed} of {len(CASES)} passed" if not sys.argv[2:] else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
