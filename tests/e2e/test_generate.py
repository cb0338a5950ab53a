"""generate says what install does, and says it twice with the same bytes."""
import json
import pathlib
import shutil
import subprocess

from harness import check, config_map, contains, equal, secret, test, workload
from terminal import Terminal
from test_demo import ROOT, git_registry


def without_server_fields(live, wanted):
    """What of `live` was asked for: only the fields that `wanted` has, deep."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        return {key: without_server_fields(live.get(key), value) for key, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(live, list) and len(live) == len(wanted):
        return [without_server_fields(there, value) for there, value in zip(live, wanted)]
    return live


def compared(t, release, *arguments):
    """generate -r, then install; each object that generate printed is so in the cluster, and there are no others."""
    rendered = t.run("generate", release, *arguments, "-n", t.ns, "-r", "-o", "json").json["items"]
    t.run("install", release, *arguments)
    names = set()
    for wanted in rendered:
        kind, name = wanted["kind"], wanted["metadata"]["name"]
        names.add(f"{kind}/{name}")
        live = t.kube.get(kind, wanted["metadata"].get("namespace"), name)
        check(live, f"{kind} {name} was generated and is not there")
        equal(without_server_fields(live, wanted), wanted, f"{kind} {name}")
    return names


@test
def generate_equals_install(t):
    git_registry(t)
    made = t.namespace("made", create=False)
    equal(compared(t, made, "-p", "mistletoe/examples/namespace-example:0.1.2"), {f"Namespace/{made}"})
    web = compared(t, "hello", "-p", "mistletoe/examples/hello-web:0.1.0", "-s", "replicas: 1")
    equal(t.owned("hello"), web, "objects of the release")
    package = t.package("p", config_map("a"), secret("b"), workload("Deployment", "c"),
                        config_map("elsewhere", namespace=t.namespace("b")))
    equal(compared(t, "plain", "-p", package),
          {"ConfigMap/a", "Secret/b", "Deployment/c", "ConfigMap/elsewhere"})
    # Of what was just installed, generate gives exactly what an upgrade finds unchanged.
    equal(t.run("upgrade", "plain", "-p", package, "-o", "json").json["changed"], False)


@test
def the_same_bytes_twice(t):
    git_registry(t)
    arguments = ["generate", "hello", "-p", "mistletoe/examples/hello-web:0.1.0", "-s", "message: Ü\t☃", "-r"]
    first = t.run(*arguments)
    equal(t.run(*arguments).out, first.out, "the second time")
    equal(t.run(*arguments, kubeconfig=str(t.dir / "no-cluster")).out, first.out, "without a cluster")
    yaml = json.loads(t.run(*arguments, "-o", "json").out)
    equal(len(yaml["items"]), first.out.count("\nkind: "), "objects in JSON and YAML")
    # With a home of its own, as on another machine: this package draws nothing, so that changes nothing.
    process = subprocess.run([t.mistctl, *arguments], capture_output=True, text=True, cwd=t.dir,
                             env=t.environment(HOME=str(t.dir / "b")))
    equal(process.stdout, first.out, "elsewhere")
    directory = t.dir / "out"
    t.run(*arguments[:-1], "-o", f"dir={directory}")
    check(any(directory.rglob("*.yaml")), "no files were written")
    # What is there stays, unless the user says otherwise.
    mine = next(directory.rglob("*.yaml"))
    mine.write_text("mine")
    outcome = t.run(*arguments[:-1], "-o", f"dir={directory}", code=1)
    contains(outcome.err, "isn't empty", "--force")
    equal(mine.read_text(), "mine")
    t.run(*arguments[:-1], "-o", f"dir={directory}", "--force")
    check(mine.read_text() != "mine", "--force wrote nothing")


@test
def a_controller_gets_what_it_should_apply(t):
    """Of a chart with hooks, and of a package that is none, each with a test."""
    job = """---
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, annotations: {{helm.sh/hook: "{hook}"}}}}
spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: "example.com/{name}:1"}}]}}}}}}
"""
    hooks = {"migrate": "pre-install,pre-upgrade", "bye": "pre-delete", "back": "post-rollback", "check": "test"}
    t.file("shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    t.file("shop/crds/a.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.example.com}\n")
    t.file("shop/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n" +
           "".join(job.format(name=name, hook=hook) for name, hook in hooks.items()))
    arguments = ["generate", "web", "-p", str(t.dir / "shop"), "--for-controller"]
    items = t.run(*arguments, "-o", "json").json["items"]
    equal([each["metadata"]["name"] for each in items], ["as.example.com", "settings", "migrate"])
    contains(t.run(*arguments).out, "name: as.example.com", "name: migrate")
    equal(t.run(*arguments, "-o", "images").out, "example.com/migrate:1\n")
    plain = t.package("plain", config_map("settings"), config_map("probe", annotations={"mistletoe.dev/test": "true"}))
    items = t.run("generate", "web", "-p", plain, "--for-controller", "-o", "json").json["items"]
    equal([each["metadata"]["name"] for each in items], ["settings"])


@test
def guests_in_c_go_and_rust_are_alike(t):
    """The same package in three languages and two ABIs gives the same objects."""
    built = subprocess.run(["bash", ROOT / "tests/conformance/build.sh"], capture_output=True, text=True)
    check(built.returncode == 0, built.stderr)
    directory = pathlib.Path(built.stdout.strip().splitlines()[-1])
    modules = sorted(directory.glob("*.wasm"))
    equal({module.name.split("-")[0] for module in modules}, {"c", "go", "rust"}, "languages of the guests")
    outputs = {}
    for module in modules:
        outputs[module.name] = t.run("generate", "my-namespace", "-p", str(module), "-o", "json").out
    contains(next(iter(outputs.values())), '"kind": "Namespace"', "my-namespace")
    equal(len(set(outputs.values())), 1, json.dumps(outputs, indent=1)[:3000])


@test
def a_package_is_the_same_as_a_module_and_as_a_component(t):
    """One source, built both ways: the same bytes, secrets, log lines and errors."""
    built = subprocess.run(["bash", ROOT / "tests/conformance/build.sh"], capture_output=True, text=True)
    check(built.returncode == 0, built.stderr)
    directory = pathlib.Path(built.stdout.strip().splitlines()[-1]) / "rust"
    # One name, so that messages differ in nothing either.
    packages = {kind: str(shutil.copy(directory / f"both-{kind}.wasm", pathlib.Path(t.file(f"{kind}/both.wasm", ""))))
                for kind in ("reactor", "component")}
    t.file("seed", json.dumps({"seed": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "clock": "2026-01-01T00:00:00Z"}))
    contains(t.run("inspect", "package", packages["component"]).out, "v1 component", "both", "0.1.0")

    def rendered(package, *values):
        answers = []
        for output in ("yaml", "raw"):
            command = ["generate", "shop", "-p", package, "--seed-file", "seed", "-v", "--no-render-cache", "-o", output]
            process = subprocess.run([t.mistctl, *command, *values], capture_output=True, text=True, cwd=t.dir,
                                     env=t.environment())
            lines = [line for line in process.stderr.splitlines() if not line.startswith("… ")]  # progress, with times
            answers.append((process.returncode, process.stdout, "\n".join(lines).replace(package, "both.wasm")))
        return answers

    cases = ([], ["-s", "size=0"], ["-s", "size=200"], ["-s", "fail=no port"], ["-s", "size=many"], ["-s", "other=1"],
             ["--set-json", 'values={"a": [1, 2.5, -3, 1e300, "ä\\u2028❄", null, true], "b": {"c": ""}}'],
             ["--limit-requests", "3"], ["--limit-time", "1ms", "-s", "size=100000"], ["--limit-memory", "1"])
    for values in cases:
        one, other = (rendered(packages[kind], *values) for kind in ("reactor", "component"))
        if values and values[0].startswith("--limit-"):  # the backtrace, and where it stood, are the compiler's
            one, other = ([(code, out, [line.split(": it ")[0] for line in err.splitlines() if line.startswith("error: ")])
                           for code, out, err in answers] for answers in (one, other))
        equal(other, one, f"the component beside the module, with {values}")
        # Alike because they end at something else would be no proof.
        equal(one[0][0], 0 if values[:1] == ["--set-json"] or values in ([], ["-s", "size=0"], ["-s", "size=200"]) else 1,
              f"the exit code with {values}")
    check(rendered(packages["component"], "-s", "fail=no port")[0][0] == 1, "a failure succeeds")
    # A component has no way to answer with it: it says it, and ends.
    for kind in ("reactor", "component"):
        code, _, said = rendered(packages[kind], "-s", "panic=no port")[0]
        equal(code, 1, f"the exit code of a panic in a {kind}")
        contains(said, "the package panicked at ", ": no port")

    t.run("install", "shop", "-p", packages["component"])
    secret = t.kube.get("Secret", t.ns, "shop-0")["data"]["password"]
    contains(t.run("upgrade", "shop", "-p", packages["reactor"]).out, "revision 1")
    equal(t.kube.get("Secret", t.ns, "shop-0")["data"]["password"], secret, "the password under the module")


@test
def values_that_do_not_fit_the_schema(t):
    git_registry(t)
    package = "mistletoe/examples/hello-web:0.1.0"
    for command in (["generate"], ["install"]):
        t.refused(*command, "hello", "-p", package, "-s", "replicas: many", says=["replicas", "many"])
    mark = t.mark()
    t.refused("install", "hello", "-p", package, "-s", "replcas: 2", says=["replcas"])
    equal([r for r in t.requests(mark) if r.writes], [], "writes")


@test
def a_terminal_obeys_no_package(t):
    """What a chart writes is the peer's, byte for byte, but on a terminal, which would take orders."""
    order = "\u202eowned"  # turns around what follows; Helm itself refuses control characters
    chart = t.files("chart", {"Chart.yaml": "apiVersion: v2\nname: chart\nversion: 0.1.0\n", "templates/map.yaml":
                              f"# {order}\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n"})
    for output in ("helm", "raw"):
        command = ["generate", "shop", "-p", str(chart), "-o", output]
        contains(t.run(*command).out, order)
        terminal = Terminal([t.mistctl, *command], t.environment(TERM="xterm", NO_COLOR="1"), 24, 100, t.dir)
        equal(terminal.finish(), 0, "exit code")
        check(order not in terminal.text(), f"-o {output} sends orders to a terminal")
        contains(terminal.text(), "\\u202eowned")
