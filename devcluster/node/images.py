#!/usr/bin/env python3
"""Makes the real node's root file system and images from Debian packages, as images.toml says.

  images.py root  WORK OUT               the node's own root file system, as the directory OUT
  images.py images WORK PROGRAMS OUT     an OCI archive for each image in OUT, for `ctr images import`

WORK holds package lists and packages and may be used again; PROGRAMS is the directory of compiled programs. No step
needs root, and none runs anything of the packages.
"""
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # are in usr; Debian 12's packages don't all know
UNUSED = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/lintian/",
          "usr/share/bug/", "usr/lib/systemd/", "usr/share/bash-completion/")
APT_CONF = """#clear APT::Update;
#clear DPkg;
Dir::State "{work}/state";
Dir::State::status "{work}/state/status";
Dir::State::lists "{work}/state/lists";
Dir::Cache::archives "{work}/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::http::Timeout "60";
Acquire::Retries "3";
APT::Update::Error-Mode "any";
"""


ARCHITECTURE = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()


def fail(text):
    sys.exit(f"devcluster node images: {text}")


class Debian:
    """Packages of the Debian that this machine is configured for, by an apt that doesn't know what is installed here."""

    def __init__(self, work, unneeded):
        self.work = work
        self.unneeded = unneeded
        (work / "state/lists/partial").mkdir(parents=True, exist_ok=True)
        (work / "archives/partial").mkdir(parents=True, exist_ok=True)
        self.status = work / "state/status"
        self.status.touch()
        self.conf = work / "apt.conf"
        self.conf.write_text(APT_CONF.format(work=work))
        self.apt("update")

    def apt(self, *arguments):
        environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(["apt-get", "-qq", "-y", "-c", str(self.conf), *arguments], env=environment,
                              capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"apt-get {' '.join(arguments)} failed. These packages are Debian 12's; is apt configured for it, and "
                 f"is its mirror reachable?\n{done.stderr or done.stdout}")
        return done.stdout

    def closure(self, packages, without=()):
        """The files of these packages and everything that they depend on, in the order of their names. What is left out,
        apt takes for installed, so that its own dependencies are left out too."""
        self.status.write_text("\n".join(f"Package: {name}\nStatus: install ok installed\nVersion: 99:1\n"
                                         f"Architecture: {ARCHITECTURE}\nMulti-Arch: allowed\nDescription: left out\n" for name in [*self.unneeded, *without]))
        self.apt("install", "--download-only", *packages)
        nowhere = f"Dir::Cache::archives={self.work}/nowhere"
        listed = self.apt("install", "--print-uris", *packages, "-o", nowhere)
        files = sorted(line.split()[1] for line in listed.splitlines() if line.startswith("'"))
        if not files:
            fail(f"no packages for {' '.join(packages)}")
        return [self.work / "archives" / file for file in files]


class Layer:
    """A tar of root's files. Parents come before what is in them; of two with one path, the first one counts."""

    def __init__(self, path):
        self.path = path
        self.tar = tarfile.open(path, "w", format=tarfile.PAX_FORMAT)
        self.seen = set()

    def add(self, member, content=None):
        parent = os.path.dirname(member.name)
        if parent and parent not in self.seen:
            self.directory(parent)
        if member.name in self.seen:
            return
        self.seen.add(member.name)
        self.tar.addfile(member, content)

    def member(self, name, mode, number=0):
        info = tarfile.TarInfo(name)
        info.mode, info.uid, info.gid, info.mtime = mode, number, number, 0
        return info

    def directory(self, name, mode=0o755, number=0):
        info = self.member(name, mode, number)
        info.type = tarfile.DIRTYPE
        self.add(info)

    def file(self, name, data, mode=0o644):
        info = self.member(name, mode)
        info.size = len(data)
        self.add(info, io.BytesIO(data))

    def link(self, name, target):
        info = self.member(name, 0o777)
        info.type, info.linkname = tarfile.SYMTYPE, target
        self.add(info)

    def package(self, deb):
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as unpacked:
            with tarfile.open(fileobj=unpacked.stdout, mode="r|") as tar:
                for member in tar:
                    self.packaged(tar, member)
        if unpacked.returncode != 0:
            fail(f"can't read {deb}")

    def packaged(self, tar, member):
        name = merged(member.name)
        if not name or name in MERGED or (name + "/").startswith(UNUSED):
            return
        member.name = name
        member.uname = member.gname = ""
        member.pax_headers = {}
        if member.islnk():
            member.linkname = merged(member.linkname)
        self.add(member, tar.extractfile(member) if member.isreg() else None)

    def close(self):
        self.tar.close()
        return self.path


def merged(name):
    name = name.removeprefix("./").removeprefix("/").rstrip("/")
    if name == ".":
        return ""
    return f"usr/{name}" if name.split("/")[0] in MERGED and "/" in name else name


def accounts(users):
    """etc/passwd and etc/group."""
    home = {"root": "/root", "postgres": "/var/lib/postgresql", "mysql": "/var/lib/mysql"}
    passwd = "".join(f"{name}:x:{number}:{number}::{home.get(name, '/nonexistent')}:/bin/sh\n" for name, number in users.items())
    group = "".join(f"{name}:x:{number}:\n" for name, number in users.items())
    return passwd.encode(), group.encode()


@dataclasses.dataclass
class Row:
    names: list = dataclasses.field(default_factory=list)
    packages: list = dataclasses.field(default_factory=list)
    without: list = dataclasses.field(default_factory=list)
    programs: list = dataclasses.field(default_factory=list)
    users: dict = dataclasses.field(default_factory=dict)
    files: str = ""
    applets: str = ""
    links: dict = dataclasses.field(default_factory=dict)
    directories: dict = dataclasses.field(default_factory=dict)
    base: bool = True
    config: dict = dataclasses.field(default_factory=dict)

    def add_to(self, layer, programs, users):
        """Everything but the packages."""
        for path, target in sorted({**{f"usr/bin/{name}": "busybox" for name in self.applets.split()}, **self.links}.items()):
            layer.link(path, target)
        for path, (mode, user) in sorted(self.directories.items()):
            layer.directory(path, int(mode, 8), users[user])
        for program in self.programs:
            layer.file(f"usr/local/bin/{program}", (programs / program).read_bytes(), 0o755)
        source = HERE / "files" / self.files
        for path in sorted(source.rglob("*")) if self.files else []:
            if path.is_file():
                layer.file(str(path.relative_to(source)), path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
        if users:
            passwd, group = accounts(users)
            layer.file("etc/passwd", passwd)
            layer.file("etc/group", group)


def read_table():
    table = tomllib.loads((HERE / "images.toml").read_text())
    try:
        return table["unneeded"], Row(**table["base"]), Row(**table["node"]), [Row(**row) for row in table["image"]]
    except TypeError as problem:
        fail(f"images.toml: {problem}")


def usr_links(layer):
    for name in ("bin", "sbin", "lib", "lib64"):
        layer.link(name, f"usr/{name}")


def digest(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def full_name(name):
    """As containerd calls it: with a registry and, on Docker's, a user."""
    first, _, rest = name.partition("/")
    if not rest:
        return f"docker.io/library/{name}"
    return name if "." in first or ":" in first else f"docker.io/{name}"


class Archive:
    """An OCI image layout as one tar."""

    def __init__(self, path):
        self.tar = tarfile.open(path, "w")

    def put(self, name, data):
        info = tarfile.TarInfo(name)
        info.size = len(data)
        self.tar.addfile(info, io.BytesIO(data))

    def blob(self, value, media):
        data = json.dumps(value, sort_keys=True).encode()
        name = hashlib.sha256(data).hexdigest()
        self.put(f"blobs/sha256/{name}", data)
        return {"mediaType": f"application/vnd.oci.image.{media}.v1+json", "digest": f"sha256:{name}", "size": len(data)}

    def layer(self, path, layer_digest):
        info = tarfile.TarInfo("blobs/" + layer_digest.replace(":", "/"))
        info.size = path.stat().st_size
        with open(path, "rb") as file:
            self.tar.addfile(info, file)
        return {"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": layer_digest, "size": info.size}

    def image(self, names, layers, config):
        digests = [digest(path) for path in layers]
        parts = [self.layer(path, one) for path, one in zip(layers, digests)]
        described = self.blob({"architecture": ARCHITECTURE, "os": "linux", "created": "1970-01-01T00:00:00Z", "config": config,
                               "rootfs": {"type": "layers", "diff_ids": digests}}, "config")
        manifest = self.blob({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                              "config": described, "layers": parts}, "manifest")
        named = [dict(manifest, annotations={"io.containerd.image.name": full_name(name),
                                             "org.opencontainers.image.ref.name": name.rsplit(":", 1)[-1]}) for name in names]
        self.put("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        self.put("index.json", json.dumps({"schemaVersion": 2, "manifests": named}).encode())
        self.tar.close()


def make_images(work, programs, out):
    unneeded, base, _, rows = read_table()
    debian = Debian(work, unneeded)
    base_debs = debian.closure(base.packages, base.without)
    layers = work / "layers"
    layers.mkdir(exist_ok=True)
    bottom = Layer(layers / "base.tar")
    usr_links(bottom)
    base.add_to(bottom, programs, base.users)
    for deb in base_debs:
        bottom.package(deb)
    base_layer = bottom.close()
    for row in rows:
        stack = [base_layer] if row.base else []
        if row.packages:
            debs = debian.closure(row.packages, row.without)
            stack.append(package_layer(layers, [deb for deb in debs if not row.base or deb not in base_debs]))
        own = Layer(layers / "own.tar")
        if not row.base:
            usr_links(own)
        row.add_to(own, programs, {**(base.users if row.base else {}), **row.users})
        path = out / (re.sub("[^a-z0-9]+", "-", row.names[0]) + ".tar")
        Archive(path).image(row.names, [*stack, own.close()], row.config)
        print(f"  {', '.join(row.names)}: {path.stat().st_size >> 20} MB", file=sys.stderr)


def package_layer(layers, debs):
    """Made once for the same packages, so that images share it."""
    path = layers / (hashlib.sha256(" ".join(deb.name for deb in debs).encode()).hexdigest() + ".tar")
    if not path.exists():
        layer = Layer(path)
        for deb in debs:
            layer.package(deb)
        layer.close()
    return path


def make_root(work, out):
    unneeded, _, row, _ = read_table()
    layer = Layer(work / "root.tar")
    usr_links(layer)
    for deb in Debian(work, unneeded).closure(row.packages, row.without):
        layer.package(deb)
    path = layer.close()
    with tarfile.open(path) as tar:
        tar.extractall(out, filter="tar")


def main():
    match sys.argv[1:]:
        case ["root", work, out]:
            make_root(prepared(work), prepared(out))
        case ["images", work, programs, out]:
            make_images(prepared(work), pathlib.Path(programs), prepared(out))
        case _:
            sys.exit(__doc__.strip())


def prepared(directory):
    path = pathlib.Path(directory).resolve()
    path.mkdir(parents=True, exist_ok=True)
    return path


if __name__ == "__main__":
    main()
