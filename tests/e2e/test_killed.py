"""kill -9 at every kind of moment: the next command finishes the work or undoes it, nothing is orphaned or doubled.

A proxy counts requests and kills mistctl at the k-th: either before that request reaches the API server, or after the
server did it but before mistctl knows.
"""
import collections
import concurrent.futures
import os
import signal
import threading

import test_charts as charts
import test_large as large
import test_tests as tests
from harness import check, config_map, contains, equal, kubeconfig_text, secret, test
from kube import Watcher
from proxy import Drop, Proxy

TERM_MS = 1000  # of the lock of who gets killed with -9: the next command waits that long


class Killer:
    """mistctl through a proxy, killed at request `k` (None: never); `count` is how many requests were seen."""

    def __init__(self, t, k=None, answered=False, number=signal.SIGKILL):
        self._target, self._ready, self._number = None, threading.Event(), number
        self._killed, lock = False, threading.Lock()
        self.first_write = None  # the number of the request that was the first to write an object of the release

        def kill(number, method, path):
            if self.first_write is None and method == "PATCH" and "dryRun" not in path and "/mistletoe." not in path:
                self.first_write = number
            if k is None or number < k:
                return
            self._ready.wait()
            with lock:
                if not self._killed:  # the answer of a watch has no end after which to kill: then the next one
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
        dies = self._k is not None and self._number == signal.SIGKILL
        process = self._t.start(*arguments, kubeconfig=self._kubeconfig, term_ms=TERM_MS if dies else None)
        self._target = process
        self._ready.set()
        try:
            outcome = self._t.finish(process)
            # On a machine that stands still for a second, it loses its lock before it is killed: that is a death too.
            if self._number == signal.SIGKILL and not (dies and outcome.code == 1 and "the lock of" in outcome.err):
                equal(outcome.code, -signal.SIGKILL if self._killed else 0, f"exit code; {outcome}")
            return outcome
        finally:
            self.count = self._proxy.count
            self._proxy.stop()
            os.remove(self._kubeconfig)


def objects(release, version, extra=()):
    """Version 1 has one object less, one more, one changed, one unchanged."""
    common = [config_map(f"{release}-same"), secret(f"{release}-changed", f"value-{version}"),
              {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{release}-web"},
               "spec": {"ports": [{"port": 80 + version}], "selector": {"app": release}}}]
    return common + [config_map(f"{release}-only-{version}")] + [
        config_map(f"{release}-noise-{i}", {"noise": text}) for i, text in enumerate(extra)]


def names(items):
    return {f"{item['kind']}/{item['metadata']['name']}" for item in items}


def is_whole(t, release, wanted, revisions):
    """Exactly what was asked, once; a record without rubbish; nobody holds the lock."""
    equal(t.owned(release), names(wanted), f"objects of {release}")
    secret_wanted = next(o for o in wanted if o["kind"] == "Secret")
    changed = t.kube.get("Secret", t.ns, secret_wanted["metadata"]["name"])
    equal((changed["data"], changed["type"]), (secret_wanted["data"], secret_wanted.get("type", "Opaque")),
          "the object that changes")
    check(t.lock(release) in (None, ""), f"{release} is still locked: {t.lock(release)}")
    status = t.run("status", release, "-o", "json").json
    equal((status["status"], status["unfinished"]), ("deployed", []), release)
    equal(status["revision"], status["deployedRevision"], "revisions")
    equal({(o["kind"], o["health"]) for o in status["objects"] if not o["hook"]} - {("ConfigMap", "ready"), ("Secret", "ready"),
                                                                 ("Service", "ready")}, set(), "health")
    record = t.record(release)
    check(f"mistletoe.{release}" in record, record)
    kept = [name for name in record if name.rsplit(".", 1)[-1].startswith("v")]
    check(len(kept) <= revisions, f"too many revisions: {record}")


def is_gone(t, release):
    equal(t.owned(release), set(), f"objects of {release} that are left")
    equal(t.record(release), [], f"records of {release} that are left")


def nobodys(t, release):
    """Live objects with the release's label that no inventory names: there may be none at any moment."""
    live = set()
    for kind in ("ConfigMap", "Secret", "Service", "Job"):
        for item in t.kube.list(kind, t.ns, f"mistletoe.dev/tied-to-install-name={release}"):
            live.add((kind, item["metadata"]["name"]))
    inspected = t.run("inspect", "release", release, "-o", "json", code=None)
    if inspected.code != 0:
        contains(inspected.err, "does not exist")
        return live
    return live - {(item["kind"], item["name"]) for revision in inspected.json["revisions"]
                   for item in revision["inventory"]}


class Sweep:
    """A verb killed at requests of its own, and what comes next. Each moment has a release of its own."""

    flags = ()  # of the verb, and of recover

    def __init__(self, t, verb, extra=()):
        self.t, self.verb, self.extra = t, verb, extra
        self.before, self.target = {"install": (None, 0), "upgrade": (0, 1), "rollback": (1, 0),
                                    "uninstall": (0, None)}[verb]
        self.watchers = [Watcher(t.kube, kind, t.ns) for kind in ("ConfigMap", "Secret")]
        for watcher in self.watchers:
            t.cleanup(watcher.stop)

    def objects(self, release, version):
        return objects(release, version, self.extra)

    def package(self, release, version):
        return self.t.package(f"{release}-{version}", *self.objects(release, version))

    def prepare(self, release):
        if self.verb == "install":
            return
        self.t.run("install", release, "-p", self.package(release, 0))
        if self.verb == "rollback":
            self.t.run("upgrade", release, "-p", self.package(release, 1))

    def command(self, release):
        return {"install": lambda: ["install", release, "-p", self.package(release, 0)],
                "upgrade": lambda: ["upgrade", release, "-p", self.package(release, 1), *self.flags],
                "rollback": lambda: ["rollback", release, "0"],
                "uninstall": lambda: ["uninstall", release, "--yes"]}[self.verb]()

    def measure(self):
        """How many requests the verb sends: the proxy and the audit log count the same."""
        self.prepare("measure")
        self.package("measure", 0)
        self.t.run("list")  # what the server serves is known from now on, as in the sweep
        measured, mark = Killer(self.t), self.t.mark()
        equal(measured.run(*self.command("measure")).code, 0, "measuring")
        logged = len(self.t.requests(mark))
        # One that was given up at the end may have come no further than the proxy.
        check(0 <= measured.count - logged <= 1, f"{logged} requests in the audit log, {measured.count} in the proxy")
        return measured.count

    def effects(self, release):
        """How often each object was changed so far, as a watch of them tells."""
        count = collections.Counter()
        for watcher in self.watchers:
            for name, number in watcher.changes(f"{release}-").items():
                count[name] = max(count[name], number)
        return count

    def writes(self, name):
        """How many changes the verb makes of this object."""
        return 1

    def name_of(self, k, answered, after):
        return f"{self.verb[0]}{k}{'b' if answered else 'a'}{after[0]}"

    def one(self, k, answered, after):
        """Killed at request `k`, then `after`: write, recover or undo. Returns how it ended."""
        t, release = self.t, self.name_of(k, answered, after)
        self.prepare(release)
        command, before = self.command(release), self.effects(release)
        Killer(t, k, answered).run(*command)
        equal(nobodys(t, release), set(), "objects that no inventory names")
        equal(t.run("history", release, code=None).code in (0, 1), True, "reading never breaks")
        end = self.go_on(release, command, after)
        after_all = self.effects(release)
        most = {name: number - before[name] for name, number in after_all.items()}
        back = 2 if after == "undo" else 1  # there, and back
        equal({name: number for name, number in most.items() if number > back * self.writes(name)}, {},
              "changed too often")
        equal(nobodys(t, release), set(), "objects that no inventory names, after that")
        gone = t.run("uninstall", release, "--yes", code=None)
        if gone.code != 0:
            contains(gone.err, "does not exist")
        is_gone(t, release)
        return end

    def go_on(self, release, command, after):
        t = self.t
        if after == "write":
            again = t.run(*command, "--lock-wait", "20s", code=None)
            if again.code != 0:  # it had all been done, only the answer was lost
                contains(again.err, "exists already" if self.verb == "install" else "does not exist")
            self.ended(release, self.target)
            return "done again" if again.code == 0 else "was done"
        flags = [*self.flags, *(["--undo", "--yes"] if after == "undo" else [])]
        ran = t.run("recover", release, *flags, "--lock-wait", "20s", "-o", "json", code=None)
        if ran.code != 0 and "revisions are deleted already" in ran.err:
            ran = t.run("recover", release, "-o", "json")
        if ran.code != 0:
            contains(ran.err, "does not exist")
            check(self.before is None or self.target is None, "it can't be gone:", ran)
            is_gone(t, release)
            return "no release"
        outcome = ran.json["outcome"]
        if outcome == "finished":
            self.ended(release, self.target)
        elif outcome == "undone":
            self.ended(release, self.before)
        elif outcome in ("removed", "uninstalled"):
            self.ended(release, None)
        else:
            self.ended(release, *{self.before, self.target} - {None})
        return outcome

    def ended(self, release, *versions):
        """In one of these; None: it is gone."""
        t = self.t
        if versions == (None,):
            return is_gone(t, release)
        live = t.owned(release)
        for version in versions:
            if names(self.objects(release, version)) == live or version == versions[-1]:
                return is_whole(t, release, self.objects(release, version), 5)

    def run(self, dense, step):
        total = self.measure()
        moments = points(total, dense, step=step)
        self.ends = collections.Counter(at_all(moments, self.one, f"{self.verb} killed at request {{}} of {total}"))
        self.t.note(f"{self.verb} killed at {len(moments)} points of {total} requests: "
                    + ", ".join(f"{count} {end}" for end, count in sorted(self.ends.items())))


class ReplaceSweep(Sweep):
    """An upgrade that deletes an object and recreates it, because the type of a Secret can't be changed."""

    flags = ("--replace",)

    def objects(self, release, version):
        items = super().objects(release, version)
        next(item for item in items if item["kind"] == "Secret")["type"] = f"example.com/v{version}"
        return items

    def writes(self, name):
        return 2 if name.endswith("-changed") else 1


class HookSweep(Sweep):
    """A chart with hooks around the verb: a Job that stays, and one that its policy deletes."""

    def hooks(self, release):
        return [charts.hook(f"{release}-before", "pre-install,pre-upgrade"),
                charts.hook(f"{release}-after", "post-install,post-upgrade", policy="hook-succeeded")]

    def package(self, release, version):
        return charts.chart(self.t, *self.objects(release, version), *self.hooks(release), name=f"{release}-{version}")

    def bounds(self, after, end):
        """How often each hook may have been run: {name: (least, most)}."""
        # By the install before it; and where the verb was done in the end, by that.
        before = 1 if self.verb == "upgrade" else 0
        done = end in ("done again", "was done", "finished") or (self.verb, end) == ("install", "nothing")
        # And by what went on: recover doesn't run what is there, undo runs none of these.
        again = {"write": {"before", "after"}, "recover": {"after"}, "undo": set()}[after]
        return {hook: (before + done, before + 1 + (hook in again)) for hook in ("before", "after")}

    def one(self, k, answered, after):
        t, release, mark = self.t, self.name_of(k, answered, after), self.t.mark()
        end = super().one(k, answered, after)
        runs = collections.Counter(r.name for r in t.requests(mark) if r.name.startswith(f"{release}-")
                                   and (r.resource, r.verb, r.code) == ("jobs", "patch", 201))
        for hook, (least, most) in self.bounds(after, end).items():
            count = runs[f"{release}-{hook}"]
            check(least <= count <= most, f"the hook {hook} was run {count} times, not {least} to {most} ({end})")
        t.kube.wait("the hooks and their Pods are gone", lambda: not [
            item for kind in ("Job", "Pod") for item in t.kube.list(kind, t.ns)
            if item["metadata"]["name"].startswith(f"{release}-")])
        return end


class DeleteHookSweep(HookSweep):
    """An uninstall of a chart with hooks around it."""

    def __init__(self, t):
        super().__init__(t, "uninstall")

    def hooks(self, release):
        return [charts.hook(f"{release}-ask", "pre-delete"),
                charts.hook(f"{release}-save", "pre-delete", weight=1, policy="hook-succeeded"),
                charts.hook(f"{release}-sweep", "post-delete")]

    def bounds(self, after, end):
        # In the end it is uninstalled, whoever did it. The one that was running at the kill runs again; undone, all do.
        return {hook: (1, 2) for hook in ("ask", "save", "sweep")}


class TakeOverSweep(Sweep):
    """An install that takes its objects over from the release NAME-old, which has version 0 of them."""

    done = ("finished", "settled", "nothing")  # what recover says where there is nothing to undo any more

    def __init__(self, t):
        super().__init__(t, "install")

    def prepare(self, release):
        self.t.run("install", f"{release}-old", "-p", self.package(release, 0))

    def command(self, release):
        return ["install", release, "-p", self.package(release, 1), "--take-over-from", f"{self.t.ns}/{release}-old"]

    def one(self, k, answered, after):
        t, release = self.t, f"t{k}{'b' if answered else 'a'}{after[0]}"
        old = f"{release}-old"
        self.prepare(release)
        command, before = self.command(release), self.effects(release)
        Killer(t, k, answered).run(*command)
        # Whoever's an object is, by its mark, has it in its record.
        for owner in (release, old):
            equal(nobodys(t, owner), set(), f"objects of {owner} that no inventory of it names")
        end = self.go_on(release, command, after)
        for name, number in self.effects(release).items():
            limit = 2 if after == "undo" else 1  # there, and back
            if after == "undo" and end in self.done:
                limit = 3  # moved; then deleted and created by this test's own commands
            check(number - before[name] <= limit, f"{name} was changed {number - before[name]} times")
        if after == "undo":
            live = {f"{kind}/{item['metadata']['name']}" for kind in ("ConfigMap", "Secret", "Service")
                    for item in t.kube.list(kind, t.ns) if item["metadata"]["name"].startswith(f"{release}-")}
            equal(live, names(self.objects(release, 0)), "what is there after undoing")
            # Where nothing was moved there is nothing to write, and only recover() touches the dead one's lock.
            t.run("recover", old, "--lock-wait", "20s")
            is_whole(t, old, self.objects(release, 0), 5)
            t.run("drift", old, "--exit-code")
            contains(t.run("upgrade", old, "-p", self.package(release, 0)).out, "nothing was written")
        for owner in (release, old):
            gone = t.run("uninstall", owner, "--yes", "--lock-wait", "20s", code=None)
            if gone.code != 0:
                contains(gone.err, "does not exist")
            is_gone(t, owner)
        return end

    def go_on(self, release, command, after):
        t = self.t
        if after == "write":
            again = t.run(*command, "--lock-wait", "20s", code=None)
            if again.code != 0:
                contains(again.err, "exists already")
            end = "done again" if again.code == 0 else "was done"
            self.moved(release, end)
            return end
        flags = ["--undo", "--yes"] if after == "undo" else []
        ran = t.run("recover", release, *flags, "--lock-wait", "20s", "-o", "json", code=None)
        if ran.code != 0:
            contains(ran.err, "does not exist")
        outcome = ran.json["outcome"] if ran.code == 0 else "no release"
        if outcome in self.done:
            if after == "undo":  # it had all been done: only uninstalling it goes back, and that isn't asked here
                t.run("uninstall", release, "--yes")
                t.run("upgrade", f"{release}-old", "-p", self.package(release, 0), "--lock-wait", "20s")
            else:
                self.moved(release, outcome)
        elif after != "undo":
            equal(t.owned(f"{release}-old"), names(self.objects(release, 0)), "nothing was moved")
        return outcome

    def moved(self, release, end):
        old = f"{release}-old"
        is_whole(self.t, release, self.objects(release, 1), 5)
        left = {f"ConfigMap/{release}-only-0"}
        equal(self.t.owned(old), left, "what the old release still has")
        if end != "was done":
            revisions = self.t.run("inspect", "release", old, "-o", "json").json["revisions"]
            equal({f"{item['kind']}/{item['name']}" for item in revisions[-1]["inventory"]}, left,
                  "what the old release's record names")


    def at_the_end(self, last):
        """Killed at each of its `last` requests: once the new release is deployed, recovering either of the two is enough."""
        total = self.measure()
        moments = [(k, answered, which) for k in range(total - last + 1, total + 1) for answered in (False, True)
                   for which in ("old", "new")]
        ends = at_all(moments, self.ended_by_one, f"take-over killed at request {{}} of {total}")
        check("nothing" not in ends[:4] and ends.count("settled") >= 4, "recover found nothing to do:", ends)

    def ended_by_one(self, k, answered, which):
        t, release = self.t, f"e{k}{'b' if answered else 'a'}{which[0]}"
        old = f"{release}-old"
        self.prepare(release)
        Killer(t, k, answered).run(*self.command(release))
        status = t.run("status", release, "-o", "json", code=None)
        recovered = t.run("recover", old if which == "old" else release, "--lock-wait", "20s", "-o", "json")
        if status.json["unfinished"] and status.json["unfinished"][-1]["status"] != "deployed":
            return "unfinished"
        self.moved(release, recovered.json["outcome"])
        # What its new release deletes isn't missing in the old one.
        t.run("uninstall", release, "--yes", "--lock-wait", "20s")
        t.run("drift", old, "--exit-code")
        t.run("uninstall", old, "--yes", "--lock-wait", "20s")
        return recovered.json["outcome"]


class TestsSweep:
    """mistctl test, killed: the next run, or uninstall, finds nothing in its way and leaves nothing."""

    def __init__(self, t):
        self.t = t

    def prepare(self, release):
        t = self.t
        t.run("install", release, "-p", t.package(
            release, config_map(f"{release}-own"), tests.needed(f"{release}-questions"),
            tests.pod_test(f"{release}-first"), tests.pod_test(f"{release}-second")))

    def left(self, release):
        t = self.t
        return {f"{kind}/{item['metadata']['name']}" for kind in ("ConfigMap", "Pod", "Secret")
                for item in t.kube.list(kind, t.ns) if item["metadata"]["name"].startswith(
                    (f"{release}-", f"mistletoe.{release}.test"))}

    def one(self, k, answered, after):
        t, release = self.t, f"x{k}{'b' if answered else 'a'}{after[0]}"
        self.prepare(release)
        Killer(t, k, answered).run("test", release)
        status = t.run("status", release, "-o", "json").json
        equal((status["status"], status["revision"], status["lockedBy"], len(status["objects"])),
              ("deployed", 0, None, 1), "the release itself")
        if after == "test":
            done = t.run("test", release, "--lock-wait", "20s", "-o", "json").json
            equal((done["passed"], done["failed"], done["skipped"]), (2, 0, 0), "the next run")
            t.kube.wait("what the tests made is gone", lambda: self.left(release) == {f"ConfigMap/{release}-own"})
        t.run("uninstall", release, "--yes", "--wait")
        t.kube.wait("everything is gone", lambda: not self.left(release))
        equal(t.record(release), [], "the record")

    def run(self, dense, step):
        t = self.t
        self.prepare("measure")
        t.run("list")
        measured = Killer(t)
        equal(measured.run("test", "measure").code, 0, "measuring")
        total = measured.count
        if dense:
            moments = [(k, answered, after) for k in range(1, total + 1) for answered in (False, True)
                       for after in ("test", "uninstall")]
        else:
            moments = [(k, answered, ("test", "uninstall")[i % 2])
                       for i, (k, answered, _) in enumerate(points(total, False, step=step))]
        at_all(moments, self.one, f"test killed at request {{}} of {total}")
        t.note(f"test killed at {len(moments)} points of {total} requests")


def at_all(moments, one, words):
    """How each moment ended. All are tried; those that went wrong are told together, each with its place."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they mostly wait
        runs = {moment: pool.submit(one, *moment) for moment in moments}
    wrong = []
    for (k, answered, after), run in runs.items():
        failure = run.exception()
        if failure:
            told = failure if isinstance(failure, AssertionError) else repr(failure)
            wrong.append(f"{words.format(k)}, {'after' if answered else 'before'} it was done, then {after}: {told}")
    check(not wrong, f"{len(wrong)} of {len(moments)} moments went wrong:\n", "\n".join(wrong[:8]))
    return [run.result() for run in runs.values()]


def points(total, dense, *, step):
    """(k, answered, after) for each moment to try: all, or about `step` of them, spread over all requests."""
    if dense:
        return [(k, answered, after) for k in range(1, total + 1) for answered in (False, True)
                for after in ("write", "recover", "undo")]
    chosen = sorted({1 + round(i * (total - 1) / (step - 1)) for i in range(step)})
    return [(k, (k + i) % 2 == 0, ("write", "recover", "undo")[i % 3]) for i, k in enumerate(chosen)]


def noise(t):
    """What needs two chunks in the record."""
    return [large.noise(f"killed-{i}", 600_000) for i in range(2)]


@test
def killed_in_install(t):
    Sweep(t, "install").run(False, 8)


@test
def killed_in_upgrade(t):
    Sweep(t, "upgrade").run(False, 9)


@test
def killed_in_rollback(t):
    Sweep(t, "rollback").run(False, 6)


@test
def killed_in_uninstall(t):
    Sweep(t, "uninstall").run(False, 6)


@test
def killed_with_chunks_in_the_record(t):
    Sweep(t, "upgrade", noise(t)).run(False, 4)


@test
def killed_in_replace(t):
    ReplaceSweep(t, "upgrade").run(False, 6)


@test
def killed_in_install_with_hooks(t):
    HookSweep(t, "install").run(False, 6)


@test
def killed_in_upgrade_with_hooks(t):
    HookSweep(t, "upgrade").run(False, 6)


@test
def killed_in_uninstall_with_hooks(t):
    DeleteHookSweep(t).run(False, 6)


@test
def killed_in_take_over(t):
    TakeOverSweep(t).run(False, 6)


@test
def killed_at_the_end_of_a_take_over(t):
    TakeOverSweep(t).at_the_end(8)


@test
def killed_in_tests(t):
    TestsSweep(t).run(False, 5)


@test(full=True)
def killed_in_replace_everywhere(t):
    ReplaceSweep(t, "upgrade").run(True, 0)


@test(full=True)
def killed_in_install_with_hooks_everywhere(t):
    HookSweep(t, "install").run(True, 0)


@test(full=True)
def killed_in_upgrade_with_hooks_everywhere(t):
    HookSweep(t, "upgrade").run(True, 0)


@test(full=True)
def killed_in_uninstall_with_hooks_everywhere(t):
    DeleteHookSweep(t).run(True, 0)


@test(full=True)
def killed_in_take_over_everywhere(t):
    TakeOverSweep(t).run(True, 0)


@test(full=True)
def killed_in_tests_everywhere(t):
    TestsSweep(t).run(True, 0)


@test(full=True)
def killed_in_install_everywhere(t):
    Sweep(t, "install").run(True, 0)


@test(full=True)
def killed_in_upgrade_everywhere(t):
    Sweep(t, "upgrade").run(True, 0)


@test(full=True)
def killed_in_rollback_everywhere(t):
    Sweep(t, "rollback").run(True, 0)


@test(full=True)
def killed_in_uninstall_everywhere(t):
    Sweep(t, "uninstall").run(True, 0)


@test(full=True)
def killed_with_chunks_everywhere(t):
    Sweep(t, "upgrade", noise(t)).run(True, 0)


def interrupted(t, k, verb, release, package):
    """SIGINT at request k, whose answer it still gets; what mistctl said."""
    arguments = ["uninstall", release, "--yes"] if verb == "uninstall" else [verb, release, "-p", package]
    return Killer(t, k, number=signal.SIGINT).run(*arguments)


@test
def interrupted_install_frees_the_lock_and_resumes(t):
    # The second has less to ask, as all after it: what the server serves is known.
    for name in ("first", "measure"):
        measured = Killer(t)
        equal(measured.run("install", name, "-p", t.package(name, *objects(name, 0))).code, 0)
    late = measured.first_write  # from then on all may be under way, whose answers are waited for

    def one(k, release):
        package = t.package(release, *objects(release, 0))
        outcome = interrupted(t, k, "install", release, package)
        if outcome.code == 0:  # nothing was left to do when it noticed
            check(k >= late, "not interrupted:", outcome)
        else:
            equal(outcome.code, 130, f"exit code; {outcome}")
            contains(outcome.err, "stopped on request")
            check(t.lock(release) in (None, ""), f"still locked: {t.lock(release)}")
            record = t.kube.get("Secret", t.ns, f"mistletoe.{release}")
            if record and f"mistletoe.{release}.v0" in t.record(release):
                status = t.run("status", release, "-o", "json").json
                # "pending" when the record was written but its answer came too late.
                done = status["status"] == "deployed" and k >= late
                check(done or status["status"] in ("failed", "pending"), status)
                equal(status["lockedBy"], None, "lock")
                check(done or status["unfinished"], "status doesn't say that the revision is unfinished:", status)
            t.run("install", release, "-p", package)  # at once: no lock to wait for
        is_whole(t, release, objects(release, 0), 2)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(one, k, f"r{k}") for k, _, _ in points(measured.count, False, step=10)]
        for run in runs:
            run.result()


@test
def a_process_that_was_stopped_and_wakes_up_too_late(t):
    """Stopped in the middle of its writes, as a sleeping laptop is, while somebody takes its lock over: when it wakes
    up it must notice before it begins another write. What it had under way may still arrive: no lease can help that."""
    many, at_once = 160, 64
    start = [config_map(f"c{i:03}", {"key": "start"}) for i in range(many)]
    t.run("install", "shop", "-p", t.package("start", *start))
    sleeper = t.package("a", *(config_map(f"c{i:03}", {"key": "a"}) for i in range(many)))
    second = t.package("b", *(config_map(f"c{i:03}", {"key": "b"}) for i in range(many)))
    stopped, ready, writes = threading.Event(), threading.Event(), []

    def stop_it(number, method, path):
        if method == "PATCH" and "/configmaps/" in path and "dryRun" not in path:
            writes.append(path)
            if len(writes) == 5:
                ready.wait()
                os.kill(process.pid, signal.SIGSTOP)
                stopped.set()

    proxy = Proxy(t.kube, t.token, after=stop_it)
    t.cleanup(proxy.stop)
    kubeconfig = t.file("kubeconfig-sleeper", kubeconfig_text(proxy.url, {}, namespace=t.ns))
    process = t.start("upgrade", "shop", "-p", sleeper, kubeconfig=kubeconfig, term_ms=3 * TERM_MS)
    ready.set()
    check(stopped.wait(60), "it never wrote")
    t.run("upgrade", "shop", "-p", second, "--lock-wait", "20s")
    os.kill(process.pid, signal.SIGCONT)
    woken = t.finish(process, code=1)
    contains(woken.err, "lock")
    data = [item["data"]["key"] for item in t.kube.list("ConfigMap", t.ns)
            if item["metadata"]["name"] != "kube-root-ca.crt"]
    equal(set(data) - {"a", "b"}, set(), "objects")
    check(data.count("a") <= at_once, f"it went on: {data.count('a')} objects of the second one were overwritten")
    status = t.run("status", "shop", "-o", "json").json
    equal((status["status"], status["lockedBy"]), ("deployed", None), "the release")
    # The next run sees what differs, and repairs it.
    t.run("upgrade", "shop", "-p", second)
    equal({item["data"]["key"] for item in t.kube.list("ConfigMap", t.ns)
           if item["metadata"]["name"] != "kube-root-ca.crt"}, {"b"}, "after one more upgrade")
