#!/usr/bin/env python3
"""Runs docs/first-package/*.md as they are written, without a cluster: first_packages.py MISTCTL [LANGUAGE]...

A language whose toolchain isn't there is left out, with the reason. MIST_ACCEPT=1 rewrites what the documents show.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from guides import Guide  # noqa: E402

CACHE = pathlib.Path(os.environ.get("MIST_CACHE", pathlib.Path.home() / ".cache/mistletoe-build"))


def lacks_wasi(program="clang++-19"):
    """Why C++ can't be compiled; None: it can."""
    if shutil.which(program) is None:
        return f"no {program}"
    done = subprocess.run([program, "--target=wasm32-wasi", "-x", "c++", "-fsyntax-only", "-"], input="#include <string>", text=True,
                          capture_output=True)
    return None if done.returncode == 0 else "no libc++ for wasm32"


def lacks_rust():
    done = subprocess.run("cargo --version && ls $(rustc --print target-libdir --target wasm32-wasip1)", shell=True, capture_output=True)
    return None if done.returncode == 0 else "no Rust with wasm32-wasip1"


def lacks(program):
    return lambda: None if shutil.which(program) else f"no {program}"


LANGUAGES = {"python": lambda: None, "typescript": lacks("npm"), "go": lacks("go"), "cpp": lacks_wasi, "rust": lacks_rust}


class World:
    """What a Guide needs of an end-to-end test, where no cluster is asked."""

    def __init__(self, mistctl, directory):
        self.mistctl, self.dir = mistctl, directory
        self.devcluster, self.cluster_directory = "/nowhere", directory

    def environment(self):
        # Compiling crates again for each run would take a minute.
        return {**os.environ, "MIST_HOME_LOCATION": str(self.dir / "home"), "NO_COLOR": "1",
                "CARGO_TARGET_DIR": str(CACHE / "cargo/first-package")}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    mistctl = pathlib.Path(sys.argv[1]).resolve()
    passed, failed, skipped = 0, 0, 0
    for language in sys.argv[2:] or LANGUAGES:
        why = LANGUAGES[language]()
        if why:
            print(f"skipped  {language}: {why}")
            skipped += 1
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            try:
                Guide(World(mistctl, pathlib.Path(directory)), f"docs/first-package/{language}.md").run()
            except AssertionError as error:
                print(f"FAILED   {language}\n{error}")
                failed += 1
                continue
        print(f"ok       {language}, {time.monotonic() - began:.1f} s")
        passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 77 if not passed else 0)


main()
