"""Registries with an authority of their own, and such that demand client certificates: the directories of Docker and Podman, Helm's
repositories.yaml, and every operation over every kind of transport and authentication."""
import json
import os
import pathlib
import shutil
import ssl

from harness import check, contains, equal, test
from registries import PASSWORD, Authority, Registry, TokenServer, basic
from test_helm_repositories import ChartRepository
from test_registries import chart, login

CERTS = ".config/containers/certs.d"


def trust(t, authority, host, below=CERTS):
    t.file(f"{below}/{host}/ca.crt", pathlib.Path(authority.file).read_bytes())


def present(t, pair, host, below=CERTS):
    for ending, file in zip(("cert", "key"), pair):
        t.file(f"{below}/{host}/client.{ending}", pathlib.Path(file).read_bytes())


def key_lines(pair):
    """Texts that no output may hold."""
    return [line for line in pathlib.Path(pair[1]).read_text().splitlines() if line and not line.startswith("-----")]


@test
def oci_registry_that_demands_a_client_certificate(t):
    authority = Authority(t)
    client = authority.client()
    registry = Registry(t, tls=authority.server(), client_ca=authority.file)
    package = chart(t, "1.0.0")
    directory = t.dir / CERTS / registry.host
    push = ("push", package, registry("team/shop"))
    t.refused(*push, says=["no trusted authority signed", f"{directory}/ as ca.crt"])
    trust(t, authority, registry.host)
    t.refused(*push, says=[f"{registry.host} demands a client certificate", f"{directory}/ as client.cert and client.key"])
    # Half a pair, a key for everybody, a key of another pair.
    present(t, client, registry.host)
    (directory / "client.key").rename(directory / "other.key")
    t.refused(*push, says=[f"{directory}/client.cert has no key {directory}/client.key"])
    (directory / "other.key").rename(directory / "client.key")
    (directory / "client.key").chmod(0o644)
    t.refused(*push, says=[f"{directory}/client.key is a private key that others can read", f"chmod 600 {directory}/client.key"])
    present(t, (client[0], authority.client("somebody")[1]), registry.host)
    t.refused(*push, says=["the client certificate or its key can't be used", str(directory)])
    # Of another authority.
    present(t, Authority(t, "stranger").client(), registry.host)
    t.refused(*push, says=["client certificate"])
    equal(registry.requests(), [], "the registry saw none of them")

    present(t, client, registry.host)
    said = t.run(*push, "-vv")
    check(not any(line in said.out + said.err for line in key_lines(client)), "the key is printed")
    t.run("install", "shop", "-p", registry("team/shop:^1"))
    equal(t.kube.get("ConfigMap", t.ns, "shop")["data"]["version"], "1.0.0")
    # Rootless Docker's directory will do as well, and XDG_CONFIG_HOME moves both.
    shutil.move(t.dir / ".config/containers", t.dir / ".config/docker")
    t.run("registry", "tags", registry("team/shop"))
    shutil.move(t.dir / ".config/docker", t.dir / "elsewhere/docker")
    t.refused("registry", "tags", registry("team/shop"), says=["no trusted authority"])
    t.env["XDG_CONFIG_HOME"] = str(t.dir / "elsewhere")
    t.run("registry", "tags", registry("team/shop"))


@test
def helm_repository_with_certificates_of_its_own(t):
    authority = Authority(t)
    certificate, key = client = authority.client()
    charts = ChartRepository(t, tls=authority.context(ssl.CERT_REQUIRED))
    charts.publish("db", "1.0.0")
    t.run("registry", "add", "shop", "--helm", charts.url)

    def repositories(**entry):
        t.file(".config/helm/repositories.yaml",
               json.dumps({"apiVersion": "", "repositories": [{"name": "team", "url": charts.url, **entry}]}))

    install = ("generate", "db", "-p", "shop/db:1.0.0")
    t.refused(*install, says=["no trusted authority signed"])
    repositories(caFile=authority.file)
    t.refused(*install, says=["demands a client certificate"])
    repositories(caFile=authority.file, certFile=certificate)
    t.refused(*install, says=["the entry team of Helm's repositories.yaml has a certFile and no keyFile"])
    repositories(insecure_skip_tls_verify=True)
    t.refused(*install, says=["insecure_skip_tls_verify", "--ca-file"])
    repositories(caFile=str(t.dir / "nowhere.crt"))
    t.refused(*install, says=["nowhere.crt"])
    equal(charts.asked, [])
    repositories(caFile=authority.file, certFile=certificate, keyFile=key)
    said = t.run(*install, "-vv")
    contains(said.out, "version: 1.0.0")
    check(not any(line in said.out + said.err for line in key_lines(client)), "the key is printed")
    # A chart depends on it by Helm's name.
    parent = t.files("parent", {"Chart.yaml": json.dumps({"apiVersion": "v2", "name": "parent", "version": "0.1.0", "dependencies": [
        {"name": "db", "version": "1.x", "repository": "@team"}]})})
    t.run("dependency", "update", parent)
    check((pathlib.Path(parent) / "charts/db-1.0.0.tgz").exists())
    # The directories of Docker and Podman count here too.
    os.remove(t.dir / ".config/helm/repositories.yaml")
    trust(t, authority, f"127.0.0.1:{charts.web.port}")
    present(t, client, f"127.0.0.1:{charts.web.port}")
    t.run("registry", "update", "shop")


def operations(t, registry, release):
    """{name: what does it}, in this order."""
    team = registry("team/shop")

    def pull():
        target = t.dir / f"pulled-{release}"
        t.run("pull", f"{team}:1.0.0", "-o", str(target))
        check(target.stat().st_size > 0)

    def tags():
        contains(t.run("registry", "tags", team).out, "1.0.0")

    def copy():
        t.run("registry", "copy", f"{team}:1.0.0", registry("copies/shop"))
        contains(t.run("registry", "tags", registry("copies/shop")).out, "1.0.0")

    def delete():
        t.run("registry", "delete", registry("copies/shop:1.0.0"), "--yes")
        contains(t.run("registry", "tags", registry("copies/shop")).err, "has no tags")

    def generate():
        contains(t.run("generate", release, "-p", f"{team}:1.0.0").out, "version: 1.0.0")

    def install():
        t.run("install", release, "-p", f"{team}:^1")
        equal(t.kube.get("ConfigMap", t.ns, release)["data"]["version"], "1.0.0")

    return {"push": lambda: t.run("push", chart(t, "1.0.0"), team), "pull": pull, "tags": tags, "copy": copy, "delete": delete,
            "generate": generate, "install": install}


@test
def oci_registries_by_transport_authentication_and_operation(t):
    authority = Authority(t)
    client, server = authority.client(), authority.server()
    transports = {"plain HTTP": {}, "own CA": {"tls": server}, "client certificate": {"tls": server, "client_ca": authority.file}}
    rows = []
    for transport, options in transports.items():
        for authentication in ("none", "basic", "token"):
            tokens = TokenServer(t, tls=authority.context(ssl.CERT_OPTIONAL) if options else None) if authentication == "token" else None
            registry = Registry(t, auth={"none": None, "basic": basic(t)}.get(authentication, tokens and tokens.auth()), **options)
            if options:
                t.refused("registry", "tags", registry("team/shop"), says=["no trusted authority signed"])
                trust(t, authority, registry.host)
                if tokens:
                    trust(t, authority, tokens.host)
            if "client_ca" in options:
                t.refused("registry", "tags", registry("team/shop"), says=["demands a client certificate"])
                present(t, client, registry.host)
            if authentication != "none":
                t.refused("push", chart(t, "1.0.0"), registry("team/shop"), says=["needs credentials"])
                login(t, registry.host, PASSWORD)
            done = []
            for name, operation in operations(t, registry, f"shop-{len(rows)}").items():
                operation()
                done.append(name)
            rows.append((transport, authentication, done))
            if tokens:
                check(tokens.asked)
                equal(tokens.presented, [], "the client certificate is the registry's alone")
            registry.stop()
    equal(len(rows), 9)
    for transport, authentication, done in rows:
        t.note(f"{transport:20}{authentication:8}{' '.join(done)}")
