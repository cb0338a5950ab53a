"""The guides in docs/ do what they show."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from guides import ROOT, Guide, blocks
from harness import check, equal, kubeconfig_text, test
from test_demo import git_registry


@test(waits=True)
def the_tutorial_does_what_it_shows(t):
    t.claim_namespace("tutorial")
    Guide(t, "docs/tutorial.md").run()


WEBSITES = "/apis/example.com/v1/websites"


def remove_websites(t):
    """Removes what a failed run of docs/first-blueprint.md leaves outside its namespaces."""
    status, answer = t.kube.request("GET", WEBSITES)
    for each in answer["items"] if status == 200 else ():
        t.kube.patch(WEBSITES, each["metadata"]["namespace"], each["metadata"]["name"], {"metadata": {"finalizers": None}})
    t.kube.delete("CustomResourceDefinition", None, "websites.example.com")
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        t.kube.delete(kind, None, "mistletoe-operator-website")


def quotes_all_of(guide, text):
    """The Nickel blocks are this file, in its order; only comments may be left out."""
    left_out = ""
    for block in (block for block in blocks(guide.path) if block.language == "nickel"):
        before, found, text = text.partition(block.text)
        check(found, f"{guide.path.name}:{block.line} isn't in the blueprint, or not at this place")
        left_out += before
    equal([line for line in (left_out + text).split("\n") if line.strip() and not line.strip().startswith("#")], [], "not quoted")


def run_as_its_pods(t, guide):
    """The installed operator, as a process with its Pods' flags and account: nothing runs on the cluster's simulated nodes."""
    container = t.kube.get("Deployment", "mistletoe", "operator")["spec"]["template"]["spec"]["containers"][0]
    flags = [flag for flag in container["args"] if not flag.startswith("--listen")]
    answer = t.kube.checked("POST", t.kube.path("ServiceAccount", "mistletoe", "operator") + "/token",
                            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    config = t.file("kubeconfig-operator", kubeconfig_text(t.kube.server, {"token": answer["status"]["token"]}, t.kube.ca, "mistletoe"))
    guide.start("installed-operator", shlex.join(["mistletoe-operator", "--kubeconfig", config, *flags]))


@test
def the_first_blueprint_is_as_documented(t):
    guide = Guide(t, "docs/first-blueprint.md")
    t.run("blueprint", "init", "website", str(t.dir / "template"))
    quotes_all_of(guide, (t.dir / "template/blueprint.ncl").read_text())
    git_registry(t)
    t.run("registry", "add", "local", "-g", f"file://{t.dir / 'packages.git'}")
    for name in ("first-blueprint", "mistletoe"):
        t.claim_namespace(name)
    t.cleanup(lambda: remove_websites(t))
    guide.run(before=lambda block: run_as_its_pods(t, guide) if "create serviceaccount" in block.text else None)


@test
def values_win_as_documented(t):
    t.claim_namespace("values")
    guide = Guide(t, "docs/values.md")
    guide.run()
    # The table of how to write them: each flag, and what the package sees.
    rows = re.search(r"^## How to write them\n(.*?)^## ", guide.path.read_text(), re.M | re.S)[1]
    flags = re.findall(r"`(-[^`]*)`", rows)
    guide.file("tls.crt", "pem")
    guide.file("any/Chart.yaml", "apiVersion: v2\nname: any\nversion: 1.0.0\n")
    guide.file("any/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
                                       "data: {text: {{ .Values | toJson | quote }}}\n")

    def values_of(flags):
        code, printed = guide.shell(f"mistctl generate x -p ./any {flags} -o json -q")
        check(code == 0, flags, printed)
        return json.loads(json.loads(printed)["items"][0]["data"]["text"])
    seen = {}
    for flag in flags:
        seen.update(values_of(flag))
    equal(seen, {"replicas": 3, "image": {"tag": 1.29}, "hosts": ["a.example", "b.example"], "note": "a,b",
                 "labels": {"example.com/team": "web"}, "build": "0123", "pattern": "a,b\\c", "cert": "pem",
                 "tolerations": [{"key": "gpu"}]})
    guide.file("any/values.yaml", "hosts: [a, b]\n")
    guide.file("hosts.yaml", "hosts: [c, d]\n")
    equal(values_of("--set 'hosts[0]=x'"), {"hosts": ["x"]}, "of the package's list no other item remains")
    equal(values_of("-f hosts.yaml --set 'hosts[0]=x'"), {"hosts": ["x", "d"]}, "one item of a file's list")


@test(waits=True)
def packages_are_called_as_documented(t):
    git_registry(t)  # builds what the page's own command then only publishes
    t.claim_namespace("platform")
    guide = Guide(t, "docs/calling.md")
    # A guide's directory is no checkout, and its HOME has neither Rust nor the cache of modules.
    guide.file("packages/publish.sh", "#!/usr/bin/env python3\nimport os, sys\n"
                                      f"os.execve({str(ROOT / 'packages/publish.sh')!r}, sys.argv, {dict(os.environ)!r})\n")
    (guide.directory / "packages/publish.sh").chmod(0o755)
    guide.run()


@test(waits=True)
def a_kube_is_written_as_documented(t):
    for who in ("AUTHOR", "COMMITTER"):
        t.env |= {f"GIT_{who}_NAME": "t", f"GIT_{who}_EMAIL": "t@example.com"}
    guide = Guide(t, "docs/kpm.md")
    t.env["HOME"] = str(guide.directory)
    t.claim_namespace("kubes")
    t.kube.namespace("kubes")
    t.env["KUBECONFIG"] = t.file("kubeconfig-kubes", kubeconfig_text(t.kube.server, {"token": t.token}, t.kube.ca, "kubes"))
    # The archive of the document is on this machine, and gets a version while it is read.
    archive = t.dir / "archive"
    shutil.copytree(ROOT / "packages/kpm", archive)

    def commit(message):
        for arguments in (["add", "."], ["commit", "-q", "-m", message]):
            subprocess.run(["git", "-C", archive, *arguments], check=True, env=guide.environment())
    subprocess.run(["git", "init", "-q", "-b", "main", archive], check=True, env=guide.environment())
    commit("one")
    kpm = shlex.quote(str(pathlib.Path(t.mistctl).with_name("kpm")))
    address = "https://example.com/kubes.git"
    guide.program("kpm", f'if [ "$1" = archive-add ] && [ "$3" = {address} ]; then set -- archive-add "$2" "file://{archive}"; fi\n'
                         f'if [ "$1" = archive-list ]; then {kpm} "$@" | sed "s|file://{archive}|{address}|"; else exec {kpm} "$@"; fi')

    def before(block):
        if "kpm upgrade nginx" in block.text:
            metadata = archive / "packages/nginx/K3.yaml"
            metadata.write_text(metadata.read_text().replace("version: 1.10.0", "version: 1.11.0"))
            commit("two")
        if "git init" in block.text:  # "in an empty directory"
            guide.directory = guide.directory / "kubes"
            guide.directory.mkdir()
    guide.run(before=before)


@test
def ownership_is_as_documented(t):
    t.claim_namespace("owners")
    Guide(t, "docs/ownership.md").run()


def installed_by_helm(t, guide, release, namespace):
    """As `helm install` leaves a release: objects of the manager helm with its annotations, and its record."""
    code, printed = guide.shell(f"mistctl package init shop --template chart && mistctl generate {release} -p ./shop -n {namespace} "
                                "-f values.yaml -o json 2>/dev/null > objects.json")
    check(code == 0, printed)
    t.kube.namespace(namespace)
    for item in json.loads((guide.directory / "objects.json").read_text())["items"]:
        item["metadata"].setdefault("annotations", {}).update({"meta.helm.sh/release-name": release,
                                                               "meta.helm.sh/release-namespace": namespace})
        t.kube.apply(item["kind"], namespace, item, "helm")
    t.kube.create("Secret", namespace, {"metadata": {"name": f"sh.helm.release.v1.{release}.v1",
                                                     "labels": {"owner": "helm", "name": release}}})


@test
def a_chart_that_looks_its_password_up_keeps_it_when_it_moves_from_helm(t):
    body = "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Release.Name }}}\ndata: {password: %s}\n"
    drawn = "{{ randAlphaNum 20 | b64enc }}"
    kept = '{{- $old := lookup "v1" "Secret" .Release.Namespace .Release.Name }}\n' + body % (
        "{{ if $old }}{{ $old.data.password }}{{ else }}%s{{ end }}" % drawn)
    for name, template in (("kept", kept), ("drawn", body % drawn)):
        t.kube.apply("Secret", t.ns, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
                                      "data": {"password": "b2xk"}}, "helm")
        chart = t.files(name, {"Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n", "templates/s.yaml": template})
        shown = t.run("diff", name, "-p", chart, "--adopt").out
        equal("*** (after)" in shown, name == "drawn", shown)
        if name == "drawn":
            t.refused("install", name, "-p", chart, "--adopt", says=["would get other secrets", f"Secret {t.ns}/drawn: .data.password"])
        else:
            t.run("install", name, "-p", chart, "--adopt")
        equal(t.kube.get("Secret", t.ns, name)["data"]["password"], "b2xk", name)


@test
def a_release_of_helm_moves_as_documented(t):
    t.claim_namespace("store")
    guide = Guide(t, "docs/from-helm.md")
    guide.file("values.yaml", "replicas: 2\n")
    installed_by_helm(t, guide, "shop", "store")
    t.kube.wait("the Deployment runs", lambda: t.kube.get("Deployment", "store", "shop").get("status", {}).get("readyReplicas"))
    sets = [item["metadata"]["uid"] for item in t.kube.list("ReplicaSet", "store")]
    guide.run()
    equal([item["metadata"]["uid"] for item in t.kube.list("ReplicaSet", "store")], sets, "nothing was restarted")
    equal(t.kube.list("Secret", "store", "owner=helm"), [], "Helm's record")
    deployment = t.kube.get("Deployment", "store", "shop")
    equal(deployment["spec"]["replicas"], 3, "the upgrade")
    equal(deployment["metadata"]["labels"]["app.kubernetes.io/managed-by"], "Helm", "as the chart renders it")
    check("meta.helm.sh/release-name" not in deployment["metadata"]["annotations"], "Helm's annotations go")
