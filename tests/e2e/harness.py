"""What a test gets: a cluster's namespaces, an identity and a home of its own, mistctl, and cleaning up."""
import base64
import hashlib
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import traceback

import ending
from hints import lost_context
from kube import ApiError

USERS = "e2e-users"  # the namespace of the tests' identities
COMMAND_SECONDS = 120
TESTS = []


def test(function=None, *, full=False, waits=False):
    """Registers a test; `full`: only with --full; `waits`: it mostly waits, so it runs beside the others."""
    def register(function):
        function.waits = waits
        TESTS.append((function.__name__, function, full))
        return function
    return register(function) if function else register


class Skipped(Exception):
    """A test that can't run on this machine; its text says why."""


def check(condition, *because):
    if not condition:
        raise AssertionError(" ".join(str(part) for part in because) or "not so")


def equal(actual, expected, what=""):
    if actual != expected:
        raise AssertionError(f"{what}: is\n  {actual!r}\nand should be\n  {expected!r}")


def contains(text, *pieces):
    for piece in pieces:
        if piece not in text:
            raise AssertionError(f"{piece!r} is not in:\n{text}")


class Outcome:
    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return f"$ {' '.join(self.command)}\n{self.out}{self.err}[exit {self.code}]"


def kubeconfig_text(server, user, ca=None, namespace="default", **cluster):
    cluster = {"server": server, **cluster}
    if ca:
        cluster["certificate-authority"] = ca
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
    })


def namespace_name(name, longest=50):
    """Long names of tests may begin alike."""
    if len(name) <= longest:
        return name
    return f"{name[:longest - 7].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


class T:
    def __init__(self, name, mistctl, cluster):
        self.name = name.replace("_", "-")
        self.mistctl = mistctl
        self.devcluster = cluster.devcluster
        self.cluster_directory = cluster.directory
        self.kube = cluster.kube
        self.audit = cluster.audit
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="mist-e2e-")).resolve()
        self.ns = namespace_name(f"e2e-{self.name}")
        self._namespaces, self._cleanups, self._processes = [], [], []
        self._transcript, self._lock = [], threading.Lock()
        self.notes = []
        self.env = {}  # of mistctl, besides what environment() sets
        self.namespace()
        self.user, self.token = self.identity("admin", administrator=True)
        self.kubeconfig = self.file("kubeconfig", kubeconfig_text(self.kube.server, {"token": self.token},
                                                                  self.kube.ca, self.ns))

    # -- the world

    def namespace(self, suffix="", create=True):
        """A namespace of this test, removed with it; by default it exists."""
        name = f"{self.ns}-{suffix}" if suffix else self.ns
        if name not in self._namespaces:
            self._namespaces.append(name)
        if create:
            self.kube.namespace(name)
        return name

    def claim_namespace(self, name):
        """A namespace of exactly this name, which a document uses: it is not there now, and is removed with the test."""
        self.kube.wait(f"namespace {name} is gone", lambda: self.kube.get("Namespace", None, name) is None)
        self._namespaces.append(name)

    def identity(self, suffix, administrator=False):
        """A user that nobody else is: (its name in the audit log, its token)."""
        name = f"{self.ns}-{suffix}"[:63]
        if administrator:
            self.kube.create("ClusterRoleBinding", None, {
                "metadata": {"name": f"{USERS}-{name}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", "namespace": USERS, "name": name}]})
            self.cleanup(lambda: self.kube.delete("ClusterRoleBinding", None, f"{USERS}-{name}"))
        self.kube.create("ServiceAccount", USERS, {"metadata": {"name": name}})
        self.cleanup(lambda: self.kube.delete("ServiceAccount", USERS, name))
        answer = self.kube.checked("POST", self.kube.path("ServiceAccount", USERS, name) + "/token",
                                   {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                    "spec": {"expirationSeconds": 3600}})
        return f"system:serviceaccount:{USERS}:{name}", answer["status"]["token"]

    def file(self, path, content):
        target = self.dir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            target.write_text(content)
        target.chmod(0o600)
        return str(target)

    def package(self, name, *objects):
        """A directory of Kubernetes YAML (JSON is YAML), one file an object; replaces what it held."""
        directory = self.dir / "packages" / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        for number, item in enumerate(objects):
            text = item if isinstance(item, str) else json.dumps(item, indent=1)
            (directory / f"{number:05}.yaml").write_text(text)
        return str(directory)

    def files(self, name, files):
        """A directory of these files, {path: text}; replaces what it held."""
        directory = self.dir / "packages" / name
        shutil.rmtree(directory, ignore_errors=True)
        for path, text in files.items():
            self.file(directory / path, text)
        return str(directory)

    def cleanup(self, action):
        self._cleanups.append(action)

    # -- mistctl

    def environment(self, kubeconfig=None, **more):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.dir), "LC_ALL": "C.UTF-8", "TERM": "dumb",
                "MIST_HOME_LOCATION": str(self.dir / "home"), "KUBECONFIG": kubeconfig or self.kubeconfig, **self.env, **more}

    def start(self, *arguments, kubeconfig=None, term_ms=None, stdin=subprocess.DEVNULL):
        """mistctl in the background; finish() waits for it."""
        ending.go_on()
        more = {"MIST_LOCK_TERM_MS": str(term_ms)} if term_ms else {}
        process = subprocess.Popen([self.mistctl, *arguments], env=self.environment(kubeconfig, **more), stdin=stdin,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir)
        self._processes.append(process)
        return process

    def finish(self, process, code=None, seconds=COMMAND_SECONDS):
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"still running after {seconds} s: {' '.join(process.args)}\n{err.decode()}")
        outcome = Outcome(["mistctl", *process.args[1:]], process.returncode, out.decode(), err.decode())
        with self._lock:
            self._transcript.append(str(outcome))
        # A wrong command line is answered with the line as it should be, and help with examples.
        if outcome.code != 2 and not {"help", "--help", "--help-all"} & set(outcome.command):
            lost = lost_context(outcome.command, outcome.err)
            check(not lost, f"hints that lead elsewhere: {lost}\n{outcome}")
        if code is not None and outcome.code != code:
            raise AssertionError(f"the exit code should be {code}:\n{outcome}")
        if outcome.code < 0 and outcome.code != -signal.SIGKILL:
            raise AssertionError(f"mistctl died of signal {-outcome.code}:\n{outcome}")
        return outcome

    def run(self, *arguments, code=0, seconds=COMMAND_SECONDS, **options):
        """code=None: any exit code, but no crash."""
        return self.finish(self.start(*arguments, **options), code, seconds)

    def refused(self, *arguments, says=(), code=1, **options):
        """A command that must fail with a message in which each of `says` stands."""
        outcome = self.run(*arguments, code=code, **options)
        contains(outcome.err, "error: ", *says)
        return outcome

    # -- what happened

    def mark(self):
        return self.audit.mark()

    def requests(self, mark, user=None):
        return self.audit.since(mark, user or self.user)

    def owned(self, release, kinds=("ConfigMap", "Secret", "Service", "Deployment"), namespace=None):
        """{"Kind/name"} of the live objects that carry the release's annotation."""
        found = set()
        for kind in kinds:
            for item in self.kube.list(kind, namespace or self.ns):
                annotations = item["metadata"].get("annotations", {})
                if annotations.get("mistletoe.dev/release", "").endswith(f"/{release}"):
                    found.add(f"{kind}/{item['metadata']['name']}")
        return found

    def record(self, release, namespace=None):
        """Names of the Secrets of the release's record."""
        items = self.kube.list("Secret", namespace or self.ns, f"mistletoe.dev/release-name={release}")
        return sorted(item["metadata"]["name"] for item in items)

    def lock(self, release):
        anchor = self.kube.get("Secret", self.ns, f"mistletoe.{release}")
        return anchor and anchor["metadata"]["annotations"].get("mistletoe.dev/lock")

    def note(self, text):
        """Printed with the test's result: figures that a person wants to see."""
        self.notes.append(text)

    # -- the end

    def transcript(self):
        return "\n".join(text if len(text) < 800 else text[:500] + "\n…\n" + text[-200:]
                         for text in self._transcript[-4:])

    def _held_kinds(self):
        """What an operator puts finalizers on."""
        kinds = ["ConfigMap"]
        for definition in self.kube.list("CustomResourceDefinition"):
            spec = definition["spec"]
            if self.ns in spec["group"] or spec["group"] == "mistletoe.dev":
                kinds += [f"/apis/{spec['group']}/{each['name']}/{spec['names']['plural']}"
                          for each in spec["versions"] if each["served"]][:1]
        return kinds

    def _let_go(self, namespace, kinds):
        """Removes the finalizers that an operator, which has ended, left on blueprints and instances: namespaces that can never
        end are tried again and again, and hold up those of other tests."""
        for kind in kinds:
            status, answer = self.kube.request("GET", self.kube.path(kind, namespace))
            for item in answer["items"] if status == 200 else ():
                if "finalizers" in item["metadata"]:
                    self.kube.request("PATCH", self.kube.path(kind, namespace, item["metadata"]["name"]),
                                      {"metadata": {"finalizers": None}}, "application/merge-patch+json")

    def close(self):
        """Stops and removes everything; what fails here fails the test."""
        problems = []
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdout, process.stderr, process.stdin):
                if pipe:
                    pipe.close()
        for action in reversed(self._cleanups):
            try:
                action()
            except Exception:
                problems.append(traceback.format_exc())
        kinds = self._held_kinds()
        for name in self._namespaces:
            try:
                self.kube.delete("Namespace", None, name)
                self._let_go(name, kinds)
            except (ApiError, OSError):
                problems.append(traceback.format_exc())
        shutil.rmtree(self.dir, ignore_errors=True)
        check(not problems, "cleaning up failed:\n" + "\n".join(problems))


# -- objects

def config_map(name, data=None, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata},
            "data": data if data is not None else {"key": name}}


def refused_when_written(t, name, *after):
    """An object that the server takes when it is asked about it, and refuses when it is written, after these others: what
    can't be known before."""
    policy, label = "refused-when-written", "e2e.example.com/refused"
    rules = [{"apiGroups": ["coordination.k8s.io"], "apiVersions": ["v1"], "resources": ["leases"], "operations": ["CREATE", "UPDATE"]}]
    for kind, spec in (
            ("ValidatingAdmissionPolicy", {
                "failurePolicy": "Fail",
                "validations": [{"expression": "has(request.dryRun) && request.dryRun", "message": "it was refused when it was written"}],
                "matchConstraints": {"objectSelector": {"matchLabels": {label: "yes"}}, "resourceRules": rules}}),
            ("ValidatingAdmissionPolicyBinding", {"policyName": policy, "validationActions": ["Deny"]})):
        # For all tests, and as long as the cluster lives.
        t.kube.request("POST", t.kube.path(kind), {"metadata": {"name": policy}, "spec": spec})
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "labels": {label: "yes"}}, "spec": {}}
    probe = {**lease, "metadata": {**lease["metadata"], "name": "probe-of-the-policy"}}
    place = t.kube.path("/apis/coordination.k8s.io/v1/leases", t.ns)

    def is_refused():
        status, _ = t.kube.request("POST", place, probe)
        if status < 300:
            t.kube.request("DELETE", f"{place}/{probe['metadata']['name']}")
        return status == 422
    t.kube.wait("the policy is enforced", is_refused)
    if after:
        lease["metadata"]["annotations"] = {"mistletoe.dev/after": ", ".join(after)}
    return lease


def secret(name, value="hidden-value", **metadata):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **metadata},
            "data": {"password": base64.b64encode(value.encode()).decode()}}


def certificate(t):
    """For a server on 127.0.0.1 that the cluster calls: (its TLS context, what verifies it, in PEM)."""
    done = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                           "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                           "-keyout", "server.key", "-out", "server.crt"], cwd=t.dir, capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(t.dir / "server.crt", t.dir / "server.key")
    return tls, (t.dir / "server.crt").read_bytes()


def definition(group, plural, kind, schema=None, **metadata):
    """A CustomResourceDefinition with the version v1; without a schema its objects may have any field."""
    schema = schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}", **metadata},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


def workload(kind, name, state=None, replicas=1, annotations=None, pod_spec=None, **spec):
    """A Deployment, StatefulSet, DaemonSet or Job whose Pods behave as devcluster's annotations say."""
    labels = {"app": name}
    pod = {"metadata": {"labels": labels},
           "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}}
    if state or annotations:
        pod["metadata"]["annotations"] = {**({"mistletoe.dev/dev-state": state} if state else {}), **(annotations or {})}
    pod["spec"].update(pod_spec or {})
    if kind == "Job":
        pod["spec"]["restartPolicy"] = "Never"
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": name}, "spec": {"template": pod, **spec}}
    body = {"selector": {"matchLabels": labels}, "template": pod, **spec}
    if kind != "DaemonSet":
        body["replicas"] = replicas
    if kind == "StatefulSet":
        body["serviceName"] = name
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}
