"""A small OpenID Connect issuer (RFC 6749, OpenID Connect Core and Discovery) on this machine, which a test may make lie."""
import base64
import hashlib
import hmac
import http.server
import json
import subprocess
import threading
import time
import urllib.parse


def text_of(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """An RSA key of 2048 bits; openssl signs with it."""

    def __init__(self, directory, name):
        self.name, self.file = name, directory / f"{name}.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.file, "2048"], check=True, capture_output=True)
        shown = subprocess.run(["openssl", "rsa", "-in", self.file, "-noout", "-modulus"], check=True, capture_output=True,
                               text=True).stdout
        self.modulus = bytes.fromhex(shown.strip().removeprefix("Modulus="))

    def jwk(self):
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.name, "n": text_of(self.modulus), "e": "AQAB"}

    def public_pem(self):
        return subprocess.run(["openssl", "rsa", "-in", self.file, "-pubout"], check=True, capture_output=True).stdout

    def sign(self, message):
        return subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.file], input=message, check=True,
                              capture_output=True).stdout


class Issuer:
    """`person` signs in at once. `change(header, claims)` may falsify a token before it is signed, `signed` afterwards."""

    CLIENT, SECRET = "catalog", "a secret of the client"

    def __init__(self, t):
        self.directory = t.dir / "issuer"
        self.directory.mkdir()
        self.key = Key(self.directory, "k1")
        self.published = [self.key]
        self.person = {"sub": "person-1", "preferred_username": "ann"}
        self.change, self.signed = None, None
        self.codes, self.problems = {}, []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        t.cleanup(self.stop)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def token(self, nonce):
        now = int(time.time())
        header = {"alg": "RS256", "kid": self.key.name, "typ": "JWT"}
        claims = {"iss": self.url, "aud": self.CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, **self.person}
        if self.change:
            self.change(header, claims)
        message = ".".join(text_of(json.dumps(part).encode()) for part in (header, claims)).encode()
        signature = self.signed(message) if self.signed else self.key.sign(message)
        return f"{message.decode()}.{text_of(signature)}"

    def mac_with_public_key(self, message):
        """What a verifier would take that lets a token choose its algorithm."""
        return hmac.new(self.key.public_pem(), message, hashlib.sha256).digest()

    def authorize(self, query):
        for name, value in (("response_type", "code"), ("client_id", self.CLIENT), ("code_challenge_method", "S256")):
            if query.get(name) != value:
                self.problems.append(f"{name} is {query.get(name)}")
        if "openid" not in query.get("scope", "").split():
            self.problems.append("the scope is not openid")
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        answer = urllib.parse.urlencode({"code": code, "state": query["state"], "iss": self.url})
        return f"{query['redirect_uri']}?{answer}"

    def exchange(self, form, authorization):
        """The token of a code: once, for the client that asked, if it knows what the challenge was made of."""
        asked = self.codes.pop(form.get("code"), None)
        password = "Basic " + base64.b64encode(f"{self.CLIENT}:{urllib.parse.quote(self.SECRET, safe='')}".encode()).decode()
        good = asked and form.get("grant_type") == "authorization_code" and authorization == password \
            and form.get("redirect_uri") == asked["redirect_uri"] \
            and text_of(hashlib.sha256(form.get("code_verifier", "").encode()).digest()) == asked["code_challenge"]
        if not good:
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "a", "token_type": "Bearer", "id_token": self.token(asked["nonce"])}

    def handler(issuer):
        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body=None, place=None):
                self.send_response(status)
                data = json.dumps(body or {}).encode()
                if place:
                    self.send_header("Location", place)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                path, _, query = self.path.partition("?")
                if path == "/.well-known/openid-configuration":
                    self.answer(200, {"issuer": issuer.url, "authorization_endpoint": issuer.url + "/authorize",
                                      "token_endpoint": issuer.url + "/token", "jwks_uri": issuer.url + "/keys"})
                elif path == "/keys":
                    self.answer(200, {"keys": [key.jwk() for key in issuer.published]})
                elif path == "/authorize":
                    self.answer(302, place=issuer.authorize(dict(urllib.parse.parse_qsl(query))))
                else:
                    self.answer(404)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.answer(*issuer.exchange(dict(urllib.parse.parse_qsl(body)), self.headers["Authorization"]))

            def log_message(self, *_):
                pass
        return Handler
