"""The starting packages: what they render, on which Kubernetes it is valid, and the platform that calls the others."""
import base64
import datetime
import json
import re
import stat
import subprocess

from harness import check, contains, equal, test
from test_demo import ROOT, git_registry
from test_secrets import SEED, built

PLATFORM = "mistletoe/examples/platform-example:0.2.0"
PACKAGES = ("etcd", "mariadb", "memcached", "microservice", "mistletoe-operator", "nginx", "platform-example", "postgresql", "redis")
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
        # That passwords are drawn is what these packages are for, and certificates begin with the release.
        equal([f for f in found if f["rule"] not in ("drawn", "clock", "needs-values")], [], name)


@test(full=True)
def starting_packages_are_valid_for_three_kubernetes(t):
    git_registry(t)
    users = json.dumps([{"username": "web", "database": "shop"}, {"username": "report", "database": "shop", "access": "readOnly"}])
    tls = ["-s", "tls.enabled=true"]
    site = ["--set-json", 'site={"files":{"index.html":"a"}}', "--set-json", 'proxies=[{"path":"/api","to":"http://api"}]', "-s", "metrics.enabled=true"]
    for version in KUBERNETES:
        for name, values in (("mariadb", ["--set-json", f"users={users}", *tls]), ("postgresql", ["--set-json", f"users={users}", *tls]),
                             ("redis", ["--set-json", 'users=[{"username":"web"}]', *tls]), ("memcached", ["-s", "servers=3", *tls]),
                             ("nginx", [*site, *tls]), ("etcd", ["-s", "members=3", "-s", "metrics.enabled=true"]),
                             ("etcd", ["-s", "persistence.enabled=false"]), ("mariadb", []), ("postgresql", []), ("redis", []), ("memcached", []),
                             ("nginx", []), ("mistletoe-operator", ["-s", "image=operator:1"]),
                             ("mistletoe-operator", ["-s", "image=operator:1", "-s", "registryCredentials=a", "-s", "gitCredentials=b", "-s",
                                                     "configuration=c", "-s", "trustPolicy=d", "-s", "certificates=e"]), ("microservice", []), ("platform-example", [])):
            t.run("generate", "shop", "-p", module(name), "--validate", "--kube-version", version, *values)


def openssl(*arguments):
    ran = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


# Package, values, and the Secrets with certificates: what each is for, and a name or address that it has.
CERTIFICATES = (
    ("postgresql", ["-s", "tls.enabled=true"], {"shop-tls": ("sslserver", "shop.prod.svc.cluster.local")}),
    ("mariadb", ["-s", "tls.enabled=true"], {"shop-tls": ("sslserver", "shop.prod.svc")}),
    ("redis", ["-s", "tls.enabled=true"], {"shop-tls": ("sslserver", "shop")}),
    ("memcached", ["-s", "servers=2", "-s", "tls.enabled=true"], {"shop-tls": ("sslserver", "shop-1.shop.prod.svc.cluster.local")}),
    ("nginx", ["-s", "tls.enabled=true", "--set-json", 'tls.names=["www.example.org"]'], {"shop-tls": ("sslserver", "www.example.org")}),
    ("etcd", ["-s", "members=3", "--set-json", 'users=["web"]'],
     {"shop-server": ("sslserver", "shop.prod"), "shop-peer": ("sslclient", "shop-2.shop-members.prod.svc.cluster.local"),
      "shop-root": ("sslclient", None), "shop-user-web": ("sslclient", None)}),
)


@test
def certificates_of_packages_are_what_clients_accept(t):
    git_registry(t)
    seed = t.file("seed", SEED)
    at = int(datetime.datetime(2026, 6, 1, tzinfo=datetime.timezone.utc).timestamp())
    for name, values, expected in CERTIFICATES:
        command = ["generate", "shop", "-n", "prod", "-p", module(name), "--seed-file", seed, "-o", "json", *values]
        first = t.run(*command)
        equal(t.run(*command).out, first.out, f"{name} a second time")
        secrets = {i["metadata"]["name"]: i["stringData"] for i in first.json["items"] if i["kind"] == "Secret"}
        keys = {data["tls.key"] for data in secrets.values() if "tls.key" in data}
        equal(len(keys), len(expected), f"{name}: keys")
        authority = t.file("ca.crt", secrets["shop-ca"]["ca.crt"])
        for secret_name, (purpose, host) in expected.items():
            data = secrets[secret_name]
            equal(data["ca.crt"], secrets["shop-ca"]["ca.crt"], secret_name)
            certificate, key = t.file("tls.crt", data["tls.crt"]), t.file("tls.key", data["tls.key"])
            named = ["-verify_hostname", host] if host else []
            verify = ["verify", "-x509_strict", "-CAfile", authority, "-purpose", purpose, "-attime", at]
            equal(openssl(*verify, *named, certificate)[0], 0, f"{secret_name}: {openssl(*verify, *named, certificate)[1]}")
            check(openssl(*verify, "-verify_hostname", "other.example.org", certificate)[0] != 0 or not host, f"{secret_name} has any name")
            equal(openssl("x509", "-in", certificate, "-noout", "-pubkey")[1], openssl("pkey", "-in", key, "-pubout")[1], secret_name)
        other = t.run(*command, "--clock", "2027-06-01T00:00:00Z").json["items"]
        renewed = {i["metadata"]["name"]: i["stringData"] for i in other if i["kind"] == "Secret"}
        for secret_name in expected:
            check(renewed[secret_name]["tls.crt"] != secrets[secret_name]["tls.crt"], f"{secret_name} isn't renewed")
            equal(renewed[secret_name]["tls.key"], secrets[secret_name]["tls.key"], f"the key of {secret_name}")


@test(full=True)
def servers_change_when_what_they_serve_does(t):
    git_registry(t)
    t.kube.patch("Namespace", None, t.ns, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    users = '[{"username":"web","database":"shop"},{"username":"report","database":"shop","access":"readOnly"}]'
    for release, name, values in (("db", "postgresql", ["--set-json", f"users={users}", "-s", "tls.enabled=true"]),
                                  ("web", "nginx", ["--set-json", 'site={"files":{"index.html":"a"}}', "-s", "tls.enabled=true"]),
                                  ("cache", "memcached", ["-s", "servers=2"]), ("store", "etcd", ["-s", "members=3", "--set-json", 'users=["web"]'])):
        t.run("install", release, "-p", f"mistletoe/examples/{name}:0.1.0", *values, "--wait")
        equal({o["health"] for o in t.run("status", release, "-o", "json").json["objects"]}, {"ready"}, f"health of {release}")
        mark = t.mark()
        contains(t.run("upgrade", release).out, "nothing was written")
        equal([r for r in t.requests(mark) if r.writes], [], f"writes of an upgrade of {release} without changes")

    def rolls(release, *arguments):
        before = templates(t, release)
        t.run("upgrade", release, "--reuse-values", *arguments, "--wait")
        return before != templates(t, release)

    before = secret(t, "db-user-report")["password"], secret(t, "db-user-web")["password"]
    check(rolls("db", "--rotate-secrets=user/report"), "a rotated password restarts the server")
    check(secret(t, "db-user-report")["password"] != before[0], "the rotated password")
    equal(secret(t, "db-user-web")["password"], before[1], "the other password")
    check(not rolls("db", "--set-json", 'clients=[{"app":"web"}]'), "another policy restarts nothing")
    check(rolls("db", "--clock", "now", "--rotate-secrets=tls/server"), "another certificate restarts the server")
    check(rolls("web", "--set-json", 'site={"files":{"index.html":"b"}}'), "another page rolls the servers")
    check(not rolls("web", "-s", "replicas=3"), "another server leaves the others")
    check(not rolls("store", "--set-json", 'users=["web","jobs"]'), "another client restarts no member")
    for release in ("db", "web", "cache", "store"):
        t.run("uninstall", release, "--yes")


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
          [("mariadb", "shop-mariadb", "0.1.1"), ("redis", "shop-redis", "0.1.1"), ("microservice", "shop-mic-a", "0.1.0"),
           ("microservice", "shop-mic-b", "0.1.0"), ("microservice", "shop-mic-c", "0.1.0")], "who was called")
    drawn = t.run("graph", "shop", "--packages", "-o", "mermaid").out
    equal(len(re.findall(r'-->\|"microservice"\|', drawn)), 3, drawn)
    made = {(o["object"]["kind"], o["object"]["metadata"]["name"]): o["package"]
            for o in t.run("inspect", "release", "shop", "-o", "json").json["revisions"][-1]["objects"]}
    equal(made["StatefulSet", "shop-redis"], "platform-example → redis", "who made it")
    equal(made["Deployment", "shop-mic-c"], "platform-example → microservice", "who made it")


# Of the platform, for comparisons.
VALUES = ([], ["-s", "replicas=1", "-s", "databaseSize=2Gi", "-s", "cacheSize=3Gi"],
          ["-s", "image=registry.example/mic:1", "-s", "mariadbImage=mariadb:11.4", "-s", "redisImage=redis:7.4"])


@test(full=True)
def a_platform_of_crates_gives_the_same_bytes(t):
    git_registry(t)
    seed = t.file("seed", SEED)
    # Secrets are keyed by the package's name, so it takes that of the other one.
    own = t.run("inspect", "package", module("platform-of-crates"), "-o", "json").json["metadata"]["spec"]
    metadata = t.file("metadata.json", json.dumps({"apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": "platform-example"},
                                                   "spec": {"version": own["version"], "inputs": own["inputs"]}}))
    t.run("package", "build", module("platform-of-crates"), "-m", metadata, "-o", "crates.wasm")
    for values in VALUES:
        called, linked = (t.run("generate", "shop", "-p", package, "--seed-file", seed, "-o", "raw", *values).out
                          for package in (PLATFORM, "./crates.wasm"))
        check(called.count("\nkind: ") > 20, called)
        equal(linked, called, "the platform of crates beside the one that calls")


@test(full=True)
def a_platform_in_typescript_gives_the_same_bytes(t):
    git_registry(t)
    seed = t.file("seed", SEED)
    package = str(built("packages/platform-in-typescript/build.sh", t.mistctl) / "platform-in-typescript.mist-pack.wasm")
    # Secrets are keyed by the package's name, so it takes that of the other one.
    metadata = t.run("inspect", "package", package, "-o", "json").json["metadata"]
    metadata["metadata"]["name"] = "platform-example"
    t.run("package", "build", package, "-m", t.file("metadata.json", json.dumps(metadata)), "-o", "typescript.wasm")
    for values in VALUES:
        rust, typescript = (t.run("generate", "shop", "-p", one, "--seed-file", seed, "-o", "raw", *values).out for one in (PLATFORM, "./typescript.wasm"))
        check(rust.count("\nkind: ") > 20, rust)
        equal(typescript, rust, "the platform in TypeScript beside the one in Rust")


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
