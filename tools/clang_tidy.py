#!/usr/bin/env python3
"""clang-tidy over the C++ sources that are named, two at a time; what it found clean is not looked at again as long as
neither the source, nor anything it includes, nor its flags, nor the checks changed.

    clang_tidy.py BUILD_DIRECTORY CACHE_DIRECTORY FILE...

BUILD_DIRECTORY has a compile_commands.json with one command for each file. Findings go to standard output; exits 1 if there
was one. A file's mark in the cache is named by the digest of all that its result depends on: it needs no clearing, and those
that nobody asked for during a month are removed.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

TIDY = "clang-tidy-19"
FLAGS = ["--quiet", "--extra-arg=-Wno-unknown-warning-option", "--warnings-as-errors=*"]
MONTH = 30 * 24 * 3600


def digest(entry: dict, checks: bytes) -> str | None:
    """Of the source as the compiler sees it, comments (NOLINT) and macros included; None if it can't be preprocessed."""
    arguments = shlex.split(entry["command"])
    out = arguments.index("-o")
    del arguments[out:out + 2]
    arguments.remove("-c")
    seen = subprocess.run([*arguments, "-E", "-CC", "-dD"], cwd=entry["directory"], capture_output=True)
    if seen.returncode != 0:
        return None
    # Where a clone lies doesn't matter.
    here = os.getcwd().encode()
    text = b"\0".join([checks, " ".join(arguments).encode(), pathlib.Path(entry["file"]).read_bytes(), seen.stdout])
    return hashlib.sha256(text.replace(here, b".")).hexdigest()


def look(entry: dict, build: str, cache: pathlib.Path, checks: bytes) -> tuple[bool, str]:
    """Whether the file is clean, and what was found."""
    name = digest(entry, checks)
    mark = cache / name if name else None
    if mark and mark.exists():
        mark.touch()
        return True, ""
    ran = subprocess.run([TIDY, *FLAGS, "-p", build, entry["file"]], capture_output=True, text=True)
    if ran.returncode == 0:
        if mark:
            mark.touch()
        return True, ""
    lines = [line for line in (ran.stdout + ran.stderr).splitlines() if line and not line.endswith("warnings generated.")]
    return False, "\n".join(lines or [f"{entry['file']}: {TIDY} ended with {ran.returncode}"])


def main() -> int:
    build, cache, files = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    cache.mkdir(parents=True, exist_ok=True)
    for mark in cache.iterdir():
        if mark.stat().st_mtime < time.time() - MONTH:
            mark.unlink(missing_ok=True)
    commands = {os.path.relpath(entry["file"]): entry
                for entry in json.loads(pathlib.Path(build, "compile_commands.json").read_text())}
    # What no target builds has no command: clang-tidy would guess one.
    unknown = [file for file in files if file not in commands]
    for file in unknown:
        print(f"{file}: belongs to no target")
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    checks = b"\0".join([version, " ".join(FLAGS).encode(), pathlib.Path(".clang-tidy").read_bytes()])
    clean = not unknown
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for good, found in pool.map(lambda file: look(commands[file], build, cache, checks),
                                    [file for file in files if file in commands]):
            clean &= good
            if found:
                print(found, flush=True)
    return 0 if clean else 1


sys.exit(main())
