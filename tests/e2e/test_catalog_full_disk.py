"""A catalog whose disk is full: it refuses changes and says so, keeps nothing by halves, and works again when there is room."""
import contextlib
import os
import signal
import sqlite3
import subprocess
import time

from catalog import Catalog, Repository
from harness import Skipped, check, config_map, contains, equal, test

SIZE = "24m"


def small_disk(t, directory):
    """A file system of a few MiB, at `directory`, until the end of the test."""
    if os.geteuid() != 0:
        raise Skipped("mounting a small file system needs root")
    directory.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", directory], text=True,
                             capture_output=True, check=False)
    if mounted.returncode != 0:
        raise Skipped(f"a tmpfs can't be mounted here: {mounted.stderr.strip()}")
    t.cleanup(lambda: subprocess.run(["umount", "--lazy", directory], check=True))


class Filler:
    """Takes all room of a disk that is left."""

    def __init__(self, directory):
        self.file = directory / "filler"

    def fill(self):
        with self.file.open("ab") as out, contextlib.suppress(OSError):
            for size in (1 << 20, 1 << 16, 1 << 12, 1 << 8, 1):
                with contextlib.suppress(OSError):
                    while True:
                        os.write(out.fileno(), b"\0" * size)

    def empty(self):
        self.file.unlink()


def whole(database, statement):
    """A column of the database, once SQLite itself finds nothing wrong with the file."""
    with contextlib.closing(sqlite3.connect(database)) as opened:
        equal(opened.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        return [row[0] for row in opened.execute(statement)]


@test
def a_catalog_on_a_full_disk(t):
    small_disk(t, t.dir / "catalog")
    catalog = Catalog(t)
    server = catalog.serve("--poll-interval", "1h")
    token = catalog.account("ann")
    repository = Repository(t, "etcd")
    repository.kube("1.0.0", config_map("settings"))
    repository.tag("v1.0.0")
    project = catalog.link(token, "etcd", repository.url)
    t.kube.wait("its version is taken", lambda: catalog.version("etcd", "1.0.0"))
    digest = catalog.version("etcd", "1.0.0")["digest"]
    filler = Filler(catalog.data)
    kept = []

    def yank(reason):
        status, answer, _ = catalog.ask("PUT", "/api/v1/packages/etcd/versions/1.0.0/yank", {"reason": reason}, token)
        if status == 204:
            kept.append(reason)
        return status, answer

    def fill_until_it_refuses():
        """Until the database has filled the free pages of its own files; then it refuses, and says why."""
        for number in range(200):
            filler.fill()
            status, answer = yank(f"{number} " + "x" * 400)
            if status == 507:
                return answer
            if status == 429:
                time.sleep(1)
            else:
                equal(status, 204, answer)
        raise AssertionError("nothing was refused")

    answer = fill_until_it_refuses()
    contains(answer, "the catalog's disk is full", "try again later")
    check(str(catalog.data) not in answer, "it names places of the machine:", answer)
    # Everybody can read.
    for path in ("/", "/packages/etcd", "/search?q=etcd", "/healthz", "/api/v1/index", "/mistletoe-index.jsonl"):
        catalog.page(path)
    equal(catalog.ask("HEAD", f"/api/v1/blobs/{digest}")[0], 200)
    equal(catalog.version("etcd", "1.0.0")["yanked"], kept[-1] if kept else None)
    # A tag that comes now isn't taken.
    repository.kube("1.1.0", config_map("settings"), config_map("more"))
    repository.tag("v1.1.0")
    check(catalog.call_webhook(project) in (202, 507))
    contains(server.log.read_text(), "disk is full")
    equal(catalog.version("etcd", "1.1.0"), None)

    # Killed and started where it has room again, it has what it said that it has, and nothing else.
    catalog.stop(server, signal.SIGKILL)
    filler.empty()
    database = catalog.data / "catalog.db"
    equal(whole(database, "SELECT yanked FROM versions WHERE version = '1.0.0'"), kept[-1:] or [None])
    equal(whole(database, "SELECT count(*) FROM audit WHERE what = 'yank'"), [len(kept)])
    server = catalog.serve("--poll-interval", "1h")
    equal(catalog.call_webhook(project), 202)
    t.kube.wait("the tag is taken", lambda: catalog.version("etcd", "1.1.0"))
    leftovers = [path.name for path in (catalog.data / "blobs").rglob("*") if path.is_file() and len(path.name) != 64]
    equal(leftovers, [], "files that were written in part")

    # While it runs, room that comes back is enough.
    fill_until_it_refuses()
    filler.empty()
    equal(yank("it loses keys")[0], 204)
    equal(catalog.version("etcd", "1.0.0")["yanked"], "it loses keys")
    equal(catalog.stop(server), 0, server.log.read_text())
    equal(whole(database, "SELECT count(*) FROM audit WHERE what = 'yank'"), [len(kept)])
