#!/usr/bin/env python3
"""Compares the engine for Jinja templates with Jinja2 itself, on the cases of cases.txt:

    compare.py ENGINE [--python PYTHON]

ENGINE is the native program (cargo build -p jinja --example jinja, in engines/rust). Jinja2 comes from PyPI, at the
version below, into a virtual environment of the cache. Ends with 0 if all are the same, 1 if not, 77 if Jinja2 can't be
installed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

JINJA2, MARKUPSAFE = "3.1.6", "3.0.3"
HERE = pathlib.Path(__file__).resolve().parent
VALUES = {
    "name": "shop",
    "text": "hello",
    "list": [1, 2, 3],
    "nested": {"a": {"b": "c", "d": 1}},
    "people": [
        {"name": "Ada", "age": 36, "city": "London", "deep": {"x": 1}},
        {"name": "Bob", "age": 25, "city": "Berlin", "zip": 10115, "deep": {"x": 2}},
        {"name": "cy", "age": 40, "city": "London", "deep": {"x": 3}},
    ],
    "tree": [{"n": 1, "c": [{"n": 2, "c": []}, {"n": 3, "c": [{"n": 4, "c": []}]}]}],
    "values": {"x": [1, "two", None], "y": {"z": True}},
}
FILES = {
    "part.j2": "part of {{ name }}{% set local = 1 %}",
    "lib.j2": "{% macro m(a) %}<{{ a }}>{% endmacro %}{% set v = 5 %}{% macro c() %}{{ name }}{% endmacro %}",
    "base.j2": "{% block title %}T{% endblock %}:{% block body %}old {{ name }}{% endblock %}\n",
}


def python_with_jinja2():
    """The interpreter of an environment that holds Jinja2; None where it can't be installed."""
    cache = pathlib.Path(os.environ.get("MIST_CACHE", pathlib.Path.home() / ".cache/mistletoe-build"))
    directory = cache / f"jinja2-{JINJA2}"
    python = directory / "bin/python"
    if not (directory / "complete").exists():
        try:
            venv.create(directory, with_pip=True, clear=True)
            packages = [f"jinja2=={JINJA2}", f"markupsafe=={MARKUPSAFE}"]
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        (directory / "complete").touch()
    return python


def cases():
    """(number of the line, group, template, why it differs or None)"""
    group = ""
    for number, line in enumerate((HERE / "cases.txt").read_text().split("\n"), 1):
        if line.startswith("## "):
            group = line[3:]
        elif line and not (line.startswith("# ")):
            why = None
            if line.startswith("!"):
                line, _, why = line[1:].partition(" ## ")
            yield number, group, line.replace("\\n", "\n").replace("\\r", "\r"), why


def reference():
    """Renders each case with Jinja2: a child of this program, in the environment that holds it."""
    import jinja2
    answers = []
    for _, _, template, _ in cases():
        loader = jinja2.DictLoader({**FILES, "main.yaml.j2": template})
        environment = jinja2.Environment(loader=loader, extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])
        try:
            # A case that changes a list must not change it for the others.
            answers.append(["ok", environment.get_template("main.yaml.j2").render(json.loads(json.dumps(VALUES)))])
        except Exception as error:  # pylint: disable=broad-except
            answers.append(["error", f"{type(error).__name__}: {error}"])
    json.dump(answers, sys.stdout)


def engine(program, template):
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / "mistletoe.yaml").write_text("spec: {engine: jinja, engineOptions: {undefined: lenient}}\n")
        (root / "templates").mkdir()
        for name, text in {**FILES, "main.yaml.j2": template}.items():
            (root / "templates" / name).write_bytes(text.encode())
        document = {"kind": "MistInput", "data": VALUES, "release": {"name": "shop", "namespace": "shop"}}
        result = subprocess.run([program, directory], input=json.dumps(document).encode(), capture_output=True,
                                check=False)
        if result.returncode != 0:
            return ["crash", result.stderr.decode()]
        data = json.loads(result.stdout)["data"]
        if data["result"] == "Ok":
            return ["ok", data["files"]["templates/main.yaml.j2"]]
        return ["error", data["message"]]


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "--reference":
        return reference()
    python = python_with_jinja2()
    if python is None:
        print("Jinja2 can't be installed here: nothing compared", file=sys.stderr)
        return 77
    answers = json.loads(subprocess.run([python, __file__, "--reference"], capture_output=True, check=True).stdout)
    equal = errors = explained = 0
    wrong = []
    for (number, group, template, why), theirs in zip(cases(), answers):
        ours = engine(sys.argv[1], template)
        same = ours == theirs or (ours[0] == theirs[0] == "error")
        if why is not None and not same:
            explained += 1
        elif same and why is None:
            equal += 1
            errors += ours[0] == "error"
        else:
            wrong.append(f"cases.txt:{number} [{group}] {template!r}\n  Jinja2: {theirs}\n  engine: {ours}"
                         + ("\n  this is said to differ, and doesn't" if why is not None else ""))
    print("\n".join(wrong))
    print(f"{equal} cases equal, {errors} of them errors in both; {explained} differ on purpose; {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
