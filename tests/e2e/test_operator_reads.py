"""Objects that instances read and don't own. Many instances share few watches."""
import json
import os
import signal

from harness import check, contains, equal, kubeconfig_text, test
from proxy import Drop, Proxy, Refuse
from test_operator import Operator, quiet
from test_operator_faults import blueprint, kind, make, wait_torn_down
from test_operator_semantics import HEAD, TAIL, change, condition, map_of, wait_ready

COUNT = 70


def ready(t, where):
    items = t.kube.checked("GET", where)["items"]
    return sum(1 for each in items for c in each.get("status", {}).get("conditions", []) if c["type"] == "Ready" and c["status"] == "True")


def labelled(t, name, whose, text):
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": name, "labels": {"for": whose}}, "data": {"text": text}})


def threads(operator):
    """Each watch has one."""
    return len(os.listdir(f"/proc/{operator.process.pid}/task"))


@test
def a_kind_that_no_instance_has_any_more_is_not_watched(t):
    where = kind(t, "Thing", "things")
    text = HEAD + '''
      nodes.out.own = fun {..} => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "out", MORE },
      also = [{from = "instance", to = "out"}],
    ''' + TAIL
    blueprint(t, text.replace("MORE", 'data = { a = "1" }'))
    operator = Operator(t)
    make(t, where)
    wait_ready(t, where)
    quiet(t)
    before = threads(operator)
    # A Secret in place of the ConfigMap, and then nothing.
    source = t.kube.get("ConfigMap", t.ns, "app")["data"]["blueprint.ncl"]
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": source.replace('kind = "ConfigMap"', 'kind = "Secret"').replace(
        'a = "1"', 'a = "MQ=="')}})
    t.kube.wait("the other one is made", lambda: t.kube.get("Secret", t.ns, "out"))
    t.kube.wait("the first is gone", lambda: t.kube.get("ConfigMap", t.ns, "out") is None)
    t.kube.wait("its kind isn't watched", lambda: threads(operator) <= before, 30)
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    t.kube.wait("nor is the other one", lambda: threads(operator) < before, 30)
    equal(operator.stop(), 0, "exit code")


FORBIDDEN = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
                        "message": "not any more"}).encode()


@test
def a_right_that_is_taken_away_is_told_until_it_is_given_again(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes.out.own = fun {instance, ..} => ''' + map_of('"out"', '{ a = instance.spec.a }') + ''',
      also = [{from = "instance", to = "out"}],
    ''' + TAIL)
    refused = []  # a list of these paths, and their watches that tell of something

    def of_refused(path):
        return any(path.split("?")[0].endswith(each) for each in refused)

    def before(_, method, path):
        if method == "GET" and of_refused(path):
            raise Refuse(403, {"Content-Type": "application/json"}, FORBIDDEN)

    def watched(path):
        if of_refused(path):
            raise Drop
    proxy = Proxy(t.kube, t.token, before, watched=watched)
    t.cleanup(proxy.stop)
    operator = Operator(t, "--kubeconfig", t.file("proxied.yaml", kubeconfig_text(proxy.url, {}, namespace=t.ns)))
    make(t, where, a="1")
    wait_ready(t, where)
    # Of what it owns. The change is what ends the watch.
    refused.append("/api/v1/configmaps")
    t.kube.patch("ConfigMap", t.ns, "out", {"data": {"b": "2"}})
    t.kube.wait("it is told", lambda: "not any more" in condition(t, where).get("message", ""))
    contains(condition(t, where)["message"], f"ConfigMap {t.ns}/out can't be read")
    refused.clear()
    wait_ready(t, where)
    # Of the instances.
    said = lambda: t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("annotations", {})  # noqa: E731
    refused.append("/v1/things")
    change(t, where, {"a": "2"})
    t.kube.wait("it is told", lambda: said().get("mistletoe.dev/status") == "NotWatched")
    contains(said()["mistletoe.dev/message"], "not any more")
    refused.clear()
    t.kube.wait("it is in force again", lambda: said().get("mistletoe.dev/status") == "InForce")
    t.kube.wait("it is changed", lambda: t.kube.get("ConfigMap", t.ns, "out")["data"]["a"] == "2")
    wait_ready(t, where)
    equal(operator.stop(), 0, "exit code")


@test
def a_list_selects_by_labels_and_expressions(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        parts.list = fun {instance, ..} => { apiVersion = "v1", kind = "ConfigMap", namespace = instance.metadata.namespace,
          labels = { for = "web" },
          selector.matchExpressions = [
            { key = "env", operator = "In", values = instance.spec.envs },
            { key = "zone", operator = "NotIn", values = ["far"] },
            { key = "used", operator = "Exists" },
            { key = "old", operator = "DoesNotExist" }] },
        out.own = fun {listed, ..} => ''' + map_of('"out"', '{ texts = std.string.join "," listed }') + ''',
      },
      also = [{from = "instance", to = "parts"}, {from = "instance", to = "out"}],
      sequence = [{from = "parts", to = "out", extract = {listed = "data.text"}}],
    ''' + TAIL)
    parts = {"prod": {"env": "prod"}, "near": {"env": "test", "zone": "near"}, "far": {"env": "prod", "zone": "far"},
             "old": {"env": "prod", "old": "yes"}, "dev": {"env": "dev"}, "unused": {"env": "prod", "used": None}, "other": {"env": "prod", "for": "shop"}}
    for name, labels in parts.items():
        whole = {"for": "web", "used": "", **labels}
        t.kube.create("ConfigMap", t.ns, {"metadata": {"name": name, "labels": {k: v for k, v in whole.items() if v is not None}},
                                          "data": {"text": name}})
    operator = Operator(t)
    make(t, where, envs=["prod", "test"])

    def texts():
        return ((t.kube.get("ConfigMap", t.ns, "out") or {}).get("data") or {}).get("texts")
    t.kube.wait("it lists what the server selects", lambda: texts() == "near,prod")
    # A watch shows what comes to match, and what no longer does.
    t.kube.patch("ConfigMap", t.ns, "far", {"metadata": {"labels": {"zone": None}}})
    t.kube.patch("ConfigMap", t.ns, "near", {"metadata": {"labels": {"old": "yes"}}})
    t.kube.wait("labels change", lambda: texts() == "far,prod")
    change(t, where, {"envs": ["dev"]})
    t.kube.wait("the selector changes", lambda: texts() == "dev")
    # One that the server would not take is named before anything is asked.
    source = t.kube.get("ConfigMap", t.ns, "app")["data"]["blueprint.ncl"]
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": source.replace('operator = "Exists"', 'operator = "Is"')}})
    t.kube.wait("the status says so", lambda: 'the operator "Is", which is none of In, NotIn' in str(
        t.kube.checked("GET", f"{where}/web").get("status")))
    equal(texts(), "dev", "what it made before")
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    equal(operator.stop(), 0, "exit code")


@test
def many_instances_that_read_and_list_share_watches(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        password.read = fun {instance, ..} => { apiVersion = "v1", kind = "Secret", metadata.name = "in-" ++ instance.metadata.name },
        parts.list = fun {instance, ..} => { apiVersion = "v1", kind = "ConfigMap", namespace = instance.metadata.namespace,
                                             labels = { for = instance.metadata.name } },
        out.own = fun {instance, given, listed, ..} => ''' + map_of('"out-" ++ instance.metadata.name', '''{
          word = given, texts = std.string.join "," listed }''') + ''',
      },
      also = [{from = "instance", to = "password"}, {from = "instance", to = "parts"}, {from = "instance", to = "out"}],
      sequence = [{from = "password", to = "out", extract = {given = "data.word"}},
                  {from = "parts", to = "out", extract = {listed = "data.text"}}],
    ''' + TAIL)
    operator = Operator(t)

    def out(i):
        return (t.kube.get("ConfigMap", t.ns, f"out-x{i}") or {}).get("data")
    for i in range(COUNT):
        t.kube.create("Secret", t.ns, {"metadata": {"name": f"in-x{i}"}, "data": {"word": "QQ=="}})
        labelled(t, f"p{i}", f"x{i}", f"t{i}")
        make(t, where, name=f"x{i}")
    t.kube.wait("all are ready", lambda: ready(t, where) == COUNT, 120)
    for i in range(COUNT):
        equal(out(i), {"word": "QQ==", "texts": f"t{i}"}, f"what x{i} made")
    # Each look at an instance moves it to the watch that it shares.
    t.kube.wait("few watches are left", lambda: len(os.listdir(f"/proc/{operator.process.pid}/task")) < 60, 60)

    # A change reaches only the instance that reads or lists the object.
    quiet(t)
    before = t.kube.get("ConfigMap", t.ns, "out-x4")["metadata"]["resourceVersion"]
    t.kube.checked("PATCH", f"/api/v1/namespaces/{t.ns}/secrets/in-x3", {"data": {"word": "Qg=="}}, content_type="application/merge-patch+json")
    t.kube.wait("its value is used", lambda: out(3) == {"word": "Qg==", "texts": "t3"})
    labelled(t, "another", "x3", "more")
    t.kube.wait("one that comes is listed", lambda: out(3)["texts"] == "more,t3")
    t.kube.checked("PATCH", f"/api/v1/namespaces/{t.ns}/configmaps/another", {"metadata": {"labels": {"for": "x5"}}},
                   content_type="application/merge-patch+json")
    t.kube.wait("it moves", lambda: out(3)["texts"] == "t3" and out(5)["texts"] == "more,t5")
    t.kube.delete("ConfigMap", t.ns, "another")
    t.kube.wait("it goes", lambda: out(5)["texts"] == "t5")
    equal(t.kube.get("ConfigMap", t.ns, "out-x4")["metadata"]["resourceVersion"], before, "what the others made")
    # One that comes later finds what was there before.
    t.kube.create("Secret", t.ns, {"metadata": {"name": "in-late"}, "data": {"word": "TA=="}})
    labelled(t, "late", "late", "l")
    make(t, where, name="late")
    t.kube.wait("it is made", lambda: (t.kube.get("ConfigMap", t.ns, "out-late") or {}).get("data") == {"word": "TA==", "texts": "l"})
    t.kube.delete("Secret", t.ns, "in-x7")
    t.kube.wait("one that is missing is waited for", lambda: ready(t, where) == COUNT)
    contains(str(t.kube.checked("GET", f"{where}/x7")["status"]), "in-x7 is not there")
    check(operator.process.poll() is None, operator.said())
    # They go quickly.
    for each in t.kube.checked("GET", where)["items"]:
        t.kube.checked("DELETE", f"{where}/{each['metadata']['name']}")
    t.kube.wait("all are torn down", lambda: not t.kube.checked("GET", where)["items"], 60)
    equal(operator.stop(signal.SIGTERM), 0, "exit code")
