"""How a catalog keeps the packages that it tests apart: sandboxes, processes that are killed, a cluster for each test."""
import contextlib
import hashlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess

from catalog import Catalog, Repository
from harness import check, config_map, contains, equal, test, workload
from test_catalog import bad_package, failed, good, names

# A script that takes some seconds.
SLOW = "for _ in range(6_000_000):\n    pass\n"


def descendants(pid):
    children = {}
    for directory in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if directory.name.isdigit():
                parent = int((directory / "stat").read_text().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(directory.name))
    found, left = [], [pid]
    while left:
        for child in children.get(left.pop(), []):
            found.append(child)
            left.append(child)
    return found


def trial_processes(catalog, worker):
    """Those that run a trial in a sandbox, by their numbers outside of it."""
    program, found = os.path.realpath(catalog.program), []
    for pid in descendants(worker.pid):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/exe") == program and b"\0__run-trial\0" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def has_worked(pid):
    """For a tenth of a second of processor time: by then it is in the middle of its script."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) * 10 > os.sysconf("SC_CLK_TCK")


def namespace(pid, kind):
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def log_of(run, name):
    return [step["log"] for step in run["steps"] if step["name"] == name][0]


@test(waits=True)
def a_catalog_tests_a_package_in_a_sandbox_that_dies_alone(t):
    catalog = Catalog(t)
    server = catalog.serve("--kubeconfig", t.kubeconfig, "--poll-interval", "1h")
    contains(server.log.read_text(), "tests without a cluster: bubblewrap", "no network")
    token = catalog.account("ann")
    catalog.link(token, "slow", bad_package(t, "slow", "1.0.0", config_map("a"), **{"scripts__pre-install_dot_py": SLOW}).url)
    inside = t.kube.wait("its process runs", lambda: trial_processes(catalog, server))[0]
    for kind in ("net", "pid", "mnt", "ipc", "uts", "user"):
        check(namespace(inside, kind) != namespace(server.pid, kind), "it shares the namespace", kind)
    # It sees neither the catalog's data nor the credentials of the cluster.
    root = pathlib.Path(f"/proc/{inside}/root")
    check(not (root / str(catalog.data).lstrip("/")).exists(), "it sees the catalog's data")
    check(not (root / t.kubeconfig.lstrip("/")).exists(), "it sees the kubeconfig")
    equal(list((root / "packages").glob("*/*"))[0].name, catalog.version("slow", "1.0.0")["digest"].removeprefix("sha256:"))
    t.kube.wait("its script runs", lambda: has_worked(inside))
    # As the kernel does for want of memory. The worker goes on, and tries the version again.
    os.kill(inside, signal.SIGKILL)
    t.kube.wait("the worker says so", lambda: "ended by itself" in server.log.read_text())
    contains(server.log.read_text(), "exit code 137, in the step")
    equal(server.poll(), None, server.log.read_text())
    catalog.link(token, "etcd", good(t).url)
    run = catalog.wait_tested("etcd", "1.0.0", 180)
    equal(failed(run), [])
    contains(log_of(run, "unpack"), "isolation: bubblewrap", "no network")
    contains(log_of(run, "dry run"), "isolation: bubblewrap", "the network of the worker")
    run = catalog.wait_tested("slow", "1.0.0", 180)
    equal((failed(run), run["attempt"]), ([], 2))
    # A worker that is killed takes its test with it.
    status, text, _ = catalog.ask("POST", "/api/v1/packages/slow/versions/1.0.0/test", token=token)
    equal(status, 202, text)
    inside = t.kube.wait("its process runs again", lambda: trial_processes(catalog, server))[0]
    catalog.stop(server, signal.SIGKILL)
    t.kube.wait("it ended with its worker", lambda: not pathlib.Path(f"/proc/{inside}").exists())
    equal(catalog.namespaces(), [])


@test
def a_catalog_without_bubblewrap_tests_nothing_unless_told_to(t):
    catalog = Catalog(t)
    programs = t.dir / "programs"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip())
    t.env["PATH"] = str(programs)
    worker = ["worker", "--once", "--kubeconfig", t.kubeconfig]
    contains(catalog.command(*worker, code=1), "there is no bubblewrap", "while getting ready to test packages",
             "apt-get install bubblewrap", "--isolation none")
    # One that may make no namespaces.
    (programs / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    (programs / "bwrap").chmod(0o755)
    contains(catalog.command(*worker, code=1), "bubblewrap can't make a sandbox here", "No permissions", "--isolation none")
    catalog.command(*worker, "--isolation", "none")
    contains(catalog.command(*worker, "--isolation", "some", code=2), "neither bubblewrap nor none")


@test(waits=True)
def a_catalog_tests_packages_without_isolation_where_it_is_told_to(t):
    catalog = Catalog(t)
    server = catalog.serve("--kubeconfig", t.kubeconfig, "--isolation", "none")
    contains(server.log.read_text(), "without isolation")
    token = catalog.account("ann")
    catalog.link(token, "etcd", good(t).url)
    run = catalog.wait_tested("etcd", "1.0.0")
    equal(failed(run), [])
    contains(log_of(run, "unpack"), "isolation: none")
    equal(catalog.namespaces(), [])


@test(waits=True)
def a_catalog_starts_a_cluster_for_each_test(t):
    catalog = Catalog(t)
    clusters = t.dir / "clusters"
    clusters.mkdir()
    # Its standard input ends with the test, and with the worker.
    command = f"""{t.devcluster} up -q --dir {clusters}/$MISTLETOE_TEST --nodes 1 --parent-pid $$ || exit 1
        echo $MISTLETOE_TEST >>{clusters}/begun; cat >/dev/null
        {t.devcluster} down --dir {clusters}/$MISTLETOE_TEST; echo $MISTLETOE_TEST >>{clusters}/ended"""
    said = lambda which: (clusters / which).read_text().split() if (clusters / which).exists() else []
    server = catalog.serve("--cluster-command", command)
    token = catalog.account("ann")
    catalog.link(token, "etcd", good(t).url)
    run = catalog.wait_tested("etcd", "1.0.0", 180)
    equal(failed(run), [])
    equal(run["nodes"], "simulated nodes")
    contains(catalog.page("/packages/etcd"), "Installed on simulated nodes")
    equal(catalog.namespaces(), [], "what the test made on the other cluster")
    t.kube.wait("it was taken away", lambda: said("ended") == said("begun") and len(said("begun")) == 1)
    # A package that fails before needs none.
    catalog.link(token, "wrong", bad_package(t, "wrong", "1.0.0", "a: [\n").url)
    equal(failed(catalog.wait_tested("wrong", "1.0.0"))[0]["name"], "lint")
    equal(len(said("begun")), 1)
    # A worker that is killed leaves none.
    status, text, _ = catalog.ask("POST", "/api/v1/packages/etcd/versions/1.0.0/test", token=token)
    equal(status, 202, text)
    t.kube.wait("the second one began", lambda: len(said("begun")) == 2, 120)
    catalog.stop(server, signal.SIGKILL)
    t.kube.wait("it was taken away, too", lambda: said("ended") == said("begun"), 60)
    # A command that fails is nobody's fault.
    server = catalog.serve("--cluster-command", "echo no room for etcd >&2; exit 3", "--lease", "2s")
    t.kube.wait("the worker says so", lambda: "no room for etcd" in server.log.read_text(), 60)
    check(catalog.state("etcd", "1.0.0") in ("queued", "testing"), catalog.state("etcd", "1.0.0"))
    contains(catalog.command("worker", "--cluster-command", "true", "--kubeconfig", "x", code=2), "name two clusters")


@test(waits=True)
def a_catalog_says_why_a_version_cannot_be_unpacked_accepted_or_upgraded_to(t):
    catalog = Catalog(t)
    server = catalog.serve("--poll-interval", "1h")
    token = catalog.account("ann")
    # Bytes that are whole, and no package: as an older catalog may have taken them.
    catalog.link(token, "unreadable", bad_package(t, "unreadable", "1.0.0", config_map("a")).url)
    t.kube.wait("it is queued", lambda: catalog.state("unreadable", "1.0.0") == "queued")
    catalog.stop(server)
    content = b"this is no package"
    digest = hashlib.sha256(content).hexdigest()
    place = catalog.data / "blobs" / digest[:2] / digest
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    with contextlib.closing(sqlite3.connect(catalog.data / "catalog.db")) as database:
        database.execute("UPDATE versions SET digest = ?", (f"sha256:{digest}",))
        database.commit()
    catalog.serve("--kubeconfig", t.kubeconfig, "--timeout", "15s", "--poll-interval", "1h")
    run = catalog.wait_tested("unreadable", "1.0.0")
    equal((names(run), failed(run)[0]["name"]), (["unpack"], "unpack"))
    check(str(catalog.data) not in json.dumps(run), "shows where the worker's files are")
    t.note(f"unpack: {failed(run)[0]['summary']}")
    # A kind that the newest minor has, and the oldest of the three hasn't: another one stands here once that has it, too.
    new = {"apiVersion": "certificates.k8s.io/v1", "kind": "ClusterTrustBundle", "metadata": {"name": "new"},
           "spec": {"trustBundle": "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"}}
    catalog.link(token, "new", bad_package(t, "new", "1.0.0", new).url)
    # Its fields are right, and the server refuses what they say.
    refused = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
               "spec": {"ports": [{"port": 80}], "clusterIP": "10.300.0.1"}}
    catalog.link(token, "refused", bad_package(t, "refused", "1.0.0", refused).url)
    first = failed(catalog.wait_tested("new", "1.0.0"))[0]
    check(first["name"].startswith("Kubernetes "), "failed at", first["name"])
    contains(first["summary"] + first["log"], "ClusterTrustBundle")
    t.note(f"{first['name']}: {first['summary']}")
    first = failed(catalog.wait_tested("refused", "1.0.0"))[0]
    equal(first["name"], "dry run")
    contains(first["summary"] + first["log"], "10.300.0.1")
    t.note(f"dry run: {first['summary']}")
    # Alone it runs; the Deployment of the version before can't become it.
    repository = Repository(t, "fixed")
    repository.kube("1.0.0", workload("Deployment", "web"))
    repository.tag("v1.0.0")
    project = catalog.link(token, "fixed", repository.url)
    equal(failed(catalog.wait_tested("fixed", "1.0.0")), [])
    other = workload("Deployment", "web")
    other["spec"]["selector"]["matchLabels"] = other["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    repository.kube("1.1.0", other)
    repository.tag("v1.1.0")
    equal(catalog.call_webhook(project), 202)
    run = catalog.wait_tested("fixed", "1.1.0")
    equal([step["name"] for step in failed(run)], ["upgrade"])
    equal(names(run), ["unpack", "lint", "dry run", "install", "tests", "upgrade", "uninstall"])
    contains(failed(run)[0]["summary"] + failed(run)[0]["log"], "immutable")
    equal(run["steps"][-1]["summary"], "nothing stays")
    t.note(f"upgrade: {failed(run)[0]['summary']}")
    equal(catalog.namespaces(), [], "what the tests left")
