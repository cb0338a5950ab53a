"""The examples of blueprints with exactly the rights that `mistctl blueprint rbac` prints, beside what `simulate` says of them."""
import json
import re

from harness import check, equal, test
from test_blueprint_commands import granted, grant, printed, used
from test_demo import ROOT
from test_operator import Operator

# Rights that a quiet life doesn't need: reading what somebody took its label from, the creation that an apply may be (the audit
# log has it as a patch), and saying why a workload doesn't become ready.
SPARE = {("list", "", "pods"), ("list", "", "events"), ("list", "apps", "replicasets")}


class Example:
    def __init__(self, t, name, plural):
        self.t, self.group = t, f"{t.ns}.example.com"
        source, files = ROOT / "examples/blueprints" / name, {}
        for file, word in (("blueprint.ncl", '"example.com"'), ("crd.yaml", "example.com")):
            if (source / file).exists():
                files[file] = (source / file).read_text().replace(word, word.replace("example.com", self.group))
        self.directory = t.files(name, files)
        self.name, self.text, self.path = name, files["blueprint.ncl"], f"/apis/{self.group}/v1/namespaces/{t.ns}/{plural}"
        if "crd.yaml" in files:
            t.run("install", "kinds", "-p", f"{self.directory}/crd.yaml", "--wait")
            t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
        else:
            t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"{plural}.{self.group}"))
        self.kind = re.search(r'kind = \{[^}]*?kind = "(\w+)"', self.text)[1]

    def run(self, instance, *changes, more=()):
        """An instance comes, changes and goes, as an account with the printed rights. `more`: what others have. Returns what was
        created, in order."""
        t = self.t
        for kind, body in more:
            t.kube.create(kind, t.ns, body)
        whole = {"apiVersion": f"{self.group}/v1", "kind": self.kind, "metadata": {"name": "web", "namespace": t.ns}, "spec": instance}
        rights = printed(t, "rbac", self.directory, "-n", t.ns, "--run-as", "worker", "--scenario", self.scenario(whole, more))
        equal((rights["unknown"], rights["guessed"]), ([], []), "what isn't known")
        t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "worker"}})
        grant(t, rights["manifests"])
        user = f"system:serviceaccount:{t.ns}:worker"
        roles = {(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in rights["manifests"] if "roleRef" in each
                 and any(subject["name"] == "worker" for subject in each["subjects"])}
        allowed = granted([each for each in rights["manifests"] if (each["kind"], each["metadata"]["name"]) in roles])
        t.kube.create("ConfigMap", t.ns, {"metadata": {
            "name": self.name, "labels": {"mistletoe.dev/blueprint": "true"}, "annotations": {"mistletoe.dev/service-account": "worker"}},
            "data": {"blueprint.ncl": self.text}})
        mark = t.mark()
        operator = Operator(t)
        t.kube.wait("the kind is served", lambda: t.kube.request("GET", self.path)[0] == 200)
        t.kube.checked("POST", self.path, whole)
        self.wait_ready()
        made = re.findall(r" created (\S+ \S+)", operator.said())
        made = [each for each in made if not each.startswith("CustomResourceDefinition")]
        for change in changes:
            t.kube.checked("PATCH", f"{self.path}/web", {"spec": change}, content_type="application/merge-patch+json")
            self.wait_ready()
        t.kube.checked("DELETE", f"{self.path}/web")
        t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{self.path}/web")[0] == 404, 120)
        asked = [each for each in t.requests(mark) if each.on_behalf_of == user]
        equal([each for each in asked if each.code == 403], [], "what it wasn't allowed to do")
        check("orbidden" not in operator.said(), operator.said())
        done = used(t, t.user, mark)
        idle = {each for each in allowed - done if each[0] not in ("get", "create", "bind")} - SPARE
        equal(idle, set(), "rights that aren't used")
        equal(operator.stop(), 0, "exit code")
        self.compare(whole, made, more)

    def wait_ready(self):
        def ready():
            found = self.t.kube.checked("GET", f"{self.path}/web")
            return any(each["type"] == "Ready" and each["status"] == "True" and each["observedGeneration"] == found["metadata"]["generation"]
                       for each in found.get("status", {}).get("conditions", []))
        try:
            self.t.kube.wait("it is ready", ready, 60)
        except AssertionError as late:
            raise AssertionError(f"{late}: {self.t.kube.checked('GET', f'{self.path}/web').get('status')}") from late

    def scenario(self, instance, more):
        events = [{"write": {"apiVersion": "v1", "kind": kind, **body, "metadata": {**body["metadata"], "namespace": self.t.ns}}}
                  for kind, body in more]
        return self.t.file("scenario.yaml", json.dumps({"instance": instance, "events": events}))

    def compare(self, instance, made, more):
        """What the simulation creates, round by round, is what the operator created."""
        played = printed(self.t, "simulate", self.directory, "--scenario", self.scenario(instance, more))
        left = list(made)
        for step in played["steps"]:
            for round_ in step["rounds"]:
                now = {" ".join(each.split()[1:3]) for each in round_["actions"] if each.startswith("create ")}
                equal(set(left[:len(now)]), now, f"what was created then, of {made}")
                left = left[len(now):]
        equal(left, [], "created, and not in the simulation")


@test
def printed_rights_are_enough_for_app(t):
    Example(t, "app", "apps").run({"image": "nginx:1", "replicas": 2, "publish": True}, {"replicas": 3}, {"publish": False})


@test
def printed_rights_are_enough_for_starter(t):
    Example(t, "starter", "starters").run({"image": "nginx:1", "replicas": 2, "public": True}, {"public": False})


@test
def printed_rights_are_enough_for_migration(t):
    Example(t, "migration", "sites").run({"version": "1", "replicas": 2}, {"version": "2"}, more=[
        ("ConfigMap", {"metadata": {"name": "shop", "labels": {"example.com/site": "web"}}, "data": {"host": "shop"}})])


@test
def printed_rights_are_enough_for_blue_green(t):
    Example(t, "blue-green", "sites").run({"color": "blue", "image": "shop:1"}, {"color": "green", "image": "shop:2"})


@test
def printed_rights_are_enough_for_fan_in(t):
    Example(t, "fan-in", "gateways").run({}, {"replicas": 2}, more=[
        ("Service", {"metadata": {"name": "shop", "labels": {"example.com/gateway": "web"}}, "spec": {"ports": [{"port": 80}]}})])


@test
def printed_rights_are_enough_for_tenant(t):
    t.cleanup(lambda: t.kube.delete("Namespace", None, "tenant-web"))
    Example(t, "tenant", "tenants").run({"members": ["ada"]}, {"members": ["ada", "bob"], "cpu": "5"})
