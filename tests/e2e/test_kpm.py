"""kpm over a local archive: the two workflows of its document, dependencies, and that what it made goes again."""
import pathlib
import shutil
import subprocess

from harness import check, contains, equal, test

ROOT = pathlib.Path(__file__).resolve().parents[2]


def git(directory, *arguments):
    subprocess.run(["git", "-C", directory, "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments],
                   check=True, capture_output=True)


def archive(t):
    """The Kubes of this repository as a git repository, configured and read."""
    directory = str(t.dir / "archive")
    shutil.copytree(ROOT / "packages/kpm", directory)
    git(directory, "init", "-q", "-b", "main")
    git(directory, "add", ".")
    git(directory, "commit", "-q", "-m", "one")
    t.run("kpm", "archive-add", "examples", directory)
    equal(t.run("kpm", "update").out, "---> Fetching updates...\n---> Done\n")
    return directory


@test
def kpm_installs_what_it_finds(t):
    contains(t.refused("kpm", "update").err, "no archive is configured", "kpm archive-add")
    archive(t)
    home = t.dir / ".kpm"
    equal(t.run("kpm", "search", "etcd").out,
          "\tetcd-standalone: etcd-standalone is a single Etcd instance (no cluster)\n")
    contains(t.run("kpm", "info", "etcd-standalone").out, "\tVersion: 2.2.0-beta3\n",
             "\tProvides: etcd-deployment.yaml etcd-service.yaml\n")
    installed = t.run("kpm", "install", "etcd-standalone", "--wait")
    equal(installed.out, "---> Downloading etcd-standalone-2.2.0-beta3\n"
          f"---> Cached files into {home}/etcd-standalone-2.2.0-beta3/\n"
          "---> Running kubectl create -f ...\n---> Done\n")
    equal(t.run("kpm", "list").out, "\tetcd-standalone: 2.2.0-beta3\n")
    contains(t.run("history", "etcd-standalone").out, "2.2.0-beta3")
    contains(t.refused("kpm", "install", "etcd-standalone").err, "exists already")
    t.run("kpm", "uninstall", "etcd-standalone", "--yes", "--wait")
    equal(t.owned("etcd-standalone"), set(), "what stays")
    equal(t.run("kpm", "list").out, "")


@test
def kpm_prefers_a_working_copy(t):
    directory = archive(t)
    copy = t.dir / ".kpm/nginx"
    contains(t.run("kpm", "get", "nginx").out, f"---> Cached files into {copy}/")
    service = copy / "manifests/nginx-service.yaml"
    service.write_text(service.read_text().replace("port: 80", "port: 8080"))
    pathlib.Path(directory, "packages/nginx/manifests/nginx-service.yaml").write_text("changed: true\n")
    git(directory, "commit", "-q", "-a", "-m", "two")
    t.run("kpm", "update")
    contains(service.read_text(), "8080")
    contains(t.run("kpm", "install", "nginx", "-s", "replicas=2").out, f"---> Using your working copy {copy}/")
    equal(t.kube.get("Service", t.ns, "nginx")["spec"]["ports"][0]["port"], 8080)
    equal(t.kube.get("Deployment", t.ns, "nginx")["spec"]["replicas"], 2, "a value of the template")
    contains(t.refused("kpm", "get", "nginx").err, "working copy of nginx already")


@test
def kpm_warns_of_dependencies(t):
    archive(t)
    # No other test installs a package of this name.
    copy = t.dir / ".kpm/needs"
    dependency = f"nginx-{t.ns}"
    t.file(copy / "K3.yaml", f"name: needs\nversion: 1.0.0\ndependencies:\n  - name: {dependency}\n    version: 1.9 < x <= 1.10\n")
    t.file(copy / "manifests/a.json",
           '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "needs"}}')
    refused = t.refused("kpm", "install", "needs", says=["--force"])
    contains(refused.err, f"!!-> WARNING: Dependency {dependency} (1.9 < x <= 1.10) does not seem to be satisfied.\n"
             "!!-> This package may not function correctly.\n")
    check(t.kube.get("ConfigMap", t.ns, "needs") is None, "refused, and written all the same")
    other = t.dir / f".kpm/{dependency}"
    t.file(other / "K3.yaml", f"name: {dependency}\nversion: 1.10.0\n")
    t.file(other / "manifests/a.yaml.tmpl", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ name }}\n")
    t.run("kpm", "install", "needs", "--with-dependencies")
    equal(t.owned(dependency), {f"ConfigMap/{dependency}"})
    check("!!->" not in t.run("kpm", "install", "needs", "--name", "again", "--dry-run", code=None).err,
          "the dependency is installed")
    for each in ("needs", dependency):
        t.run("kpm", "uninstall", each, "--yes", "--wait")
        equal(t.owned(each), set(), "what stays")
    contains(t.run("kpm", "install", "needs", "--force").err, "!!-> WARNING")
    equal(t.owned("needs"), {"ConfigMap/needs"})


@test
def kpm_refuses_scripts_of_the_host(t):
    archive(t)
    copy = t.dir / ".kpm/scripted"
    t.file(copy / "K3.yaml", "name: scripted\nversion: 1.0.0\n")
    t.file(copy / "manifests/a.json", '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}')
    t.file(copy / "scripts/pre-install.py", "open('/tmp/kpm-ran', 'w')\n")
    t.refused("kpm", "install", "scripted", says=["scripts/pre-install.py", "Python"])
    equal(t.owned("scripted"), set())


@test
def kpm_tests_a_kube_and_leaves_nothing(t):
    archive(t)
    passed = t.run("kpm", "test", "nginx")
    contains(passed.out, "---> Installing into the namespace kpm-test-", "---> Nothing stays\n", "nginx-1.10.0 passes")
    name = passed.out.split("namespace ")[1].split(",")[0]
    check(t.kube.get("Namespace", None, name) is None, "its namespace stays")
    copy = t.dir / ".kpm/wrong"
    t.file(copy / "K3.yaml", "name: wrong\nversion: 1.0.0\n")
    t.file(copy / "manifests/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Not_A_Name\n")
    contains(t.refused("kpm", "test", "wrong").out, "Nothing stays")
