"""Several instances of a catalog on one PostgreSQL database, and the end of its server."""
import json
import os
import pathlib
import shutil

from catalog import Catalog, Repository
from harness import check, config_map, contains, equal, test
from postgres import PASSWORD, Postgres


def repository(t, name):
    made = Repository(t, name)
    made.kube("1.0.0", config_map("settings"), description=f"The {name}")
    made.tag("v1.0.0")
    return made


def two_instances(t, *flags):
    server = Postgres(t)
    instances = [Catalog(t, name, database=server.url) for name in ("one", "two")]
    for each in instances:
        each.serve("--poll-interval", "1h", *flags)
    return server, *instances


@test(waits=True)
def instances_of_a_catalog_share_a_postgresql_database(t):
    server, one, two = two_instances(t, "--kubeconfig", t.kubeconfig, "--workers", "2")
    token = one.account("ann")
    # What one instance did, the other knows.
    repositories = {name: repository(t, name) for name in ("etcd", "redis", "nginx")}
    projects = {name: (one, two)[place % 2].link(token, name, made.url) for place, (name, made) in enumerate(repositories.items())}
    for place, (name, made) in enumerate(repositories.items()):
        made.kube("1.1.0", config_map("settings", {"a": "b"}))
        made.tag("v1.1.0")
        equal((two, one)[place % 2].call_webhook(projects[name]), 202)
    for name in repositories:
        for version in ("1.0.0", "1.1.0"):
            run = (one, two)[len(name) % 2].wait_tested(name, version)
            steps = [step["name"] for step in run["steps"]]
            equal(([step for step in run["steps"] if step["state"] == "failed"], run["attempt"]), ([], 1), f"{name} {version}")
            equal(len(steps), len(set(steps)), f"{name} {version} was tested by two: {steps}")
    equal(server.ask("SELECT count(*), max(attempt) FROM runs"), "6|1", "each version was tested once")
    contains(one.page("/search?q=etc"), "href=\"/packages/etcd\"")
    # The bytes are in the database: neither has a file of them.
    digest = one.version("etcd", "1.1.0")["digest"]
    equal(*(instance.ask("GET", f"/api/v1/blobs/{digest}")[:2] for instance in (one, two)))
    equal([instance.data / "blobs" for instance in (one, two) if (instance.data / "blobs").exists()], [])
    # Its password is nowhere.
    for instance in (one, two):
        for process in instance.processes:
            check(PASSWORD not in process.log.read_text(), "a log has the password:", process.log.read_text())
            check(PASSWORD not in pathlib.Path(f"/proc/{process.pid}/cmdline").read_text(), "the list of processes has the password")


@test(waits=True)
def a_catalog_outlives_the_end_of_its_postgresql_server(t):
    server, one, two = two_instances(t)
    token = one.account("ann")
    one.link(token, "etcd", repository(t, "etcd").url)
    t.kube.wait("the version is there", lambda: two.state("etcd", "1.0.0") == "queued")
    server.kill()
    for instance in (one, two):
        for path in ("/healthz", "/packages/etcd", "/api/v1/packages/etcd", "/login"):
            status, text, _ = instance.ask("GET", path)
            if path != "/login":
                equal(status, 503, f"{path}: {text}")
            check(PASSWORD not in text, text)
        status, text, _ = instance.ask("POST", "/api/v1/projects", {"name": "redis", "url": "https://git.example.com/redis"}, token)
        equal(status, 503, text)
    server.start()
    for instance in (one, two):
        equal(instance.state("etcd", "1.0.0"), "queued")
        equal(instance.ask("GET", "/healthz")[0], 200)
    two.link(token, "redis", repository(t, "redis").url)
    t.kube.wait("the next version is there", lambda: one.state("redis", "1.0.0") == "queued")
    equal(server.ask("SELECT count(*) FROM versions"), "2")
    for instance in (one, two):
        check(all(process.poll() is None for process in instance.processes), "an instance ended")
        check(PASSWORD not in instance.processes[0].log.read_text(), "a log has the password")


@test
def a_catalog_moves_from_sqlite_to_postgresql_and_back(t):
    small = Catalog(t, "small")
    server = small.serve()
    token = small.account("ann")
    small.link(token, "etcd", repository(t, "etcd").url)
    t.kube.wait("the version is there", lambda: small.state("etcd", "1.0.0") == "queued")
    digest = small.version("etcd", "1.0.0")["digest"]
    small.command("backup", str(t.dir / "small-backup"))
    equal(small.stop(server), 0)
    large = Catalog(t, "large", database=Postgres(t).url)
    large.command("restore", str(t.dir / "small-backup"))
    contains(large.command("restore", str(t.dir / "small-backup"), code=1), "has a catalog already", "an empty database")
    server = large.serve()
    equal(large.version("etcd", "1.0.0")["digest"], digest)
    equal(large.ask("GET", f"/api/v1/blobs/{digest}")[0], 200)
    large.link(token, "redis", repository(t, "redis").url)
    t.kube.wait("the next version is there", lambda: large.state("redis", "1.0.0") == "queued")
    said = large.command("backup", str(t.dir / "large-backup"))
    check(PASSWORD not in said, said)
    equal(large.stop(server), 0)
    back = Catalog(t, "back")
    back.command("restore", str(t.dir / "large-backup"))
    back.serve()
    equal(sorted(each["name"] for each in back.json("/api/v1/projects", token)["items"]), ["etcd", "redis"])
    contains(back.page("/search?q=redi"), "The redis")
    equal(back.ask("GET", f"/api/v1/blobs/{digest}")[0], 200)


@test
def the_database_of_a_catalog_is_named_safely(t):
    catalog = Catalog(t)
    url = f"postgresql://catalog:{PASSWORD}@127.0.0.1:1/postgres"
    said = catalog.command("user", "list", "--database", url, code=2)
    contains(said, "--database", "password", "--database-url-file")
    check(PASSWORD not in said, said)
    file = t.file("url", url + "\n")
    said = catalog.command("user", "list", "--database-url-file", file, code=1)
    contains(said, "cannot connect to the database postgresql://catalog@127.0.0.1:1/postgres")
    check(PASSWORD not in said, said)
    said = catalog.command("user", "list", "--database-url-file", t.file("url", f"postgresql://catalog:{PASSWORD}@x@127.0.0.1/postgres"), code=1)
    check(PASSWORD not in said, said)
    equal(json.dumps(said).count("can't be understood"), 1, said)


@test
def the_password_of_a_catalogs_database_reaches_no_program_that_it_starts(t):
    server = Postgres(t)
    catalog = Catalog(t, database=server.url.replace(f":{PASSWORD}", ""))
    seen = t.dir / "seen"
    git = t.dir / "bin" / "git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\nenv >>'{seen}'\nexec '{shutil.which('git')}' \"$@\"\n")
    git.chmod(0o755)
    ours = catalog.environment
    catalog.environment = lambda: ours() | {"PGPASSWORD": PASSWORD, "PATH": f"{git.parent}:{os.environ['PATH']}"}
    catalog.serve("--poll-interval", "1h")
    catalog.link(catalog.account("ann"), "etcd", repository(t, "etcd").url)
    t.kube.wait("the version is there", lambda: catalog.state("etcd", "1.0.0") == "queued")
    contains(seen.read_text(), "PATH=")
    check(PASSWORD not in seen.read_text(), "git was given the database's password")


@test
def a_postgresql_database_that_knows_no_letters_is_refused_before_it_has_tables(t):
    server = Postgres(t)
    server.ask("CREATE DATABASE plain TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'")
    plain = Catalog(t, "plain", database=server.url.replace("/postgres", "/plain"))
    contains(plain.command("user", "list", code=1), "knows no letters but those of ASCII", "--locale C.UTF-8")
    saved = t.dir / "saved"
    Catalog(t, "full").command("user", "add", "ann", "--role", "author")
    Catalog(t, "full").command("backup", saved)
    contains(plain.command("restore", saved, code=1), "knows no letters but those of ASCII")
