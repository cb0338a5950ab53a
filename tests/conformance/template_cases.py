"""What the comparisons of template engines with what they were made after have in common (jinja, handlebars): the cases of a
file, the engine's native program, the verdict."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile

# Who compares ends with this where the other side can't be installed: tools/test.sh says "skipped".
SKIPPED = 77


class Case:
    """A line of cases.txt."""

    def __init__(self, number, group, template, why):
        self.number, self.group, self.template = number, group, template
        self.why = why  # why the engine differs, or None


def read(path, characters):
    """The cases of a file, in which a backslash and a key of `characters` stand for its value."""
    found, group = [], ""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line.startswith("## "):
            group = line[3:]
        elif line and not line.startswith("# "):
            why = None
            if line.startswith("!"):
                line, _, why = line[1:].partition(" ## ")
            for name, character in characters.items():
                line = line.replace("\\" + name, character)
            found.append(Case(number, group, line, why))
    return found


def installed(name, install):
    """The directory `name` of the cache, in which install(directory) has installed something; None where that fails."""
    directory = pathlib.Path(os.environ.get("MIST_CACHE", pathlib.Path.home() / ".cache/mistletoe-build")) / name
    if not (directory / "complete").exists():
        directory.mkdir(parents=True, exist_ok=True)
        try:
            install(directory)
        except (OSError, subprocess.CalledProcessError):
            return None
        (directory / "complete").touch()
    return directory


def render(program, files, values, wanted):
    """What the engine makes of the file `wanted` of a package: ["ok", text] or ["error", message]."""
    with tempfile.TemporaryDirectory() as directory:
        for path, text in files.items():
            at = pathlib.Path(directory, path)
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_bytes(text.encode())
        document = {"kind": "MistInput", "data": values, "release": {"name": "shop", "namespace": "shop"}}
        result = subprocess.run([program, directory], input=json.dumps(document).encode(), capture_output=True, check=False)
    if result.returncode != 0:
        return ["crash", result.stderr.decode()]
    data = json.loads(result.stdout)["data"]
    return ["ok", data["files"][wanted]] if data["result"] == "Ok" else ["error", data["message"]]


def compare(peer, cases, answers, engine):
    """Holds engine(case) against the peer's answers, prints what is wrong and the totals, and returns the exit code."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ours = list(pool.map(engine, cases))
    equal = errors = explained = 0
    wrong = []
    for case, mine, theirs in zip(cases, ours, answers, strict=True):
        same = mine == theirs or mine[0] == theirs[0] == "error"
        if case.why is not None and not same:
            explained += 1
        elif same and case.why is None:
            equal += 1
            errors += mine[0] == "error"
        else:
            wrong.append(f"cases.txt:{case.number} [{case.group}] {case.template!r}\n  {peer}: {theirs}\n  engine: {mine}"
                         + ("\n  this is said to differ, and doesn't" if case.why is not None else ""))
    if wrong:
        print("\n".join(wrong))
    print(f"{equal} cases equal, {errors} of them errors in both; {explained} differ on purpose; {len(wrong)} wrong")
    return 1 if wrong or not equal else 0
