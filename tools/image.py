#!/usr/bin/env python3
"""Makes the container image of one of our servers; image.sh says more. The parts that unpack Debian packages are those of
devcluster's images."""
import argparse
import dataclasses
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
USER = 65532  # as other images without a shell have it; the package mistletoe-operator and the catalog's Jobs run as this one
BUNDLE = "etc/ssl/certs/ca-certificates.crt"


@dataclasses.dataclass
class Image:
    programs: list  # of the installation; the first one is what the image runs
    description: str
    links: dict = dataclasses.field(default_factory=dict)  # other names of programs
    packages: list = dataclasses.field(default_factory=list)  # of Debian, beside PACKAGES


IMAGES = {
    "operator": Image(["mistletoe-operator", "mistctl"], "Keeps the objects of blueprints, and releases of packages, as they are wanted"),
    # A worker's sandboxes are bubblewrap's; in the Pod of a Job, which is a sandbox itself, nothing uses it.
    "catalog": Image(["mistletoe-catalog", "mistctl"], "A catalog of packages, and the workers that test them", links={"kpm": "mistctl"},
                     packages=["bubblewrap"]),
}


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
        sys.exit(f"image.py: {deb} has no certificates")
    return b"".join(text.rstrip(b"\n") + b"\n" for _, text in sorted(found.items()))


def debian_layer(path, work, packages):
    debs = images.Debian(work, images.read_table()[0]).closure([*PACKAGES, *packages], WITHOUT)
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


def program_layer(path, prefix, image):
    layer = images.Layer(path)
    for name in sorted(image.programs):
        layer.file(f"usr/local/bin/{name}", (prefix / "bin" / name).read_bytes(), 0o755)
    for name, program in image.links.items():
        layer.link(f"usr/local/bin/{name}", program)
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
    parser.add_argument("image", choices=IMAGES)
    for name in ("prefix", "work", "out"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--name", required=True)
    arguments = parser.parse_args()
    image = IMAGES[arguments.image]
    work = images.prepared(arguments.work)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with open(work / "lock", "w") as lock, tempfile.TemporaryDirectory(dir=arguments.out.parent) as temporary:
        fcntl.flock(lock, fcntl.LOCK_EX)
        temporary = pathlib.Path(temporary)
        layers = [debian_layer(temporary / "debian.tar", work, image.packages),
                  program_layer(temporary / "programs.tar", arguments.prefix, image)]
        config = {
            "Entrypoint": [f"/usr/local/bin/{image.programs[0]}"],
            "Env": ["PATH=/usr/local/bin:/usr/bin"],
            "User": f"{USER}:{USER}",
            "ExposedPorts": {"8080/tcp": {}},
            "Labels": {"org.opencontainers.image.title": image.programs[0],
                       "org.opencontainers.image.description": image.description,
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
