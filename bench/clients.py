"""The commands of each client for each operation, as somebody who knows the client well would type them."""

import shlex

VERBS = ("install", "no-op upgrade", "upgrade of one object", "diff of one object", "status", "uninstall")


class Client:
    """`commands(verb, …)`: what to run, or None if this client has no such operation; exit codes that are success."""
    name = ""
    codes = {}
    environment = {}

    def commands(self, verb, namespace, package, changed, waiting):
        raise NotImplementedError


class Mistctl(Client):
    name = "mistctl"

    def __init__(self, program):
        self.program = [program, "-q"]

    def commands(self, verb, namespace, package, changed, waiting):
        end = ["-n", namespace]
        wait = {"": [], "mix": ["--wait"], "mix-begun": ["--wait", "--no-wait-for-jobs"]}[waiting]
        return [*self.program, *{
            "install": ["install", "bench", "-p", package.directory, *wait],
            "no-op upgrade": ["upgrade", "bench", "-p", package.directory, *wait],
            "upgrade of one object": ["upgrade", "bench", "-p", changed.directory, *wait],
            "diff of one object": ["diff", "bench", "-p", package.directory],
            "status": ["status", "bench"],
            "uninstall": ["uninstall", "bench", "--yes"],
        }[verb], *end]


class Helm(Client):
    name = "helm"

    def __init__(self, program):
        self.program = program

    def commands(self, verb, namespace, package, changed, waiting):
        wait = {"": [], "mix": ["--wait", "--wait-for-jobs"], "mix-begun": ["--wait"]}[waiting]
        command = {
            "install": ["install", "bench", package.chart, *wait],
            "no-op upgrade": ["upgrade", "bench", package.chart, *wait],
            "upgrade of one object": ["upgrade", "bench", changed.chart, *wait],
            "diff of one object": None,
            "status": ["status", "bench"],
            "uninstall": ["uninstall", "bench"],
        }[verb]
        return command and [self.program, *command, "-n", namespace]


class Kubectl(Client):
    name = "kubectl"
    codes = {"diff of one object": (1,)}

    def __init__(self, program):
        self.program = program

    def apply(self, file):
        return ["apply", "--server-side", "-f", file]

    def applied(self, package, waiting):
        """A definition must be established before kubectl knows what its objects are; and it waits by commands of their own."""
        steps = []
        if package.definitions:
            steps += [self.apply(package.definitions), ["wait", "--for=condition=Established", "-f", package.definitions]]
        steps.append(self.apply(package.file))
        if waiting:
            steps.append(["rollout", "status", "deployment"])
        if waiting == "mix":
            steps.append(["wait", "--for=condition=Complete", "job", "--all"])
        return steps

    def commands(self, verb, namespace, package, changed, waiting):
        # Definitions last: deleted first, they would take away what is to be deleted by its name.
        files = [word for file in (package.file, package.definitions) if file for word in ("-f", file)]
        steps = {
            "install": self.applied(package, waiting),
            "no-op upgrade": self.applied(package, waiting),
            "upgrade of one object": self.applied(changed, waiting),
            "diff of one object": [["diff", "--server-side", *files]],
            "status": [["get", *files]],
            # Its default waits for each object in turn, five a second.
            "uninstall": [["delete", "--wait=false", *files]],
        }[verb]
        steps = [[self.program, *step, "-n", namespace] for step in steps]
        if len(steps) == 1:
            return steps[0]
        return ["/bin/sh", "-c", " && ".join(shlex.join(map(str, step)) for step in steps)]


class KubectlApplySet(Kubectl):
    """kubectl that prunes: shown beside the others, no part of the ratios."""
    name = "kubectl applyset"
    environment = {"KUBECTL_APPLYSET": "true"}

    def apply(self, file):
        if file.name == "definitions.yaml":
            return super().apply(file)
        return ["apply", "--server-side", "--prune", "--applyset=bench", "-f", file]

    def commands(self, verb, namespace, package, changed, waiting):
        if verb in ("diff of one object", "status"):
            return None
        return super().commands(verb, namespace, package, changed, waiting)


class Floor(Client):
    """Bare requests in parallel, ConfigMaps only."""
    name = "floor"

    def __init__(self, program, kubeconfig):
        self.program, self.kubeconfig = program, kubeconfig

    def commands(self, verb, namespace, package, changed, waiting):
        word = {"install": "apply", "no-op upgrade": "list", "uninstall": "delete"}.get(verb)
        if waiting or word is None:
            return None
        return [self.program, word, self.kubeconfig, namespace, str(package.objects)]


def list_commands(mistctl, helm):
    return {"mistctl": [mistctl, "-q", "list", "-A"], "helm": [helm, "list", "-A", "--max", "5000"]}
