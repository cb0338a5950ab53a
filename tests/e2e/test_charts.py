"""A chart's hooks on a real cluster: they run around every verb, and nothing of them is left."""
import json
import pathlib
import shutil

from harness import check, config_map, contains, equal, test


def chart(t, *objects, version="0.1.0"):
    """A chart with one template an object."""
    directory = pathlib.Path(t.dir) / "packages" / "chart"
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "templates").mkdir(parents=True)
    (directory / "Chart.yaml").write_text(f"{{apiVersion: v2, name: chart, version: {version}}}\n")
    for number, item in enumerate(objects):
        (directory / "templates" / f"{number:05}.yaml").write_text(json.dumps(item, indent=1))
    return str(directory)


def hook(name, events, state=None, log=None, weight=0, policy=None):
    annotations = {"helm.sh/hook": events, "helm.sh/hook-weight": str(weight)}
    if policy:
        annotations["helm.sh/hook-delete-policy"] = policy
    dev = {f"mistletoe.dev/dev-{key}": value for key, value in [("state", state), ("log", log)] if value}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "annotations": annotations},
            "spec": {"backoffLimit": 0,
                     "template": {"metadata": {"annotations": dev},
                                  "spec": {"restartPolicy": "Never",
                                           "containers": [{"name": "main", "image": "example.com/hook:1"}]}}}}


def written(t, mark):
    """What was applied and deleted since, in this order: "+name", "-name"."""
    return [("-" if r.verb == "delete" else "+") + r.name for r in t.requests(mark)
            if r.verb in ("patch", "delete") and r.name and not r.name.startswith("mistletoe.")]


@test
def hooks_of_a_chart_run_around_every_verb(t):
    hooks = [hook("second", "pre-install", weight=5), hook("first", "pre-install,pre-rollback", weight=-5),
             hook("migrate", "pre-upgrade", policy="hook-succeeded"), hook("after", "post-install,post-upgrade"),
             hook("ask", "pre-delete"), hook("sweep", "post-delete")]
    package = chart(t, config_map("settings", {"a": "1"}), *hooks)
    mark = t.mark()
    t.run("install", "shop", "-p", package)
    equal(written(t, mark), ["+first", "+second", "+settings", "+after"])
    contains(t.run("graph", "shop").out, "pre-install hook, weight -5")
    status = t.run("status", "shop", "-o", "json").json
    equal({o["name"]: (o["health"], o["hook"]) for o in status["objects"]},
          {"settings": ("ready", False), "first": ("ready", True), "second": ("ready", True), "after": ("ready", True)})

    mark = t.mark()
    contains(t.run("upgrade", "shop", "-p", package).out, "nothing was written")
    equal(written(t, mark), [], "an upgrade with nothing new runs no hooks")

    mark = t.mark()
    t.run("upgrade", "shop", "-p", chart(t, config_map("settings", {"a": "2"}), *hooks))
    equal(written(t, mark), ["+migrate", "-migrate", "+settings", "-after", "+after"])
    equal(t.run("drift", "shop", "--exit-code").code, 0)

    mark = t.mark()
    t.run("rollback", "shop")
    equal(written(t, mark), ["-first", "+first", "+settings"])

    mark = t.mark()
    t.run("uninstall", "shop", "--yes", "--wait")
    done = written(t, mark)
    equal(done[0], "+ask")
    equal(done[-2:], ["+sweep", "-sweep"])
    check(done.index("-settings") > 0 and "-ask" in done, "what went:", done)
    equal(t.owned("shop", kinds=("ConfigMap", "Job", "Pod")), set(), "nothing is left")


@test
def a_hook_that_fails_says_why(t):
    package = chart(t, config_map("settings"), hook("migrate", "pre-install", "fail", log="no such table"))
    t.refused("install", "shop", "-p", package, says=[f"the hook Job {t.ns}/migrate", "log │ no such table"])
    check(not t.kube.get("ConfigMap", t.ns, "settings"), "nothing comes after it")
    t.run("install", "shop", "-p", package, "--no-hooks")
    check(t.kube.get("ConfigMap", t.ns, "settings"), "without hooks it goes on")
    t.run("uninstall", "shop", "--yes", "--wait")
    equal(t.owned("shop", kinds=("ConfigMap", "Job", "Pod")), set(), "nothing is left")
