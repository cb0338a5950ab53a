#!/usr/bin/env python3
"""Compares the engine for Jinja templates with Jinja2 itself, on the cases of cases.txt:

    compare.py ENGINE

ENGINE is the native program (tools/native-program.sh engines/rust jinja jinja). Jinja2 comes from PyPI, at the
version below, into a virtual environment of the cache. Ends with 0 if all are the same, 1 if not, 77 if Jinja2 can't be
installed.
"""

import json
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import template_cases  # noqa: E402

JINJA2, MARKUPSAFE = "3.1.6", "3.0.3"
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


CASES = template_cases.read(HERE / "cases.txt", {"n": "\n", "r": "\r"})


def install(directory):
    """Makes an environment that holds Jinja2."""
    venv.create(directory, with_pip=True, clear=True)
    packages = [f"jinja2=={JINJA2}", f"markupsafe=={MARKUPSAFE}"]
    subprocess.run([directory / "bin/python", "-m", "pip", "install", "--quiet", *packages], check=True)


def reference():
    """Renders each case with Jinja2: a child of this program, in the environment that holds it."""
    import jinja2
    answers = []
    for case in CASES:
        loader = jinja2.DictLoader({**FILES, "main.yaml.j2": case.template})
        environment = jinja2.Environment(loader=loader, extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])
        try:
            # A case that changes a list must not change it for the others.
            answers.append(["ok", environment.get_template("main.yaml.j2").render(json.loads(json.dumps(VALUES)))])
        except Exception as error:  # pylint: disable=broad-except
            answers.append(["error", f"{type(error).__name__}: {error}"])
    json.dump(answers, sys.stdout)


def engine(program, case):
    files = {f"templates/{name}": text for name, text in {**FILES, "main.yaml.j2": case.template}.items()}
    files["mistletoe.yaml"] = "spec: {engine: jinja, engineOptions: {undefined: lenient}}\n"
    return template_cases.render(program, files, VALUES, "templates/main.yaml.j2")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "--reference":
        return reference()
    environment = template_cases.installed(f"jinja2-{JINJA2}", install)
    if environment is None:
        print("Jinja2 can't be installed here", file=sys.stderr)
        return template_cases.SKIPPED
    command = [environment / "bin/python", __file__, "--reference"]
    answers = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return template_cases.compare("Jinja2", CASES, answers, lambda case: engine(sys.argv[1], case))


if __name__ == "__main__":
    sys.exit(main())
