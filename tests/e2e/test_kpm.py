"""kpm over a local archive: the two workflows of its document, dependencies, and that what it made goes again."""
import base64
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess

from harness import check, config_map, contains, equal, kubeconfig_text, test, workload
from terminal import Screen, Terminal
from wasm_modules import guest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def git(directory, *arguments):
    subprocess.run(["git", "-C", directory, "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments],
                   check=True, capture_output=True)


def openssl(t, *arguments):
    return subprocess.run(["openssl", *arguments], cwd=t.dir, check=True, capture_output=True, text=True).stdout


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
    listed = t.run("kpm", "list", "-o", "json").json
    schema = json.loads((ROOT / "schemas/cli/kpm-list.schema.json").read_text())["properties"]["kubes"]["items"]
    equal(sorted(listed["kubes"][0]), sorted(schema["required"]))
    equal([(kube["name"], kube["namespace"], kube["version"], kube["status"]) for kube in listed["kubes"]],
          [("etcd-standalone", t.ns, "2.2.0-beta3", "deployed")])
    contains(t.run("history", "etcd-standalone").out, "2.2.0-beta3")
    contains(t.refused("kpm", "install", "etcd-standalone").err, "exists already")
    t.run("kpm", "uninstall", "etcd-standalone", "--yes", "--wait")
    equal(t.owned("etcd-standalone"), set(), "what stays")
    equal(t.run("kpm", "list").out, "")


@test
def kpm_installs_a_module_of_an_archive(t):
    directory = t.dir / "modules-archive"
    for name, said in (("keeper", "keeper"), ("liar", "keeper")):
        place = directory / "packages" / name
        place.mkdir(parents=True)
        (place / "K3.yaml").write_text(f"name: {name}\nversion: 1.0.0\ndescription: Keeps secrets\n")
        (place / "package.wasm").write_bytes(guest(t, "c/secrets.wasm", said))
    git(str(directory), "init", "-q", "-b", "main")
    git(str(directory), "add", ".")
    git(str(directory), "commit", "-q", "-m", "one")
    t.run("kpm", "archive-add", "modules", str(directory))
    t.run("kpm", "update")
    equal(t.run("kpm", "search", "keeper").out, "\tkeeper: Keeps secrets\n")
    contains(t.run("kpm", "info", "keeper").out, "\tVersion: 1.0.0\n", "\tProvides: package.wasm\n")
    contains(t.run("kpm", "install", "keeper", "--wait").out, "Downloading keeper-1.0.0", "---> Done")
    equal(t.owned("keeper"), {"Secret/keeper"})
    contains(t.run("history", "keeper").out, "1.0.0")
    t.run("kpm", "uninstall", "keeper", "--yes", "--wait")
    contains(t.run("kpm", "get", "keeper").out, "package.wasm is a WebAssembly module, in which nothing can be edited")
    contains(t.run("kpm", "test", "keeper").out, "keeper-1.0.0 passes")
    for verb in ("install", "get", "info"):
        t.refused("kpm", verb, "liar", says=["is of another package or version than K3.yaml says", "it says that it is keeper 1.0.0"])


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
def kpm_upgrades_to_what_an_update_brought(t):
    directory = t.dir / "versions"
    git(".", "init", "-q", "-b", "main", directory)
    package = directory / "packages/shelf"

    def release(version, more=""):
        t.file(package / "K3.yaml", f"name: shelf\nversion: {version}\n")
        t.file(package / "manifests/a.yaml.tmpl", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ name }}}\n"
               f"data: {{version: '{version}', books: '{{{{ values.books | default(1) }}}}'{more}}}\n")
        git(directory, "add", ".")
        git(directory, "commit", "-q", "-m", version)
        t.run("kpm", "update")

    data = lambda name="shelf": t.kube.get("ConfigMap", t.ns, name)["data"]  # noqa: E731
    t.file(package / "K3.yaml", "name: shelf\nversion: 1.0.0\n")
    t.file(package / "manifests/a.yaml.tmpl", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ name }}}\n")
    git(directory, "add", ".")
    git(directory, "commit", "-q", "-m", "one")
    t.run("kpm", "archive-add", "versions", str(directory))
    release("1.1.0")
    contains(t.refused("kpm", "upgrade", "shelf").err, "does not exist")
    t.run("kpm", "install", "shelf", "-s", "books=3")
    t.run("kpm", "install", "shelf", "--name", "second", "-s", "books=2")
    release("1.2.0", ", new: 'yes'")
    contains(t.refused("kpm", "install", "shelf").err, "exists already", f"kpm upgrade shelf -n {t.ns} changes it")
    contains(t.refused("kpm", "install", "shelf", "--name", "second").err, f"kpm upgrade shelf --name second -n {t.ns} changes it")
    contains(t.run("kpm", "upgrade", "shelf").out, "---> Upgrading shelf from 1.1.0 to 1.2.0\n---> Running kubectl apply -f ...\n---> Done\n")
    equal(data(), {"version": "1.2.0", "books": "3", "new": "yes"}, "the release keeps its values")
    equal(t.run("kpm", "list").out, "\tsecond: 1.1.0\n\tshelf: 1.2.0\n")
    t.run("kpm", "upgrade", "shelf", "--name", "second", "-s", "other=1", "--reuse-values")
    equal(data("second"), {"version": "1.2.0", "books": "2", "new": "yes"})
    upgraded = t.run("kpm", "upgrade", "shelf", "-s", "other=5", "-o", "json").json
    equal((upgraded["release"], data()["books"]), ("shelf", "1"), "other values replace all that it had")
    # Nobody named that version, nor that package.
    release("1.1.5")
    older = t.refused("kpm", "upgrade", "shelf", says=["kpm update reads what they hold now"])
    contains(older.err, "has shelf 1.2.0, which is newer than the 1.1.5", f"kpm upgrade shelf:1.1.5 -n {t.ns}")
    t.run("kpm", "upgrade", "shelf:1.1.5")
    equal(data()["version"], "1.1.5")
    t.run("install", "other", "-p", t.package("other", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}))
    contains(t.refused("kpm", "upgrade", "shelf", "--name", "other").err, "was made of the package", "and not of the Kube shelf")


@test
def kpm_installs_no_dependencies_for_a_release_that_is_not_there(t):
    directory = t.dir / ".kpm"
    upper, lower = f"upper-{t.ns}", f"lower-{t.ns}"
    for name, needs in ((upper, f"dependencies:\n  - name: {lower}\n    version: 1.0.0\n"), (lower, "")):
        t.file(directory / name / "K3.yaml", f"name: {name}\nversion: 1.0.0\n{needs}")
        t.file(directory / name / "manifests/a.json", json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}))
    t.refused("kpm", "upgrade", upper, "--with-dependencies", says=["does not exist"])
    equal(t.run("kpm", "list").out, "")
    t.run("kpm", "install", upper, "--force")
    t.refused("kpm", "install", upper, "--with-dependencies", says=["exists already"])
    equal(t.run("kpm", "list").out, f"\t{upper}: 1.0.0\n")
    t.run("kpm", "upgrade", upper, "--with-dependencies", "--rotate-secrets", code=2)


@test
def kpm_tells_programs_one_value(t):
    directory = t.dir / ".kpm"
    for name, needs in (("upper", "dependencies:\n  - name: lower\n    version: 1.0.0\n"), ("lower", "")):
        t.file(directory / name / "K3.yaml", f"name: {name}-{t.ns}\nversion: 1.0.0\n{needs.replace('lower', f'lower-{t.ns}')}")
        t.file(directory / name / "manifests/a.json", json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}))
        (directory / name).rename(directory / f"{name}-{t.ns}")
    upper = f"upper-{t.ns}"
    refused = t.run("kpm", "install", upper, "--events", "jsonl", code=1)
    lines = [json.loads(line) for line in refused.err.splitlines()]
    check(any("does not seem to be satisfied" in line.get("text", "") for line in lines), str(lines))
    equal(t.run("kpm", "install", upper, "--with-dependencies", "-o", "json").json["release"], upper)


@test
def kpm_describes_one_command(t):
    contains(t.run("kpm", "help").out, "kpm upgrade")
    contains(t.run("kpm", "help", "upgrade").out, "Upgrade an installed Kube", "--reuse-values")
    contains(t.refused("kpm", "help", "upgrad", code=2).err, "upgrade")


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
def kpm_says_that_a_dependency_is_broken(t):
    repository = t.dir / "kubes"
    name = f"broken-{t.ns}"
    t.file(repository / f"packages/{name}/K3.yaml", f"name: {name}\nversion: 1.0.0\nhom: example.com\n")
    t.file(repository / f"packages/{name}/manifests/a.json", "{}")
    git(repository, "init", "-q")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "one")
    t.run("kpm", "archive-add", "ours", str(repository))
    t.run("kpm", "update")
    copy = t.dir / ".kpm/needs"
    t.file(copy / "K3.yaml", f"name: needs\nversion: 1.0.0\ndependencies:\n  - name: {name}\n    version: ^1\n")
    t.file(copy / "manifests/a.json", '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "needs"}}')
    refused = t.refused("kpm", "install", "needs", "--with-dependencies", says=["a dependency is broken", "--force"])
    contains(refused.err, f"!!-> {name} of the archive ours is broken", f"packages/{name}/K3.yaml:3")
    check("--with-dependencies installs" not in refused.err, refused.err)
    equal(t.owned("needs"), set(), "refused, and written all the same")
    t.run("kpm", "install", "needs", "--with-dependencies", "--force")


def at_terminal(t, *arguments, program="mistctl", **environment):
    """A command at a terminal that is wide enough for each line."""
    path = str(pathlib.Path(t.mistctl).with_name(program))
    return Terminal([path, *arguments], t.environment(TERM="xterm", NO_COLOR="1", **environment), 24, 200, t.dir)


@test
def kpm_asks_before_it_goes_on_without_a_dependency(t):
    copy = t.dir / ".kpm/needs"
    t.file(copy / "K3.yaml", f"name: needs\nversion: 1.0.0\ndependencies:\n  - name: nginx-{t.ns}\n    version: 1.9 < x <= 1.10\n")
    t.file(copy / "manifests/a.json", json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "needs"}}))
    for answer in ("no", ""):
        refused = at_terminal(t, "kpm", "install", "needs")
        refused.wait_for("Continue? ")
        refused.type(f"{answer}\r")
        equal(refused.finish(), 1, refused.text())
        contains(refused.text(), f"!!-> WARNING: Dependency nginx-{t.ns} (1.9 < x <= 1.10) does not seem to be satisfied.",
                 "!!-> This package may not function correctly.", "error: nothing was changed, because the answer was no")
        equal((t.owned("needs"), t.record("needs")), (set(), []), "refused, and written all the same")
    agreed = at_terminal(t, "kpm", "install", "needs")
    agreed.wait_for("Continue? ")
    agreed.type("yes\r")
    equal(agreed.finish(), 0, agreed.text())
    equal(t.owned("needs"), {"ConfigMap/needs"})
    t.run("kpm", "uninstall", "needs", "--yes", "--wait")


# The workflows of "Kubernetes Package Manager (KPM), Version 1", to the letter: what its user types and sees. A line that
# begins with "$ " is run; the rest of a line that asks is what is typed.
WORKFLOWS = {
    "install a package": """$ kpm update
---> Fetching updates...
---> Done
$ kpm search etcd
\tetcd-standalone: etcd-standalone is a single Etcd instance (no cluster)
$ kpm info ponycorn
\tName: ponycorn
\tDescription: The ponycorn server
\tVersion: 1.0.3
\tWebsite: http://github.com/technosophos/ponycorn
\tMaintainers: Matt Butcher <mbutcher@deis.com>
\tDependencies: nginx (1.9 < x <= 1.10)
\tProvides: ponycorn-config.json
\tDetails:
\t  This package provides the ponycorn server, which requires an existing nginx server to function correctly.
$ kpm install ponycorn
---> Downloading ponycorn-1.0.3
---> Cached files into HOME/.kpm/ponycorn-1.0.3/
!!-> WARNING: Dependency nginx (1.9 < x <= 1.10) does not seem to be satisfied.
!!-> This package may not function correctly.
Continue? yes
---> Running kubectl create -f ...
---> Done
$ kpm list
\tponycorn: 1.0.3
$ kpm uninstall ponycorn --yes --wait
ponycorn is uninstalled: 1 object deleted
""",
    "change a package, and install it": """$ kpm get etcd-standalone
---> Downloading etcd-standalone
---> Cached files into HOME/.kpm/etcd-standalone/
$ sed -i s/2379/2380/ HOME/.kpm/etcd-standalone/manifests/etcd-service.yaml
$ kpm install etcd-standalone
---> Using your working copy HOME/.kpm/etcd-standalone/
---> Running kubectl create -f ...
---> Done
$ kpm list
\tetcd-standalone: 2.2.0-beta3
""",
}


def typed(t, command, question=""):
    """The lines that a terminal shows of a command; `question` is its line that asks, with the answer."""
    program, *arguments = shlex.split(command.replace("HOME", str(t.dir)))
    if program != "kpm":
        subprocess.run([program, *arguments], check=True)
        return ""
    terminal = at_terminal(t, *arguments, program="kpm")
    if question:
        asked, answer = question.split("? ")
        terminal.wait_for(asked + "? ")
        terminal.type(answer + "\r")
    equal(terminal.finish(), 0, terminal.text())
    screen = Screen(200)
    screen.feed(terminal.text().replace(str(t.dir), "HOME").replace("\t", "\\t"))
    # Progress is mistctl's own, and so is the renderer's warning, which other commands than kpm need.
    return "".join(f"{line}\n" for line in screen.text().split("\n")
                   if line and not line.startswith(("✓ ", "warning: package: this package needs ")))


@test
def kpm_does_what_its_document_shows(t):
    # A release of another test may be made from a package nginx: this user sees those of the namespace alone.
    user, token = t.identity("author")
    t.kube.create("RoleBinding", t.ns, {
        "metadata": {"name": "author"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]})
    archive(t)
    t.env["KUBECONFIG"] = t.file("kubeconfig-author", kubeconfig_text(t.kube.server, {"token": token}, t.kube.ca, t.ns))
    for name, workflow in WORKFLOWS.items():
        shown = ""
        for step in workflow.split("$ ")[1:]:
            command, *expected = step.rstrip("\n").split("\n")
            question = next((line for line in expected if "? " in line), "")
            shown += f"$ {command}\n" + typed(t, command, question)
        equal(shown.split("\n"), workflow.replace("\t", "\\t").split("\n"), name)
        if name == "install a package":
            equal(t.owned("ponycorn"), set(), "what stays")
    equal(t.kube.get("Service", t.ns, "etcd")["spec"]["ports"][0]["port"], 2380, "what its user changed")


@test
def kpm_names_itself_in_its_hints(t):
    """Where it has the command; others are mistctl's."""
    def refused(*arguments):
        done = subprocess.run([pathlib.Path(t.mistctl).resolve().with_name("kpm"), *arguments], env=t.environment(), cwd=t.dir,
                              capture_output=True, text=True, timeout=300)
        equal(done.returncode, 1, done.stderr)
        return done.stderr

    t.file(".kpm/shelf/K3.yaml", "name: shelf\nversion: 1.0.0\n")
    t.file(".kpm/shelf/manifests/a.json", json.dumps(config_map("shelf")))
    t.run("kpm", "install", "shelf")
    only = refused("rollback", "shelf")
    contains(only, f"release {t.ns}/shelf has no revision before v0 to go back to",
             f"kpm uninstall shelf -n {t.ns} removes the release; kpm history shelf -n {t.ns} shows its revisions")
    check("mistctl" not in only, only)
    for verb in ("status", "history", "rollback", "uninstall"):
        contains(refused(verb, "shelves"), "see kpm list -A", f"mistctl recover shelves -n {t.ns} --from-labels")
    t.run("kpm", "uninstall", "shelf", "--yes", "--wait")


@test
def kpm_works_on_its_releases_by_name(t):
    copy = t.dir / ".kpm/shelf"
    for version in ("1.0.0", "1.1.0"):
        t.file(copy / "K3.yaml", f"name: shelf\nversion: {version}\n")
        t.file(copy / "manifests/a.json", json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shelf"}, "data": {"v": version}}))
        t.run("kpm", "install" if version == "1.0.0" else "upgrade", "shelf")
    equal(t.run("kpm", "history", "shelf", "-o", "json").json, t.run("history", "shelf", "-o", "json").json)
    status = t.run("kpm", "status", "shelf", "-o", "json").json
    equal((status["name"], status["packageVersion"]), ("shelf", "1.1.0"))
    contains(t.run("kpm", "rollback", "shelf").out, "is rolled back to v0")
    equal(t.kube.get("ConfigMap", t.ns, "shelf")["data"], {"v": "1.0.0"})
    for verb in ("status", "history", "rollback"):
        t.refused("kpm", verb, "shelves", says=["shelves"])
        contains(t.run("__complete", f"kpm {verb} sh", ":=").out, "shelf")
    t.run("kpm", "uninstall", "shelf", "--yes", "--wait")


@test
def kpm_renders_json_templates(t):
    copy = t.dir / ".kpm/shelf"
    t.file(copy / "K3.yaml", "name: shelf\nversion: 1.0.0\nvalues: {books: [a, b]}\n")
    t.file(copy / "manifests/a.json.tmpl", '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": {{ name | tojson }}},\n'
           ' "data": {"books": {{ books | join(" ") | tojson }}}}\n')
    t.run("kpm", "install", "shelf", "--set-json", 'books=["a \\"quoted\\"", "c"]')
    equal(t.kube.get("ConfigMap", t.ns, "shelf")["data"], {"books": 'a "quoted" c'})
    contains(t.run("kpm", "info", "shelf").out, "\tProvides: a.json.tmpl\n")
    t.file(copy / "manifests/a.json.tmpl", '{"apiVersion": "v1", "kind": {{ missing.kind }}}\n')
    t.refused("kpm", "upgrade", "shelf", says=["manifests/a.json.tmpl:1"])


@test
def kpm_keeps_everything_in_its_home(t):
    home = t.dir / "elsewhere/kubes"
    t.env["KPM_HOME"] = str(home)
    archive(t)
    contains(t.run("kpm", "get", "nginx").out, f"---> Cached files into {home}/nginx/\n")
    contains(t.run("kpm", "install", "etcd-standalone").out, f"---> Cached files into {home}/etcd-standalone-2.2.0-beta3/\n")
    check(not (t.dir / ".kpm").exists(), "~/.kpm is written")
    described = t.run("kpm", "info", "nginx", "-o", "json").json
    equal((described["workingCopy"], described["archive"], described["provides"]),
          (str(home / "nginx"), None, ["nginx-deployment.yaml.tmpl", "nginx-service.yaml"]))
    t.env["KPM_HOME"] = "elsewhere/kubes"  # from where the command is run
    contains(t.run("kpm", "install", "nginx", "--dry-run").out, f"---> Using your working copy {home}/nginx/\n")
    del t.env["KPM_HOME"]
    contains(t.refused("kpm", "search").err, "no archive is configured")


@test
def kpm_installs_the_dependency_that_fits(t):
    directory = t.dir / "versions"
    dependency = f"nginx-{t.ns}"
    for version in ("1.9.0", "1.10.0", "1.12.0", "2.0.0-rc.1"):
        place = directory / "packages" / dependency / version
        t.file(place / "K3.yaml", f"name: {dependency}\nversion: {version}\n")
        t.file(place / "manifests/a.yaml.tmpl", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ name }}\n")
    t.file(directory / "packages/needs/K3.yaml",
           f"name: needs\nversion: 1.0.0\ndependencies:\n  - name: {dependency}\n    version: 1.9 < x <= 1.10\n")
    t.file(directory / "packages/needs/manifests/a.yaml.tmpl", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ name }}\n")
    git(str(directory), "init", "-q", "-b", "main")
    git(str(directory), "config", "uploadpack.allowFilter", "true")
    git(str(directory), "add", ".")
    git(str(directory), "commit", "-q", "-m", "one")
    t.run("kpm", "archive-add", "versions", str(directory))
    t.run("kpm", "update")
    # Only an update needs the archive's server.
    directory.rename(t.dir / "away")
    contains(t.run("kpm", "info", dependency).out, "\tVersion: 1.12.0\n")
    installed = t.run("kpm", "install", "needs", "--with-dependencies")
    contains(installed.out, f"---> Installing the dependency {dependency}-1.10.0\n")
    check("!!->" not in installed.err, installed.err)
    contains(t.run("kpm", "list").out, f"\t{dependency}: 1.10.0\n", "\tneeds: 1.0.0\n")
    for each in ("needs", dependency):
        t.run("kpm", "uninstall", each, "--yes", "--wait")


SCRIPT = """import kpm

domain = kpm.ask("domain", "Under which domain is it reached?", default="shop.example")
admin = kpm.ask("admin.password", "The password of the administrator", secret=True)
authority = kpm.authority("ca", "example authority")
server = kpm.certificate("server", domain, authority=authority, names=[domain])
kpm.render("templates/secret.yaml.j2", "manifests/secret.yaml", domain=domain, admin=admin, session=kpm.password("session"),
           server=server)
"""
TEMPLATE = """apiVersion: v1
kind: Secret
metadata:
  name: {{ release.name }}
data:
  admin: {{ admin | b64encode }}
  session: {{ session | b64encode }}
  tls.crt: {{ server.certificate | b64encode }}
  tls.key: {{ server.private_key | b64encode }}
  ca.crt: {{ server.authority | b64encode }}
"""
CONFIG = """apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ name }}
data:
  url: https://{{ domain | default("unknown") }}
  replicas: "{{ replicas }}"
"""


def scripted(t, script=SCRIPT, name="scripted"):
    """A working copy with a script."""
    copy = t.dir / f".kpm/{name}"
    t.file(copy / "K3.yaml", f"name: {name}\nversion: 1.0.0\nvalues: {{replicas: 2}}\n")
    t.file(copy / "manifests/config.yaml.tmpl", CONFIG)
    t.file(copy / "templates/secret.yaml.j2", TEMPLATE)
    t.file(copy / "scripts/pre-install.py", script)
    return copy


def secret_of(t, name="scripted"):
    return {key: base64.b64decode(text) for key, text in t.kube.get("Secret", t.ns, name)["data"].items()}


@test
def kpm_runs_scripts_in_the_sandbox(t):
    copy = scripted(t)
    t.refused("kpm", "install", "scripted", says=["asks for admin.password", "-f FILE"])
    equal(t.owned("scripted"), set(), "a refused install leaves nothing")
    t.file("answers.yaml", "admin: {password: hunter2-secret}\ndomain: a.example\n")
    installed = t.run("kpm", "install", "scripted", "-f", "answers.yaml")
    equal(t.owned("scripted"), {"ConfigMap/scripted", "Secret/scripted"})
    check("hunter2" not in installed.out + installed.err, "a secret answer is shown")
    first = secret_of(t)
    equal(first["admin"], b"hunter2-secret")
    for name in ("tls.crt", "tls.key", "ca.crt"):
        (t.dir / name).write_bytes(first[name])
    contains(openssl(t, "verify", "-CAfile", "ca.crt", "-verify_hostname", "a.example", "-purpose", "sslserver", "tls.crt"), "OK")
    equal(openssl(t, "x509", "-in", "tls.crt", "-noout", "-pubkey"), openssl(t, "pkey", "-in", "tls.key", "-pubout"), "the key is another")

    # An upgrade that sets something else repeats the answers, and gives the same bytes.
    t.file(copy / "manifests/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: scripted-more}\n")
    upgraded = t.run("upgrade", "scripted", "-p", str(copy), "-s", "replicas=5")
    check("--reuse-values" not in upgraded.err, "answers are no values that get lost")
    equal(t.owned("scripted"), {"ConfigMap/scripted", "ConfigMap/scripted-more", "Secret/scripted"})
    equal(secret_of(t), first, "the second time")
    equal(t.kube.get("ConfigMap", t.ns, "scripted")["data"], {"url": "https://a.example", "replicas": "5"})
    contains(t.run("upgrade", "scripted", "-p", str(copy), "-s", "replicas=5").out, "nothing was written")

    # Secret answers are shown nowhere but where somebody asks for secrets.
    for arguments in (("inspect", "release", "scripted"), ("inspect", "release", "scripted", "--only", "values"), ("status", "scripted", "-o", "json"),
                      ("history", "scripted", "-o", "json"),
                      ("diff", "scripted", "-p", str(copy), "-s", "admin.password=hunter3-secret", "-v")):
        shown = t.run(*arguments, code=None)
        check("hunter" not in shown.out + shown.err and base64.b64encode(b"hunter2-secret").decode() not in shown.out,
              f"a secret answer is shown by {arguments}: {shown.out}{shown.err}")
    contains(t.run("inspect", "release", "scripted", "--only", "values", "--show-secrets").out, "hunter2-secret")
    contains(t.run("inspect", "release", "scripted", "--only", "values").out, "a.example", "***")

    t.run("upgrade", "scripted", "-p", str(copy), "-s", "domain=b.example")
    changed = secret_of(t)
    equal(changed["admin"], first["admin"], "the other answer")
    check(changed["tls.crt"] != first["tls.crt"] and changed["tls.key"] == first["tls.key"], "the key stays, the certificate is another's")
    t.run("kpm", "uninstall", "scripted", "--yes", "--wait")


@test
def kpm_keeps_answers_that_one_revision_does_not_ask_for(t):
    copy = scripted(t, 'import kpm\nif kpm.confirm("auth"):\n    kpm.ask("admin.password", secret=True)\n')
    t.file("answers.yaml", "auth: true\nadmin: {password: hunter2-secret}\n")
    t.run("kpm", "install", "scripted", "-f", "answers.yaml")
    t.file(copy / "manifests/seen.yaml.tmpl",
           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen}\ndata: {key: {{ admin.password }}}\n")
    # The template has it from the values, although no script asks.
    shown = [t.run("diff", "scripted", "-p", str(copy), "-s", "auth=false", "-v", code=None),
             t.run("upgrade", "scripted", "-p", str(copy), "-s", "auth=false"), t.run("inspect", "release", "scripted")]
    for each in shown:
        check("hunter2" not in each.out + each.err, f"a secret answer is shown: {each.out}{each.err}")
    equal(t.kube.get("ConfigMap", t.ns, "seen")["data"], {"key": "hunter2-secret"})
    t.run("upgrade", "scripted", "-p", str(copy), "-s", "auth=true")
    equal(t.kube.get("ConfigMap", t.ns, "seen")["data"], {"key": "hunter2-secret"}, "it was asked for once more")
    t.run("kpm", "uninstall", "scripted", "--yes", "--wait")


@test
def kpm_shows_no_secret_answer_that_its_schema_refuses(t):
    copy = scripted(t, 'import kpm\nkpm.ask("admin.password", "Password", secret=True)\n')
    schema, words = copy / "values.schema.json", "admin.password: must have at least 20 characters"
    strict = '{"properties": {"admin": {"properties": {"password": {"minLength": 20}}}}}'
    t.file(schema, strict)
    terminal = Terminal([t.mistctl, "kpm", "install", "scripted"], t.environment(TERM="xterm", NO_COLOR="1"), 24, 200, t.dir)
    terminal.wait_for("Password")
    terminal.type("typed-secret\r")
    equal(terminal.finish(), 1, terminal.text())
    contains(terminal.text(), words)
    check("typed-secret" not in terminal.text(), "what is typed is shown")
    schema.unlink()
    t.file("answers.yaml", "admin: {password: hunter2-secret}\n")
    t.run("kpm", "install", "scripted", "-f", "answers.yaml")
    t.file(schema, strict)
    refused = t.refused("upgrade", "scripted", "-p", str(copy), "-s", "replicas=3", says=[words])
    check("hunter2" not in refused.out + refused.err, refused.err)
    t.run("kpm", "uninstall", "scripted", "--yes", "--wait")


@test
def kpm_shows_no_secret_that_a_script_looks_up(t):
    copy = scripted(t, 'import base64, kpm\nfrom mistletoe import lookup\n'
                    'own = lookup("v1", "Secret", kpm.release.namespace, "scripted")\n'
                    'key = base64.b64decode(own["data"]["key"]).decode() if own else "none yet"\n'
                    'kpm.render("templates/seen.yaml.j2", "manifests/seen.yaml", key=key)\n')
    t.file(copy / "templates/seen.yaml.j2", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen}\ndata: {key: {{ key }}}\n")
    t.file(copy / "manifests/secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: scripted}\nstringData: {key: looked-up-key}\n")
    t.run("kpm", "install", "scripted")
    shown = [t.run("diff", "scripted", "-p", str(copy), "-v", code=None), t.run("upgrade", "scripted", "-p", str(copy))]
    equal(t.kube.get("ConfigMap", t.ns, "seen")["data"], {"key": "looked-up-key"})
    for each in (*shown, t.run("inspect", "release", "scripted")):
        check("looked-up-key" not in each.out + each.err, f"what a script looked up is shown: {each.out}{each.err}")
    t.run("kpm", "uninstall", "scripted", "--yes", "--wait")


@test
def kpm_asks_where_somebody_is(t):
    scripted(t)
    terminal = Terminal([t.mistctl, "kpm", "install", "scripted"], t.environment(TERM="xterm", NO_COLOR="1"), 24, 100, t.dir)
    terminal.wait_for("Under which domain is it reached? [shop.example]")
    terminal.type("\r")
    terminal.wait_for("The password of the administrator")
    terminal.type("typed-secret\r")
    equal(terminal.finish(), 0, terminal.text())
    check("typed-secret" not in terminal.text(), "what is typed is shown")
    equal(secret_of(t)["admin"], b"typed-secret")
    contains(t.run("inspect", "release", "scripted", "--only", "values").out, "domain: shop.example")
    t.run("kpm", "uninstall", "scripted", "--yes", "--wait")


@test
def kpm_says_that_a_value_hides_an_answer(t):
    scripted(t)
    terminal = Terminal([t.mistctl, "kpm", "install", "scripted", "--set", "domain=null"],
                        t.environment(TERM="xterm", NO_COLOR="1"), 24, 200, t.dir)
    terminal.wait_for("Under which domain is it reached?")
    terminal.type("a.example\r")
    equal(terminal.finish(), 1, terminal.text())
    contains(terminal.text(), "a value of the command line hides the answer to domain")
    equal(terminal.text().count("Under which domain"), 1)
    equal(t.owned("scripted"), set())


@test
def kpm_keeps_a_secret_default_at_a_terminal(t):
    copy = scripted(t, 'import kpm\nadmin = kpm.ask("admin.password", "Password", default=kpm.password("admin"), secret=True)\n'
                    'kpm.ask("domain", "Domain", default="a.example")\n'
                    'open("manifests/secret.yaml", "w").write(kpm.to_yaml({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": kpm.release.name}, '
                    '"stringData": {"admin": admin}}))\n')
    t.file(copy / "values.schema.json", '{"properties": {"admin": {"properties": {"password": {"type": "string"}}}}}')
    terminal = Terminal([t.mistctl, "kpm", "install", "scripted"], t.environment(TERM="xterm", NO_COLOR="1"), 24, 100, t.dir)
    terminal.wait_for("Password [keep the default]")
    terminal.type("\r")
    # The schema is about values, and the default is none.
    terminal.wait_for("Domain [a.example]")
    terminal.type("b.example\r")
    equal(terminal.finish(), 0, terminal.text())
    drawn = secret_of(t)
    check(len(drawn["admin"]) > 8, "an empty line became an empty password")
    values = t.run("inspect", "release", "scripted", "--only", "values").out
    contains(values, "domain: b.example")
    check("password" not in values, "the default isn't an answer")
    t.run("upgrade", "scripted", "-p", str(t.dir / ".kpm/scripted"), "-s", "replicas=3")
    equal(secret_of(t), drawn, "after an upgrade")
    t.run("kpm", "uninstall", "scripted", "--yes", "--wait")


@test
def kpm_asks_of_dependencies_too(t):
    dependency = f"asks-{t.ns}"
    scripted(t, 'import kpm\nkpm.ask("owner", "Who owns it?")\n', dependency)
    above = t.dir / ".kpm/above"
    t.file(above / "K3.yaml", f"name: above\nversion: 1.0.0\ndependencies:\n  - name: {dependency}\n    version: '>= 1.0.0'\n")
    t.file(above / "manifests/a.yaml.tmpl", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ name }}\n")
    t.refused("kpm", "install", "above", "--with-dependencies", "-s", "owner=me",
              says=["asks for owner", f"while installing {dependency}, which above needs", f"kpm install {dependency} -f FILE"])
    equal(t.owned(dependency) | t.owned("above"), set(), "refused, and written all the same")
    t.file("owner.yaml", "owner: me\n")
    t.run("kpm", "install", dependency, "-f", "owner.yaml")
    t.run("kpm", "install", "above", "--with-dependencies")
    equal(t.owned("above"), {"ConfigMap/above"})
    for each in ("above", dependency):
        t.run("kpm", "uninstall", each, "--yes", "--wait")


HOSTILE = {
    "while True:\n    pass\n": ["time"],
    "x = []\nwhile True:\n    x.append(bytes(1 << 20))\n": ["memory"],
    "while True:\n    print('x' * 100000)\n": [],
    "for i in range(10**9):\n    open(f'manifests/{i}.yaml', 'w').write('x' * 10**7)\n": [],
    "open('/etc/passwd')\n": ["No such file", "pre-install.py"],
    "open('../../../../../../etc/passwd')\n": ["No such file"],
    "import os\nos.symlink('/etc/passwd', 'manifests/a.yaml')\n": ["pre-install.py"],
    "import os\nos.rename('manifests', '/tmp/m')\nopen('/package/manifests', 'w').write('x')\n": None,
    "import os\nraise SystemExit(repr(dict(os.environ)))\n": ["{}"],
    "import os\nraise SystemExit(str(sorted(os.listdir('/'))))\n": ["['package', 'tmp']"],
    "open('manifests/a.yaml', 'wb').write(bytes(range(256)))\n": ["isn't text"],
    "import socket\n": ["--allow-host-scripts"],
    "import os\nos.system('id')\n": ["os.system", "--allow-host-scripts"],
}


@test
def kpm_survives_hostile_scripts(t):
    for number, (script, says) in enumerate(HOSTILE.items()):
        copy = scripted(t, script, f"hostile{number}")
        answer = t.run("generate", "web", "-p", str(copy), "--limit-time", "2s", code=None)
        check("root:" not in answer.out + answer.err, f"{script}: reads files of this machine")
        if says is not None:
            check(answer.code == 1, f"{script}: exit code {answer.code}\n{answer.out}{answer.err}")
            contains(answer.err, *says)
            check("Internal" not in answer.err, answer.err)


@test
def kpm_runs_scripts_on_the_host_only_with_consent(t):
    copy = scripted(t, """import json, os, subprocess, sys
given = json.load(sys.stdin)
key = subprocess.run(["openssl", "rand", "-hex", "4"], capture_output=True, text=True, check=True).stdout.strip()
for path in ("/package/K3.yaml", "/etc/hostname", "/usr/x"):
    try:
        open(path, "a").close()
        sys.exit(f"{path} can be written")
    except OSError:
        pass
import socket
try:
    socket.create_connection(("127.0.0.1", 1), timeout=1)
except OSError as error:
    reach = error.strerror
seen = sorted(name for name in os.environ if name not in ("LC_CTYPE", "PWD"))
open("manifests/host.json", "w").write(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": given["release"]["name"]},
    "data": {"key": key, "environment": " ".join(seen), "net": " ".join(os.listdir("/sys/class/net") if os.path.exists("/sys/class/net") else []),
             "domain": given["values"]["domain"], "home": str(os.path.exists("/root"))}}))
os.remove("manifests/config.yaml.tmpl")
print("made on the host")
""")
    answers = ("-s", "domain=a.example")
    t.refused("kpm", "install", "scripted", *answers, says=["subprocess", "--allow-host-scripts"])
    refused = t.refused("kpm", "install", "scripted", *answers, "--allow-host-scripts", says=["nobody can be asked", "sha256:"])
    digest = re.search("sha256:[0-9a-f]{64}", refused.err)[0]
    t.refused("kpm", "install", "scripted", *answers, "--allow-host-scripts=sha256:" + "0" * 64, says=["is another one"])
    equal(t.owned("scripted"), set(), "nothing ran")
    t.env["PATH"] = str(t.dir)  # where there is no bubblewrap
    t.refused("kpm", "install", "scripted", *answers, f"--allow-host-scripts={digest}", says=["bubblewrap", "apt-get install"])
    del t.env["PATH"]
    contains(t.run("kpm", "install", "scripted", *answers, f"--allow-host-scripts={digest}").err, "made on the host")
    equal(t.owned("scripted"), {"ConfigMap/scripted"})
    data = t.kube.get("ConfigMap", t.ns, "scripted")["data"]
    equal((data["environment"], data["net"], data["domain"], data["home"]), ("HOME LANG PATH PYTHONDONTWRITEBYTECODE", "", "a.example", "False"))
    check(len(data["key"]) == 8, data)
    # It was allowed; then a byte changes.
    t.run("upgrade", "scripted", "-p", str(copy), *answers, "--allow-host-scripts")
    t.file(copy / "templates/helper", "x")
    t.refused("upgrade", "scripted", "-p", str(copy), *answers, "--allow-host-scripts", says=["nobody can be asked"])
    t.run("kpm", "uninstall", "scripted", "--yes", "--wait")


HOST_SCRIPT = """import json, subprocess, sys
given = json.load(sys.stdin)
key = subprocess.run(["echo", "made-by-a-program"], capture_output=True, text=True, check=True).stdout.strip()
with open("manifests/made.json", "w") as file:
    json.dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": given["release"]["name"]}, "data": {"key": key}}, file)
"""


@test
def kpm_shows_a_host_script_and_asks(t):
    copy = t.dir / ".kpm/hosted"
    t.file(copy / "K3.yaml", "name: hosted\nversion: 1.0.0\n")
    t.file(copy / "scripts/pre-install.py", HOST_SCRIPT)
    for answer, code in (("no", 1), ("yes", 0)):
        terminal = at_terminal(t, "kpm", "install", "hosted", "--allow-host-scripts")
        terminal.wait_for("Run it? ")
        shown = terminal.text().replace("\r\n", "\n")
        contains(shown, "needs the Python of this machine, because it uses subprocess", HOST_SCRIPT.rstrip(), "without network")
        check(re.search("sha256:[0-9a-f]{64}", shown), shown)
        equal(t.owned("hosted"), set(), "it ran before anybody allowed it")
        terminal.type(f"{answer}\r")
        equal(terminal.finish(), code, terminal.text())
        if answer == "no":
            contains(terminal.text(), "nothing was changed, because the answer was no")
            equal((t.owned("hosted"), t.record("hosted")), (set(), []), "refused, and written all the same")
    equal(t.kube.get("ConfigMap", t.ns, "hosted")["data"], {"key": "made-by-a-program"})
    # The consent is remembered, for these bytes.
    t.run("kpm", "upgrade", "hosted", "--allow-host-scripts")
    t.file(copy / "scripts/pre-install.py", HOST_SCRIPT + "# one byte more\n")
    changed = at_terminal(t, "kpm", "upgrade", "hosted", "--allow-host-scripts")
    changed.wait_for("Run it? ")
    contains(changed.text(), "# one byte more")
    changed.type("no\r")
    equal(changed.finish(), 1, changed.text())
    t.run("kpm", "uninstall", "hosted", "--yes", "--wait")


@test
def kpm_ends_a_host_script_that_uses_too_much(t):
    copy = t.dir / ".kpm/bomb"
    t.file(copy / "K3.yaml", "name: bomb\nversion: 1.0.0\n")
    t.file(copy / "scripts/pre-install.py", "import os, subprocess\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n")
    refused = t.refused("kpm", "install", "bomb", "--allow-host-scripts", says=["sha256:"])
    digest = re.search("sha256:[0-9a-f]{64}", refused.err)[0]
    # 256 Pythons are about as much memory as it may have: either limit may be seen first.
    t.refused("kpm", "install", "bomb", f"--allow-host-scripts={digest}",
              says=["scripts/pre-install.py was ended: it used more", "than it may", "with all that it starts, a script may have"])
    equal((t.owned("bomb"), t.record("bomb")), (set(), []))


@test
def kpm_tests_a_kube_and_leaves_nothing(t):
    archive(t)
    passed = t.run("kpm", "test", "nginx")
    contains(passed.out, "---> Installing into the namespace kpm-test-", "---> Nothing stays\n", "nginx-1.10.0 passes")
    name = passed.out.split("namespace ")[1].split(",")[0]
    check(t.kube.get("Namespace", None, name) is None, "its namespace stays")
    copy = t.dir / ".kpm/wrong"
    t.file(copy / "K3.yaml", "name: wrong\nversion: 1.0.0\n")
    # Only a server knows which ports there are.
    t.file(copy / "manifests/a.yaml", "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec:\n  ports:\n  - port: 70000\n")
    contains(t.refused("kpm", "test", "wrong").out, "Letting the server check", "Nothing stays")


@test
def kpm_test_takes_the_steps_of_a_catalog(t):
    """Of a directory that no archive has yet, and from the version before it, which one has."""
    web = t.dir / "web"
    def write(version, data):
        t.file(web / "K3.yaml", f"name: web\nversion: {version}\n")
        t.file(web / "manifests/map.yaml", f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n{data}")
    write("1.0.0", "data:\n  a: one\n")
    alone = t.run("kpm", "test", "./web").out
    contains(alone, "---> K3.yaml of web-1.0.0 is well formed\n", "---> lint: 1 remark\n",
             "---> The upgrade is not tried: no archive is configured", "---> Nothing stays\n", "---> web-1.0.0 passes\n")
    name = alone.split("namespace ")[1].split(",")[0]
    check(t.kube.get("Namespace", None, name) is None, "its namespace stays")
    minors = re.findall(r"---> Kubernetes (1\.\d+): every object fits its schema\n", alone)
    equal(len(minors), 3, alone)
    directory = t.dir / "own-archive"
    shutil.copytree(web, directory / "packages/web")
    git(str(directory), "init", "-q", "-b", "main")
    git(str(directory), "add", ".")
    git(str(directory), "commit", "-q", "-m", "one")
    t.run("kpm", "archive-add", "own", str(directory))
    t.run("kpm", "update")
    contains(t.run("kpm", "test", "./web").out, "The upgrade is not tried: no archive has a version of web before 1.0.0")
    write("1.1.0", "data:\n  a: two\n")
    contains(t.run("kpm", "test", "./web").out, "---> Uninstalling, and upgrading from 1.0.0 to 1.1.0...\n",
             "---> Upgraded from 1.0.0, 1 object ready\n", "---> web-1.1.0 passes\n")
    write("1.1.0", "dta:\n  a: two\n")
    refused = t.refused("kpm", "test", "./web",
                        says=["manifests/map.yaml:5", "did you mean data", "while testing web-1.1.0"])
    check("Installing into" not in refused.out, refused.out)
    equal(refused.out.count(": errors\n"), 4, refused.out)
    t.file(web / "K3.yaml", "name: Web\nversion: v1\n")
    t.refused("kpm", "test", "./web", says=["has 2 faults", "K3.yaml:1:7", "K3.yaml:2:10"])
    t.refused("kpm", "test", "./nothing", says=["there is no K3.yaml in"])


@test
def kpm_says_what_it_takes_in_place_of_a_directory_and_each_version_once(t):
    directory = archive(t)
    t.run("kpm", "archive-add", "again", directory)
    t.run("kpm", "update")
    t.refused("kpm", "install", "./nginx", says=["./nginx is a directory", "mistctl install NAME -p ./nginx"])
    refused = t.refused("kpm", "install", "nginx:9.9.9", says=["no archive has version 9.9.9 of nginx"])
    equal(refused.err.count("1.10.0"), 1, refused.err)


@test(waits=True)
def kpm_test_that_is_interrupted_removes_what_it_made(t):
    copy = t.dir / ".kpm/slow"
    t.file(copy / "K3.yaml", "name: slow\nversion: 1.0.0\n")
    deployment = f"slow-{t.ns}"
    t.file(copy / "manifests/a.yaml", json.dumps(workload("Deployment", deployment, "never-ready")))
    process = t.start("kpm", "test", "slow")

    def there():
        _, found = t.kube.request("GET", "/apis/apps/v1/deployments")
        return [each["metadata"]["namespace"] for each in found["items"] if each["metadata"]["name"] == deployment]
    t.kube.wait("the Deployment is there", there)
    name, = there()
    os.kill(process.pid, signal.SIGINT)
    stopped = t.finish(process, code=130)
    contains(stopped.out, "---> Nothing stays")
    contains(stopped.err, f"kubectl delete namespace {name}")
    check("mistctl recover" not in stopped.err, stopped)
    check(t.kube.get("Namespace", None, name) is None, "its namespace stays")


@test
def kpm_uses_no_kube_of_an_archive_while_the_trust_policy_is_broken(t):
    archive(t)
    t.env["MIST_TRUST_LOCATION"] = str(t.file("trust.yaml", "garbage: ["))
    t.refused("kpm", "install", "etcd-standalone", says=["trust.yaml:"])
    t.env["MIST_TRUST_LOCATION"] = str(t.dir / "elsewhere.yaml")
    t.refused("kpm", "install", "etcd-standalone", says=["elsewhere.yaml is not there"])
    equal((t.owned("etcd-standalone"), t.record("etcd-standalone")), (set(), []))


@test(waits=True)
def kpm_test_names_what_it_could_not_remove(t):
    copy, role = t.dir / ".kpm/held", f"held-{t.ns}"
    t.file(copy / "K3.yaml", "name: held\nversion: 1.0.0\n")
    t.file(copy / "manifests/a.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
           f"metadata:\n  name: {role}\n  finalizers: [example.com/hold]\nrules: []\n")
    t.cleanup(lambda: t.kube.request("PATCH", t.kube.path("ClusterRole", None, role), {"metadata": {"finalizers": None}},
                                     "application/merge-patch+json"))
    failed = t.refused("kpm", "test", "held", "--timeout", "5s", says=[f"ClusterRole {role}"])
    name = failed.out.split("namespace ")[1].split(",")[0]
    check(t.kube.get("Namespace", None, name) is None, "its namespace stays")
