"""Secrets that packages ask their host for: the same in every language, on every way, for ever."""
import json
import pathlib
import subprocess

from harness import check, contains, equal, test
from test_demo import ROOT

SEED = json.dumps({"seed": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "clock": "2026-01-01T00:00:00Z"})


def built(script):
    """The directory with the modules that a build script of the tree makes."""
    made = subprocess.run(["bash", ROOT / script], capture_output=True, text=True)
    check(made.returncode == 0, made.stderr)
    return pathlib.Path(made.stdout.strip().splitlines()[-1])


def postgres():
    return str(next(built("packages/build.sh").glob("postgres-credentials-*.wasm")))


@test
def secrets_in_c_go_and_rust_are_alike(t):
    modules = built("tests/conformance/build.sh")
    seed = t.file("seed", SEED)
    outputs = {language: t.run("generate", "web", "-p", str(modules / language / "secrets.wasm"), "--seed-file", seed,
                               "-o", "raw").out for language in ("c", "go", "rust")}
    contains(outputs["c"], "kind: Secret", "BEGIN PRIVATE KEY")
    equal(outputs["go"], outputs["c"], "Go and C")
    equal(outputs["rust"], outputs["c"], "Rust and C")


@test
def generated_secrets_stay_and_shift_none(t):
    package, seed = postgres(), t.file("seed", SEED)
    command = ["generate", "db", "-p", package, "--seed-file", seed, "-o", "json"]
    first = t.run(*command)
    equal(t.run(*command).out, first.out, "the second time")
    both = t.run(*command, "-s", "readOnlyUser=true").json["items"]
    equal(both[0], first.json["items"][0], "the first user's Secret beside another")
    passwords = {item["stringData"]["password"] for item in both}
    equal(len(passwords), 2, "two users have two passwords")
    moved = t.run(*command, "-s", "host=db.example.com").json["items"][0]["stringData"]
    equal(moved["password"], first.json["items"][0]["stringData"]["password"], "the password at another host")
    other = t.run(*command, "-n", "other").json["items"][0]["stringData"]["password"]
    check(other not in passwords, "another namespace has the same password")
    # Nothing of it is said where people log.
    for password in passwords:
        check(password not in t.run(*command, "-v", "-s", "readOnlyUser=true").err, "-v printed a password")
