#!/usr/bin/env python3
"""run.py itself, without a cluster: how it counts, and that an interrupted run ends soon and leaves no process."""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import ending

HERE = pathlib.Path(__file__).resolve().parent
# Runs the tests that are defined in BODY; `children` is a file with the process ids of what they started.
PROGRAM = """
import os, pathlib, signal, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
import ending, harness, run
children, log = pathlib.Path(sys.argv[2]) / "children", pathlib.Path(sys.argv[2]) / "log"

def say(file, text):
    with file.open("a") as out:
        out.write(f"{text}\\n")

class T:
    def __init__(self, name, mistctl, cluster):
        self.name, self.notes = name, []
    def transcript(self):
        return ""
    def close(self):
        say(log, f"closed {self.name}")

class Cluster:
    def left(self):
        return []
    def stop(self):
        say(log, "cluster stopped")

harness.T, run.STOP_SECONDS = T, 2
BODY
for _, function, _ in harness.TESTS:
    function.waits = getattr(function, "waits", False)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, run.terminated)
sys.exit(run.run_on(Cluster(), [(name, function) for name, function, _ in harness.TESTS], 2, "mistctl"))
"""
SLOW = """
def start(*command):
    process = subprocess.Popen(command)
    say(children, process.pid)
    return process

@harness.test
def waits_for_a_program(t):
    start("sleep", "1000").wait()

@harness.test
def waits_for_a_cluster(t):
    start("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    while True:
        ending.go_on()
        time.sleep(0.05)

@harness.test
def never_begins(t):
    say(log, "began what was to be cancelled")

@harness.test(waits=True)
def hangs(t):
    start("sleep", "1000")
    time.sleep(1000)
"""
QUICK = """
@harness.test
def good(t):
    t.notes.append("a figure")

@harness.test
def bad(t):
    harness.check(False, "it is wrong")

@harness.test
def unstable(t):
    harness.check(t.name.startswith("again-"), "not yet")

@harness.test
def impossible(t):
    raise harness.Skipped("there is no Chromium\\nhere")
"""


class Runner(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="mist-runner-")
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def start(self, body):
        process = subprocess.Popen([sys.executable, "-c", PROGRAM.replace("BODY", body), HERE, self.place], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def children(self):
        file = self.place / "children"
        return [int(line) for line in file.read_text().splitlines()] if file.exists() else []

    def test_counts_passed_failed_and_skipped_tests(self):
        process = self.start(QUICK)
        output, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, error)
        lines = output.splitlines()
        self.assertEqual(lines[-1], "2 passed, 1 failed, 1 skipped")
        self.assertRegex(output, r"(?m)^skipped impossible [0-9.]+ s: there is no Chromium here$")
        self.assertRegex(output, r"(?m)^ok     good [0-9.]+ s\n       a figure$")
        self.assertRegex(output, r"(?m)^UNSTABLE unstable, second try alone ")
        self.assertRegex(output, r"(?m)^FAILED bad, second try alone ")

    def interrupted(self, number):
        process = self.start(SLOW)
        end = time.monotonic() + 30
        while len(self.children()) < 3:
            self.assertLess(time.monotonic(), end, "the tests don't begin")
            time.sleep(0.05)
        began = time.monotonic()
        process.send_signal(number)
        output, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + number, output + error)
        self.assertLess(time.monotonic() - began, 30)
        log = (self.place / "log").read_text().splitlines()
        # The third hangs in something that nothing interrupts.
        self.assertEqual(sorted(log), ["closed waits_for_a_cluster", "closed waits_for_a_program", "cluster stopped"])
        self.assertFalse(set(self.children()) & set(ending.processes()), "processes are left")

    def test_terminated_it_leaves_nothing(self):
        self.interrupted(signal.SIGTERM)

    def test_interrupted_it_leaves_nothing(self):
        self.interrupted(signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
