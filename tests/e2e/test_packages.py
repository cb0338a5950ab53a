"""The starting packages: what they render, on which Kubernetes it is valid, and the platform that calls the others."""
import base64
import json
import re
import stat

from harness import check, contains, equal, test
from test_demo import ROOT, git_registry
from test_secrets import SEED, built

PLATFORM = "mistletoe/examples/platform-example:0.2.0"
PACKAGES = ("mariadb", "redis", "microservice", "mistletoe-operator", "platform-example")
KUBERNETES = ("v1.35.0", "v1.36.0", "v1.37.0")


def module(name):
    return str(next(built("packages/build.sh").glob(f"{name}-*.mist-pack.wasm")))


@test
def starting_packages_render_what_their_golden_files_show(t):
    git_registry(t)
    for name in PACKAGES:
        cases = str(ROOT / "packages" / name / "tests")
        contains(t.run("package", "test", module(name), "--cases", cases).out, " ok\n")
        found = t.run("package", "lint", module(name), "--cases", cases, "--strict", "-o", "json").json["findings"]
        # That passwords are drawn is what these packages are for.
        equal([f for f in found if f["rule"] != "drawn"], [], name)


@test
def starting_packages_are_valid_for_three_kubernetes(t):
    git_registry(t)
    users = json.dumps([{"username": "web", "database": "shop"}, {"username": "report", "database": "shop", "access": "readOnly"}])
    for version in KUBERNETES:
        for name, values in (("mariadb", ["--set-json", f"users={users}"]), ("redis", ["--set-json", 'users=[{"username":"web"}]']),
                             ("microservice", []), ("mistletoe-operator", ["--set", "image=operator:1"]), ("platform-example", [])):
            t.run("generate", "shop", "-p", module(name), "--validate", "--kube-version", version, *values)


def secret(t, name):
    """The decoded data of a live Secret."""
    return {key: base64.b64decode(value).decode() for key, value in t.kube.get("Secret", t.ns, name)["data"].items()}


# Server and user of each pair that logs in, and the variable of the service with the password.
USERS = (("mariadb", "mic-a", "DATABASE"), ("mariadb", "mic-b", "DATABASE"), ("redis", "mic-b", "CACHE"), ("redis", "mic-c", "CACHE"))


def passwords(t, release):
    """{(server, user): password}, as the servers have them; the services have the same."""
    found = {("mariadb", "root"): secret(t, f"{release}-mariadb-root")["password"],
             ("redis", "admin"): secret(t, f"{release}-redis-admin")["password"]}
    sql = secret(t, f"{release}-mariadb-users")["users.sql"]
    for server, user, variable in USERS:
        login = secret(t, f"{release}-{server}-user-{user}")
        of_service = secret(t, f"{release}-{user}-credentials")
        equal((of_service[f"{variable}_USERNAME"], of_service[f"{variable}_PASSWORD"], of_service[f"{variable}_HOST"]),
              (login["username"], login["password"], login["host"]), f"{user} of {server}")
        if server == "mariadb":
            contains(sql, f"ALTER USER '{user}'@'%' IDENTIFIED BY '{login['password']}';")
        found[server, user] = login["password"]
    return found


def templates(t, release):
    """{name: the annotations of the Pods of a workload}: another one rolls them."""
    return {item["metadata"]["name"]: item["spec"]["template"]["metadata"]["annotations"]
            for kind in ("Deployment", "StatefulSet") for item in t.kube.list(kind, t.ns)
            if item["metadata"]["name"].startswith(release)}


def holders(directory, words):
    """The files below a directory that hold one of these words."""
    return [str(path) for path in directory.rglob("*") if path.is_file() and any(word in path.read_bytes() for word in words)]


@test
def a_platform_of_services_that_share_databases(t):
    git_registry(t)
    # Every Pod must pass the strictest of the Pod Security Standards.
    t.kube.patch("Namespace", None, t.ns, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    status, _ = t.kube.request("POST", t.kube.path("/api/v1/pods", t.ns), {
        "metadata": {"name": "careless"}, "spec": {"containers": [{"name": "a", "image": "a"}]}})
    equal(status, 403, "a Pod that says nothing of its security")
    said = ""
    for release in ("shop-a", "shop-b"):
        installed = t.run("install", release, "-p", PLATFORM, "--wait", "-v")
        said += installed.out + installed.err
        status = t.run("status", release, "-o", "json")
        said += status.out
        equal({o["health"] for o in status.json["objects"]}, {"ready"}, f"health of {release}")
        for service in ("mic-a", "mic-b", "mic-c"):
            container = t.kube.get("Deployment", t.ns, f"{release}-{service}")["spec"]["template"]["spec"]["containers"][0]
            others = " ".join(f"{release}-{other}" for other in ("mic-a", "mic-b", "mic-c") if other != service)
            equal({e["name"]: e["value"] for e in container["env"]}["PEERS"], others, f"who {service} knows")
    a, b = passwords(t, "shop-a"), passwords(t, "shop-b")
    equal(len({*a.values(), *b.values()}), 12, "different passwords")
    objects = {release: {(o["kind"], o["name"]) for o in t.run("status", release, "-o", "json").json["objects"]} for release in ("shop-a", "shop-b")}
    equal(objects["shop-a"] & objects["shop-b"], set(), "objects that both have")
    equal(objects["shop-b"], {(kind, name.replace("shop-a", "shop-b")) for kind, name in objects["shop-a"]}, "objects of the second")

    mark = t.mark()
    contains(t.run("upgrade", "shop-a").out, "nothing was written")
    equal([r for r in t.requests(mark) if r.writes], [], "writes of an upgrade without changes")

    contains(t.refused("upgrade", "shop-a", "--rotate-secrets=mariadb/mic-x", code=2).err,
             "mariadb/mic-a, mariadb/mic-b, mariadb/root, redis/admin, redis/mic-b, redis/mic-c")
    for server, user, rolled in (("mariadb", "mic-a", {"shop-a-mariadb", "shop-a-mic-a"}), ("redis", "mic-b", {"shop-a-redis", "shop-a-mic-b"}),
                                 ("redis", "admin", {"shop-a-redis"})):
        before, old = templates(t, "shop-a"), passwords(t, "shop-a")
        rotated = t.run("upgrade", "shop-a", f"--rotate-secrets={server}/{user}", "--wait", "-v")
        said += rotated.out + rotated.err
        new, after = passwords(t, "shop-a"), templates(t, "shop-a")
        equal({key for key in old if new[key] != old[key]}, {(server, user)}, "rotated passwords")
        equal({name for name in before if after[name] != before[name]}, rolled, f"what {server}/{user} rolls")
        a = {**a, (server, user, "before"): old[server, user], **new}
    equal(passwords(t, "shop-b"), b, "the other platform's passwords")

    # A package's own user is as secret as that of its caller, in all that is printed or kept, except in Secrets.
    words = [*a.values(), *b.values()]
    words += [base64.b64encode(word.encode()).decode() for word in words]
    for command in (("status", "shop-a", "-o", "json"), ("status", "shop-a"), ("history", "shop-a", "-o", "json"), ("list", "-o", "json"),
                    ("graph", "shop-a", "--packages", "-o", "json"), ("graph", "shop-a", "-o", "mermaid"), ("inspect", "release", "shop-a", "-o", "json"),
                    ("diff", "shop-a", "--rotate-secrets", "-o", "json"), ("diff", "shop-a", "--rotate-secrets"),
                    ("plan", "shop-a", "--rotate-secrets", "-o", "plan"), ("upgrade", "shop-a", "--rotate-secrets", "--dry-run", "-v")):
        ran = t.run(*command)
        said += ran.out + ran.err
    equal([word for word in words if word in said], [], "passwords that were printed")
    equal(stat.S_IMODE((t.dir / "plan").stat().st_mode), 0o600, "the mode of a plan, which is allowed to hold Secrets")
    equal(holders(t.dir / "home", [word.encode() for word in words]), [], "files with a password")

    for release in ("shop-a", "shop-b"):
        t.run("uninstall", release, "--yes")


@test
def a_platform_is_drawn_with_what_it_calls(t):
    git_registry(t)
    t.run("install", "shop", "-p", PLATFORM)
    graph = t.run("graph", "shop", "--packages", "-o", "json").json
    equal([(c["name"], graph["packages"][c["called"]]["install"], graph["packages"][c["called"]]["version"]) for c in graph["calls"]],
          [("mariadb", "shop-mariadb", "0.1.0"), ("redis", "shop-redis", "0.1.0"), ("microservice", "shop-mic-a", "0.1.0"),
           ("microservice", "shop-mic-b", "0.1.0"), ("microservice", "shop-mic-c", "0.1.0")], "who was called")
    drawn = t.run("graph", "shop", "--packages", "-o", "mermaid").out
    equal(len(re.findall(r'-->\|"microservice"\|', drawn)), 3, drawn)
    made = {(o["object"]["kind"], o["object"]["metadata"]["name"]): o["package"]
            for o in t.run("inspect", "release", "shop", "-o", "json").json["revisions"][-1]["objects"]}
    equal(made["StatefulSet", "shop-redis"], "platform-example → redis", "who made it")
    equal(made["Deployment", "shop-mic-c"], "platform-example → microservice", "who made it")


@test
def a_platform_of_crates_gives_the_same_bytes(t):
    git_registry(t)
    seed = t.file("seed", SEED)
    # Secrets are keyed by the package's name, so it takes that of the other one.
    own = t.run("inspect", "package", module("platform-of-crates"), "-o", "json").json["metadata"]["spec"]
    metadata = t.file("metadata.json", json.dumps({"apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": "platform-example"},
                                                   "spec": {"version": own["version"], "inputs": own["inputs"]}}))
    t.run("package", "build", module("platform-of-crates"), "-m", metadata, "-o", "crates.wasm")
    for values in ([], ["-s", "replicas=1", "-s", "databaseSize=2Gi", "-s", "cacheSize=3Gi"],
                   ["-s", "image=registry.example/mic:1", "-s", "mariadbImage=mariadb:11.4", "-s", "redisImage=redis:7.4"]):
        called, linked = (t.run("generate", "shop", "-p", package, "--seed-file", seed, "-o", "raw", *values).out
                          for package in (PLATFORM, "./crates.wasm"))
        check(called.count("\nkind: ") > 20, called)
        equal(linked, called, "the platform of crates beside the one that calls")


@test
def what_a_called_package_refuses_is_named_without_passwords(t):
    git_registry(t)
    refused = t.refused("generate", "shop", "-p", PLATFORM, "-s", "databaseSize=much", "-v")
    contains(refused.err, "platform-example → mariadb: inputs.persistence.size", "much")
    seed = t.file("seed", SEED)
    items = t.run("generate", "shop", "-p", PLATFORM, "--seed-file", seed, "-o", "json").json["items"]
    words = {i["stringData"]["password"] for i in items if i["kind"] == "Secret" and "password" in i["stringData"]}
    equal(len(words), 6, "passwords")
    refused = t.refused("generate", "shop", "-p", PLATFORM, "--seed-file", seed, "-s", "databaseSize=much", "-v")
    equal([word for word in words if word in refused.out + refused.err], [], "passwords in an error")
