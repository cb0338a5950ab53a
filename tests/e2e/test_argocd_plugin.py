"""`mistctl argocd-plugin`, driven as Argo CD drives a config management plugin (argo-cd: cmpserver/plugin/plugin.go,
reposerver/repository/repository.go). Argo CD itself isn't here."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from guides import Guide
from harness import check, contains, equal, test
from test_pipelines import parsed

TEXT_MEMBERS = ("name", "title", "tooltip", "itemType", "collectionType", "string")


class Refused(Exception):
    """What Argo CD shows of a command that failed: its standard error."""


class CmpServer:
    """The sidecar. `repository` is what Argo CD checked out; each call gets a copy in a directory of its own."""

    def __init__(self, t, plugin_yaml, repository, **sidecar):
        self.t, self.repository = t, pathlib.Path(repository)
        programs = t.dir / "sidecar-programs"
        programs.mkdir(exist_ok=True)
        if not (programs / "mistctl").exists():
            (programs / "mistctl").symlink_to(t.mistctl)
        self.sidecar = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": "/", "MIST_HOME_LOCATION": str(t.dir / "sidecar"), **sidecar}
        config = parsed(t, plugin_yaml)
        equal((config["apiVersion"], config["kind"]), ("argoproj.io/v1alpha1", "ConfigManagementPlugin"))
        check(config["metadata"]["name"] and config["spec"]["generate"]["command"], "as ValidatePluginConfig wants it")
        self.name = "-".join(filter(None, (config["metadata"]["name"], config["spec"].get("version"))))
        self.spec = config["spec"]

    def work_directory(self, path):
        """A copy without modes of files, as preserveFileMode: false has it."""
        root = pathlib.Path(tempfile.mkdtemp(prefix="cmp-", dir=self.t.dir)) / "work"
        shutil.copytree(self.repository, root, symlinks=True)
        for file in root.rglob("*"):
            if file.is_file() and not file.is_symlink():
                file.chmod(0o644)
        return root / path

    def command(self, command, directory, environment):
        """runCommand: standard output without its last newline; a failure has what was on standard error."""
        done = subprocess.run([*command["command"], *command.get("args", [])], cwd=directory,
                              env={**self.sidecar, **{name: value for name, value in environment.items() if value}},  # environ()
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.errors = done.stderr
        if done.returncode != 0:
            equal(done.stdout, "", "a failed command prints no objects")
            check(done.stderr.strip(), "a failed command says why")
            raise Refused(done.stderr)
        return done.stdout.removesuffix("\n")

    def matches(self, path=".", environment=None):
        discover = self.spec["discover"]
        equal(list(discover), ["find"])
        return self.command(discover["find"], self.work_directory(path), environment or {}) != ""

    def generate(self, path=".", environment=None):
        directory = self.work_directory(path)
        if "init" in self.spec:
            self.command(self.spec["init"], directory, environment or {})
        return self.command(self.spec["generate"], directory, environment or {})

    def parameters(self, path=".", environment=None):
        """The announcements, as encoding/json would fill []*ParameterAnnouncement."""
        printed = self.command(self.spec["parameters"]["dynamic"], self.work_directory(path), environment or {})
        announced = json.loads(printed)
        check(isinstance(announced, list), printed)
        for each in announced + self.spec["parameters"]["static"]:
            for name, value in each.items():
                right = (isinstance(value, bool) if name == "required" else
                         isinstance(value, list) and all(isinstance(item, str) for item in value) if name == "array" else
                         isinstance(value, dict) and all(isinstance(item, str) for item in value.values()) if name == "map" else
                         name in TEXT_MEMBERS and isinstance(value, str))
                check(right, f"{name} of {each}")
            check(each["name"], each)
            check(each.get("collectionType", "string") in ("", "string", "array", "map"), each)
        names = [each["name"] for each in announced + self.spec["parameters"]["static"]]
        equal(len(names), len(set(names)), "each name once")
        return {each["name"]: each for each in announced}

    def refused(self, *says, run=None, path=".", environment=None):
        try:
            printed = (run or self.generate)(path, environment)
        except Refused as refusal:
            contains(str(refusal), *says)
            return str(refusal)
        return check(False, f"is not refused: {printed}")


def escaped(name):
    return re.sub("[^A-Z0-9_]", "_", name.upper())


def plugin_environment(parameters=None, env=None):
    """Of an Application with a `plugin` section (getPluginParamEnvs)."""
    composed = {f"ARGOCD_ENV_{name}": value for name, value in (env or {}).items()}
    composed["ARGOCD_APP_PARAMETERS"] = json.dumps(parameters, separators=(",", ":"))
    for parameter in parameters or []:
        base = "PARAM_" + escaped(parameter["name"])
        if "string" in parameter:
            composed[base] = parameter["string"]
        for key, value in parameter.get("map", {}).items():
            composed[f"{base}_{escaped(key)}"] = value
        for index, value in enumerate(parameter.get("array", [])):
            composed[f"{base}_{index}"] = value
    return {name: value for name, value in composed.items() if "\0" not in value}


def generate_environment(name="web", namespace="prod", path=".", parameters=None, env=None, **more):
    """getPluginEnvs"""
    return {"ARGOCD_APP_NAME": name, "ARGOCD_APP_NAMESPACE": namespace, "ARGOCD_APP_PROJECT_NAME": "default",
            "ARGOCD_APP_REVISION": "f913b6cbf58aa5ae5ca1f8a2b149477aebcbd9d8", "ARGOCD_APP_REVISION_SHORT": "f913b6c",
            "ARGOCD_APP_SOURCE_REPO_URL": "https://git.example/team/deploy.git", "ARGOCD_APP_SOURCE_PATH": path,
            "ARGOCD_APP_SOURCE_TARGET_REVISION": "main", "KUBE_VERSION": "1.36.0",
            "KUBE_API_VERSIONS": "v1,apps/v1,apps/v1/Deployment", **plugin_environment(parameters, env), **more}


def objects(t, printed):
    """SplitYAML: each document is an object with a kind."""
    if not printed:
        return []
    t.files("printed", {"all.yaml": printed + "\n"})
    items = t.run("generate", "x", "-p", str(t.dir / "packages/printed"), "-o", "json").json["items"]
    equal(len(items), len([part for part in re.split(r"(?m)^---.*$", printed) if part.strip()]), "documents")
    check(all(item["kind"] and item["apiVersion"] and item["metadata"]["name"] for item in items), items)
    return items


def data(t, server, path=".", **environment):
    return {item["metadata"]["name"]: item.get("data", {})
            for item in objects(t, server.generate(path, generate_environment(path=path, **environment)))}


CHART = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "values.yaml": "replicas: 2\nimage: {tag: '1.0', pull: true}\nhosts: [a.example]\nlabels: {}\ntolerations: []\n",
    "values.schema.json": json.dumps({"type": "object", "required": ["owner"], "properties": {
        "owner": {"type": "string", "title": "Owner", "description": "Whom to call\nat night"},
        "replicas": {"type": "integer", "minimum": 1}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}}}),
    "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\n"
                        "data:\n  values: {{ omit .Values \"global\" | toJson | quote }}\n  kube: {{ .Capabilities.KubeVersion.Version | quote }}\n"
                        "  crd: '{{ .Capabilities.APIVersions.Has \"monitoring.coreos.com/v1\" }}'\n",
    "templates/hook.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: before\n  annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}\n",
    "templates/late.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: late\n  annotations: {helm.sh/hook: post-delete}\n",
    "templates/test.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: try\n  annotations: {helm.sh/hook: test}\n",
}
PLAIN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n"
KUSTOMIZATION = "resources: [a.yaml]\nnamePrefix: k-\n"


def repository(t, **more):
    """apps/shop is a chart, apps/plain is YAML, apps/kustomized a kustomization, apps/none nothing of these."""
    files = {f"apps/shop/{path}": text for path, text in CHART.items()}
    files |= {"apps/plain/a.yaml": PLAIN, "apps/kustomized/a.yaml": PLAIN, "apps/kustomized/kustomization.yaml": KUSTOMIZATION,
              "apps/none/README.md": "nothing\n", "common.yaml": "owner: everybody\nreplicas: 4\n", "apps/shop/prod.yaml": "replicas: 5\n"}
    return t.files("repository", files | more)


def plugin(t, repository_path, *flags, **sidecar):
    return CmpServer(t, t.run("argocd-plugin", "config", *flags).out, repository_path, **sidecar)


@test
def argocd_plugin_matches_only_what_asks_for_it(t):
    server = plugin(t, repository(t, **{"apps/marked/.argocd-mistletoe": "", "apps/marked/a.yaml": PLAIN, "apps/empty/.argocd-mistletoe": "",
                                        "apps/program/go.mod": "module x\n", "apps/program/a.yaml": PLAIN}))
    named = plugin_environment()
    equal(named["ARGOCD_APP_PARAMETERS"], "null", "as Go writes no parameters")
    for path in ("shop", "plain", "kustomized"):
        check(server.matches(f"apps/{path}", named), path)
        check(not server.matches(f"apps/{path}"), f"{path} stays with Argo CD")
    check(server.matches("apps/marked"), "an Application that says nothing")
    for path in ("none", "empty", "program"):
        check(not server.matches(f"apps/{path}", named), path)
    check(not server.matches("apps/empty"), "nothing to render")
    check(server.matches("apps/none", plugin_environment([{"name": "package", "string": "../shop"}])), "the package is elsewhere")
    equal(plugin(t, server.repository, "--name", "m", "--plugin-version", "v1.2").name, "m-v1.2")


@test
def argocd_plugin_generates_what_the_application_asks_for(t):
    server = plugin(t, repository(t))

    def values(**environment):
        return json.loads(data(t, server, "apps/shop", **environment)["web"]["values"])
    base = [{"name": "owner", "string": "7"}]
    equal(values(parameters=base), {"hosts": ["a.example"], "image": {"pull": True, "tag": "1.0"}, "labels": {}, "owner": "7",
                                    "replicas": 2, "tolerations": []})
    given = values(parameters=base + [{"name": "values", "array": ["/common.yaml", "prod.yaml"]}, {"name": "image.tag", "string": "2"},
                                      {"name": "image.pull", "string": "false"}, {"name": "hosts", "array": ["b", "c,d"]},
                                      {"name": "labels", "map": {"example.com/tier": "1"}}, {"name": "set", "map": {"image.more": "x,replicas=9"}}])
    equal(given, {"hosts": ["b", "c,d"], "image": {"more": "x,replicas=9", "pull": False, "tag": "2"},
                  "labels": {"example.com/tier": "1"}, "owner": "7", "replicas": 5, "tolerations": []})
    equal(values(env={"VALUES": "../../common.yaml,prod.yaml", "SET": "replicas=6\nimage.tag=x"})["replicas"], 6)
    equal(values(env={"VALUES": "prod.yaml", "SET": "replicas=6"}, parameters=base + [{"name": "set", "map": {"replicas": "7"}}])["replicas"], 7)

    printed = objects(t, server.generate("apps/shop", generate_environment("team-a_web.eu", path="apps/shop", parameters=base, KUBE_VERSION="v1.35.2",
                                                                           KUBE_API_VERSIONS="v1,monitoring.coreos.com/v1")))
    equal([item["metadata"]["name"] for item in printed], ["team-a-web-eu", "before"], "no tests, no hooks of deletions")
    equal(printed[0]["metadata"]["namespace"], "prod")
    equal((printed[0]["data"]["kube"], printed[0]["data"]["crd"]), ("v1.35.2", "true"))
    contains(printed[1]["metadata"]["annotations"]["helm.sh/hook"], "pre-install")
    equal(list(data(t, server, "apps/kustomized")), ["k-plain"])
    equal(list(data(t, server, "apps/plain", namespace="")), ["plain"], "no namespace is there")
    equal(list(data(t, server, "apps/none", parameters=[{"name": "package", "string": "../plain"}])), ["plain"])
    equal(list(data(t, server, "apps/none", env={"PACKAGE": "/apps/plain"})), ["plain"])
    server.refused("ARGOCD_APP_NAME", path="apps/plain", environment={})
    server.refused("is not a release name", "ARGOCD_APP_NAME", path="apps/plain", environment=generate_environment("a" * 64))


@test
def argocd_plugin_announces_the_inputs_of_a_package(t):
    server = plugin(t, repository(t, **{"apps/none/values.yaml": "a: 1\n"}))
    equal([each["name"] for each in server.spec["parameters"]["static"]], ["package", "values", "set"])
    application = {"ARGOCD_APP_NAME": "web", "ARGOCD_APP_SOURCE_PATH": "apps/shop", **plugin_environment()}  # populatePluginAppDetails
    announced = server.parameters("apps/shop", application)
    equal(announced["owner"], {"name": "owner", "title": "Owner", "tooltip": "Whom to call\nat night", "required": True,
                               "itemType": "string", "collectionType": "string"})
    equal(announced["replicas"], {"name": "replicas", "itemType": "number", "collectionType": "string", "string": "2"})
    equal(announced["image.pull"]["itemType"], "boolean")
    equal((announced["hosts"]["collectionType"], announced["hosts"]["array"]), ("array", ["a.example"]))
    equal((announced["labels"]["collectionType"], announced["labels"]["map"]), ("map", {}))
    check("tolerations" not in announced, "nobody says what it is a list of")
    equal(server.parameters("apps/kustomized", application), {})
    elsewhere = {**application, **plugin_environment([{"name": "package", "string": "../shop"}]), "ARGOCD_APP_SOURCE_PATH": "apps/none"}
    check("owner" in server.parameters("apps/none", elsewhere), "the package that the Application names")
    # generate takes the parameters that were announced.
    given = [{"name": name, each["collectionType"]: each.get(each["collectionType"], "me")} for name, each in announced.items()]
    equal(json.loads(data(t, server, "apps/shop", parameters=given)["web"]["values"])["replicas"], 2)


@test
def argocd_plugin_refuses_hostile_applications(t):
    secret = t.file("outside/secret.yaml", "owner: stolen\n")
    where = repository(t)
    (pathlib.Path(where) / "apps/link.yaml").symlink_to(secret)
    server = plugin(t, where, "--allow-package", "oci://127.0.0.1:1/team")

    def refused(*says, path="apps/shop", **environment):
        said = server.refused(*says, path=path, environment=generate_environment(path=path, **environment))
        check("\x1b" not in said and "stolen" not in said, said)
        return said

    def parameter(name, value, form="string"):
        return [{"name": "owner", "string": "me"}, {"name": name, form: value}]
    for text in ("no JSON", "{}", '[{"name": "a"}]', '[{"name": "a", "string": 3}]', "[" * 100000):
        refused("error: ", ARGOCD_APP_PARAMETERS=text)
        for run in (server.matches, server.parameters):
            server.refused("error: ", run=run, path="apps/shop", environment={"ARGOCD_APP_PARAMETERS": text})
    refused("control characters", parameters=parameter("a\nb\x1b[2J", "c"))
    refused("control characters", parameters=parameter("set", {"a\nb": "c"}, "map"))
    refused("leads out of", parameters=parameter("values", ["../link.yaml"], "array"))
    for path in (f"../../..{secret}", "../../../outside/secret.yaml"):
        refused("error: ", parameters=parameter("values", [path], "array"))
    refused("error: ", parameters=parameter("values", [secret], "array"))
    refused("error: ", parameters=parameter("values", ["/../../etc/hostname"], "array"))
    refused("error: ", parameters=parameter("values", ["-"], "array"))
    refused("error: ", parameters=parameter("values", ["--seed-file=x"], "array"))
    outside = t.files("elsewhere", {"a.yaml": PLAIN})
    refused("error: ", parameters=parameter("package", outside))
    refused("leads out of", parameters=parameter("package", "../../.."))
    refused("does not allow the package", "oci://127.0.0.1:1/team", parameters=parameter("package", "oci://127.0.0.1:1/teams/web:1"))
    refused("does not allow the package", parameters=parameter("package", "oci://127.0.0.1:1/team/../other/web:1"))
    refused("does not allow the package", parameters=parameter("package", "--help"))
    said = refused("error: ", parameters=parameter("package", "oci://127.0.0.1:1/team/web:1"))
    check("does not allow" not in said, "it is asked for")
    refused("ARGOCD_APP_NAMESPACE", namespace="Prod\n", parameters=parameter("a", "b"))
    refused("error: ", name="web\nkind: Pod", parameters=parameter("a", "b"))
    # The path that Argo CD says is only believed where it is.
    refused("leads out of", ARGOCD_APP_SOURCE_PATH="elsewhere/apps/shop", parameters=parameter("values", ["/../../common.yaml"], "array"))
    refused("replicas", parameters=parameter("replicas", "many"))


@test
def argocd_plugin_draws_from_its_seed_only(t):
    guide = Guide(t, "docs/gitops.md")
    guide.run()
    code, printed = guide.shell(guide.files()["sidecar.sh"].replace("-n argocd", f"-n {t.ns}"), options=["-e"])
    check(code == 0, printed)
    plugin_yaml = t.kube.get("ConfigMap", t.ns, "mistletoe-plugin")["data"]["plugin.yaml"]
    seed = guide.directory / "seed.json"
    seed.chmod(0o644)  # as a mounted Secret is
    plugin_yaml = plugin_yaml.replace("/etc/mistletoe/seed.json", str(seed))
    drawn = ("apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Release.Name }}}\n"
             "stringData: {password: {{ randAlphaNum 20 }}, at: '{{ now | date \"2006\" }}'}\n")
    where = t.files("drawing", {"Chart.yaml": CHART["Chart.yaml"], "templates/a.yaml": drawn})
    first, second = (CmpServer(t, plugin_yaml, where, MIST_HOME_LOCATION=str(t.dir / home)) for home in ("sidecar-1", "sidecar-2"))
    check(first.matches(".", plugin_environment()), plugin_yaml)
    printed = first.generate(".", generate_environment())
    contains(printed, "password: ")
    equal(second.generate(".", generate_environment()), printed, "a fresh container")
    check(second.generate(".", generate_environment(namespace="test")) != printed.replace("prod", "test"), "another namespace")
    unseeded = plugin(t, where)
    said = unseeded.refused("draws random values", "--seed-file", environment=generate_environment())
    check("password: " not in said, said)
    seed.unlink()
    first.refused("while reading the seed file", environment=generate_environment())


@test
def argocd_plugin_without_a_seed_gives_the_same_bytes_each_time(t):
    dated = PLAIN + "data: {at: '{{ now }}'}\n"
    where = t.files("dated", {"Chart.yaml": CHART["Chart.yaml"], "templates/a.yaml": dated})
    first, second = (plugin(t, where, MIST_HOME_LOCATION=str(t.dir / home)) for home in ("sidecar-1", "sidecar-2"))
    printed = first.generate(".", generate_environment())
    contains(printed, "2026-01-01")
    equal(second.generate(".", generate_environment()), printed)
    unwritable = plugin(t, where, MIST_HOME_LOCATION="/proc/nowhere")
    equal(unwritable.generate(".", generate_environment()), printed, "a home that can't be written")
