"""The catalog: from a tag to a badge, steps that fail, kpm's archive, processes that are killed, and hostile clients."""
import http.server
import json
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import threading
import time

from catalog import Catalog, Repository
from guides import ROOT, Guide
from harness import check, config_map, contains, equal, test, workload
from name_server import NameServer
from test_tests import pod_test

STEPS = ["unpack", "lint", "dry run", "install", "tests", "uninstall"]


def names(run):
    return [step["name"] for step in run["steps"] if not step["name"].startswith("Kubernetes ")]


def failed(run):
    return [step for step in run["steps"] if step["state"] == "failed"]


def good(t, name="etcd", delay=None):
    """`delay`: until its Pod is ready."""
    repository = Repository(t, name)
    pods = {"mistletoe.dev/dev-delay": delay} if delay else None
    repository.kube("1.0.0", workload("Deployment", name, annotations=pods), config_map("settings"), pod_test("smoke", log="it answers"),
                    description="One Etcd, alone", home="https://example.com", maintainers=["Ann <ann@example.com>"],
                    dependencies=[{"name": "disk", "version": "^1.0"}])
    repository.file("README.md", "# Etcd\n\nIt *keeps* keys.\n\n```yaml\nreplicas: 1\n```\n")
    repository.tag("v1.0.0")
    return repository


@test(waits=True)
def a_catalog_takes_a_tag_to_a_badge_and_kpm_installs_it(t):
    catalog = Catalog(t)
    server = catalog.serve("--kubeconfig", t.kubeconfig, "--poll-interval", "1h")
    token = catalog.account("ann")
    repository = good(t)
    project = catalog.link(token, "etcd", repository.url)
    run = catalog.wait_tested("etcd", "1.0.0")
    equal(failed(run), [], "steps that failed")
    equal(names(run), STEPS)
    equal(len([step for step in run["steps"] if step["name"].startswith("Kubernetes ")]), 3, "minors")
    equal(run["nodes"], "simulated nodes")
    logs = {step["name"]: step["log"] for step in run["steps"]}
    contains(logs["install"], "Deployment", "etcd: ready", "events of the cluster:")
    contains(logs["tests"], "smoke: passed", "it answers")
    equal([step["summary"] for step in run["steps"]][-1], "nothing stays")
    equal(catalog.namespaces(), [], "what the test left")
    page = catalog.page("/packages/etcd")
    contains(page, "<h1>etcd</h1>", "<em>keeps</em>", "kpm install etcd:1.0.0", "state passed", "href=\"/packages/disk\"",
             "Installed on simulated nodes")
    contains(catalog.page("/packages/etcd/1.0.0/test"), "it answers")
    contains(catalog.page("/packages/etcd/badge.svg"), "etcd: passed")
    contains(catalog.page("/search?q=alone"), "href=\"/packages/etcd\"")
    # The next tag comes by the webhook.
    repository.kube("1.1.0", config_map("settings"), description="One Etcd, alone")
    repository.tag("v1.1.0")
    equal(catalog.call_webhook(project), 202)
    run = catalog.wait_tested("etcd", "1.1.0")
    equal((failed(run), names(run)), ([], STEPS[:-1] + ["upgrade", "uninstall"]))
    equal([step["summary"] for step in run["steps"] if step["name"] == "upgrade"], ["from 1.0.0, 1 object ready"])
    contains(json.dumps(run), "Deployment catalog-", "deleted")
    # What changed between both, and what it asks for.
    page = catalog.page("/packages/etcd/1.1.0/changes")
    contains(page, "etcd 1.1.0 compared with 1.0.0", "Deployment etcd <span class=\"state failed\">removed</span>",
             "1 object changed and 1 did not")
    contains(catalog.page("/packages/etcd"), "href=\"/packages/etcd/1.1.0/changes\"", "It brings no Pods.")
    contains(catalog.page("/packages/etcd/1.0.0"), "id=\"security\"", "Pod Security level", "Deployment etcd")
    changes = json.loads(catalog.page("/api/v1/packages/etcd/versions/1.0.0/changes?from=1.1.0"))
    equal([(c["object"], c["change"]) for c in changes["objects"]], [("Deployment etcd", "added")])
    # kpm reads the index with one request, and a second time with one that has no answer.
    t.run("kpm", "archive-add", "--service", "catalog", catalog.url)
    equal(t.run("kpm", "update").out, "---> Fetching updates...\n---> Done\n")
    again = t.run("kpm", "update", "-v").err
    equal(len(re.findall(r"GET http://127", again)), 1, again)
    contains(again, "/api/v1/index 304")
    equal(t.run("kpm", "search", "etcd").out.count("etcd: One Etcd, alone\n"), 1)
    contains(t.run("kpm", "info", "etcd:1.0.0").out, "\tVersion: 1.0.0\n", "\tDependencies: disk (^1.0)\n")
    contains(t.run("kpm", "install", "etcd", "--wait").out, "Downloading etcd-1.1.0", "---> Done")
    contains(t.run("history", "etcd").out, "1.1.0")
    t.run("kpm", "uninstall", "etcd", "--yes", "--wait")
    # A yanked version is only for those who name it.
    status, text, _ = catalog.ask("PUT", "/api/v1/packages/etcd/versions/1.1.0/yank", {"reason": "it loses keys"}, token)
    equal(status, 204, text)
    contains(catalog.page("/packages/etcd/1.1.0"), "it loses keys")
    t.run("kpm", "update")
    contains(t.run("kpm", "info", "etcd").out, "\tVersion: 1.0.0\n")
    contains(t.run("kpm", "info", "etcd:1.1.0").out, "\tVersion: 1.1.0\n", "\tYanked: it loses keys\n")
    found = [kube for kube in t.run("kpm", "search", "-o", "json").json["kubes"] if kube["name"] == "etcd"]
    equal([(kube["version"], kube["versions"]) for kube in found], [("1.0.0", ["1.0.0"])])
    status, text, _ = catalog.ask("PUT", "/api/v1/packages/etcd/versions/1.0.0/yank", {"reason": "a\x1b[2J"}, token)
    equal(status, 400, text)
    status, text, _ = catalog.ask("PUT", "/api/v1/packages/etcd/versions/1.0.0/yank", {}, token)
    equal(status, 204, text)
    t.run("kpm", "update")
    for verb in ("info", "install", "get"):
        t.refused("kpm", verb, "etcd", says=["all 2 versions of etcd were yanked", "1.1.0: it loses keys", "etcd:1.1.0"])
    # A package that was used once needs no service.
    equal(catalog.stop(server), 0, server.log.read_text())
    contains(t.run("kpm", "info", "etcd:1.1.0").out, "\tVersion: 1.1.0\n")
    t.refused("kpm", "update", says=["catalog"])
    contains(t.run("kpm", "search", "etcd").err, "no Kube fits")


def documented_flags(unit):
    """The command and flags of a unit's ExecStart."""
    line = re.search(r"^ExecStart=\S+/mistletoe-catalog (.*)$", unit.replace("\\\n", " "), re.M)
    return shlex.split(line[1])


@test(waits=True)
def a_catalog_is_deployed_as_documented(t):
    """Runs the commands of the systemd units, as the account for tests, with files in the test's own places."""
    t.claim_namespace("mistletoe-catalog")
    t.cleanup(lambda: t.kube.request("DELETE", t.kube.path("ClusterRoleBinding", None, "mistletoe-catalog-tests")))
    guide = Guide(t, "docs/catalog-admin.md")
    guide.run()
    files, kubeconfig = guide.files(), ["--kubeconfig", str(guide.directory / "tests.kubeconfig")]
    catalog = Catalog(t)
    command, *flags = documented_flags(files["mistletoe-catalog.service"])
    equal(command, "serve")
    server = catalog.serve(*flags, *kubeconfig)
    token = catalog.account("ann")
    catalog.link(token, "etcd", good(t).url)
    run = catalog.wait_tested("etcd", "1.0.0")
    equal((failed(run), names(run)), ([], STEPS))
    equal(catalog.stop(server), 0, server.log.read_text())
    # The worker beside a server that tests nothing.
    command, *flags = documented_flags(files["worker.ini"])
    equal(command, "worker")
    worker = catalog.start(command, *flags, *kubeconfig)
    t.kube.wait("the worker began", lambda: " worker, data in " in worker.log.read_text())
    equal(catalog.stop(worker), 0, worker.log.read_text())


def documented_calls(page):
    """Its blocks that call curl, also those inside of lists."""
    blocks = re.findall(r"^( *)```sh\n(.*?)^\1```", (ROOT / page).read_text(), re.M | re.S)
    return [script for _, script in blocks if "curl " in script]


@test
def a_catalog_is_called_as_documented(t):
    catalog, name_server = Catalog(t), NameServer(t)
    catalog.serve("--poll-interval", "1h", "--name-server", name_server.address)
    token = catalog.account("ann", "moderator")
    name_server.records["_mistletoe-catalog.example.com"] = [f"{catalog.url} account=ann"]
    repository = Repository(t, "etcd")
    repository.file("deploy/etcd/K3.yaml", "name: etcd\nversion: 1.2.3\n")
    repository.file("deploy/etcd/manifests/a.json", json.dumps(config_map("a")))
    repository.tag("v1.2.3")
    link, yank, own_reviews, domain = documented_calls("docs/catalog.md")
    hide, review = documented_calls("docs/catalog-admin.md")

    def call(script, at=catalog, token=token):
        script = script.replace("https://catalog.example.com", at.url).replace("https://git.example.com/me/etcd.git", repository.url)
        done = subprocess.run(["bash", "-c", 'curl() { command curl --fail-with-body -sS "$@"; }\n' + script], text=True, capture_output=True,
                              env={**t.environment(), "TOKEN": token}, timeout=60)
        equal(done.returncode, 0, f"{script}\n{done.stdout}{done.stderr}")
        return done.stdout

    equal(json.loads(call(link))["name"], "etcd")
    t.kube.wait("the version is there", lambda: catalog.state("etcd", "1.2.3") == "queued")
    call(yank)
    contains(catalog.page("/packages/etcd/1.2.3"), "it loses keys")
    call(domain)
    t.kube.wait("it is proved", lambda: catalog.json("/api/v1/packages/etcd")["domains"] == ["example.com"])
    equal(name_server.asked, ["_mistletoe-catalog.example.com"])
    call(hide)
    contains(catalog.page("/packages/etcd", status=410), "it sends its secrets to another host")
    # Where versions await a review.
    repository.file("deploy/etcd/K3.yaml", "name: etcd\nversion: 1.2.4\n")
    repository.tag("v1.2.4")
    reviewing = Catalog(t, "reviewing")
    reviewing.serve("--poll-interval", "1h", "--review", "every-version")
    ann, mod = reviewing.account("ann"), reviewing.account("mod", "moderator")
    reviewing.link(ann, "etcd", repository.url, "deploy/etcd")
    t.kube.wait("both await a review", lambda: len(json.loads(call(own_reviews, reviewing, ann))["items"]) == 2)
    contains(call(review, reviewing, mod), '"version":"1.2.3"', '"version":"1.2.4"')
    rejected, = json.loads(call(own_reviews, reviewing, ann))["items"]
    equal((rejected["version"], rejected["review"], rejected["reason"]), ("1.2.4", "rejected", "it runs as root"))
    equal(reviewing.state("etcd", "1.2.3"), "queued")


@test
def a_catalog_without_its_schemas_tests_nothing(t):
    """What an installation lacks is no fault of a package."""
    catalog = Catalog(t)
    for name in ("MIST_SCHEMAS_LOCATION", "MIST_ENGINES_LOCATION"):
        t.env[name] = str(t.dir / "nothing")
        for command in (["worker", "--once"], ["serve", "--listen", f"127.0.0.1:{catalog.port}"]):
            contains(catalog.command(*command, "--kubeconfig", t.kubeconfig, code=1), "while getting ready to test packages", name)
        del t.env[name]
    catalog.command("worker", "--once", "--kubeconfig", t.kubeconfig)


SCRIPT = """import kpm

domain = kpm.ask("domain", "Under which domain is it reached?", default="shop.example")
kpm.info(f"for {domain}")
kpm.render("templates/config.yaml.j2", "manifests/config.yaml", domain=domain, key=kpm.password("key"))
"""
TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {url: 'https://{{ domain }}', length: '{{ key | length }}'}
"""


@test(waits=True)
def a_catalog_runs_the_script_of_a_kube_and_draws_its_objects(t):
    catalog = Catalog(t)
    catalog.serve("--kubeconfig", t.kubeconfig, "--poll-interval", "1h")
    token = catalog.account("ann")
    repository = Repository(t, "scripted")
    web = workload("Deployment", "web")
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "config"}}]
    repository.kube("1.0.0", web)
    repository.file("scripts/pre-install.py", SCRIPT)
    repository.file("templates/config.yaml.j2", TEMPLATE)
    repository.tag("v1.0.0")
    catalog.link(token, "scripted", repository.url)
    run = catalog.wait_tested("scripted", "1.0.0")
    equal(failed(run), [], "steps that failed")
    equal(names(run), ["unpack", "pre-install", "lint", "dry run", "install", "tests", "uninstall"])
    step = run["steps"][1]
    equal(step["summary"], "it wrote 1 file")
    contains(step["log"], "for shop.example", "wrote manifests/config.yaml")
    equal(catalog.namespaces(), [], "what the test left")
    equal(run["objects"]["objects"], 2)
    page = catalog.page("/packages/scripted")
    contains(page, "<svg class=\"graph\" role=\"img\"", "2 objects in 2 steps", "class=\"edge\"",
             "<li>Deployment web, after ConfigMap config (")
    contains(catalog.page("/search?q=scripted&state=passed"), "1 package</p>", "href=\"/packages/scripted\"")


def bad_package(t, name, version, *objects, **files):
    repository = Repository(t, name)
    repository.kube(version, *objects)
    for path, text in files.items():
        repository.file(path.replace("__", "/").replace("_dot_", "."), text)
    repository.tag("v1.0.0")
    return repository


@test(waits=True)
def a_catalog_says_at_which_step_a_package_failed(t):
    catalog = Catalog(t)
    catalog.serve("--kubeconfig", t.kubeconfig, "--workers", "2", "--timeout", "8s")
    token = catalog.account("ann")
    keeps = config_map("kept", annotations={"mistletoe.dev/keep": "true"})
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": [],
            "metadata": {"name": f"kept-{t.ns}", "annotations": {"helm.sh/resource-policy": "keep"}}}
    wrong_field = workload("Deployment", "web")
    wrong_field["spec"]["replicsa"] = 2
    cases = {
        # name: (where it fails, words of the summary, the repository's content)
        "wrong-version": ("read", "the tag says 1.0.0", ("2.0.0", config_map("a"))),
        "wrong-yaml": ("lint", "manifests/0.yaml", ("1.0.0", "a: [\n")),
        "wrong-field": ("lint", "replicsa", ("1.0.0", wrong_field)),
        "wrong-name": ("dry run", "", ("1.0.0", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                                                "spec": {"ports": [{"port": 80}], "clusterIP": "10.300.0.1"}})),
        "never-ready": ("install", "", ("1.0.0", workload("Deployment", "web", "pending"))),
        "wrong-test": ("tests", "1 of 1 test", ("1.0.0", config_map("a"), pod_test("smoke", "fail", log="no answer"))),
        "wrong-script": ("pre-install", "no key can be made",
                         ("1.0.0", config_map("a")), "raise SystemExit('no key can be made')\n"),
        "asks": ("pre-install", "give each question a default", ("1.0.0", config_map("a")),
                 "import kpm\nkpm.ask('owner', 'Who owns it?')\n"),
        "needs-host": ("pre-install", "in the sandbox only", ("1.0.0", config_map("a")), "import subprocess\n"),
        "forever": ("pre-install", "time", ("1.0.0", config_map("a")), "while True:\n    pass\n"),
        "stays": ("uninstall", "left", ("1.0.0", keeps)),
        "stays-outside": ("uninstall", "left 1 object", ("1.0.0", role)),
    }
    for name, (_, _, content, *script) in cases.items():
        files = {"scripts__pre-install_dot_py": script[0]} if script else {}
        catalog.link(token, name, bad_package(t, name, *content, **files).url)
    for name, (step, words, *_) in cases.items():
        run = catalog.wait_tested(name, "1.0.0", 150)
        equal(catalog.state(name, "1.0.0"), "failed", name)
        first = failed(run)[0]
        check(first["name"].startswith(step), name, "failed at", first["name"], first["summary"], first["log"])
        contains(first["summary"] + first["log"], words)
        check(str(catalog.data) not in json.dumps(run), name, "shows where the worker's files are")
        contains(catalog.page(f"/packages/{name}/badge.svg"), f"{name}: failed")
        contains(catalog.page(f"/packages/{name}/1.0.0/test"), "<details open>")
        t.note(f"{name}: {first['name']}: {first['summary'][:100]}")
    contains(json.dumps(catalog.json("/api/v1/packages/wrong-test/versions/1.0.0/test")), "no answer")
    equal(catalog.json("/api/v1/index")["kubes"], [], "what failed is not for kpm")
    t.kube.wait("what the tests left is gone", lambda: catalog.namespaces() == [])  # a busy server takes a while
    check(t.kube.get("ClusterRole", None, role["metadata"]["name"]) is None, "what is annotated to be kept stays on the cluster")


def peak_memory(process):
    """The most that a process ever held in memory, in MiB."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1]) // 1024


@test(waits=True)
def a_catalogs_worker_gives_no_package_the_whole_machine(t):
    catalog = Catalog(t)
    server = catalog.serve("--kubeconfig", t.kubeconfig, "--timeout", "60s")
    token = catalog.account("ann")
    bombs = {
        # name: (words of the failure, the script)
        "forks": ("fork", "import os\nwhile True:\n    os.fork()\n"),
        "threads": ("thread", "import threading\nwhile True:\n    threading.Thread(target=lambda: None).start()\n"),
        "memory": ("memory", "text = b'a'\nwhile True:\n    text += text\n"),
        "files": ("no file descriptors", "held = []\nwhile True:\n    held.append(open('K3.yaml'))\n"),
        "disk": ("memory", "with open('manifests/big.yaml', 'wb') as out:\n    while True:\n        out.write(b'#' * 1000000)\n"),
    }
    for name, (_, script) in bombs.items():
        catalog.link(token, name, bad_package(t, name, "1.0.0", config_map("a"), **{"scripts__pre-install_dot_py": script}).url)
    for name, (words, _) in bombs.items():
        run = catalog.wait_tested(name, "1.0.0", 150)
        first = failed(run)[0]
        equal(first["name"], "pre-install", name)
        contains((first["summary"] + first["log"]).lower(), words)
        t.note(f"{name}: {first['summary'][:120]}")
    # All of that in one process, whose memory is bounded; it goes on with the next package.
    equal(server.poll(), None, server.log.read_text())
    peak = peak_memory(server)
    check(peak < 1500, "the worker held", peak, "MiB")
    t.note(f"the worker never held more than {peak} MiB")
    catalog.link(token, "etcd", good(t).url)
    equal(failed(catalog.wait_tested("etcd", "1.0.0")), [])


class EndlessRepository(http.server.BaseHTTPRequestHandler):
    """A repository with the tag v1.0.0, whose pack is one file without end: git's protocol, version 0."""
    COMMIT = "a" * 40

    def log_message(self, *_):
        pass

    def begin(self, kind):
        self.send_response(200)
        self.send_header("Content-Type", f"application/x-git-upload-pack-{kind}")
        self.end_headers()

    def line(self, text):
        self.wfile.write(f"{len(text) + 4:04x}{text}".encode())

    def do_GET(self):
        self.begin("advertisement")
        self.line("# service=git-upload-pack\n")
        self.wfile.write(b"0000")
        self.line(f"{self.COMMIT} refs/tags/v1.0.0\0shallow\n")
        self.wfile.write(b"0000")

    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        self.begin("result")
        self.line(f"shallow {self.COMMIT}\n")
        self.wfile.write(b"0000")
        if b"0009done" not in asked:
            return
        self.line("NAK\n")
        # One file of 2^40 bytes, in blocks that aren't compressed.
        self.wfile.write(b"PACK\0\0\0\2\0\0\0\1" + b"\xb0\x80\x80\x80\x80\x80\x02" + b"\x78\x01")
        block = b"\x00\xff\xff\x00\x00" + b"x" * 0xffff
        try:
            while True:
                self.wfile.write(block * 16)
        except OSError:
            type(self).ended = True


@test(waits=True)
def a_catalog_ends_repositories_without_end(t):
    catalog = Catalog(t)
    server = catalog.serve("--poll-interval", "1h")
    token = catalog.account("ann")
    endless = http.server.ThreadingHTTPServer(("127.0.0.1", 0), EndlessRepository)
    threading.Thread(target=endless.serve_forever, daemon=True).start()
    t.cleanup(endless.shutdown)
    began = time.monotonic()
    catalog.link(token, "endless", f"http://127.0.0.1:{endless.server_port}/endless")
    t.kube.wait("it is decided", lambda: catalog.state("endless", "1.0.0") == "failed", 240)
    step = catalog.json("/api/v1/packages/endless/versions/1.0.0/test")["steps"][0]
    equal(step["name"], "read")
    contains(step["log"], "larger than it may be")
    t.kube.wait("git is gone", lambda: getattr(EndlessRepository, "ended", False), 30)
    t.note(f"it ended after {time.monotonic() - began:.1f} s")
    equal(sum(file.stat().st_size for file in (catalog.data / "cache/repositories").rglob("*") if file.is_file()), 0, "what was fetched")
    # The catalog goes on.
    catalog.link(token, "etcd", good(t).url)
    t.kube.wait("it is queued", lambda: catalog.state("etcd", "1.0.0") == "queued")
    equal(server.poll(), None)


@test(waits=True)
def a_catalog_loses_no_test_when_its_processes_are_killed(t):
    catalog = Catalog(t)
    server = catalog.serve("--poll-interval", "1h")
    token = catalog.account("ann")
    catalog.link(token, "etcd", good(t, delay="4s").url)
    t.kube.wait("it is queued", lambda: catalog.state("etcd", "1.0.0") == "queued")
    worker = catalog.worker("--lease", "2s")
    catalog.wait_begun()
    catalog.stop(worker, signal.SIGKILL)
    equal(catalog.state("etcd", "1.0.0"), "testing")
    equal(catalog.stop(server, signal.SIGKILL), -signal.SIGKILL)
    # Both come again: the lease runs out, and the next attempt first removes what the first left.
    server = catalog.serve("--kubeconfig", t.kubeconfig, "--lease", "2s")
    run = catalog.wait_tested("etcd", "1.0.0")
    equal(failed(run), [])
    equal(run["attempt"], 2)
    equal(catalog.namespaces(), [], "what the killed worker left")
    # The server with its own worker is killed in the middle, too; nothing that was answered is lost.
    status, text, _ = catalog.ask("POST", "/api/v1/packages/etcd/versions/1.0.0/test", token=token)
    equal(status, 202, text)
    catalog.wait_begun()
    catalog.stop(server, signal.SIGKILL)
    server = catalog.serve("--kubeconfig", t.kubeconfig, "--lease", "2s")
    run = catalog.wait_tested("etcd", "1.0.0")
    equal((failed(run), run["attempt"]), ([], 2))
    equal(catalog.namespaces(), [])
    # A worker that is told to stop removes what it made, and its test waits for the next.
    status, text, _ = catalog.ask("POST", "/api/v1/packages/etcd/versions/1.0.0/test", token=token)
    equal(status, 202, text)
    catalog.wait_begun()
    equal(catalog.stop(server), 0, server.log.read_text())
    t.kube.wait("it is cleaned up", lambda: not catalog.namespaces(), 30)
    catalog.serve()
    equal(catalog.state("etcd", "1.0.0"), "queued")


def raw(catalog, data, seconds=5):
    """What comes back for these bytes, until the other side closes."""
    with socket.create_connection(("127.0.0.1", catalog.port), timeout=seconds) as connection:
        connection.sendall(data)
        got = b""
        while piece := connection.recv(65536):
            got += piece
        return got.decode(errors="replace")


@test
def a_catalog_withstands_hostile_clients(t):
    catalog = Catalog(t)
    catalog.serve()
    token = catalog.account("ann")
    # Requests whose end is unclear.
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    for head in (b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip, chunked\r\n",
                 b"Content-Length: 0\r\nContent-Length: 40\r\n", b"Transfer-Encoding:\x0bchunked\r\n"):
        answer = raw(catalog, b"POST /api/v1/projects HTTP/1.1\r\nHost: a\r\n" + head + b"\r\n0\r\n\r\n" + smuggled)
        check(answer.startswith("HTTP/1.1 400") and "smuggled" not in answer, head, answer)
    # Bodies that are too large, deep, or no JSON.
    status, _, _ = catalog.ask("POST", "/api/v1/projects", "x" * (2 << 20), token, {"Content-Type": "application/json"})
    equal(status, 413)
    for body in ("[" * 100_000, '{"name": "a", "url": ' + '"x"' * 3 + "}", "\xff", '{"a": 1' + ',"b": 2' * 50_000 + "}"):
        status, text, _ = catalog.ask("POST", "/api/v1/projects", body.encode("latin-1"), token, {"Content-Type": "application/json"})
        equal(status, 400, text)
    # A hundred clients that send a byte now and then hold nobody up.
    slow = [socket.create_connection(("127.0.0.1", catalog.port)) for _ in range(100)]
    for connection in slow:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
    began = time.monotonic()
    for _ in range(20):
        for connection in slow:
            try:
                connection.sendall(b"x")
            except OSError:
                pass
        catalog.page("/")
    check(time.monotonic() - began < 10, "slow clients held the others up")
    for connection in slow:
        connection.close()
    # SQL and paths.
    for name in ("etcd'--", "etcd';DROP TABLE versions;--", "..%2f..%2fcatalog.db", "%2e%2e", "a%00b", "%ff"):
        equal(catalog.ask("GET", f"/packages/{name.replace(' ', '%20').replace(chr(39), '%27')}")[0], 404, name)
    for query in ("%27%20OR%201=1--", "%22", "NEAR(a%20b)", "*", "a%22%20OR%20%22b", "%00"):
        equal(catalog.ask("GET", f"/search?q={query}")[0], 200, query)
    # Repositories of this machine are for a catalog that allows them; never with credentials or as options.
    for url in ("--upload-pack=touch /tmp/x", "ext::sh -c id", "https://u:p@example.com/a", "git://example.com/a"):
        status, text, _ = catalog.ask("POST", "/api/v1/projects", {"name": "a", "url": url}, token)
        equal(status, 400, text)
    equal(catalog.json("/api/v1/projects", token)["items"], [])


@test
def a_catalog_runs_without_configuration_and_is_backed_up(t):
    catalog = Catalog(t)
    server = catalog.serve()
    contains(catalog.page("/"), "There is nothing yet", "Mistletoe catalog")
    token = catalog.account("ann")
    repository = good(t)
    catalog.link(token, "etcd", repository.url)
    t.kube.wait("it is queued", lambda: catalog.state("etcd", "1.0.0") == "queued")
    digest = catalog.version("etcd", "1.0.0")["digest"]
    backup = t.dir / "backup"
    catalog.command("backup", str(backup))
    contains(catalog.command("backup", str(backup), code=1), "is there already")
    equal(catalog.stop(server), 0)
    contains(catalog.command("restore", str(backup), code=1), "is there already")
    catalog.data = t.dir / "restored"
    catalog.command("restore", str(backup))
    catalog.serve()
    equal(catalog.version("etcd", "1.0.0")["digest"], digest)
    equal(catalog.ask("GET", f"/api/v1/blobs/{digest}")[0], 200)
    equal(catalog.json("/api/v1/projects", token)["items"][0]["name"], "etcd")
    for mode, path in ((0o700, catalog.data), (0o600, catalog.data / "catalog.db")):
        equal(pathlib.Path(path).stat().st_mode & 0o777, mode, path)
    contains(catalog.command("user", "add", "Ann!", code=1), "can't be the name of an account")
    contains(catalog.command("token", "create", "nobody", code=1), "there is no account nobody")
    contains(catalog.command("frobnicate", code=2), "there is no command frobnicate")


@test(waits=True)
def search_finds_what_a_catalog_has_and_installs_it_by_that_name(t):
    catalog = Catalog(t)
    server = catalog.serve("--kubeconfig", t.kubeconfig, "--poll-interval", "1h")
    token = catalog.account("ann")
    repository = good(t)
    project = catalog.link(token, "etcd", repository.url)
    # Plain YAML, which kpm doesn't know.
    plain = Repository(t, "plain")
    plain.file("deploy/settings.yaml", json.dumps(config_map("settings")))
    plain.tag("2.0.0")
    catalog.link(token, "plain", plain.url, "deploy")
    for name, version in (("etcd", "1.0.0"), ("plain", "2.0.0")):
        equal(failed(catalog.wait_tested(name, version)), [], name)
    t.run("registry", "remove", "mistletoe")
    t.run("registry", "add", "community", "--catalog", catalog.url)
    contains(t.run("registry", "list").out, "community", "catalog", catalog.url)

    def found(*arguments):
        return [each["reference"] for each in t.run("search", *arguments, "-o", "json").json["packages"]]
    equal(found("alone"), ["community/etcd:1.0.0"])
    equal(found("--kind", "Deployment"), ["community/etcd:1.0.0"])
    equal(found("--maintainer", "ann"), ["community/etcd:1.0.0"])
    equal(sorted(found()), ["community/etcd:1.0.0", "community/plain:2.0.0"])
    for name, reference in (("etcd", found("etcd")[0]), ("plain", found("plain")[0])):
        t.run("install", name, "-p", reference, "--wait")
        contains(t.run("history", name).out, reference.partition(":")[2])
        t.run("uninstall", name, "--yes", "--wait")
    equal(catalog.json("/api/v1/packages/etcd/downloads")["installs"], {"total": 0, "last30Days": 0}, "nobody chose to report")
    # Once a day for each package, where the user wants it.
    configuration = t.dir / "home/config.yaml"
    configuration.write_text(configuration.read_text().replace("spec:\n", "spec:\n  countInstalls: true\n"))
    t.run("kpm", "archive-add", "--service", "catalog", catalog.url)
    t.run("kpm", "update")
    t.run("install", "etcd", "-p", "community/etcd:1.0.0", "--dry-run")
    equal(catalog.json("/api/v1/packages/etcd/downloads")["installs"]["total"], 0, "a dry run is no install")
    asked = []
    for number, command in enumerate((("install", "one", "-p", "community/etcd:^1"), ("install", "two", "-p", "community/etcd:1.0.0"),
                                      ("kpm", "install", "etcd", "--force", "--name", "three"))):
        asked.append(t.run(*command, "--wait", "-v").err.count("POST "  + catalog.url))
        t.run("uninstall", ("one", "two", "three")[number], "--yes", "--wait")
    equal((sum(asked), catalog.json("/api/v1/packages/etcd/downloads")["installs"]["total"]), (1, 1), asked)
    # Nothing is asked again while nothing changes, and what is new comes with --refresh.
    log = t.run("search", "etcd", "--refresh", "-v").err
    equal(len(re.findall(r"GET http://127", log)), 1, log)
    contains(log, "/mistletoe-index/v1 304")
    check("GET http" not in t.run("search", "etcd", "-v").err, "a search asks nobody")
    repository.kube("1.1.0", config_map("settings"), description="One Etcd, alone")
    repository.tag("v1.1.0")
    equal(catalog.call_webhook(project), 202)
    catalog.wait_tested("etcd", "1.1.0")
    equal(found("etcd"), ["community/etcd:1.0.0"])
    equal(found("etcd", "--refresh"), ["community/etcd:1.1.0"])
    contains(t.run("registry", "update", "community").out, "community", "none", "2", "3")
    # A yanked version isn't found, and is no newest one, but still is what it was.
    equal(catalog.ask("PUT", "/api/v1/packages/etcd/versions/1.1.0/yank", {"reason": "it loses keys"}, token)[0], 204)
    equal(found("etcd", "--refresh"), ["community/etcd:1.0.0"])
    contains(t.run("generate", "etcd", "-p", "community/etcd:^1").out, "Deployment")
    named = t.run("generate", "etcd", "-p", "community/etcd:1.1.0")
    contains(named.out, "ConfigMap")
    contains(named.err, "community/etcd:1.1.0 was yanked: it loses keys")
    t.refused("generate", "etcd", "-p", "community/etcd:3.0.0", says=["no version 3.0.0 of etcd", "1.0.0"])
    copied = t.run("mirror", "community/etcd:^1", "--to", "oci-layout:copies", "-o", "json").json
    equal([each["from"].split("/", 3)[3].split("@")[0] for each in copied["artifacts"]], ["etcd:1.0.0", "mistletoe-index.jsonl:index"])
    expected = t.run("generate", "etcd", "-p", "community/etcd:1.0.0").out
    # A package that was used once needs no catalog.
    equal(catalog.stop(server), 0, server.log.read_text())
    contains(t.run("generate", "etcd", "-p", "community/etcd:1.1.0").out, "ConfigMap")
    equal(found("etcd"), ["community/etcd:1.0.0"])
    contains(t.run("search", "etcd", "--refresh").err, "community is searched as it was read last")
    # Another machine has the mirror alone.
    t.env["MIST_HOME_LOCATION"] = str(t.dir / "away")
    t.env["KPM_HOME"] = str(t.dir / "away-kpm")
    t.run("registry", "remove", "mistletoe")
    t.run("registry", "add", "community", "--catalog", catalog.url)
    t.run("kpm", "archive-add", "--service", "before", catalog.url)
    host = catalog.url.partition("://")[2]
    contains(t.run("registry", "mirror", "add", host, "oci-layout:copies", "--mirrors-only").err,
             "the archive before of kpm can't be updated any more")
    configuration = t.dir / "away/config.yaml"
    configuration.write_text(configuration.read_text().replace("spec:\n", "spec:\n  countInstalls: true\n"))
    equal(t.run("generate", "etcd", "-p", "community/etcd:^1").out, expected)
    equal(found("etcd"), ["community/etcd:1.0.0"])
    t.refused("generate", "etcd", "-p", "community/etcd:1.1.0", says=["there is no community/etcd:1.1.0 in the mirrors of"])
    installed = t.run("install", "four", "-p", "community/etcd:1.0.0", "--wait", "-v").err
    check("POST " + catalog.url not in installed, installed)
    contains(installed, "the catalog isn't told: the configuration allows only mirrors of " + catalog.url)
    t.run("uninstall", "four", "--yes", "--wait")
    t.refused("kpm", "update", says=["the archive before can't be asked what it has", "mirrors have no archives of kpm"])
    t.refused("kpm", "archive-add", "--service", "more", catalog.url,
              says=["the archive more can't be asked what it has", f"mistctl registry add more --catalog {catalog.url}"])
