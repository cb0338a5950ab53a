"""Packages and bases of git repositories behind real servers: git's own http-backend, and ssh.

The other tests fetch from file://, where git needs no server, no login and no second process."""
import base64
import os
import subprocess
import urllib.parse

from harness import check, contains, equal, test
from quiet_server import QuietHandler, QuietServer

LOGIN = "Basic " + base64.b64encode(b"ada:correct horse").decode()


def git(*arguments, cwd=None, **more):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
                   "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "t",
                   "GIT_COMMITTER_EMAIL": "t@example.com", **more}
    done = subprocess.run(["git", *arguments], cwd=cwd, env=environment, capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    return done.stdout.strip()


def repository(t, name, files):
    """A bare repository with these files on main and as the tag v1."""
    work = t.dir / f"{name}-work"
    for path, text in files.items():
        file = work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    git("init", "-q", "-b", "main", str(work))
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "all", cwd=work)
    git("tag", "v1", cwd=work)
    bare = t.dir / f"{name}.git"
    git("clone", "-q", "--bare", str(work), str(bare))
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=bare)
    return bare


def served(root, login=None, busy=()):
    """What is below `root`, by git's http-backend (a CGI program); `asked` are the requests' paths. Those in `busy`
    are answered with 408, which isn't tried again."""
    asked = []

    class Backend(QuietHandler):
        def handle_any(self):
            address = urllib.parse.urlsplit(self.path)
            body = self.body() or b""
            asked.append(address.path)
            if address.path in busy:
                self.send_response(408)
                self.send_header("Content-Length", "0")
                return self.end_headers()
            if login and self.headers.get("Authorization") != login:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="packages"')
                self.send_header("Content-Length", "0")
                return self.end_headers()
            environment = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1",
                           "REQUEST_METHOD": self.command, "PATH_INFO": urllib.parse.unquote(address.path),
                           "QUERY_STRING": address.query, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                           "CONTENT_LENGTH": str(len(body)), "REMOTE_ADDR": "127.0.0.1", "GIT_CONFIG_GLOBAL": "/dev/null",
                           "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                           "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
            out = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True).stdout
            head, _, answer = out.partition(b"\r\n\r\n")
            status, headers = 200, []
            for line in head.decode().split("\r\n"):
                name, _, value = line.partition(": ")
                if name == "Status":
                    status = int(value.split()[0])
                elif name:
                    headers.append((name, value))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    return QuietServer(Backend), asked


BASE = {"base/kustomization.yaml": "resources: [map.yaml]\n",
        "base/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\ndata: {a: b}\n"}
PACKAGE = {"packages/web/0.1.0/manifest.yaml":
           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {from: registry}\n"}


def overlay(t, name, base):
    return t.files(name, {"kustomization.yaml": f"namePrefix: my-\nresources:\n  - {base}\n"})


@test
def a_base_by_http_from_gits_own_server(t):
    repository(t, "shared", BASE)
    server, asked = served(t.dir)
    try:
        address = f"http://127.0.0.1:{server.port}/shared.git//base"
        for reference in ("v1", "main", git("rev-parse", "v1", cwd=t.dir / "shared-work")):
            package = overlay(t, f"overlay-{reference[:4]}", f"{address}?ref={reference}")
            contains(t.run("generate", "web", "-p", package).out, "name: my-shared")
        check(any(path.endswith("/git-upload-pack") for path in asked), asked)
        before = len(asked)
        contains(t.run("generate", "web", "-p", package).out, "name: my-shared")
        equal(len(asked), before, "requests for a commit that is there")
        missing = t.run("generate", "web", "-p", overlay(t, "c", f"{address}?ref=v2"), code=1)
        contains(missing.err, "v2", "127.0.0.1")
        nowhere = address.replace("shared", "nowhere")
        contains(t.run("generate", "web", "-p", overlay(t, "d", nowhere), code=1).err, "not found", nowhere.split("//base")[0])
    finally:
        server.stop()


@test
def a_mirror_says_which_bases_it_cannot_have(t):
    """Those of repositories on this machine: no other one can name them."""
    repository(t, "shared", BASE)
    base = f"file://{t.dir}/shared.git//base?ref=v1"
    package = overlay(t, "overlay", base)
    caller = t.files("platform", {"mistletoe.yaml": "apiVersion: mistletoe.dev/v1\nkind: MistPackage\nmetadata: {name: platform}\n"
                                                    "spec: {dependencies: [{name: web, package: ../overlay}]}\n"})
    for sources in (package, caller):
        t.refused("mirror", sources, "--to", "oci-layout:copies", says=[f"overlay needs {base.split('//base')[0]}", "nothing was copied"])
        contains(t.run("mirror", sources, "--to", "oci-layout:copies", "--allow-missing").err, "there is nothing to mirror")


@test
def what_an_overlay_names_elsewhere_is_locked(t):
    """Its bases by commit, its files by digest: a tag that moves changes nothing, other bytes are refused."""
    repository(t, "shared", BASE)
    crd = t.dir / "extra.yaml"
    crd.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata: {v: one}\n")

    class Files(QuietHandler):
        def handle_any(self):
            self.body()
            there = crd.exists() and self.path == "/extra.yaml"
            content = crd.read_bytes() if there else b""
            self.send_response(200 if there else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server, _ = served(t.dir)
    files = QuietServer(Files)
    try:
        base = f"http://ada:secret@127.0.0.1:{server.port}/shared.git//base?ref=v1"
        extra = f"http://127.0.0.1:{files.port}/extra.yaml"
        package = t.files("overlay", {"kustomization.yaml": f"resources:\n  - {base}\n  - {extra}\n"})
        contains(t.refused("generate", "web", "-p", package, "--locked").err, "mistletoe.lock")
        locked = t.run("package", "lock", package)
        contains(locked.out, "2 remote bases", "written", "is locked at")
        text = open(f"{package}/mistletoe.lock").read()
        commit = git("rev-parse", "v1", cwd=t.dir / "shared-work")
        contains(text, commit, "sha256:", extra)
        check("secret" not in text, text)
        first = t.run("generate", "web", "-p", package, "--locked").out
        contains(first, "a: b", "v: one")
        contains(t.run("package", "lock", package, "--locked").out, "up to date")

        # The tag moves: the locked commit counts, until it is updated.
        work = t.dir / "shared-work"
        (work / "base/map.yaml").write_text(BASE["base/map.yaml"].replace("a: b", "a: c"))
        git("commit", "-q", "-am", "changed", cwd=work)
        git("tag", "-f", "v1", cwd=work)
        git("push", "-q", "-f", str(t.dir / "shared.git"), "main", "v1", cwd=work)
        equal(t.run("generate", "web", "-p", package).out, first, "after the tag moved")
        name = next(line.split(": ", 1)[1] for line in text.splitlines() if "shared.git" in line).strip("'\"")
        arrow = f"{commit[:12]} is locked, it is {git('rev-parse', 'v1', cwd=work)[:12]} now"
        contains(t.run("package", "outdated", package).out, name, arrow)
        said = {each["name"]: each["outdated"] for each in t.run("package", "outdated", package, "-o", "json").json["remotes"]}
        equal((said[name], said[extra]), (True, False))
        moved = t.run("package", "lock", package, "--update", name)
        contains(moved.out, f"{commit[:12]} → {git('rev-parse', 'v1', cwd=work)[:12]}")
        contains(t.run("generate", "web", "-p", package).out, "a: c")

        # Other bytes of a file are refused, until they are wanted.
        crd.write_text(crd.read_text().replace("one", "two"))
        refused = t.refused("generate", "web", "-p", package, says=["is not what mistletoe.lock of", extra, "--update-all"])
        check("secret" not in refused.err, refused)
        t.run("package", "lock", package, "--update-all")
        contains(t.run("generate", "web", "-p", package, "--locked").out, "v: two")

        # A server that has lost the file can't have a repository taken in its place.
        two = crd.read_text()
        crd.unlink()
        for more in ([], ["--locked"]):
            t.refused("generate", "web", "-p", package, *more,
                      says=["is not what mistletoe.lock of", extra, "no such file any more", "--update-all"])
        crd.write_text(two)

        # What nothing names any more, and what the lock lacks.
        with open(f"{package}/kustomization.yaml", "w") as file:
            file.write(f"resources:\n  - {extra}\n")
        contains(t.refused("generate", "web", "-p", package, "--locked").err, "nothing names any more", "package lock")
        contains(t.run("package", "lock", package).out, "1 remote base", "is no longer named")
        t.refused("package", "lock", package, "--update", "http://example.com/x", says=["is not in"])
    finally:
        server.stop()
        files.stop()


@test
def a_registry_by_http_that_wants_a_login(t):
    bare = repository(t, "team", PACKAGE)
    server, _ = served(bare.parent, LOGIN)
    try:
        address = f"http://127.0.0.1:{server.port}/team.git"
        t.run("registry", "add", "team", "-g", address)
        refused = t.refused("registry", "update", "team",
                            says=["127.0.0.1", "a credential helper, a token or an ssh key may be missing"])
        check("askpass" not in refused.err, refused)
        helper = t.dir / "helper"
        helper.write_text('#!/bin/sh\n[ "$1" = get ] && printf "username=ada\\npassword=correct horse\\n"\n')
        helper.chmod(0o700)
        config = t.dir / "gitconfig"
        config.write_text(f"[credential]\n\thelper = {helper}\n")
        t.env["GIT_CONFIG_GLOBAL"] = str(config)
        t.run("registry", "update", "team")
        contains(t.run("generate", "web", "-p", "team/web:0.1.0").out, "from: registry")
        said = t.transcript()
        check("correct horse" not in said and LOGIN not in said, "the password was printed")
        kept = [path for path in t.dir.rglob("*")
                if path.is_file() and b"correct horse" in path.read_bytes()]
        equal(kept, [helper], "files of the home with the password")
    finally:
        server.stop()


@test
def an_address_that_may_be_a_file_or_a_repository(t):
    """The file is asked for first, as by kustomize; where its server gives none out, git is asked, which may log in."""
    repository(t, "shared", BASE)

    class Files(QuietHandler):
        def handle_any(self):
            self.body()
            content = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: raw}\n"
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    files = QuietServer(Files)
    server, _ = served(t.dir, LOGIN)
    try:
        for address in ("api/v4/projects/1/repository/files/deploy.yaml/raw?ref=main", "o/r/.github/deploy.yaml"):
            package = overlay(t, f"raw-{address[0]}", f"http://127.0.0.1:{files.port}/{address}")
            contains(t.run("generate", "web", "-p", package).out, "name: my-raw")
        package = overlay(t, "base", f"http://127.0.0.1:{server.port}/shared.git/base")
        contains(t.run("generate", "web", "-p", package, code=1).err, "the server answered 401")
        helper = t.dir / "helper"
        helper.write_text('#!/bin/sh\n[ "$1" = get ] && printf "username=ada\\npassword=correct horse\\n"\n')
        helper.chmod(0o700)
        config = t.dir / "gitconfig"
        config.write_text(f"[credential]\n\thelper = {helper}\n")
        t.env["GIT_CONFIG_GLOBAL"] = str(config)
        contains(t.run("generate", "web", "-p", package).out, "name: my-shared")
    finally:
        server.stop()
        files.stop()


@test
def a_base_whose_web_server_fails_comes_by_git(t):
    """Its address, which may be a file's, is asked for first; a lock, or a commit that is there, needs no server."""
    repository(t, "team/shared", BASE)
    server, asked = served(t.dir, busy=["/team/shared/base"])
    address = f"http://127.0.0.1:{server.port}/team/shared/base"
    commit = git("rev-parse", "v1", cwd=t.dir / "team/shared-work")
    try:
        package, at_commit = overlay(t, "tag", f"{address}?ref=v1"), overlay(t, "commit", f"{address}?ref={commit}")
        for each in (package, at_commit):
            contains(t.run("generate", "web", "-p", each).out, "name: my-shared")
        check("/team/shared/base" in asked, asked)
        t.run("package", "lock", package)
        t.run("generate", "web", "-p", package, "--locked")
        asked.clear()
        contains(t.run("generate", "web", "-p", package, "--locked").out, "name: my-shared")
        equal(asked, [], "requests for a locked commit that is there")
    finally:
        server.stop()
    contains(t.run("generate", "web", "-p", at_commit).out, "name: my-shared")


@test
def what_a_package_from_elsewhere_names_is_public(t):
    """A proxy of kubectl, a metadata service, a database's port: nothing of it is asked for somebody's package."""
    repository(t, "shared", BASE)
    server, asked = served(t.dir)
    here = f"127.0.0.1:{server.port}"
    names = {
        "file": f"resources: ['http://{here}/shared.git/HEAD.yaml']",
        "localhost": f"resources: ['https://localhost:{server.port}/shared.git/map.yaml']",
        "mapped": f"resources: ['https://[::ffff:127.0.0.1]:{server.port}/map.yaml']",
        "metadata": "resources: ['https://169.254.169.254/latest/map.yaml']",
        "base": f"resources: ['http://{here}/shared.git//base?ref=v1']",
        "https": f"resources: ['https://{here}/shared.git//base?ref=v1']",
        "ssh": "resources: ['git@db.internal:shared.git//base?ref=v1']",
        "chart": f"helmCharts: [{{name: web, repo: 'http://{here}/charts', version: 1.0.0, releaseName: web}}]",
    }
    team = repository(t, "team", {f"packages/{name}/0.1.0/kustomization.yaml": f"{text}\n" for name, text in names.items()})
    t.run("registry", "add", "team", "-g", str(team))
    try:
        for name in names:
            refused = t.run("generate", "web", "-p", f"team/{name}:0.1.0", code=1)
            contains(refused.err, "--allow-private-bases", "team/")
        equal(asked, [], "what was asked for")
        allowed = t.run("generate", "web", "-p", "team/base:0.1.0", "--allow-private-bases")
        contains(allowed.out, "name: shared")
        config = next(t.dir.rglob("config.yaml"))
        before = config.read_text()
        config.write_text(before.replace("spec:", "spec:\n  remoteBases: anywhere", 1))
        contains(t.run("generate", "web", "-p", "team/base:0.1.0").out, "name: shared")
        config.write_text(before.replace("spec:", "spec:\n  remoteBases: none", 1))
        package = overlay(t, "mine", f"http://{here}/shared.git//base?ref=v1")
        contains(t.run("generate", "web", "-p", package, code=1).err, "which is elsewhere")
        config.write_text(before)
        contains(t.run("generate", "web", "-p", package, "--no-remote-bases", code=1).err, "which is elsewhere")
        # A package on this machine may.
        contains(t.run("generate", "web", "-p", package).out, "name: my-shared")
        t.run("generate", "web", "-p", package, "--no-remote-bases", "--allow-private-bases", code=2)
    finally:
        server.stop()


def decoy(redirects_to=None):
    """A server of this machine that nobody named; or one that sends everybody there."""
    asked = []

    class Decoy(QuietHandler):
        def handle_any(self):
            self.body()
            asked.append(self.path)
            content = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen}\n"
            if redirects_to and self.path.endswith("/index.yaml"):
                content = f"entries:\n  web:\n  - {{version: 1.0.0, urls: ['{redirects_to}/run']}}\n".encode()
            elif redirects_to:
                content = b""
            self.send_response(200 if content else 302)
            if not content:
                self.send_header("Location", redirects_to + self.path)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return QuietServer(Decoy), asked


@test
def a_server_that_a_package_may_name_leads_to_no_other_of_this_machine(t):
    """By a redirect, an index of charts or a submodule; whether the package is on this machine or comes from it."""
    inner, stolen = decoy()
    outer, _ = decoy(f"http://127.0.0.1:{inner.port}")
    at = f"http://127.0.0.1:{outer.port}"
    names = {"file": f"resources: ['{at}/secrets.yaml']",
             "chart": f"helmCharts: [{{name: web, repo: '{at}/charts', version: 1.0.0, releaseName: web}}]",
             "base": f"resources: ['{at}/shared.git//base?ref=v1']"}
    try:
        mine = {name: t.files(name, {"kustomization.yaml": f"{text}\n"}) for name, text in names.items()}
        for name, package in mine.items():
            refused = t.run("generate", "web", "-p", package, code=1)
            contains(refused.err, "own address" if name == "base" else "--allow-private-bases")
        equal(stolen, [], "what was asked for")
        contains(t.run("generate", "web", "-p", mine["file"], "--allow-private-bases").out, "name: stolen")

        # A package of a server that sends what it names elsewhere, and one with a submodule elsewhere.
        repository(t, "evil", {f"{name}/kustomization.yaml": f"{text}\n" for name, text in names.items()} | {
            "linked/kustomization.yaml": "resources: [module]\n",
            ".gitmodules": f"[submodule \"m\"]\n\tpath = linked/module\n\turl = http://127.0.0.1:{inner.port}/m.git\n"})
        work = t.dir / "evil-work"
        git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},linked/module", cwd=work)
        git("commit", "-q", "-m", "link", cwd=work)
        git("push", "-q", str(t.dir / "evil.git"), "main", cwd=work)
        stolen.clear()
        server, _ = served(t.dir)
        try:
            for name in names:
                t.run("generate", "web", "-p", f"git+http://127.0.0.1:{server.port}/evil.git//{name}", code=1)
            package = overlay(t, "mine", f"http://127.0.0.1:{server.port}/evil.git//linked?ref=main")
            contains(t.run("generate", "web", "-p", package, code=1).err, "submodule", "--allow-private-bases")
            equal(stolen, [], "what was asked for")
        finally:
            server.stop()
    finally:
        inner.stop()
        outer.stop()


@test
def bases_and_registries_by_ssh(t):
    """With a program in the place of ssh that runs what the other side would run."""
    shared, team = repository(t, "shared", BASE), repository(t, "team", PACKAGE)
    ssh = t.dir / "ssh"
    calls = t.dir / "ssh-calls"
    ssh.write_text('#!/bin/bash\necho "$*" >>' + f"'{calls}'\n" +
                   'for last; do :; done\n[ "$SSH_ASKPASS_REQUIRE" = force ] || exit 9\nexec bash -c "$last"\n')
    ssh.chmod(0o700)
    t.env["GIT_SSH_COMMAND"] = str(ssh)
    for address in (f"ssh://git@host.example{shared}//base?ref=v1", f"git@host.example:{shared}//base?ref=v1"):
        package = overlay(t, f"overlay-{address[:3]}", address)
        contains(t.run("generate", "web", "-p", package).out, "name: my-shared")
    t.run("registry", "add", "team", "-g", f"ssh://git@host.example{team}")
    contains(t.run("generate", "web", "-p", "team/web:0.1.0").out, "from: registry")
    contains(calls.read_text(), "git@host.example")
    ssh.write_text("#!/bin/sh\necho 'git@host.example: Permission denied (publickey).' >&2\nexit 255\n")
    refused = t.run("registry", "update", "team", code=1)
    contains(refused.err, "Permission denied", "ssh key may be missing")
    contains(t.run("generate", "web", "-p", "team/web:0.1.0").out, "from: registry")
