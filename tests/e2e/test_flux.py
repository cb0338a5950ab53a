"""Flux itself applies what `mistctl publish` makes: its source-controller and kustomize-controller run as processes."""
import itertools
import json
import re
import shutil
import subprocess

from guides import Guide
from harness import Skipped, check, config_map, contains, equal, kubeconfig_text, test
from registries import PASSWORD, ROOT, USER, Registry, basic
from test_publish import printed
from test_remotes import served
from test_signatures import keys

CONTROLLERS = ("source-controller", "kustomize-controller")
SOURCE = "/apis/source.toolkit.fluxcd.io/v1/ocirepositories"
GIT = "/apis/source.toolkit.fluxcd.io/v1/gitrepositories"
KUSTOMIZATION = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
SECONDS = 120
FIRST = """replicas: 3
motd: "on: \\"é\\"\\n# no comment\\n"
"""
MOTD = """{{- with .Values.motd }}
apiVersion: v1
kind: ConfigMap
metadata: {name: motd}
data: {text: {{ . | quote }}, "yes": "1e3", "0755": "on"}
{{- end }}
"""


class Flux:
    """Both controllers, for this test's namespace alone; they and their CRDs end with the test."""

    def __init__(self, t):
        if not shutil.which("go"):
            raise Skipped("Flux's controllers are built with Go, and there is no 'go' in PATH")
        self.t, self.logs, self.processes = t, [], []
        self.requested = itertools.count(1)
        programs = [self.program(name) for name in CONTROLLERS]
        for name in CONTROLLERS:
            self.define(name)
        self.user, token = t.identity("flux", administrator=True)
        # Their objects have finalizers, which only they remove; after a failure nobody does.
        t.cleanup(self.let_go)
        t.cleanup(self.stop)
        kubeconfig = t.file("flux/kubeconfig", kubeconfig_text(t.kube.server, {"token": token}, t.kube.ca))
        for directory in ("artifacts", "tmp"):
            (t.dir / "flux" / directory).mkdir()
        own = {"source-controller": [f"--storage-path={t.dir}/flux/artifacts", "--storage-addr=127.0.0.1:0"],
               "kustomize-controller": ["--requeue-dependency=2s"]}
        for name, program in zip(CONTROLLERS, programs):
            self.logs.append(t.dir / "flux" / f"{name}.log")
            with self.logs[-1].open("wb") as log:
                self.processes.append(subprocess.Popen(
                    [program, "--watch-all-namespaces=false", "--metrics-addr=0", "--health-addr=0", "--log-encoding=console", *own[name]],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env={"PATH": "/usr/bin:/bin", "HOME": str(t.dir / "flux"), "TMPDIR": str(t.dir / "flux/tmp"),
                         "KUBECONFIG": kubeconfig, "RUNTIME_NAMESPACE": t.ns}))

    @staticmethod
    def program(name):
        built = subprocess.run([ROOT / "tests/registries/build.sh", name], capture_output=True, text=True)
        check(built.returncode == 0, built.stderr[-2000:])
        return built.stdout.strip()

    def define(self, name):
        """The CRDs lie in the controller's module."""
        module = subprocess.run(["go", "mod", "download", "-json", f"github.com/fluxcd/{name}"], capture_output=True, text=True,
                                cwd=ROOT / "tests/registries" / name)
        check(module.returncode == 0, module.stdout, module.stderr)
        definitions = json.loads(module.stdout)["Dir"] + "/config/crd/bases"
        self.t.cleanup(lambda: self.kubectl("delete", "--ignore-not-found", "-f", definitions))
        self.kubectl("apply", "--server-side", "-f", definitions)
        self.kubectl("wait", "--for=condition=Established", f"--timeout={SECONDS}s", "-f", definitions)

    def kubectl(self, *arguments, text=None):
        done = subprocess.run([self.t.devcluster, "kubectl", "--dir", str(self.t.cluster_directory), *arguments], input=text,
                              capture_output=True, text=True)
        check(done.returncode == 0, "kubectl", *arguments, done.stdout, done.stderr)

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def let_go(self):
        """Deletes their objects."""
        for kind in (KUSTOMIZATION, SOURCE, GIT):
            for item in self.t.kube.list(kind, self.t.ns):
                self.t.kube.delete(kind, self.t.ns, item["metadata"]["name"])
                self.t.kube.request("PATCH", self.t.kube.path(kind, self.t.ns, item["metadata"]["name"]),
                                    {"metadata": {"finalizers": None}}, "application/merge-patch+json")

    def wait(self, what, condition):
        def holds():
            check(all(process.poll() is None for process in self.processes), "a controller has ended")
            return condition()
        try:
            return self.t.kube.wait(what, holds, SECONDS)
        except AssertionError as failure:
            conditions = [f"{item['kind']} {item['metadata']['name']}: {each['type']} {each['status']}: {each['message']}"
                          for kind in (SOURCE, GIT, KUSTOMIZATION) for item in self.t.kube.list(kind, self.t.ns)
                          for each in item.get("status", {}).get("conditions", ())]
            logs = [line for log in self.logs for line in log.read_text().splitlines()[-15:]]
            raise AssertionError("\n".join([str(failure), *conditions, *logs])) from None

    def get(self, kind, name):
        return self.t.kube.get(kind, self.t.ns, name)

    def request(self, kind, name):
        """Asks for what the interval would bring, as `flux reconcile` does, and waits for its end."""
        value = str(next(self.requested))
        self.t.kube.patch(kind, self.t.ns, name, {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": value}}})

        def handled():
            found = self.get(kind, name)
            return found.get("status", {}).get("lastHandledReconcileAt") == value and found
        return self.wait(f"{kind} {name} was looked at again", handled)

    def applied(self, name, revision):
        """Waits until the Kustomization has applied this revision, and pruned; returns its status."""
        def done():
            found = self.get(KUSTOMIZATION, name)
            status = found.get("status", {})
            ready = [each["status"] for each in status.get("conditions", ()) if each["type"] == "Ready"]
            return status.get("lastAppliedRevision") == revision and ready == ["True"] and status
        return self.wait(f"{name} is applied at {revision}", done)

    def wrote(self, mark):
        """Its writes, except of its own objects and events."""
        own = ("ocirepositories", "gitrepositories", "kustomizations", "events")
        return [each for each in self.t.requests(mark, self.user) if each.writes and each.resource not in own]


def is_what_is_rendered(flux, name, namespace, rendered):
    """The Kustomization's objects are exactly these, field by field: if the controller applied them now as they are, it would add no
    field, change none, and give up none that isn't the default anyway."""
    kube = flux.t.kube
    for each in rendered:
        body = json.loads(json.dumps(each))
        body["metadata"]["namespace"] = namespace
        body["metadata"].setdefault("labels", {}).update({"kustomize.toolkit.fluxcd.io/name": name,
                                                          "kustomize.toolkit.fluxcd.io/namespace": flux.t.ns})
        path = kube.path(each["kind"], namespace, each["metadata"]["name"])
        query = "fieldManager=kustomize-controller&force=true&dryRun=All"
        would = kube.checked("PATCH", f"{path}?{query}", body, "application/apply-patch+yaml")
        live = kube.checked("GET", path)
        # It owns defaults too, such as a port's protocol, which it adds itself.
        for found in (would, live):
            del found["metadata"]["managedFields"]
            # Controllers may write it meanwhile.
            del found["metadata"]["resourceVersion"]
            found.pop("status", None)
        equal(live, would, f"{each['kind']} {each['metadata']['name']}")
    entries = flux.get(KUSTOMIZATION, name)["status"]["inventory"]["entries"]
    expected = ["_".join((namespace, each["metadata"]["name"], each["apiVersion"].rpartition("/")[0], each["kind"])) for each in rendered]
    equal(sorted(entry["id"] for entry in entries), sorted(expected), "the inventory")


class Pipeline:
    """The scripts and objects of docs/gitops.md, for a chart with values in a repository."""

    def __init__(self, t, target, **replaced):
        self.t, self.target, self.guide = t, target, Guide(t, "docs/gitops.md")
        self.guide.run()
        # The servers of a test speak plain HTTP.
        replaced |= {"-n shop": f"-n {target}", "targetNamespace: shop": f"targetNamespace: {target}", "flux-system": t.ns,
                     "create namespace shop": f"create namespace {target}", "-u ci": f"-u {USER}", "-u flux": f"-u {USER}",
                     "ref: {tag: prod}": "ref: {tag: prod}\n  insecure: true"}
        self.files = self.guide.files()
        for name, text in self.files.items():
            for old, new in replaced.items():
                text = text.replace(old, new)
            self.files[name] = text
            self.guide.file(name, text)
        self.shell("git config --global user.email a@example.com && git config --global user.name a && git init -q -b main && "
                   "mistctl package init shop --template chart && rm shop/values.schema.json && printf '*.key\\nseed.json\\n' > .gitignore")
        self.guide.file("shop/templates/motd.yaml", MOTD)
        self.shell(f"export REGISTRY_PASSWORD={PASSWORD} PULL_PASSWORD={PASSWORD} && "
                   "sh -e namespace.sh && sh -e login.sh && sh -e pull.sh")

    def shell(self, script):
        code, output = self.guide.shell(script)
        check(code == 0, output)
        return output.strip()

    def commit(self, prod):
        """With these values; returns the commit."""
        self.guide.file("prod.yaml", prod)
        self.shell("git add -A . && git commit -q --allow-empty -m Change")
        return self.shell("git rev-parse HEAD")

    def publish(self):
        """Returns the digest."""
        return re.search(r"shop:prod@(sha256:[0-9a-f]{64})", self.shell("sh -e publish.sh"))[1]

    def compare(self):
        return self.shell("sh -e compare.sh")

    def rendered(self):
        """The objects that `mistctl generate` prints, without the chart's test."""
        files = self.guide.directory
        shown = self.t.run("generate", "shop", "-p", str(files / "shop"), "-f", str(files / "prod.yaml"), "-n", self.target,
                           "--seed-file", str(files / "seed.json"), "-o", "json").json["items"]
        return [each for each in shown if "test" not in each["metadata"].get("annotations", {}).get("helm.sh/hook", "")]


@test(full=True, waits=True)
def flux_applies_what_is_published(t):
    flux, registry = Flux(t), Registry(t, auth=basic(t))
    server, _ = served(t.dir)
    t.cleanup(server.stop)
    job = Pipeline(t, t.namespace("shop", create=False), **{
        "registry.example": registry.host, "https://git.example/team/deploy.git\n": f"http://127.0.0.1:{server.port}/origin.git\n"})
    from_a_registry(t, flux, job)
    only_what_is_signed(t, flux, job)
    from_git(t, flux, job)
    versions_and_digests(t, flux, registry)


def from_a_registry(t, flux, job):
    commit, digest = job.commit(FIRST), job.publish()
    flux.kubectl("apply", "-f", "-", text=job.files["flux.yaml"])
    equal(flux.applied("shop", f"prod@{digest}")["lastAppliedOriginRevision"], f"main@sha1:{commit}")
    artifact = flux.get(SOURCE, "shop")["status"]["artifact"]
    equal(artifact["metadata"]["org.opencontainers.image.source"], "https://git.example/team/deploy.git")
    equal(artifact["metadata"]["org.opencontainers.image.revision"], f"main@sha1:{commit}")
    rendered = job.rendered()
    equal(sorted(each["kind"] for each in rendered), ["ConfigMap", "Deployment", "Service"])
    is_what_is_rendered(flux, "shop", job.target, rendered)

    # A job that publishes the same again leaves Flux nothing to do, neither with the source nor with the objects.
    mark = t.mark()
    equal(job.publish(), digest)
    equal(flux.request(SOURCE, "shop")["status"]["artifact"], artifact)
    equal(flux.request(KUSTOMIZATION, "shop")["status"]["lastAppliedRevision"], f"prod@{digest}")
    equal(flux.wrote(mark), [])
    # A commit that changes no object is a new revision, and Flux writes no object either.
    contains(job.compare(), "no differences, 3 unchanged")
    commit, digest = job.commit(FIRST), job.publish()
    flux.request(SOURCE, "shop")
    equal(flux.applied("shop", f"prod@{digest}")["lastAppliedOriginRevision"], f"main@sha1:{commit}")
    equal(flux.wrote(mark), [])

    # The second version under the same tag: one object changes, another one is gone.
    job.commit("replicas: 5\n")
    contains(job.compare(), "changed Deployment shop", "removed ConfigMap motd")
    digest = job.publish()
    flux.request(SOURCE, "shop")
    flux.applied("shop", f"prod@{digest}")
    equal([(each.verb, each.resource, each.name) for each in flux.wrote(mark)],
          [("patch", "deployments", "shop"), ("delete", "configmaps", "motd")])
    equal(t.kube.get("Deployment", job.target, "shop")["spec"]["replicas"], 5)
    equal(t.kube.get("ConfigMap", job.target, "motd"), None)
    is_what_is_rendered(flux, "shop", job.target, job.rendered())
    contains(job.compare(), "no differences, 2 unchanged")


def only_what_is_signed(t, flux, job):
    """With a public key Flux asks no transparency log."""
    keys(t, "release", "other")
    for name in ("release.pub", "release.key", "other.key"):
        job.guide.file(name, (t.dir / name).read_text())
    job.shell("chmod 600 *.key && sh -e verify.sh")
    job.commit("replicas: 7\n")
    digest = job.publish()

    def verified(status, says):
        flux.request(SOURCE, "shop")
        found = {each["type"]: each for each in flux.get(SOURCE, "shop")["status"]["conditions"]}
        check("SourceVerified" in found, found)
        found = found["SourceVerified"]
        equal(found["status"], status, found["message"])
        contains(found["message"], says)
    verified("False", "no matching signatures")
    job.shell(job.files["sign.sh"].replace("release.key", "other.key"))
    verified("False", "no matching signatures")
    equal(t.kube.get("Deployment", job.target, "shop")["spec"]["replicas"], 5)
    job.shell("sh -e sign.sh")
    verified("True", digest)
    flux.applied("shop", f"prod@{digest}")
    equal(t.kube.get("Deployment", job.target, "shop")["spec"]["replicas"], 7)

    t.kube.delete(KUSTOMIZATION, t.ns, "shop")
    flux.wait("nothing of shop is left", lambda: not flux.get(KUSTOMIZATION, "shop") and not t.kube.get("Deployment", job.target, "shop"))


def from_git(t, flux, job):
    job.shell("git init -q --bare -b main ../origin.git && git remote add origin ../origin.git && git push -q origin main && "
              "git clone -q ../origin.git ../begin && cp begin.sh .. && cd ../begin && sh -e ../begin.sh")
    for number, (prod, kinds) in enumerate(((FIRST, ["ConfigMap", "Deployment", "Service"]), ("replicas: 5\n", ["Deployment", "Service"]))):
        job.commit(prod)
        job.shell(f"git push -q origin main && git clone -q ../origin.git ../job-{number}/checkout && "
                  f"cp -p seed.json ../job-{number}/checkout && cd ../job-{number}/checkout && sh -e render.sh")
        if number == 0:
            flux.kubectl("apply", "-f", "-", text=job.files["flux-git.yaml"])
        flux.request(GIT, "shop")
        flux.applied("shop", "rendered@sha1:" + job.shell("git ls-remote -q origin rendered").split()[0])
        rendered = job.rendered()
        equal(sorted(each["kind"] for each in rendered), kinds)
        is_what_is_rendered(flux, "shop", job.target, rendered)
    equal(t.kube.get("ConfigMap", job.target, "motd"), None)


def versions_and_digests(t, flux, registry):
    def publish(version):
        package = t.package("plain", config_map("plain", {"version": version}))
        return printed(t, "publish", "publish", package, registry(f"deploy/plain:{version}"))["digest"]

    def is_applied(revision, version):
        flux.request(SOURCE, "plain")
        flux.applied("plain", revision)
        equal(t.kube.get("ConfigMap", t.ns, "plain")["data"], {"version": version})

    digests = {version: publish(version) for version in ("1.0.0", "1.1.0")}
    t.kube.create(SOURCE, t.ns, {
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": {"name": "plain"},
        "spec": {"url": registry("deploy/plain"), "ref": {"semver": "^1"}, "secretRef": {"name": "registry"}, "interval": "10m",
                 "insecure": True}})
    t.kube.create(KUSTOMIZATION, t.ns, {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "plain"},
        "spec": {"sourceRef": {"kind": "OCIRepository", "name": "plain"}, "path": "./", "targetNamespace": t.ns, "prune": True,
                 "interval": "10m"}})
    is_applied(f"1.1.0@{digests['1.1.0']}", "1.1.0")
    digests |= {version: publish(version) for version in ("1.2.0", "2.0.0")}
    is_applied(f"1.2.0@{digests['1.2.0']}", "1.2.0")
    t.kube.patch(SOURCE, t.ns, "plain", {"spec": {"ref": {"semver": None, "digest": digests["1.0.0"]}}})
    is_applied(digests["1.0.0"], "1.0.0")
