"""make bench: measures mistctl as whole processes, beside what the same work costs at least, in one run.

    run.py MISTCTL YAML_BENCH GOYAML FLOOR DEVCLUSTER BIG_PACKAGE OUT_DIRECTORY [--runs N]

Seconds, CPU and memory are the operating system's own accounting of each finished process (wait4). Requests are counted
from the API server's audit log. Nothing here passes or fails: it measures."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
for name in ("mistctl", "yaml_bench", "goyaml", "floor", "devcluster", "big_package", "out"):
    parser.add_argument(name)
parser.add_argument("--runs", type=int, default=20)
args = parser.parse_args()

HERE = pathlib.Path(__file__).resolve().parent
work = pathlib.Path(tempfile.mkdtemp(prefix="mist-bench-"))
cluster = f"bench-{os.getpid()}"
environment = {key: value for key, value in os.environ.items() if not key.startswith("MIST_")}
environment["MIST_HOME_LOCATION"] = str(work / "home")


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, check=True):
    """One process: seconds of wall and CPU, peak memory in MB."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if check and process.returncode != 0:
        raise SystemExit(f"{command} failed:\n{error.decode()}")
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024}


def median_of(runs):
    return {key: statistics.median(one[key] for one in runs) for key in runs[0]}


def repeat(command, runs=None):
    run(command)
    return median_of([run(command) for _ in range(runs or args.runs)])


def out_of(command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def config_maps(count, changed=None):
    directory = work / f"cm-{count}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    with open(directory / "all.yaml", "w", encoding="utf-8") as file:
        for i in range(count):
            value = "changed" if i == changed else f"value {i}"
            file.write(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-{i}\ndata:\n  key: {value}\n")
    return directory


class Audit:
    """Requests that the API server answered since the last look."""

    def __init__(self, path):
        self.path, self.position = path, os.path.getsize(path)

    def requests(self):
        with open(self.path, "rb") as file:
            file.seek(self.position)
            lines = file.read()
            self.position = file.tell()
        events = [json.loads(line) for line in lines.splitlines() if line.strip()]
        mine = [e for e in events if e.get("userAgent", "").startswith("mistctl") and e.get("stage") == "ResponseComplete"]
        writes = [e for e in mine if e["verb"] in ("create", "patch", "update", "delete")]
        return len(mine), len(writes)


rows = []


def row(what, figures, note=""):
    rows.append({"what": what, **figures, "note": note})
    text = "  ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items())
    say(f"  {what:<44} {text} {note}")


def measure_processes():
    say("whole processes, median")
    row("version", repeat([args.mistctl, "version"]))
    generate = [args.mistctl, "generate", "bench", "-p", args.big_package]
    first = []
    for _ in range(3):
        shutil.rmtree(work / "home" / "cache", ignore_errors=True)
        first.append(run(generate))
    row("generate, first compile of 1.4 MB", median_of(first))
    row("generate, compiled code cached", repeat(generate))


def measure_yaml():
    say("YAML over one CRD, MB/s")
    crd = work / "crd.yaml"
    subprocess.run([sys.executable, HERE / "make_crd.py", crd], check=True)
    for name, program in (("mistletoe", args.yaml_bench), ("sigs.k8s.io/yaml", args.goyaml)):
        figures = {}
        for line in out_of([program, str(crd), "2"]).splitlines():
            key, value = line.split()
            figures["libyaml events MB/s" if key == "events" else f"{key} MB/s"] = float(value)
        row(f"{name}, {crd.stat().st_size // 1000} KB", figures)


def measure_cluster():
    say("on a control plane of this machine")
    kubeconfig = out_of([args.devcluster, "up", "-q", "--name", cluster, "--parent-pid", str(os.getpid())]).strip()
    environment["KUBECONFIG"] = kubeconfig
    audit = Audit(out_of([args.devcluster, "audit", "--name", cluster]).strip())
    kubectl = [args.devcluster, "kubectl", "--name", cluster]
    run([args.mistctl, "list"])  # discovery
    for count in (1, 100, 1000):
        tries, floors, steps = (3 if count == 1000 else 5), [], {}
        for attempt in range(tries):
            # In turn, so that a change of the machine's speed meets both.
            ns = f"floor-{count}-{attempt}"
            run(kubectl + ["create", "namespace", ns])
            floors.append(float(out_of([args.floor, kubeconfig, ns, str(count)])))
            ns = f"bench-{count}-{attempt}"
            run(kubectl + ["create", "namespace", ns])
            package = config_maps(count)
            audit.requests()

            def step(name, *command):
                figures = run([args.mistctl, "-q", *command, "-n", ns])
                figures["requests"], figures["writes"] = audit.requests()
                steps.setdefault(name, []).append(figures)

            step("install", "install", "bench", "-p", str(package))
            step("no-op upgrade", "upgrade", "bench", "-p", str(package))
            config_maps(count, changed=0)
            step("upgrade of one object", "upgrade", "bench", "-p", str(package))
            step("status", "status", "bench")
            step("uninstall", "uninstall", "bench", "--yes")
        floor = statistics.median(floors)
        row(f"bare parallel client, {count} ConfigMaps", {"seconds": floor})
        for name, runs in steps.items():
            figures = median_of(runs)
            if name == "install":
                figures["times the floor"] = figures["seconds"] / floor
            row(f"{name}, {count} ConfigMaps", figures)


def write_results():
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    (out / "latest.json").write_text(json.dumps({"commit": commit, "cpu": cpu, "cores": os.cpu_count(), "rows": rows}, indent=2) + "\n")
    keys = []
    for each in rows:
        keys += [key for key in each if key not in keys and key not in ("what", "note")]
    lines = ["# Results of `make bench`", "", f"Commit {commit}, {os.cpu_count()} cores, {cpu}. Medians; repeat with `make bench`.",
             "Absolute times differ between machines: compare the ratios.", "", "| what | " + " | ".join(keys) + " |",
             "|---|" + "---:|" * len(keys)]
    for each in rows:
        cells = [f"{each[k]:.4g}" if isinstance(each.get(k), float) else str(each.get(k, "")) for k in keys]
        lines.append(f"| {each['what']} | " + " | ".join(cells) + " |")
    (out / "latest.md").write_text("\n".join(lines) + "\n")
    print(out / "latest.md")


try:
    measure_processes()
    measure_yaml()
    measure_cluster()
    write_results()
finally:
    subprocess.run([args.devcluster, "down", "--name", cluster], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(work, ignore_errors=True)
