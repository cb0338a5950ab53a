"""Two people at once on one release: one goes first, the other is told why not, or waits. Nothing is mixed."""
import concurrent.futures
import os
import signal
import threading
import time

from harness import check, config_map, contains, equal, kubeconfig_text, test
from proxy import Drop, Proxy


def slowly(t, seconds=0.3):
    """A kubeconfig through which every write takes long enough to meet another one."""
    def delay(number, method, path):
        if method != "GET":
            time.sleep(seconds)

    proxy = Proxy(t.kube, t.token, before=delay)
    t.cleanup(proxy.stop)
    return t.file(f"slow-{proxy.url.rsplit(':', 1)[1]}", kubeconfig_text(proxy.url, {}, namespace=t.ns))


def both(t, first, second, **options):
    """Both commands at once, in whatever order they come; their outcomes."""
    kubeconfig = slowly(t)
    processes = [t.start(*arguments, kubeconfig=kubeconfig, **options) for arguments in (first, second)]
    return [t.finish(process) for process in processes]


def one_won(outcomes, *words):
    """Exactly one succeeded, the other one was told one of `words`. Returns (winner's place, loser)."""
    equal(sorted(outcome.code for outcome in outcomes), [0, 1], "\n".join(map(str, outcomes)))
    loser = next(outcome for outcome in outcomes if outcome.code)
    check(any(word in loser.err for word in words), loser)
    contains(loser.err, "try: ")
    return outcomes.index(next(outcome for outcome in outcomes if not outcome.code)), loser


def data_of(t, release):
    return {item["metadata"]["name"]: item["data"]["key"] for item in t.kube.list("ConfigMap", t.ns)
            if item["metadata"].get("annotations", {}).get("mistletoe.dev/release") == f"{t.ns}/{release}"}


@test
def two_installs_at_once(t):
    packages = [t.package(name, config_map("shared", {"key": name}), config_map(f"of-{name}", {"key": name}))
                for name in ("a", "b")]
    outcomes = both(t, ["install", "shop", "-p", packages[0]], ["install", "shop", "-p", packages[1]])
    won, _ = one_won(outcomes, "locked", "exists already", "somebody else")
    name = "ab"[won]
    equal(data_of(t, "shop"), {"shared": name, f"of-{name}": name}, "objects")
    equal(t.record("shop"), ["mistletoe.shop", "mistletoe.shop.v0"], "record")


@test
def two_upgrades_at_once(t):
    t.run("install", "shop", "-p", t.package("start", config_map("shared", {"key": "start"})))
    packages = [t.package(name, config_map("shared", {"key": name}), config_map(f"of-{name}", {"key": name}))
                for name in ("a", "b")]
    commands = [["upgrade", "shop", "-p", package] for package in packages]
    won, loser = one_won(both(t, *commands), "locked", "changed")
    contains(loser.err, "--lock-wait" if "locked" in loser.err else "again")
    name = "ab"[won]
    equal(data_of(t, "shop"), {"shared": name, f"of-{name}": name}, "objects")

    outcomes = both(t, *([*command, "--lock-wait", "60s"] for command in commands))
    equal([outcome.code for outcome in outcomes], [0, 0], "\n".join(map(str, outcomes)))
    data = data_of(t, "shop")
    last = data["shared"]
    equal(data, {"shared": last, f"of-{last}": last}, "objects of the later one, and none of the earlier")
    check(not t.lock("shop"), "still locked")
    # Both had their turn; the first may have been without effect, when it asked for what is there.
    check(t.run("status", "shop", "-o", "json").json["deployedRevision"] in (2, 3), "revisions")


@test
def upgrade_and_uninstall_at_once(t):
    t.run("install", "shop", "-p", t.package("start", config_map("shared", {"key": "start"})))
    package = t.package("a", config_map("shared", {"key": "a"}), config_map("of-a", {"key": "a"}))
    outcomes = both(t, ["upgrade", "shop", "-p", package], ["uninstall", "shop", "--yes"])
    check(0 in (outcome.code for outcome in outcomes), "\n".join(map(str, outcomes)))
    upgraded, uninstalled = outcomes
    if uninstalled.code == 0:
        equal(upgraded.code in (0, 1), True, upgraded)
        equal((data_of(t, "shop"), t.record("shop")), ({}, []), "what is left")
    else:
        contains(uninstalled.err, "locked" if "locked" in uninstalled.err else "changed")
        equal(data_of(t, "shop"), {"shared": "a", "of-a": "a"}, "objects")
        t.run("uninstall", "shop", "--yes")
        equal((data_of(t, "shop"), t.record("shop")), ({}, []), "what is left")


# Every pair of verbs. A small model says what may come out: what one after the other gives.

def content(name):
    return {"shared": name, f"of-{name}": name} if name else {}


class Model:
    """What is deployed after each good revision, and what an unfinished one wants; nothing: there is no release."""

    def __init__(self, good=(), unfinished=None):
        self.good, self.unfinished = list(good), unfinished

    def do(self, verb, name):
        """The state after it, or None: it is refused."""
        good, exists = self.good, self.good or self.unfinished
        if verb == "install":
            return None if good else Model([name])
        if not exists:
            return None
        if verb == "upgrade":
            return Model(good + [name])
        if verb == "uninstall":
            return Model()
        if verb == "recover":
            return Model(good + [self.unfinished]) if self.unfinished else self
        if verb == "undo":
            return (Model(good + [good[-1]]) if good else Model()) if self.unfinished else self
        if self.unfinished:
            return Model(good + [good[-1]]) if good else None
        return Model(good + [good[-2]]) if len(good) > 1 else None

    @property
    def deployed(self):
        return self.good[-1] if self.good else None


VERBS = ("install", "upgrade", "rollback", "recover", "undo", "uninstall")


def command(t, release, verb, name):
    return {"install": ["install", release, "-p", name], "upgrade": ["upgrade", release, "-p", name],
            "rollback": ["rollback", release], "recover": ["recover", release],
            "undo": ["recover", release, "--undo", "--yes"], "uninstall": ["uninstall", release, "--yes"]}[verb]


def may_come_out(start, verbs, names, patient):
    """{(what is deployed then, which of the two succeeded)}"""
    results = set()
    for first in (0, 1):
        second = 1 - first
        after, done = start.do(verbs[first], names[first]), [False, False]
        done[first] = after is not None
        after = after or start
        if done[first] and not patient:  # the second was told that somebody holds the lock
            results.add((after.deployed, tuple(done)))
        last = after.do(verbs[second], names[second])
        done[second] = last is not None
        results.add(((last or after).deployed, tuple(done)))
    return results


def pair(t, kubeconfig, number, verbs, patient):
    """Both at once on a release of their own, which an upgrade left unfinished if one of them is to recover it."""
    release = f"p{number}{'w' if patient else ''}"
    name = lambda what: f"{release}-{what}"  # noqa: E731
    start = Model()
    if "install" not in verbs:
        for what in ("one", "two"):
            t.run("install" if what == "one" else "upgrade", release, "-p", package_named(t, name(what)))
        start = Model([name("one"), name("two")])
    if {"recover", "undo"} & set(verbs):
        what = "install" if "install" in verbs else "upgrade"
        die_in_the_middle(t, what, release, package_named(t, name("dead")))
        start = Model(start.good, name("dead"))
        time.sleep(1.2)  # more than its term: that it is dead is worth a look, also without --lock-wait
    names = [name("a"), name("b")]
    for each in names:
        package_named(t, each)
    flags = ["--lock-wait", "60s"] if patient else []
    processes = [t.start(*command(t, release, verb, str(t.dir / "packages" / each)), *flags, kubeconfig=kubeconfig)
                 for verb, each in zip(verbs, names)]
    outcomes = [t.finish(process) for process in processes]
    said = "\n".join(map(str, outcomes))
    data = {key.removeprefix(f"{release}-"): value for key, value in data_of(t, release).items()}
    done = tuple(outcome.code == 0 for outcome in outcomes)
    allowed = may_come_out(start, verbs, names, patient)
    deployed = data.get("shared")
    equal(data, content(deployed) if not deployed else
          {"shared": deployed, f"of-{deployed.removeprefix(release + '-')}": deployed}, f"{verbs}: mixed objects; {said}")
    check((deployed, done) in allowed, f"{verbs}: {deployed} with {done}, may be {allowed}\n{said}")
    for outcome in outcomes:
        if outcome.code:
            equal(outcome.code, 1, said)
            contains(outcome.err, "try: ")
    check(not t.lock(release), "still locked:", t.lock(release), said)
    left = t.run("uninstall", release, "--yes", code=None)
    if left.code:
        contains(left.err, "does not exist")
        check(not deployed, left)
    equal((data_of(t, release), t.record(release)), ({}, []), "what is left")


def package_named(t, name):
    release, what = name.split("-")
    return t.package(name, config_map(f"{release}-shared", {"key": name}), config_map(f"{release}-of-{what}", {"key": name}))


def die_in_the_middle(t, verb, release, package):
    """kill -9 after its first object was written."""
    ready = threading.Event()

    def kill(number, method, path):
        if method == "PATCH" and "/configmaps/" in path and "dryRun" not in path:
            ready.wait()
            os.kill(process.pid, signal.SIGKILL)
            raise Drop

    proxy = Proxy(t.kube, t.token, after=kill)
    process = t.start(verb, release, "-p", package, term_ms=1000,
                      kubeconfig=t.file(f"die-{release}", kubeconfig_text(proxy.url, {}, namespace=t.ns)))
    ready.set()
    equal(t.finish(process).code, -signal.SIGKILL, "it should have died")
    proxy.stop()


def pairs(t, chosen):
    kubeconfig = slowly(t, 0.1)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(pair, t, kubeconfig, number, verbs, patient) for number, verbs, patient in chosen]
        for run in runs:
            run.result()
    t.note(f"{len(chosen)} pairs of verbs at once")


def all_pairs():
    return list(enumerate((a, b) for i, a in enumerate(VERBS) for b in VERBS[i:]))


@test
def every_pair_of_verbs_at_once(t):
    """Each once, every other one waiting for the lock."""
    pairs(t, [(number, verbs, number % 2 == 0) for number, verbs in all_pairs()])


@test(full=True)
def every_pair_of_verbs_both_ways(t):
    both_orders = [verbs for _, verbs in all_pairs()] + [(b, a) for _, (a, b) in all_pairs() if a != b]
    pairs(t, [(number, verbs, patient) for number, verbs in enumerate(both_orders) for patient in (False, True)])


@test
def reading_while_somebody_writes(t):
    t.run("install", "shop", "-p", t.package("start", config_map("shared", {"key": "start"})))
    writing = t.start("upgrade", "shop", "-p", t.package("a", config_map("shared", {"key": "a"})),
                      kubeconfig=slowly(t))
    t.kube.wait("the release is locked", lambda: t.lock("shop") or writing.poll() is not None)
    status = t.run("status", "shop", "-o", "json").json
    listed = t.run("list", "-o", "json").json["releases"][0]
    check(writing.poll() is not None or (status["lockedBy"] and listed["lockedBy"]), status, listed)
    t.finish(writing, code=0)
