"""make bench: mistctl beside helm, kubectl and a bare client, on one control plane, in turn.

    run.py --mistctl PROGRAM --tools DIR --peers DIR --devcluster PROGRAM --big-package FILE --out DIR --document FILE
           [--minutes N] [SCENARIO...]

A scenario is `processes`, `yaml`, `engines`, `list`, `mix`, `mix-begun` or a number of ConfigMaps; `mix@20`, `1000@20`: with a round trip of 20 ms.
Each runs once; then they are repeated, those with targets twice as often, until `--minutes` are used up. The figures are
medians. Only a run of all scenarios rewrites the results; others print theirs. Nothing here passes or fails: it measures."""

import argparse
import collections
import itertools
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import overlay
import report
import workloads
from clients import VERBS, Floor, Helm, Kubectl, KubectlApplySet, Mistctl, list_commands
from machine import ControlPlane, Processes, say

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT = "processes yaml engines 1000 100 1 mix mix-begun list 100@20 mix@20 list@20 1000@20"
RELEASES = 1000
MOST_ROUNDS = 7
WITH_TARGETS = ("processes", "engines", "1000", "mix", "mix-begun", "100@20")
# Minutes long: once, last, and in a run of everything only what shows the difference.
SLOW = "1000@20"
SHORT_VERBS = ("install", "no-op upgrade", "uninstall")


class Scenario:
    """One thing that is measured, round by round. `samples[what][client]` are its figures, a dictionary for each round."""

    def __init__(self, text):
        found = re.fullmatch(r"(processes|yaml|engines|list|mix|mix-begun|[1-9]\d{0,3})(?:@([1-9]\d?))?", text)
        if not found or (found[2] and found[1] in ("processes", "yaml", "engines")):
            raise SystemExit(f"bench: '{text}' is no scenario: they are processes, yaml, engines, list, mix, mix-begun and numbers up to "
                             "9999 of ConfigMaps; @20 behind one of the last four adds a round trip of 20 ms")
        self.text, self.kind, self.milliseconds = text, found[1], int(found[2] or 0)
        self.rounds, self.seconds, self.short = 0, 0.0, False
        self.samples = collections.defaultdict(lambda: collections.defaultdict(list))

    def add(self, what, client, figures):
        self.samples[what][client].append(figures)

    def medians(self):
        return [{"what": what, "client": client,
                 **{key: statistics.median(each[key] for each in rounds) for key in rounds[0]}}
                for what, clients in self.samples.items() for client, rounds in clients.items()]


class Bench:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.processes = Processes(args.tools / "measure", work)
        self.cluster, self.numbers, self.packages, self.far = None, itertools.count(), {}, set()

    def control_plane(self):
        if self.cluster is None:
            self.cluster = ControlPlane(self.args.devcluster, self.processes, self.work)
        return self.cluster

    # --- without a cluster

    def measure_in_turn(self, scenario, what, commands):
        """Processes of a few milliseconds, of which one look says little: as often as fits into half a second, 3 to 15 times; in
        turn, so that a change of the machine's speed meets all. Twice unmeasured before: the first run may compile a module, the
        second reads all of what was compiled to see that it is whole."""
        for command in 2 * [*commands.values()]:
            self.processes.run(command)
        left = dict.fromkeys(commands, 0.5)
        for turn in range(15):
            for client in [client for client in left if left[client] > 0 or turn < 3]:
                figures = self.processes.run(commands[client])
                left[client] -= figures["seconds"]
                scenario.add(what, client, figures)

    def measure_processes(self, scenario):
        generate = [self.args.mistctl, "generate", "bench", "-p", self.args.big_package]
        home = pathlib.Path(self.processes.environment["MIST_HOME_LOCATION"])
        self.measure_in_turn(scenario, "version", {"mistctl": [self.args.mistctl, "version"],
                                                   "helm": [self.args.peers / "helm", "version"],
                                                   "kubectl": [self.args.peers / "kubectl", "version", "--client"]})
        shutil.rmtree(home / "cache", ignore_errors=True)
        scenario.add("generate, first compile of 1.4 MB", "mistctl", self.processes.run(generate))
        self.measure_in_turn(scenario, "generate, compiled code cached", {"mistctl": generate})

    def measure_yaml(self, scenario):
        crd = self.work / "crd.yaml"
        if not crd.exists():
            subprocess.run([sys.executable, HERE / "make_crd.py", crd], check=True)
        for client, program in (("mistletoe", "yaml_bench"), ("sigs.k8s.io/yaml", "goyaml")):
            for line in self.processes.output([self.args.tools / program, crd, "2"]).splitlines():
                what, speed = line.split()
                scenario.add("libyaml's events" if what == "events" else what, client, {"mb_per_s": float(speed)})

    def measure_engines(self, scenario):
        """Each package rendered as a whole process, beside the peer on the same files; first that both print the same."""
        home = pathlib.Path(self.processes.environment["MIST_HOME_LOCATION"])
        if not scenario.rounds:
            self.first_use(scenario)
        for what, peer, format, directory in self.engine_cases():
            built = self.work / f"{what.replace(' ', '-')}.wasm"
            native = self.peer_render(peer, directory)
            ours = [self.args.mistctl, "generate", "bench", "-p", directory, *(("-o", format) if format else ())]
            if not scenario.rounds:
                if format and self.processes.output(native) != self.processes.output(ours):
                    raise SystemExit(f"bench: {peer} and mistctl render {directory} differently")
                self.processes.run([self.args.mistctl, "package", "build", directory, "-o", built])
            module = [self.args.mistctl, "generate", "bench", "-p", built, *(("-o", format) if format else ())]
            shutil.rmtree(home / "cache" / "renders", ignore_errors=True)
            self.measure_in_turn(scenario, what, {peer: native, "mistctl": [*ours, "--no-render-cache"],
                                                  "built module": [*module, "--no-render-cache"], "render cache": ours})

    def first_use(self, scenario):
        engines = pathlib.Path(self.args.mistctl).resolve().parent.parent / "share/mistletoe/engines"
        bare, cache = self.work / "engines", pathlib.Path(self.processes.environment["MIST_HOME_LOCATION"]) / "cache" / "code"
        if not bare.exists():
            bare.mkdir()
            for module in engines.glob("*.wasm"):
                shutil.copy(module, bare)
        for module in sorted(bare.glob("*.wasm")):
            shutil.rmtree(cache, ignore_errors=True)
            scenario.add(f"first use: compiling {module.stem}", "mistctl",
                         self.processes.run([self.args.mistctl, "engines", "compile", module.stem],
                                            extra={"MIST_ENGINES_LOCATION": str(bare)}))

    def engine_cases(self):
        for size in ("small", "medium", "large"):
            yield f"{size} chart", "helm", "helm", HERE / "charts" / size
        for what, resources in (("overlay of 4 resources", 4), ("overlay of 200 resources", 200)):
            directory = self.work / f"kustomize-{resources}"
            if not directory.exists():
                overlay.write(directory, resources)
            yield what, "kustomize", "kustomize", directory / "overlay"
        yield "Nickel file", "nickel", None, HERE.parent / "packages/templates/nickel"
        yield "Python program", "python", None, HERE.parent / "packages/templates/python"

    def peer_render(self, peer, directory):
        if peer == "nickel":
            # The same engine as a program of this machine: the library itself has none that takes values.
            document = self.work / "nickel.json"
            document.write_text('{"apiVersion":"mistletoe.dev/v1","kind":"MistInput","data":{"name":"bench"},'
                                '"release":{"name":"bench","namespace":"default"},"engine":{"name":"nickel","options":{}}}\n')
            return ["/bin/sh", "-c", f"exec {self.args.tools}/nickel-native {directory} <{document}"]
        if peer == "python":
            # The same program with the Python of this machine.
            program = ("import main, mistletoe; print(*mistletoe.render(main.generate, "
                       "{'kind': 'MistInput', 'data': {'name': 'bench'}}).files.values(), sep='---\\n', end='')")
            return ["/usr/bin/env", "PYTHONDONTWRITEBYTECODE=1", f"PYTHONPATH={HERE.parent / 'sdk/python'}:{directory}", "python3", "-c", program]
        return [self.args.peers / peer, *(("template", "bench") if peer == "helm" else ("build",)), directory]

    # --- on a cluster

    def clients(self, kubeconfig):
        return [Mistctl(self.args.mistctl), Helm(self.args.peers / "helm"), Kubectl(self.args.peers / "kubectl"),
                KubectlApplySet(self.args.peers / "kubectl"), Floor(self.args.tools / "floor", kubeconfig)]

    def namespace(self):
        name = f"bench-{next(self.numbers)}"
        self.cluster.kubectl("create", "namespace", name)
        return name

    def package(self, kind, client, changed):
        if not kind.startswith("mix"):
            key = (kind, changed)
            if key not in self.packages:
                self.packages[key] = workloads.config_maps(self.work / f"cm-{kind}-{changed}", int(kind), changed)
            return self.packages[key]
        suffix = f"{client}-{next(self.numbers)}" if not changed else self.suffix
        self.suffix = suffix
        return workloads.mix(self.work / f"mix-{suffix}-{changed}", suffix, changed)

    def reachable(self, milliseconds):
        """The environment for a server that far away; each client has seen it once, as on any working day."""
        kubeconfig = self.control_plane().far(self.args.tools / "proxy", milliseconds)
        environment = {"KUBECONFIG": str(kubeconfig)}
        if milliseconds not in self.far:
            self.far.add(milliseconds)
            for client in self.clients(kubeconfig):
                self.client_round(client, environment, self.namespace(), self.package("1", client, False),
                                  self.package("1", client, True), "", None, VERBS)
        return kubeconfig, environment

    def client_round(self, client, environment, namespace, package, changed, waiting, add, verbs):
        extra = {**environment, **client.environment}
        for verb in verbs:
            command = client.commands(verb, namespace, package, changed, waiting)
            if command is None:
                continue
            figures = self.cluster.measured(
                lambda command=command, verb=verb: self.processes.run(command, client.codes.get(verb, (0,)), extra))
            if add is None:
                continue
            add(verb, client.name, figures)
            say(f"    {client.name:<17} {verb:<22} {figures['seconds']:8.3f} s {figures['requests']:5} requests  "
                f"client {figures['cpu']:6.3f} s CPU {figures['mb']:6.1f} MB  servers {figures['server_share']:4.0%}")
            if verb == "install" and not waiting:
                self.expect_config_maps(client, namespace, package.objects)

    def expect_config_maps(self, client, namespace, count):
        there = self.cluster.kubectl("get", "configmaps", "-n", namespace, "-o", "name").split()
        if sum(name.startswith("configmap/cm-") for name in there) != count:
            raise RuntimeError(f"{client.name} did not install {count} ConfigMaps: there are {len(there)} in all")

    @staticmethod
    def seen_once(scenario):
        """Who is measured in the first round only: with whom no target's ratio is made, or who takes most of a round without being
        the peer of one. More rounds of the others say more."""
        if scenario.short:
            return ("kubectl applyset",)
        if scenario.kind == "1000":
            return ("kubectl applyset", "helm")
        return ("kubectl applyset", "kubectl") if scenario.kind == "100" and scenario.milliseconds else ("kubectl applyset",)

    def measure_release(self, scenario):
        waiting = scenario.kind if scenario.kind.startswith("mix") else ""
        kubeconfig, environment = self.reachable(scenario.milliseconds)
        clients = self.clients(kubeconfig)
        # In turn, and each time another one first, so that a change of the machine's speed meets all.
        start = scenario.rounds % len(clients)
        for client in clients[start:] + clients[:start]:
            if (scenario.rounds or scenario.short) and client.name in self.seen_once(scenario):
                continue
            namespace = self.namespace()
            package, changed = (self.package(scenario.kind, client.name.split()[0], each) for each in (False, True))
            self.cluster.settle()
            again = scenario.rounds and scenario.kind == "100" and scenario.milliseconds
            verbs = SHORT_VERBS if client.name == "helm" and again or client.name in ("helm", "kubectl") and scenario.short else VERBS
            self.client_round(client, environment, namespace, package, changed, waiting, scenario.add, verbs)
            if package.definitions:
                self.cluster.kubectl("delete", "--wait=false", "--ignore-not-found", "-f", str(package.definitions))

    def measure_list(self, scenario):
        _, environment = self.reachable(scenario.milliseconds)
        if "records" not in self.packages:
            say(f"    making {RELEASES} releases of each")
            requests = workloads.Requests(self.cluster)
            for client in self.clients(None)[:2]:
                namespace, package = f"list-{client.name}", self.package("1", client, False)
                self.cluster.kubectl("create", "namespace", namespace)
                self.processes.run(client.commands("install", namespace, package, package, ""),
                                   extra={"KUBECONFIG": str(self.cluster.kubeconfig)})
                workloads.copy_records(requests, namespace, "bench", RELEASES)
            self.packages["records"] = True
            self.cluster.settle()
        for client, command in list_commands(self.args.mistctl, self.args.peers / "helm").items():
            listed = self.processes.output(command, environment).count("bench")
            if listed < RELEASES:
                raise RuntimeError(f"{client} lists only {listed} releases")
            figures = self.cluster.measured(lambda command=command: self.processes.run(command, extra=environment))
            scenario.add(f"list of {RELEASES:,} releases", client, figures)
            say(f"    {client:<17} {figures['seconds']:8.3f} s {figures['requests']:5} requests")

    def measure(self, scenario):
        began = time.monotonic()
        say(f"{scenario.text}, round {scenario.rounds + 1}")
        {"processes": self.measure_processes, "yaml": self.measure_yaml, "engines": self.measure_engines,
         "list": self.measure_list}.get(scenario.kind, self.measure_release)(scenario)
        scenario.rounds += 1
        scenario.seconds = max(scenario.seconds if scenario.rounds > 2 else 0.0, time.monotonic() - began)


def estimate(slow, scenarios):
    """Seconds that a short round of the slow scenario takes, by the requests of the same thing on a near server."""
    near = next((each for each in scenarios if each.kind == slow.kind and each.milliseconds == 0 and each.rounds), None)
    if near is None:
        return 0.0
    one_by_one = [row["requests"] for row in near.medians() if row["client"] in ("helm", "kubectl") and row["what"] in SHORT_VERBS]
    return sum(one_by_one) * (slow.milliseconds + 6) / 1000


def measure_all(bench, scenarios, end):
    """Measures until the time is over; returns what there is to say about it."""
    def left():
        return end - time.monotonic()

    def repeat(reserve):
        while True:
            again = [each for each in scenarios if 0 < each.rounds < (1 if each.text == SLOW else MOST_ROUNDS)
                     and each.seconds < left() - reserve]
            if not again:
                return
            bench.measure(min(again, key=lambda each: each.rounds / (2 if each.text in WITH_TARGETS else 1)))

    slow = next((each for each in scenarios if each.text == SLOW and len(scenarios) > 1), None)
    for each in scenarios:
        if each is not slow:
            bench.measure(each)
    notes = []
    if slow:
        expected = estimate(slow, scenarios)
        repeat(expected if expected < left() else 0)
        if expected < left():
            slow.short = True
            bench.measure(slow)
            notes.append(f"Of {SLOW} only what shows the difference; `make bench BENCH={SLOW}` measures all of it.")
        else:
            notes.append(f"Left out: {SLOW}, for lack of time; `make bench BENCH={SLOW}` measures it alone.")
    repeat(0)
    return notes


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("--mistctl", "--tools", "--peers", "--devcluster", "--big-package", "--out", "--document"):
        parser.add_argument(name, type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("scenarios", nargs="*")
    args = parser.parse_args()
    end = time.monotonic() + 60 * args.minutes
    whole = not args.scenarios or args.scenarios == DEFAULT.split()
    scenarios = [Scenario(text) for text in args.scenarios or DEFAULT.split()]
    work = pathlib.Path(tempfile.mkdtemp(prefix="mist-bench-"))
    bench = Bench(args, work)
    try:
        notes = measure_all(bench, scenarios, end)
    finally:
        if bench.cluster:
            bench.cluster.down()
        shutil.rmtree(work, ignore_errors=True)
    results = report.results(scenarios, notes, args)
    print(report.as_markdown(results))
    if whole:
        report.write(results, args.out, args.document)
        say(f"written: {args.out}/latest.md, latest.json, {args.document}")


main()
