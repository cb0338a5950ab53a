"""Each command that a hint names is run as it stands, by somebody whose own namespace and context are others.

The kubeconfig of the environment leads nowhere, and so does the current context of the one that is given: a hint that
lost its --kubeconfig, --context or -n finds no server, or another release of that name, which has to stay as it is.
"""
import json
import os
import signal

from harness import check, config_map, contains, equal, kubeconfig_text, refused_when_written, test, workload
from hints import commands_in
from test_stopped import Holder

NOWHERE = "http://127.0.0.1:1"


class Elsewhere:
    """Who types the commands: works in another namespace, by a kubeconfig whose current context leads nowhere."""

    def __init__(self, t, server=None, user=None, ca=None):
        self.t = t
        self.other = t.namespace("other")
        config = json.loads(kubeconfig_text(server or t.kube.server, {"token": t.token} if user is None else user,
                                            t.kube.ca if server is None else ca, self.other))
        config["contexts"][0]["name"] = "right"
        config["contexts"].append({"name": "wrong", "context": {"cluster": "nowhere", "user": "u", "namespace": "x"}})
        config["clusters"].append({"name": "nowhere", "cluster": {"server": NOWHERE}})
        config["current-context"] = "wrong"
        self.given = t.file("given", json.dumps(config))
        self.nowhere = t.file("nowhere", kubeconfig_text(NOWHERE, {}, namespace="x"))
        self.words = ["--context", "right", "--kubeconfig", self.given]

    def start(self, *arguments):
        return self.t.start(*arguments, "-n", self.t.ns, *self.words, kubeconfig=self.nowhere)

    def run(self, *arguments, code=0):
        return self.t.finish(self.start(*arguments), code)

    def follow(self, outcome, *starts, yes=(), fill=None, unless=()):
        """Runs the commands of what was printed, but those of `unless`; `starts` are the verbs that have to be among them, in order."""
        text = outcome.out + outcome.err
        commands = commands_in(text)
        equal([words[0] for words in commands], list(starts), text)
        for words in commands:
            contains(" ".join(words), " ".join(self.words))
            if words[0] not in ("list", "apply-plan"):
                contains(" ".join(words), f" -n {self.t.ns}")
            if words[0] in unless:
                continue
            filled = [(fill or {}).get(word, word) for word in words]
            self.t.run(*filled, *(["--yes"] if words[0] in yes else []), kubeconfig=self.nowhere)


def other_release(t, here):
    """Of that name, in the namespace that is not meant; nobody may touch it."""
    t.run("install", "web", "-n", here.other, "-p", t.package("theirs", config_map("theirs")))
    return t.kube.get("ConfigMap", here.other, "theirs")["metadata"]["resourceVersion"]


def still_there(t, here, version):
    equal(t.kube.get("ConfigMap", here.other, "theirs")["metadata"]["resourceVersion"], version, "theirs")


@test
def hints_of_a_release_that_is_not_there(t):
    here = Elsewhere(t)
    package = t.package("web", config_map("web"))
    for verb in ("status", "history", "drift", "test", "uninstall", "rollback", "recover"):
        arguments = [verb, "web"] + (["--yes"] if verb == "uninstall" else [])
        # There is nothing to rebuild here.
        here.follow(here.run(*arguments, code=1), "list", "recover", unless=["recover"])
    here.follow(here.run("upgrade", "web", "-p", package, code=1), "list", "install", fill={"PACKAGE": package})


@test
def hints_of_a_release_that_is_there(t):
    here = Elsewhere(t)
    version = other_release(t, here)
    package = t.package("web", config_map("web"))
    here.run("install", "web", "-p", package)
    here.follow(here.run("install", "web", "-p", package, code=1), "upgrade")
    here.follow(here.run("recover", "web"), "status")
    here.follow(here.run("rollback", "web", "9", code=1), "history")
    here.follow(here.run("rollback", "web", code=1), "uninstall", "history", unless=["uninstall"])
    here.follow(here.run("inspect", "release", "web", "--revision", "9", code=1), "history")
    still_there(t, here, version)


@test
def hints_of_plans(t):
    here = Elsewhere(t)
    version = other_release(t, here)
    file = str(t.dir / "web.plan")
    package = t.package("web", config_map("web"))
    here.follow(here.run("plan", "web", "-p", package, "-o", file), "apply-plan")
    t.kube.get("ConfigMap", t.ns, "web")
    stale = t.run("apply-plan", file, *here.words, code=1, kubeconfig=here.nowhere)
    here.follow(stale, "plan", fill={"FILE": str(t.dir / "again.plan")})
    still_there(t, here, version)


@test
def hints_after_an_apply_that_fails(t):
    here = Elsewhere(t)
    version = other_release(t, here)
    bad = refused_when_written(t, "bad", "ConfigMap/web")
    here.run("install", "web", "-p", t.package("web", config_map("web")))
    failed = here.run("upgrade", "web", "-p", t.package("web", config_map("web", {"a": "b"}), bad), code=1)
    check(commands_in(failed.err), "no hint:", failed.err)
    here.follow(failed, *[words[0] for words in commands_in(failed.err)])
    still_there(t, here, version)


@test
def hints_for_kubectl(t):
    here = Elsewhere(t)
    body = workload("Deployment", "web")
    body["spec"]["replcas"] = 1
    refused = here.run("install", "web", "-p", t.package("web", body), code=1)
    contains(refused.err, f"kubectl {' '.join(here.words)} explain deployments.spec --api-version=apps/v1")


@test(waits=True)
def hints_after_an_interrupt(t):
    holder = Holder(t)
    here = Elsewhere(t, holder._proxy.url, {})
    version = other_release(t, here)
    process = here.start("install", "web", "-p", t.package("web", config_map("web")))
    check(holder.waiting.wait(30), "nothing came")
    os.kill(process.pid, signal.SIGINT)
    interrupted = t.finish(process)
    equal(interrupted.code, 130, interrupted)
    holder.let_go(t)
    equal([words[0] for words in commands_in(interrupted.err)], ["recover", "recover", "status"], interrupted.err)
    _, undo, look = commands_in(interrupted.err)
    check(undo[-1] == "--undo", undo)
    t.run(*look, kubeconfig=here.nowhere)
    t.run(*undo, "--yes", kubeconfig=here.nowhere)
    equal(t.owned("web"), set(), "after the undo")
    still_there(t, here, version)


@test(waits=True)
def hints_after_a_kill(t):
    holder = Holder(t)
    here = Elsewhere(t)
    version = other_release(t, here)
    process = t.start("install", "web", "-p", t.package("web", config_map("web")), kubeconfig=holder.kubeconfig,
                      term_ms=2000)
    check(holder.waiting.wait(30), "nothing came")
    process.kill()
    t.finish(process, -signal.SIGKILL)
    holder.let_go(t)
    t.kube.wait("the holder is silent", lambda: "recover" in here.run("status", "web").out)
    (finish,) = commands_in(here.run("status", "web").out)
    equal(commands_in(here.run("history", "web").err), [finish, [*finish, "--undo"]])
    t.run(*finish, kubeconfig=here.nowhere)
    check(t.kube.get("ConfigMap", t.ns, "web"), "it is finished")
    still_there(t, here, version)


@test(waits=True)
def hints_while_somebody_else_works(t):
    holder = Holder(t)
    here = Elsewhere(t)
    package = t.package("web", config_map("web"))
    process = t.start("install", "web", "-p", package, kubeconfig=holder.kubeconfig)
    check(holder.waiting.wait(30), "nothing came")
    here.follow(here.run("history", "web"), "status")
    holder.let_go(t)
    t.finish(process, 0)


@test
def hints_after_the_record_is_lost(t):
    here = Elsewhere(t)
    version = other_release(t, here)
    here.run("install", "web", "-p", t.package("web", config_map("web")))
    t.kube.delete("Secret", t.ns, "mistletoe.web")
    here.follow(here.run("status", "web", code=1), "recover", yes=("recover",))
    here.run("status", "web")
    still_there(t, here, version)


@test
def an_empty_file_resets_values(t):
    """What the answer to helm's --reset-values does."""
    chart = t.files("chart", {
        "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "values.yaml": "a: chart\n",
        "templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: '{{ .Values.a }}'}\n"})
    t.run("install", "web", "-p", chart, "--set", "a=mine")
    asked = t.run("upgrade", "web", "--reset-values", code=2)
    (command,) = commands_in(asked.err.split("try: ")[1])
    equal(t.kube.get("ConfigMap", t.ns, "web")["data"], {"a": "mine"})
    t.run(*command)
    equal(t.kube.get("ConfigMap", t.ns, "web")["data"], {"a": "chart"})
