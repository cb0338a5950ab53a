"""API servers that lie, hang, break or are somebody else; and ones that only have a bad moment."""
import concurrent.futures
import os
import signal
import random
import socket
import ssl
import struct
import subprocess
import threading
import time

from harness import check, config_map, contains, equal, kubeconfig_text, test
from proxy import Drop, Liar, Proxy, Refuse


def openssl(t, *arguments, **options):
    done = subprocess.run(["openssl", *arguments], cwd=t.dir, capture_output=True, text=True, **options)
    check(done.returncode == 0, done.stderr)


def authority(t, name):
    openssl(t, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")
    return str(t.dir / f"{name}.crt")


def server_context(t, ca, valid_until):
    """TLS of a server for 127.0.0.1 whose certificate `ca` issued long ago."""
    t.file("ca.conf", "[ca]\ndefault_ca = d\n[d]\ndatabase = index\nserial = serial\nnew_certs_dir = .\n"
                      "default_md = sha256\npolicy = p\nx509_extensions = e\n[p]\ncommonName = supplied\n"
                      "[e]\nsubjectAltName = IP:127.0.0.1\n")
    t.file("index", "")
    t.file("serial", "01\n")
    openssl(t, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=server",
            "-keyout", "server.key", "-out", "server.csr")
    openssl(t, "ca", "-batch", "-config", "ca.conf", "-cert", f"{ca}.crt", "-keyfile", f"{ca}.key",
            "-in", "server.csr", "-out", "server.crt", "-startdate", "20200101000000Z", "-enddate", valid_until)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(t.dir / "server.crt", t.dir / "server.key")
    return context


def cannot_list(t, server, says, user=None, name="kubeconfig-bad", **cluster):
    kubeconfig = t.file(name, kubeconfig_text(server, user or {}, namespace=t.ns, **cluster))
    return t.refused("list", kubeconfig=kubeconfig, says=says)


def install_refused(t, package, kubeconfig, *says):
    return t.refused("install", "shop", "-p", package, kubeconfig=kubeconfig, says=says)


@test
def certificates_that_do_not_fit(t):
    other = authority(t, "other")
    cannot_list(t, t.kube.server, ["certificate", "certificate-authority"], {"token": t.token}, ca=other)
    cannot_list(t, t.kube.server.replace("127.0.0.1", "localhost.localdomain"), ["localhost.localdomain"],
                {"token": t.token}, ca=t.kube.ca, **{"proxy-url": "http://127.0.0.1:1"})
    named = {"tls-server-name": "somebody-else.example.com"}
    cannot_list(t, t.kube.server, ["somebody-else.example.com"], {"token": t.token}, ca=t.kube.ca, **named)
    answer = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")

    def talk(connection):
        connection.recv(65536)
        connection.sendall(answer)

    liar = Liar(talk, tls=server_context(t, "other", "20200201000000Z"))
    t.cleanup(liar.stop)
    cannot_list(t, liar.url, ["expired"], {"token": t.token}, ca=other)


@test
def an_expired_client_certificate(t):
    """Kubernetes says no more than Unauthorized; mistctl knows why."""
    ca = authority(t, "ours")
    server_context(t, "ours", "20200201000000Z")  # a certificate of 2020, as good for a client
    user = {"client-certificate": str(t.dir / "server.crt"), "client-key": str(t.dir / "server.key")}
    cannot_list(t, t.kube.server, ["the client certificate CN=server ended at 2020-02-01", "Unauthorized", "try: ",
                                   "log in again"], user, ca=t.kube.ca)

    # A server that refuses it while it shakes hands.
    strict = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    strict.load_cert_chain(t.dir / "server.crt", t.dir / "server.key")
    strict.verify_mode = ssl.CERT_REQUIRED
    strict.load_verify_locations(ca)
    liar = Liar(lambda connection: connection.recv(65536), tls=strict)
    t.cleanup(liar.stop)
    # TLS 1.3 has ended for us before that alert comes: what is sent meanwhile may meet the end of the connection.
    says = ["CN=server", "expired at 2020-02-01", "try: get a new client certificate"]
    cannot_list(t, liar.url, says, user, **{"insecure-skip-tls-verify": True})

    def reset(connection):
        connection.recv(65536)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    asks = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    asks.load_cert_chain(t.dir / "server.crt", t.dir / "server.key")
    breaks = Liar(reset, tls=asks)
    t.cleanup(breaks.stop)
    cannot_list(t, breaks.url, ["broke before an answer came", *says], user, **{"insecure-skip-tls-verify": True})


@test
def completion_gives_up_on_a_dead_server(t):
    dead = Liar(lambda connection: threading.Event().wait(60))  # takes connections and says nothing
    t.cleanup(dead.stop)
    kubeconfig = t.file("kubeconfig-dead", kubeconfig_text(dead.url, {"token": "x"}, namespace=t.ns))
    for line in ("mistctl status ", "mistctl rollback web ", "mistctl list -n "):
        began = time.monotonic()
        outcome = t.run("__complete", line, "", kubeconfig=kubeconfig)
        equal((outcome.out, outcome.err), ("words\n", ""), "a shell that asks gets no error into its line")
        # Two seconds; the rest is for a machine with other work. A request would have a minute.
        check(time.monotonic() - began < 20, line, "took", time.monotonic() - began)


@test
def tokens_that_are_no_longer_valid(t):
    outcome = cannot_list(t, t.kube.server, ["Unauthorized", "try: "], {"token": "not-a-token"}, ca=t.kube.ca)
    check("not-a-token" not in outcome.err, outcome)
    cannot_list(t, t.kube.server, ["nowhere"], {"tokenFile": str(t.dir / "nowhere")}, ca=t.kube.ca)
    cannot_list(t, t.kube.server, ["no-such-plugin"], {"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin",
        "interactiveMode": "Never"}}, ca=t.kube.ca)


@test
def kubeconfigs_that_are_broken(t):
    t.refused("list", kubeconfig=t.file("broken", "clusters: [\n"), says=["broken"])
    t.refused("list", "--context", "missing", says=["missing"])
    t.refused("list", "--kubeconfig", str(t.dir / "absent"), says=["absent"])
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    cannot_list(t, f"https://127.0.0.1:{port}", [f"127.0.0.1:{port}", "refused", "try: "])


def with_plugin(t, name, script):
    """A kubeconfig whose user's credential plugin is a shell script that can't talk to a person."""
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
                     "interactiveMode": "Never"}}
    return t.file(name, kubeconfig_text(t.kube.server, user, ca=t.kube.ca, namespace=t.ns))


@test(waits=True)
def kubeconfigs_whose_credential_plugin_hangs(t):
    """It is named after two seconds, Ctrl-C is heard, and the plugin doesn't live on."""
    pid_file = t.dir / "plugin.pid"
    process = t.start("list", kubeconfig=with_plugin(t, "hangs", f"echo $$ > {pid_file}; exec sleep 1000"))

    def waits():
        # What else takes its time is told too.
        said = '… waiting for the credential plugin sh of the user "'.encode()
        return any(line.startswith(said) for line in process.stderr)

    named = concurrent.futures.ThreadPoolExecutor(1).submit(waits).result(timeout=60)
    check(named, "the plugin is not named")
    os.kill(process.pid, signal.SIGINT)
    t.finish(process, code=130, seconds=30)
    plugin = int(pid_file.read_text())
    try:
        os.kill(plugin, 0)
        check(False, "the plugin lives on")
    except ProcessLookupError:
        pass


@test(waits=True)
def kubeconfigs_whose_credential_plugin_fails(t):
    """What it says stands there once: as progress where that is shown, else in the error."""
    kubeconfig = with_plugin(t, "fails", "echo open the page >&2; sleep 1; echo nobody came >&2; exit 3")
    for flags in ([], ["--quiet"]):
        outcome = t.refused("list", *flags, kubeconfig=kubeconfig, says=["the credential plugin sh failed"])
        for words in ("open the page", "nobody came"):
            equal(outcome.err.count(words), 1, f"how often {words!r} stands in {outcome.err}")


ANSWERS = {
    "nothing": b"",
    "noise": bytes(range(256)) * 20,
    "another protocol": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "half a header": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "a web page": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n<html>Hello</html>",
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"items\": [",
    "a list of numbers": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n[1, 2, 3]",
    "a wrong object": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n"
                      b"{\"items\": {\"a\": 12}}"[:-1],
    "an endless redirect": b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "a body that lies about its length": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
    "control characters": b"HTTP/1.1 400 X\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\n\x1b[31mred\x07\x00\n\n",
}


@test
def servers_that_answer_nonsense(t):
    package = t.package("p", config_map("fine"))

    def one(what, answer):
        def talk(connection):
            connection.recv(65536)
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_WR)

        liar = Liar(talk)
        try:
            kubeconfig = t.file(f"kubeconfig-{liar.port}", kubeconfig_text(liar.url, {}, namespace=t.ns))
            for command in (["list"], ["install", "shop", "-p", package]):
                outcome = t.run(*command, kubeconfig=kubeconfig, code=1)
                contains(outcome.err, "error: ")
                check("127.0.0.1" in outcome.err or "server address" in outcome.err, what, outcome)
                check("\x1b" not in outcome.err and "\x07" not in outcome.err, f"{what}: control characters", outcome)
        finally:
            liar.stop()

    with concurrent.futures.ThreadPoolExecutor(len(ANSWERS)) as pool:  # they mostly wait for the next try
        for run in [pool.submit(one, *item) for item in ANSWERS.items()]:
            run.result()


@test
def a_server_that_never_answers_can_be_interrupted(t):
    asked = threading.Event()

    def talk(connection):
        connection.recv(65536)
        asked.set()
        connection.recv(65536)  # until mistctl goes

    liar = Liar(talk)
    t.cleanup(liar.stop)
    kubeconfig = t.file("kubeconfig-silent", kubeconfig_text(liar.url, {}, namespace=t.ns))
    process = t.start("install", "shop", "-p", t.package("p", config_map("fine")), kubeconfig=kubeconfig)
    check(asked.wait(30), "it never asked")
    os.kill(process.pid, signal.SIGINT)
    t.finish(process, code=130)


@test(full=True)
def a_server_that_never_answers_is_given_up(t):
    liar = Liar(lambda connection: [None for _ in iter(lambda: connection.recv(65536), b"")])
    t.cleanup(liar.stop)
    kubeconfig = t.file("kubeconfig-silent", kubeconfig_text(liar.url, {}, namespace=t.ns))
    t.refused("list", kubeconfig=kubeconfig, says=["127.0.0.1"])


def proxied(t, **hooks):
    proxy = Proxy(t.kube, t.token, **hooks)
    t.cleanup(proxy.stop)
    return proxy, t.file(f"kubeconfig-{proxy.url.rsplit(':', 1)[1]}", kubeconfig_text(proxy.url, {}, namespace=t.ns))


@test(waits=True)
def too_many_requests_for_ten_seconds(t):
    """All requests of the first ten seconds are put off; then all is well, and nothing is done twice."""
    began = time.monotonic()
    refusals = []

    def busy(number, method, path):
        if time.monotonic() - began < 10:
            refusals.append(path)
            raise Refuse(429, {"Retry-After": "1", "Content-Type": "application/json"},
                         b'{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, '
                         b'"reason": "TooManyRequests", "message": "too many requests, please try again later"}')

    _, kubeconfig = proxied(t, before=busy)
    t.run("install", "shop", "-p", t.package("p", config_map("a"), config_map("b")), kubeconfig=kubeconfig)
    check(refusals, "nothing was refused")
    equal(t.owned("shop"), {"ConfigMap/a", "ConfigMap/b"})
    equal(t.record("shop"), ["mistletoe.shop", "mistletoe.shop.v0"])


@test
def a_third_of_all_requests_fails_or_breaks(t):
    """5xx and broken connections, before and after the server did it: what is safe to repeat is repeated; where a
    command gives up, the same command again goes on, and nothing is lost or doubled."""
    ways = [lambda: Refuse(503), lambda: Refuse(500, {}, b"internal"), Drop, lambda: Refuse(502, {}, b"<html>")]

    # The same in each run, and without a period that the requests of a command could have as well.
    def chance(number, purpose):
        return random.Random(f"{purpose} {number}").random()

    def trouble(number, method, path):
        if chance(number, "trouble") < 1 / 3:
            raise ways[int(chance(number, "way") * len(ways))]()

    def lost_answer(number, method, path):
        if chance(number, "lost") < 1 / 7:
            raise Drop

    _, kubeconfig = proxied(t, before=trouble, after=lost_answer)

    def insist(*arguments):
        for _ in range(16):
            outcome = t.run(*arguments, "--lock-wait", "10s", kubeconfig=kubeconfig, code=None, term_ms=1000)
            if outcome.code == 0:
                return outcome
            equal(outcome.code, 1, outcome)
            contains(outcome.err, "error: ")
            if "exists already" in outcome.err or "does not exist" in outcome.err:
                return outcome  # done, and only the last answer was lost
        raise AssertionError(f"it never succeeded: {arguments}")

    package = t.package("p", *(config_map(f"c{i}") for i in range(8)))
    insist("install", "shop", "-p", package)
    equal(t.owned("shop"), {f"ConfigMap/c{i}" for i in range(8)})
    insist("upgrade", "shop", "-p", t.package("p", *(config_map(f"c{i}", {"key": "new"}) for i in range(2, 10))))
    equal({item["metadata"]["name"]: item["data"]["key"] for item in t.kube.list("ConfigMap", t.ns)
           if item["metadata"]["name"] != "kube-root-ca.crt"}, {f"c{i}": "new" for i in range(2, 10)})
    insist("uninstall", "shop", "--yes")
    equal((t.owned("shop"), t.record("shop")), (set(), []))


@test
def a_server_that_goes_in_the_middle(t):
    """From its fifth write on, nothing reaches it any more: an error, and the next run goes on from there."""
    writes = []
    lock = threading.Lock()

    def gone(number, method, path):
        with lock:
            if method != "GET" and "dryRun" not in path:
                writes.append(path)
            if len(writes) >= 5:
                raise Drop

    _, kubeconfig = proxied(t, before=gone)
    package = t.package("p", *(config_map(f"c{i}") for i in range(8)))
    failed = t.run("install", "shop", "-p", package, kubeconfig=kubeconfig, code=1, term_ms=1000)
    contains(failed.err, "error: ", "127.0.0.1", "try: ")
    check(0 < len(t.owned("shop")) < 8, "it should have stopped in the middle:", t.owned("shop"))
    t.run("install", "shop", "-p", package, "--lock-wait", "10s")
    equal(t.owned("shop"), {f"ConfigMap/c{i}" for i in range(8)})
    t.run("uninstall", "shop", "--yes")
    equal((t.owned("shop"), t.record("shop")), (set(), []))
