"""The services of a Sigstore on this machine: an issuer of identity tokens, an authority of certificates (Fulcio), transparency logs
(Rekor, version 1 and 2) and a timestamp authority, made with openssl. A test may make each of them lie."""
import base64
import hashlib
import json
import subprocess
import threading
import time
import urllib.parse

from quiet_server import QuietHandler, QuietServer

ISSUER = "https://accounts.example"
GITHUB_SECRET = "a secret of the job"


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *map(str, arguments)], input=data, capture_output=True, check=True).stdout


def encoded(data):
    return base64.b64encode(data).decode()


def url_text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# DER (X.690), as much of it as a certificate needs.

def der(tag, *parts):
    content = b"".join(parts)
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([128 + (size.bit_length() + 7) // 8]) + size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag]) + length + content


def sequence(*parts):
    return der(0x30, *parts)


def oid(text):
    first, second, *rest = map(int, text.split("."))
    content = bytes([first * 40 + second])
    for number in rest:
        digits = [number & 0x7f]
        while number := number >> 7:
            digits.append(number & 0x7f | 0x80)
        content += bytes(reversed(digits))
    return der(0x06, content)


def extension(name, value, critical=False):
    return sequence(oid(name), *([der(0x01, b"\xff")] if critical else []), der(0x04, value))


def der_time(seconds):
    return der(0x17, time.strftime("%y%m%d%H%M%SZ", time.gmtime(seconds)).encode())


ECDSA = sequence(oid("1.2.840.10045.4.3.2"))


class Tree:
    """A Merkle tree (RFC 6962, section 2.1)."""

    def __init__(self):
        self.leaves = []

    def add(self, leaf):
        self.leaves.append(hashlib.sha256(b"\0" + leaf).digest())
        return len(self.leaves) - 1

    def root(self, leaves=None):
        leaves = self.leaves if leaves is None else leaves
        if len(leaves) == 1:
            return leaves[0]
        split = 1 << (len(leaves) - 1).bit_length() - 1
        return hashlib.sha256(b"\1" + self.root(leaves[:split]) + self.root(leaves[split:])).digest()

    def path(self, index, leaves=None):
        leaves = self.leaves if leaves is None else leaves
        if len(leaves) == 1:
            return []
        split = 1 << (len(leaves) - 1).bit_length() - 1
        if index < split:
            return [*self.path(index, leaves[:split]), self.root(leaves[split:])]
        return [*self.path(index - split, leaves[split:]), self.root(leaves[:split])]


class Refusal(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Services:
    """`change` maps "fulcio", "rekor1", "rekor2", "tsa" or "github" to a function that makes another answer of the one which would be
    given: (status, headers, body). `asked` has their names in order."""

    def __init__(self, t, name="services", rekor=1, timestamps=True, tls=None):
        self.dir = t.dir / name
        self.dir.mkdir()
        self.lock, self.change, self.asked, self.bodies = threading.Lock(), {}, [], []
        self.tree, self.tree2, self.entries = Tree(), Tree(), {}
        self.confirmed, self.challenge = False, ""
        for leaf in (b"a", b"b", b"c"):
            self.tree.add(leaf), self.tree2.add(leaf)
        for key in ("ca", "ct", "log", "tsa", "token"):
            openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.dir / f"{key}.key")
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.dir / "log2.key")
        self.authority(), self.timestamp_authority()
        # Each at a port of its own: clients differ in what they make of a path.
        self.urls = {service: self.listen(t, service, tls) for service in ("fulcio", "rekor1", "rekor2", "tsa", "github", "login")}
        self.origin = "127.0.0.1"
        self.log_id = hashlib.sha256(self.public("log")).digest()
        self.log2_id = hashlib.sha256(self.origin.encode() + b"\n\1" + self.public("log2")[-32:]).digest()
        self.root = self.file("trusted_root.json", json.dumps(self.trusted_root()))
        self.config = self.signing_config(rekor, timestamps)

    def listen(self, t, name, tls):
        services = self

        class Handler(QuietHandler):
            def handle_any(self):
                body = self.body() or b""
                with services.lock:
                    status, headers, answer = services.serve(name, self.command, self.path, self.headers, body)
                self.send_response(status)
                for key, value in {"Content-Length": str(len(answer)), **headers}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(answer)

        web = QuietServer(Handler, tls)
        t.cleanup(web.stop)
        return f"{'https' if tls else 'http'}://127.0.0.1:{web.port}"

    def file(self, name, text):
        (self.dir / name).write_text(text)
        return str(self.dir / name)

    def public(self, key):
        return openssl("pkey", "-in", self.dir / f"{key}.key", "-pubout", "-outform", "DER")

    def sign(self, key, message):
        if key != "log2":
            return openssl("dgst", "-sha256", "-sign", self.dir / f"{key}.key", data=message)
        (self.dir / "message").write_bytes(message)
        return openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.dir / f"{key}.key", "-in", self.dir / "message")

    # -- the files of those who sign and verify

    def authority(self):
        self.file("ca.cnf", "[req]\ndistinguished_name=n\nx509_extensions=e\nprompt=no\n[n]\nCN=authority\n[e]\n"
                            "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\n")
        openssl("req", "-new", "-x509", "-key", self.dir / "ca.key", "-days", 2, "-config", self.dir / "ca.cnf", "-out", self.dir / "ca.crt")
        self.name = sequence(der(0x31, sequence(oid("2.5.4.3"), der(0x0c, b"authority"))))

    def timestamp_authority(self):
        self.file("tsa.cnf", "[req]\ndistinguished_name=n\nprompt=no\n[n]\nCN=stamper\n[e]\nkeyUsage=critical,digitalSignature\n"
                             "extendedKeyUsage=critical,timeStamping\n[tsa]\ndefault_tsa=t\n[t]\n"
                             f"serial={self.dir}/serial\ndigests=sha256\ndefault_policy=1.2.3.4.1\nsigner_digest=sha256\n"
                             "ess_cert_id_alg=sha256\n")
        openssl("req", "-new", "-key", self.dir / "tsa.key", "-config", self.dir / "tsa.cnf", "-out", self.dir / "tsa.csr")
        openssl("x509", "-req", "-in", self.dir / "tsa.csr", "-CA", self.dir / "ca.crt", "-CAkey", self.dir / "ca.key", "-set_serial", 3,
                "-days", 2, "-extfile", self.dir / "tsa.cnf", "-extensions", "e", "-out", self.dir / "tsa.crt")

    def certificate(self, name):
        return {"rawBytes": encoded(openssl("x509", "-in", self.dir / f"{name}.crt", "-outform", "DER"))}

    def trusted_root(self):
        since = {"start": "2020-01-01T00:00:00Z"}

        def log(url, key, log_id, details):
            return {"baseUrl": url, "hashAlgorithm": "SHA2_256", "logId": {"keyId": encoded(log_id)},
                    "publicKey": {"rawBytes": encoded(self.public(key)), "keyDetails": details, "validFor": since}}
        p256 = "PKIX_ECDSA_P256_SHA_256"
        subject = {"organization": "sigstore.example", "commonName": "authority"}
        return {"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
                "tlogs": [log(self.urls["rekor1"], "log", self.log_id, p256),
                          log(self.urls["rekor2"], "log2", self.log2_id, "PKIX_ED25519")],
                "ctlogs": [log("https://ct.example", "ct", hashlib.sha256(self.public("ct")).digest(), p256)],
                "certificateAuthorities": [{"subject": subject, "uri": self.urls["fulcio"], "validFor": since,
                                            "certChain": {"certificates": [self.certificate("ca")]}}],
                "timestampAuthorities": [{"subject": subject, "uri": self.urls["tsa"], "validFor": since,
                                          "certChain": {"certificates": [self.certificate("tsa"), self.certificate("ca")]}}]}

    def signing_config(self, rekor=1, timestamps=True, **changes):
        def service(url, version=1):
            return [{"url": url, "majorApiVersion": version, "operator": "test",
                     "validFor": {"start": "2020-01-01T00:00:00Z"}}]
        return self.file("signing_config.json", json.dumps({
            "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json", "caUrls": service(self.urls["fulcio"]),
            "oidcUrls": service(self.urls["login"]),
            "rekorTlogUrls": service(self.urls[f"rekor{rekor}"], rekor), "rekorTlogConfig": {"selector": "ANY"},
            "tsaUrls": service(self.urls["tsa"] + "/api/v1/timestamp") if timestamps else [], "tsaConfig": {"selector": "ANY"}, **changes}))

    def token(self, subject="release@team.example", **claims):
        """An identity token of `subject`, as text."""
        now = int(time.time())
        named = {"email": subject, "email_verified": True} if "@" in subject else {}
        payload = {"iss": ISSUER, "aud": "sigstore", "sub": subject, "iat": now, "exp": now + 300, **named, **claims}
        message = ".".join(url_text(json.dumps(part).encode()) for part in ({"alg": "ES256", "typ": "JWT"}, payload))
        return f"{message}.{url_text(self.sign('token', message.encode()))}"

    # -- what is asked of them

    def serve(self, name, method, path, headers, body):
        self.asked.append(name)
        self.bodies.append(body)
        try:
            answer = {"fulcio": self.fulcio, "rekor1": self.rekor1, "rekor2": self.rekor2, "tsa": self.tsa,
                      "github": self.github, "login": self.login}[name](method, path, headers, body)
        except Refusal as refusal:
            answer = (refusal.status, {"Content-Type": "application/json"},
                      json.dumps({"code": refusal.status, "message": str(refusal), "details": []}).encode())
        return self.change[name](*answer) if name in self.change else answer

    def login(self, method, path, headers, body):
        """Logs somebody in with a code (RFC 8628), once `confirmed` is set."""
        here = self.urls["login"]
        form = {key: values[0] for key, values in urllib.parse.parse_qs(body.decode()).items()}
        if path == "/.well-known/openid-configuration":
            answer = {"issuer": here, "token_endpoint": f"{here}/token", "device_authorization_endpoint": f"{here}/code"}
        elif path == "/code":
            self.challenge = form["code_challenge"]
            answer = {"device_code": "hidden-device-code", "user_code": "ABCD-EFGH", "verification_uri": f"{here}/device",
                      "expires_in": 300, "interval": 1}
        elif not self.confirmed:
            return 400, {"Content-Type": "application/json"}, json.dumps({"error": "authorization_pending"}).encode()
        else:
            shown = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
            if shown != self.challenge or form["device_code"] != "hidden-device-code":
                raise Refusal(400, "the code is another program's")
            answer = {"access_token": "hidden", "token_type": "Bearer", "id_token": self.token()}
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()

    def claims(self, token):
        message, _, signature = token.rpartition(".")
        (self.dir / "token.sig").write_bytes(base64.urlsafe_b64decode(signature + "=="))
        (self.dir / "token.pub").write_bytes(openssl("pkey", "-in", self.dir / "token.key", "-pubout"))
        done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.dir / "token.pub", "-signature", self.dir / "token.sig"],
                              input=message.encode(), capture_output=True)
        claims = json.loads(base64.urlsafe_b64decode(message.split(".")[1] + "=="))
        if done.returncode != 0 or claims["iss"] != ISSUER or claims["aud"] != "sigstore" or claims["exp"] < time.time():
            raise Refusal(400, "There was an error processing the identity token")
        return claims

    def key_of(self, request, claims):
        """SubjectPublicKeyInfo of whoever proves to have the key."""
        if request.get("certificateSigningRequest"):
            (self.dir / "asked.csr").write_bytes(base64.b64decode(request["certificateSigningRequest"]))
            openssl("req", "-in", self.dir / "asked.csr", "-verify", "-noout")
            pem = openssl("req", "-in", self.dir / "asked.csr", "-pubkey", "-noout")
        else:
            asked = request["publicKeyRequest"]
            pem = asked["publicKey"]["content"].encode()
            (self.dir / "asked.pub").write_bytes(pem)
            (self.dir / "asked.sig").write_bytes(base64.b64decode(asked["proofOfPossession"]))
            openssl("dgst", "-sha256", "-verify", self.dir / "asked.pub", "-signature", self.dir / "asked.sig",
                    data=claims.get("email", claims["sub"]).encode())
        return openssl("pkey", "-pubin", "-outform", "DER", data=pem)

    def issue(self, key, claims, promised=True, begins=0):
        """A certificate for ten minutes, DER."""
        now = int(time.time()) + begins
        subject = der(0x81, claims["email"].encode()) if "email" in claims else der(0x86, claims["sub"].encode())
        extensions = [extension("2.5.29.15", der(0x03, b"\x07\x80"), True),
                      extension("2.5.29.37", sequence(oid("1.3.6.1.5.5.7.3.3"))),
                      extension("2.5.29.17", sequence(subject), True),
                      extension("1.3.6.1.4.1.57264.1.1", ISSUER.encode()),
                      extension("1.3.6.1.4.1.57264.1.8", der(0x0c, ISSUER.encode()))]

        def body():
            return sequence(der(0xa0, der(0x02, b"\2")), der(0x02, b"\x11" + hashlib.sha256(key).digest()[:15]), ECDSA, self.name,
                            sequence(der_time(now), der_time(now + 600)), sequence(), key, der(0xa3, sequence(*extensions)))
        if promised:
            milliseconds = (now * 1000).to_bytes(8, "big")
            issuer = hashlib.sha256(self.public("ca")).digest()
            message = b"\0\0" + milliseconds + b"\0\1" + issuer + len(body()).to_bytes(3, "big") + body() + b"\0\0"
            signature = self.sign("ct", message)
            promise = b"\0" + hashlib.sha256(self.public("ct")).digest() + milliseconds + b"\0\0\4\3" + len(signature).to_bytes(2, "big") + signature
            promises = len(promise).to_bytes(2, "big") + promise
            extensions.append(extension("1.3.6.1.4.1.11129.2.4.2", der(0x04, len(promises).to_bytes(2, "big") + promises)))
        return sequence(body(), ECDSA, der(0x03, b"\0" + self.sign("ca", body())))

    def fulcio(self, method, path, headers, body):
        request = json.loads(body)
        token = request.get("credentials", {}).get("oidcIdentityToken") or headers.get("Authorization", "").removeprefix("Bearer ")
        claims = self.claims(token)
        certificate = openssl("x509", "-inform", "DER", data=self.issue(self.key_of(request, claims), claims)).decode()
        chain = {"chain": {"certificates": [certificate, (self.dir / "ca.crt").read_text()]}}
        return 200, {"Content-Type": "application/json"}, json.dumps({"signedCertificateEmbeddedSct": chain}).encode()

    def note(self, tree, key, key_id, origin):
        text = f"{origin}\n{len(tree.leaves)}\n{encoded(tree.root())}\n"
        name = origin.split(" ")[0]  # Rekor's own name; the origin has the number of its tree, too
        return f"{text}\n— {name} {encoded(key_id[:4] + self.sign(key, text.encode()))}\n"

    def rekor1(self, method, path, headers, body):
        if method == "GET":
            return 200, {}, json.dumps(self.entries[path.split("/")[-1]]).encode()
        asked = json.loads(body)
        if asked["kind"] == "dsse":
            content = asked["spec"]["proposedContent"]
            envelope = json.loads(content["envelope"])
            payload = base64.b64decode(envelope["payload"])
            spec = {"envelopeHash": {"algorithm": "sha256", "value": hashlib.sha256(content["envelope"].encode()).hexdigest()},
                    "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
                    "signatures": [{"signature": envelope["signatures"][0]["sig"], "verifier": content["verifiers"][0]}]}
        else:
            spec = asked["spec"]
        logged = json.dumps({"apiVersion": "0.0.1", "kind": asked["kind"], "spec": spec}, separators=(",", ":"), sort_keys=True).encode()
        index = self.tree.add(logged)
        entry = {"body": encoded(logged), "integratedTime": int(time.time()), "logID": self.log_id.hex(), "logIndex": 1000 + index}
        promise = self.sign("log", json.dumps(entry, separators=(",", ":"), sort_keys=True).encode())
        proof = {"checkpoint": self.note(self.tree, "log", self.log_id, "log.example - 7"), "hashes": [each.hex() for each in self.tree.path(index)],
                 "logIndex": index, "rootHash": self.tree.root().hex(), "treeSize": len(self.tree.leaves)}
        uuid = hashlib.sha256(b"\0" + logged).hexdigest()
        self.entries[uuid] = {uuid: {**entry, "verification": {"inclusionProof": proof, "signedEntryTimestamp": encoded(promise)}}}
        return 201, {"Content-Type": "application/json", "ETag": uuid, "Location": f"/api/v1/log/entries/{uuid}"}, json.dumps(self.entries[uuid]).encode()

    def rekor2(self, method, path, headers, body):
        asked = json.loads(body).get("hashedRekordRequestV002")
        if not asked:
            raise Refusal(400, "invalid type, must be hashedrekord")
        logged = json.dumps({"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": {"hashedRekordV002": {
            "data": {"algorithm": "SHA2_256", "digest": asked["digest"]}, "signature": asked["signature"]}}},
            separators=(",", ":"), sort_keys=True).encode()
        index = self.tree2.add(logged)
        proof = {"logIndex": str(index), "rootHash": encoded(self.tree2.root()), "treeSize": str(len(self.tree2.leaves)),
                 "hashes": [encoded(each) for each in self.tree2.path(index)],
                 "checkpoint": {"envelope": self.note(self.tree2, "log2", self.log2_id, self.origin)}}
        return 201, {"Content-Type": "application/json"}, json.dumps({
            "logIndex": str(index), "logId": {"keyId": encoded(self.log2_id)}, "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"},
            "integratedTime": "0", "inclusionPromise": None, "inclusionProof": proof, "canonicalizedBody": encoded(logged)}).encode()

    def tsa(self, method, path, headers, body):
        (self.dir / "asked.tsq").write_bytes(body)
        done = subprocess.run(["openssl", "ts", "-reply", "-config", "tsa.cnf", "-section", "t", "-queryfile", "asked.tsq", "-signer", "tsa.crt", "-inkey", "tsa.key"],
                              cwd=self.dir, capture_output=True)
        return 201, {"Content-Type": "application/timestamp-reply"}, done.stdout

    def github(self, method, path, headers, body):
        if headers.get("Authorization") != f"Bearer {GITHUB_SECRET}":
            raise Refusal(401, "not of this job")
        audience = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)["audience"][0]
        return 200, {"Content-Type": "application/json"}, json.dumps({
            "value": self.token("https://ci.example/team/shop/.github/workflows/release.yml@refs/tags/1", aud=audience)}).encode()
