#!/usr/bin/env python3
"""How long packages take that call packages: bench/packages.py PROGRAMS [PART ...]

PROGRAMS is the directory with mistctl and resolve_bench: build/release/bin. The parts are `platform` (the platform example written three
times), `call` (many calls of a small package), `component` (one source as a core module and as a component), `cdk8s` (an app of cdk8s
beside `cdk8s synth` under Node) and `resolve` (2,000 versions). Measured are whole processes, from start to end, in turn: the best and
the median of 20; compiled code is cached, rendered results aren't unless a row says so. Writes results/packages.md.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PARTS = ("platform", "call", "component", "cdk8s", "resolve")
ROUNDS = 20
SEED = {"seed": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "clock": "2026-01-01T00:00:00Z"}
# Beside the figures: what they are made of. Measured by a package that returns early (nothing; the app's objects; their JSON).
BOUNDS = """\
A cdk8s app begins from a snapshot in which its bundle was evaluated when the package was built. Of the processor time beyond the start of
the process, two fifths are what any package in QuickJS takes (loading its code, mapping the snapshot, compiling the schema of its values),
a seventh is cdk8s itself, and nearly half the npm package `yaml`, interpreted, with which `synthYaml` prints.
"""
PLATFORM = "mistletoe/examples/platform-example:0.2.0"


class Bench:
    def __init__(self, programs, work):
        self.programs, self.work, self.rows = programs, work, []
        self.mistctl = programs / "mistctl"
        self.environment = {**{key: value for key, value in os.environ.items() if not key.startswith("MIST_")},
                            "HOME": str(work), "MIST_HOME_LOCATION": str(work / "home"), "PATH": f"{programs}:{os.environ['PATH']}"}
        (work / "seed").write_text(json.dumps(SEED))
        (work / "seed").chmod(0o600)

    def run(self, *command, cwd=None):
        ran = subprocess.run(command, env=self.environment, cwd=cwd or self.work, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if ran.returncode != 0:
            raise SystemExit(f"bench: {' '.join(map(str, command))}: {ran.stderr.strip()[-2000:]}")
        return ran.stdout

    def built(self, script, *arguments):
        ran = subprocess.run(["bash", ROOT / script, *arguments], capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"bench: {script}: {ran.stderr.strip()[-2000:]}")
        return pathlib.Path(ran.stdout.strip().splitlines()[-1])

    def generate(self, package, *more, cache=False):
        return (self.mistctl, "generate", "shop", "-p", package, "-q", "--seed-file", "seed", "-o", "raw",
                *(() if cache else ("--no-render-cache",)), *more)

    def measured(self, commands):
        """{what: (best, median)} in milliseconds; one round before the measured ones fills what is cached."""
        times = {what: [] for what in commands}
        for round_ in range(ROUNDS + 1):
            for what, command in commands.items():
                began = time.perf_counter()
                self.run(*command)
                if round_:
                    times[what].append((time.perf_counter() - began) * 1000)
        return {what: (min(each), statistics.median(each)) for what, each in times.items()}

    def row(self, what, best, median, target=None):
        met = "" if target is None else ("yes" if median <= target else "**no**")
        self.rows.append(f"| {what} | {best:.2f} | {median:.2f} | {'' if target is None else f'≤ {target}'} | {met} |")
        print(f"{what:64} {best:8.2f} ms {median:8.2f} ms  {'' if target is None else f'target {target} ms'}", flush=True)

    def platform(self):
        repository = self.work / "packages.git"
        subprocess.run([ROOT / "packages/publish.sh", repository], check=True, capture_output=True)
        self.run(self.mistctl, "registry", "remove", "mistletoe")
        self.run(self.mistctl, "registry", "add", "mistletoe", "-g", f"file://{repository}")
        crates = next(self.built("packages/build.sh").glob("platform-of-crates-*.mist-pack.wasm"))
        script = self.built("packages/platform-in-typescript/build.sh", self.mistctl) / "platform-in-typescript.mist-pack.wasm"
        found = self.measured({
            "calls": self.generate(PLATFORM), "crates": self.generate(crates), "typescript": self.generate(script),
            "cached": self.generate(PLATFORM, cache=True), "version": (self.mistctl, "version")})
        self.row("platform example: Rust, its packages called", *found["calls"], 60)
        self.row("platform example: Rust, its packages linked in", *found["crates"], 60)
        self.row("platform example: TypeScript, its packages called", *found["typescript"], 60)
        self.row("platform example: Rust, with the render cache", *found["cached"], 15)
        self.row("mistctl version, which does nothing", *found["version"])

    def guests(self):
        return self.built("tests/conformance/build.sh") / "rust"

    def call(self, many=200):
        shutil.copy(self.guests() / "both-reactor.wasm", self.work / "callee.wasm")
        (self.work / "caller.json").write_text(json.dumps({
            "apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": "caller"},
            "spec": {"version": "0.1.0", "dependencies": [{"name": "callee", "package": "./callee.wasm"}]}}))
        caller = self.work / "caller.wasm"
        self.run(self.mistctl, "package", "build", self.guests() / "caller.wasm", "-m", self.work / "caller.json", "-o", caller)

        def calling(count):
            calls = [{"package": "callee", "input": {"values": {"n": number}}} for number in range(count)]
            return self.generate(caller, "--set-json", f"calls={json.dumps(calls)}")
        found = self.measured({"one": calling(1), "many": calling(many)})
        each = [(found["many"][i] - found["one"][i]) / (many - 1) for i in (0, 1)]
        self.row(f"one of {many} calls, the called package's own work included", *each, 1)

    def component(self):
        found = self.measured({kind: self.generate(self.guests() / f"both-{kind}.wasm") for kind in ("reactor", "component")})
        self.row("one source as a core module", *found["reactor"])
        self.row("… as a component", *found["component"])

    def cdk8s(self):
        app = self.work / "app"
        self.run(self.mistctl, "package", "init", app, "--template", "cdk8s", "--name", "shop", "-q")
        ran = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=app, capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"bench: npm ci: {ran.stderr.strip()[-2000:]}")
        self.run(self.mistctl, "package", "build", ".", "-o", "shop.wasm", "-q", cwd=app)
        (app / "node.ts").write_text(
            'import { generate } from "./src/main.ts";\n'
            'const output = generate({ name: "web", replicas: 2, image: "nginxinc/nginx-unprivileged:1.29-alpine", serviceType: "ClusterIP" });\n'
            'process.stdout.write(output.file("app.yaml")!);\n')
        self.run("node_modules/.bin/esbuild", "node.ts", "--bundle", "--platform=node", "--format=cjs", "--log-level=error",
                 "--outfile=node.cjs", cwd=app)
        found = self.measured({"mistctl": self.generate(app / "shop.wasm"), "node": ("node", app / "node.cjs"),
                               "version": (self.mistctl, "version")})
        self.row("cdk8s app in the sandbox", *found["mistctl"])
        self.row("… without the start of the process", *(found["mistctl"][i] - found["version"][i] for i in (0, 1)), 10)
        self.row("the same app under Node, bundled", *found["node"])

    def resolve(self):
        figures = [self.run(self.programs / "resolve_bench").split() for _ in range(ROUNDS)]
        times = [float(each[0]) for each in figures]
        self.row(f"resolution over 2,000 versions ({figures[0][1]} selected), in the process", min(times), statistics.median(times), 50)

    def write(self):
        commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=8"], capture_output=True, text=True).stdout.strip()
        text = (f"# Packages that call packages\n\nCommit {commit}, {os.cpu_count()} cores; `bench/packages.py build/release/bin`. Milliseconds, whole processes "
                f"unless a row says otherwise, of {ROUNDS} runs in turn.\n\n| what | best | median | wanted | met |\n|---|---:|---:|---:|---|\n")
        (HERE / "results/packages.md").write_text(text + "\n".join(self.rows) + "\n\n" + BOUNDS)


def main():
    if len(sys.argv) < 2 or not (pathlib.Path(sys.argv[1]) / "mistctl").exists() or not set(sys.argv[2:]) <= set(PARTS):
        sys.exit(f"usage: bench/packages.py PROGRAMS [{'|'.join(PARTS)} ...]")
    with tempfile.TemporaryDirectory(prefix="mist-packages-") as place:
        bench = Bench(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(place))
        for part in sys.argv[2:] or PARTS:
            getattr(bench, part)()
        if len(sys.argv) == 2:
            bench.write()


if __name__ == "__main__":
    main()
