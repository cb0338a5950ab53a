#!/usr/bin/env python3
"""Compares an installation with docs/install.md: installation.py PREFIX

PREFIX is what `make install` has just made, and nothing else; at the end its files are removed by the page's own commands.

* Each path of the page's table is there, and each installed file is one of the table or below one.
* The links of the installed documents lead to what is installed.
* The parts that the Dockerfile copies render a chart, where nothing else of Mistletoe is.
* The commands that remove Mistletoe leave no file.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from check_docs import Checker  # noqa: E402
from guides import blocks  # noqa: E402

PAGE = ROOT / "docs/install.md"
CHART = ROOT / "tests/conformance/helm/charts/umbrella"


def files_below(prefix):
    return [str(path.relative_to(prefix)) for path in sorted(prefix.rglob("*")) if path.is_symlink() or not path.is_dir()]


def listed():
    """The paths in the first column of the table "What is installed"."""
    section = PAGE.read_text().split("\n## What is installed\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [path for row in rows for path in re.findall(r"`([^`]+)`", row)]


def compare_with_table(prefix):
    places = listed()
    for place in places:
        if not list(prefix.glob(place)):
            yield f"{place} is in the table and not installed"
    for file in files_below(prefix):
        if not any(pathlib.PurePath(file).is_relative_to(place) or pathlib.PurePath(file).match(place) for place in places):
            yield f"{file} is installed and not in the table"


def dead_links(prefix):
    checker = Checker(prefix / "bin/mistctl", prefix / "share/doc/mistletoe")
    checker.installed(prefix / "share/doc/mistletoe")
    shutil.rmtree(checker.scratch)
    return [f"{file}:{line}: {message}" for (file, line), message in checker.faults]


def block(name):
    return next(each.text for each in blocks(PAGE) if each.marker == ("file", name))


def run(command, directory, home):
    return subprocess.run(command, cwd=directory, env={"PATH": "/usr/bin:/bin", "HOME": str(home)}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def render_in_the_image(prefix):
    with tempfile.TemporaryDirectory() as directory:
        image = pathlib.Path(directory)
        for source, target in re.findall(r"^COPY (\S+) /(\S+)$", block("Dockerfile"), re.M):
            if (prefix / source).is_dir():
                shutil.copytree(prefix / source, image / target)
            else:
                (image / target).mkdir(parents=True)
                shutil.copy(prefix / source, image / target)
        done = run([image / "usr/local/bin/mistctl", "generate", "shop", "-p", CHART], image, image / "home")
        if done.returncode != 0 or "\nkind: " not in done.stdout:
            yield f"the Dockerfile's parts do not render a chart:\n{done.stdout}"


def remove(prefix):
    with tempfile.TemporaryDirectory() as home:
        os.symlink(prefix, pathlib.Path(home) / ".local")
        done = run(["sh", "-ec", block("remove.sh")], home, home)
        if done.returncode != 0:
            yield f"the page's commands do not remove it:\n{done.stdout}"
    yield from (f"{file} stays after the page's commands" for file in files_below(prefix))


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        print("usage: installation.py PREFIX", file=sys.stderr)
        return 2
    prefix = pathlib.Path(sys.argv[1]).resolve()
    wrong = [*compare_with_table(prefix), *dead_links(prefix), *render_in_the_image(prefix), *remove(prefix)]
    print("\n".join(wrong) or "as docs/install.md says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
