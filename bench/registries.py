#!/usr/bin/env python3
"""How long registries take: bench/registries.py MISTCTL [--tools DIR] [--peers DIR] [--packages N] [--megabytes N] [--dependencies N]
[--rounds N] [PART...]

The parts are `small` (push and pull of 200 small packages), `large` (of one blob of 200 MB) and `resolve` (100 direct dependencies of a
chart over three registries that are 20 ms away), beside `helm`, `crane` and, of bytes, a bare client that neither checks nor unpacks.
`search.py` measures the search. Registries are the CNCF distribution registry, on this machine, with their storage in a directory.
Seconds and CPU are those of whole processes, the least of all rounds; requests are counted in the registries' access logs. Nothing here
passes or fails: it measures. --tools is the directory of `measure` and `proxy`, --peers that of helm; without them they are built.
"""
import argparse
import collections
import gzip
import hashlib
import http.client
import io
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ("small", "large", "resolve")
ROUND_TRIP_MS = 20
REGISTRIES = 3
VERSIONS = ("1.0.0", "1.1.0", "2.0.0")
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def say(text):
    print(text, file=sys.stderr, flush=True)


def built(name):
    """A program of tests/registries."""
    return subprocess.run([HERE.parent / "tests/registries/build.sh", name], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Registry:
    """A registry on this machine, which ends with `stop`. `host` is what clients reach, 20 ms away where there is a proxy."""

    def __init__(self, program, work):
        work.mkdir()
        configuration = work / "registry.json"
        configuration.write_text(json.dumps({
            "version": 0.1, "log": {"level": "info", "formatter": "json"}, "http": {"addr": "127.0.0.1:0", "secret": "x"},
            "storage": {"filesystem": {"rootdirectory": str(work / "storage")}}}))
        self.log = work / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([program, "serve", configuration], stdout=log, stderr=log,
                                            env={"PATH": "/usr/bin:/bin", "OTEL_TRACES_EXPORTER": "none", "HOME": str(work)})
        end = time.monotonic() + 30
        while not (found := re.search(r"listening on 127\.0\.0\.1:(\d+)", self.log.read_text())):
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"bench: the registry does not start\n{self.log.read_text()}")
            time.sleep(0.02)
        self.port, self.proxy = int(found[1]), None
        self.host = f"localhost:{self.port}"

    def move_away(self, proxy):
        self.proxy = subprocess.Popen([proxy, f"127.0.0.1:{self.port}", f"{ROUND_TRIP_MS}ms"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.host = f"localhost:{self.proxy.stdout.readline().strip().rsplit(':', 1)[1]}"

    def requests(self):
        """So far."""
        return len(re.findall(r'"(?:GET|HEAD|PUT|POST|PATCH|DELETE) \S+ HTTP/', self.log.read_text()))

    def stop(self):
        if self.proxy is not None:
            self.proxy.stdin.close()
            self.proxy.wait()
        self.process.kill()
        self.process.wait()


class Measured:
    """Rows of figures: `rows[what][client]`, of several rounds the fastest."""

    def __init__(self, work, tools, rounds):
        self.work, self.tools, self.rounds, self.rows = work, tools, rounds, collections.defaultdict(dict)

    def environment(self, name):
        """A home of its own for each: nothing was fetched before."""
        home = self.work / f"home-{name}"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        keep = {key: value for key, value in os.environ.items() if not re.match("MIST_|HELM_|DOCKER_|XDG_|REGISTRY_", key)}
        return {**keep, "HOME": str(home), "MIST_HOME_LOCATION": str(home / "mistletoe")}

    def run(self, what, client, script, registries, before=lambda: None, environment=None):
        """`script`: lines for a shell. `before` makes each round like the first one."""
        best = None
        for _ in range(self.rounds):
            before()
            own = environment or self.environment(client)
            counted = sum(each.requests() for each in registries)
            result = subprocess.run([self.tools / "measure", self.work / "figures", "/bin/sh", "-ec", "\n".join(script)], env=own,
                                    cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if result.returncode != 0:
                return self.failed(what, client, result.stderr)
            time.sleep(0.05)  # the registry writes its log after it answered
            cost = json.loads((self.work / "figures").read_text())
            figures = {"seconds": cost["seconds"], "cpu": cost["cpu"], "mb": cost["kb"] / 1024,
                       "requests": sum(each.requests() for each in registries) - counted}
            if best is None or figures["seconds"] < best["seconds"]:
                best = figures
        self.add(what, client, best)

    def failed(self, what, client, errors):
        lines = errors.strip().splitlines() or ["no error text"]
        say(f"    {client:<10} {what:<34} can't: {lines[-1][:160]}")
        self.rows[what][client] = None

    def add(self, what, client, figures):
        self.rows[what][client] = figures
        say(f"    {client:<10} {what:<34} {figures['seconds']:8.3f} s {figures['requests']:5} requests  {figures['cpu']:7.3f} s CPU "
            f"{figures['mb']:6.1f} MB")

    def get(self, what, client, key="seconds"):
        row = self.rows.get(what, {}).get(client)
        return None if row is None else row[key]

    def of_best(self, what, peers):
        ours, theirs = self.get(what, "mistctl"), [each for peer in peers if (each := self.get(what, peer))]
        return ours / min(theirs) if ours and theirs else None


class Bench:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.measured = Measured(work, args.tools, args.rounds)
        self.mistctl = f"{shlex.quote(str(args.mistctl))} -q"
        self.helm, self.crane = shlex.quote(str(args.peers / "helm")), shlex.quote(built("crane"))
        self.registries = []

    def registry(self):
        self.registries.append(Registry(built("distribution"), self.work / f"registry-{len(self.registries)}"))
        return self.registries[-1]

    # --- charts

    def charts(self, count, versions=VERSIONS[:1]):
        """Small charts, packed as `helm package` packs them; their files by (name, version)."""
        directory = self.work / f"charts-{count}-{len(versions)}"
        directory.mkdir()
        files = {}
        for number in range(count):
            for version in versions:
                name = f"part-{number}"
                content = {"Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n", "values.yaml": "replicas: 1\n",
                           "templates/all.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n" +
                                                 "".join(f"  key-{line}: value {number} {line}\n" for line in range(40))}
                packed = io.BytesIO()
                with tarfile.open(fileobj=packed, mode="w") as archive:
                    for path, text in content.items():
                        member = tarfile.TarInfo(f"{name}/{path}")
                        member.size = len(text)
                        archive.addfile(member, io.BytesIO(text.encode()))
                file = directory / f"{name}-{version}.tgz"
                file.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
                files[name, version] = file
        return files

    def small(self):
        count = self.args.packages
        charts, out = self.charts(count), self.work / "pulled"
        mistctl, helm, crane = (self.registry() for _ in range(3))

        def fresh():
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
        push, pull = f"push of {count} small packages", f"pull of {count} small packages"
        names = [(name, version, shlex.quote(str(file))) for (name, version), file in charts.items()]
        # Pushed again, everything is there already: so each client measures its first round.
        once, self.measured.rounds = self.measured.rounds, 1
        self.measured.run(push, "mistctl", [f"{self.mistctl} push {file} oci://{mistctl.host}/small/{name}:{version}"
                                            for name, version, file in names], [mistctl])
        self.measured.run(push, "helm", [f"{self.helm} push {file} oci://{helm.host}/small --plain-http" for _, _, file in names], [helm])
        self.measured.run(push, "crane", [f"{self.crane} append --oci-empty-base -f {file} -t {crane.host}/small/{name}:{version}"
                                          for name, version, file in names], [crane])
        self.measured.rounds = once
        self.measured.run(pull, "mistctl", [f"{self.mistctl} pull oci://{mistctl.host}/small/{name}:{version} -o pulled/{name}.tgz"
                                            for name, version, _ in names], [mistctl], fresh)
        self.measured.run(pull, "helm", [f"{self.helm} pull oci://{helm.host}/small/{name} --version {version} -d pulled --plain-http"
                                         for name, version, _ in names], [helm], fresh)
        self.measured.run(pull, "crane", [f"{self.crane} pull {crane.host}/small/{name}:{version} pulled/{name}.tar"
                                          for name, version, _ in names], [crane], fresh)
        self.one_package(mistctl, *names[0][:2])

    def one_package(self, registry, name, version):
        """Requests of one package: nothing cached, the same tag again, the digest of what is here; and the first use of its tag to render it."""
        reference, environment = f"oci://{registry.host}/small/{name}", self.measured.environment("one")
        first = f"{self.mistctl} pull {reference}:{version} -o one.tgz"
        rounds, self.measured.rounds = self.measured.rounds, 1
        self.measured.run("a package, nothing cached", "mistctl", [first], [registry], environment=environment)
        self.measured.run("the same tag again", "mistctl", [first], [registry], environment=environment)
        digest = self.answer(registry, "HEAD", f"/v2/small/{name}/manifests/{version}", {"Accept": MANIFEST})["Docker-Content-Digest"]
        self.measured.run("its digest", "mistctl", [f"{self.mistctl} generate x -p {reference}@{digest}"], [registry],
                          environment=environment)
        # Whoever renders a package by its tag asks once who signed it.
        render = f"{self.mistctl} generate x -p {reference}:{version}"
        self.measured.run("a package, rendered first", "mistctl", [render], [registry], environment=environment)
        self.measured.run("a package, rendered again", "mistctl", [render], [registry], environment=environment)
        self.measured.rounds = rounds

    @staticmethod
    def answer(registry, method, path, headers=None, body=None):
        """The headers of an answer to the bare client, which keeps nothing and checks nothing; its body goes to `body`, a file."""
        connection = http.client.HTTPConnection("127.0.0.1", registry.port)
        source = body if method == "PUT" else None
        connection.request(method, path, body=source, headers=headers or {})
        answer = connection.getresponse()
        if answer.status >= 300:
            raise SystemExit(f"bench: {method} {path}: {answer.status}")
        if method == "GET":
            shutil.copyfileobj(answer, body, 1 << 20)
        answer.close()
        connection.close()
        return answer.headers

    # --- one large blob

    def layout(self):
        """An image layout with one artifact: a blob that can't be compressed."""
        size = self.args.megabytes * 1_000_000
        directory = self.work / "layout"
        blobs = directory / "blobs/sha256"
        blobs.mkdir(parents=True)

        def blob(data):
            digest = hashlib.sha256(data).hexdigest()
            (blobs / digest).write_bytes(data)
            return {"digest": f"sha256:{digest}", "size": len(data)}
        empty = {"architecture": "", "os": "", "rootfs": {"type": "layers", "diff_ids": []}}
        config = {"mediaType": "application/vnd.oci.image.config.v1+json", **blob(json.dumps(empty).encode())}
        layer = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **blob(random.Random(7).randbytes(size))}
        manifest = blob(json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}).encode())
        (directory / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
        (directory / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [{"mediaType": MANIFEST, **manifest}]}))
        return directory, blobs / layer["digest"].split(":")[1], layer["digest"]

    def bare(self, what, registry, action):
        """The same bytes from this process: what the registry and the disk allow."""
        best = None
        for _ in range(self.args.rounds):
            counted, began, before = registry.requests(), time.perf_counter(), time.process_time()
            action()
            seconds, cpu = time.perf_counter() - began, time.process_time() - before
            time.sleep(0.05)
            if best is None or seconds < best["seconds"]:
                best = {"seconds": seconds, "cpu": cpu, "mb": 0.0, "requests": registry.requests() - counted}
        self.measured.add(what, "bare", best)

    def large(self):
        directory, file, digest = self.layout()
        size = self.args.megabytes
        push, pull = f"push of one blob of {size} MB", f"pull of one blob of {size} MB"
        registry, numbers = self.registry(), iter(range(1_000_000))

        def bare_push():
            headers = self.answer(registry, "POST", f"/v2/bare-{next(numbers)}/big/blobs/uploads/", {"Content-Length": "0"})
            place = re.sub("^https?://[^/]+", "", headers["Location"])
            with file.open("rb") as source:
                self.answer(registry, "PUT", f"{place}&digest={digest}",
                            {"Content-Length": str(file.stat().st_size), "Content-Type": "application/octet-stream"}, source)

        def bare_pull():
            with (self.work / "bare").open("wb") as target:
                self.answer(registry, "GET", f"/v2/bare-0/big/blobs/{digest}", body=target)
        self.bare(push, registry, bare_push)
        self.bare(pull, registry, bare_pull)
        chart = self.work / "big-1.0.0.tgz"
        with tarfile.open(chart, "w:gz", compresslevel=1) as archive:
            for path, content in (("big/Chart.yaml", b"apiVersion: v2\nname: big\nversion: 1.0.0\n"), ("big/files/blob", file.read_bytes())):
                member = tarfile.TarInfo(path)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        mine, theirs, helms = (self.registry() for _ in range(3))
        out = self.work / "pulled"

        def fresh():
            shutil.rmtree(out, ignore_errors=True)
        rounds, self.measured.rounds = self.measured.rounds, 1
        self.measured.run(push, "mistctl", [f"{self.mistctl} registry copy oci-layout:layout oci://{mine.host}/big:1.0.0"], [mine])
        self.measured.run(push, "crane", [f"{self.crane} push layout {theirs.host}/big:1.0.0"], [theirs])
        self.measured.run(push, "helm", [f"{self.helm} push {shlex.quote(str(chart))} oci://{helms.host}/charts --plain-http"], [helms])
        self.measured.rounds = rounds
        self.measured.run(pull, "mistctl", [f"{self.mistctl} mirror oci://{mine.host}/big:1.0.0 --to oci-layout:pulled"], [mine], fresh)
        self.measured.run(pull, "crane", [f"{self.crane} pull --format=oci {theirs.host}/big:1.0.0 pulled"], [theirs], fresh)

    # --- many dependencies

    def resolve(self):
        count = self.args.dependencies
        registries = [self.registry() for _ in range(REGISTRIES)]
        say(f"    publishing {count} charts in {len(VERSIONS)} versions each")
        wanted, lines = [], []
        for number, ((name, version), file) in enumerate(self.charts(count, VERSIONS).items()):
            where = registries[number // len(VERSIONS) % REGISTRIES]
            lines.append(f"{self.mistctl} push {shlex.quote(str(file))} oci://{where.host}/parts/{name}:{version}")
            if version == VERSIONS[0]:
                wanted.append((name, where))
        subprocess.run(["/bin/sh", "-ec", "\n".join(lines)], check=True, stdout=subprocess.DEVNULL, env=self.measured.environment("publisher"))
        for each in registries:
            each.move_away(self.args.tools / "proxy")
        chart, package = self.work / "platform-chart", self.work / "platform"
        for directory in (chart, package):
            directory.mkdir()
        (chart / "Chart.yaml").write_text(json.dumps({
            "apiVersion": "v2", "name": "platform", "version": "1.0.0",
            "dependencies": [{"name": name, "version": "^1.0.0", "repository": f"oci://{where.host}/parts"} for name, where in wanted]}))
        (package / "mistletoe.yaml").write_text(json.dumps({
            "apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": "platform"}, "spec": {
                "version": "1.0.0",
                "dependencies": [{"name": name, "package": f"oci://{where.host}/parts/{name}", "version": "^1.0.0"} for name, where in wanted]}}))

        def fresh():
            shutil.rmtree(chart / "charts", ignore_errors=True)
            for file in (chart / "Chart.lock", package / "mistletoe.lock"):
                file.unlink(missing_ok=True)
        what = f"{count} dependencies of a chart"
        self.measured.run(what, "mistctl", [f"{self.mistctl} dependency update platform-chart"], registries, fresh)
        self.measured.run(what, "helm", [f"{self.helm} dependency update platform-chart --plain-http"], registries, fresh)
        self.measured.run(f"{count} dependencies of a package", "mistctl", [f"{self.mistctl} package lock platform"], registries, fresh)

    def stop(self):
        for each in self.registries:
            each.stop()


def most(value, limit):
    return None if value is None else value <= limit


def targets(measured, args):
    """(what, measured, wanted, met), as issue 26 has them under "How good"."""
    small = [f"{verb} of {args.packages} small packages" for verb in ("push", "pull")]
    large = [f"{verb} of one blob of {args.megabytes} MB" for verb in ("push", "pull")]
    rows = [(f"{each}, of the best peer's time", measured.of_best(each, ("helm", "crane")), 0.5) for each in small]
    rows += [(f"{each}, of the bare client's time", measured.of_best(each, ("bare",)), 1.1) for each in large]
    for what, requests in (("a package, nothing cached", 2), ("the same tag again", 1), ("its digest", 0),
                           ("a package, rendered again", 1)):
        rows.append((f"{what}: requests", measured.get(what, "mistctl", "requests"), requests))
    rows.append((f"{args.dependencies} dependencies of a chart, of helm's time",
                 measured.of_best(f"{args.dependencies} dependencies of a chart", ("helm",)), 0.5))
    return [(what, value, limit, most(value, limit)) for what, value, limit in rows if value is not None]


def number(value):
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if value < 10 else f"{value:,.1f}"


def as_markdown(measured, args):
    clients = [each for each in ("mistctl", "helm", "crane", "bare") if any(each in row for row in measured.rows.values())]
    lines = ["| target | measured | wanted | met |", "|---|---:|---:|---|"]
    lines += [f"| {what} | {number(value)} | ≤ {limit} | {'yes' if met else '**no**'} |" for what, value, limit, met in targets(measured, args)]
    lines += ["", "Cells: seconds / requests / CPU seconds / peak MB of the largest process.", "",
              f"| | {' | '.join(clients)} |", "|---|" + "---:|" * len(clients)]
    for what, row in measured.rows.items():
        cells = []
        for client in clients:
            figures = row.get(client)
            cells.append("can't" if client in row and figures is None else "–" if figures is None else
                         f"{figures['seconds']:.3f} / {figures['requests']:,} / {figures['cpu']:.3f} / {figures['mb']:.0f}")
        lines.append(f"| {what} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def built_tools(work):
    """`measure` and `proxy`, as `make bench` builds them."""
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++23", "-O1", "-o", work / "measure", HERE / "measure.cc"], check=True)
    subprocess.run(["go", "build", "-o", work / "proxy", "."], cwd=HERE / "proxy", check=True, env=environment)
    return work


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    path = lambda text: pathlib.Path(text).resolve()  # noqa: E731
    parser.add_argument("mistctl", type=path)
    for name, fallback in (("--packages", 200), ("--megabytes", 200), ("--dependencies", 100), ("--rounds", 3)):
        parser.add_argument(name, type=int, default=fallback)
    for name in ("--tools", "--peers"):
        parser.add_argument(name, type=path)
    parser.add_argument("parts", nargs="*", metavar="PART", default=[])
    args = parser.parse_intermixed_args()
    if unknown := set(args.parts) - set(PARTS):
        raise SystemExit(f"bench: there is no part {', '.join(sorted(unknown))}; they are {', '.join(PARTS)}")
    work = pathlib.Path(tempfile.mkdtemp(prefix="mist-registries-"))
    bench = None
    try:
        if args.peers is None:
            args.peers = path(subprocess.run([HERE / "peers/build.sh"], check=True, capture_output=True, text=True).stdout.strip())
        if args.tools is None:
            args.tools = built_tools(work)
        bench = Bench(args, work)
        for part in args.parts or PARTS:
            say(part)
            getattr(bench, part)()
        print(as_markdown(bench.measured, args), end="")
    finally:
        if bench is not None:
            bench.stop()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
