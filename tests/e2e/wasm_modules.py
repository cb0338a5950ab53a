"""WebAssembly modules that are packages: of the conformance guests, and small hostile ones, written byte by byte."""
import json

from harness import equal
from test_secrets import built

VOID = b"\x60\x00\x00"  # () → ()


def metadata(name, version="1.0.0", **spec):
    return json.dumps({"apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": name},
                       "spec": {"version": version, **spec}})


def guest(t, file, name, version="1.0.0", **spec):
    """The bytes of a conformance guest that says so of itself."""
    target = t.dir / "modules" / f"{name}-{version}.wasm"
    target.parent.mkdir(exist_ok=True)
    said = t.file(f"modules/{name}-{version}.yaml", metadata(name, version, **spec))
    t.run("package", "build", str(built("tests/conformance/build.sh") / file), "-m", said, "-o", str(target))
    return target.read_bytes()


def leb(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + leb(number >> 7)


def text(words):
    encoded = words.encode()
    return leb(len(encoded)) + encoded


def section(number, content):
    return leb(number) + leb(len(content)) + content


def module(name, version="1.0.0", *, code=b"", start=b"", imports=(), exports="_start", pages=1, said=None):
    """A command with these instructions; `start` are those of a start function, `imports` functions () → ()."""
    bodies = [code, *([start] if start else [])]
    imported = b"".join(text(where) + text(what) + b"\x00\x00" for where, what in imports)
    functions = b"".join(leb(len(body) + 2) + b"\x00" + body + b"\x0b" for body in bodies)
    parts = [section(1, leb(1) + VOID), section(2, leb(len(imports)) + imported), section(3, leb(len(bodies)) + b"\x00" * len(bodies)),
             section(5, b"\x01\x00" + leb(pages)),
             section(7, b"\x02" + text("memory") + b"\x02\x00" + text(exports) + b"\x00" + leb(len(imports)))]
    if start:
        parts.append(section(8, leb(len(imports) + 1)))
    parts.append(section(10, leb(len(bodies)) + functions))
    if said is None:
        said = metadata(name, version)
    if said:
        parts.append(section(0, text("mistletoe.package") + said.encode()))
    return b"\x00asm\x01\x00\x00\x00" + b"".join(parts)


LOOP = b"\x03\x40\x0c\x00\x0b"  # for ever
GROW = b"\x03\x40\x41\x80\x01\x40\x00\x1a\x0c\x00\x0b"  # the memory by 128 pages, for ever
TRAP = b"\x00"


def commit_module(repository, tag, module_bytes, path="package.wasm"):
    target = repository.directory / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(module_bytes)
    repository.tag(tag)


def publish_module(t, catalog, token, name, module_bytes):
    """As version 1.0.0, which is there when this returns."""
    from catalog import Repository
    repository = Repository(t, name)
    commit_module(repository, "v1.0.0", module_bytes)
    project = catalog.link(token, name, repository.url)
    equal(project["name"], name)
    t.kube.wait(f"{name} is there", lambda: catalog.version(name, "1.0.0"))
    return repository
