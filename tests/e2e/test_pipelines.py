"""The pipelines of docs/ci.md and docs/gitops.md, with their own files and scripts; only the service around them is played."""
import json
import re
import shutil

from guides import Guide
from harness import check, contains, equal, test
from test_rbac import Deployer, documented

PLAN_KEY = "a-long-random-text"


def parsed(t, text):
    """YAML as data: Python's library has no YAML, and a chart has."""
    t.files("yaml", {"Chart.yaml": "apiVersion: v2\nname: yaml\nversion: 1.0.0\n",
                     "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
                                         "data: {text: {{ .Values | toJson | quote }}}\n"})
    values = t.file("parsed.yaml", text)
    shown = t.run("generate", "x", "-p", str(t.dir / "packages/yaml"), "-f", values, "-o", "json").json
    return json.loads(shown["items"][0]["data"]["text"])


class Service:
    """What runs the jobs: a checkout for each, secrets, artifacts."""

    def __init__(self, t, document):
        self.t, self.guide = t, Guide(t, document)
        self.files = {name: text.replace("/tmp/kubeconfig", str(t.dir / "kubeconfig-of-the-job")).replace("-n shop ", f"-n {t.ns} ")
                      for name, text in self.guide.files().items()}
        self.artifacts = t.dir / "artifacts"
        self.artifacts.mkdir()
        code, printed = self.guide.shell("mistctl package init shop --template chart")
        check(code == 0, printed)
        self.guide.file("prod.yaml", "replicas: 3\n")
        self.checkouts = 0
        deployer = Deployer(t, "deployer", documented(t)["mistctl-upgrade"]["rules"])
        self.secrets = {"KUBECONFIG_DATA": open(deployer.kubeconfig).read(), "PLAN_KEY": PLAN_KEY}

    def checkout(self):
        self.checkouts += 1
        return shutil.copytree(self.guide.directory, self.t.dir / f"checkout-{self.checkouts}")

    def keep(self, directory, path):
        kept = (directory / path).read_bytes()
        check(b"Mistletoe" not in kept and b"replicas" not in kept, "an artifact that everybody can read")
        shutil.copy(directory / path, self.artifacts)

    def script(self, directory, script, code=0, **environment):
        ended, printed = self.guide.shell(script, directory, ["-eo", "pipefail"], **environment)
        check(ended == code, f"{script}\nends with {ended}:\n{printed}")
        check(PLAN_KEY not in printed and "seed" not in printed, printed)
        return printed

    def expanded(self, environment):
        return {name: re.sub(r"\$\{\{ (?:secrets\.)?(\S+) \}\}", lambda m: self.secrets.get(m[1], "x"), value)
                for name, value in (environment or {}).items()}

    def github(self, name, code=0):
        """The jobs of a workflow; `code` is that of the last step."""
        workflow, printed = parsed(self.t, self.files[f".github/workflows/{name}.yml"]), ""
        equal(workflow["defaults"]["run"]["shell"], "bash", "else a pipe hides an exit code")
        for job in sorted(workflow["jobs"].values(), key=lambda job: "needs" in job):
            directory = self.checkout()
            for step in job["steps"]:
                if "run" in step:
                    environment = {**self.expanded(job.get("env")), **self.expanded(step.get("env")), "GITHUB_REPOSITORY": "a/b",
                                   "GITHUB_STEP_SUMMARY": str(self.t.dir / "summary")}
                    printed += self.script(directory, step["run"], code if step is job["steps"][-1] else 0, **environment)
                elif step["uses"].startswith("actions/upload-artifact@"):
                    self.keep(directory, step["with"]["path"])
                else:
                    check(step["uses"].startswith("actions/checkout@"), step)
        return printed

    def gitlab(self, pipeline, jobs, code=0):
        printed = ""
        for name in jobs:
            job, directory = pipeline[name], self.checkout()
            check(job["stage"] in pipeline["stages"], job)
            for needed in job.get("needs", []):
                for path in pipeline[needed]["artifacts"]["paths"]:
                    shutil.copy(self.artifacts / path, directory)
            printed += self.script(directory, "\n".join(job["script"]), code, **pipeline["variables"], **self.secrets)
            for path in job.get("artifacts", {}).get("paths", []):
                self.keep(directory, path)
        return printed


def replicas(t):
    return t.kube.get("Deployment", t.ns, "shop")["spec"]["replicas"]


@test
def github_applies_the_plan_that_was_reviewed(t):
    service = Service(t, "docs/ci.md")
    service.guide.program("gh", f'case "$1 $2" in "run list") echo 42;; "run download") cp {service.artifacts}/* .;; *) exit 1;; esac')
    contains(service.github("plan"), f"Deployment {t.ns}/shop")
    contains((t.dir / "summary").read_text(), "create", f"Deployment {t.ns}/shop")
    check(t.kube.get("Deployment", t.ns, "shop") is None, "a pull request changes nothing")
    service.github("apply")
    equal(replicas(t), 3)
    service.guide.file("prod.yaml", "replicas: 4\n")
    service.github("plan")
    t.run("upgrade", "shop", "-p", str(service.guide.directory / "shop"), "--set", "replicas=1")
    contains(service.github("apply", code=1), "the plan is stale")
    equal(replicas(t), 1)


@test
def gitlab_applies_the_plan_that_was_reviewed(t):
    service = Service(t, "docs/ci.md")
    pipeline = parsed(t, service.files[".gitlab-ci.yml"])
    equal(pipeline["apply"]["rules"][0]["when"], "manual")
    contains(service.gitlab(pipeline, ["check", "plan"]), f"Deployment {t.ns}/shop")
    check(t.kube.get("Deployment", t.ns, "shop") is None, "a merge request changes nothing")
    service.gitlab(pipeline, ["apply"])
    equal(replicas(t), 3)
    contains(service.gitlab(pipeline, ["apply"], code=1), "the plan is stale")


@test
def flux_gets_a_commit_only_for_a_change(t):
    guide = Guide(t, "docs/gitops.md")
    guide.run()
    code, printed = guide.shell("git config --global user.email a@example.com && git config --global user.name a && "
                                "git init -q --bare -b main ../origin.git && git init -q -b main && git remote add origin ../origin.git && "
                                "mistctl package init shop --template chart && touch prod.yaml && git add shop prod.yaml && "
                                "git commit -qm Begin && git push -q origin main && cp begin.sh .. && sh ../begin.sh")
    check(code == 0, printed)

    def commits(number, prod):
        """After a merge that changes prod.yaml, in a fresh checkout as a job has it."""
        job = t.dir / f"job-{number}" / "checkout"
        job.parent.mkdir()
        code, printed = guide.shell(f"git clone -q origin.git {job} && cp guide/seed.json guide/render.sh {job}", t.dir)
        check(code == 0, printed)
        guide.file("prod.yaml", prod, job)
        code, printed = guide.shell("sh ./render.sh", job)
        check(code == 0, printed)
        return int(guide.shell("git -C origin.git rev-list --count rendered", t.dir)[1])
    equal(commits(1, ""), 2)
    equal(commits(2, ""), 2, "nothing changed")
    equal(commits(3, "replicas: 5\n"), 3)
    contains(guide.shell("git -C origin.git show rendered:shop.yaml", t.dir)[1], "replicas: 5", "kind: Service")
