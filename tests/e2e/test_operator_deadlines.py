"""Instances that don't get on: progress_deadline, and what a person does about a teardown that stands still."""
from harness import check, contains, equal, test
from test_operator import Operator
from test_operator_faults import blueprint, kind, make
from test_operator_replicas import served
from test_operator_semantics import HEAD, TAIL, condition, map_of

LISTEN = ("--listen", "127.0.0.1:0")


def event(t, reason):
    events = t.kube.checked("GET", f"/api/v1/namespaces/{t.ns}/events")["items"]
    return [each["message"] for each in events if each["reason"] == reason and each["involvedObject"]["name"] == "web"]


def metric(t, operator, name):
    t.kube.wait("it serves metrics", lambda: "serving probes and metrics at " in operator.said())
    text = served(t, operator, "/metrics")[1]
    return [line.rsplit(" ", 1)[1] for line in text.splitlines() if line.startswith(name + "{")]


@test
def an_instance_that_is_not_ready_within_its_deadline_is_stalled(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      progress_deadline = "3s",
      nodes = {
        given.read = fun {..} => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "given" },
        out.own = fun {word, ..} => ''' + map_of('"out"', '{ a = word }') + ''',
      },
      also = [{from = "instance", to = "given"}, {from = "instance", to = "out"}],
      sequence = [{from = "given", to = "out", extract = {word = "data.word"}}],
    ''' + TAIL)
    operator = Operator(t, *LISTEN)
    make(t, where)
    t.kube.wait("it waits", lambda: condition(t, where).get("status") == "False")
    equal(metric(t, operator, "mistletoe_instances_stalled"), [], "nobody is stalled yet")
    t.kube.wait("it is stalled", lambda: condition(t, where, "Stalled").get("status") == "True")
    told = condition(t, where, "Stalled")
    equal(told["reason"], "ProgressDeadlineExceeded", "the reason")
    contains(told["message"], "not ready within 3.0s: ", "given")
    t.kube.wait("an Event says so", lambda: event(t, "ProgressDeadlineExceeded"))
    equal(event(t, "ProgressDeadlineExceeded"), [told["message"]], "once")
    t.kube.wait("a metric says so", lambda: metric(t, operator, "mistletoe_instances_stalled") == ["1"])

    # An operator that starts sees that the time was over before.
    equal(operator.stop(), 0, "exit code")
    again = Operator(t, *LISTEN, name="again")
    t.kube.wait("a metric says so again", lambda: metric(t, again, "mistletoe_instances_stalled") == ["1"])
    equal(condition(t, where, "Stalled"), told, "the condition is the same")

    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "given"}, "data": {"word": "w"}})
    t.kube.wait("it is ready", lambda: condition(t, where).get("status") == "True")
    t.kube.wait("it is stalled no more", lambda: not condition(t, where, "Stalled"))
    t.kube.wait("the metric falls", lambda: metric(t, again, "mistletoe_instances_stalled") == ["0"])
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{where}/web")[0] == 404)
    equal(again.stop(), 0, "exit code")


@test
def a_person_deletes_out_of_order_what_a_teardown_holds_back(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        base.own = fun {..} => ''' + map_of('"base"', '{ a = "1" }') + ''',
        top.own = fun {..} => ''' + map_of('"top"', '{ a = "1" }') + ''',
      },
      also = [{from = "instance", to = "base"}, {from = "instance", to = "top"}],
      sequence = [{from = "base", to = "top", until = 'present}],
    ''' + TAIL)
    operator = Operator(t)
    make(t, where)
    t.kube.wait("both are there", lambda: t.kube.get("ConfigMap", t.ns, "top"))
    t.kube.patch("ConfigMap", t.ns, "top", {"metadata": {"finalizers": ["example.com/hold"]}})
    t.cleanup(lambda: t.kube.request("PATCH", f"/api/v1/namespaces/{t.ns}/configmaps/top", {"metadata": {"finalizers": None}},
                                     content_type="application/merge-patch+json"))
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("it says what holds it", lambda: "example.com/hold" in condition(t, where).get("message", ""))
    check(t.kube.get("ConfigMap", t.ns, "base")["metadata"].get("deletionTimestamp") is None, "what came before is there")
    # The order is kept until somebody says otherwise, for that node only.
    t.kube.checked("PATCH", f"{where}/web", {"metadata": {"annotations": {"mistletoe.dev/delete-out-of-order": "base"}}},
                   content_type="application/merge-patch+json")
    t.kube.wait("it goes before its turn", lambda: t.kube.get("ConfigMap", t.ns, "base") is None)
    check(t.kube.get("ConfigMap", t.ns, "top") is not None, "somebody's finalizer still holds the other")
    check(t.kube.request("GET", f"{where}/web")[0] == 200, "the instance stays until nothing is left")
    t.kube.patch("ConfigMap", t.ns, "top", {"metadata": {"finalizers": None}})
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{where}/web")[0] == 404)
    equal(operator.stop(), 0, "exit code")
