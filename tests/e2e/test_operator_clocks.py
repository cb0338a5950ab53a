"""The operator on a node whose clock is set, forth and back, while it works; and what it does after hours."""
import datetime
import pathlib
import re
import subprocess
import time

from harness import check, config_map, contains, equal, kubeconfig_text, test
from proxy import Proxy
from test_operator import Operator, quiet
from test_operator_deadlines import LISTEN, event, metric
from test_operator_faults import blueprint, kind
from test_operator_faults import make as make_thing
from test_operator_outages import chain, create, values, wait_all
from test_operator_replicas import ELECT, lease, leads, served
from test_operator_semantics import HEAD, TAIL, condition, map_of
from test_release_resource import make, publish, registry, remove, serve, wait_for

HOUR = 3600
DAY = 24 * HOUR


class WrongClock(Operator):
    """Its clocks are as wrong as set() says. It speaks plain HTTP: no certificate is valid at every time."""

    def __init__(self, t, *flags):
        proxy = Proxy(t.kube, t.token)
        t.cleanup(proxy.stop)
        self.wrong_by, library = t.dir / "wrong-by", t.dir / "wrong_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, pathlib.Path(__file__).with_name("wrong_clock.c")], check=True)
        t.env.update(LD_PRELOAD=str(library), WRONG_CLOCK=str(self.wrong_by))
        self.set(0)
        path = t.file("proxied.yaml", kubeconfig_text(proxy.url, {}, namespace=t.ns))
        super().__init__(t, "--kubeconfig", path, *flags, name="wrong")
        for name in ("LD_PRELOAD", "WRONG_CLOCK"):
            del t.env[name]

    def set(self, seconds, counting=0):
        """`counting`: of the clock that nobody sets, by which it waits."""
        beside = self.wrong_by.with_suffix(".new")
        beside.write_text(f"{seconds} {counting}")
        beside.rename(self.wrong_by)


@test(waits=True)
def an_operator_whose_clock_is_set_works_on(t):
    serve(t)
    registry(t)
    publish(t, "hello", "1.0.0", config_map("hello", {"text": "1"}))
    where = chain(t)
    operator = WrongClock(t, *ELECT, "--releases", "own")
    t.kube.wait("it leads", lambda: leads(operator))
    other = Operator(t, *ELECT, "--releases", "own", name="other")
    t.kube.wait("the other waits", lambda: "waits: " in other.said())
    t.kube.wait("the blueprint is in force", lambda: "is in force for Thing" in operator.said())
    began = lease(t)
    make(t, package="team/hello:1.0.0", interval="10s", drift="Fix")
    wait_for(t, "Deployed")

    wanted = {}
    for number, wrong_by in enumerate((400 * DAY, -DAY, 0)):
        operator.set(wrong_by)
        for name in (f"i{number}", f"j{number}"):
            wanted[name] = f"text {number}"
            create(t, where, name, wanted[name], step=name.startswith("i"))
        wait_all(t, where, wanted, 60)
        # Drift of objects of both kinds.
        t.kube.delete("ConfigMap", t.ns, f"i{number}-one")
        t.kube.delete("ConfigMap", t.ns, "hello")
        t.kube.wait("the object of the release is back", lambda: t.kube.get("ConfigMap", t.ns, "hello") is not None, 30)
        wait_all(t, where, wanted, 60)
        # For longer than the term of the lease.
        time.sleep(4)
        renewed = datetime.datetime.fromisoformat(lease(t)["renewTime"]).timestamp() - time.time()
        check(abs(renewed - wrong_by) < 60, f"the clock is wrong by {renewed} s instead of {wrong_by}")
        equal(lease(t)["leaseTransitions"], began["leaseTransitions"], f"transitions, with a clock that is wrong by {wrong_by} s")
    equal(operator.process.poll(), None, "exit code")
    check("leads" not in other.said(), "the other lead:", other.said())
    quiet_since = t.mark()
    operator.set(2 * DAY)
    time.sleep(4)
    equal([each.uri for each in t.requests(quiet_since) if each.writes and "/leases/" not in each.uri], [], "writes because of the clock alone")

    for name in wanted:
        t.kube.checked("DELETE", f"{where}/{name}")
    remove(t)
    t.kube.wait("all are gone", lambda: t.kube.checked("GET", where)["items"] == [], 60)
    equal(values(t), {}, "what is left")
    equal(operator.stop(), 0, "exit code")
    t.kube.wait("the other leads", lambda: leads(other))


def looks(t, operator):
    """How many times it has looked at an instance of the blueprint app."""
    text = served(t, operator, "/metrics")[1]
    return int((re.search(r'controller_runtime_reconcile_total\{controller="app",result="success"\} (\d+)', text) or (0, 0))[1])


@test(waits=True)
def everything_is_looked_at_again_after_ten_hours(t):
    where = chain(t)
    operator = WrongClock(t, *LISTEN)
    t.kube.wait("the blueprint is in force", lambda: "is in force for Thing" in operator.said())
    wanted = {f"i{at}": f"text {at}" for at in range(3)}
    for name, text in wanted.items():
        create(t, where, name, text)
    wait_all(t, where, wanted)
    t.kube.wait("it has nothing to do", lambda: 'workqueue_depth{name="operator"} 0' in served(t, operator, "/metrics")[1])
    quiet(t)
    before = looks(t, operator)
    operator.set(0, HOUR * 10 - 600)
    time.sleep(4)
    equal(looks(t, operator), before, "looks before it is time")
    mark = t.mark()
    # As many minutes later as the times of instances are spread over.
    operator.set(0, HOUR * 11 + 60)
    t.kube.wait("each was looked at", lambda: looks(t, operator) >= before + len(wanted), 60)
    time.sleep(2)
    equal([each.uri for each in t.requests(mark) if each.writes], [], "writes where nothing has changed")
    equal(values(t), {f"{name}-{part}": text for name, text in wanted.items() for part in ("one", "two", "three")}, "objects")
    # It works on.
    t.kube.delete("ConfigMap", t.ns, "i1-two")
    t.kube.wait("the object is back", lambda: t.kube.get("ConfigMap", t.ns, "i1-two") is not None, 60)
    for name in wanted:
        t.kube.checked("DELETE", f"{where}/{name}")
    t.kube.wait("all are gone", lambda: t.kube.checked("GET", where)["items"] == [], 60)
    t.kube.wait("the blueprint is let go", lambda: not t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("finalizers"))
    equal(operator.stop(), 0, "exit code")


@test(waits=True)
def a_delete_that_is_held_back_for_long_is_told(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        base.own = fun {..} => ''' + map_of('"base"', '{ a = "1" }') + ''',
        top.own = fun {..} => ''' + map_of('"top"', '{ a = "1" }') + ''',
      },
      also = [{from = "instance", to = "base"}, {from = "instance", to = "top"}],
      sequence = [{from = "base", to = "top", until = 'present}],
    ''' + TAIL)
    operator = WrongClock(t, *LISTEN)
    make_thing(t, where)
    t.kube.wait("both are there", lambda: t.kube.get("ConfigMap", t.ns, "top"))
    gauge = "mistletoe_oldest_pending_delete_timestamp_seconds"
    equal(metric(t, operator, gauge), [], "nothing is held back")
    t.kube.patch("ConfigMap", t.ns, "top", {"metadata": {"finalizers": ["example.com/hold"]}})
    t.cleanup(lambda: t.kube.request("PATCH", f"/api/v1/namespaces/{t.ns}/configmaps/top", {"metadata": {"finalizers": None}},
                                     content_type="application/merge-patch+json"))
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("it says what holds it", lambda: "example.com/hold" in condition(t, where).get("message", ""))
    t.kube.wait("a metric shows it", lambda: metric(t, operator, gauge))
    since = float(metric(t, operator, gauge)[0])
    check(abs(since - time.time()) < 300, f"it is held back since {since}")
    equal(event(t, "DeletesPending"), [], "an Event at once")
    operator.set(0, 11 * 60)
    t.kube.wait("an Event says so", lambda: event(t, "DeletesPending"))
    contains(event(t, "DeletesPending")[0], "ConfigMap ", "/top should have been deleted, and is still there after 11m", "example.com/hold",
             "other objects of this instance that wait: 1.", "mistletoe.dev/delete-out-of-order")
    equal(float(metric(t, operator, gauge)[0]), since, "since the same time")
    operator.set(0, 40 * 60)
    time.sleep(3)
    equal(len(event(t, "DeletesPending")), 1, "Events")

    # Another operator knows by the object how long it has been.
    equal(operator.stop(), 0, "exit code")
    again = Operator(t, *LISTEN, name="again")
    t.kube.wait("its metric shows that too", lambda: metric(t, again, gauge))
    check(abs(float(metric(t, again, gauge)[0]) - since) < 30, "since when it is held back", metric(t, again, gauge), since)
    t.kube.patch("ConfigMap", t.ns, "top", {"metadata": {"finalizers": None}})
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{where}/web")[0] == 404)
    t.kube.wait("the metric is gone", lambda: metric(t, again, gauge) == [])
    t.kube.wait("the blueprint is let go", lambda: not t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("finalizers"))
    equal(again.stop(), 0, "exit code")
