#!/usr/bin/env python3
"""Measures mistletoe-operator beside kro, each on a control plane of its own: see docs/bench.md.

    tools/bench-operator.sh [--instances N] [--many N] [--only CLIENT]...

Both get the same graph: COUNT instances of a custom resource, each with a chain of five ConfigMaps in which every one takes a value
of the one before. Nothing passes or fails. Writes results/operator.json, results/operator.md and the table of docs/bench.md. With --only,
the other clients' figures stay as they are, each with its commit and version; where there are none yet, docs/bench.md stays as it is.
Figures of another number of instances than INSTANCES are kept apart, in results/operator-N.*, and are not for docs/bench.md: the targets
are those of INSTANCES.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "tests" / "e2e")]
from kube import Kube  # noqa: E402
from machine import ControlPlane, Processes, say  # noqa: E402

BEGIN, END = "<!-- operator -->", "<!-- /operator -->"
GROUP = "bench.example.com"
CHAINS = f"/apis/{GROUP}/v1/namespaces/default/chains"
MAPS = "/api/v1/namespaces/default/configmaps"
GRAPHS = ("chains", "deeps", "stucks", "alones")
LENGTH = 5
INSTANCES = 1000
TICKS = os.sysconf("SC_CLK_TCK")


def crd(kind, plural, text=""):
    """A custom resource with `spec.value` and a free status; `text` makes its schema as large as one likes."""
    spec = {"type": "object", "properties": {"value": {"type": "string", "description": text}}}
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}}]}}


class Peer:
    """A controller on a control plane of its own."""
    agent = ""  # how its requests begin their User-Agent

    def __init__(self, programs, work):
        self.programs, self.work, self.process = programs, work, None

    def run(self, plane, command):
        self.log = open(self.work / f"{self.name.replace(' ', '-')}.log", "ab")
        environment = {**plane.processes.environment, "KUBECONFIG": str(plane.kubeconfig)}
        self.process = subprocess.Popen(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def figures(self):
        """Peak memory in MB and CPU seconds so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
        return peak, ControlPlane.cpu([self.process.pid])


class Mistletoe(Peer):
    name, agent = "mistletoe-operator", "mistletoe-operator"

    def start(self, plane):
        self.run(plane, [self.programs.operator, "-n", "default"])

    def define(self, kube, kind, plural, length, blocked=False):
        """The graph: a blueprint. `blocked`: its second ConfigMap waits for what never comes."""
        if kube.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd(kind, plural))[0] not in (201, 409):
            raise RuntimeError("can't create the CRD")
        nodes, edges = [], []
        for at in range(1, length + 1):
            value = "instance.spec.value" if at == 1 else "value"
            arguments = "{ instance, .. }" if at == 1 else "{ instance, value, .. }"
            ready = ", ready = { data = { value | m.Enum [\"never\"], .. }, .. }" if blocked and at == 1 else ""
            nodes.append(f"    m{at} = {{ own = fun {arguments} => {{ apiVersion = \"v1\", kind = \"ConfigMap\", "
                         f"metadata = {{ name = \"%{{instance.metadata.name}}-{at}\" }}, data = {{ value = {'given' if at > 1 else value} }} }}{ready} }},"
                         .replace("{ instance, value, .. }", "{ instance, value = given, .. }"))
            if at > 1:
                edges.append(f"    {{ from = \"m{at - 1}\", to = \"m{at}\", extract = {{ value = \"data.value\" }} }},")
        text = "\n".join([
            "let m = import \"mistletoe.ncl\" in", "{",
            f"  kind = {{ group = \"{GROUP}\", version = \"v1\", kind = \"{kind}\" }},",
            "  nodes = {", *nodes, "  },",
            "  also = [", *(f"    {{ from = \"instance\", to = \"m{at}\" }}," for at in range(1, length + 1)), "  ],",
            "  sequence = [", *edges, "  ],", "}", ""])
        kube.checked("POST", MAPS, {"metadata": {"name": plural, "labels": {"mistletoe.dev/blueprint": "true"}}, "data": {"blueprint.ncl": text}})
        wait("the blueprint is in force", lambda: f"for {kind}" in pathlib.Path(self.log.name).read_text())


class Kro(Peer):
    name, agent, flags = "kro", "kro", ()

    def start(self, plane):
        for file in sorted((self.programs.peers / "kro-crds").glob("*.yaml")):
            plane.kubectl("apply", "--server-side", "-f", file)
        # Established, a definition may not be served yet: beside 200 others that takes seconds.
        wait("kro's API is served", lambda: plane.kube.request("GET", "/apis/kro.run/v1alpha1/resourcegraphdefinitions")[0] == 200)
        self.run(plane, [self.programs.peers / "kro", "--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0", *self.flags])

    def define(self, kube, kind, plural, length, blocked=False):
        resources = []
        for at in range(1, length + 1):
            resource = {"id": f"m{at}", "template": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"${{schema.metadata.name}}-{at}"},
                "data": {"value": "${schema.spec.value}" if at == 1 else f"${{m{at - 1}.data.value}}"}}}
            if blocked and at == 1:
                resource["readyWhen"] = ["${m1.data.value == \"never\"}"]
            resources.append(resource)
        kube.checked("POST", "/apis/kro.run/v1alpha1/resourcegraphdefinitions", {
            "apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition", "metadata": {"name": plural},
            "spec": {"schema": {"apiVersion": "v1", "group": GROUP, "kind": kind, "spec": {"value": "string"}}, "resources": resources}})
        wait("the graph is active", lambda: kube.checked("GET", f"/apis/kro.run/v1alpha1/resourcegraphdefinitions/{plural}")
             .get("status", {}).get("state") == "Active")


class TunedKro(Kro):
    # What its documentation offers for throughput: more workers, no limit of its own, and no wait before it looks again.
    name = "kro, tuned"
    flags = ("--dynamic-controller-concurrent-reconciles", "16", "--client-qps", "5000", "--client-burst", "10000",
             "--dynamic-controller-rate-limiter-rate-limit", "5000", "--dynamic-controller-rate-limiter-burst-limit", "10000",
             "--instance-requeue-interval", "200ms")


def wait(what, condition, seconds=900, pause=0.1):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"after {seconds} s: {what}: no")
        time.sleep(pause)


def events(path, position):
    with open(path, "rb") as file:
        file.seek(position)
        text = file.read()
    text = text[:text.rfind(b"\n") + 1]
    return [json.loads(line) for line in text.splitlines()], position + len(text)


PEERS = (Mistletoe, TunedKro, Kro)


def is_of_graph(ref):
    """Whether a request is about the graph itself: its status is written once, however many instances it has."""
    return ref.get("resource") == "resourcegraphdefinitions" or (ref.get("resource") == "configmaps" and ref.get("name") in GRAPHS)


class Requests:
    """The requests of a client for its instances, from the audit log."""

    def __init__(self, plane, agent):
        self.path, self.agent = plane.audit.path, agent
        self.position = os.path.getsize(self.path)

    def take(self):
        found, self.position = events(self.path, self.position)
        counts = collections.Counter(requests=0, writes=0)
        for event in found:
            if not event.get("userAgent", "").startswith(self.agent) or event["verb"] == "watch" or event["stage"] != "ResponseComplete":
                continue
            if is_of_graph(event.get("objectRef", {})):
                continue
            counts["requests"] += 1
            counts["writes"] += event["verb"] in ("create", "patch", "update", "delete")
        return counts


class Stream(threading.Thread):
    """A watch that notes when each object had a value: (name, value) → time."""

    def __init__(self, kube, path, value):
        super().__init__(daemon=True)
        self.value, self.seen, self.began = value, {}, threading.Event()
        import http.client
        self.connection = http.client.HTTPSConnection(kube.host, int(kube.port), context=kube.tls)
        self.connection.request("GET", f"{path}?watch=true&resourceVersion={kube.checked('GET', path + '?limit=1')['metadata']['resourceVersion']}")
        self.answer = self.connection.getresponse()
        self.start()

    def run(self):
        try:
            for line in self.answer:
                event = json.loads(line)
                self.seen.setdefault((event["object"]["metadata"]["name"], self.value(event["object"])), time.perf_counter())
        except (OSError, ValueError, AttributeError, ssl.SSLError):
            pass  # closed

    def close(self):
        self.connection.sock and self.connection.sock.close()


def is_ready(instance):
    return any(each["type"] == "Ready" and each["status"] == "True" for each in instance.get("status", {}).get("conditions", []))


def make(kube, path, kind, count, threads=8):
    """Instances chain-0, chain-1, … of the kind Chain: the graphs name their ConfigMaps after them, so kinds must not share names."""
    def one(at):
        kube.checked("POST", path, {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": f"{kind.lower()}-{at}"}, "spec": {"value": "first"}})
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(count)))


def ready_count(kube, path):
    return sum(map(is_ready, kube.checked("GET", path + "?resourceVersion=0")["items"]))


def maps_count(kube, kind):
    return sum(each["metadata"]["name"].startswith(f"{kind.lower()}-") for each in kube.checked("GET", MAPS + "?resourceVersion=0")["items"])


class Run:
    """One client's figures: a name of the row → a number or None."""

    def __init__(self, peer, programs, work, arguments):
        self.peer, self.arguments, self.rows, self.work = peer, arguments, {}, work
        processes = Processes(programs.measure, work)
        self.plane = ControlPlane(programs.devcluster, processes, work)
        self.kube = Kube(self.plane.kubeconfig.parent)
        self.plane.kube = self.kube

    def note(self, row, value):
        self.rows[row] = value
        say(f"  {self.peer.name}: {row}: {value if value is None else round(value, 3)}")

    def everything(self):
        try:
            self.many_crds()
            self.chains()
            self.steady()
            self.latency()
            self.drift()
            self.depth()
            self.blocked()
            if isinstance(self.peer, Mistletoe) and self.arguments.many:
                self.thousands()
        finally:
            self.peer.stop()
            self.plane.down()

    def restart(self):
        self.peer.stop()
        self.peer.start(self.plane)

    def chains(self):
        count = self.arguments.instances
        self.restart()
        self.peer.define(self.kube, "Chain", "chains", LENGTH)
        time.sleep(3)
        asked = Requests(self.plane, self.peer.agent)
        cpu = self.peer.figures()[1]
        began = time.perf_counter()
        make(self.kube, CHAINS, "Chain", count)
        self.note("instances created by the bench, s", time.perf_counter() - began)
        wait("all are ready", lambda: ready_count(self.kube, CHAINS) == count, pause=0.25)
        self.note("all ready, s", time.perf_counter() - began)
        counts = asked.take()
        peak, used = self.peer.figures()
        self.note("… requests for each", counts["requests"] / count)
        self.note("… writes for each", counts["writes"] / count)
        self.note("… peak memory, MB", peak)
        self.note("… CPU seconds", used - cpu)

    def steady(self, row="steady, requests a minute"):
        time.sleep(10)
        asked = Requests(self.plane, self.peer.agent)
        time.sleep(30)
        self.note(row, 2.0 * asked.take()["requests"])

    def latency(self, rounds=100):
        stream = Stream(self.kube, MAPS, lambda each: (each.get("data") or {}).get("value"))
        first, last = [], []
        for at in range(rounds):
            name, value = f"chain-{at * 7 % self.arguments.instances}", f"round-{at}"
            self.kube.checked("PATCH", f"{CHAINS}/{name}", {"spec": {"value": value}}, "application/merge-patch+json")
            began = time.perf_counter()
            wait(f"{name} is changed", lambda: (f"{name}-{LENGTH}", value) in stream.seen, 120, 0.001)
            first.append((stream.seen[f"{name}-1", value] - began) * 1000)
            last.append((stream.seen[f"{name}-{LENGTH}", value] - began) * 1000)
        stream.close()
        first.sort()
        self.note("event to apply, p50 ms", statistics.median(first))
        self.note("event to apply, p99 ms", first[int(len(first) * 0.99) - 1])
        self.note("event to the end of the chain, p50 ms", statistics.median(last))

    def drift(self):
        count = self.arguments.instances
        names = [f"chain-{at}-3" for at in range(count)]
        uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in self.kube.checked("GET", MAPS)["items"]}
        stream = Stream(self.kube, MAPS, lambda each: each["metadata"]["uid"] != uids.get(each["metadata"]["name"]))
        began = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: self.kube.checked("DELETE", f"{MAPS}/{name}"), names))
        self.note("one child of each deleted by the bench, s", time.perf_counter() - began)
        wait("all are back", lambda: all((name, True) in stream.seen for name in names), 900, 0.02)
        self.note("… all back, s", max(stream.seen[name, True] for name in names) - began)
        stream.close()

    def depth(self, length=50):
        path = CHAINS.replace("chains", "deeps")
        self.peer.define(self.kube, "Deep", "deeps", length)
        time.sleep(3)
        began = time.perf_counter()
        make(self.kube, path, "Deep", 1)
        wait("it is ready", lambda: ready_count(self.kube, path) == 1, pause=0.01)
        self.note(f"a chain of {length}, ready, s", time.perf_counter() - began)
        self.kube.checked("DELETE", f"{path}/deep-0")
        wait("it is gone", lambda: self.kube.request("GET", f"{path}/deep-0")[0] == 404, pause=0.01)

    def blocked(self):
        path, count = CHAINS.replace("chains", "stucks"), self.arguments.instances
        self.kube.checked("DELETE", CHAINS)
        wait("the instances are gone", lambda: not self.kube.checked("GET", CHAINS)["items"], pause=1)
        self.restart()
        self.peer.define(self.kube, "Stuck", "stucks", LENGTH, blocked=True)
        time.sleep(3)
        make(self.kube, path, "Stuck", count)
        wait("the first ConfigMap of each is there", lambda: maps_count(self.kube, "Stuck") >= count, pause=1)
        time.sleep(20)
        self.steady(f"{count} blocked, requests a minute")

    def many_crds(self, count=200):
        """Memory of a controller that starts beside large CRDs that don't concern it."""
        def one(at):
            definition = crd(f"Large{at}", f"larges{at}")
            properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
            for field in range(400):
                properties[f"field{field}"] = {"type": "object", "description": f"What field {field} of kind {at} is for. " * 5,
                                               "properties": {"name": {"type": "string", "description": "The name of it. " * 4}}}
            self.kube.checked("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(one, range(count)))
        self.plane.settle(60)
        self.peer.start(self.plane)
        self.peer.define(self.kube, "Alone", "alones", 1)
        make(self.kube, CHAINS.replace("chains", "alones"), "Alone", 1)
        wait("it is ready", lambda: ready_count(self.kube, CHAINS.replace("chains", "alones")) == 1)
        self.note(f"started beside {count} CRDs of 150 KB, peak MB", self.peer.figures()[0])
        self.kube.checked("DELETE", CHAINS.replace("chains", "alones"))
        wait("it is gone", lambda: not self.kube.checked("GET", CHAINS.replace("chains", "alones"))["items"])
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda at: self.kube.checked("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                                                       f"larges{at}.{GROUP}"), range(count)))
        self.plane.settle(60)

    def thousands(self):
        count, blocked = self.arguments.many, CHAINS.replace("chains", "stucks")
        self.kube.checked("DELETE", blocked)
        wait("the blocked instances are gone", lambda: not self.kube.checked("GET", blocked)["items"], pause=1)
        self.restart()
        time.sleep(3)
        began = time.perf_counter()
        make(self.kube, CHAINS, "Chain", count)
        wait("all are ready", lambda: ready_count(self.kube, CHAINS) == count, 1800, pause=5)
        self.note(f"{count:,} instances, all ready, s", time.perf_counter() - began)
        self.note("… peak memory, MB ", self.peer.figures()[0])
        self.restart()
        time.sleep(60)
        self.note("… peak memory after a restart, MB", self.peer.figures()[0])


TARGETS = (
    ("1,000 × 5: all ready, of tuned kro's time", "≤ 0.1", lambda mine, kro: mine["all ready, s"] / kro["all ready, s"], 0.1),
    ("… writes for each instance of 5 objects", "≤ 7", lambda mine, _: mine["… writes for each"], 7),
    ("steady: requests a minute, watches apart", "= 0", lambda mine, _: mine["steady, requests a minute"], 0),
    ("blocked: requests a minute, watches apart", "= 0", lambda mine, _: mine["1000 blocked, requests a minute"], 0),
    ("200 large CRDs at the start, MB", "≤ 60", lambda mine, _: mine["started beside 200 CRDs of 150 KB, peak MB"], 60),
    ("10,000 × 5: MB", "≤ 300", lambda mine, _: mine["10,000 instances, all ready, s"] and mine["… peak memory, MB "], 300),
    ("event to apply, p50 ms", "≤ 10", lambda mine, _: mine["event to apply, p50 ms"], 10),
    ("event to apply, p99 ms", "≤ 50", lambda mine, _: mine["event to apply, p99 ms"], 50),
    ("one of five deleted in each of 1,000, all back, s", "≤ 5", lambda mine, _: mine["… all back, s"], 5),
)


def number(value):
    return "–" if value is None else f"{value:.3f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def targets(mine, kro):
    lines = ["| target | measured | wanted | met |", "|---|---:|---:|---:|"]
    for what, wanted, value, limit in TARGETS:
        try:
            found = value(mine, kro)
        except (KeyError, ZeroDivisionError):
            continue
        lines.append(f"| {what} | {number(found)} | {wanted} | {'yes' if found <= limit else '**no**'} |")
    return lines + [""]


def tables(clients, instances):
    """`clients`: {name: {"version", "commit", "cores", "rows"}}, all measured with so many instances."""
    by = {name: client["rows"] for name, client in clients.items()}
    lines = [f"{instances:,} instances.", ""]
    if instances == INSTANCES:
        lines += targets(by.get("mistletoe-operator", {}), by.get("kro, tuned", {}))
    lines += ["| | " + " | ".join(by) + " |", "|---|" + "---:|" * len(by)]
    for what, key in (("version", "version"), ("measured at commit", "commit"), ("cores", "cores")):
        lines.append(f"| {what} | " + " | ".join(str(client[key]) for client in clients.values()) + " |")
    for row in dict.fromkeys(row for rows in by.values() for row in rows):
        lines.append(f"| {row.strip()} | " + " | ".join(number(rows.get(row)) for rows in by.values()) + " |")
    return lines


def measured_before(file, instances):
    """The clients of an earlier run; none of a file that doesn't say of each how it was measured."""
    clients = json.loads(file.read_text())["clients"] if file.exists() else {}
    return {name: client for name, client in clients.items() if client.get("instances") == instances}


def write_document(document, clients, text):
    """Leaves the document alone if a client is missing: its table compares all of them."""
    missing = [peer.name for peer in PEERS if peer.name not in clients]
    if missing:
        say(f"{document} stays as it is: there are no figures of {' and '.join(missing)} yet; run the bench without --only")
        return
    before = document.read_text()
    if BEGIN in before:
        head, rest = before.split(BEGIN)
        document.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("operator", "measure", "devcluster", "peers", "out", "document"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--many", type=int, default=10000, help="instances of the largest run, ours alone; 0: none")
    parser.add_argument("--only", action="append", help="of mistletoe-operator, kro, \"kro, tuned\"")
    arguments = parser.parse_args()
    versions = dict(line.split() for line in (arguments.peers / "versions").read_text().splitlines())
    commit = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    instances = arguments.instances
    file = arguments.out / ("operator.json" if instances == INSTANCES else f"operator-{instances}.json")
    clients = measured_before(file, instances) if arguments.only else {}
    for peer in PEERS:
        if arguments.only and peer.name not in arguments.only:
            continue
        say(peer.name)
        with tempfile.TemporaryDirectory(prefix="mist-bench-") as work:
            run = Run(peer(arguments, pathlib.Path(work)), arguments, pathlib.Path(work), arguments)
            version = commit if peer is Mistletoe else versions["kro"]
            clients[peer.name] = {"version": version, "commit": commit, "instances": instances, "cores": os.cpu_count(), "rows": run.rows}
            try:
                run.everything()
            except RuntimeError as fault:
                say(f"  {peer.name}: {fault}")
                log = pathlib.Path(run.peer.log.name).read_text()
                say("    " + "\n    ".join(log.splitlines()[-10:]))
        # Written after each client, so that a hang in the next one loses no figures.
        file.write_text(json.dumps({"clients": clients}, indent=2, ensure_ascii=False) + "\n")
    text = "\n".join(tables(clients, instances))
    file.with_suffix(".md").write_text(f"# Results of `tools/bench-operator.sh`\n\n{text}\n")
    if instances == INSTANCES:
        write_document(arguments.document, clients, text)


if __name__ == "__main__":
    main()
