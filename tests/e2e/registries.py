"""OCI registries for tests: the CNCF distribution registry as a process, a token server for it, and one that lies."""
import base64
import hashlib
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import time
import urllib.parse

from harness import check
from quiet_server import QuietHandler, QuietServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER, PASSWORD = "alice", "geheim-42"
# bcrypt of PASSWORD: the only hash that the registry reads.
HTPASSWD = "alice:$2y$05$abcdefghijklmnopqrstuuAWILkrmtMM35P69MsXzcWPLRcY987j2\n"
WASM_CONFIG = "application/vnd.wasm.config.v0+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Authority:
    """A certificate authority of the test's own; `file` is its certificate."""

    def __init__(self, t, name="authority"):
        self.directory, self.name = t.dir / name, name
        self.directory.mkdir()
        self.file = str(self.directory / "ca.crt")
        self._openssl("req", "-x509", *NEW_KEY, "-days", "2", "-subj", f"/CN={name}", "-keyout", "ca.key", "-out", "ca.crt")

    def _openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.directory, capture_output=True, text=True)
        check(done.returncode == 0, done.stderr)

    def issue(self, name, *extensions):
        """(certificate, key): files."""
        self._openssl("req", *NEW_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (self.directory / f"{name}.ext").write_text("".join(line + "\n" for line in extensions))
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                      "-extfile", f"{name}.ext", "-out", f"{name}.crt")
        return str(self.directory / f"{name}.crt"), str(self.directory / f"{name}.key")

    def server(self, name="server"):
        return self.issue(name, "subjectAltName=IP:127.0.0.1,DNS:localhost", "extendedKeyUsage=serverAuth")

    def client(self, name="robot"):
        return self.issue(name, "extendedKeyUsage=clientAuth")

    def context(self, asks=ssl.CERT_NONE):
        """Of a server here; `asks`: for a client certificate of this authority."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*self.server("web"))
        tls.load_verify_locations(self.file)
        tls.verify_mode = asks
        return tls


NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Registry:
    """A registry that ends with the test. `host` is what references name; requests() reads its access log. `tls`: with server.crt
    and server.key of the test's directory, or with what Authority.server() gave; `client_ca`: a file, demands client certificates."""

    def __init__(self, t, auth=None, tls=False, client_ca=None):
        built = subprocess.run([ROOT / "tests/registries/build.sh", "distribution"], capture_output=True, text=True)
        check(built.returncode == 0, built.stderr)
        config = {"version": 0.1, "log": {"level": "info", "formatter": "json"},
                  "storage": {"inmemory": {}, "delete": {"enabled": True}},
                  "http": {"addr": "127.0.0.1:0", "secret": "x"}}
        if auth:
            config["auth"] = auth
        if tls:
            certificate, key = tls if isinstance(tls, tuple) else (str(t.dir / "server.crt"), str(t.dir / "server.key"))
            config["http"]["tls"] = {"certificate": certificate, "key": key, **({"clientcas": [client_ca]} if client_ca else {})}
        number = sum(1 for _ in t.dir.glob("registry-*.log"))
        self.log = t.dir / f"registry-{number}.log"
        file = t.file(f"registry-{number}.json", json.dumps(config))
        with self.log.open("wb") as log:
            process = subprocess.Popen([built.stdout.strip(), "serve", file], stdout=log, stderr=log,
                                       env={"PATH": "/usr/bin:/bin", "OTEL_TRACES_EXPORTER": "none", "HOME": str(t.dir)})

        def stop():
            process.kill()
            process.wait()
        self.stop = stop
        t.cleanup(stop)
        end = time.monotonic() + 30
        while not (found := re.search(r"listening on 127\.0\.0\.1:(\d+)", self.log.read_text())):
            check(process.poll() is None and time.monotonic() < end, self.log.read_text())
            time.sleep(0.02)
        self.port = int(found[1])
        self.host = f"localhost:{self.port}"

    def __call__(self, path):
        return f"oci://{self.host}/{path}"

    def mark(self):
        return self.log.stat().st_size

    def requests(self, mark=0):
        """["GET /v2/…", …], without what a query holds; refused ones too."""
        lines = self.log.read_text()[mark:].splitlines()
        # Combined log format, on a line of its own.
        return [f"{found[1]} {found[2].split('?')[0]}" for line in lines
                if (found := re.search(r'"(GET|HEAD|PUT|POST|PATCH|DELETE) (\S+) HTTP/', line))]


class RelayedRegistry:
    """In front of a registry, whose addresses lead back here. Calls `before(method, path)` before it passes a request on; a (status, body)
    that it returns is the answer instead."""

    def __init__(self, t, registry, before):
        class Handler(QuietHandler):
            def handle_any(self):
                instead = before(self.command, self.path)
                if instead:
                    self.body()
                    self.send_response(instead[0])
                    self.send_header("Content-Length", str(len(instead[1])))
                    self.end_headers()
                    self.wfile.write(instead[1])
                    return
                connection = http.client.HTTPConnection("127.0.0.1", registry.port)
                connection.request(self.command, self.path, self.body(), dict(self.headers))  # Host too
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name not in ("Connection", "Transfer-Encoding", "Content-Length"):
                        self.send_header(name, value)
                self.send_header("Content-Length", answer.getheader("Content-Length") or str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_HEAD = QuietHandler.dispatch
        server = QuietServer(Handler)
        t.cleanup(server.stop)
        self.host = f"localhost:{server.port}"

    def __call__(self, path):
        return f"oci://{self.host}/{path}"


def basic(t):
    return {"htpasswd": {"realm": "test", "path": t.file("htpasswd", HTPASSWD)}}


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenServer:
    """The token endpoint of the CNCF distribution specification: Basic in, a signed JWT out. `asked`: the scopes; `presented`:
    the client certificates. `tls`: its context."""

    def __init__(self, t, lifetime=300, tls=None):
        self.key = t.dir / "token.key"
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.key], check=True)
        public = subprocess.run(["openssl", "ec", "-in", self.key, "-pubout", "-outform", "DER"], capture_output=True,
                                check=True).stdout
        x, y = public[-64:-32], public[-32:]
        keys = {"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k1", "x": base64url(x),
                          "y": base64url(y)}]}
        self.jwks = t.file("jwks.json", json.dumps(keys))
        self.asked, self.presented, self.lifetime = [], [], lifetime
        login = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        server = self

        class Handler(QuietHandler):
            def handle_any(self):
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                server.asked.append(query.get("scope", [""])[0])
                if tls and (certificate := self.connection.getpeercert()):
                    server.presented.append(certificate)
                good = self.headers.get("Authorization") == login
                body = json.dumps({"token": server.token(query)} if good else {"details": "incorrect username or password"})
                self.send_response(200 if good else 401)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

        self.web = QuietServer(Handler, tls)
        t.cleanup(self.web.stop)
        self.host = f"localhost:{self.web.port}"
        self.realm = f"{'https' if tls else 'http'}://{self.host}/token"

    def token(self, query):
        access = []
        for scope in query.get("scope", []):
            kind, name, actions = scope.split(":")
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        now = int(time.time())
        claims = {"iss": "tokend", "aud": "reg", "sub": USER, "iat": now - 200, "nbf": now - 200, "exp": now + self.lifetime,
                  "jti": str(len(self.asked)), "access": access}
        signed = ".".join(base64url(json.dumps(part).encode())
                          for part in ({"alg": "ES256", "typ": "JWT", "kid": "k1"}, claims))
        der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=signed.encode(), capture_output=True,
                             check=True).stdout
        numbers, rest = [], der[2:]  # SEQUENCE of two INTEGERs
        for _ in range(2):
            length = rest[1]
            numbers.append(rest[2:2 + length].lstrip(b"\0").rjust(32, b"\0"))
            rest = rest[2 + length:]
        return f"{signed}.{base64url(b''.join(numbers))}"

    def auth(self):
        return {"token": {"realm": self.realm, "service": "reg", "issuer": "tokend", "jwks": self.jwks,
                          "signingalgorithms": ["ES256"]}}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def wasm_manifest(module, config=b"{}", **changes):
    """A manifest of a module, with members of its layer changed."""
    layer = {"mediaType": "application/wasm", "digest": digest(module), "size": len(module), **changes}
    return json.dumps({"schemaVersion": 2, "mediaType": MANIFEST,
                       "config": {"mediaType": WASM_CONFIG, "digest": digest(config), "size": len(config)},
                       "layers": [layer]}).encode()


class LyingRegistry:
    """Answers what `answers` says, {path: (status, headers, body)}; a body may be an iterator without end."""

    def __init__(self, t, answers):
        self.answers, self.asked = answers, []
        server = self

        class Handler(QuietHandler):
            def handle_any(self):
                self.body()
                path = self.path.split("?")[0]
                server.asked.append((self.command, path, self.headers.get("Authorization")))
                status, headers, body = server.answers.get(path, (404, {}, b'{"errors":[{"code":"MANIFEST_UNKNOWN"}]}'))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if isinstance(body, bytes):
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    return self.wfile.write(body)
                self.close_connection = True
                self.send_header("Connection", "close")
                self.end_headers()
                for piece in body:
                    self.wfile.write(piece)

        Handler.do_HEAD = Handler.dispatch
        self.web = QuietServer(Handler)
        t.cleanup(self.web.stop)
        self.host = f"127.0.0.1:{self.web.port}"

    def __call__(self, path):
        return f"oci://{self.host}/{path}"
