#!/usr/bin/env python3
"""How long a search takes over many packages: bench/search.py MISTCTL [PACKAGES]

A git registry with an index of PACKAGES (20,000) packages whose words come as often as those of natural texts (Zipf). Measured are whole
processes, from start to end, the best and the median of 30; the first search, which fills the database; and `mistctl version`, which
does nothing. The target is 20 ms.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROUNDS = 30
TARGET_MS = 20
KINDS = ("Deployment", "Service", "ConfigMap", "Secret", "StatefulSet", "Ingress", "CronJob", "Job", "DaemonSet",
         "HorizontalPodAutoscaler", "ServiceAccount", "Role", "RoleBinding", "PersistentVolumeClaim", "CustomResourceDefinition")
SYLLABLES = ("ka", "lo", "mi", "ter", "an", "post", "gres", "red", "is", "mon", "go", "web", "ing", "ress", "cert", "pro", "me", "the", "us",
             "graf")


def entries(count):
    draw = random.Random(7)
    words = ["".join(draw.choice(SYLLABLES) for _ in range(draw.randint(2, 4))) for _ in range(8000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    text = lambda length: " ".join(draw.choices(words, weights, k=length))  # noqa: E731
    for number in range(count):
        name = f"{draw.choice(words)}-{draw.choice(words)}-{number}"
        yield {"path": f"{draw.choice(words)}/{name}", "version": f"{draw.randint(0, 9)}.{draw.randint(0, 30)}.0", "title": name,
               "description": text(draw.randint(8, 40)), "format": "Helm chart", "versions": ["1.0.0", "0.9.0"],
               "keywords": text(4).split(), "maintainers": [text(2)], "kinds": draw.sample(KINDS, draw.randint(1, 8))}
    yield {"path": "databases/postgresql", "version": "15.2.0", "title": "postgresql", "description": "A database",
           "keywords": ["sql"], "kinds": ["StatefulSet"]}


def main():
    mistctl, count = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    with tempfile.TemporaryDirectory(prefix="mist-search-") as place:
        root = pathlib.Path(place) / "registry"
        root.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": place, "MIST_HOME_LOCATION": f"{place}/home"}

        def run(*command, **more):
            return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=place, **more).stdout
        header = {"apiVersion": "mistletoe.dev/v1alpha1", "kind": "PackageIndex"}
        lines = sorted(entries(count - 1), key=lambda entry: entry["path"])
        index = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (header, *lines))
        (root / "mistletoe-index.jsonl").write_text(index)
        for arguments in (("init", "-q", "-b", "main"), ("add", "."),
                          ("-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "-q", "-m", "index")):
            run("git", "-C", str(root), *arguments)
        run(mistctl, "registry", "remove", "mistletoe")
        run(mistctl, "registry", "add", "big", "-g", str(root))
        run(mistctl, "registry", "update", "big")
        began = time.perf_counter()
        run(mistctl, "search", "postgresql")
        print(f"{count} packages, an index of {len(index) / 1e6:.1f} MB; first search, which stores them: "
              f"{time.perf_counter() - began:.2f} s")
        worst = 0.0
        queries = {"a name": ("postgresql",), "a rare word": ("gresmonkater",), "the commonest word": (lines[0]["keywords"][0],),
                   "a beginning of two letters": ("ka",), "two words": ("postgresql", "database"),
                   "a kind": ("--kind", "StatefulSet"), "a word and a kind": ("web", "--kind", "Ingress"), "everything": (),
                   "as JSON": ("postgresql", "-o", "json")}
        print(f"{'':28} {'best':>9} {'median':>9}")
        for what, arguments in {"mistctl version": None, **queries}.items():
            command = (mistctl, "version") if arguments is None else (mistctl, "search", *arguments)
            times = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                run(*command)
                times.append((time.perf_counter() - began) * 1000)
            times.sort()
            print(f"{what:28} {times[0]:6.1f} ms {times[len(times) // 2]:6.1f} ms")
            worst = max(worst, times[len(times) // 2] if arguments is not None else 0)
        print(f"the slowest search: {worst:.1f} ms, the target is {TARGET_MS} ms")


if __name__ == "__main__":
    main()
