"""SIGSTOP in the middle of an install, undone by somebody else, then SIGCONT: nothing is left that no record names.

What mistctl had queued it must not send. What was sent in time may still arrive late, by a proxy that holds it: then
whoever comes next finds it.
"""
import json
import os
import random
import signal
import threading
import time

from harness import check, config_map, contains, equal, kubeconfig_text, test, workload
from proxy import Proxy

TERM_MS = 1000
OBJECTS = 30


class Holder:
    """A proxy that holds some requests, applies of ConfigMaps if nothing else is said, until it lets them go."""

    def __init__(self, t, method="PATCH", part="/configmaps/"):
        self.waiting, self.go, self.passed, self._lock = threading.Event(), threading.Event(), 0, threading.Lock()
        self._is_held = lambda asked, path: asked == method and part in path and "dryRun" not in path
        self._proxy = Proxy(t.kube, t.token, before=self._before, after=self._after)
        self.kubeconfig = t.file("kubeconfig-held", kubeconfig_text(self._proxy.url, {}, namespace=t.ns))
        t.cleanup(self._proxy.stop)
        t.cleanup(self.go.set)
        self.held = 0

    def _before(self, number, method, path):
        if self._is_held(method, path):
            with self._lock:
                self.held += 1
            self.waiting.set()
            self.go.wait()

    def _after(self, number, method, path):
        if self._is_held(method, path):
            with self._lock:
                self.passed += 1

    def let_go(self, t):
        self.go.set()
        t.kube.wait("what was held has arrived", lambda: self.passed >= self.held)

    def stop(self, t, process):
        """Stops the process once something of it is held."""
        if not self.waiting.wait(30):
            process.terminate()
            t.finish(process)  # what it said belongs to the transcript
            check(False, "nothing came")
        os.kill(process.pid, signal.SIGSTOP)
        t.cleanup(lambda: process.poll() is None and os.kill(process.pid, signal.SIGCONT))


def stopped_install(t, release, kubeconfig=None, when=lambda: None):
    package = t.package(release, *[config_map(f"{release}-{i}") for i in range(OBJECTS)])
    process = t.start("install", release, "-p", package, kubeconfig=kubeconfig, term_ms=TERM_MS)
    when()
    os.kill(process.pid, signal.SIGSTOP)
    t.cleanup(lambda: process.poll() is None and os.kill(process.pid, signal.SIGCONT))
    return process, package


def undo(t, release):
    undone = t.run("recover", release, "--undo", "--yes", "--lock-wait", "20s", code=None)
    if undone.code != 0:
        contains(undone.err, "does not exist")
    ended = "has nothing unfinished" in undone.out
    if ended:  # it had ended before it was stopped
        t.run("uninstall", release, "--yes")
    equal((t.owned(release), t.record(release)), (set(), []), "after it was undone")
    return ended


@test(waits=True)
def what_arrives_late_is_deleted_by_who_sent_it(t):
    holder = Holder(t)
    process, _ = stopped_install(t, "web", holder.kubeconfig, lambda: check(holder.waiting.wait(30), "nothing came"))
    undo(t, "web")
    holder.let_go(t)
    check(t.owned("web"), "they came after it was undone")
    os.kill(process.pid, signal.SIGCONT)
    outcome = t.finish(process, 1)
    contains(outcome.err, "the lock of release", "arrived after")
    equal((t.owned("web"), t.record("web")), (set(), []), f"after it went on: {outcome}")


@test(waits=True)
def what_arrives_when_nobody_is_left_is_found_by_its_labels(t):
    holder = Holder(t)
    process, package = stopped_install(t, "web", holder.kubeconfig, lambda: check(holder.waiting.wait(30), "nothing came"))
    undo(t, "web")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    holder.let_go(t)
    late = t.owned("web")
    check(late, "they came after it was undone")
    found = t.run("recover", "web", "--from-labels", "--yes", "-o", "json").json
    equal({f"{o['kind']}/{o['name']}" for o in found["record"]["discovered"]}, late, "what was found")
    t.run("uninstall", "web", "--yes")
    equal((t.owned("web"), t.record("web")), (set(), []))


def rounds(t, count):
    ends = {"stopped": 0, "done": 0}
    for number in range(count):
        release = f"r{number}"
        process, _ = stopped_install(t, release, when=lambda: time.sleep(random.uniform(0.02, 0.5)))
        ended = undo(t, release)
        os.kill(process.pid, signal.SIGCONT)
        outcome = t.finish(process)
        ends["done" if outcome.code == 0 else "stopped"] += 1
        if outcome.code == 0 and not ended:  # it had not begun to write, and begins now
            equal(len(t.owned(release)), OBJECTS, outcome)
            t.run("uninstall", release, "--yes")
        equal((t.owned(release), t.record(release)), (set(), []), f"of {release}, after it went on: {outcome}")
    t.note(str(ends))


@test(waits=True)
def who_was_stopped_writes_nothing_that_no_record_names(t):
    rounds(t, 3)


@test(full=True)
def who_was_stopped_at_many_points_writes_nothing_that_no_record_names(t):
    rounds(t, 40)


def waiting_package(t):
    """One whose Deployment never gets ready, so that --wait goes on; with a claim, which undoing keeps."""
    return t.package("waiting", config_map("settings"), {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}, {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "never"}, "spec": {
            "selector": {"matchLabels": {"app": "never"}}, "template": {
                "metadata": {"labels": {"app": "never"}},
                "spec": {"nodeSelector": {"there": "is-none"}, "containers": [{"name": "c", "image": "i"}]}}}})


def started_waiting(t, *arguments, **options):
    process = t.start(*arguments, "-p", waiting_package(t), "--wait", "--timeout", "60s", **options)
    t.kube.wait("all is written", lambda: t.kube.get("Deployment", t.ns, "never") is not None and
                t.kube.get("PersistentVolumeClaim", t.ns, "data") is not None)
    return process


@test
def a_claim_that_undoing_kept_outlives_the_one_who_wakes_up(t):
    process = started_waiting(t, "install", "web", term_ms=TERM_MS)
    os.kill(process.pid, signal.SIGSTOP)
    t.cleanup(lambda: process.poll() is None and os.kill(process.pid, signal.SIGCONT))
    contains(t.run("recover", "web", "--undo", "--yes", "--lock-wait", "20s").out, "data stays")
    os.kill(process.pid, signal.SIGCONT)
    t.finish(process, code=1)
    check("deletionTimestamp" not in t.kube.get("PersistentVolumeClaim", t.ns, "data")["metadata"], "the claim was deleted")


@test
def a_lost_anchor_is_no_undone_release(t):
    t.run("install", "web", "-p", t.package("small", config_map("settings")))
    process = started_waiting(t, "upgrade", "web", term_ms=TERM_MS)
    t.kube.delete("Secret", t.ns, "mistletoe.web")
    failed = t.finish(process, code=1)
    contains(failed.err, "--from-labels")
    for kind, name in (("PersistentVolumeClaim", "data"), ("Deployment", "never"), ("ConfigMap", "settings")):
        check("deletionTimestamp" not in t.kube.get(kind, t.ns, name)["metadata"], f"{kind} {name} was deleted")
    t.run("recover", "web", "--from-labels", "--yes")
    t.run("uninstall", "web", "--yes", "--delete-pvcs")


def two(t, **data):
    """A release of two ConfigMaps, of which `data` is in the second one."""
    return t.package("two", config_map("stays"), config_map("disputed", data))


def late_write(t, holder, process, *successor):
    """A request of `process` arrives after somebody else took the release over; then it wakes up itself."""
    holder.stop(t, process)
    before = t.kube.get("ConfigMap", t.ns, "disputed")["metadata"]["uid"]
    t.run(*successor, "--lock-wait", "20s")
    holder.let_go(t)
    os.kill(process.pid, signal.SIGCONT)
    contains(t.finish(process, code=1).err, "lock")
    there = t.kube.get("ConfigMap", t.ns, "disputed")
    check(there and "deletionTimestamp" not in there["metadata"], "what the successor wants was deleted")
    equal(there["metadata"]["uid"], before, "uid")
    contains(t.run("status", "web").out, "disputed")
    t.run("drift", "web")


@test(waits=True)
def a_late_delete_spares_what_the_successor_wrote(t):
    t.run("install", "web", "-p", two(t, key="1"))
    holder = Holder(t, "DELETE", "/configmaps/disputed")
    without = t.package("one", config_map("stays"))
    process = t.start("upgrade", "web", "-p", without, kubeconfig=holder.kubeconfig, term_ms=TERM_MS)
    late_write(t, holder, process, "upgrade", "web", "-p", two(t, key="2"))
    equal(t.kube.get("ConfigMap", t.ns, "disputed")["data"], {"key": "2"})


@test(waits=True)
def a_late_delete_spares_what_the_successor_found_as_wanted(t):
    package = two(t, key="1")
    t.run("install", "web", "-p", package)
    holder = Holder(t, "DELETE", "/configmaps/disputed")
    without = t.package("one", config_map("stays"))
    process = t.start("upgrade", "web", "-p", without, kubeconfig=holder.kubeconfig, term_ms=TERM_MS)
    late_write(t, holder, process, "upgrade", "web", "-p", package)


def stopped_update(t):
    """An upgrade from key 1 to 2, whose update is held."""
    t.run("install", "web", "-p", two(t, key="1"))
    holder = Holder(t, "PATCH", "/configmaps/disputed")
    return holder, t.start("upgrade", "web", "-p", two(t, key="2"), kubeconfig=holder.kubeconfig, term_ms=TERM_MS)


@test(waits=True)
def a_late_update_does_not_change_what_its_undoing_left(t):
    holder, process = stopped_update(t)
    late_write(t, holder, process, "recover", "web", "--undo", "--yes")
    equal(t.kube.get("ConfigMap", t.ns, "disputed")["data"], {"key": "1"})


@test(waits=True)
def a_late_update_does_not_change_what_the_successor_wrote(t):
    holder, process = stopped_update(t)
    late_write(t, holder, process, "upgrade", "web", "-p", two(t, key="3"))
    equal(t.kube.get("ConfigMap", t.ns, "disputed")["data"], {"key": "3"})


@test(waits=True)
def a_late_delete_of_an_uninstall_spares_what_its_undoing_found(t):
    t.run("install", "web", "-p", two(t, key="1"))
    holder = Holder(t, "DELETE", "/configmaps/disputed")
    process = t.start("uninstall", "web", "--yes", kubeconfig=holder.kubeconfig, term_ms=TERM_MS)
    late_write(t, holder, process, "recover", "web", "--undo", "--yes")


@test(waits=True)
def a_late_delete_of_an_interrupted_upgrade_spares_what_its_successor_wants(t):
    """Ctrl-C: it ends in order, but for what the server has not answered."""
    package = two(t, key="1")
    t.run("install", "web", "-p", package)
    holder = Holder(t, "DELETE", "/configmaps/disputed")
    process = t.start("upgrade", "web", "-p", t.package("one", config_map("stays")), kubeconfig=holder.kubeconfig,
                      term_ms=TERM_MS)
    check(holder.waiting.wait(30), "nothing came")
    before = t.kube.get("ConfigMap", t.ns, "disputed")["metadata"]["uid"]
    os.kill(process.pid, signal.SIGINT)
    contains(t.finish(process, code=130).err, "did not answer everything", "stays locked for 1s")
    t.run("upgrade", "web", "-p", package, "--lock-wait", "20s")
    holder.let_go(t)
    there = t.kube.get("ConfigMap", t.ns, "disputed")
    check(there and "deletionTimestamp" not in there["metadata"], "what the successor wants was deleted")
    equal(there["metadata"]["uid"], before, "uid")


@test(waits=True)
def late_creates_of_an_interrupted_install_are_found_by_who_undoes_it(t):
    holder = Holder(t)
    package = t.package("web", *[config_map(f"web-{i}") for i in range(OBJECTS)])
    process = t.start("install", "web", "-p", package, kubeconfig=holder.kubeconfig, term_ms=TERM_MS)
    check(holder.waiting.wait(30), "nothing came")
    os.kill(process.pid, signal.SIGINT)
    contains(t.finish(process, code=130).err, "stays locked for 1s")
    held = Holder(t, "PATCH", "/secrets/mistletoe.web")  # the undoing has looked, and takes the lock
    undoing = t.start("recover", "web", "--undo", "--yes", "--lock-wait", "20s", kubeconfig=held.kubeconfig)
    check(held.waiting.wait(60), "it took no lock")
    equal(t.owned("web"), set(), "they arrive now")
    holder.let_go(t)
    check(t.owned("web"), "nothing arrived")
    held.let_go(t)
    t.finish(undoing, code=0)
    equal((t.owned("web"), t.record("web")), (set(), []))


@test(waits=True)
def an_interrupted_install_waits_for_the_answers_to_what_it_sent(t):
    holder = Holder(t)
    package = t.package("web", *[config_map(f"web-{i}") for i in range(200)])  # more than are sent at once
    process = t.start("install", "web", "-p", package, kubeconfig=holder.kubeconfig)
    check(holder.waiting.wait(30), "nothing came")
    os.kill(process.pid, signal.SIGINT)
    holder.go.set()
    outcome = t.finish(process, code=130)
    check("stays locked" not in outcome.err, outcome)
    t.run("recover", "web", "--undo", "--yes")  # at once, and it finds all there is
    equal((t.owned("web"), t.record("web")), (set(), []))


CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def late_delete_of_what_is_left(t, holder, process, kind, name, *successor):
    """As late_write(), of what the successor neither writes nor deletes."""
    holder.stop(t, process)
    before = t.kube.get(kind, t.ns, name)["metadata"]
    t.run(*successor, "--lock-wait", "20s")
    holder.let_go(t)
    os.kill(process.pid, signal.SIGCONT)
    contains(t.finish(process, code=1).err, "lock")
    there = t.kube.get(kind, t.ns, name)
    check(there and "deletionTimestamp" not in there["metadata"], "what the successor left was deleted")
    for part in ("uid", "labels", "annotations"):
        equal(there["metadata"].get(part), before.get(part), part)


def retained_claim(t):
    """A release whose claim is not wanted any more, and kept."""
    t.run("install", "web", "-p", t.package("with-claim", config_map("settings"), CLAIM))
    without = t.package("without", config_map("settings"))
    contains(t.run("upgrade", "web", "-p", without).out, "1 retained")
    return without


@test(waits=True)
def a_late_delete_of_an_uninstall_spares_a_claim_that_its_undoing_retains(t):
    retained_claim(t)
    holder = Holder(t, "DELETE", "/persistentvolumeclaims/data")
    process = t.start("uninstall", "web", "--yes", "--delete-pvcs", kubeconfig=holder.kubeconfig, term_ms=TERM_MS)
    late_delete_of_what_is_left(t, holder, process, "PersistentVolumeClaim", "data", "recover", "web", "--undo", "--yes")
    t.run("uninstall", "web", "--yes", "--delete-pvcs")


@test(waits=True)
def a_late_delete_of_an_upgrade_spares_a_claim_that_its_successor_retains(t):
    without = retained_claim(t)
    holder = Holder(t, "DELETE", "/persistentvolumeclaims/data")
    process = t.start("upgrade", "web", "-p", without, "--delete-pvcs", kubeconfig=holder.kubeconfig, term_ms=TERM_MS)
    late_delete_of_what_is_left(t, holder, process, "PersistentVolumeClaim", "data", "upgrade", "web", "-p", without)
    t.run("uninstall", "web", "--yes", "--delete-pvcs")


@test(waits=True)
def a_late_delete_spares_a_hook_that_nobody_runs_again(t):
    hooked = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hooked", "annotations": {"helm.sh/hook": "pre-install"}},
              "stringData": {"key": "value"}}
    chart = t.files("chart", {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
                              "templates/a.yaml": json.dumps(config_map("settings")), "templates/h.yaml": json.dumps(hooked)})
    t.run("install", "web", "-p", chart)
    holder = Holder(t, "DELETE", "/secrets/hooked")
    process = t.start("uninstall", "web", "--yes", kubeconfig=holder.kubeconfig, term_ms=TERM_MS)
    late_delete_of_what_is_left(t, holder, process, "Secret", "hooked", "recover", "web", "--undo", "--yes")


@test(waits=True)
def a_late_delete_of_a_replacement_spares_what_belongs_to_another_release(t):
    """It was being taken over from there, to be replaced; then that was undone."""
    def job(image):
        return workload("Job", "job", pod_spec={"containers": [{"name": "c", "image": image}]}, suspend=True)
    t.run("install", "theirs", "-p", t.package("theirs", config_map("settings"), job("x")))
    holder = Holder(t, "DELETE", "/jobs/job")
    process = t.start("install", "web", "-p", t.package("ours", job("y")), "--replace", "--take-over-from", f"{t.ns}/theirs",
                      kubeconfig=holder.kubeconfig, term_ms=TERM_MS)
    late_delete_of_what_is_left(t, holder, process, "Job", "job", "recover", "web", "--undo", "--yes")
    t.run("drift", "theirs", "--exit-code")


@test(waits=True)
def what_changes_while_it_is_deleted_is_deleted_all_the_same(t):
    """Its status, say: the version of the plan's look is out of date when the request arrives."""
    t.run("install", "web", "-p", two(t, key="1"))
    holder = Holder(t, "DELETE", "/configmaps/disputed")
    process = t.start("uninstall", "web", "--yes", kubeconfig=holder.kubeconfig)
    check(holder.waiting.wait(30), "nothing came")
    t.kube.patch("ConfigMap", t.ns, "disputed", {"metadata": {"annotations": {"example.com/seen": "now"}}})
    holder.let_go(t)
    t.finish(process, code=0)
    equal((t.owned("web"), t.record("web")), (set(), []))


@test(waits=True)
def what_is_to_be_kept_since_just_now_is_kept(t):
    t.run("install", "web", "-p", two(t, key="1"))
    holder = Holder(t, "DELETE", "/configmaps/disputed")
    process = t.start("uninstall", "web", "--yes", kubeconfig=holder.kubeconfig)
    check(holder.waiting.wait(30), "nothing came")
    t.kube.patch("ConfigMap", t.ns, "disputed", {"metadata": {"annotations": {"mistletoe.dev/keep": "true"}}})
    holder.let_go(t)
    contains(t.finish(process, code=0).out, "1 retained")
    check("deletionTimestamp" not in t.kube.get("ConfigMap", t.ns, "disputed")["metadata"], "it was deleted")
