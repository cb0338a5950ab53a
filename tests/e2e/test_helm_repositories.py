"""Chart repositories of Helm's as registries: versions, ranges, search, completion, credentials, changed archives."""
import base64
import io
import json
import pathlib
import tarfile

from harness import check, config_map, contains, equal, test
from quiet_server import QuietHandler, QuietServer
from registries import digest
from test_registries import package_of
from test_signatures import policy

LOGIN = ("carol", "open:sesame")


def packed(name, version, **data):
    """As helm package makes it, near enough."""
    files = {"Chart.yaml": json.dumps({"apiVersion": "v2", "name": name, "version": version, "description": "Keeps rows"}),
             "values.yaml": "greeting: hello\n",
             "templates/map.yaml": json.dumps(config_map("{{ .Release.Name }}", {"version": "{{ .Chart.Version }}", **data}))}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


class ChartRepository:
    """An index.yaml with an ETag, and archives. `asked`: (path, status, Authorization)."""

    def __init__(self, t, login=None, elsewhere=None, tls=None):
        self.archives, self.asked, self.elsewhere = {}, [], elsewhere
        server, wanted = self, login and "Basic " + base64.b64encode(":".join(login).encode()).decode()

        class Handler(QuietHandler):
            def handle_any(self):
                given = self.headers.get("Authorization")
                body = server.body_of(self.path)
                tag = f'"{digest(body)}"' if body is not None else None
                status = 401 if wanted and given != wanted else 404 if body is None else 200
                if status == 200 and self.headers.get("If-None-Match") == tag:
                    status, body = 304, b""
                server.asked.append((self.path, status, given))
                body = body if status == 200 else b""
                self.send_response(status)
                if tag:
                    self.send_header("ETag", tag)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.web = QuietServer(Handler, tls)
        t.cleanup(self.web.stop)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.web.port}/stable"

    def publish(self, name, version, **data):
        self.archives[f"/stable/{name}-{version}.tgz"] = (name, version, packed(name, version, **data))

    def body_of(self, path):
        if path == "/stable/index.yaml":
            entries = {}
            for place, (name, version, archive) in self.archives.items():
                url = (self.elsewhere or "") + place.rsplit("/", 1)[-1]
                entries.setdefault(name, []).append({"apiVersion": "v2", "name": name, "version": version, "urls": [url],
                                                     "digest": digest(archive).removeprefix("sha256:")})
            return json.dumps({"apiVersion": "v1", "entries": entries}).encode()
        return self.archives[path][2] if path in self.archives else None


@test
def helm_repository_is_a_registry(t):
    charts = ChartRepository(t)
    for version in ("15.1.0", "15.2.0", "16.0.0"):
        charts.publish("postgresql", version)
    t.run("registry", "add", "shop", "--helm", charts.url + "/")
    equal([each for each in t.run("registry", "list", "-o", "json").json["registries"] if each["name"] == "shop"],
          [{"name": "shop", "kind": "helm", "place": charts.url}])
    t.run("install", "db", "-p", "shop/postgresql:15.1.0")
    equal(t.kube.get("ConfigMap", t.ns, "db")["data"], {"version": "15.1.0"})
    t.run("upgrade", "db", "-p", "shop/postgresql:15.x")
    equal(package_of(t, "db").split("@")[0], "shop/postgresql:15.2.0")
    for text, version in (("^15", "15.2.0"), ("~15.1", "15.1.0"), (">=15.2 <17", "16.0.0"), ("*", "16.0.0")):
        t.run("upgrade", "db", "-p", f"shop/postgresql:{text}")
        equal(package_of(t, "db").split("@")[0], f"shop/postgresql:{version}")
    # What is known is asked for again neither by its version nor by the release.
    before = len(charts.asked)
    t.run("upgrade", "db")
    t.run("generate", "db", "-p", "shop/postgresql:15.1.0")
    equal(len(charts.asked), before)
    t.run("registry", "update", "shop")
    equal(charts.asked[-1][:2], ("/stable/index.yaml", 304))
    completed = t.run("__complete", "mistctl install x -p shop/postgresql:", " :=").out
    contains(completed, "15.1.0", "16.0.0")
    contains(t.run("search", "postgresql").out, "shop/postgresql", "16.0.0")
    t.refused("generate", "db", "-p", "shop/postgres:1.x", says=["did you mean postgresql?"])
    t.refused("generate", "db", "-p", "shop/postgresql:17.x", says=["16.0.0"])
    t.refused("generate", "db", "-p", "shop/postgresql:^17", says=["16.0.0"])
    t.refused("generate", "db", "-p", "shop/postgresql:^15.y", says=["range after the ':' can't be understood"])
    t.run("registry", "remove", "shop")
    t.refused("generate", "db", "-p", "shop/postgresql:15.1.0", says=["there is no registry named shop"])
    t.run("uninstall", "db", "--yes")


@test
def helm_repository_with_credentials_keeps_them_to_itself(t):
    elsewhere = ChartRepository(t)
    elsewhere.publish("db", "1.0.0")
    charts = ChartRepository(t, LOGIN, elsewhere=elsewhere.url + "/")
    charts.publish("db", "1.0.0")
    t.run("registry", "add", "shop", "--helm", charts.url)
    t.refused("generate", "x", "-p", "shop/db:1.0.0", says=["answered 401"])
    t.env["HELM_REPOSITORY_CONFIG"] = t.file("repositories.yaml", json.dumps({"repositories": [
        {"name": "mine", "url": charts.url, "username": LOGIN[0], "password": LOGIN[1]}]}))
    outcome = t.run("generate", "x", "-p", "shop/db:1.0.0", "-vv")
    check(LOGIN[1] not in outcome.err and "sesame" not in outcome.err, outcome.err)
    check(charts.asked[-1][2])
    equal([given for _, _, given in elsewhere.asked], [None])
    for url, says in ((f"http://carol:x@127.0.0.1:{charts.web.port}", "holds credentials"), ("oci://h/a", "--oci"),
                      ("http://charts.example", "isn't https")):
        refused = t.refused("registry", "add", "other", "--helm", url, says=[says])
        check("carol:x" not in refused.err, refused.err)


@test
def helm_repository_that_changes_a_version_is_refused(t):
    charts = ChartRepository(t)
    charts.publish("db", "1.0.0")
    t.run("registry", "add", "shop", "--helm", charts.url)
    t.run("generate", "x", "-p", "shop/db:1.0.0")
    charts.publish("db", "1.0.0", evil="x")
    t.refused("registry", "update", "shop", says=["isn't what it was when it was first used here"])
    check("evil" not in t.run("generate", "x", "-p", "shop/db:1.0.0").out)
    t.run("registry", "update", "shop", "--accept-changed")
    contains(t.run("generate", "x", "-p", "shop/db:1.0.0").out, "evil")
    # Provenance files are OpenPGP, which is not verified: a rule that requires signatures isn't passed by.
    (t.dir / "key.pub").write_text("untrusted comment: minisign\nRWTH4kYe/IV1i5OrW2EKfkKbhmVyi0bFjgw+1vNc+wM9d4+CyiS0QIyv\n")
    policy(t, {"match": "shop/**", "keys": [{"name": "a", "file": str(t.dir / "key.pub")}]})
    t.refused("generate", "x", "-p", "shop/db:1.0.0", says=["can't be held", "OpenPGP"])


@test
def helm_repository_has_the_name_that_charts_give_it(t):
    charts = ChartRepository(t)
    charts.publish("db", "1.0.0")
    t.run("registry", "add", "shop", "--helm", charts.url)
    for repository in ("@shop", "alias:shop"):
        chart = t.files("web", {"Chart.yaml": json.dumps({"apiVersion": "v2", "name": "web", "version": "1.0.0", "dependencies": [
            {"name": "db", "version": "^1", "repository": repository}]}), "values.yaml": "{}"})
        t.run("dependency", "update", chart)
        check((pathlib.Path(chart) / "charts/db-1.0.0.tgz").exists())
