#!/usr/bin/env python3
"""Compares Helm charts in kustomizations with `kustomize build --enable-helm` and the helm program:

    charts.py MISTCTL PEERS [--recorded DIRECTORY] [NAME...]

PEERS has kustomize and helm (bench/peers/build.sh), --recorded the builds of kustomize's own tests (record.sh). The cases are
those of charts.txt. Output must have the same bytes; where kustomize refuses, so must we, with the words that the case says.
"""

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent


def sections():
    """(name, words or None, {path: text}) of charts.txt"""
    found = []
    text = (HERE / "charts.txt").read_text()
    for part in re.split(r"(?m)^== ", text)[1:]:
        head, _, body = part.partition("\n")
        name, _, words = head.partition(": ")
        pieces = re.split(r"(?m)^-- (.+) --\n", body)
        files = {path: content.rstrip("\n") + "\n" for path, content in zip(pieces[1::2], pieces[2::2])}
        found.append((name, words or None, files))
    return found


def write(directory, files):
    for path, text in files.items():
        at = directory / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)


def serve(directory):
    handler = functools.partial(type("Quiet", (http.server.SimpleHTTPRequestHandler,),
                                     {"log_message": lambda *_: None}), directory=str(directory))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class Comparison:
    def __init__(self, mistctl, peers, work):
        self.mistctl, self.peers, self.work = mistctl, peers, work
        self.environment = {**os.environ, "HOME": str(work / "home"), "KUBECONFIG": str(work / "none"),
                            "MIST_HOME_LOCATION": str(work / "mist")}
        self.same = self.refused = self.failed = 0

    def run(self, *command):
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, env=self.environment, check=False)

    def ours(self, directory):
        return self.run(self.mistctl, "generate", "x", "-p", f"{directory}/", "-o", "kustomize")

    def theirs(self, tree, root):
        # It keeps what it pulls beside the kustomization.
        copy = self.work / "of-kustomize" / tree.name
        shutil.copytree(tree, copy)
        return self.run(self.peers / "kustomize", "build", "--enable-helm", "--helm-command", self.peers / "helm", copy / root)

    def differs(self, name, why):
        self.failed += 1
        print(f"{name}: DIFFERENT: {why}")

    def compare(self, name, tree, root, words):
        ours, theirs = self.ours(tree / root), self.theirs(tree, root)
        if (theirs.returncode != 0) != (words is not None):
            self.differs(name, f"kustomize ended with {theirs.returncode}\n{theirs.stdout}{theirs.stderr}")
        elif theirs.returncode == 0 and (ours.returncode != 0 or ours.stdout != theirs.stdout):
            self.differs(name, f"expected:\n{theirs.stdout}\ngot:\n{ours.stdout}{ours.stderr}")
        elif theirs.returncode == 0:
            self.same += 1
        elif ours.returncode == 0:
            self.differs(name, f"expected the error:\n{theirs.stderr}\ngot:\n{ours.stdout}")
        elif missing := [who for who, text in (("kustomize", theirs.stderr), ("mistctl", ours.stderr)) if words not in text]:
            self.differs(name, f"{missing} says nothing of {words!r}\n{theirs.stderr}\nmistctl:\n{ours.stderr}")
        else:
            self.refused += 1


def recorded(comparison, directory):
    """The builds of kustomize's own tests of charts that had all they needed."""
    for case in sorted(directory.glob("*/case.json")):
        one = json.loads(case.read_text())
        if "Helm" not in one["test"] or "error" in one:
            continue
        tree = comparison.work / "recorded" / case.parent.name
        shutil.copytree(case.parent / "tree", tree)
        comparison.compare(case.parent.name, tree, one["root"], None)


def main():
    arguments = sys.argv[1:]
    cases = None
    if "--recorded" in arguments:
        at = arguments.index("--recorded")
        cases = pathlib.Path(arguments[at + 1])
        del arguments[at:at + 2]
    mistctl, peers = (pathlib.Path(each).resolve() for each in arguments[:2])
    names = arguments[2:]
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        (work / "home").mkdir()
        comparison = Comparison(mistctl, peers, work)
        (_, _, charts), (_, _, repository), *wanted = sections()
        write(work / "repository-sources", repository)
        (work / "repository").mkdir()
        for chart in sorted((work / "repository-sources").iterdir()):
            comparison.run(peers / "helm", "package", chart, "-d", work / "repository")
        comparison.run(peers / "helm", "repo", "index", work / "repository")
        address = serve(work / "repository")
        for name, words, files in wanted:
            if names and name not in names:
                continue
            directory = work / "cases" / name
            write(directory, {path: text.replace("@REPO@", address) for path, text in files.items()})
            if not any(path.startswith("charts/") for path in files) and "@REPO@" not in "".join(files.values()):
                write(directory / "charts", charts)
            comparison.compare(name, directory, "", words and words.replace("@REPO@", address))
        if cases is not None:
            recorded(comparison, cases)
        print(f"{comparison.same} the same, {comparison.refused} refused by both, {comparison.failed} different")
        return 1 if comparison.failed else 0


if __name__ == "__main__":
    sys.exit(main())
