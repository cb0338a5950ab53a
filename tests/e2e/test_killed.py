"""kill -9 at every kind of moment: the next command finishes the work, nothing is orphaned and nothing doubled.

A proxy counts requests and kills mistctl at the k-th: either before that request reaches the API server, or after the
server did it but before mistctl knows.
"""
import concurrent.futures
import os
import signal
import threading

from harness import check, config_map, contains, equal, kubeconfig_text, secret, test
from proxy import Drop, Proxy

TERM_MS = 1000  # of the lock of who gets killed: the next command waits that long


class Killer:
    """mistctl through a proxy, killed at request `k` (None: never); `count` is how many requests were seen."""

    def __init__(self, t, k=None, answered=False, number=signal.SIGKILL):
        self._target, self._ready, self._number = None, threading.Event(), number
        self._killed = False

        def kill(number, method, path):
            if k is None or number < k:
                return
            if number == k:
                self._ready.wait()
                self._killed = True
                os.kill(self._target.pid, self._number)
            if self._number == signal.SIGKILL:
                raise Drop  # it is dead: nothing that it sends later may arrive

        self._proxy = Proxy(t.kube, t.token, **{"after" if answered else "before": kill})
        kubeconfig = t.file(f"kubeconfig-{self._proxy.url.rsplit(':', 1)[1]}",
                            kubeconfig_text(self._proxy.url, {}, namespace=t.ns))
        self._t, self._kubeconfig, self._k = t, kubeconfig, k

    def run(self, *arguments):
        """The outcome; if `k` was never reached (what the server serves was still known), the command was done."""
        process = self._t.start(*arguments, kubeconfig=self._kubeconfig, term_ms=TERM_MS)
        self._target = process
        self._ready.set()
        try:
            outcome = self._t.finish(process)
            if self._number == signal.SIGKILL:
                equal(outcome.code, -signal.SIGKILL if self._killed else 0, f"exit code; {outcome}")
            return outcome
        finally:
            self.count = self._proxy.count
            self._proxy.stop()
            os.remove(self._kubeconfig)


def objects(release, version):
    """Version 1 has one object less, one more, one changed, one unchanged."""
    common = [config_map(f"{release}-same"), secret(f"{release}-changed", f"value-{version}"),
              {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{release}-web"},
               "spec": {"ports": [{"port": 80 + version}], "selector": {"app": release}}}]
    return common + [config_map(f"{release}-only-{version}")]


def expected(release, version):
    return {f"{item['kind']}/{item['metadata']['name']}" for item in objects(release, version)}


def is_whole(t, release, version, revisions):
    """Exactly what was asked, once; a record without rubbish; nobody holds the lock."""
    equal(t.owned(release), expected(release, version), f"objects of {release}")
    check(t.lock(release) in (None, ""), f"{release} is still locked: {t.lock(release)}")
    status = t.run("status", release, "-o", "json").json
    equal(status["status"], "deployed", release)
    equal({(o["kind"], o["health"]) for o in status["objects"]} - {("ConfigMap", "ready"), ("Secret", "ready"),
                                                                 ("Service", "ready")}, set(), "health")
    names = t.record(release)
    check(f"mistletoe.{release}" in names, names)
    check(len(names) <= revisions + 1, f"too many records: {names}")


def is_gone(t, release):
    equal(t.owned(release), set(), f"objects of {release} that are left")
    equal(t.record(release), [], f"records of {release} that are left")


def points(t, total, dense, *, step):
    """(k, answered) for each moment to try: all, or about `step` of them, the first and last included."""
    chosen = range(1, total + 1) if dense else sorted({1 + round(i * (total - 1) / (step - 1)) for i in range(step)})
    return [(k, answered) for k in chosen for answered in ((False, True) if dense else (k % 2 == 0,))]


def sweep(t, total, dense, one, step=8):
    """one(k, answered, release) for each moment; each has a release of its own, some at once: they mostly wait."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = {(k, answered): pool.submit(one, k, answered, f"r{k}{'b' if answered else 'a'}")
                for k, answered in points(t, total, dense, step=step)}
        for moment, run in runs.items():
            try:
                run.result()
            except AssertionError as failure:
                raise AssertionError(f"killed at request {moment[0]}, "
                                     f"{'after' if moment[1] else 'before'} it was done: {failure}") from failure


def killed_install(t, dense):
    measured = Killer(t)
    equal(measured.run("install", "measure", "-p", t.package("measure", *objects("measure", 0))).code, 0)

    def one(k, answered, release):
        package = t.package(release, *objects(release, 0))
        Killer(t, k, answered).run("install", release, "-p", package)
        listed = t.run("status", release, code=None)  # reading never breaks or repairs
        check(listed.code in (0, 1), listed)
        again = t.run("install", release, "-p", package, "--lock-wait", "10s", code=None)
        if again.code != 0:  # only the answer was lost
            contains(again.err, "exists already")
        is_whole(t, release, 0, 2)
        t.run("uninstall", release, "--yes")
        is_gone(t, release)

    sweep(t, measured.count, dense, one)


def killed_upgrade(t, dense):
    def installed(release):
        package = t.package(release, *objects(release, 0))
        t.run("install", release, "-p", package)
        return t.package(release, *objects(release, 1))

    package = installed("measure")
    measured = Killer(t)
    equal(measured.run("upgrade", "measure", "-p", package).code, 0)

    def one(k, answered, release):
        package = installed(release)
        Killer(t, k, answered).run("upgrade", release, "-p", package)
        if k % 3 == 0:  # away with it, whatever state it is in
            t.run("uninstall", release, "--yes", "--lock-wait", "10s")
        else:
            t.run("upgrade", release, "-p", package, "--lock-wait", "10s")
            is_whole(t, release, 1, 3)
            t.run("uninstall", release, "--yes")
        is_gone(t, release)

    sweep(t, measured.count, dense, one)


def killed_uninstall(t, dense):
    def installed(release):
        t.run("install", release, "-p", t.package(release, *objects(release, 0)))

    installed("measure")
    measured = Killer(t)
    equal(measured.run("uninstall", "measure", "--yes").code, 0)

    def one(k, answered, release):
        installed(release)
        Killer(t, k, answered).run("uninstall", release, "--yes")
        again = t.run("uninstall", release, "--yes", "--lock-wait", "10s", code=None)
        if again.code != 0:  # it was through; what counts is that nothing is left
            contains(again.err, "does not exist")
        is_gone(t, release)

    sweep(t, measured.count, dense, one)


@test
def killed_in_install(t):
    killed_install(t, dense=False)


@test
def killed_in_upgrade(t):
    killed_upgrade(t, dense=False)


@test
def killed_in_uninstall(t):
    killed_uninstall(t, dense=False)


@test(full=True)
def killed_in_install_everywhere(t):
    killed_install(t, dense=True)


@test(full=True)
def killed_in_upgrade_everywhere(t):
    killed_upgrade(t, dense=True)


@test(full=True)
def killed_in_uninstall_everywhere(t):
    killed_uninstall(t, dense=True)


def interrupted(t, k, verb, release, package):
    """SIGINT at request k, whose answer it still gets; what mistctl said."""
    arguments = ["uninstall", release, "--yes"] if verb == "uninstall" else [verb, release, "-p", package]
    return Killer(t, k, number=signal.SIGINT).run(*arguments)


@test
def interrupted_install_frees_the_lock_and_resumes(t):
    measured = Killer(t)
    equal(measured.run("install", "measure", "-p", t.package("measure", *objects("measure", 0))).code, 0)

    def one(k, _, release):
        package = t.package(release, *objects(release, 0))
        outcome = interrupted(t, k, "install", release, package)
        if outcome.code == 0:  # nothing was left to do when it noticed
            check(k >= measured.count - 3, "not interrupted:", outcome)
        else:
            equal(outcome.code, 130, f"exit code; {outcome}")
            contains(outcome.err, "stopped on request")
            check(t.lock(release) in (None, ""), f"still locked: {t.lock(release)}")
            record = t.kube.get("Secret", t.ns, f"mistletoe.{release}")
            if record and f"mistletoe.{release}.v0" in t.record(release):
                status = t.run("status", release, "-o", "json").json
                # "pending" when the record was written but its answer came too late.
                check(status["status"] in ("failed", "pending"), status)
                equal(status["lockedBy"], None, "lock")
                check(status["unfinished"], "status doesn't say that the revision is unfinished:", status)
            t.run("install", release, "-p", package)  # at once: no lock to wait for
        is_whole(t, release, 0, 2)

    sweep(t, measured.count, False, one, step=10)


@test
def a_process_that_was_stopped_and_wakes_up_too_late(t):
    """Stopped in the middle of its writes, as a sleeping laptop is, while somebody takes its lock over: when it wakes
    up it must notice before it begins another write. What it had under way may still arrive: no lease can help that."""
    many, at_once = 80, 32
    start = [config_map(f"c{i:02}", {"key": "start"}) for i in range(many)]
    t.run("install", "shop", "-p", t.package("start", *start))
    sleeper = t.package("a", *(config_map(f"c{i:02}", {"key": "a"}) for i in range(many)))
    second = t.package("b", *(config_map(f"c{i:02}", {"key": "b"}) for i in range(many)))
    stopped, ready, writes = threading.Event(), threading.Event(), []

    def stop_it(number, method, path):
        if method == "PATCH" and "/configmaps/" in path:
            writes.append(path)
            if len(writes) == 5:
                ready.wait()
                os.kill(process.pid, signal.SIGSTOP)
                stopped.set()

    proxy = Proxy(t.kube, t.token, after=stop_it)
    t.cleanup(proxy.stop)
    kubeconfig = t.file("kubeconfig-sleeper", kubeconfig_text(proxy.url, {}, namespace=t.ns))
    process = t.start("upgrade", "shop", "-p", sleeper, kubeconfig=kubeconfig, term_ms=TERM_MS)
    ready.set()
    check(stopped.wait(60), "it never wrote")
    t.run("upgrade", "shop", "-p", second, "--lock-wait", "10s")
    os.kill(process.pid, signal.SIGCONT)
    woken = t.finish(process, code=1)
    contains(woken.err, "lock")
    data = [item["data"]["key"] for item in t.kube.list("ConfigMap", t.ns)
            if item["metadata"]["name"] != "kube-root-ca.crt"]
    equal(set(data) - {"a", "b"}, set(), "objects")
    check(data.count("a") < at_once, f"it went on: {data.count('a')} objects of the second one were overwritten")
    status = t.run("status", "shop", "-o", "json").json
    equal((status["status"], status["lockedBy"]), ("deployed", None), "the release")
    # The next run sees what differs, and mends it.
    t.run("upgrade", "shop", "-p", second)
    equal({item["data"]["key"] for item in t.kube.list("ConfigMap", t.ns)
           if item["metadata"]["name"] != "kube-root-ca.crt"}, {"b"}, "after one more upgrade")
