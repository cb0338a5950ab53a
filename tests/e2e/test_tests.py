"""mistctl test: the tests that a release brings along, run on a real cluster, and nothing left behind."""
import signal

from guides import Guide
from harness import check, config_map, contains, equal, test
from terminal import Screen, Terminal


def pod_test(name, state=None, log=None, code=None, delay=None, **metadata):
    """A Pod that is a test; it ends with success unless `state` says otherwise."""
    annotations = {"mistletoe.dev/test": "true"}
    for key, value in [("state", state), ("log", log), ("exit-code", code), ("delay", delay)]:
        if value:
            annotations[f"mistletoe.dev/dev-{key}"] = value
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations, **metadata},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/test:1"}]}}


def job_test(name, state=None, log=None, **spec):
    annotations = {}
    for key, value in [("state", state), ("log", log)]:
        if value:
            annotations[f"mistletoe.dev/dev-{key}"] = value
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "annotations": {"mistletoe.dev/test": "true"}},
            "spec": {"template": {"metadata": {"annotations": annotations},
                                  "spec": {"restartPolicy": "Never",
                                           "containers": [{"name": "main", "image": "example.com/test:1"}]}}, **spec}}


def needed(name):
    return config_map(name, annotations={"mistletoe.dev/test": "true"})


def gone(t, *names):
    for kind in ("Pod", "Job", "ConfigMap"):
        t.kube.wait(f"{names} are gone", lambda: not [
            item for item in t.kube.list(kind, t.ns) if any(item["metadata"]["name"].startswith(n) for n in names)])


@test
def tests_of_a_release_run_in_order_with_their_logs_and_leave_nothing(t):
    package = t.package("p", config_map("settings"), needed("questions"), pod_test("smoke", log="GET / 200"),
                        job_test("thorough", log="42 cases"))
    installed = t.run("install", "shop", "-p", package, "-o", "json").json
    equal([o["name"] for o in installed["objects"]], ["settings"], "what install plans")
    equal(t.run("status", "shop", "-o", "json").json["objects"][0]["name"], "settings")
    mark = t.mark()
    done = t.run("test", "shop")
    contains(done.out, "[smoke/main] GET / 200", f"passed  Pod {t.ns}/smoke", "main] 42 cases",
             f"passed  Job {t.ns}/thorough", "shop: 2 of 2 tests passed")
    check(done.out.index("smoke") < done.out.index("thorough"), "order:", done)
    created = [r.name for r in t.requests(mark) if r.verb == "patch"]
    equal(created, ["questions", "smoke", "thorough"], "what was applied, in this order")
    gone(t, "questions", "smoke", "thorough")
    check(t.kube.get("ConfigMap", t.ns, "settings"), "what the release owns stays")
    report = t.run("test", "shop", "--filter", "smo*", "-o", "json").json
    equal((report["passed"], report["failed"], report["revision"]), (1, 0, 0))
    equal(report["tests"][0]["logs"], [{"pod": "smoke", "container": "main", "text": "GET / 200\n", "cut": False}])
    # The tests are the deployed revision's: they go with an upgrade and come back with a rollback.
    t.run("upgrade", "shop", "-p", t.package("p", config_map("settings")))
    contains(t.run("test", "shop").out, "shop has no tests")
    t.run("rollback", "shop", "v0")
    contains(t.run("test", "shop", "--filter", "smoke").out, "shop: 1 of 1 test passed")
    gone(t, "questions", "smoke")


@test(waits=True)
def the_test_in_the_guide_for_authors_runs(t):
    guide = Guide(t, "docs/authoring.md")
    files = guide.files()
    code, printed = guide.shell("mistctl package init shop --template yaml")
    check(code == 0, printed)
    guide.file("shop/manifests/test.yaml", files["shop/manifests/test.yaml"])
    code, printed = guide.shell(files["test.sh"], options=["-e"])
    check(code == 0, printed)
    contains(printed, f"passed  Pod {t.ns}/shop-answers", "shop: 1 of 1 test passed")
    check(t.kube.get("Service", t.ns, "shop"), "what the test asks")
    gone(t, "shop-answers")


@test
def long_logs_scroll_above_what_is_drawn(t):
    lines = [f"{i:06} {'x' * 60}" for i in range(1500)]  # more than a block of output each
    t.run("install", "shop", "-p", t.package("p", pod_test("first", log="\n".join(lines)),
                                             pod_test("second", log="\n".join(lines), delay="2s")))
    terminal = Terminal([t.mistctl, "test", "shop"], t.environment(TERM="xterm", NO_COLOR="1"), 24, 100, t.dir)
    terminal.wait_for(f"passed  Pod {t.ns}/first")
    check(terminal.process.poll() is None, "the first result is there before the second test ends")
    equal(terminal.finish(), 0, "exit code")
    screen = Screen(100)
    screen.feed(terminal.text())
    shown = screen.text().splitlines()
    for pod in ("first", "second"):
        equal([line for line in shown if line.startswith(f"[{pod}/")], [f"[{pod}/main] {line}" for line in lines],
              f"the log of {pod}")
        check(any(line.startswith(f"passed  Pod {t.ns}/{pod} (") for line in shown), f"no verdict on {pod}")
    contains(screen.text(), "shop: 2 of 2 tests passed")
    check("⠋" not in screen.text(), "a picture is left behind")


@test
def a_test_that_fails_says_why_and_the_others_still_run(t):
    package = t.package("p", pod_test("broken", "fail", log="expected 200\ngot 500", code="9"),
                        job_test("futile", "fail", log="no luck", backoffLimit=0), pod_test("fine"))
    t.run("install", "shop", "-p", package)
    failed = t.refused("test", "shop", says=[f"2 of 3 tests of release {t.ns}/shop failed", "ended with exit code 9",
                                            "log │ got 500", "BackoffLimit", "log │ no luck"])
    contains(failed.out, "[broken/main] got 500", f"failed  Pod {t.ns}/broken", f"failed  Job {t.ns}/futile",
             f"passed  Pod {t.ns}/fine", "shop: 1 of 3 tests passed")
    gone(t, "broken", "futile", "fine")
    # The release itself is none the worse.
    equal(t.run("status", "shop", "-o", "json").json["status"], "deployed")


@test
def a_test_that_never_ends_ends_in_its_time(t):
    t.run("install", "shop", "-p", t.package("p", pod_test("endless", "image-pull-backoff"), pod_test("fine")))
    failed = t.refused("test", "shop", "--timeout", "5s", says=["ImagePullBackOff"])
    contains(failed.out, "it did not end within its time", f"passed  Pod {t.ns}/fine")
    gone(t, "endless", "fine")


@test
def what_a_killed_or_kept_run_left_goes_with_the_next_or_with_the_release(t):
    package = t.package("p", needed("questions"), pod_test("slow", "run"))
    t.run("install", "shop", "-p", package)
    killed = t.start("test", "shop", term_ms=1000)
    first = t.kube.wait("it runs", lambda: t.kube.get("Pod", t.ns, "slow"))["metadata"]["uid"]
    killed.kill()
    t.finish(killed, -signal.SIGKILL)
    check(t.kube.get("Pod", t.ns, "slow"), "a killed process cleans up nothing")
    # The next run begins again; Ctrl-C cleans up.
    second = t.start("test", "shop", "--lock-wait", "20s")
    t.kube.wait("it was recreated", lambda: (t.kube.get("Pod", t.ns, "slow") or {}).get("metadata", {}).get("uid", first) != first)
    second.send_signal(signal.SIGINT)
    contains(t.finish(second, 130).err, "removing 2 objects that an earlier run of tests left")
    gone(t, "questions", "slow")
    # What --keep leaves, uninstall removes.
    t.run("upgrade", "shop", "-p", t.package("p", needed("questions"), pod_test("quick")))
    kept = t.run("test", "shop", "--keep")
    contains(kept.out, f"Pod {t.ns}/quick stays")
    check(t.kube.get("ConfigMap", t.ns, "questions"), "--keep leaves what was needed")
    t.run("uninstall", "shop", "--yes", "--wait")
    gone(t, "questions", "quick")
    equal(t.record("shop"), [], "the record")


@test
def a_strangers_object_with_the_name_of_a_test_is_refused(t):
    t.run("install", "shop", "-p", t.package("p", needed("questions"), pod_test("smoke")))
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "questions"}, "data": {"a": "theirs"}})
    t.refused("test", "shop", says=[f"ConfigMap {t.ns}/questions exists, but no run of these tests made it"])
    equal(t.kube.get("ConfigMap", t.ns, "questions")["data"], {"a": "theirs"})
    check(not t.kube.get("Pod", t.ns, "smoke"), "nothing was written")
    t.refused("test", "other", says=["does not exist"])
    t.refused("test", "shop", "--filter", "x*", says=["its tests are smoke"])


@test
def two_runs_at_once_do_not_disturb_each_other(t):
    t.run("install", "shop", "-p", t.package("p", needed("questions"), pod_test("slow", delay="2s")))
    first = t.start("test", "shop")
    t.kube.wait("the first run has begun", lambda: t.kube.get("Pod", t.ns, "slow"))
    t.refused("test", "shop", says=[f"the tests of release {t.ns}/shop are being run: ", "--lock-wait"])
    equal(len(t.run("list", "-o", "json").json["releases"]), 1, "the lock is not a release")
    second = t.start("test", "shop", "--lock-wait", "60s")
    contains(t.finish(first, 0).out, "shop: 1 of 1 test passed")
    contains(t.finish(second, 0).out, "shop: 1 of 1 test passed")
    gone(t, "questions", "slow")
    check(t.kube.get("Secret", t.ns, "mistletoe.shop.test") is None, "the lock stayed")


@test
def diff_shows_tests_that_only_mistctl_test_applies(t):
    t.run("install", "shop", "-p", t.package("p", config_map("settings"), pod_test("smoke"), pod_test("old")))
    equal(t.run("diff", "shop").out, "shop: no differences\n")
    changed = t.package("q", config_map("settings"), pod_test("smoke", log="hello"), pod_test("new"))
    shown = t.run("diff", "shop", "-p", changed, "--exit-code", code=3).out
    contains(shown, "test changed Pod smoke (00001.yaml:1)", "+    mistletoe.dev/dev-log: hello", "test added Pod new",
             "test removed Pod old", "shop: no objects change, 3 tests differ")
    report = t.run("diff", "shop", "-p", changed, "-o", "json").json
    equal((report["changes"], report["objects"]), (True, []))
    equal([(each["name"], each["change"]) for each in report["tests"]],
          [("smoke", "changed"), ("new", "added"), ("old", "removed")])
    contains(t.run("plan", "shop", "-p", changed).out, "test added", "Pod new")
    t.run("upgrade", "shop", "-p", changed)
    equal(t.run("diff", "shop").out, "shop: no differences\n")


@test(waits=True)
def a_test_job_that_removes_itself_passes_or_fails_as_it_ended(t):
    package = t.package("p", config_map("settings"), job_test("good", ttlSecondsAfterFinished=0),
                        job_test("bad", "fail", ttlSecondsAfterFinished=0, backoffLimit=0))
    t.run("install", "shop", "-p", package)
    done = t.run("test", "shop", code=1)
    contains(done.out, f"passed  Job {t.ns}/good", f"failed  Job {t.ns}/bad")


@test(waits=True)
def a_test_that_cannot_begin_says_why_while_it_is_waited_for(t):
    t.run("install", "shop", "-p", t.package("p", config_map("settings"), job_test("probe", "image-pull-backoff"),
                                             pod_test("crash", "image-pull-backoff")))
    for name, wanted in ("probe", "Job"), ("crash", "Pod"):
        running = t.start("test", "shop", "--filter", name, "--timeout", "60s")
        seen = ""
        for line in running.stderr:
            seen += line.decode()
            if f"{wanted} {t.ns}/{name}: waiting (container main: ImagePullBackOff" in seen:
                break
        check(running.poll() is None, "it was said only at the end:\n", seen)
        running.send_signal(signal.SIGINT)
        running.wait(30)
