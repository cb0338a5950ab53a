#!/usr/bin/env python3
"""Compares the engine for Handlebars templates with handlebars.js, on the cases of cases.txt:

    compare.py ENGINE

ENGINE is the native program (tools/native-program.sh engines/rust handlebars-engine handlebars). handlebars.js comes from
npm, at the version below, into the cache. Ends with 0 if all are the same, 1 if not, 77 if it can't be installed.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import template_cases  # noqa: E402

HANDLEBARS = "4.7.10"
VALUES = {
    "name": "shop",
    "text": "hello",
    "number": 42,
    "float": 1.5,
    "yes": True,
    "no": False,
    "zero": 0,
    "empty": "",
    "none": None,
    "html": "<a & 'b'>\"",
    "unicode": "é☃",
    "négligé": "worn",
    "odd key": "odd",
    "list": [1, 2, 3],
    "emptylist": [],
    "emptyobject": {},
    "matrix": [[1, 2], [3, 4]],
    "nested": {"a": {"b": "c", "d": 1}, "odd key": "odder", "numbers": [7, 8]},
    "people": [
        {"name": "Ada", "age": 36, "city": "London", "deep": {"x": 1}},
        {"name": "Bob", "age": 0, "city": "Berlin", "deep": {"x": 2}},
        {"name": "cy", "age": 40, "city": "London", "deep": {"x": 3}},
    ],
    "tree": [{"n": 1, "c": [{"n": 2, "c": []}, {"n": 3, "c": [{"n": 4, "c": []}]}]}],
    "which": {"one": "part", "none": "nowhere"},
}
PARTIALS = {
    "part": "(part of {{name}})",
    "layout": "[{{#> title}}no title{{/title}}|{{> @partial-block}}]",
    "folder/inner": "inner {{name}}",
    "lines": "one {{name}}\n  two\n",
    "recursive": "{{n}}{{#each c}}<{{> recursive}}>{{/each}}",
}


CASES = template_cases.read(HERE / "cases.txt", {"n": "\n", "t": "\t"})


def install(directory):
    """Has handlebars.js put into node_modules."""
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", directory]
    subprocess.run([*command, f"handlebars@{HANDLEBARS}"], check=True)


def is_strict(case):
    return case.group.startswith("strict")


def reference(directory):
    asked = {"values": VALUES, "partials": PARTIALS,
             "cases": [{"template": case.template, "strict": is_strict(case)} for case in CASES]}
    run = subprocess.run(["node", HERE / "reference.js", directory], input=json.dumps(asked).encode(), capture_output=True, check=True)
    return json.loads(run.stdout)


def engine(program, case):
    options = {"spec": {"engine": "handlebars", "engineOptions": {"strict": is_strict(case)}}}
    files = {"mistletoe.yaml": json.dumps(options), "templates/main.yaml.hbs": case.template}
    files.update({f"partials/{name}.hbs": text for name, text in PARTIALS.items()})
    return template_cases.render(program, files, VALUES, "templates/main.yaml.hbs")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    directory = template_cases.installed(f"handlebars.js-{HANDLEBARS}", install)
    if directory is None:
        print("handlebars.js can't be installed here", file=sys.stderr)
        return template_cases.SKIPPED
    return template_cases.compare("handlebars.js", CASES, reference(directory), lambda case: engine(sys.argv[1], case))


if __name__ == "__main__":
    sys.exit(main())
