"""Several replicas of the operator, of which one works; probes and metrics."""
import json
import pathlib
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

from harness import check, contains, equal, test
from quiet_server import QuietHandler, QuietServer
from test_operator import Operator
from test_operator_faults import ONE, blueprint, kind, make, wait_made, wait_torn_down

ELECT = ("--leader-elect", "--lease-duration", "3s")


def lease(t):
    return t.kube.checked("GET", f"/apis/coordination.k8s.io/v1/namespaces/{t.ns}/leases/mistletoe-operator")["spec"]


def leads(operator):
    """True once this replica has said that it leads."""
    return "leads: it holds Lease" in operator.said()


def served(t, operator, path):
    address = re.findall(r"serving probes and metrics at (\S+)", operator.said())[-1]  # of its last start
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


@test
def of_several_replicas_one_works_and_another_takes_its_place(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    first = Operator(t, *ELECT, name="first")
    t.kube.wait("the first leads", lambda: leads(first))
    second = Operator(t, *ELECT, "--listen", "127.0.0.1:0", name="second")
    t.kube.wait("the second waits", lambda: "waits: " in second.said())
    equal(served(t, second, "/readyz")[0], 200, "a replica that waits is ready")
    contains(served(t, second, "/metrics")[1], 'leader_election_master_status{name="mistletoe-operator"} 0')
    make(t, where)
    wait_made(t)
    check("created ConfigMap" in first.said() and "created" not in second.said(), "who made it")

    # One that was killed keeps the lead for its term, and nobody else has to do anything.
    before = lease(t)
    first.stop(signal.SIGKILL)
    t.kube.wait("the second leads", lambda: leads(second))
    equal(lease(t)["leaseTransitions"], before["leaseTransitions"] + 1, "transitions")
    contains(served(t, second, "/metrics")[1], 'leader_election_master_status{name="mistletoe-operator"} 1')
    t.kube.delete("ConfigMap", t.ns, "web")
    wait_made(t)

    # One that is stopped in order gives it back: its successor doesn't wait for the term.
    third = Operator(t, "--leader-elect", "--lease-duration", "600s", name="third")
    t.kube.wait("the third waits", lambda: "waits: " in third.said())
    equal(second.stop(), 0, "exit code")
    t.kube.wait("the third leads", lambda: leads(third))
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)


@test
def an_operator_whose_lead_was_taken_stops_writing(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    operator = Operator(t, *ELECT)
    t.kube.wait("it leads", lambda: leads(operator))
    address = f"/apis/coordination.k8s.io/v1/namespaces/{t.ns}/leases/mistletoe-operator"
    t.kube.checked("PATCH", address, {"spec": {"holderIdentity": "thief"}}, content_type="application/merge-patch+json")
    equal(operator.process.wait(timeout=30), 1, "exit code")
    contains(operator.said(), "the lead was lost", "thief")
    make(t, where)
    # Begun again it waits, and takes over from one that is silent.
    operator.start()
    t.kube.wait("it waits for the thief", lambda: "waits: thief holds Lease" in operator.said())
    wait_made(t)
    equal(operator.stop(), 0, "exit code")
    equal(lease(t)["holderIdentity"], "", "holder")


@test
def probes_and_metrics_of_an_operator(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    operator = Operator(t, "--listen", "127.0.0.1:0")
    t.kube.wait("it serves", lambda: "serving probes" in operator.said())
    t.kube.wait("it is ready", lambda: served(t, operator, "/readyz")[0] == 200)
    equal(served(t, operator, "/healthz"), (200, "ok\n"))
    equal(served(t, operator, "/etc/passwd")[0], 404)
    make(t, where)
    wait_made(t)
    count = lambda: int((re.search(r'controller_runtime_reconcile_total\{controller="app",result="success"\} (\d+)',
                                   served(t, operator, "/metrics")[1]) or (0, 0))[1])
    t.kube.wait("it counts, and has nothing more to do",
                lambda: count() > 0 and 'workqueue_depth{name="operator"} 0' in served(t, operator, "/metrics")[1])
    text = served(t, operator, "/metrics")[1]
    contains(text, "# TYPE controller_runtime_reconcile_time_seconds histogram")
    for line in text.splitlines():
        check(re.fullmatch(r"# (HELP|TYPE) \S+ .+|[a-z_]+(\{[^{}]*\})? \S+", line), line)
    server = t.kube.server.split("://")[1]

    def value(name):
        """Of one time series; None: it isn't there."""
        found = [line.rsplit(" ", 1)[1] for line in served(t, operator, "/metrics")[1].splitlines() if line.rsplit(" ", 1)[0] == name]
        return float(found[0]) if found else None

    def instances(reason):
        return value(f'mistletoe_instances{{blueprint="app",namespace="{t.ns}",reason="{reason}"}}')
    for name in (f'rest_client_requests_total{{code="200",host="{server}",method="GET"}}',
                 f'rest_client_requests_total{{code="201",host="{server}",method="PATCH"}}',
                 'workqueue_queue_duration_seconds_count{name="operator"}', "process_cpu_seconds_total"):
        check(value(name), name, "is", value(name))
    check(value('workqueue_retries_total{name="operator"}') is not None, "retries aren't counted")
    t.kube.wait("no worker is busy", lambda: value('controller_runtime_active_workers{controller="app"}') == 0)
    began = value("process_start_time_seconds")
    check(abs(began - time.time()) < 3600, "the start of the process is", began)

    # The facts that page a person: an instance that isn't Ready, and a revision that is rejected.
    t.kube.wait("it is counted", lambda: instances("Ready") == 1)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "stuck"}, "data": {"a": "theirs"}}, manager="other")
    make(t, where, "stuck")
    t.kube.wait("it is counted too", lambda: instances("Failed") == 1)
    equal(instances("Ready"), 1, "instances that are ready")
    t.kube.checked("DELETE", f"{where}/stuck")
    t.kube.wait("it is gone", lambda: (instances("Failed"), instances("Ready")) == (None, 1))
    equal(value('mistletoe_blueprint_rejected{blueprint="app"}'), 0, "whether it is rejected")
    t.kube.checked("PATCH", f"/api/v1/namespaces/{t.ns}/configmaps/app", {"data": {"blueprint.ncl": "{ kind = "}},
                   content_type="application/merge-patch+json")
    t.kube.wait("it is rejected", lambda: value('mistletoe_blueprint_rejected{blueprint="app"}') == 1)
    equal(instances("Ready"), 1, "instances of the last good revision")
    equal(operator.stop(), 0, "exit code")


@test
def the_log_says_whose_object_it_is(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    operator = Operator(t, "--log-format", "json")
    make(t, where)
    wait_made(t)

    def lines():
        return [json.loads(line) for line in operator.said().splitlines()]
    t.kube.wait("it is logged", lambda: any(line["msg"] == f"created ConfigMap {t.ns}/web" for line in lines()))
    created = next(line for line in lines() if line["msg"].startswith("created ConfigMap"))
    equal({key: value for key, value in created.items() if key not in ("time", "level", "msg")},
          {"blueprint": "app", "namespace": t.ns, "instance": "web", "object": f"ConfigMap {t.ns}/web", "kind": "ConfigMap", "name": "web"})
    equal([line.get("blueprint") for line in lines() if line["msg"].startswith("blueprint app is in force")], ["app"])
    equal(operator.stop(), 0, "exit code")
    t.kube.delete("ConfigMap", t.ns, "web")
    plain = Operator(t, name="plain")
    t.kube.wait("it is made again", lambda: f"created ConfigMap {t.ns}/web blueprint=app namespace={t.ns} instance=web\n" in plain.said())
    contains(plain.said(), "blueprint app is in force for Thing\n")
    equal(plain.stop(), 0, "exit code")


@test
def an_operator_without_its_engine_says_what_is_missing(t):
    kind(t, "Thing", "things")
    blueprint(t, ONE)
    t.env["MIST_ENGINES_LOCATION"] = str(t.dir / "none")
    operator = Operator(t, "--listen", "127.0.0.1:0")
    annotations = lambda: t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("annotations", {})
    t.kube.wait("its author is told", lambda: annotations().get("mistletoe.dev/status") == "NotEvaluated")
    contains(annotations()["mistletoe.dev/message"], f"{t.dir}/none/nickel.wasm", "MIST_ENGINES_LOCATION")
    code, body = served(t, operator, "/readyz")
    equal(code, 503)
    contains(body, f"{t.dir}/none/nickel.wasm", "MIST_ENGINES_LOCATION")
    contains(operator.said(), f"{t.dir}/none/nickel.wasm")
    equal(operator.stop(), 0, "exit code")
    del t.env["MIST_ENGINES_LOCATION"]
    again = Operator(t, "--listen", "127.0.0.1:0", name="again")
    t.kube.wait("it is in force", lambda: annotations().get("mistletoe.dev/status") == "InForce")
    t.kube.wait("it is ready", lambda: served(t, again, "/readyz")[0] == 200)
    equal(again.stop(), 0, "exit code")


def collector(t):
    """(its URL, [(path, headers, document), …] of what it was sent); it is busy at first."""
    sent = []

    class Handler(QuietHandler):
        def handle_any(self):
            sent.append((self.path, dict(self.headers), json.loads(self.body())))
            self.send_response(503 if len(sent) == 1 else 200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
    server = QuietServer(Handler)
    t.cleanup(server.stop)
    return f"http://127.0.0.1:{server.port}", sent


@test
def traces_of_an_operator(t):
    where = kind(t, "Thing", "things")
    blueprint(t, ONE)
    url, sent = collector(t)
    operator = Operator(t, "--otlp-endpoint", url, "--listen", "127.0.0.1:0")
    make(t, where)
    wait_made(t)

    def spans():
        return [span for path, _, document in sent[1:] for resource in document["resourceSpans"]
                for scope in resource["scopeSpans"] for span in scope["spans"]]
    t.kube.wait("the creation was sent", lambda: any(span["name"] == "create" for span in spans()))
    equal({path for path, _, _ in sent}, {"/v1/traces"}, "paths")
    equal({headers["Content-Type"] for _, headers, _ in sent}, {"application/json"}, "types")
    who = {each["key"]: each["value"]["stringValue"] for each in sent[1][2]["resourceSpans"][0]["resource"]["attributes"]}
    equal(who["service.name"], "mistletoe-operator")
    create = next(span for span in spans() if span["name"] == "create")
    t.kube.wait("its parent was sent", lambda: any(span["spanId"] == create["parentSpanId"] for span in spans()))
    parent = next(span for span in spans() if span["spanId"] == create["parentSpanId"])
    equal((parent["name"], parent["traceId"]), ("reconcile", create["traceId"]), "its parent")
    said = {each["key"]: each["value"]["stringValue"] for each in parent["attributes"]}
    equal(said, {"mistletoe.blueprint": "app", "k8s.namespace.name": t.ns, "mistletoe.instance": "web"}, "attributes")
    contains(create["attributes"][0]["value"]["stringValue"], f"ConfigMap {t.ns}/web")
    check(int(create["startTimeUnixNano"]) < int(create["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"]), create, parent)
    for span in spans():
        check(re.fullmatch("[0-9a-f]{32}", span["traceId"]) and re.fullmatch("[0-9a-f]{16}", span["spanId"]), span)
    contains(served(t, operator, "/metrics")[1], "mistletoe_trace_spans_dropped_total 0")
    # What is left is sent at the end.
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    equal(operator.stop(), 0, "exit code")
    check(any(span["name"] == "remove finalizer" for span in spans()), {span["name"] for span in spans()})


@test
def flags_of_the_operator_that_are_wrong(t):
    program = pathlib.Path(t.mistctl).with_name("mistletoe-operator")
    for flags, words in ((["--listen", "here"], "is not an address to listen on"),
                         (["--leader-elect", "--lease-duration", "1s"], "--lease-duration 1s is not 3s or more"),
                         (["--lease-duration", "soon"], "is not 3s or more"),
                         (["--otlp-endpoint", "collector:4318"], "is not the URL of a trace collector"),
                         (["--log-format", "xml"], "is neither text nor json"),
                         (["--config", t.file("operator.yaml", "apiVersion: mistletoe.dev/v1\nkind: OperatorConfig\nleaderElekt: true\n")],
                          "did you mean leaderElect?"),
                         (["--listen"], "--listen needs a value")):
        ended = subprocess.run([program, "-n", t.ns, *flags], env=t.environment(), capture_output=True, text=True, timeout=30)
        # As docs/operator.md has it: whether an address can be listened on is not seen before it is tried.
        equal(ended.returncode, 1 if flags == ["--listen", "here"] else 2, ended)
        contains(ended.stderr, words)
