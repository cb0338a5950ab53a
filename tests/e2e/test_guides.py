"""The guides in docs/ do what they show."""
import json
import re

from guides import Guide
from harness import check, equal, test
from test_demo import git_registry


@test(waits=True)
def the_tutorial_does_what_it_shows(t):
    t.claim_namespace("tutorial")
    Guide(t, "docs/tutorial.md").run()


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
    git_registry(t)
    t.claim_namespace("platform")
    Guide(t, "docs/calling.md").run()


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
