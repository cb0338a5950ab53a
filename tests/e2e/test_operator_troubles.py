"""The operator where a cluster is in trouble: kinds that go and come back, quotas, webhooks, names that are too long. What
`mistctl blueprint status` and `why` say of it must be true."""
import json
import socket
import time

from harness import check, contains, equal, kubeconfig_text, test
from proxy import Proxy, Refuse
from test_operator import Operator
from test_operator_faults import GROUP, ONE, blueprint, kind, make, message, wait_torn_down
from test_operator_semantics import HEAD, TAIL, condition, map_of, wait_ready


def define(t, group, name, plural):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    t.kube.create("CustomResourceDefinition", None, {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": name, "plural": plural, "singular": name.lower()},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}})
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"{plural}.{group}"))
    t.kube.wait("it is served", lambda: t.kube.request("GET", f"/apis/{group}/v1/{plural}")[0] == 200)


def undefine(t, group, plural):
    t.kube.delete("CustomResourceDefinition", None, f"{plural}.{group}")
    t.kube.wait("the kind is gone", lambda: t.kube.request("GET", f"/apis/{group}/v1/{plural}")[0] == 404)


@test
def a_kind_that_goes_and_comes_back_is_noticed(t):
    where = kind(t, "Thing", "things")
    group = f"w.{t.ns}.example.com"
    define(t, group, "Widget", "widgets")
    widget = f'{{ apiVersion = "{group}/v1", kind = "Widget", metadata.name = "w" }}'
    blueprint(t, HEAD + "nodes = { w = { own = fun {..} => " + widget + ", ready = {..} }, c.own = fun {..} => " +
              map_of('"c"', '{ a = "1" }') + ''' },
      also = [{from = "instance", to = "w"}, {from = "instance", to = "c"}],
      sequence = [{from = "w", to = "c"}],''' + TAIL)
    operator = Operator(t)
    make(t, where)
    wait_ready(t, where)
    # At once after it came back, it goes again, and comes back under another plural.
    plural = "widgets"
    for now in ("widgets", "widgetses"):
        undefine(t, group, plural)
        # Whichever look was the first to miss it.
        t.kube.wait("the status says so", lambda: any(words in message(t, where) for words in ("no kind Widget", "is being looked up")))
        equal(condition(t, where).get("status"), "False")
        check(condition(t, where).get("reason") != "Deleting", condition(t, where))
        contains(t.run("blueprint", "status", "thing/web").out, f"the kind of Widget {t.ns}/w is being looked up")
        define(t, group, "Widget", now)
        plural = now
        t.kube.wait("it is made again", lambda: t.kube.request("GET", f"/apis/{group}/v1/namespaces/{t.ns}/{plural}/w")[0] == 200, 60)
        wait_ready(t, where)
    # And it is watched there.
    t.kube.checked("DELETE", f"/apis/{group}/v1/namespaces/{t.ns}/{plural}/w")
    t.kube.wait("it is back", lambda: t.kube.request("GET", f"/apis/{group}/v1/namespaces/{t.ns}/{plural}/w")[0] == 200)
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    equal(operator.stop(), 0, "exit code")


@test
def a_kind_that_comes_late_is_used_when_it_comes(t):
    where = kind(t, "Thing", "things")
    group = f"l.{t.ns}.example.com"
    late = f'{{ apiVersion = "{group}/v1", kind = "Late", metadata.name = "l" }}'
    blueprint(t, HEAD + "nodes = { l = { own = fun {..} => " + late + ", ready = {..} } }, also = [{from = \"instance\", to = \"l\"}]," + TAIL)
    operator = Operator(t)
    make(t, where)
    # By itself it would look again after 25 seconds at the earliest.
    t.kube.wait("it has looked often", lambda: "next try in 25600 ms" in operator.said(), 60)
    define(t, group, "Late", "lates")
    t.kube.wait("it is made", lambda: t.kube.request("GET", f"/apis/{group}/v1/namespaces/{t.ns}/lates/l")[0] == 200, 15)
    wait_ready(t, where)
    equal(operator.stop(), 0, "exit code")


@test
def a_quota_that_is_exhausted_is_told_and_one_that_is_raised_is_used(t):
    where = kind(t, "Thing", "things")
    t.kube.wait("the cluster's own ConfigMap is there", lambda: t.kube.get("ConfigMap", t.ns, "kube-root-ca.crt"))
    blueprint(t, HEAD + "nodes = { a.own = fun {..} => " + map_of('"a"', '{ a = "1" }') + ", b.own = fun {..} => " +
              map_of('"b"', '{ a = "1" }') + ' }, also = [{from = "instance", to = "a"}, {from = "a", to = "b"}], '
              'sequence = [{from = "a", to = "b"}],' + TAIL)
    quota = f"/api/v1/namespaces/{t.ns}/resourcequotas"

    def hard(count):
        return {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": str(count)}}}
    t.kube.checked("POST", quota, hard(len(t.kube.list("ConfigMap", t.ns)) + 1))
    t.kube.wait("it counts", lambda: t.kube.checked("GET", f"{quota}/q").get("status", {}).get("used"))
    operator = Operator(t)
    make(t, where)
    t.kube.wait("the status says so", lambda: "exceeded quota" in message(t, where))
    contains(message(t, where), f"ConfigMap {t.ns}/b")
    for command in (("status", "thing/web"), ("why", "configmap/b")):
        said = t.run("blueprint", *command).out
        contains(said, "it is not as wanted yet, and the operator reports a failure", "exceeded quota")
        check("it is being created" not in said, said)
    t.kube.checked("PATCH", f"{quota}/q", hard(100), content_type="application/merge-patch+json")
    t.kube.wait("it goes on", lambda: condition(t, where).get("status") == "True", 60)
    check("exceeded quota" not in t.run("blueprint", "why", "configmap/b").out)
    equal(operator.stop(), 0, "exit code")


@test
def long_names_and_long_messages_reach_the_server(t):
    where = kind(t, "Thing", "things")
    job = '''{ apiVersion = "batch/v1", kind = "Job", metadata.name = instance.metadata.name,
               spec.template.spec = { restartPolicy = "Never", containers = [{ name = "a", image = "a" }] } }'''
    blueprint(t, HEAD + "nodes = { j.act = fun {instance, ..} => " + job + ", c.own = fun {instance, ..} => " + map_of(
        "instance.metadata.name", '{ a = if instance.spec.a == "1" then "1" else std.fail_with instance.spec.a }') + ''' },
      also = [{from = "instance", to = "j"}, {from = "instance", to = "c"}],''' + TAIL)
    operator = Operator(t)

    def said(name):
        found = t.kube.checked("GET", f"{where}/{name}").get("status", {}).get("conditions", [])
        return next(({"status": each["status"], "message": each["message"]} for each in found if each["type"] == "Ready"), {})
    # The name of an act's Job is cut within them.
    for name in ("a" * 51 + "." + "b" * 20, "a." * 126 + "b", "x" * 253, "y" * 51 + "-" + "z" * 40):
        make(t, where, name=name, a="1")
        t.kube.wait(f"{name} is ready", lambda: said(name).get("status") == "True", 20)
    # An Event has 1024 bytes for a message, whatever character stands there.
    for name, text in (("even", "é" * 900), ("odd", "x" + "é" * 900)):
        make(t, where, name=name, a=text)
        t.kube.wait(f"{name} fails", lambda: "éé" in said(name).get("message", ""))
        t.kube.wait("there is an Event", lambda: [each for each in t.kube.list("Event", t.ns) if each["involvedObject"]["name"] == name])
    equal(operator.stop(), 0, "exit code")


def webhook(t, resource, port):
    """Asks a server for each write of that resource in the test's namespace, for 2 s."""
    name = f"{t.ns}-{resource}"
    t.kube.create("ValidatingWebhookConfiguration", None, {"metadata": {"name": name}, "webhooks": [{
        "name": "slow.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 2,
        "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}},
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource]}]}]})
    t.cleanup(lambda: t.kube.delete("ValidatingWebhookConfiguration", None, name))

    def is_asked():
        status, answer = t.kube.request("POST", f"/api/v1/namespaces/{t.ns}/{resource}?dryRun=All", {"metadata": {"name": "probe"}})
        return status == 500 and "webhook" in answer["message"]
    t.kube.wait("it is asked", is_asked, 60)


@test
def a_webhook_that_is_slow_for_one_kind_holds_up_no_other_blueprint(t):
    where, count = kind(t, "Thing", "things"), 40
    # It takes connections, and says nothing.
    silent = socket.create_server(("127.0.0.1", 0), backlog=128)
    t.cleanup(silent.close)
    webhook(t, "secrets", silent.getsockname()[1])
    blueprint(t, HEAD + """nodes.a.own = fun {instance, ..} =>
        { apiVersion = "v1", kind = "Secret", metadata.name = instance.metadata.name, stringData = { a = "1" } },
      also = [{from = "instance", to = "a"}],""" + TAIL)
    others = kind(t, "Other", "others")
    quick = HEAD + "nodes.a.own = fun {instance, ..} => " + map_of("instance.metadata.name", '{ a = "1" }') + \
        ', also = [{from = "instance", to = "a"}],' + TAIL
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "quick", "labels": {"mistletoe.dev/blueprint": "true"}}, "data": {
        "blueprint.ncl": quick.replace("GROUP", GROUP.format(ns=t.ns)).replace("Thing", "Other")}})
    operator = Operator(t)
    for at in range(count):
        make(t, where, name=f"slow-{at}")

    def told():
        return [each for each in t.kube.checked("GET", where)["items"] if "status" in each]
    t.kube.wait("the status says so", lambda: any("failed calling webhook" in json.dumps(each["status"]) for each in told()), 120)
    t.kube.checked("POST", others, {"apiVersion": "/".join(others.split("/")[2:4]), "kind": "Other", "metadata": {"name": "web"}, "spec": {}})
    t.cleanup(lambda: t.kube.request("PATCH", f"{others}/web", {"metadata": {"finalizers": None}},
                                     content_type="application/merge-patch+json"))
    wait_ready(t, others)
    check(len(told()) < count, "all of the slow ones were tried before")
    # They go on at once when it answers, here by being gone.
    t.kube.delete("ValidatingWebhookConfiguration", None, f"{t.ns}-secrets")
    t.kube.wait("all of them are ready", lambda: all(
        each["status"]["conditions"][0]["status"] == "True" for each in told()) and len(told()) == count, 120)
    equal(operator.stop(), 0, "exit code")


@test
def a_failure_is_tried_again_although_its_pause_ends_before_the_status_is_written(t):
    """As with a server that is far away: the first pause is shorter than a request."""
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    # Each says something else, so that the status is written.
    refusals = [Refuse(403, {"Content-Type": "application/json"}, json.dumps({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": f"not yet {at}"}).encode())
        for at in range(3)]

    def before(_, method, path):
        if method == "PATCH" and path.split("?")[0].endswith("/status"):
            time.sleep(1)
        if method == "PATCH" and path.split("?")[0].endswith("/configmaps/web") and refusals:
            raise refusals.pop()
    # Its watch tells of that later than the answer.
    proxy = Proxy(t.kube, t.token, before, watched=lambda path: time.sleep(1) if "/things?" in path else None)
    t.cleanup(proxy.stop)
    operator = Operator(t, "--kubeconfig", t.file("proxied.yaml", kubeconfig_text(proxy.url, {}, namespace=t.ns)))
    make(t, where)
    t.kube.wait("the child is made", lambda: t.kube.get("ConfigMap", t.ns, "web"), 30)
    check(not refusals, "nothing was refused")
    wait_ready(t, where)
    equal(operator.stop(), 0, "exit code")


CHAIN = HEAD + "nodes = { a.own = fun {..} => " + map_of('"a"', '{ x = "1" }') + ", b.own = fun {..} => " + map_of('"b"', '{ x = "1" }') + \
    ", c.own = fun {..} => " + map_of('"c"', '{ x = "1" }') + """ },
  also = [{from = "instance", to = "a"}, {from = "instance", to = "b"}, {from = "instance", to = "c"}],
  sequence = [{from = "a", to = "b"}, {from = "b", to = "c"}],""" + TAIL


@test
def a_blueprint_that_changes_during_teardown_changes_nothing_of_it(t):
    where = kind(t, "Thing", "things")
    blueprint(t, CHAIN)
    operator = Operator(t)
    make(t, where)
    wait_ready(t, where)
    text = t.kube.get("ConfigMap", t.ns, "app")["data"]["blueprint.ncl"]

    def there():
        return {name for name in "abcz" if t.kube.get("ConfigMap", t.ns, name)}
    t.kube.patch("ConfigMap", t.ns, "c", {"metadata": {"finalizers": ["example.com/hold"]}})
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("the first is going", lambda: "example.com/hold" in message(t, where))
    # Without the order, with the order the other way round, with other objects, and not to be evaluated at all.
    for change in (text[:text.index("sequence")] + TAIL,
                   text.replace('{from = "a", to = "b"}, {from = "b", to = "c"}', '{from = "c", to = "b"}, {from = "b", to = "a"}'),
                   text.replace('metadata.name = "b"', 'metadata.name = "z"'), "1 +"):
        t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": change}})
        wanted = "Rejected" if change == "1 +" else "InForce"
        t.kube.wait("it is read", lambda: said(t).get("mistletoe.dev/status") == wanted)
        time.sleep(1)
        equal(there(), set("abc"), f"what is there with {change}")
        contains(message(t, where), "example.com/hold")
    t.kube.patch("ConfigMap", t.ns, "c", {"metadata": {"finalizers": None}})
    wait_torn_down(t, where)
    equal(there(), set(), "what is left")
    equal([line.split(" deleted ConfigMap ")[1].split()[0].split("/")[1] for line in operator.said().splitlines() if " deleted ConfigMap " in line], ["c", "b", "a"])
    equal(operator.stop(), 0, "exit code")


def said(t):
    return t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("annotations", {})


@test
def a_namespace_that_is_deleted_takes_its_instances_with_it(t):
    where = kind(t, "Thing", "things")
    ns = t.namespace("inner")
    blueprint(t, CHAIN)
    operator = Operator(t)
    there = where.replace(f"/namespaces/{t.ns}/", f"/namespaces/{ns}/")
    t.kube.checked("POST", there, {"apiVersion": "/".join(where.split("/")[2:4]), "kind": "Thing", "metadata": {"name": "web"}, "spec": {}})
    wait_ready(t, there)
    t.kube.delete("Namespace", None, ns)
    t.kube.wait("the namespace is gone", lambda: t.kube.get("Namespace", None, ns) is None, 60)
    equal(operator.stop(), 0, "exit code")
