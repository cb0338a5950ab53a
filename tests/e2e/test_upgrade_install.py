"""`upgrade --install`: the same command the first time and every time."""
from harness import check, config_map, contains, equal, test, workload


def actions(t, release="web"):
    return [(r["revision"], r["action"], r["status"]) for r in t.run("history", release, "-o", "json").json["revisions"]]


@test
def an_upgrade_that_may_install_is_the_same_command_every_time(t):
    command = ("upgrade", "web", "--install", "-p", t.package("p", config_map("a"), workload("Deployment", "web")))
    contains(t.run(*command, "--dry-run").out, "2 to create; nothing was written")
    equal(t.owned("web"), set(), "a look writes nothing")
    contains(t.run(*command, "--wait").out, "web is installed at revision 0")
    again = t.run(*command, "--wait")
    contains(again.out, "as wanted")
    t.package("p", config_map("a", {"key": "other"}), workload("Deployment", "web"))
    contains(t.run(*command, "--wait").out, "web is upgraded at revision 1")
    equal([entry[:2] for entry in sorted(actions(t))], [(0, "install"), (1, "upgrade")])


@test
def an_install_by_upgrade_needs_a_package_and_a_release_that_is_not_half_gone(t):
    t.refused("upgrade", "web", "-i", code=2, says=["web has no package yet", "-p PACKAGE"])
    t.refused("upgrade", "web", "-p", t.package("p", config_map("a")), "--seed-file", "seed", code=2,
              says=["--seed-file is for a new release", "--install"])
    t.refused("upgrade", "web", "-p", t.package("p", config_map("a")), says=["does not exist", "mistctl install web"])
    held = config_map("a", finalizers=["example.com/hold"])
    t.run("install", "web", "-p", t.package("p", held))
    t.run("uninstall", "web", "--yes", "--wait", "--timeout", "1s", code=1)
    t.refused("upgrade", "web", "-i", "-p", t.package("p", held), says=["half uninstalled", "recover web"])
    t.kube.checked("PATCH", t.kube.path("ConfigMap", t.ns, "a"), {"metadata": {"finalizers": None}},
                   "application/merge-patch+json")
    t.run("recover", "web")


@test
def an_install_by_upgrade_that_fails_is_undone_or_gone_on_with(t):
    crashing = t.package("p", config_map("a"), workload("Deployment", "web", state="crash"))
    undone = t.run("upgrade", "web", "-i", "-p", crashing, "--wait", "--timeout", "5s", "--rollback-on-failure",
                   code=1, seconds=180)
    contains(undone.err, "rolled back")
    equal(t.owned("web"), set(), "nothing is left")
    check(t.record("web") == [], "no record either")
    t.run("upgrade", "web", "-i", "-p", crashing, "--wait", "--timeout", "2s", code=1, seconds=180)
    sound = t.package("p", config_map("a"), workload("Deployment", "web"))
    contains(t.run("upgrade", "web", "-i", "-p", sound, "--wait").out, "web is installed at revision 1")
    equal([entry[:2] for entry in sorted(actions(t))], [(0, "install"), (1, "install")])


@test
def a_plan_that_fails_while_it_is_applied_is_undone(t):
    t.run("install", "web", "-p", t.package("p", config_map("a")))
    before = t.kube.get("ConfigMap", t.ns, "a")["data"]
    crashing = t.package("q", config_map("a", {"key": "new"}), workload("Deployment", "web", state="crash"))
    t.run("plan", "web", "-p", crashing, "-o", str(t.dir / "web.plan"))
    failed = t.run("apply-plan", str(t.dir / "web.plan"), "--wait", "--timeout", "5s", "--rollback-on-failure", code=1,
                   seconds=180)
    contains(failed.err, "rolled back to v0")
    equal(t.owned("web"), {"ConfigMap/a"})
    equal(t.kube.get("ConfigMap", t.ns, "a")["data"], before)
