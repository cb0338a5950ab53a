"""A release that brings an API server of its own, and objects of the kinds that it serves."""
import json
import os
import signal
import subprocess
import threading

from aggregated import AggregatedServer
from harness import check, config_map, contains, equal, test


def serving(t, **options):
    """An aggregated API server that only this test's cluster objects point to."""
    done = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                           "-days", "2", "-subj", "/CN=localhost", "-keyout", "tally.key", "-out", "tally.crt"],
                          cwd=t.dir, capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    server = AggregatedServer(f"{t.ns}.example.com", t.dir / "tally.crt", t.dir / "tally.key", **options)
    t.cleanup(server.stop)
    # Before the server stops: a registered server that doesn't answer is in everybody's way.
    t.cleanup(lambda: t.kube.delete("APIService", None, f"v1.{server.group}"))
    return server


def with_other_namespace(t):
    check(t.namespace("other") == f"{t.ns}-other")


def registration(t, server):
    return json.loads(json.dumps(server.registration()).replace("NAMESPACE", t.ns))


def tally(server, name, text="1", **metadata):
    return {"apiVersion": server.version, "kind": "Tally", "metadata": {"name": name, **metadata},
            "spec": {"text": text}}


def region(server, name):
    return {"apiVersion": server.version, "kind": "Region", "metadata": {"name": name}, "spec": {"zones": ["a", "b"]}}


def everything(t, server, text="1"):
    other = f"{t.ns}-other"
    return t.package("p", region(server, "north"), tally(server, "implied", text),
                     tally(server, "named", text, namespace=other), config_map("plain"), *registration(t, server))


def all_names(t):
    return ["regions/north", f"tallies/{t.ns}-other/named", f"tallies/{t.ns}/implied"]


@test
def objects_of_an_api_service_in_the_same_release(t):
    with_other_namespace(t)
    server = serving(t)
    package = everything(t, server)
    t.run("install", "shop", "-p", package, "--wait", "--timeout", "60s")
    equal(server.names(), sorted(all_names(t)), "written")
    status = t.run("status", "shop", "-o", "json").json
    equal({f"{o['kind']}/{o['namespace'] or ''}/{o['name']}": o["health"] for o in status["objects"]
           if o["group"] == server.group},
          {"Region//north": "ready", f"Tally/{t.ns}/implied": "ready", f"Tally/{t.ns}-other/named": "ready"})
    # They are like any other objects from now on.
    writes = len(server.written)
    equal(t.run("upgrade", "shop", "-p", package, "-o", "json").json["changed"], False, "an upgrade with nothing new")
    contains(t.run("diff", "shop", "-p", everything(t, server, "2"), "--exit-code", code=3).out, "shop: 2 to change")
    t.run("upgrade", "shop", "-p", everything(t, server, "2"))
    equal(len(server.written), writes + 2, "writes of an upgrade that changes two")
    t.run("rollback", "shop")
    equal({value["spec"].get("text") for value in server.objects.values()}, {None, "1"}, "after the rollback")
    t.run("uninstall", "shop", "--yes", "--wait")
    equal(server.names(), [], "after the uninstall")
    check(t.kube.get("APIService", None, f"v1.{server.group}") is None, "the APIService stayed")
    equal(t.owned("shop"), set(), "after the uninstall")


@test
def killed_while_it_writes_objects_of_its_own_api(t):
    with_other_namespace(t)
    for way in ((), ("--undo",)):
        held, go_on = threading.Event(), threading.Event()

        def before(method, path, held=held, go_on=go_on):
            # The cluster itself empties each namespace that goes, of this kind too.
            if method == "PATCH":
                held.set()
                go_on.wait(30)

        server = serving(t, before=before)
        package = everything(t, server)
        process = t.start("install", "shop", "-p", package, term_ms=1000)
        check(held.wait(60), "nothing was written to the aggregated API")
        os.kill(process.pid, signal.SIGKILL)
        t.finish(process)
        go_on.set()
        # What was under way arrives, and nobody recorded where it went.
        t.kube.wait("the requests under way are done", lambda: server.names())
        t.run("recover", "shop", *way, "--yes", "--lock-wait", "20s")
        if way:
            equal(server.names(), [], "undone")
            equal(t.record("shop"), [], "the record of what was undone")
        else:
            equal(server.names(), sorted(all_names(t)), "finished")
            t.run("uninstall", "shop", "--yes")
            equal(server.names(), [], "after the uninstall")


@test(waits=True)
def a_kind_that_the_own_api_does_not_serve(t):
    server = serving(t, kinds=("tallies",))
    package = t.package("p", region(server, "north"), tally(server, "one"), *registration(t, server))
    t.refused("install", "shop", "-p", package, "--timeout", "60s",
              says=[f"the API service v1.{server.group} is available, but it serves no kind Region", "00000.yaml"])
    equal(server.names(), [f"tallies/{t.ns}/one"], "what could be written")
    t.run("install", "shop", "-p", t.package("p", tally(server, "one"), *registration(t, server)))
    t.run("uninstall", "shop", "--yes")
    equal(server.names(), [], "after the uninstall")


@test
def an_api_service_that_never_answers_is_named(t):
    server = serving(t)
    objects = registration(t, server)
    server.stop()
    failed = t.refused("install", "shop", "-p", t.package("p", tally(server, "one"), config_map("free"), *objects),
                       "--timeout", "4s", says=["APIService", "is not available after 4 s", "waits for it"])
    contains(failed.err, "FailedDiscoveryCheck")
    check(t.kube.get("ConfigMap", t.ns, "free"), "what does not depend on it was not written")
    t.run("uninstall", "shop", "--yes")
    equal(t.owned("shop"), set(), "after the uninstall")


@test(waits=True)
def objects_of_an_api_that_went_down_are_not_forgotten(t):
    """The API service belongs to somebody else: nobody may take its objects for gone while it doesn't answer."""
    server = serving(t)
    service, api = registration(t, server)
    t.kube.create("Service", t.ns, service)
    t.kube.create("APIService", None, api)
    t.kube.wait("the API service is available", lambda: any(
        c["type"] == "Available" and c["status"] == "True"
        for c in (t.kube.get("APIService", None, api["metadata"]["name"]).get("status") or {}).get("conditions", [])))
    both, plain = (t.package(name, config_map("plain"), *more) for name, more in
                   (("both", [tally(server, "one")]), ("plain", [])))
    t.kube.wait("its kinds are served", lambda: t.run("install", "shop", "-p", both, code=None).code == 0)
    # Registered again, to a port where nobody is: nobody answers what was served there.
    away = json.loads(json.dumps(api))
    away["spec"]["service"]["port"] = 1
    t.kube.delete("APIService", None, api["metadata"]["name"])
    t.kube.wait("the group is gone", lambda: server.group not in json.dumps(t.kube.checked("GET", "/apis")))
    t.kube.create("APIService", None, away)
    t.kube.wait("it is known to be away", lambda: t.run("diff", "shop", "-p", both, code=None).code == 1)
    # As long as the cluster remembers its kinds, it answers 503 in their place.
    status = t.run("status", "shop", "-o", "json").json
    equal({o["kind"]: o["health"] for o in status["objects"]}, {"ConfigMap": "ready", "Tally": "unknown"}, "status")
    check(all(o["detail"] for o in status["objects"] if o["kind"] == "Tally"), status)
    for arguments in (("upgrade", "shop", "-p", plain), ("uninstall", "shop", "--yes")):
        refused = t.run(*arguments, code=1)
        check("503" in refused.err or "doesn't answer" in refused.err, refused)
    equal(server.names(), [f"tallies/{t.ns}/one"], "what is there")
    t.kube.delete("APIService", None, api["metadata"]["name"])
    t.kube.create("APIService", None, api)
    t.kube.wait("the kind is known again", lambda: t.run("uninstall", "shop", "--yes", code=None).code == 0)
    equal(server.names(), [], "after the uninstall")
