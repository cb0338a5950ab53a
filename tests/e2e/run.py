#!/usr/bin/env python3
"""Runs the end-to-end tests: the real mistctl against a real control plane. README.md tells more.

Usage: run.py MISTCTL DEVCLUSTER [--only NAME]... [-j 2] [--full] [--list]
"""
import argparse
import concurrent.futures
import importlib
import pathlib
import signal
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
from cluster import Cluster  # noqa: E402


def described(failure):
    """Of an assertion its words and where it stands, of anything else the whole traceback."""
    if not isinstance(failure, AssertionError):
        return traceback.format_exc()
    places = [f"{pathlib.Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(failure.__traceback__)
              if "/test_" in frame.filename]
    return f"at {' < '.join(reversed(places))}\n{failure}"


def run_one(name, function, mistctl, cluster, prefix=""):
    """(name, None or what went wrong, seconds, notes); `prefix` keeps a second try apart from the first's namespaces."""
    began = time.monotonic()
    problem, t = None, None
    try:
        t = harness.T(prefix + name, mistctl, cluster)
        function(t)
    except harness.Skipped as skipped:
        t.note(f"skipped: {skipped}")
    except Exception as failure:
        problem = described(failure) + (f"\nlast commands:\n{t.transcript()}" if t else "")
    if t:
        try:
            t.close()
        except Exception as failure:
            problem = (problem or "") + described(failure)
    return name, problem, time.monotonic() - began, t.notes if t else []


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
    failed = []
    try:
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool, \
                concurrent.futures.ThreadPoolExecutor(1) as waiting:
            runs = [(waiting if function.waits else pool).submit(run_one, name, function, mistctl, cluster)
                    for name, function in chosen]
            for run in concurrent.futures.as_completed(runs):
                name, problem, seconds, notes = run.result()
                if problem:
                    failed.append(name)
                print(f"{'FAILED' if problem else 'ok    '} {name} {seconds:.1f} s", flush=True)
                for note in notes:
                    print("       " + note, flush=True)
                if problem:
                    print("  " + problem.rstrip().replace("\n", "\n  "), flush=True)
        left = cluster.left()
        print(f"{len(left)} namespaces are still going", *(f"  {name}: {why}" for name, why in left), sep="\n", flush=True)
        # A machine that stands still for seconds fails a test that is right; a test that fails alone too is wrong.
        # What passes only now is printed as unstable: a defect to look at, of the test or of the product.
        for name, function in [pair for pair in chosen if pair[0] in failed][:5]:
            _, problem, seconds, _ = run_one(name, function, mistctl, cluster, "again-")
            if problem is None:
                failed.remove(name)
            print(f"{'FAILED' if problem else 'UNSTABLE'} {name}, second try alone {seconds:.1f} s", flush=True)
            if problem:
                # Again: of a long run's output, CI keeps the end.
                print("  " + problem.rstrip().replace("\n", "\n  "), flush=True)
    finally:
        cluster.stop()
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
