#!/usr/bin/env python3
"""Compares the engine for Nickel programs, the module as it is shipped, with nickel-lang-core of the same version, native:

    compare.py MISTCTL REFERENCE [-v] [NAME...]

REFERENCE is the program of reference/ (tools/native-program.sh tests/conformance/nickel/reference nickel-reference). The programs are those of the library's own
integration tests, which arrive with its crate, and those of programs/. Each is evaluated in full for export; both must give the
same value, or refuse it with the same diagnostics. Ends with 0 if all do.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WORKSPACE = HERE.parents[2] / "engines/rust"
# As text in an object: what a program evaluates to needn't be one.
MAIN = """{ apiVersion = "v1", kind = "ConfigMap", metadata.name = "value", data.value = std.serialize 'Json (import "%s") }\n"""
# Why the engine's answer is another, by the program's name; one that isn't any more is a failure.
EXPLAINED = {
    "arrays/elem_at_negative_index.ncl": "the largest index is that of 32 bits in WebAssembly",
    "arrays/elem_at_non_int_index.ncl": "the largest index is that of 32 bits in WebAssembly",
}


def comparable(text):
    """Diagnostics without what can't be the same: addresses of closures, the numbers of names that evaluation makes up (the
    engine made some up when it was prepared), and what the engine says of imports beside them."""
    text = re.sub(r"%\d+\b", "%N", text)
    text = text.replace("\n  = imports are served from the package, and from nowhere else", "")
    if "%<closure@" in text:
        text = re.sub(r"%<closure@0x[0-9a-f]+>", "%<closure>", text)
        text = re.sub(r"-{4,}", "----", text)  # what underlines them
    return text


def version(lock):
    return re.search(r'name = "nickel-lang-core"\nversion = "([^"]+)"', lock.read_text())[1]


def library():
    """The directory of the crate that both lock files name."""
    engine, reference = version(WORKSPACE / "Cargo.lock"), version(HERE / "reference/Cargo.lock")
    if engine != reference:
        sys.exit(f"the engine is made with nickel-lang-core {engine}, reference/ with {reference}: give both the same")
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    found = sorted(home.glob(f"registry/src/*/nickel-lang-core-{engine}"))
    if not found:
        sys.exit(f"no sources of nickel-lang-core {engine} below {home}/registry/src, whose tests are the cases: "
                 f"run cargo fetch --locked --manifest-path {HERE / 'reference/Cargo.toml'}")
    return found[0]


def programs(inputs):
    """(name, directory with what it may import, path below it)"""
    for program in sorted(inputs.glob("*/**/*.ncl")):
        if "/imports/imported/" not in str(program) and inputs / "lib" not in program.parents:
            yield str(program.relative_to(inputs)), inputs, program.relative_to(inputs)
    for program in sorted((HERE / "programs").glob("*.ncl")):
        yield f"programs/{program.name}", HERE, program.relative_to(HERE)


def prepare(work, name, source, path):
    directory = work / re.sub(r"\W", "-", name)
    for part in {path.parts[0], "lib"}:
        if (source / part).is_dir():
            shutil.copytree(source / part, directory / part)
    (directory / "main.ncl").write_text(MAIN % path)
    return directory


def theirs(reference, directory):
    run = subprocess.run([reference, directory], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return ["crash", run.stderr[-300:]]
    answer = json.loads(run.stdout)
    if "ok" in answer:
        return ["ok", answer["ok"]["data"]["value"]]
    return ["error", comparable(answer["error"].strip().removeprefix("error: "))]


def ours(mistctl, directory, environment):
    command = [mistctl, "generate", "x", "-p", f"{directory}/", "--engine", "nickel", "-o", "json"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if run.returncode == 0:
        return ["ok", json.loads(run.stdout)["items"][0]["data"]["value"]]
    try:
        return ["error", comparable(json.loads(run.stderr.strip().split("\n")[-1])["error"]["because"])]
    except (ValueError, KeyError, TypeError):
        return ["crash", run.stdout[-300:] + run.stderr[-900:]]


def main():
    arguments = sys.argv[1:]
    verbose = "-v" in arguments
    arguments = [each for each in arguments if each != "-v"]
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    mistctl, reference = (pathlib.Path(each).resolve() for each in arguments[:2])
    names = arguments[2:]
    values = refusals = explained = 0
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        environment = {**os.environ, "MIST_HOME_LOCATION": str(work / "home")}

        def both(program):
            directory = prepare(work, *program)
            answers = ours(mistctl, directory, environment), theirs(reference, directory)
            shutil.rmtree(directory)
            return answers

        wanted = [one for one in programs(library() / "tests/integration/inputs") if not names or one[0] in names]
        if not wanted:
            sys.exit("no programs are selected")
        both(wanted[0])  # makes seed and caches
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (name, _, _), (mine, native) in zip(wanted, pool.map(both, wanted)):
                same = mine == native
                if verbose:
                    print(f"{name}: {mine} {'=' if same else '!'} {native}")
                if same and name not in EXPLAINED:
                    values += mine[0] == "ok"
                    refusals += mine[0] == "error"
                elif not same and name in EXPLAINED:
                    explained += 1
                else:
                    wrong.append(f"{name}\n  nickel: {native}\n  engine: {mine}"
                                 + ("\n  this is said to differ, and doesn't" if same else ""))
    print("\n".join(wrong))
    print(f"{values} programs with the same value, {refusals} refused with the same words; {explained} differ on purpose; "
          f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
