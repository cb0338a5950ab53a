#!/usr/bin/env python3
"""tools/sbom.py [--check PROGRAM...]: what our programs and engines are made of, as CycloneDX 1.6 (JSON) on stdout.

From the lock files: every crate, Go module and Python library of what is shipped (not of tests, benches and examples), and the Debian packages
whose static libraries are linked. The same checkout on the same Debian gives the same bytes.

--check: nothing is printed unless something is wrong: a program holds a crate, or a version of OpenSSL, curl or zlib, that the
list doesn't have.
"""
import argparse
import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is linked into our programs, and what into which engine.
PROGRAMS = "mistctl, mistletoe-operator, mistletoe-catalog"
CRATES = [("third_party/runtime/Cargo.lock", PROGRAMS), ("engines/rust/Cargo.lock", "engines jinja, handlebars, nickel"),
          ("sdk/rust/Cargo.lock", "SDK")]
GO_MODULES = [("engines/helm", "engine helm"), ("engines/kustomize", "engine kustomize"),
              ("engines/openpgp", "engine openpgp"),
              ("engines/yamlfault", "engines helm, kustomize")]
# cmake/Dependencies.cmake links their static libraries; libstdc++ and libgcc: cmake/Compiler.cmake.
# libpq is no part of our programs: the catalog opens that of the machine (src/postgres/README.md).
DEBIAN = ["libboost-container1.81-dev", "libboost-json1.81-dev", "libfmt-dev", "libsqlite3-dev", "libssl-dev", "libyaml-dev", "zlib1g-dev",
          "libstdc++-12-dev", "libgcc-12-dev"]


def component(kind, name, version, purl, part_of, hashes=(), properties=()):
    listed = {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if hashes:
        listed["hashes"] = [{"alg": algorithm, "content": content} for algorithm, content in hashes]
    listed["properties"] = [{"name": "mistletoe:part-of", "value": part_of}] + [
        {"name": key, "value": value} for key, value in properties]
    return listed


def crates():
    for lock, part_of in CRATES:
        for package in tomllib.loads((ROOT / lock).read_text())["package"]:
            if "source" not in package:  # ours
                continue
            name, version = package["name"], package["version"]
            yield component("library", name, version, f"pkg:cargo/{name}@{version}", part_of,
                            [("SHA-256", package["checksum"])])
            # The library that a crate carries, which advisories know by its own name.
            if carried := re.fullmatch(r"[^+]+\+(curl|zlib|openssl)-(.+)", version):
                yield component("library", carried[1], carried[2], f"pkg:generic/{carried[1]}@{carried[2]}", part_of)


def go_modules():
    for directory, part_of in GO_MODULES:
        sums = {}
        for line in (ROOT / directory / "go.sum").read_text().splitlines():
            name, version, digest = line.split()
            sums[name, version] = digest
        text = re.sub(r"//.*", "", (ROOT / directory / "go.mod").read_text())
        required = re.findall(r"^\s*(?:require\s+)?([^\s()]+\.[^\s()]+)\s+(v[^\s]+)\s*$", text, re.M)
        for name, version in required:
            digest = sums.get((name, version))
            if digest is None:  # replaced by a directory of ours
                continue
            # Go's own: SHA-256 over the names and digests of the module's files.
            yield component("library", name, version, f"pkg:golang/{name}@{version}", part_of,
                            properties=[("golang:h1", digest)])


def python_engine():
    for line in (ROOT / "engines/python/sources.lock").read_text().splitlines():
        found = re.match(r"([0-9a-f]{64}) \S*/([^/_]+)_([^/]+)\.orig\.tar", line)
        if found:
            digest, name, version = found.groups()
            name = re.sub(r"^python[\d.]+$", "cpython", name)
            purl = f"pkg:generic/{name}@{version}" if name == "cpython" else f"pkg:pypi/{name}@{version}"
            yield component("library", name, version, purl, "engine python", [("SHA-256", digest)])


def debian_packages():
    for package in DEBIAN:
        query = subprocess.run(["dpkg-query", "-W", "-f", "${source:Package} ${source:Version} ${Version} ${Architecture}",
                                package], capture_output=True, text=True)
        if query.returncode != 0:
            sys.exit(f"sbom: {package} is not installed: {query.stderr.strip()}")
        source, source_version, version, architecture = query.stdout.split()
        yield component("library", source, source_version,
                        f"pkg:deb/debian/{package}@{version}?arch={architecture}", PROGRAMS)


def bill():
    version = re.search(r"project\(mistletoe VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    found = {}
    for each in [*debian_packages(), *crates(), *go_modules(), *python_engine()]:
        before = found.setdefault(each["bom-ref"], each)
        parts = [before["properties"][0]["value"], each["properties"][0]["value"]]
        before["properties"][0]["value"] = ", ".join(dict.fromkeys(", ".join(parts).split(", ")))
    components = [found[key] for key in sorted(found)]
    digest = hashlib.sha256(json.dumps(components).encode()).digest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=5)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "mistletoe", "name": "mistletoe", "version": version,
                                   "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": "mistletoe", "dependsOn": [each["bom-ref"] for each in components]}],
    }


def carried_by(program):
    """Pairs of name and version that the program's bytes tell of: places of panics, and what libraries say of themselves."""
    text = program.read_bytes()
    crates_in = set(re.findall(rb"registry/src/[^/\0]+/([A-Za-z0-9_-]+)-(\d+\.\d+\.\d+[0-9A-Za-z.+-]*)/", text))
    said = {(b"openssl", version) for version in re.findall(rb"OpenSSL (\d+\.\d+\.\d+[a-z]?) ", text)}
    said |= {(b"curl", version) for version in re.findall(rb"libcurl/(\d+\.\d+\.\d+)", text)}
    said |= {(b"zlib", version) for version in re.findall(rb" inflate (\d+\.\d+\.\d+(?:\.\d+)?) Copyright", text)}
    return {(name.decode(), version.decode()) for name, version in crates_in | said}


def check(listed, programs):
    wrong = []
    known = {(each["name"], each["version"]) for each in listed["components"]}
    # Debian's versions have an epoch before and a revision behind: 1:1.2.13.dfsg-1.
    plain = {(name, re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", version)[1]) for name, version in known
             if re.match(r"(?:\d+:)?\d", version)}
    for program in programs:
        found = carried_by(program)
        if not any(name == "wasmtime" for name, _ in found):
            wrong.append(f"{program}: says nothing of Wasmtime, so nothing of it can be believed")
        wrong += [f"{program}: holds {name} {version}, which the list doesn't have" for name, version in sorted(found)
                  if (name, version) not in known and (name, version) not in plain]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", nargs="+", type=pathlib.Path, metavar="PROGRAM")
    arguments = parser.parse_args()
    listed = bill()
    if arguments.check is None:
        print(json.dumps(listed, indent=1))
        return
    if json.dumps(bill()) != json.dumps(listed):
        sys.exit("sbom: the second time it is another")
    wrong = check(listed, arguments.check)
    print("\n".join(wrong) if wrong else f"{len(listed['components'])} components; the programs hold no others")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
