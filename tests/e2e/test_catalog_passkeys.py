"""Passkeys at the catalog, in a real browser: its DevTools have an authenticator in software."""
import re
import sqlite3

import axe
from browser import Browser
from catalog import Catalog
from catalog_person import PASSWORD, Person, with_person
from harness import check, contains, equal, test
from test_catalog_pages import STUMBLES

PHONE = {"protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
         "isUserVerified": True, "automaticPresenceSimulation": True}
# It has a button, and keeps no key that it would find by itself.
BUTTON = {"protocol": "ctap2", "transport": "usb", "hasResidentKey": False, "hasUserVerification": False, "automaticPresenceSimulation": True}


class Device:
    """An authenticator of the browser. It is plugged in from the beginning until remove()."""

    def __init__(self, browser, **options):
        self.browser = browser
        self.id = browser.call("WebAuthn.addVirtualAuthenticator", options=options)["authenticatorId"]

    def credentials(self):
        return self.browser.call("WebAuthn.getCredentials", authenticatorId=self.id)["credentials"]

    def verifies(self, who):
        self.browser.call("WebAuthn.setUserVerified", authenticatorId=self.id, isUserVerified=who)

    def remove(self):
        self.browser.call("WebAuthn.removeVirtualAuthenticator", authenticatorId=self.id)


class PasskeyCatalog:
    """A catalog at a name, as passkeys need it, with an account and a browser."""

    def __init__(self, t):
        self.t = t
        self.catalog = Catalog(t)
        self.catalog.url = f"http://localhost:{self.catalog.port}"
        self.catalog.serve("--poll-interval", "1h", "--url", self.catalog.url)
        self.ann = with_person(t, self.catalog, "ann")
        self.browser = Browser(t)
        self.browser.call("WebAuthn.enable")

    def open(self, path):
        self.browser.open(self.catalog.url + path)

    def arrives(self, heading):
        self.t.kube.wait(f"the page {heading}", lambda: self.browser.is_true(
            f"!window.before && document.readyState === 'complete' && document.querySelector('h1')?.textContent === {heading!r}"))

    def press(self, action, button, **fields):
        """A button of the form with that action, after filling it in."""
        form = f"document.querySelector('form[action=\"{action}\"]')"
        for name, value in fields.items():
            self.browser.value(f"{form}.querySelector('[name={name}]').value = {value!r}")
        self.browser.is_true(f"window.before = true; {form}.querySelector('{button}').click()")

    def sign_in(self, then):
        self.open("/login")
        self.press("/login", "button", name="ann", password=PASSWORD)
        self.arrives(then)

    def sign_out(self):
        self.open("/account")
        self.press("/logout", "button")
        self.arrives("Packages for Kubernetes, tested")

    def by_passkey(self, action="/login/passkey", **fields):
        self.browser.wait(f"document.querySelector('form[action=\"{action}\"] button.passkey')?.hidden === false")
        self.press(action, "button.passkey", **fields)

    def add(self, name, then, **fields):
        self.open("/account")
        self.by_passkey("/account/passkeys", name=name, password=PASSWORD, **fields)
        self.arrives(then)

    def says(self, words, action="/login/passkey"):
        """The page tells why it has no passkey."""
        self.browser.wait(f"document.querySelector('form[action=\"{action}\"] .passkey-status').textContent.includes({words!r})")


@test(waits=True)
def somebody_signs_in_at_a_catalog_with_a_passkey(t):
    at = PasskeyCatalog(t)
    phone = Device(at.browser, **PHONE)
    at.sign_in("ann")
    at.add("phone", "Recovery codes")
    recovery = re.findall(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}", at.browser.value("document.body.textContent"))
    equal(len(recovery), 10)
    equal([each["isResidentCredential"] for each in phone.credentials()], [True])
    # The passkey alone, and only with the finger that it knows.
    at.sign_out()
    at.open("/login")
    at.by_passkey()
    at.arrives("ann")
    at.sign_out()
    phone.verifies(False)
    at.open("/login")
    at.by_passkey()
    at.says("No passkey was used")
    phone.verifies(True)
    # After the password, in the other's place.
    at.sign_in("One more step")
    equal(at.browser.value(STUMBLES), [])
    at.by_passkey("/login/code")
    at.arrives("ann")
    # The same device twice, after it confirmed that; another one, which only has a button, with a code.
    at.open("/account")
    at.by_passkey("/account/passkeys", name="again", password=PASSWORD)
    at.says("has a passkey of your account already", "/account/passkeys")
    key = Device(at.browser, **BUTTON)
    phone.remove()
    at.add("key", "ann", code=recovery[1])
    equal([each["isResidentCredential"] for each in key.credentials()], [False])
    contains(at.browser.value("document.querySelector('#passkeys + p + div').textContent"), "phone", "key")
    at.sign_out()
    at.sign_in("One more step")
    at.by_passkey("/login/code")
    at.arrives("ann")
    equal(at.browser.value(STUMBLES), [])
    # The lost phone is removed with the key, in place of the code.
    at.by_passkey("/account/passkeys/remove")
    at.arrives("ann")
    contains(at.browser.value("document.querySelector('#passkeys + p + div').textContent"), "key")
    check("phone" not in at.browser.value("document.querySelector('#passkeys + p + div').textContent"), "it is still there")
    # A browser without JavaScript says what it lacks, and takes a recovery code.
    other = Person(at.catalog)
    contains(other.open("/login"), "Signing in with a passkey needs JavaScript")
    equal(other.sign_in("ann"), (303, "/login/code"))
    contains(other.open("/login/code"), "Your passkey needs JavaScript")
    equal(other.submit("/login/code", code=recovery[0]), (303, "/account"), other.text)
    contains(other.open("/account"), "Adding a passkey needs JavaScript", "Recovery codes left: 8")
    contains(at.catalog.command("user", "export", "ann"), '"passkeys"', '"key"')
    # Somebody who lost everything asks whoever runs the catalog.
    at.catalog.command("user", "reset-code", "ann")
    contains(at.catalog.command("user", "reset-code", "ann", code=1), "neither an authenticator nor a passkey")
    equal(other.sign_in("ann"), (303, "/account"))
    with sqlite3.connect(at.catalog.data / "catalog.db") as database:
        done = [what for what, in database.execute("SELECT what FROM audit WHERE subject = 'ann' ORDER BY id")]
    for what in ("add passkey", "sign in by passkey", "sign in", "remove passkey", "remove passkeys"):
        check(what in done, f"{what} isn't in the audit log:", done)


@test(waits=True)
def a_catalog_refuses_a_copied_passkey_and_says_so(t):
    at = PasskeyCatalog(t)
    phone = Device(at.browser, **PHONE)
    at.sign_in("ann")
    at.add("phone", "Recovery codes")
    at.sign_out()
    copied, = phone.credentials()
    for _ in range(2):
        at.open("/login")
        at.by_passkey()
        at.arrives("ann")
        at.sign_out()
    # The thief's copy has counted less than the phone.
    phone.remove()
    thief = Device(at.browser, **PHONE)
    at.browser.call("WebAuthn.addCredential", authenticatorId=thief.id, credential=copied)
    at.open("/login")
    at.by_passkey()
    at.arrives("Sign in")
    contains(at.browser.value("document.querySelector('[role=alert]').textContent"), "its counter went back")
    contains(at.catalog.command("user", "list"), "ann")
    with sqlite3.connect(at.catalog.data / "catalog.db") as database:
        equal(database.execute("SELECT who FROM audit WHERE what = 'refuse passkey'").fetchall(), [("ann",)])


@test(waits=True)
def the_pages_with_passkeys_of_a_catalog_have_no_fault_that_axe_finds(t):
    axe.source()
    at = PasskeyCatalog(t)
    Device(at.browser, **PHONE)
    at.sign_in("ann")
    at.add("phone", "Recovery codes")
    for scheme in ("light", "dark"):
        at.browser.emulate(prefers_color_scheme=scheme)
        for path, heading in (("/account", "ann"), ("/login", "Sign in"), ("/login/code", "One more step")):
            if path == "/login":
                at.sign_out()
            if path == "/login/code":
                at.sign_in("One more step")
            at.open(path)
            at.arrives(heading)
            equal(axe.violations(at.browser), [], f"{path}, {scheme}")
            equal(at.browser.value(STUMBLES), [], path)
        at.by_passkey("/login/code")
        at.arrives("ann")
