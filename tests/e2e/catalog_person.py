"""Somebody at a catalog whose browser has no JavaScript, with their account."""
import base64
import hashlib
import hmac
import http.client
import http.cookies
import re
import time
import urllib.parse

from harness import check, equal

PASSWORD = "correct horse battery"


class Person:
    """A browser without JavaScript: cookies, links and forms."""

    def __init__(self, catalog):
        self.catalog, self.cookies, self.text = catalog, {}, ""

    def send(self, method, path, body=None, headers=None):
        sent = {"User-Agent": "A browser", **(headers or {})}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if body is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
            sent.setdefault("Origin", self.catalog.url)
            sent.setdefault("Sec-Fetch-Site", "same-origin")
        connection = http.client.HTTPConnection("127.0.0.1", self.catalog.port, timeout=20)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            self.text = answer.read().decode()
        finally:
            connection.close()
        for line in answer.headers.get_all("Set-Cookie") or []:
            for name, cookie in http.cookies.SimpleCookie(line).items():
                if cookie["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = cookie.value
        return answer

    def open(self, path, status=200):
        equal(self.send("GET", path).status, status, self.text)
        return self.text

    def submit(self, action, headers=None, **fields):
        """The form of the page shown last that has that action, with its hidden fields. (status, where it leads)"""
        form = re.search(rf'<form[^>]* action="{re.escape(action)}".*?</form>', self.text, re.DOTALL)
        check(form, f"no form {action} in", self.text)
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form[0]))
        answer = self.send("POST", action, urllib.parse.urlencode({**hidden, **fields}), headers)
        return answer.status, answer.headers["Location"]

    def sign_in(self, name, password=PASSWORD):
        self.open("/login")
        return self.submit("/login", name=name, password=password)


def with_person(t, catalog, name, *flags):
    file = t.dir / f"{name}.password"
    file.write_text(PASSWORD + "\n")
    catalog.command("user", "add", name, "--password-file", str(file), *flags)
    return Person(catalog)


def code_of(secret):
    """RFC 6238, as an authenticator computes it."""
    padded = secret + "=" * (-len(secret) % 8)
    mac = hmac.new(base64.b32decode(padded), int(time.time() // 30).to_bytes(8, "big"), hashlib.sha1).digest()
    at = mac[-1] & 15
    return f"{(int.from_bytes(mac[at:at + 4], 'big') & 0x7fffffff) % 1000000:06}"
