#!/usr/bin/env python3
"""Makes the image of mistletoe-operator; operator-image.sh says more. The parts that unpack Debian packages are those of
devcluster's images."""
import argparse
import fcntl
import gzip
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "devcluster/node"))
import images  # noqa: E402

# The programs need the C library and trusted certificates; git reads registries. The Perl of git is for its other commands.
PACKAGES = ["base-files", "ca-certificates", "git", "libc6", "netbase"]
WITHOUT = ["liberror-perl", "openssl", "perl"]
PROGRAMS = ["mistctl", "mistletoe-operator"]
USER = 65532  # as other images without a shell have it; the package mistletoe-operator runs it as this one
BUNDLE = "etc/ssl/certs/ca-certificates.crt"


class Layer(images.Layer):
    """With the licenses of what is in it."""

    def packaged(self, tar, member):
        if images.merged(member.name).startswith("usr/share/doc/") and member.name.endswith("/copyright") and member.isreg():
            member.name, member.uname, member.gname, member.pax_headers = images.merged(member.name), "", "", {}
            self.add(member, tar.extractfile(member))
        else:
            super().packaged(tar, member)


def bundle(deb):
    """All certificates in one file, as the package's maintainer script would write it."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as unpacked:
        with tarfile.open(fileobj=unpacked.stdout, mode="r|") as tar:
            found = {member.name: tar.extractfile(member).read() for member in tar
                     if member.isreg() and "/ca-certificates/mozilla/" in member.name and member.name.endswith(".crt")}
    if not found:
        sys.exit(f"operator-image: {deb} has no certificates")
    return b"".join(text.rstrip(b"\n") + b"\n" for _, text in sorted(found.items()))


def debian_layer(path, work):
    debs = images.Debian(work, images.read_table()[0]).closure(PACKAGES, WITHOUT)
    layer = Layer(path)
    images.usr_links(layer)
    for name, mode in (("tmp", 0o1777), ("root", 0o700), ("run", 0o755), ("proc", 0o755), ("sys", 0o755), ("dev", 0o755)):
        layer.directory(name, mode)
    layer.link("var/run", "/run")
    passwd, group = images.accounts({"root": 0, "nonroot": USER, "nobody": 65534})
    layer.file("etc/passwd", passwd.replace(b":/bin/sh\n", b":/usr/sbin/nologin\n"))
    layer.file("etc/group", group)
    for deb in debs:
        if deb.name.startswith("ca-certificates_"):
            layer.file(BUNDLE, bundle(deb))
        layer.package(deb)
        name, version, _ = deb.name.split("_")
        print(f"  {name} {urllib.parse.unquote(version)}", file=sys.stderr)
        # Where vulnerability scanners look in images without a package manager.
        control = subprocess.run(["dpkg-deb", "--field", str(deb)], check=True, stdout=subprocess.PIPE).stdout
        layer.file(f"var/lib/dpkg/status.d/{name}", control)
    return layer.close()


def program_layer(path, prefix):
    layer = images.Layer(path)
    for name in PROGRAMS:
        layer.file(f"usr/local/bin/{name}", (prefix / "bin" / name).read_bytes(), 0o755)
    shared = prefix / "share/mistletoe"
    for file in sorted(shared.rglob("*")):
        if file.is_file():
            layer.file(f"usr/local/share/mistletoe/{file.relative_to(shared)}", file.read_bytes())
    return layer.close()


class Archive(images.Archive):
    """With packed layers: it is pushed to registries."""

    def layer(self, path, layer_digest):
        packed = path.with_suffix(".tar.gz")
        with open(path, "rb") as plain, open(packed, "wb") as file:
            with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as pack:
                shutil.copyfileobj(plain, pack)
        part = super().layer(packed, images.digest(packed))
        return {**part, "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("prefix", "work", "out"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--name", required=True)
    arguments = parser.parse_args()
    work = images.prepared(arguments.work)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with open(work / "lock", "w") as lock, tempfile.TemporaryDirectory(dir=arguments.out.parent) as temporary:
        fcntl.flock(lock, fcntl.LOCK_EX)
        temporary = pathlib.Path(temporary)
        layers = [debian_layer(temporary / "debian.tar", work), program_layer(temporary / "programs.tar", arguments.prefix)]
        config = {
            "Entrypoint": ["/usr/local/bin/mistletoe-operator"],
            "Env": ["PATH=/usr/local/bin:/usr/bin"],
            "User": f"{USER}:{USER}",
            "ExposedPorts": {"8080/tcp": {}},
            "Labels": {"org.opencontainers.image.title": "mistletoe-operator",
                       "org.opencontainers.image.description": "Keeps the objects of blueprints, and releases of packages, as they are wanted",
                       "org.opencontainers.image.version": arguments.version},
        }
        made = temporary / "image.tar"
        Archive(made).image([arguments.name], layers, config)
        made.replace(arguments.out)
    digest = hashlib.sha256(arguments.out.read_bytes()).hexdigest()
    print(f"{arguments.name}: {arguments.out.stat().st_size >> 20} MB, archive sha256:{digest}", file=sys.stderr)
    print(arguments.out)


if __name__ == "__main__":
    main()
