"""The package mistletoe-operator, and blueprints with rights, as the documents say it: with the rights of the accounts that they name."""
import json
import re

from guides import Guide, blocks
from harness import check, contains, equal, test
from test_blueprint_commands import config_of
from test_demo import ROOT, git_registry
from test_operator import Operator, wait_ready


def commands(text, heading):
    """Those below a heading, one to a line."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## )", text, re.M | re.S)[1]
    return "\n".join(re.findall(r"^    (.*)$", section, re.M)).replace("\\\n", "").split("\n")


class Site:
    """Where the commands of a document are run, for a blueprint `name` and in namespaces, kinds and roles of this test alone."""

    def __init__(self, t, document, name):
        self.t, self.name, self.guide = t, name, Guide(t, document)
        self.group, self.plural = f"{t.ns}.example.com", name.replace("-", "") + "s"
        self.address = f"/apis/{self.group}/v1/namespaces/{t.ns}/{self.plural}"
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            t.cleanup(lambda kind=kind: t.kube.delete(kind, None, f"mistletoe-operator-{name}"))
        t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"{self.plural}.{self.group}"))

    def run(self, line, directory=None):
        line = line.replace("-n mistletoe", f"-n {self.t.ns}").replace("web-app", self.name)
        line = line.replace(f"blueprint init {self.name}", f"blueprint init {self.name} --group {self.group}")
        line = line.replace("apply -f instance.yaml", f"apply -f instance.yaml -n {self.t.ns}")
        code, said = self.guide.shell(line, directory)
        check(code == 0, line, said)
        return said

    def wait_served(self):
        self.t.kube.wait("the kind is served", lambda: self.t.kube.request("GET", self.address)[0] == 200)

    def check_made_by(self, account, mark):
        """The instance's objects are made as the blueprint's account, and are deleted with it."""
        t = self.t
        wait_ready(t, self.address)
        made = [r for r in t.requests(mark, f"system:serviceaccount:{t.ns}:mistletoe-operator") if r.writes and r.resource == "deployments"]
        equal({r.on_behalf_of for r in made}, {f"system:serviceaccount:{t.ns}:{account}"}, "who made it")
        t.kube.checked("DELETE", f"{self.address}/web")
        t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{self.address}/web")[0] == 404)
        t.kube.delete("ConfigMap", t.ns, self.name)
        t.kube.wait("the blueprint is gone", lambda: t.kube.get("ConfigMap", t.ns, self.name) is None)


@test
def an_operator_is_installed_and_given_rights_as_its_page_says(t):
    git_registry(t)
    t.run("registry", "add", "local", "-g", f"file://{t.dir / 'packages.git'}")
    page = (ROOT / "docs/operator.md").read_text()
    site = Site(t, "docs/operator.md", "page-app")
    install = [line for line in commands(page, "In a cluster") if line.startswith(("kubectl create serviceaccount", "mistctl install"))]
    equal(len(install), 2, install)
    said = [site.run(line) for line in install][-1]
    contains(said, f"mistctl blueprint rbac ./BLUEPRINT -n {t.ns} --service-account mistletoe-operator --run-as page-app")
    for line in commands(page, "For authors"):
        site.run(line)
    # No Pod of the tests' cluster runs a program: this is the one of the Deployment, with its account and its flags.
    pod = t.kube.get("Deployment", t.ns, "mistletoe-operator")["spec"]["template"]["spec"]
    flags = [flag for flag in pod["containers"][0]["args"] if not flag.startswith("--listen=")]
    mark = t.mark()
    operator = Operator(t, "--kubeconfig", config_of(t, pod["serviceAccountName"]), *flags)
    site.run("kubectl apply -f web-app/crd.yaml")
    site.wait_served()
    site.run("kubectl create configmap web-app -n mistletoe --from-file=web-app/blueprint.ncl")
    site.run("kubectl label configmap web-app -n mistletoe mistletoe.dev/blueprint=true")
    site.run("kubectl apply -f instance.yaml", site.guide.directory / "page-app")
    site.check_made_by("page-app", mark)
    equal(operator.stop(), 0, "exit code")


@test
def an_upgrade_turns_sharding_on_and_off(t):
    git_registry(t)
    t.run("registry", "add", "local", "-g", f"file://{t.dir / 'packages.git'}")
    arguments = ["-p", "local/examples/mistletoe-operator:0.1.0", "-s", "image=operator:1", "-q"]
    t.run("install", "operator", *arguments)
    for sharding, strategy in ((True, {"type": "Recreate"}), (False, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})):
        t.run("upgrade", "operator", *arguments, "-s", f"sharding={str(sharding).lower()}")
        equal(t.kube.get("Deployment", t.ns, "operator")["spec"]["strategy"], strategy)


@test
def a_new_blueprint_runs_as_its_readme_says(t):
    site = Site(t, "examples/blueprints/starter/README.md", "readme-app")
    site.run("mistctl blueprint init web-app")
    directory = site.guide.directory / site.name
    readme = (directory / "README.md").read_text()
    lines = re.findall(r"^    (.*)$", readme[readme.index("On a cluster"):], re.M)
    t.kube.create("ServiceAccount", t.ns, {"metadata": {"name": "mistletoe-operator"}})
    mark, operator = t.mark(), None
    for line in lines:
        site.run(line, directory)
        if "blueprint rbac" in line:  # without any right, which its package gives it, it doesn't start
            operator = Operator(t, "--kubeconfig", config_of(t, "mistletoe-operator"))
        if "crd.yaml" in line:
            site.wait_served()
    site.check_made_by("readme-app", mark)
    equal(operator.stop(), 0, "exit code")


class Rendered:
    """The package as docs/release-resource.md installs it. It is rendered alone: the CRD and the ClusterRole are the cluster's, and
    other tests use them."""

    def __init__(self, t):
        git_registry(t)
        t.run("registry", "add", "local", "-g", f"file://{t.dir / 'packages.git'}")
        self.guide = Guide(t, "docs/release-resource.md")
        page = self.guide.path.read_text().replace("\\\n", "")
        install = re.search(r"^    mistctl install (mistletoe-operator .*) --create-namespace (.*) --wait$", page, re.M)
        self.arguments = f"{install[1]} {install[2]}"

    def objects(self, more=""):
        code, printed = self.guide.shell(f"mistctl generate {self.arguments} {more} -o json -q")
        check(code == 0, printed)
        return {each["kind"]: each for each in json.loads(printed)["items"]}


@test
def the_page_of_releases_installs_an_operator_that_keeps_them(t):
    objects = Rendered(t).objects()
    contains(" ".join(objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]), "--releases=all")
    equal([rule["resourceNames"] for rule in objects["ClusterRole"]["rules"] if rule["verbs"] == ["impersonate"]], [["deployer"]])
    check("CustomResourceDefinition" in objects, list(objects))


@test
def the_page_of_releases_makes_the_secrets_that_the_operator_mounts(t):
    page = Rendered(t)
    for name in (".netrc", "config.yaml", "trust.yaml", "release.pub", "minisign.pub"):
        page.guide.file(name, f"{name}\n")
    block = next(block for block in blocks(page.guide.path) if "docker-registry" in block.text)
    *makes, upgrade = block.text.replace("\\\n", "").replace("-n mistletoe", f"-n {t.ns}").strip().split("\n")
    code, said = page.guide.shell("\n".join(makes), options=["-e"], TOKEN="token")
    check(code == 0, said)
    pod = page.objects(" ".join(re.findall(r"--set \S+", upgrade)))["Deployment"]["spec"]["template"]["spec"]
    mounted = [(kind, volume[source][name], [item["key"] for item in volume[source].get("items", [])]) for volume in pod["volumes"]
               for kind, source, name in (("Secret", "secret", "secretName"), ("ConfigMap", "configMap", "name")) if source in volume]
    equal([name for _, name, _ in mounted], ["registries", "git", "mistletoe", "signers"])
    for kind, name, keys in mounted:
        check(set(keys) <= set(t.kube.get(kind, t.ns, name)["data"]), f"{kind} {name} lacks one of {keys}")
