"""From medians to tables: results/latest.{md,json} and the part of docs/bench.md between its markers."""

import json
import os
import pathlib
import subprocess

BEGIN, END = "<!-- results: written by bench/run.py -->", "<!-- end of results -->"
CLIENTS = ("mistctl", "helm", "kubectl", "kubectl applyset", "floor")
PEERS = ("helm", "kubectl")  # whose seconds ratios are made with


class Table:
    """Figures by scenario, operation and client; None for what was not measured."""

    def __init__(self, scenarios):
        self.rows = {(each["name"], row["what"], row["client"]): row for each in scenarios for row in each["rows"]}

    def get(self, scenario, what, client, key):
        return self.rows.get((scenario, what, client), {}).get(key)

    def ratio(self, scenario, what, peers):
        ours = self.get(scenario, what, "mistctl", "seconds")
        theirs = [seconds for peer in peers if (seconds := self.get(scenario, what, peer, "seconds"))]
        return ours / min(theirs) if ours and theirs else None


def most(limit):
    return f"≤ {limit}", lambda value: value <= limit


def least(limit):
    return f"≥ {limit}", lambda value: value >= limit


def exactly(wanted):
    return f"= {wanted}", lambda value: value == wanted


def targets(table):
    """The targets of the release engine (issue 4, "How good"), as (what, value, limit)."""
    one = "upgrade of one object"
    rows = [
        ("1,000 ConfigMaps: install, of the best peer's time", table.ratio("1000", "install", PEERS), most(0.3)),
        ("… servers' share of the machine meanwhile", table.get("1000", "install", "mistctl", "server_share"), least(0.7)),
        ("… no-op upgrade, of kubectl's time", table.ratio("1000", "no-op upgrade", ["kubectl"]), most(0.07)),
        ("… no-op upgrade, requests: (kinds × namespaces) + 10", table.get("1000", "no-op upgrade", "mistctl", "requests"), most(11)),
        ("… upgrade of one object, of kubectl's time", table.ratio("1000", one, ["kubectl"]), most(0.08)),
        ("… objects written for that, besides the record", table.get("1000", one, "mistctl", "object_writes"), exactly(1)),
        ("… diff, LISTs", table.get("1000", "diff of one object", "mistctl", "lists"), exactly(1)),
        ("… status, LISTs", table.get("1000", "status", "mistctl", "lists"), exactly(1)),
        ("… uninstall, of kubectl's time", table.ratio("1000", "uninstall", ["kubectl"]), most(0.3)),
        ("… most memory of any command, MB",
         max((row["mb"] for (scenario, _, client), row in table.rows.items() if (scenario, client) == ("1000", "mistctl")),
             default=None), most(45)),
        ("100 ConfigMaps, 20 ms away: install, of helm's time", table.ratio("100@20", "install", ["helm"]), most(0.15)),
        ("… no-op upgrade, of helm's time", table.ratio("100@20", "no-op upgrade", ["helm"]), most(0.04)),
        ("mix of 60, install and wait, of the time of helm --wait", table.ratio("mix-begun", "install", ["helm"]), most(0.6)),
        ("… until its Job has ended, of the time of helm --wait --wait-for-jobs", table.ratio("mix", "install", ["helm"]), most(0.6)),
        ("generate, first compile of 1.4 MB, seconds", table.get("processes", "generate, first compile of 1.4 MB", "mistctl", "seconds"),
         most(1.0)),
        ("engines: small chart, of helm template's time", engine_ratio(table, "small chart", "mistctl", "helm"), most(0.5)),
        ("… large chart", engine_ratio(table, "large chart", "mistctl", "helm"), most(2)),
        ("… large chart built into a module", engine_ratio(table, "large chart", "built module", "helm"), most(1.2)),
        ("… small overlay, of kustomize build's time",
         engine_ratio(table, "overlay of 4 resources", "mistctl", "kustomize"), most(1)),
        ("… Nickel file, seconds", table.get("engines", "Nickel file", "mistctl", "seconds"), most(0.006)),
        ("… any of them with the render cache, seconds", longest(table, "engines", "render cache"), most(0.015)),
        ("… first use of any engine, seconds", longest(table, "engines", "mistctl", "first use"), most(15)),
    ]
    return [{"what": what, "value": value, "target": text, "met": None if value is None else bool(holds(value))}
            for what, value, (text, holds) in rows]


def engine_ratio(table, what, client, peer):
    ours, theirs = (table.get("engines", what, each, "seconds") for each in (client, peer))
    return ours / theirs if ours and theirs else None


def longest(table, scenario, client, beginning=""):
    return max((row["seconds"] for (name, what, who), row in table.rows.items()
                if (name, who) == (scenario, client) and what.startswith(beginning)), default=None)


def title(scenario):
    kind, _, milliseconds = scenario.partition("@")
    name = {"processes": "Whole processes", "engines": "Rendering, whole processes", "yaml": "YAML over one definition of 640 KB, MB/s", "list": "Listing",
            "mix": "Mix of 60 objects of 17 kinds, with waiting",
            "mix-begun": "The same, its Job only until it has begun"}.get(kind, f"{kind} ConfigMap{'s' if kind != '1' else ''}")
    if kind.isdigit():
        name = name.replace(kind, f"{int(kind):,}")
    return f"{name}, server {milliseconds} ms away" if milliseconds else name


def results(scenarios, notes, args):
    here = pathlib.Path(__file__).parent
    commit = subprocess.run(["git", "-C", here, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    measured = [{"name": each.text, "rounds": each.rounds, "rows": each.medians()} for each in scenarios if each.rounds]
    return {"commit": commit, "cpu": cpu, "cores": os.cpu_count(), "peers": (args.peers / "versions").read_text().splitlines(),
            "scenarios": measured, "targets": targets(Table(measured)), "notes": notes}


def number(value):
    if value is None:
        return ""
    if isinstance(value, int) or value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def cell(row):
    if row is None:
        return "–"
    if "mb_per_s" in row:
        return number(row["mb_per_s"])
    parts = [number(row["seconds"])]
    if "requests" in row:
        parts.append(number(int(row["requests"])))
    return " / ".join([*parts, number(row["cpu"]), f"{row['mb']:.0f}"])


def grid(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def scenario_table(scenario, table):
    name = scenario["name"]
    clients = [each for each in dict.fromkeys([*CLIENTS, *(row["client"] for row in scenario["rows"])])
               if any(row["client"] == each for row in scenario["rows"])]
    on_cluster = any("requests" in row for row in scenario["rows"])
    head = [title(name), *clients]
    if on_cluster:
        head += ["of helm", "of kubectl", "servers' share"]
    rows = []
    for what in dict.fromkeys(row["what"] for row in scenario["rows"]):
        row = [what, *(cell(table.rows.get((name, what, each))) for each in clients)]
        if on_cluster:
            share = table.get(name, what, "mistctl", "server_share")
            row += [f"{ratio:.3f}×" if (ratio := table.ratio(name, what, [peer])) else "–" for peer in PEERS]
            row.append("–" if share is None else f"{share:.2f}")
        rows.append(row)
    return [*grid(head, rows), "", f"Rounds: {scenario['rounds']}.", ""]


def tables(outcome):
    table = Table(outcome["scenarios"])
    lines = []
    known = [each for each in outcome["targets"] if each["value"] is not None]
    if known:
        lines += grid(["target", "measured", "wanted", "met"],
                      [[each["what"], number(each["value"]), each["target"], "yes" if each["met"] else "**no**"] for each in known])
        lines.append("")
    lines += ["Cells: seconds / requests / client CPU seconds / peak MB; without a cluster no requests. Servers' share:",
              "(CPU of the API server, etcd and the controllers beside it) / (wall × cores) while mistctl works.", ""]
    for scenario in outcome["scenarios"]:
        lines += scenario_table(scenario, table)
    return lines + [line for note in outcome["notes"] for line in (note, "")]


def as_markdown(outcome):
    lines = ["# Results of `make bench`", "",
             f"Commit {outcome['commit']}, {outcome['cores']} cores, {outcome['cpu']}; {', '.join(outcome['peers'])}.",
             "Medians. Absolute times differ between machines: compare the ratios.", "", *tables(outcome)]
    return "\n".join(lines).rstrip() + "\n"


def write(outcome, out, document):
    out.mkdir(parents=True, exist_ok=True)
    (out / "latest.json").write_text(json.dumps(outcome, indent=2, ensure_ascii=False) + "\n")
    (out / "latest.md").write_text(as_markdown(outcome))
    before, rest = document.read_text().split(BEGIN)
    about = f"Commit {outcome['commit']}, {outcome['cores']} cores, {outcome['cpu']}; {', '.join(outcome['peers'])}."
    middle = "\n".join([about, "", *tables(outcome)]).rstrip()
    document.write_text(f"{before}{BEGIN}\n{middle}\n{END}{rest.split(END)[1]}")
