"""What the bench measures with: processes, the control plane's own CPU, its audit log, and a line that makes it far away."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")
WRITES = ("create", "patch", "update", "delete", "deletecollection")


def say(text):
    print(text, file=sys.stderr, flush=True)


class Processes:
    """Runs programs through `measure` and with an environment of their own: nothing of the user's configuration."""

    def __init__(self, measure, work):
        self.measure, self.work = measure, pathlib.Path(work)
        keep = {key: value for key, value in os.environ.items() if not re.match("MIST_|HELM_|KUBE", key)}
        home = self.work / "home"
        home.mkdir()
        self.environment = {**keep, "HOME": str(home), "MIST_HOME_LOCATION": str(home / "mistletoe")}

    def run(self, command, codes=(0,), extra=None):
        """One process: seconds of wall and CPU, peak memory in MB. Raises RuntimeError for another exit code than `codes`."""
        with tempfile.NamedTemporaryFile(dir=self.work) as figures, tempfile.TemporaryFile(dir=self.work) as error:
            code = subprocess.run([self.measure, figures.name, *map(str, command)], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=error, env={**self.environment, **(extra or {})}).returncode
            if code not in codes:
                error.seek(0)
                raise RuntimeError(f"{' '.join(map(str, command))}: exit code {code}\n{error.read().decode()[-4000:]}")
            cost = json.load(figures)
        return {"seconds": cost["seconds"], "cpu": cost["cpu"], "mb": cost["kb"] / 1024}

    def output(self, command, extra=None):
        return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True,
                              env={**self.environment, **(extra or {})}).stdout


class Audit:
    """The requests that the API server answered since the last look, of all its clients but its own components."""

    def __init__(self, path):
        self.path, self.position = path, os.path.getsize(path)

    def take(self):
        with open(self.path, "rb") as file:
            file.seek(self.position)
            # A line that is being written belongs to the next look.
            text = file.read()
            text = text[:text.rfind(b"\n") + 1]
            self.position += len(text)
        counts = collections.Counter(requests=0, lists=0, writes=0, object_writes=0)
        for line in text.splitlines():
            event = json.loads(line)
            # A watch has a line when it begins and one when it ends; everything else one when it is answered.
            if event["stage"] != ("ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"):
                continue
            counts["requests"] += 1
            counts["lists"] += event["verb"] == "list"
            if event["verb"] in WRITES and "dryRun=" not in event.get("requestURI", ""):
                counts["writes"] += 1
                where = event.get("objectRef", {})
                record = where.get("resource") == "secrets" and re.match(r"mistletoe\.|sh\.helm\.release\.", where.get("name", ""))
                counts["object_writes"] += not record
        return dict(counts)


class ControlPlane:
    """A devcluster of our own, quiet but for us."""

    def __init__(self, devcluster, processes, work):
        self.devcluster, self.processes = str(devcluster), processes
        self.name = f"bench-{os.getpid()}"
        up = [self.devcluster, "up", "-q", "--name", self.name, "--parent-pid", str(os.getpid())]
        self.kubeconfig = pathlib.Path(processes.output(up).strip())
        self.audit = Audit(processes.output([self.devcluster, "audit", "--name", self.name]).strip())
        status = json.loads(processes.output([self.devcluster, "status", "--name", self.name, "-o", "json"]))
        self.parts = {each["name"]: each["pid"] for each in status["components"]}
        # etcd runs in the supervisor, and so do controllers of its own: namespaces, garbage collection.
        self.servers = [status["pid"], self.parts["kube-apiserver"]]
        self.all = [status["pid"], *self.parts.values()]
        self.work, self.proxies, self.kubeconfigs = pathlib.Path(work), [], {0: self.kubeconfig}

    def down(self):
        for proxy in self.proxies:
            proxy.stdin.close()
            proxy.wait()
        subprocess.run([self.devcluster, "down", "--name", self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def far(self, proxy, milliseconds):
        """The kubeconfig of the same server, that round trip away."""
        if milliseconds not in self.kubeconfigs:
            text = self.kubeconfig.read_text()
            server = re.search(r"server: \"?https://([^\s\"]+)", text)[1]
            process = subprocess.Popen([proxy, server, f"{milliseconds}ms"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.proxies.append(process)
            path = self.work / f"kubeconfig-{milliseconds}"
            path.write_text(text.replace(server, process.stdout.readline().strip()))
            self.kubeconfigs[milliseconds] = path
        return self.kubeconfigs[milliseconds]

    def kubectl(self, *arguments):
        return self.processes.output([self.devcluster, "kubectl", "--name", self.name, *arguments])

    @staticmethod
    def cpu(processes):
        """Seconds that these have used so far."""
        total = 0
        for pid in processes:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICKS

    def settle(self, most=10):
        """Until the controllers have nothing more to do with what was there before."""
        end = time.monotonic() + most
        before = self.cpu(self.all)
        while time.monotonic() < end:
            time.sleep(0.25)
            now = self.cpu(self.all)
            if now - before <= 0.04:
                break
            before = now

    def collect_garbage(self):
        """Makes the API server's heap that of a server that did nothing yet. Otherwise none, one or two of its collections fall into
        a run, each a quarter of a second of processor time, and which client meets them is decided by who came before."""
        self.kubectl("get", "--raw", "/debug/pprof/heap?gc=1&debug=1")

    def measured(self, run):
        """The figures of `run` (a call of Processes.run) with its requests and the share of the machine that `servers` took."""
        self.collect_garbage()
        self.audit.take()
        before = self.cpu(self.servers)
        figures = run()
        figures["server_share"] = (self.cpu(self.servers) - before) / (figures["seconds"] * os.cpu_count())
        return {**figures, **self.audit.take()}
