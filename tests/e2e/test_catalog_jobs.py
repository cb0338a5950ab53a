"""Workers whose tests run as Jobs of a second cluster. It has no nodes, so the test is the kubelet: it runs what the Pods say, here, with
the files of their Secrets, and writes their status."""
import base64
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import threading

import kube
from catalog import Catalog
from guides import ROOT
from harness import check, config_map, contains, equal, kubeconfig_text, test
from test_catalog import bad_package, failed, good, names

NAMESPACE = "catalog-jobs"
# Pods are on no node, so the API server would forget one as soon as it is deleted, whatever still runs.
HOLD = "example.com/kubelet"
SECRET, WORK = "/var/run/mistletoe-catalog", "/work"


class JobsCluster:
    """As docs/catalog-admin.md makes it."""

    def __init__(self, t, catalog):
        self.t, self.catalog, self.directory = t, catalog, t.dir / "jobs-cluster"
        t.cleanup(lambda: subprocess.run([t.devcluster, "down", "--dir", self.directory], capture_output=True, check=False))
        subprocess.run([t.devcluster, "up", "-q", "--dir", self.directory, "--nodes", "0", "--parent-pid", str(os.getpid())], check=True,
                       stdout=subprocess.DEVNULL)
        self.kube = kube.Kube(self.directory)
        page = (ROOT / "docs/catalog-admin.md").read_text()
        objects = t.file("catalog-jobs.yaml", re.search(r"<!-- file: catalog-jobs\.yaml -->\n```yaml\n(.*?)^```", page, re.M | re.S)[1])
        subprocess.run([t.devcluster, "kubectl", "--dir", self.directory, "apply", "-f", objects], check=True, stdout=subprocess.DEVNULL)
        answer = self.kube.checked("POST", self.kube.path("ServiceAccount", NAMESPACE, "worker") + "/token",
                                   {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}})
        self.kubeconfig = t.file("jobs.kubeconfig", kubeconfig_text(self.kube.server, {"token": answer["status"]["token"]}, self.kube.ca,
                                                                    NAMESPACE))

    def worker(self, *flags):
        return self.catalog.worker("--jobs-kubeconfig", self.kubeconfig, "--jobs-image", "registry.example.com/catalog:1",
                                   "--url", self.catalog.url, *flags)

    def jobs(self):
        return self.kube.list("Job", NAMESPACE)


class Kubelet:
    """Runs the Pods of that namespace until the test ends."""

    def __init__(self, t, cluster):
        self.t, self.cluster, self.kube = t, cluster, cluster.kube
        self.evict = 0  # so many Pods, in place of running them
        self.began, self.running, self.most = [], {}, 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        t.cleanup(self.end)

    def end(self):
        self.stop.set()
        self.thread.join()
        for process in self.running.values():
            process.kill()
            process.wait()

    def run(self):
        while not self.stop.wait(0.2):
            for pod in self.kube.list("Pod", NAMESPACE):
                # One that goes meanwhile.
                with contextlib.suppress(kube.ApiError):
                    self.look_after(pod)

    def look_after(self, pod):
        uid, dying = pod["metadata"]["uid"], "deletionTimestamp" in pod["metadata"]
        process = self.running.get(uid)
        if process is None:
            if uid not in self.began and not dying:
                self.start(pod)
            elif dying:
                self.remove(pod)
            return
        if dying and process.poll() is None and not getattr(process, "told", False):
            process.told = True
            process.send_signal(signal.SIGTERM)
        if process.poll() is not None:
            del self.running[uid]
            self.write_status(pod, "Succeeded" if process.returncode == 0 else "Failed", {"exitCode": process.returncode})
            if dying:
                self.remove(pod)

    def start(self, pod):
        uid, spec = pod["metadata"]["uid"], pod["spec"]
        secret = self.kube.get("Secret", NAMESPACE, spec["volumes"][0]["secret"]["secretName"])
        if secret is None:
            return  # it is tried again, as by a kubelet
        self.began.append(uid)
        self.hold(pod, {"finalizers": [HOLD]})
        if self.evict:
            self.evict -= 1
            self.write_status(pod, "Failed", None, reason="Evicted", message="The node was low on resource: memory.")
            return
        home = self.t.dir / f"pod-{len(self.began)}"
        for name, value in secret["data"].items():
            (home / "secret").mkdir(parents=True, exist_ok=True)
            (home / "secret" / name).write_bytes(base64.b64decode(value))
        equal(spec["containers"][0]["command"][0], "mistletoe-catalog")
        self.write_status(pod, "Running", None)
        with (home / "log").open("wb") as log:
            self.running[uid] = self.begin(home, spec["containers"][0]["command"], log)
        self.most = max(self.most, len(self.running))

    def begin(self, home, command, log):
        """The process of a Pod, whose files are in `home`."""
        here = [word.replace(SECRET, str(home / "secret")).replace(WORK, str(home / "work")) for word in command[1:]]
        return subprocess.Popen([self.cluster.catalog.program, *here], env=self.t.environment() | {"HOME": str(home)},
                                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def write_status(self, pod, phase, terminated, **more):
        containers = [{"name": "test", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
                       "state": {"terminated": terminated}}] if terminated else []
        self.kube.checked("PATCH", self.kube.path("Pod", NAMESPACE, pod["metadata"]["name"]) + "/status",
                          {"status": {"phase": phase, "containerStatuses": containers, **more}}, "application/merge-patch+json")

    def hold(self, pod, change):
        self.kube.checked("PATCH", self.kube.path("Pod", NAMESPACE, pod["metadata"]["name"]), {"metadata": change},
                          "application/strategic-merge-patch+json")

    def remove(self, pod):
        self.hold(pod, {"$deleteFromPrimitiveList/finalizers": [HOLD]})
        self.kube.request("DELETE", self.kube.path("Pod", NAMESPACE, pod["metadata"]["name"]) + "?gracePeriodSeconds=0")

    def logs(self):
        return "\n".join(f"{path.relative_to(self.t.dir)}:\n{path.read_text()}"
                         for path in [*sorted(self.t.dir.glob("catalog-*.log")), *sorted(self.t.dir.glob("pod-*/log"))])


def begin(t, *flags, kubelet=Kubelet):
    catalog = Catalog(t)
    catalog.serve("--poll-interval", "1h")
    cluster = JobsCluster(t, catalog)
    return catalog, cluster, kubelet(t, cluster), cluster.worker(*flags)


def wait_passed(catalog, kubelet, name, attempt):
    try:
        run = catalog.wait_tested(name, "1.0.0", 240)
    except AssertionError as late:
        raise AssertionError(f"{late}\nPods:\n{kubelet.logs()}") from late
    equal((failed(run), run["attempt"]), ([], attempt), kubelet.logs())
    equal(kubelet.most, 1, "tests at once")
    equal(catalog.namespaces(), [], "what the test left")
    return run


@test(waits=True)
def a_catalog_tests_packages_in_jobs_of_another_cluster(t):
    catalog, cluster, kubelet, worker = begin(t, "--lease", "5s")
    token = catalog.account("ann")
    catalog.link(token, "etcd", good(t, delay="4s").url)
    job = t.kube.wait("its Job is there", cluster.jobs)[0]
    # Its token and the kubeconfig are in the Secret alone; the namespace refuses Pods that aren't restricted.
    secret = t.kube.wait("its Secret is there", lambda: cluster.kube.get("Secret", NAMESPACE, job["metadata"]["name"]))
    shown = json.dumps(job) + json.dumps(cluster.kube.list("Pod", NAMESPACE))
    values = {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
    check(values["token"] not in shown and t.token not in shown, "a secret is in clear")
    equal(secret["metadata"]["ownerReferences"][0]["uid"], job["metadata"]["uid"])
    check(values["token"].encode() not in pathlib.Path(f"/proc/{worker.pid}/cmdline").read_bytes(), "in a command line")
    equal(job["spec"]["backoffLimit"], 0)
    run = wait_passed(catalog, kubelet, "etcd", 1)
    equal(names(run), ["unpack", "lint", "dry run", "install", "tests", "uninstall"])
    contains([step["log"] for step in run["steps"] if step["name"] == "unpack"][0], "isolation: a Pod of a Kubernetes Job")
    t.kube.wait("the Job is gone", lambda: not cluster.jobs())
    t.kube.wait("so is its Secret", lambda: not cluster.kube.list("Secret", NAMESPACE))
    # The token is worth nothing any more.
    equal(catalog.ask("GET", "/tasks/mine", token=values["token"])[0], 404)
    equal(catalog.ask("GET", "/tasks/mine")[0], 403)
    # A package that fails does so as everywhere.
    catalog.link(token, "wrong", bad_package(t, "wrong", "1.0.0", "a: [\n").url)
    equal(failed(catalog.wait_tested("wrong", "1.0.0", 180))[0]["name"], "lint")
    # A worker that is told to end leaves its Job to the next one.
    equal(catalog.stop(worker), 0, worker.log.read_text())


@test(waits=True)
def a_catalogs_worker_that_was_killed_goes_on_with_its_jobs(t):
    catalog, cluster, kubelet, worker = begin(t, "--lease", "3s")
    catalog.link(catalog.account("ann"), "etcd", good(t, delay="8s").url)
    catalog.wait_begun()
    uid = cluster.jobs()[0]["metadata"]["uid"]
    catalog.stop(worker, signal.SIGKILL)
    worker = cluster.worker("--lease", "3s")
    t.kube.wait("the worker found it", lambda: "of an earlier worker; their tests go on" in worker.log.read_text())
    t.kube.wait("and goes on", lambda: "goes on with the Job" in worker.log.read_text())
    equal([job["metadata"]["uid"] for job in cluster.jobs()], [uid])
    run = wait_passed(catalog, kubelet, "etcd", 2)
    equal(len(run["steps"]), len({step["name"] for step in run["steps"]}), "a step is there twice")
    equal(len(kubelet.began), 1, "Pods that ran")
    # One that was told everything while no worker was there.
    catalog.stop(worker, signal.SIGKILL)
    worker = cluster.worker("--lease", "3s")
    token = catalog.command("token", "create", "ann").strip()
    equal(catalog.ask("POST", "/api/v1/packages/etcd/versions/1.0.0/test", token=token)[0], 202)
    t.kube.wait("it runs again", lambda: len(kubelet.began) == 2 and kubelet.running)
    catalog.stop(worker, signal.SIGKILL)
    t.kube.wait("its Pod has ended", lambda: not kubelet.running)
    cluster.worker("--lease", "3s")
    wait_passed(catalog, kubelet, "etcd", 2)
    equal(len(kubelet.began), 2, "Pods that ran")


@test(waits=True)
def a_catalogs_job_that_is_deleted_or_fails_gives_its_test_back(t):
    catalog, cluster, kubelet, worker = begin(t, "--lease", "3s")
    kubelet.evict = 1
    token = catalog.account("ann")
    catalog.link(token, "evicted", bad_package(t, "evicted", "1.0.0", config_map("a")).url)
    wait_passed(catalog, kubelet, "evicted", 2)
    contains(worker.log.read_text(), "ended before the test did", "Evicted: The node was low on resource")
    # Its Pod is told to end, and removes what it made; only then does the next one begin.
    began = len(kubelet.began)
    catalog.link(token, "etcd", good(t, delay="8s").url)
    catalog.wait_begun()
    name = cluster.jobs()[0]["metadata"]["name"]
    cluster.kube.request("DELETE", cluster.kube.path("Job", NAMESPACE, name) + "?propagationPolicy=Background")
    wait_passed(catalog, kubelet, "etcd", 2)
    equal(len(kubelet.began), began + 2, "Pods that ran")
    # Whichever the worker sees first: that the Job is gone, or the last words of its Pod.
    check(re.search("was deleted before the test ended|was told to end before the test did", worker.log.read_text()),
          worker.log.read_text())


@test
def a_catalogs_jobs_need_what_they_say(t):
    catalog = Catalog(t)
    jobs = ["worker", "--jobs-kubeconfig", t.kubeconfig]
    contains(catalog.command(*jobs, code=2), "--jobs-kubeconfig needs --kubeconfig", "try: add --kubeconfig FILE")
    contains(catalog.command(*jobs, "--kubeconfig", t.kubeconfig, code=2), "--jobs-kubeconfig needs --jobs-image", "tools/image.sh catalog")
    jobs += ["--kubeconfig", t.kubeconfig, "--jobs-image", "i"]
    contains(catalog.command(*jobs, code=2), "--jobs-kubeconfig needs --url", "try: add --url URL")
    jobs += ["--url", "http://127.0.0.1:1"]
    contains(catalog.command(*jobs, "--isolation", "none", code=2), "--isolation is not with --jobs-kubeconfig", "try: leave it out")
    contains(catalog.command(*jobs, "--workers", "2", code=2), "--workers is not with --jobs-kubeconfig", "try: leave it out: --jobs-at-once")
    own = ["worker", "--kubeconfig", t.kubeconfig]
    contains(catalog.command(*own, "--jobs-image", "i", code=2), "only with --jobs-kubeconfig", "try: name the cluster of the Jobs")
    contains(catalog.command(*own, "--jobs-at-once", "2", code=2), "only with --jobs-kubeconfig", "--workers N")
    # A Pod whose catalog doesn't know its token.
    secret = t.dir / "secret"
    secret.mkdir()
    contains(catalog.command("worker", "--task", str(secret), code=1), "url")
    catalog.serve()
    (secret / "url").write_text(catalog.url)
    (secret / "token").write_text("mct_of-nobody")
    contains(catalog.command("worker", "--task", str(secret), code=1), "answered 404")
