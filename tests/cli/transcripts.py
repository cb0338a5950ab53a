#!/usr/bin/env python3
"""Runs the transcripts of this directory against mistctl. README.md has the format.

Usage: transcripts.py --mistctl PROGRAM [--fake-cluster PROGRAM] [FILTER]...    only files whose path contains a FILTER
"""
import argparse
import concurrent.futures
import difflib
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_SECONDS = 300
OUT, ERR, CODE = "  ", "! ", "? "
FAKE_CLUSTER = "a cluster in memory"


class Step:
    """One command and the lines that are expected after it."""

    def __init__(self, before):
        self.before = before  # comments and empty lines above the command
        self.command = []  # lines without "$ " and "> "
        self.expected = []  # lines as written, with their prefix

    def text(self):
        first, *rest = self.command
        return self.before + [f"$ {first}"] + [f"> {line}" for line in rest] + self.expected


def parse(path):
    """(requirements, steps, lines after the last step)"""
    requires, steps, pending = set(), [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("requires: "):
            requires |= set(line.removeprefix("requires: ").split())
            pending.append(line)
        elif line == "cluster: fake" and not steps:
            requires.add(FAKE_CLUSTER)
            pending.append(line)
        elif line.startswith("$ "):
            steps.append(Step(pending))
            pending = []
            steps[-1].command.append(line[2:])
        elif line.startswith("> ") and steps and not steps[-1].expected:
            steps[-1].command.append(line[2:])
        elif line.startswith((OUT, ERR, CODE)) and steps:
            # An empty line inside output was written without its two spaces.
            steps[-1].expected += [OUT.rstrip() for _ in pending] + [line]
            pending = []
        elif not line.strip() or line.startswith("#"):
            pending.append(line)
        else:
            sys.exit(f"{path}:{number}: not part of a transcript: {line!r}")
    return requires, steps, pending


def read_build(mistctl):
    answer = subprocess.run([mistctl, "version", "-o", "json"], capture_output=True, check=True).stdout
    return json.loads(answer)["client"]


def replacements(mistctl, build, directory, namespace, cluster, fake_cluster):
    version = re.escape(build["version"])
    pairs = [
        (re.escape(str(directory)), "<DIR>"),
        (re.escape(str(pathlib.Path(mistctl).resolve().parent.parent)), "<PREFIX>"),
        (r"(?<=127\.0\.0\.1:)\d+", "<PORT>"),
        (re.escape(build["gitCommit"]), "<COMMIT>"),
        (re.escape(build["compiler"]), "<COMPILER>"),
        (re.escape(build["platform"]), "<PLATFORM>"),
        (rf"(?<=mistctl ){version}(?=[ :])|(?<=  version: ){version}$|(?<=  \"version\": \"){version}(?=\")", "<VERSION>"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<UUID>"),
    ]
    if fake_cluster:
        pairs += [
            (r"\b\d+\.\ds\b", "<ELAPSED>"),
            (rf"(?<=@){re.escape(socket.gethostname())} pid \d+\b", "<HOST> pid <PID>"),
        ]
    else:
        pairs.append((r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<TIME>"))
    if cluster:
        pairs += [
            (re.escape(namespace), "<NS>"),
            (r"\b\d+\.\ds\b", "<ELAPSED>"),
            (r"(?<=\s)(\d+[smhd]){1,2}(?=\s|$)", "<AGE>"),
        ]
    return [(re.compile(pattern, re.M), name) for pattern, name in pairs]


def matches(expected, actual):
    if len(expected) != len(actual):
        return False
    for want, have in zip(expected, actual):
        if "[..]" not in want:
            if want != have:
                return False
        elif not re.fullmatch(".*".join(re.escape(part) for part in want.split("[..]")), have):
            return False
    return True


def in_order(lines):
    """Objects are written at the same time: the lines about each of them stand together, in the order of the objects."""
    about_object = re.compile(r"[A-Z]\w+ \S+: [a-z]")
    return [line for about, group in itertools.groupby(lines, lambda line: bool(about_object.match(line)))
            for line in (sorted(group, key=lambda line: line.split(": ")[0]) if about else group)]


def prefixed(text, prefix):
    return [(prefix + line).rstrip() for line in text.splitlines()]


class Session:
    def __init__(self, path, mistctl, fake_cluster, build):
        self.path = path
        self.mistctl = mistctl
        self.fake_cluster = fake_cluster
        self.build = build
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="mist-cli-")).resolve()
        self.namespace = f"cli-{path.parent.name}-{path.stem}-{os.getpid()}".replace("_", "-")

    def programs(self, fake):
        """The directory of the program that this session calls mistctl."""
        if not fake:
            return pathlib.Path(self.mistctl).parent
        programs = self.directory / ".bin"
        programs.mkdir()
        for name in ("mistctl", "cluster"):
            (programs / name).symlink_to(self.fake_cluster)
        return programs

    def environment(self, cluster, fake):
        environment = {
            "PATH": f"{self.programs(fake)}:/usr/local/bin:/usr/bin:/bin",
            "FAKE_CLUSTER": str(self.directory / ".cluster.json"),
            "HOME": str(self.directory),
            "MIST_HOME_LOCATION": str(self.directory / ".mistletoe"),
            "KUBECONFIG": os.environ["MIST_TEST_KUBECONFIG"] if cluster else str(self.directory / "no-kubeconfig"),
            "NS": self.namespace,
            "SOURCE": str(HERE.parent.parent),
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        # Sanitizers tell where their options are.
        return environment | {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS",
                                                                  "TSAN_OPTIONS") if name in os.environ}

    def run(self, accept):
        """(status, lines for people); status is ok, failed, skipped or rewritten."""
        requires, steps, after = parse(self.path)
        cluster = "cluster" in requires
        fake = FAKE_CLUSTER in requires
        if missing := [program for program in sorted(requires - {"cluster", FAKE_CLUSTER}) if not shutil.which(program)]:
            return "skipped", [f"needs the program {program}" for program in missing]
        if cluster and not os.environ.get("MIST_TEST_KUBECONFIG"):
            return "skipped", ["needs MIST_TEST_KUBECONFIG"]
        if fake and not self.fake_cluster:
            return "skipped", ["needs --fake-cluster"]
        replace = replacements(self.mistctl, self.build, self.directory, self.namespace, cluster, fake)
        report, environment = [], self.environment(cluster, fake)
        for step in steps:
            actual = self.step(step, environment, replace, fake)
            if matches(step.expected, actual):
                continue
            report += [f"$ {step.command[0]}"]
            report += difflib.unified_diff(step.expected, actual, "expected", "actual", lineterm="")
            step.expected = actual
        if not report:
            return "ok", []
        if not accept:
            return "failed", report
        self.path.write_text("\n".join([line for step in steps for line in step.text()] + after) + "\n")
        return "rewritten", report

    def step(self, step, environment, replace, fake):
        try:
            done = subprocess.run(["bash", "-c", "\n".join(step.command)], cwd=self.directory, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            return [f"{ERR}(still running after {TIMEOUT_SECONDS} seconds)"]

        def clean(data):
            text = data.decode(errors="backslashreplace")
            for pattern, name in replace:
                text = pattern.sub(name, text)
            return text

        errors = [line for line in clean(done.stderr).splitlines() if not line.startswith("… ")]
        errors = "".join(line + "\n" for line in (in_order(errors) if fake else errors))
        lines = prefixed(clean(done.stdout), OUT) + prefixed(errors, ERR)
        # Empty lines at the end can't be told from those before the next command.
        while lines and not lines[-1]:
            lines.pop()
        return lines + ([f"{CODE}{done.returncode}"] if done.returncode else [])

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mistctl", required=True)
    parser.add_argument("--fake-cluster", help="mistctl_on_fake_cluster; without it its transcripts are skipped")
    parser.add_argument("filter", nargs="*")
    arguments = parser.parse_args()
    mistctl = os.path.abspath(arguments.mistctl)
    fake_cluster = arguments.fake_cluster and os.path.abspath(arguments.fake_cluster)
    accept = os.environ.get("MIST_ACCEPT") == "1"
    paths = [path for path in sorted(HERE.glob("*/*.txt"))
             if not arguments.filter or any(part in str(path.relative_to(HERE)) for part in arguments.filter)]
    if not paths:
        sys.exit("no transcript matches")

    build = read_build(mistctl)

    def one(path):
        session = Session(path, mistctl, fake_cluster, build)
        try:
            return session.run(accept)
        finally:
            session.close()

    counts = dict.fromkeys(("ok", "failed", "skipped", "rewritten"), 0)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, (status, report) in zip(paths, pool.map(one, paths)):
            counts[status] += 1
            if status != "ok":
                print(f"{status}: {path.relative_to(HERE)}")
                for line in report:
                    print(f"    {line}")
    print(", ".join(f"{count} {status}" for status, count in counts.items() if count))
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
