"""The platform example where containers run: two instances, their databases, an upgrade, a rotated user, a killed Pod."""
import base64
import os
import pathlib
import shutil
import subprocess

from cluster import Cluster
from harness import Skipped, T, check, contains, equal, test
from test_demo import ROOT, git_registry

PLATFORM = "mistletoe/examples/platform-example:0.2.0"
SERVICES = ("mic-a", "mic-b", "mic-c")
MINUTES = 600  # for the commands that wait


def real_node(t):
    """A test's environment on a control plane with a real node; skips the test where none can run."""
    if os.geteuid() != 0:
        raise Skipped("a real node needs root")
    # At once where it is built already; a link to an older state of its sources would do otherwise.
    built = subprocess.run([ROOT / "devcluster/node/build.sh"], capture_output=True, text=True)
    check(built.returncode == 0, built.stderr)
    able = subprocess.run([t.devcluster, "check"], capture_output=True, text=True)
    if able.returncode != 0:
        raise Skipped(" ".join(able.stderr.split()))
    cluster = Cluster(t.devcluster, "--node", "real", name="e2e-real")
    t.cleanup(cluster.stop)
    t.note(f"control plane and node ready in {cluster.seconds:.1f} s")
    real = T("real", t.mistctl, cluster)
    t.cleanup(real.close)
    return real


def ready(t, service):
    """(status, JSON) of a service's answer to /ready, asked through the API server."""
    return t.kube.request("GET", f"/api/v1/namespaces/{t.ns}/services/{service}:http/proxy/ready")


def secret(t, name):
    data = t.kube.get("Secret", t.ns, name)["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def passwords(t, release):
    """{user: password} as the databases' Secrets have them; the services' Secrets must have the same."""
    found = {}
    for server, key, users in (("mariadb", "DATABASE_PASSWORD", ("mic-a", "mic-b")), ("redis", "CACHE_PASSWORD", ("mic-b", "mic-c"))):
        for user in users:
            password = secret(t, f"{release}-{server}-user-{user}")["password"]
            equal(secret(t, f"{release}-{user}-credentials")[key], password, f"the password of {user} for {server}")
            found[f"{server}/{user}"] = password
    found["mariadb/root"] = secret(t, f"{release}-mariadb-root")["password"]
    found["redis/admin"] = secret(t, f"{release}-redis-admin")["password"]
    return found


def pods(t, release):
    """{component's name: the UIDs of its Pods}, without those that are ending."""
    found = {}
    for pod in t.kube.list("Pod", t.ns):
        instance = pod["metadata"]["labels"]["app.kubernetes.io/instance"]
        if instance.startswith(release) and "deletionTimestamp" not in pod["metadata"]:
            found.setdefault(instance.removeprefix(f"{release}-"), set()).add(pod["metadata"]["uid"])
    return found


def all_talk(t, release):
    for service in SERVICES:
        # Two Pods answer in turn.
        t.kube.wait(f"{release}-{service} uses its databases", lambda: ready(t, f"{release}-{service}")[0] == 200, 90)
        uses = {"database": True} if service != "mic-c" else {}
        uses |= {"cache": True} if service != "mic-a" else {}
        equal(ready(t, f"{release}-{service}"), (200, {"name": f"{release}-{service}", **uses}), f"{service} of {release}")


@test(full=True, waits=True)
def two_platforms_on_a_real_node(outer):
    t = real_node(outer)
    git_registry(t)
    for release in ("shop-a", "shop-b"):
        t.run("install", release, "-p", PLATFORM, "--wait", "--timeout", "8m", seconds=MINUTES)
    for release in ("shop-a", "shop-b"):
        all_talk(t, release)
        equal({o["health"] for o in t.run("status", release, "-o", "json").json["objects"]}, {"ready"}, f"health of {release}")
        # And with one another: who answers whom stands at /.
        status, answer = t.kube.request("GET", f"/api/v1/namespaces/{t.ns}/services/{release}-mic-a:http/proxy/")
        equal((status, answer[f"{release}-mic-b"], answer[f"{release}-mic-c"]), (200, True, True), f"peers of {release}")

    before = {release: passwords(t, release) for release in ("shop-a", "shop-b")}
    every = [password for found in before.values() for password in found.values()]
    equal(len(set(every)), 12, "passwords that differ, of six users of two platforms")

    mark = t.mark()
    contains(t.run("upgrade", "shop-a", "--wait", seconds=MINUTES).out, "nothing was written")
    equal([r for r in t.requests(mark) if r.writes], [], "writes of an upgrade without changes")

    a, b = pods(t, "shop-a"), pods(t, "shop-b")
    t.run("upgrade", "shop-a", "--rotate-secrets=mariadb/mic-a", "--wait", "--timeout", "8m", seconds=MINUTES)
    t.kube.wait("old Pods have ended", lambda: all(len(found) == len(a[name]) for name, found in pods(t, "shop-a").items()), 60)
    after = pods(t, "shop-a")
    equal({name for name in a if a[name] != after[name]}, {"mariadb", "mic-a"}, "what the rotation rolled")
    check(not a["mic-a"] & after["mic-a"], "a Pod of mic-a has the old password")
    equal(pods(t, "shop-b"), b, "Pods of the other platform")
    now = passwords(t, "shop-a")
    equal({user for user in now if now[user] != before["shop-a"][user]}, {"mariadb/mic-a"}, "rotated passwords")
    all_talk(t, "shop-a")
    # The database itself takes the new one only.
    old = login(t, "shop-a", "mic-a", before["shop-a"]["mariadb/mic-a"])
    check("Access denied" in old, "the old password still works:", old)
    equal(login(t, "shop-a", "mic-a", now["mariadb/mic-a"]).strip(), "1", "a login with the new password")

    killed = next(iter(t.kube.list("Pod", t.ns, "app.kubernetes.io/instance=shop-b-mariadb")))["metadata"]
    login(t, "shop-b", "mic-a", before["shop-b"]["mariadb/mic-a"], "create table kept (n int); insert into kept values (7)")
    t.kube.delete("Pod", t.ns, killed["name"])
    t.kube.wait("the database's Pod is another one", lambda: pods(t, "shop-b").get("mariadb", {killed["uid"]}) != {killed["uid"]}, 90)
    all_talk(t, "shop-b")
    t.kube.wait("the database kept its data", lambda: login(
        t, "shop-b", "mic-a", before["shop-b"]["mariadb/mic-a"], "select n from kept").strip() == "7", 90)

    for release in ("shop-a", "shop-b"):
        t.run("uninstall", release, "--yes", "--wait", seconds=MINUTES)
    t.kube.wait("no Pod is left", lambda: not t.kube.list("Pod", t.ns), 150)
    claims = sorted(claim["metadata"]["name"] for claim in t.kube.list("PersistentVolumeClaim", t.ns))
    equal(claims, [f"data-{release}-{server}-0" for release in ("shop-a", "shop-b") for server in ("mariadb", "redis")], "claims")
    for claim in claims:
        t.kube.delete("PersistentVolumeClaim", t.ns, claim)
    t.kube.wait("no volume is left", lambda: not t.kube.list("/api/v1/persistentvolumes"), 60)


def login(t, release, user, password, statement="select 1"):
    """What MariaDB's client prints, in the database's Pod but over the network."""
    done = subprocess.run(
        [t.devcluster, "kubectl", "--dir", str(t.cluster_directory), "exec", "-i", "-n", t.ns, f"{release}-mariadb-0", "-c", "mariadb",
         "--", "sh", "-c", f'read -r MYSQL_PWD; export MYSQL_PWD; exec mariadb --no-defaults -N -h {release}-mariadb -u {user} shop -e "$1"',
         "sh", statement], input=password + "\n", capture_output=True, text=True)
    return done.stdout + done.stderr


def operator_image(t):
    """The image's name, once the node has it."""
    prefix, archive = t.dir / "prefix", t.dir / "operator.tar"
    # As `make install` would leave it, but for what isn't needed here.
    build = pathlib.Path(t.mistctl).resolve().parent.parent
    (prefix / "bin").mkdir(parents=True)
    for program in ("mistctl", "mistletoe-operator"):
        subprocess.run(["strip", "-o", prefix / "bin" / program, build / "bin" / program], check=True)
    engines = prefix / "share/mistletoe/engines"
    engines.mkdir(parents=True)
    shutil.copy(build / "share/mistletoe/engines/nickel.wasm", engines)
    subprocess.run([prefix / "bin/mistctl", "engines", "compile", "nickel", "--installed"], check=True, capture_output=True)
    made = subprocess.run([ROOT / "tools/image.sh", "operator", "--prefix", prefix, "--name", "mistletoe-operator:e2e", archive],
                          capture_output=True, text=True)
    check(made.returncode == 0, made.stderr)
    t.note(made.stderr.strip().splitlines()[-1].split(", archive")[0])
    loaded = subprocess.run([t.devcluster, "load", "--dir", str(t.cluster_directory), archive], capture_output=True, text=True)
    check(loaded.returncode == 0, loaded.stdout, loaded.stderr)
    return "mistletoe-operator:e2e"


@test(full=True, waits=True)
def the_operators_image_runs_in_a_cluster(outer):
    t = real_node(outer)
    git_registry(t)
    t.run("install", "operator", "-p", "mistletoe/examples/mistletoe-operator:0.1.0", "--set", f"image={operator_image(t)}",
          "--set", "releases=own", "--set", "accounts={web-app}", "--set", "defaultAccount=web-app", "--wait", "--timeout", "4m", seconds=MINUTES)

    def kubectl(*arguments):
        done = subprocess.run([t.devcluster, "kubectl", "--dir", str(t.cluster_directory), "-n", t.ns, *arguments],
                              capture_output=True, text=True)
        check(done.returncode == 0, arguments, done.stderr)
        return done.stdout + done.stderr

    contains(kubectl("exec", "deploy/operator", "--", "mistctl", "version"), "mistctl")
    contains(kubectl("exec", "deploy/operator", "--", "git", "--version"), "git version")
    # The Pod uses the engines that were compiled into the image; compiling one there would take a minute.
    said = kubectl("exec", "deploy/operator", "--", "mistctl", "engines", "compile", "nickel")
    check("1 engine ready" in said and "compiling" not in said, said)

    # An author's way, as docs/operator.md tells it: a kind, an account with the rights that `rbac` prints, a blueprint.
    where, group = str(t.dir / "web-app"), f"{t.ns}.example.com"
    t.run("blueprint", "init", "web-app", where, "--group", group)
    t.run("install", "kinds", "-p", f"{where}/crd.yaml", "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "web-app"}})
    rights = t.file("rights.yaml", t.run("blueprint", "rbac", where, "-n", t.ns, "--service-account", "operator", "--run-as", "web-app").out)
    kubectl("apply", "-f", rights)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "web-app", "labels": {"mistletoe.dev/blueprint": "true"}},
                                      "data": {"blueprint.ncl": (pathlib.Path(where) / "blueprint.ncl").read_text()}})
    path = f"/apis/{group}/v1/namespaces/{t.ns}/webapps"
    t.kube.checked("POST", path, {"apiVersion": f"{group}/v1", "kind": "WebApp", "metadata": {"name": "web"},
                                  "spec": {"image": "nginx:1.28", "replicas": 1, "public": True}})

    def is_ready():
        found = t.kube.checked("GET", f"{path}/web").get("status", {}).get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in found)
    t.kube.wait("the instance is ready, and its Pod runs", is_ready, 120)

    # The leader's Pod goes: the other one keeps what is wanted.
    leader = t.kube.get("/apis/coordination.k8s.io/v1/leases", t.ns, "mistletoe-operator")["spec"]["holderIdentity"]
    names = [pod["metadata"]["name"] for pod in t.kube.list("Pod", t.ns, "app.kubernetes.io/instance=operator")]
    gone = next(name for name in names if leader.startswith(name))
    kubectl("delete", "pod", gone, "--grace-period=0", "--force")
    t.kube.delete("ConfigMap", t.ns, "web-public")
    t.kube.wait("the other replica repairs it", lambda: t.kube.get("ConfigMap", t.ns, "web-public") is not None, 60)
    restarts = {pod["metadata"]["name"]: [each["restartCount"] for each in pod["status"].get("containerStatuses", [])]
                for pod in t.kube.list("Pod", t.ns, "app.kubernetes.io/instance=operator")}
    equal([count for counts in restarts.values() for count in counts if count], [], f"restarts in {restarts}")
    t.kube.checked("DELETE", f"{path}/web")
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{path}/web")[0] == 404, 60)
    t.run("uninstall", "operator", "--yes", "--wait", seconds=MINUTES)
