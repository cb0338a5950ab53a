#!/usr/bin/env python3
"""Checks that no program logic reads the words of an error: what somebody must act on is a typed fact (ErrorDetails).

Usage: tools/check-errors.py [ROOT]      ROOT is the checkout; by default the one this file is in.
Prints file:line of each place that searches or compares an error's message, because, hint or frames, and exits 1 if
there is one. Tests may: they hold the words that people see.
"""
import pathlib
import re
import sys

WORDS = r"(?:message|because|hint|frames|to_line\(\))"
SEARCHES = r"(?:find|rfind|contains|starts_with|ends_with|compare|find_first_of)"
PATTERNS = [
    re.compile(rf"[.>]{WORDS}\s*\.\s*{SEARCHES}\s*\("),
    re.compile(rf"[.>](?:message|hint|frames|to_line\(\))\s*[!=]=\s*"),
    re.compile(r"(?:error\(\)|failure|refused|result)[.>]+because\s*[!=]=\s*"),
    re.compile(rf"ranges::(?:find|any_of|contains)\w*\(\s*[\w.>()-]*[.>]frames\b"),
    re.compile(rf"regex_(?:search|match)\(\s*[\w.>()-]*[.>]{WORDS}\b"),
]
# The borders where foreign English is read, each once, and becomes a fact; and where words become other words.
ALLOWED = {
    "wasm/trap.cc": "Wasmtime has no codes for these",
    "action/deploy/container_contents.cc": "a longer text is cut for people",
}


def problems(root):
    source = root / "src"
    for file in sorted([*source.rglob("*.h"), *source.rglob("*.cc")]):
        relative = file.relative_to(source).as_posix()
        if relative.endswith(("_test.cc", "_fixture.h")) or relative.startswith("testing/") or relative in ALLOWED:
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            code = line.split("//", 1)[0]
            if any(pattern.search(code) for pattern in PATTERNS):
                yield f"src/{relative}:{number}: {line.strip()}"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = list(problems(root))
    for problem in found:
        print(problem)
    if found:
        print("an error's words are for people: give it a typed fact (ErrorDetails in src/base/error.h)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
