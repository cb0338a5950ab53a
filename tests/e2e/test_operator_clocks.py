"""The operator on a node whose clock is set, forth and back, while it works."""
import datetime
import pathlib
import subprocess
import time

from harness import check, config_map, equal, kubeconfig_text, test
from proxy import Proxy
from test_operator import Operator, quiet
from test_operator_outages import chain, create, values, wait_all
from test_operator_replicas import ELECT, lease, leads
from test_release_resource import make, publish, registry, remove, serve, wait_for

DAY = 24 * 3600


class WrongClock(Operator):
    """Its time of day is what set() says. It speaks plain HTTP: no certificate is valid at every time."""

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

    def set(self, seconds):
        beside = self.wrong_by.with_suffix(".new")
        beside.write_text(str(seconds))
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
