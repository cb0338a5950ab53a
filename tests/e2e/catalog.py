"""A mistletoe-catalog of one test: its processes, its accounts, its REST API, and git repositories that it reads."""
import contextlib
import functools
import hashlib
import hmac
import http.client
import json
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

from harness import check, equal

SECONDS = 90


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Catalog:
    """Data in the test's directory. `serve` and `worker` run until stop() or the end of the test."""

    def __init__(self, t, name="catalog", database=None):
        """`name` of its directory; `database`: the URL of one that isn't there."""
        self.t = t
        self.name = name
        self.database = database
        self.program = str(pathlib.Path(t.mistctl).with_name("mistletoe-catalog"))
        self.data = t.dir / name
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.processes = []
        t.cleanup(self.stop_all)

    def environment(self):
        return self.t.environment() | ({"MISTLETOE_CATALOG_DATABASE": self.database} if self.database else {})

    def command(self, *arguments, code=0):
        done = subprocess.run([self.program, *arguments, "--data", self.data], env=self.environment(), text=True,
                              capture_output=True, timeout=60, check=False)
        equal(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def start(self, *arguments):
        log = self.t.dir / f"{self.name}-{len(self.processes)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen([self.program, *arguments, "--data", self.data], env=self.environment(),
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        process.log = log
        self.processes.append(process)
        return process

    def serve(self, *flags):
        process = self.start("serve", "--listen", f"127.0.0.1:{self.port}", "--allow-private-repositories", *flags)
        self.t.kube.wait("the catalog answers", lambda: self.answers(process))
        return process

    def answers(self, process):
        check(process.poll() is None, "it ended:", process.log.read_text())
        try:
            return self.ask("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def worker(self, *flags):
        return self.start("worker", "--kubeconfig", self.t.kubeconfig, *flags)

    def stop(self, process, by=signal.SIGTERM):
        if process.poll() is None:
            process.send_signal(by)
        return process.wait(timeout=60)

    def stop_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    def account(self, name, role="author"):
        """A new account's token."""
        self.command("user", "add", name, "--role", role)
        return self.command("token", "create", name).strip()

    # -- HTTP

    def ask(self, method, path, body=None, token=None, headers=None):
        """(status, text, headers)"""
        sent = dict(headers or {})
        if token:
            sent["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers
        finally:
            connection.close()

    def json(self, path, token=None, status=200):
        got, text, _ = self.ask("GET", path, token=token)
        equal(got, status, text)
        return json.loads(text)

    def page(self, path, status=200):
        got, text, _ = self.ask("GET", path)
        equal(got, status, text)
        return text

    def link(self, token, name, repository, path=""):
        status, text, _ = self.ask("POST", "/api/v1/projects", {"name": name, "url": repository, "path": path}, token)
        equal(status, 201, text)
        return json.loads(text)

    def call_webhook(self, project):
        """As GitHub does."""
        body = json.dumps({"ref": "refs/tags/v1.0.0"})
        signature = hmac.new(project["webhook"]["secret"].encode(), body.encode(), hashlib.sha256).hexdigest()
        return self.ask("POST", f"/api/v1/hooks/{project['name']}", body,
                        headers={"Content-Type": "application/json", "X-Hub-Signature-256": f"sha256={signature}"})[0]

    def version(self, name, version):
        status, text, _ = self.ask("GET", f"/api/v1/packages/{name}/versions/{version}")
        return json.loads(text) if status == 200 else None

    def state(self, name, version):
        """That of its newest test, which may be one beside a result that holds."""
        found = self.version(name, version)
        return found and (found["newTest"] or found["state"])

    def wait_tested(self, name, version, seconds=SECONDS):
        """Its steps, once the test is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.state(name, version) in ("passed", "failed"):
                return self.json(f"/api/v1/packages/{name}/versions/{version}/test")
            time.sleep(0.2)
        logs = "\n".join(process.log.read_text() for process in self.processes)
        raise AssertionError(f"{name} {version} is {self.state(name, version)} after {seconds} s:\n{logs}")

    def wait_begun(self, seconds=180):
        """Until the namespace of a test is there."""
        end = time.monotonic() + seconds
        while not self.namespaces():
            logs = "\n".join(process.log.read_text() for process in self.processes)
            check(time.monotonic() < end, "no test began:", logs)
            time.sleep(0.05)

    @functools.cached_property
    def instance(self):
        """Its name in the names of its tests' namespaces."""
        with contextlib.closing(sqlite3.connect(self.data / "catalog.db")) as database:
            return database.execute("SELECT value FROM settings WHERE name = 'instance'").fetchone()[0]

    def namespaces(self):
        """Of its tests, that are there now."""
        return [item["metadata"]["name"] for item in self.t.kube.list("Namespace", None)
                if item["metadata"]["name"].startswith(f"catalog-{self.instance}-")]


class Repository:
    """A git repository with one Kube."""

    def __init__(self, t, name):
        self.t, self.name = t, name
        self.directory = t.dir / "repositories" / name
        self.directory.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.directory, "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments],
                       check=True, capture_output=True)

    @property
    def url(self):
        return f"file://{self.directory}"

    def file(self, path, text):
        target = self.directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def kube(self, version, *objects, **k3):
        shutil.rmtree(self.directory / "manifests", ignore_errors=True)
        self.file("K3.yaml", json.dumps({"name": self.name, "version": version, **k3}, indent=1))
        for number, item in enumerate(objects):
            self.file(f"manifests/{number}.yaml", item if isinstance(item, str) else json.dumps(item, indent=1))

    def tag(self, name):
        self.git("add", "--all")
        self.git("commit", "-q", "-m", name)
        self.git("tag", name)
