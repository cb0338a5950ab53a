#!/usr/bin/env python3
"""Compares Helm charts in kustomizations with `kustomize build --enable-helm` and the helm program:

    charts.py MISTCTL PEERS [--recorded DIRECTORY] [NAME...]

PEERS has kustomize and helm (bench/peers/build.sh), --recorded the builds of kustomize's own tests (record.sh). The cases are
those of charts.txt. Output must have the same bytes; where kustomize refuses, so must we, with the words that the case says.
"""

import concurrent.futures
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

    def run(self, *command):
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, env=self.environment, check=False)

    def ours(self, directory):
        return self.run(self.mistctl, "generate", "x", "-p", f"{directory}/", "-o", "kustomize")

    def theirs(self, tree, root):
        # It keeps what it pulls beside the kustomization.
        copy = self.work / "of-kustomize" / tree.name
        shutil.copytree(tree, copy)
        return self.run(self.peers / "kustomize", "build", "--enable-helm", "--helm-command", self.peers / "helm", copy / root)

    def compare(self, tree, root, words):
        """(whether both gave the same bytes, what differs or None)"""
        ours, theirs = self.ours(tree / root), self.theirs(tree, root)
        if (theirs.returncode != 0) != (words is not None):
            return False, f"kustomize ended with {theirs.returncode}\n{theirs.stdout}{theirs.stderr}"
        if theirs.returncode == 0:
            same = ours.returncode == 0 and ours.stdout == theirs.stdout
            return same, None if same else f"expected:\n{theirs.stdout}\ngot:\n{ours.stdout}{ours.stderr}"
        if ours.returncode == 0:
            return False, f"expected the error:\n{theirs.stderr}\ngot:\n{ours.stdout}"
        # One text for both, or "what kustomize says | what mistctl says".
        expected = (words.split(" | ") * 2)[:2]
        if missing := [who for who, text, said in zip(("kustomize", "mistctl"), (theirs.stderr, ours.stderr), expected)
                       if said not in text]:
            return False, f"{missing} says nothing of {words!r}\n{theirs.stderr}\nmistctl:\n{ours.stderr}"
        return False, None


def recorded(directory, work):
    """(name, tree, root, None) for each build of a chart in kustomize's own tests that had all it needed."""
    found = []
    for case in sorted(directory.glob("*/case.json")):
        one = json.loads(case.read_text())
        texts = (file.read_bytes() for file in (case.parent / "tree").rglob("*") if file.is_file())
        if one["helmEnabled"] and "error" not in one and any(b"elmChart" in text for text in texts):
            tree = work / "recorded" / case.parent.name
            shutil.copytree(case.parent / "tree", tree)
            found.append((case.parent.name, tree, one["root"], None))
    if not found:
        sys.exit(f"no builds of charts were recorded in {directory}: does kustomize name them otherwise?")
    return found


def main():
    arguments = sys.argv[1:]
    of_kustomize = None
    if "--recorded" in arguments:
        at = arguments.index("--recorded")
        of_kustomize = pathlib.Path(arguments[at + 1])
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
        cases = []
        for name, words, files in wanted:
            directory = work / "cases" / name
            write(directory, {path: text.replace("@REPO@", address) for path, text in files.items()})
            if not any(path.startswith("charts/") for path in files) and "@REPO@" not in "".join(files.values()):
                write(directory / "charts", charts)
            cases.append((name, directory, "", words and words.replace("@REPO@", address)))
        if of_kustomize is not None:
            cases += recorded(of_kustomize, work)
        cases = [case for case in cases if not names or case[0] in names]
        if not cases:
            sys.exit(f"no case is named {' or '.join(names)}")
        same = refused = failed = 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for case, (is_same, difference) in zip(cases, pool.map(lambda case: comparison.compare(*case[1:]), cases)):
                if difference is not None:
                    print(f"{case[0]}: DIFFERENT: {difference}")
                    failed += 1
                elif is_same:
                    same += 1
                else:
                    refused += 1
        print(f"{same} the same, {refused} refused by both, {failed} different")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
