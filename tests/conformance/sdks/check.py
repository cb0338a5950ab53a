#!/usr/bin/env python3
"""The conformance table of the SDKs: check.py MISTCTL [DIRECTORY that build.sh printed]

The same package in TypeScript, Go, C++, Python and Rust (build.sh) must describe its inputs alike, and for the same values give the same
bytes: files, secrets, objects, log lines, message, errors but for their place. The first language is what the others are compared with. Ends with 1 if
one differs.
"""
import base64
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Only Python's engine has the source beside it, and shows the line that failed.
PLACE = re.compile(r"^  at main\.py:.*\n(?: +[0-9]* *\|.*\n)*", re.MULTILINE)
LANGUAGES = ("rust", "typescript", "go", "cpp", "python")
# The arguments, and what the error says; nothing: there is none.
CASES = {
    "defaults": ([], ""),
    "values": (["-s", "replicas=7", "-s", "message=a: b", "-s", "level=high"], ""),
    "lists": (["--set-json", 'ports=[{"name": "http", "port": 80}, {"name": "metrics", "port": 9090}]'], ""),
    "a list's items that lack a default": (["--set-json", 'ports=[{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]'], ""),
    "an object that is given in part": (["--set", "backend.host=pg"], ""),
    "a default that is taken away": (["--set", "replicas=null", "--set-json", 'backend={"host": "pg", "port": null}'], ""),
    "no ports": (["--set-json", "ports=[]"], ""),
    "maps": (["--set-json", 'labels={"b": "on", "a": "1_000", "a.b/c": ""}'], ""),
    "any value": (["--set-json", 'values={"10": [1, 2.5, -3, 1e300, [], {}, [[1], {"k": null}]], "9": true, "ä": "\\u2028❄\\u0085", '
                   '"name": "n", "kind": "k", "text": "a\\n\\n  b\\n\\n", "Z": "\\ud83c\\udf84 \\" \\\\ \\t", "y": "250m", "n": "-"}'], ""),
    "numbers": (["--set-json", 'values=[100000.0, 1e5, 0.00001, 1e-7, 1e20, 1e21, 9007199254740993.0, -1.50]'], ""),
    "texts": (["--set-json", 'values=["yes", "~", "0x1F", "1e3", "a #b", " a", "a ", "/etc/x", "a\\nb", "\\n", "- a\\n- b", "a\\r\\nb", "É\\nb"]'], ""),
    "a called package": (["-s", "call=true", "-s", "replicas=5"], ""),
    "another release": (["--name", "other"], ""),
    "an integer that is a text": (["-s", "replicas=many"], "replicas"),
    "an integer out of range": (["-s", "replicas=101"], "100"),
    "a text that is too long": (["-s", "message=" + "x" * 41], "message"),
    "a value of no enum": (["-s", "level=middle"], "level"),
    "an unknown value": (["-s", "replcas=1"], "replcas"),
    "a list's item": (["--set-json", 'ports=[{"name": "http", "port": 80}, {"name": "WEB", "port": 0}]'], "ports[1].name"),
    "a list's item that lacks a member": (["--set-json", 'ports=[{"name": "http"}]'], "ports[0]"),
    "its own error": (["-s", "fail=no port ❄"], "it fails: no port ❄"),
    "an error with its cause": (["-s", "fail=cause"], "can't make the Service: no port"),
    "a number that no file can have": (["-s", "fail=nan"], "can't write the file x.yaml: spec.replicas is NaN, which neither JSON nor YAML has"),
    "a number that no exports can have": (["-s", "fail=infinity"], "can't write the exports: size is -Infinity, which neither JSON nor YAML has"),
    "a number that no text of YAML can have": (["-s", "fail=yaml"], "spec.replicas is NaN, which neither JSON nor YAML has"),
    "a secret without a name": (["-s", "fail=secret"], "1 to 128 letters"),
    "a call of what isn't declared": (["-s", "fail=undeclared"], "nobody"),
    "a called package that refuses": (["-s", "fail=called"], "size"),
}


class Table:
    def __init__(self, mistctl, packages, work):
        self.mistctl, self.packages, self.work = mistctl, packages, work
        (work / "seed").write_text(json.dumps({"seed": base64.b64encode(b"s" * 32).decode(), "clock": "2026-01-01T00:00:00Z"}))
        (work / "seed").chmod(0o600)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(work), "MIST_HOME_LOCATION": str(work / "home")}

    def run(self, *arguments):
        return subprocess.run([self.mistctl, *arguments], capture_output=True, text=True, cwd=self.work, env=self.environment)

    def module(self, language):
        return str(self.packages / language / "table.wasm")

    def inputs(self, language):
        """The schema, without what JSON Schema gives no meaning: the order of members and of required names."""
        shown = self.run("inspect", "package", self.module(language), "-o", "json")
        if shown.returncode != 0:
            sys.exit(f"{language}: {shown.stderr}")
        spec = json.loads(shown.stdout)["metadata"]["spec"]

        def ordered(value):
            if isinstance(value, dict):
                return {key: sorted(item) if key == "required" else ordered(item) for key, item in value.items()}
            return [ordered(item) for item in value] if isinstance(value, list) else value
        return ordered(spec["inputs"])

    def rendered(self, language, values):
        name = "shop"
        if values[:1] == ["--name"]:
            name, values = values[1], values[2:]
        answers = []
        for output in ("raw", "yaml"):
            process = self.run("generate", name, "-p", self.module(language), "--seed-file", "seed", "--no-render-cache", "-v",
                               "-o", output, *values)
            lines = [line for line in PLACE.sub("", process.stderr).splitlines() if not line.startswith("… ")]  # progress, with times
            answers.append((process.returncode, process.stdout, "\n".join(lines).replace(f"/{language}/", "/LANGUAGE/")))
        return answers


def differences(one, other, *names):
    lines = ([line for answer in each for part in answer for line in str(part).splitlines()] if isinstance(each, list)
             else json.dumps(each, indent=1).splitlines() for each in (one, other))
    return difflib.unified_diff(*lines, *names, lineterm="", n=1)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    mistctl = str(pathlib.Path(sys.argv[1]).resolve())
    if len(sys.argv) == 3:
        packages = sys.argv[2]
    else:
        built = subprocess.run([HERE / "build.sh", mistctl], stdout=subprocess.PIPE, text=True)
        if built.returncode != 0:
            sys.exit(built.returncode)
        packages = built.stdout.strip().splitlines()[-1]
    work = pathlib.Path(tempfile.mkdtemp())
    passed, failed = 0, 0
    try:
        table = Table(mistctl, pathlib.Path(packages).resolve(), work)
        first = LANGUAGES[0]
        rows = {"its inputs": {language: table.inputs(language) for language in LANGUAGES}}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            running = {case: {language: pool.submit(table.rendered, language, values) for language in LANGUAGES}
                       for case, (values, _) in CASES.items()}
        for case, (_, says) in CASES.items():
            rows[case] = {language: future.result() for language, future in running[case].items()}
            for code, _, errors in rows[case][first]:
                if (code != 0) != bool(says) or says not in errors:
                    print(f"{case}: in {first} the exit code is {code}, not as it says {says!r}:\n{errors}")
                    failed += 1
        for case, row in rows.items():
            marks = []
            for language in LANGUAGES:
                same = row[language] == row[first]
                passed, failed = passed + same, failed + (not same)
                marks.append(f"{language} {'ok' if same else 'DIFFERS'}")
            print(f"{case:38} {', '.join(marks)}")
            for language in LANGUAGES:
                if row[language] != row[first]:
                    print(*differences(row[first], row[language], first, language), sep="\n")
    finally:
        shutil.rmtree(work)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
