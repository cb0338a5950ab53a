#!/usr/bin/env python3
"""How the catalog answers under load: bench/catalog.py PROGRAMS_DIR [--packages N] [--rate N] [--seconds N] [--filled DIR]
[--database-url-file FILE] [--json FILE] [--only KIND,…]

PROGRAMS_DIR has `mistletoe-catalog`, `catalog_fill` and `catalog_load` of a release build. A catalog of 20,000 packages is made through
the catalog's own stores. Then requests of a mixed profile come at their times, however late the answers are (open loop), from thousands of
addresses; latency counts from those times, so waiting counts. At last the server is killed (SIGKILL) amid writes, and each write that was
answered must be there after the next start: else this fails. It fails for nothing else: it measures.

--filled DIR: made there if it isn't there yet, and used again. --database-url-file FILE: of an empty PostgreSQL database, into which the
catalog is restored from a backup.
"""
import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

HOST = "127.0.0.1"
PASSWORD = "correct horse battery"
TICKS = os.sysconf("SC_CLK_TCK")
KILL_RATE, KILL_SECONDS, KILL_AFTER = 150, 6, 3.0
YANKS_FROM = 0.8  # of the time
# Requests of each kind in a thousand.
PROFILE = {
    "home page": 30, "search page": 100, "package page": 220, "package page, signed in": 40, "comments page": 20,
    "search": 100, "package": 50, "version": 120, "version, known": 120, "download": 148,
    "index, known": 20, "index": 2,
    "rate": 10, "comment": 10, "rate by form": 5, "comment by form": 4, "yank": 1,
}
EXPECTED = {"version, known": 304, "index, known": 304, "rate": 204, "comment": 201, "rate by form": 303, "comment by form": 303, "yank": 204}
WORDS = ("etcd redis nginx postgres kafka small fast secure cluster storage operator metrics volumes gateway dashboard queue replicated "
         "ingress elected pinned streaming teams zones wiki shop ponycorn").split()


def say(text):
    print(text, file=sys.stderr, flush=True)


def free_port():
    with socket.socket() as one:
        one.bind((HOST, 0))
        return one.getsockname()[1]


class Catalog:
    """A filled catalog; its server ends with `stop`."""

    def __init__(self, args, work):
        self.program, self.port, self.process = args.programs / "mistletoe-catalog", free_port(), None
        self.url, self.log = f"http://{HOST}:{self.port}", work / "log"
        self.flags = ["--data", str(work / "data")]
        if args.database_url_file:
            self.flags += ["--database-url-file", str(args.database_url_file)]

    def command(self, *words):
        return subprocess.run([self.program, *words, *self.flags], check=True, capture_output=True, text=True).stdout

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([self.program, "serve", *self.flags, "--listen", f"{HOST}:{self.port}", "--behind-proxy"],
                                            stdout=log, stderr=log)
        end = time.monotonic() + 60
        while True:
            try:
                if self.ask("GET", "/healthz")[0] == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"bench: the catalog does not start\n{self.log.read_text()[-3000:]}")
            time.sleep(0.05)

    def ask(self, method, path, headers=None, body=None):
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.headers, text

    def used(self):
        """Seconds of CPU so far, and the peak of its memory in MB."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())
        return (int(fields[11]) + int(fields[12])) / TICKS, int(peak[1]) / 1024

    def stop(self, how=signal.SIGTERM):
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None


def fill(args, work):
    """The directory of a filled catalog, and what catalog_fill says of it."""
    place = args.filled or work / "filled"
    if not place.exists():
        # In memory, where it needs no fsync; the files are copied afterwards.
        began, fast = time.monotonic(), pathlib.Path(tempfile.mkdtemp(prefix="mist-catalog-", dir="/dev/shm"))
        try:
            listing = subprocess.run([args.programs / "catalog_fill", fast / "data", str(args.packages)], check=True,
                                     stdout=subprocess.PIPE, text=True).stdout
            shutil.copytree(fast / "data", place)
            (place / "listing").write_text(listing)
        finally:
            shutil.rmtree(fast)
        say(f"    filled in {time.monotonic() - began:.0f} s")
    return place, (place / "listing").read_text().splitlines()


class Content:
    """What is in the catalog: the names that requests have."""

    def __init__(self, lines, seed=27):
        self.random = random.Random(seed)
        rows = [line.split() for line in lines]
        self.packages = [row[1:] for row in rows if row[0] == "package"]
        self.readers = [row[1:3] for row in rows if row[0] == "reader"]
        self.with_password = [row[1] for row in rows if row[0] == "reader" and row[-1] == "password"]
        self.moderator = next(row[2] for row in rows if row[0] == "moderator")
        self.random.shuffle(self.packages)
        # Few are asked for often, many now and then (Zipf).
        self.weights, total = [], 0.0
        for place in range(len(self.packages)):
            total += 1 / (place + 10)
            self.weights.append(total)

    def package(self):
        return self.random.choices(self.packages, cum_weights=self.weights)[0]

    def query(self):
        word = self.random.choice(WORDS)
        kind = self.random.random()
        if kind < 0.25:
            return word[:self.random.randint(2, 4)]  # as somebody types
        return word if kind < 0.65 else f"{word} {self.random.choice(WORDS)}"


class Plan:
    """Requests at their times, as catalog_load reads them."""

    def __init__(self, catalog, content):
        self.catalog, self.content, self.kinds, self.parts = catalog, content, [], []
        self.about = []  # of each write that must be found again
        self.etags, self.sessions, self.index_etag = {}, [], ""
        self.yanked = collections.deque()

    def prepare(self):
        """Collects the answers that browsers and clients know already."""
        for name, version, _ in self.content.packages[:1000]:
            status, headers, _ = self.catalog.ask("GET", f"/api/v1/packages/{name}/versions/{version}", self.forwarded())
            assert status == 200, (name, status)
            self.etags[name] = headers["ETag"]
        self.index_etag = self.catalog.ask("GET", "/api/v1/index", {"Accept-Encoding": "gzip"})[1]["ETag"]
        self.sessions = [self.sign_in(name) for name in self.content.with_password]

    def forwarded(self):
        number = self.content.random.randrange(30_000)
        return {"X-Forwarded-For": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"}

    def sign_in(self, name):
        form = {**self.forwarded(), "Origin": self.catalog.url, "Content-Type": "application/x-www-form-urlencoded"}
        _, headers, text = self.catalog.ask("GET", "/login", self.forwarded())
        token = re.search(rb'name="form" value="([0-9a-f]+)"', text)[1].decode()
        cookie = headers["Set-Cookie"].split(";")[0]
        body = urllib.parse.urlencode({"name": name, "password": PASSWORD, "form": token})
        status, headers, text = self.catalog.ask("POST", "/login", {**form, "Cookie": cookie}, body)
        assert status == 303, (status, text)
        cookie = next(each for each in headers.get_all("Set-Cookie") if "Max-Age=0" not in each).split(";")[0]
        _, _, text = self.catalog.ask("GET", "/account", {**self.forwarded(), "Cookie": cookie})
        return cookie, re.search(rb'name="form" value="([0-9a-f]+)"', text)[1].decode()

    def add(self, seconds, kind, method, path, headers=None, body=b"", keep=False, about=None):
        headers = {"Host": f"{HOST}:{self.catalog.port}", **self.forwarded(), **(headers or {})}
        if body:
            headers["Content-Length"] = len(body)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        request = f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body
        self.parts.append(f"{int(seconds * 1e6)} {int(keep)} {len(request)}\n".encode() + request)
        self.kinds.append(kind)
        self.about.append(about)

    def one(self, seconds, kind):
        content, package = self.content, f"/api/v1/packages/"
        name, version, digest = content.package()
        html = {"Accept": "text/html", "Accept-Encoding": "gzip, br"}
        if kind == "home page":
            self.add(seconds, kind, "GET", "/", html)
        elif kind == "search page":
            self.add(seconds, kind, "GET", f"/search?q={urllib.parse.quote(content.query())}", html)
        elif kind == "package page":
            self.add(seconds, kind, "GET", f"/packages/{name}", html)
        elif kind == "package page, signed in":
            self.add(seconds, kind, "GET", f"/packages/{name}", {**html, "Cookie": content.random.choice(self.sessions)[0]})
        elif kind == "comments page":
            self.add(seconds, kind, "GET", f"/packages/{name}/comments", html)
        elif kind == "search":
            self.add(seconds, kind, "GET", f"/api/v1/packages?limit=20&q={urllib.parse.quote(content.query())}")
        elif kind == "package":
            self.add(seconds, kind, "GET", package + name)
        elif kind == "version":
            self.add(seconds, kind, "GET", f"{package}{name}/versions/{version}")
        elif kind == "version, known":
            name, version, _ = content.random.choice(content.packages[:1000])
            self.add(seconds, kind, "GET", f"{package}{name}/versions/{version}", {"If-None-Match": self.etags[name]})
        elif kind == "download":
            self.add(seconds, kind, "GET", f"/api/v1/blobs/{digest}")
        elif kind == "index":
            self.add(seconds, kind, "GET", "/api/v1/index", {"Accept-Encoding": "gzip"})
        elif kind == "index, known":
            self.add(seconds, kind, "GET", "/api/v1/index", {"Accept-Encoding": "gzip", "If-None-Match": self.index_etag})
        elif kind == "yank":
            # Of a package that no other request needs; the next one takes it back.
            again = self.yanked.popleft() if self.yanked else None
            name, version, _ = again or content.packages[-1 - len(self.parts) % 1000]
            if not again:
                self.yanked.append((name, version, ""))
            self.add(seconds, kind, "DELETE" if again else "PUT", f"{package}{name}/versions/{version}/yank",
                     {"Authorization": f"Bearer {content.moderator}"})
        else:
            self.write(seconds, kind, name)

    def write(self, seconds, kind, name):
        content = self.content
        number = len(self.parts)
        account, token = content.readers[number % len(content.readers)]
        stars, text = content.random.randint(1, 5), f"It works here, too ({number} of {os.getpid()})"
        json_of = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if kind == "rate":
            self.add(seconds, kind, "PUT", f"/api/v1/packages/{name}/rating", json_of, json.dumps({"stars": stars}).encode(),
                     about=("rating", account, name, stars))
        elif kind == "comment":
            self.add(seconds, kind, "POST", f"/api/v1/packages/{name}/comments", json_of, json.dumps({"text": text}).encode(), keep=True,
                     about=("comment", account, name, text))
        else:
            cookie, form = self.sessions[number % len(self.sessions)]
            fields = {"form": form, "package": name, **({"stars": stars} if kind == "rate by form" else {"text": text})}
            self.add(seconds, kind, "POST", "/account/ratings" if kind == "rate by form" else "/account/comments",
                     {"Cookie": cookie, "Origin": self.catalog.url, "Content-Type": "application/x-www-form-urlencoded"},
                     urllib.parse.urlencode(fields).encode())

    def fill(self, profile, rate, seconds):
        """Independent clients: the times between two requests are exponential."""
        kinds, weights = list(profile), list(profile.values())
        at = 0.5
        while at < seconds + 0.5:
            kind = self.content.random.choices(kinds, weights)[0]
            # From the first yank on the index is another one than clients know, and all of them fetch it.
            if kind == "yank" and at < seconds * YANKS_FROM:
                kind = "package page"
            self.one(at, kind)
            at += self.content.random.expovariate(rate)


class Load:
    """The load while it runs, and what came of it."""

    def __init__(self, args, work, plan):
        self.plan, self.out = plan, work / "out"
        (work / "plan").write_bytes(b"".join(plan.parts))
        self.process = subprocess.Popen([args.programs / "catalog_load", str(plan.catalog.port), work / "plan", self.out, "128"],
                                        stdout=subprocess.PIPE, text=True)

    def answers(self):
        """(kind, about, status, seconds, bytes, late seconds, body) of each request, and what the generator used."""
        cost = json.loads(self.process.communicate()[0])
        rows = []
        for kind, about, line in zip(self.plan.kinds, self.plan.about, self.out.read_text().split("\n")):
            status, latency, size, late, body = line.split(" ", 4)
            rows.append((kind, about, int(status), int(latency) / 1e6, int(size), int(late) / 1e6, body))
        return rows, cost


def at_share(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * share))]


def summary(rows):
    """Of each kind, and of all: count, errors, milliseconds at shares, and the mean size."""
    kinds = collections.defaultdict(list)
    for row in rows:
        kinds[row[0]].append(row)
        kinds["all"].append(row)
    result = {}
    for kind, some in kinds.items():
        times = sorted(row[3] * 1000 for row in some)
        # A client's copy is out of date after a yank; that of a version also after a download, which counts.
        wrong = collections.Counter(row[2] for row in some
                                    if row[2] != EXPECTED.get(row[0], 200) and not (row[0].endswith("known") and row[2] == 200))
        result[kind] = {"count": len(some), "errors": {str(status): count for status, count in wrong.items() if count},
                        "p50": at_share(times, 0.5), "p99": at_share(times, 0.99), "p99.9": at_share(times, 0.999), "max": times[-1],
                        "bytes": statistics.fmean(row[4] for row in some)}
    return result


def measure(args, work, catalog, content):
    plan = Plan(catalog, content)
    plan.prepare()
    profile = {kind: weight for kind, weight in PROFILE.items() if not args.only or kind in args.only}
    plan.fill(profile, args.rate, args.seconds)
    before, load = catalog.used()[0], os.getloadavg()[0]
    running = Load(args, work, plan)
    rows, cost = running.answers()
    after, peak = catalog.used()
    return {"kinds": summary(rows), "load average before": load, "seconds": cost["seconds"], "server cpu": after - before, "server mb": peak,
            "generator cpu": cost["cpu"], "generator late p99.9 ms": at_share(sorted(row[5] * 1000 for row in rows), 0.999)}


def kill(args, work, catalog, content):
    """Kills the server amid writes; the writes that were answered and aren't there afterwards."""
    plan = Plan(catalog, content)
    plan.fill({"comment": 1, "rate": 1}, KILL_RATE, KILL_SECONDS)
    running = Load(args, work, plan)
    time.sleep(0.5 + KILL_AFTER)
    catalog.stop(signal.SIGKILL)
    rows, _ = running.answers()
    catalog.start()
    answered = [(about, body) for _, about, status, _, _, _, body in rows if status in (201, 204)]
    comments = {about[3]: (about, json.loads(body)["id"]) for about, body in answered if about[0] == "comment"}
    # The last one that somebody gave to a package counts; one that wasn't answered may have come after it.
    unknown = {about[1:3] for _, about, status, *_ in rows if status == 0 and about[0] == "rating"}
    ratings = {about[1:3]: about[3] for about, _ in answered if about[0] == "rating" and about[1:3] not in unknown}
    lost = []
    for text, ((_, account, name, _), number) in comments.items():
        found = json.loads(catalog.ask("GET", f"/api/v1/packages/{name}/comments?limit=100", plan.forwarded())[2])["items"]
        if not any(each["id"] == number and each["text"] == text and each["by"] == account for each in found):
            lost.append(f"comment {number} of {account} on {name}")
    given = {account: {each["package"]: each["stars"] for each in json.loads(catalog.command("user", "export", account))["ratings"]}
             for account in {account for account, _ in ratings}}
    lost += [f"rating of {account} of {name}" for (account, name), stars in ratings.items() if given[account].get(name) != stars]
    return {"sent": len(rows), "answered": len(answered), "checked": len(comments) + len(ratings), "lost": lost}


def as_markdown(args, figures):
    where = "PostgreSQL" if args.database_url_file else "SQLite"
    lines = [f"{args.packages:,} packages on {where}; {args.rate} requests per second for {args.seconds} s, open loop. "
             f"Load average before: {figures['load average before']:.1f}.", "",
             f"Server: {figures['server cpu']:.1f} s of CPU ({figures['server cpu'] / figures['seconds'] * 100:.0f} % of a core, "
             f"{figures['server cpu'] * 1000 / figures['kinds']['all']['count']:.2f} ms for a request), "
             f"{figures['server mb']:.0f} MB at most. Generator: {figures['generator cpu']:.1f} s of CPU; 99.9 % of requests left within "
             f"{figures['generator late p99.9 ms']:.1f} ms of their time.", "",
             "| | requests | mean bytes | p50 ms | p99 ms | p99.9 ms | longest ms | errors |", "|---|---:|---:|---:|---:|---:|---:|---|"]
    order = [*(kind for kind in PROFILE if kind in figures["kinds"]), "all"]
    for kind in order:
        one = figures["kinds"][kind]
        wrong = ", ".join(f"{count} of status {status}" for status, count in one["errors"].items()) or "none"
        lines.append(f"| {kind} | {one['count']:,} | {one['bytes']:,.0f} | {one['p50']:.1f} | {one['p99']:.1f} | {one['p99.9']:.1f} | "
                     f"{one['max']:.1f} | {wrong} |")
    if killed := figures.get("kill"):
        lines += ["", f"Killed amid writes: {killed['sent']} sent, {killed['answered']} answered, {killed['checked']} of them looked for, "
                  f"{len(killed['lost'])} lost."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    path = lambda text: pathlib.Path(text).resolve()  # noqa: E731
    parser.add_argument("programs", type=path)
    for name, fallback in (("--packages", 20_000), ("--rate", 500), ("--seconds", 30)):
        parser.add_argument(name, type=int, default=fallback)
    for name in ("--filled", "--database-url-file", "--json"):
        parser.add_argument(name, type=path)
    parser.add_argument("--only", type=lambda text: text.split(","))
    args = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="mist-catalog-"))
    catalog = None
    try:
        place, lines = fill(args, work)
        catalog = Catalog(args, work)
        if args.database_url_file:
            say("    restoring")
            catalog.command("restore", str(place))
        else:
            shutil.copytree(place, work / "data")
        content = Content(lines)
        catalog.start()
        say("    measuring")
        figures = measure(args, work, catalog, content)
        # Limits of what a client may write begin anew.
        catalog.stop()
        catalog.start()
        say("    killing")
        figures["kill"] = kill(args, work, catalog, content)
        catalog.stop()
        if not args.database_url_file:
            with sqlite3.connect(work / "data/catalog.db") as database:
                assert database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        print(as_markdown(args, figures), end="")
        if args.json:
            args.json.write_text(json.dumps(figures, indent=1) + "\n")
        if figures["kill"]["lost"]:
            raise SystemExit("bench: lost: " + ", ".join(figures["kill"]["lost"][:20]))
    finally:
        if catalog is not None:
            catalog.stop(signal.SIGKILL)
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
