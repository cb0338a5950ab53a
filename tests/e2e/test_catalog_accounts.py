"""People at the catalog: signing in with a password, and what they change on its pages, as a browser without JavaScript sends it."""
import html
import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import termios
import threading
import time
import urllib.parse

from browser import Browser
from catalog import Catalog, Repository
from catalog_person import PASSWORD, Person, code_of, with_person
from issuer import Issuer, Key
from name_server import NameServer
from harness import check, config_map, contains, equal, test
from terminal import Terminal
from test_catalog_pages import STUMBLES


@test
def somebody_links_a_package_on_the_pages_of_a_catalog(t):
    catalog = Catalog(t)
    server = catalog.serve("--poll-interval", "1h")
    ann = with_person(t, catalog, "ann")
    equal(ann.sign_in("ann", "not the password"), (403, None))
    equal(ann.send("GET", "/account").headers["Location"], "/login?next=%2Faccount")
    equal(ann.sign_in("ann"), (303, "/account"))
    repository = Repository(t, "etcd")
    repository.kube("1.0.0", config_map("settings"), description="One Etcd")
    repository.tag("v1.0.0")
    ann.open("/account")
    equal(ann.submit("/account/projects", name="etcd", url=repository.url)[0], 200, ann.text)
    contains(ann.text, "etcd is linked", "/api/v1/hooks/etcd")
    t.kube.wait("it is there", lambda: catalog.state("etcd", "1.0.0") == "queued")
    ann.open("/packages/etcd/1.0.0")
    equal(ann.submit("/account/versions/yank", reason="it loses keys"), (303, "/packages/etcd/1.0.0"))
    contains(catalog.page("/packages/etcd/1.0.0"), "it loses keys")
    check("/account/versions" not in catalog.page("/packages/etcd/1.0.0"), "somebody else is offered changes")
    # A form that another site makes her browser send, and one that has no token.
    ann.open("/packages/etcd/1.0.0")
    equal(ann.submit("/account/versions/unyank", headers={"Origin": "https://evil.example"})[0], 403)
    ann.open("/packages/etcd/1.0.0")
    equal(ann.submit("/account/versions/unyank", form="0" * 64)[0], 403)
    # A token of the page may do what its scopes say.
    ann.open("/account")
    equal(ann.submit("/account/tokens", label="ci", days="30", scope="versions")[0], 200, ann.text)
    token = re.search(r"mct_[0-9a-f]{64}", ann.text)[0]
    equal(catalog.ask("DELETE", "/api/v1/packages/etcd/versions/1.0.0/yank", token=token)[0], 204)
    status, text, _ = catalog.ask("DELETE", "/api/v1/projects/etcd", token=token)
    equal(status, 403)
    contains(text, "scope projects")
    contains(catalog.command("token", "create", "ann", "--scopes", "everything", code=1), "there is no scope everything")
    # Neither the database nor a log has what lets her in; a server that starts again knows her.
    session = ann.cookies["catalog-session"]
    equal(catalog.stop(server), 0)
    with sqlite3.connect(catalog.data / "catalog.db") as database:
        dump = "\n".join(database.iterdump())
    for text in (dump, server.log.read_text()):
        check(session not in text and PASSWORD not in text, "a secret is in clear text")
    catalog.serve("--poll-interval", "1h")
    contains(ann.open("/account"), "<h1>ann</h1>")
    # Whoever runs the catalog gives her another password; what was open ends.
    (t.dir / "other").write_text("another long password")
    catalog.command("user", "password", "ann", "--password-file", str(t.dir / "other"))
    equal(ann.send("GET", "/account").status, 303)
    equal(ann.sign_in("ann")[0], 403)
    equal(ann.sign_in("ann", "another long password")[0], 303)
    catalog.command("user", "disable", "ann")
    equal(ann.send("GET", "/account").status, 303)
    equal(ann.sign_in("ann", "another long password")[0], 403)
    contains(catalog.command("user", "list"), "ann\tauthor\tdisabled")
    (t.dir / "short").write_text("short")
    contains(catalog.command("user", "password", "ann", "--password-file", str(t.dir / "short"), code=1), "fewer than 12")


@test
def commands_of_a_catalog_end_as_they_should_at_a_terminal_and_on_a_full_disk(t):
    catalog = Catalog(t)
    catalog.command("user", "add", "ann")
    terminal = Terminal([catalog.program, "user", "password", "ann", "--data", catalog.data],
                        catalog.environment() | {"TERM": "xterm"}, cwd=t.dir)
    terminal.wait_for("new password: ")
    check(not termios.tcgetattr(terminal.master)[3] & termios.ECHO, "a password is shown")
    terminal.process.send_signal(signal.SIGTERM)  # Ctrl-C is ignored where the tests run in the background
    equal(terminal.process.wait(timeout=60), 130, terminal.text())
    check(termios.tcgetattr(terminal.master)[3] & termios.ECHO, "the terminal is left without an echo")
    terminal.finish()
    # A token that nobody could read isn't one.
    contains(catalog.command("token", "create", "nobody", code=1), "there is no account nobody")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([catalog.program, "token", "create", "ann", "--data", catalog.data], stdout=full,
                              stderr=subprocess.PIPE, env=catalog.environment(), text=True, timeout=60, check=False)
    equal(done.returncode, 1)
    contains(done.stderr, "cannot write to standard output")
    # Nor is one whose reader is gone. Of a list, such a reader has seen enough.
    for words, code in ((["token", "create", "ann"], 1), (["user", "list"], 0)):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as closed:
            done = subprocess.run([catalog.program, *words, "--data", catalog.data], stdout=closed, stderr=subprocess.PIPE,
                                  env=catalog.environment(), text=True, timeout=60, check=False)
        equal(done.returncode, code, done.stderr)
    equal(json.loads(catalog.command("user", "export", "ann"))["tokens"], [])


@test
def a_catalog_asks_for_the_code_of_an_authenticator(t):
    catalog = Catalog(t)
    catalog.serve("--poll-interval", "1h")
    ann = with_person(t, catalog, "ann")
    ann.sign_in("ann")
    ann.open("/account")
    equal(ann.submit("/account/code", password="not the password")[0], 403)
    ann.open("/account")
    equal(ann.submit("/account/code", password=PASSWORD)[0], 200)
    secret = re.search(r"<code>([A-Z2-7]{32})</code>", ann.text)[1]
    contains(ann.text, '<svg class="code" role="img" aria-label="QR code of the address below"')
    equal(ann.submit("/account/code/confirm", code=code_of(secret))[0], 200, ann.text)
    recovery = re.findall(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}", ann.text)
    equal(len(recovery), 10)
    again = Person(catalog)
    equal(again.sign_in("ann"), (303, "/login/code"))
    equal(again.send("GET", "/account").status, 303)
    again.open("/login/code")
    equal(again.submit("/login/code", code=recovery[0]), (303, "/account"))
    contains(again.open("/account"), "Recovery codes left: 9")
    catalog.command("user", "reset-code", "ann")
    equal(again.sign_in("ann"), (303, "/account"))


def follow(person, place):
    """To the issuer at `place` and back. The catalog's answer."""
    parts = urllib.parse.urlsplit(place)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        back = connection.getresponse().headers["Location"]
    finally:
        connection.close()
    check(back.startswith(person.catalog.url + "/login/oidc/callback?"), back)
    person.back = back.removeprefix(person.catalog.url)
    return person.send("GET", person.back)


def sign_in_by_issuer(person):
    answer = person.send("GET", "/login/oidc")
    equal(answer.status, 303, person.text)
    return follow(person, answer.headers["Location"])


def at_issuer(t):
    """A catalog whose accounts sign in by an issuer, too."""
    catalog, issuer = Catalog(t), Issuer(t)
    (t.dir / "client").write_text(issuer.SECRET + "\n")
    catalog.serve("--poll-interval", "1h", "--oidc-issuer", issuer.url, "--oidc-client-id", issuer.CLIENT,
                  "--oidc-client-secret-file", str(t.dir / "client"))
    return catalog, issuer


@test(waits=True)
def an_issuer_lets_a_linked_account_of_a_catalog_in(t):
    catalog, issuer = at_issuer(t)
    ann = with_person(t, catalog, "ann")
    # What the issuer calls somebody is no account here.
    equal(sign_in_by_issuer(Person(catalog)).status, 403)
    ann.sign_in("ann")
    ann.open("/account")
    equal(ann.submit("/account/identities", password="not the password")[0], 403)
    ann.open("/account")
    equal(ann.submit("/account/identities", password=PASSWORD)[0], 200)
    place = html.unescape(re.search(r'href="([^"]*/authorize[^"]*)"', ann.text)[1])
    equal(follow(ann, place).headers["Location"], "/account", ann.text)
    contains(ann.open("/account"), "person-1")
    again = Person(catalog)
    equal(sign_in_by_issuer(again).headers["Location"], "/account", again.text)
    contains(again.open("/account"), "<h1>ann</h1>")
    # The same answer again, here and in another browser.
    equal(again.send("GET", again.back).status, 403)
    equal(Person(catalog).send("GET", again.back).status, 403)
    # The issuer changes its key. The catalog asks for keys again, but not within half a minute.
    issuer.key = Key(issuer.directory, "k2")
    issuer.published = [issuer.key]
    time.sleep(31)
    equal(sign_in_by_issuer(Person(catalog)).status, 303)
    # An account without a password, by the command line.
    catalog.command("user", "add", "bob")
    catalog.command("user", "link", "bob", "person-2", "--oidc-issuer", issuer.url)
    issuer.person = {"sub": "person-2", "email": "ann@example.com", "preferred_username": "ann"}
    bob = Person(catalog)
    equal(sign_in_by_issuer(bob).status, 303)
    contains(bob.open("/account"), "<h1>bob</h1>")
    equal(issuer.problems, [])


@test
def an_issuers_bad_answers_let_nobody_into_a_catalog(t):
    catalog, issuer = at_issuer(t)
    catalog.command("user", "add", "ann")
    catalog.command("user", "link", "ann", "person-1", "--oidc-issuer", issuer.url)
    other = Key(issuer.directory, "k1-of-somebody-else")

    def claim(**values):
        return lambda header, claims: claims.update(values)

    now = int(time.time())
    bad = {
        "another audience": (claim(aud="somebody else"), None),
        "several audiences": (claim(aud=["somebody else", issuer.CLIENT]), None),
        "another issuer": (claim(iss="https://evil.example"), None),
        "expired": (claim(exp=now - 120), None),
        "made long ago": (claim(iat=now - 3600), None),
        "another nonce": (claim(nonce="0" * 64), None),
        "nobody": (claim(sub=""), None),
        "no algorithm": (lambda header, claims: header.update(alg="none"), lambda message: b""),
        "no signature": (None, lambda message: b""),
        "key confusion": (lambda header, claims: header.update(alg="HS256"), issuer.mac_with_public_key),
        "another key": (None, other.sign),
        "a key that isn't published": (lambda header, claims: header.update(kid="k9"), None),
    }
    for name, (issuer.change, issuer.signed) in bad.items():
        person = Person(catalog)
        answer = sign_in_by_issuer(person)
        equal(answer.status, 403, name)
        equal(person.send("GET", "/account").status, 303, name)
    issuer.change = issuer.signed = None
    equal(sign_in_by_issuer(Person(catalog)).status, 303)


@test
def administrators_of_a_catalog_give_roles_and_disable_accounts(t):
    catalog = Catalog(t)
    catalog.serve("--poll-interval", "1h")
    root, ann = with_person(t, catalog, "root", "--role", "administrator"), with_person(t, catalog, "ann")
    token = catalog.command("token", "create", "ann").strip()
    root.sign_in("root")
    ann.sign_in("ann")
    ann.open("/admin", 403)
    equal(catalog.ask("GET", "/api/v1/projects", token=token)[0], 200)
    root.open("/admin")
    equal(root.submit("/admin/role", name="ann", role="moderator"), (303, "/admin"))
    ann.sign_in("ann")
    contains(ann.open("/account"), "Role: moderator")
    root.open("/admin")
    equal(root.submit("/admin/disable", name="ann"), (303, "/admin"))
    equal(ann.send("GET", "/account").status, 303)
    equal(ann.sign_in("ann")[0], 403)
    equal(catalog.ask("GET", "/api/v1/projects", token=token)[0], 401)
    contains(root.open("/admin/audit?who=root&subject=ann"), '<td data-label="What">set role</td><td data-label="Of">ann to moderator</td>',
             '<td data-label="What">disable</td><td data-label="Of">ann</td>')
    check("sign in</td>" not in root.text, root.text)


@test(waits=True)
def a_real_browser_signs_in_at_a_catalog_and_its_pages_can_be_read_by_everybody(t):
    catalog, issuer = at_issuer(t)
    with_person(t, catalog, "root", "--role", "administrator")
    issuer.person = {"sub": "root-1"}
    repository = Repository(t, "etcd")
    repository.kube("1.0.0", config_map("settings"))
    repository.tag("v1.0.0")
    browser = Browser(t)

    def arrives(heading):
        """At another page with that heading; on the way there may be none."""
        t.kube.wait(f"the page {heading}", lambda: browser.is_true(
            f"!window.before && document.readyState === 'complete' && document.querySelector('h1')?.textContent === {heading!r}"))

    def send(action, then, **fields):
        for name, value in fields.items():
            browser.value(f"document.querySelector('form[action=\"{action}\"] [name={name}]').value = {value!r}")
        browser.is_true(f"window.before = true; document.querySelector('form[action=\"{action}\"] button').click()")
        arrives(then)

    def is_readable(what):
        equal(browser.value(STUMBLES), [], what)

    browser.open(catalog.url + "/account")
    is_readable("/login")
    send("/login", "Sign in", name="root", password="not the password")
    is_readable("a refusal")
    send("/login", "root", name="root", password=PASSWORD)
    equal(browser.value("document.cookie"), "", "what a script of the page could read")
    send("/account/projects", "etcd is linked", name="etcd", url=repository.url)
    t.kube.wait("it is there", lambda: catalog.state("etcd", "1.0.0") == "queued")
    browser.open(catalog.url + "/account")
    send("/account/tokens", "The new token", label="ci")
    browser.open(catalog.url + "/account")
    # The form is answered with a page, which leads to the issuer and back.
    send("/account/identities", "root", password=PASSWORD)
    contains(browser.value("document.body.textContent"), "root-1")
    is_readable("/account")
    send("/account/code", "Set up an authenticator", password=PASSWORD)
    is_readable("/account/code")
    for path in ("/admin", "/admin/audit?who=root", "/packages/etcd/1.0.0"):
        browser.open(catalog.url + path)
        is_readable(path)
    browser.open(catalog.url + "/packages/etcd/1.0.0")
    send("/account/versions/yank", "etcd", reason="it loses keys")
    contains(catalog.page("/packages/etcd/1.0.0"), "it loses keys")
    browser.open(catalog.url + "/account")
    send("/logout", "Packages for Kubernetes, tested")
    browser.open(catalog.url + "/login")
    browser.value("[...document.querySelectorAll('a')].find(a => a.textContent.startsWith('Sign in with')).click()")
    arrives("root")
    equal(issuer.problems, [])


@test
def guessing_passwords_takes_a_catalog_neither_its_memory_nor_its_pages(t):
    catalog = Catalog(t)
    catalog.serve("--poll-interval", "1h", "--behind-proxy")
    with_person(t, catalog, "ann")
    guessers = [Person(catalog) for _ in range(12)]
    statuses = []

    def guess(number):
        # Each from another address, at another name.
        headers = {"X-Forwarded-For": f"192.0.2.{number}"}
        guessers[number].open("/login")
        for _ in range(4):
            status, _ = guessers[number].submit("/login", headers=headers, name=f"a{number}", password="x" * 20)
            statuses.append(status)
            guessers[number].open("/login")

    threads = [threading.Thread(target=guess, args=(number,)) for number in range(len(guessers))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        equal(catalog.ask("GET", "/healthz")[0], 200)
        for thread in threads:
            thread.join(0.05)
    equal(len(statuses), 48)
    check(set(statuses) <= {403, 503}, statuses)
    # Of one account, from everywhere: after some tries its password isn't looked at any more.
    last = None
    for number in range(12):
        person = Person(catalog)
        person.open("/login")
        last, _ = person.submit("/login", headers={"X-Forwarded-For": f"198.51.100.{number}"}, name="ann", password="wrong")
    equal(last, 429)


@test
def anybody_makes_an_account_at_a_catalog_that_is_open(t):
    catalog = Catalog(t)
    server = catalog.serve("--poll-interval", "1h")
    eve = Person(catalog)
    eve.open("/register", 404)
    catalog.stop(server)
    catalog.serve("--poll-interval", "1h", "--registration", "open")
    eve.open("/login")
    contains(eve.text, 'href="/register"')
    eve.open("/register")
    equal(eve.submit("/register", name="eve", password="short")[0], 400)
    contains(eve.text, "fewer than 12 characters", 'value="eve"')
    equal(eve.submit("/register", name="eve", password=PASSWORD), (303, "/account"))
    contains(eve.open("/account"), "Role: author")
    equal(eve.submit("/logout"), (303, "/"))
    equal(eve.send("GET", "/account").status, 303)


def dump_of(catalog):
    with sqlite3.connect(catalog.data / "catalog.db") as database:
        return "\n".join(database.iterdump())


@test
def people_rate_and_discuss_a_package_of_a_catalog_until_they_leave(t):
    catalog = Catalog(t)
    server = catalog.serve("--poll-interval", "1h")
    ann, quincy, mod = (with_person(t, catalog, name, *flags)
                        for name, flags in (("ann", ()), ("quincy", ()), ("mod", ("--role", "moderator"))))
    repository = Repository(t, "etcd")
    repository.kube("1.0.0", config_map("settings"))
    repository.tag("v1.0.0")
    token = catalog.command("token", "create", "ann").strip()
    catalog.link(token, "etcd", repository.url)
    t.kube.wait("it is there", lambda: catalog.version("etcd", "1.0.0"))
    contains(catalog.page("/packages/etcd/comments"), "Nobody rated it yet", 'href="/login?next=%2Fpackages%2Fetcd%2Fcomments"')
    for name, person in (("ann", ann), ("quincy", quincy), ("mod", mod)):
        equal(person.sign_in(name), (303, "/account"))
    quincy.open("/packages/etcd/comments")
    equal(quincy.submit("/account/ratings", stars="2"), (303, "/packages/etcd/comments"))
    quincy.open("/packages/etcd/comments")
    equal(quincy.submit("/account/comments", text="It lost my keys\n<script>"), (303, "/packages/etcd/comments#comment-1"))
    contains(catalog.page("/packages/etcd"), "2.0 of 5 stars, by one person", "1 comment</a>")
    ann.open("/packages/etcd/comments")
    contains(ann.text, "It lost my keys\n&lt;script&gt;")
    check("/account/ratings" not in ann.text, "the owner may rate")
    equal(ann.submit("/account/comments/report", id="1", reason="It is not true")[0], 200, ann.text)
    contains(mod.open("/admin/reports"), "It is not true", "It lost my keys")
    equal(mod.submit("/admin/comments/hide", why="No facts"), (303, "/packages/etcd/comments#comment-1"))
    contains(catalog.page("/packages/etcd/comments"), "A moderator hid this comment: No facts")
    # Two downloads by one address are one.
    digest = catalog.version("etcd", "1.0.0")["digest"]
    for _ in range(2):
        equal(catalog.ask("GET", f"/api/v1/blobs/{digest}")[0], 200)
    t.kube.wait("it is counted", lambda: catalog.json("/api/v1/packages/etcd/downloads")["total"] == 1)
    # All data of an account, by its owner and by whoever runs the catalog.
    data = json.loads(quincy.open("/account/export"))
    equal([(each["package"], each["text"]) for each in data["comments"]], [("etcd", "It lost my keys\n<script>")])
    mine = json.loads(catalog.command("user", "export", "quincy"))
    equal(mine["ratings"], data["ratings"])
    quincy.open("/account")
    equal(quincy.submit("/account/remove", name="quincy", password="not the password")[0], 403)
    quincy.open("/account")
    equal(quincy.submit("/account/remove", name="quincy", password=PASSWORD), (303, "/"))
    equal(quincy.sign_in("quincy")[0], 403)
    contains(catalog.command("user", "delete", "ann"), "account ann is deleted-")
    contains(catalog.command("user", "delete", "quincy", code=1), "no account quincy")
    contains(catalog.command("user", "add", "quincy", code=1), "already")
    contains(catalog.page("/packages/etcd/comments"), "Nobody rated it yet")
    equal(catalog.ask("GET", "/api/v1/projects", token=token)[0], 401)
    equal(catalog.stop(server), 0)
    dump = dump_of(catalog)
    for text in ("quincy", "'ann'", "It lost my keys", "It is not true"):
        check(text not in dump, text, "is kept:", [line for line in dump.splitlines() if text in line])


@test
def a_domain_is_proved_to_a_catalog_by_a_record_of_its_name_server(t):
    catalog, names = Catalog(t), NameServer(t)
    contains(catalog.command("serve", "--name-server", "nowhere", "--listen", "127.0.0.1:0", code=1), "nowhere is no address of a name server")
    catalog.serve("--poll-interval", "1h", "--name-server", names.address)
    ann = with_person(t, catalog, "ann")
    ann.sign_in("ann")
    ann.open("/account")
    equal(ann.submit("/account/domains", domain="shop.example"), (303, "/account#domains"))
    t.kube.wait("its record was looked up", lambda: "_mistletoe-catalog.shop.example has no TXT record" in ann.open("/account"))
    equal(names.asked, ["_mistletoe-catalog.shop.example"])
    names.records["_mistletoe-catalog.shop.example"] = ["v=spf1 -all", f"{catalog.url} account=ann"]
    ann.open("/account")
    equal(ann.submit("/account/domains", domain="shop.example"), (303, "/account#domains"))
    t.kube.wait("it is proved", lambda: "shop.example, proved" in ann.open("/account"))
    repository = Repository(t, "shop")
    repository.kube("1.0.0", config_map("settings"))
    repository.tag("v1.0.0")
    ann.submit("/account/projects", name="shop", url=repository.url)
    t.kube.wait("it is there", lambda: catalog.version("shop", "1.0.0"))
    contains(catalog.page("/packages/shop"), "ann, whose domain is shop.example (proved by DNS)")
    equal(catalog.json("/api/v1/packages/shop")["domains"], ["shop.example"])
