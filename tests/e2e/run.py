#!/usr/bin/env python3
"""Runs the end-to-end tests: the real mistctl against a real control plane. README.md tells more.

Usage: run.py MISTCTL DEVCLUSTER [--only NAME]... [-j 2] [--full] [--list]
"""
import argparse
import collections
import concurrent.futures
import importlib
import os
import pathlib
import signal
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import ending  # noqa: E402
import harness  # noqa: E402
from cluster import Cluster  # noqa: E402


STOP_SECONDS = 10  # for tests that are interrupted, to remove what they made

# The result of one test; `problem` and `skipped` are None, or say why.
Outcome = collections.namedtuple("Outcome", "name problem skipped seconds notes")


def described(failure):
    """Of an assertion its words and where it stands, of anything else the whole traceback."""
    if not isinstance(failure, AssertionError):
        return traceback.format_exc()
    places = [f"{pathlib.Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(failure.__traceback__)
              if "/test_" in frame.filename]
    return f"at {' < '.join(reversed(places))}\n{failure}"


def run_one(name, function, mistctl, cluster, prefix=""):
    """Its Outcome; `prefix` keeps a second try apart from the first's namespaces."""
    began = time.monotonic()
    problem, skipped, t = None, None, None
    try:
        t = harness.T(prefix + name, mistctl, cluster)
        function(t)
    except harness.Skipped as reason:
        skipped = " ".join(str(reason).split())
    except Exception as failure:
        problem = described(failure) + (f"\nlast commands:\n{t.transcript()}" if t else "")
    if t:
        try:
            t.close()
        except Exception as failure:
            problem = (problem or "") + described(failure)
    return Outcome(name, problem, None if problem else skipped, time.monotonic() - began, t.notes if t else [])


def show(outcome):
    """`skipped NAME SECONDS s: WHY` is read by tools/test.sh."""
    state = "FAILED " if outcome.problem else "skipped " if outcome.skipped else "ok     "
    print(f"{state}{outcome.name} {outcome.seconds:.1f} s" + (f": {outcome.skipped}" if outcome.skipped else ""), flush=True)
    for note in outcome.notes:
        print("       " + note, flush=True)
    show_problem(outcome)


def show_problem(outcome):
    if outcome.problem:
        print("  " + outcome.problem.rstrip().replace("\n", "\n  "), flush=True)


class Pools:
    """Threads that run tests: so many, and one for those that mostly wait."""

    def __init__(self, jobs, mistctl, cluster):
        self.pool, self.waiting = concurrent.futures.ThreadPoolExecutor(jobs), concurrent.futures.ThreadPoolExecutor(1)
        self.world, self.runs = (mistctl, cluster), []

    def submit(self, name, function, *prefix):
        self.runs.append((self.waiting if function.waits else self.pool).submit(run_one, name, function, *self.world, *prefix))
        return self.runs[-1]

    def stop(self):
        """Begins no further test; those that run are stopped, and have a short time for their cleaning up."""
        for number in signal.SIGINT, signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)
        ending.stop()
        for pool in self.pool, self.waiting:
            pool.shutdown(wait=False, cancel_futures=True)
        ending.end_processes()
        concurrent.futures.wait([run for run in self.runs if not run.cancelled()], STOP_SECONDS)
        ending.end_processes()


def run_chosen(chosen, pools, cluster):
    """Runs these and prints what became of them; the exit code."""
    outcomes = []
    for run in concurrent.futures.as_completed([pools.submit(name, function) for name, function in chosen]):
        outcomes.append(run.result())
        show(outcomes[-1])
    failed = [outcome.name for outcome in outcomes if outcome.problem]
    skipped = sum(outcome.skipped is not None for outcome in outcomes)
    left = cluster.left()
    print(f"{len(left)} namespaces are still going", *(f"  {name}: {why}" for name, why in left), sep="\n", flush=True)
    # A machine that stands still for seconds fails a test that is right; a test that fails alone too is wrong.
    # A test that passes only now is printed as unstable: a defect of the test or of the product, to be looked at.
    for name, function in [pair for pair in chosen if pair[0] in failed][:5]:
        again = pools.submit(name, function, "again-").result()
        passed = not again.problem and not again.skipped
        if passed:
            failed.remove(name)
        print(f"{'UNSTABLE' if passed else 'FAILED'} {name}, second try alone {again.seconds:.1f} s", flush=True)
        show_problem(again)  # again: of a long run's output, CI keeps the end
    print(f"{len(chosen) - len(failed) - skipped} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed else 0


def run_on(cluster, chosen, jobs, mistctl):
    """run_chosen() on a cluster that ends with it. Interrupted, it ends this process: a test that doesn't stop would hold it up."""
    pools = Pools(jobs, mistctl, cluster)
    try:
        code = run_chosen(chosen, pools, cluster)
    except BaseException as reason:
        pools.stop()
        cluster.stop()
        if isinstance(reason, KeyboardInterrupt):
            code = 128 + signal.SIGINT
        elif isinstance(reason, SystemExit):
            code = reason.code
        else:
            code = 1
            traceback.print_exc()
        print("the run was stopped before its end", flush=True)
        sys.stderr.flush()
        os._exit(code)
    cluster.stop()
    return code


def terminated(*_):
    sys.exit(128 + signal.SIGTERM)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mistctl", type=pathlib.Path)
    parser.add_argument("devcluster", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[], help="tests whose name contains this")
    parser.add_argument("-j", type=int, default=2, help="tests at once, beside one that only waits")
    parser.add_argument("--full", action="store_true", help="the slow sweeps too")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    # Started in the background by a script, we would have inherited an ignored SIGINT, and so would every mistctl.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, terminated)
    for file in sorted(pathlib.Path(__file__).resolve().parent.glob("test_*.py")):
        importlib.import_module(file.stem)
    chosen = [(name, function) for name, function, full in harness.TESTS
              if (options.full or not full or name in options.only)
              and (not options.only or any(part in name for part in options.only))]
    if options.list:
        print(*(name for name, _ in chosen), sep="\n")
        return 0
    if not chosen:
        sys.exit(f"no test has a name with {' or '.join(options.only)} in it")
    mistctl = str(options.mistctl.resolve(strict=True))
    cluster = Cluster(str(options.devcluster.resolve(strict=True)))
    print(f"control plane {cluster.name} ready in {cluster.seconds:.1f} s", flush=True)
    return run_on(cluster, chosen, options.j, mistctl)


if __name__ == "__main__":
    sys.exit(main())
