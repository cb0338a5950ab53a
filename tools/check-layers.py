#!/usr/bin/env python3
"""Checks every #include "folder/..." under src/ against cmake/layers.txt.

Usage: tools/check-layers.py [ROOT]      ROOT is the checkout; by default the one this file is in.
Prints file:line for each edge that the list does not allow, and each edge that nothing uses, and exits 1 if there
is one. Test code (*_test.cc, and
*_fixture.h, which only test code may include) may also include testing/ and whatever testing/ may.
"""
import pathlib
import re
import sys

TEST_CODE = re.compile(r"(_test|_fixture)\.(h|cc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def read_layers(path):
    """folder -> set of folders; every folder that is named must have its own line above or below."""
    layers = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        name, colon, rest = line.partition(":")
        if not colon or name in layers:
            sys.exit(f"{path}:{number}: expected 'folder: folder ...', each folder once")
        layers[name] = set(rest.split())
    for name, allowed in layers.items():
        if unknown := allowed - layers.keys():
            sys.exit(f"{path}: {name} names {', '.join(sorted(unknown))}, which has no line")
    return layers


def find_cycle(layers):
    """A folder that reaches itself, or None. testing is left out: nothing but tests includes it."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return None
        path.append(name)
        for other in sorted(layers[name]):
            if cycle := visit(other):
                return cycle
        path.pop()
        done.add(name)
        return None

    return next((cycle for name in layers if (cycle := visit(name))), None)


def problems(root):
    layers = read_layers(root / "cmake/layers.txt")
    used = set()
    if cycle := find_cycle(layers):
        yield f"cmake/layers.txt: a cycle: {' -> '.join(cycle)}"
    source = root / "src"
    for file in sorted([*source.rglob("*.h"), *source.rglob("*.cc")]):
        relative = file.relative_to(source)
        folder = relative.parts[0]
        if folder not in layers:
            yield f"src/{relative}: the folder {folder} has no line in cmake/layers.txt"
            continue
        allowed = layers[folder] | {folder}
        is_test = TEST_CODE.search(file.name) is not None or folder == "testing"
        if is_test:
            allowed |= layers["testing"] | {"testing"}
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match[1].split("/")[0] if "/" in match[1] else None
            if not is_test and TEST_CODE.search(match[1]):
                yield f"src/{relative}:{number}: {match[1]} is test code"
            elif target in layers and target not in allowed:
                yield f"src/{relative}:{number}: {folder} may not include {match[1]} (cmake/layers.txt)"
            # A test uses testing's edges for whatever its own folder may not include.
            if not is_test:
                used.add((folder, target))
            elif target not in layers[folder]:
                used.add(("testing", target))
    for name, others in layers.items():
        for other in sorted(others):
            if (name, other) not in used:
                yield f"cmake/layers.txt: {name} lists {other}, and includes nothing of it"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = list(problems(root))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
