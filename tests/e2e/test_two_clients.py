"""Two people at once on one release: one goes first, the other is told why not, or waits. Nothing is mixed."""
import time

from harness import check, config_map, contains, equal, kubeconfig_text, test
from proxy import Proxy


def slowly(t):
    """A kubeconfig through which every write takes long enough to meet another one."""
    def delay(number, method, path):
        if method != "GET":
            time.sleep(0.3)

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
