#!/usr/bin/env python3
"""Makes a table of all types of each Kubernetes in modules.lock, of Kubernetes' own sources.

usage: make.py DIRECTORY

The modules are fetched by Go, and their checksums are those of modules.lock. k8s.io/kubernetes has the OpenAPI v3
documents of its API server: what a value can't be compared with is left out of them, and what the documents of several
group versions share is there once. The others have generated methods that say since when a type is deprecated, when it is
removed and what replaces it. The same modules give the same bytes: DIRECTORY/kubernetes-1.36.json.gz.
"""
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

KUBERNETES = "k8s.io/kubernetes"
# What src/apimachinery/object_schema.cc reads of a schema.
KEPT = ("$ref", "enum", "type", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
        "x-kubernetes-preserve-unknown-fields")
GROUP_KINDS = "x-kubernetes-group-version-kind"
REFERENCE = "#/components/schemas/"
# What a schema calls required and its server does without: it has a default, or zero, or nothing, is as good.
NOT_MISSED = {
    "io.k8s.api.apps.v1.ControllerRevision": ["revision"],
    "io.k8s.api.core.v1.HTTPHeader": ["value"],
    "io.k8s.api.core.v1.ISCSIPersistentVolumeSource": ["lun"],
    "io.k8s.api.core.v1.ISCSIVolumeSource": ["lun"],
    "io.k8s.api.core.v1.LimitRangeSpec": ["limits"],
    "io.k8s.api.core.v1.PreferredSchedulingTerm": ["preference"],
    "io.k8s.api.core.v1.SleepAction": ["seconds"],
    "io.k8s.api.core.v1.Sysctl": ["value"],
    "io.k8s.api.discovery.v1.EndpointSlice": ["endpoints"],
    "io.k8s.api.rbac.v1.RoleRef": ["apiGroup"],
    "io.k8s.api.resource.v1.DeviceClass": ["spec"],
    "io.k8s.api.resource.v1.ResourceClaim": ["spec"],
    "io.k8s.api.resource.v1.ResourceClaimTemplate": ["spec"],
    "io.k8s.api.resource.v1.ResourceClaimTemplateSpec": ["spec"],
    "io.k8s.api.scheduling.v1.PriorityClass": ["value"],
    "io.k8s.api.storage.v1.CSIDriver": ["spec"],
    "io.k8s.api.storage.v1.CSINodeSpec": ["drivers"],
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion": ["served", "storage"],
}
# In an OpenAPI document they belong to each group, and are nobody's objects.
NOT_OBJECTS = ("DeleteOptions", "WatchEvent", "Status", "APIGroup", "APIGroupList", "APIResourceList", "APIVersions")


def reduced(schema):
    """A schema as small as it can be; an empty one says nothing."""
    result = {name: schema[name] for name in KEPT if name in schema}
    parts = schema.get("allOf")
    if parts and len(parts) == 1:
        result.update(reduced(parts[0]))  # only there to give a reference a description
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            result[name] = reduced(schema[name])
        elif name in schema:
            result[name] = schema[name]
    if "properties" in schema:
        result["properties"] = {name: reduced(each) for name, each in sorted(schema["properties"].items())}
    if schema.get("required"):
        result["required"] = sorted(schema["required"])
    return result


def table_entry(name, schema):
    """Of the type of that name."""
    small = reduced(schema)
    required = [field for field in small.pop("required", []) if field not in NOT_MISSED.get(name, [])]
    return {**small, "required": required} if required else small


def names_in(schema):
    """The types that a reduced schema refers to."""
    if "$ref" in schema:
        yield schema["$ref"].removeprefix(REFERENCE)
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for each in below:
        if isinstance(each, dict):
            yield from names_in(each)


def types_of(kubernetes):
    """All types that objects are made of, by name."""
    found, roots = {}, {}
    for file in sorted((kubernetes / "api/openapi-spec/v3").glob("*.json")):
        for name, schema in json.loads(file.read_text())["components"].get("schemas", {}).items():
            small = table_entry(name, schema)
            if found.setdefault(name, small) != small:
                sys.exit(f"{file}: {name} differs from what another group version says")
            for kind in schema.get(GROUP_KINDS, []):
                if kind["kind"] not in NOT_OBJECTS and not kind["kind"].endswith("List"):
                    roots.setdefault(name, set()).add((kind["group"], kind["version"], kind["kind"]))
    for name, kinds in roots.items():
        found[name] = {**found[name], GROUP_KINDS: [dict(zip(("group", "version", "kind"), kind)) for kind in sorted(kinds)]}
    wanted, result = sorted(roots), {}
    while wanted:
        name = wanted.pop()
        if name not in result:
            result[name] = found[name]
            wanted += names_in(found[name])
    return result


SCOPES = pathlib.Path(__file__).resolve().parents[2] / "src/apimachinery/built_in_groups.cc"
BUILT_IN = re.compile(r'kBuiltInGroups\{(.*?)\};', re.S)
SCOPED = re.compile(r'^    \{"([^"]*)", "([^"]+)"\},$', re.M)


def namespaced_of(kubernetes):
    """Of each kind that can be created, whether it belongs to a namespace."""
    found = {}
    for file in sorted((kubernetes / "api/openapi-spec/v3").glob("*.json")):
        for path, operations in json.loads(file.read_text())["paths"].items():
            create = operations.get("post", {})
            if GROUP_KINDS in create and "{name}" not in path:
                kind = create[GROUP_KINDS]
                found[kind["group"], kind["kind"]] = "{namespace}" in path
    return found


def check_scopes(kubernetes):
    """The programs know groups and scopes without a table, from two lists in the sources."""
    source = SCOPES.read_text()
    groups, listed = re.findall(r'"([^"]*)"', BUILT_IN.search(source)[1]), set(SCOPED.findall(source))
    for kind, namespaced in sorted(namespaced_of(kubernetes).items()):
        if kind[0] not in groups:
            sys.exit(f"{SCOPES.name}: {kubernetes.name} has the group {kind[0]}; add it to kBuiltInGroups")
        if namespaced == (kind in listed):
            sys.exit(f"{SCOPES.name}: {'.'.join(reversed(kind))} is {'' if namespaced else 'not '}namespaced in {kubernetes.name}; correct kClusterScoped")


FUNCTION = re.compile(r"^func schema_(\w+)\(ref ")
PROPERTY = re.compile(r'^\t{5}"([^"]+)": \{$')
CHOICES = re.compile(r"^(\t+)Enum: +\[\]interface\{\}\{(.*)\},$")
OF_PROPERTY, OF_PARTS = 7, 10  # how deep it stands


def add_choices(kubernetes, types):
    """The values that an enumeration has: a server publishes them, the documents of the sources leave them out."""
    # As its generator calls a function: "io.k8s.api.core.v1.Container" is k8s.io/api/core/v1, of which four parts count.
    by_function = {}
    for name in types:
        top, domain, *path, kind = name.split(".")
        parts = [f"{domain}.{top}", *path][-4:]
        by_function["_".join(re.sub(r"\W", "", part) for part in [*parts, kind])] = types[name]
    found, schema, field = 0, None, None
    for line in (kubernetes / "pkg/generated/openapi/zz_generated.openapi.go").read_text().split("\n"):
        if function := FUNCTION.match(line):
            schema, field = by_function.get(function[1]), None
        elif schema and (name := PROPERTY.match(line)):
            field = schema["properties"][name[1]]
        elif schema and (choices := CHOICES.match(line)):
            place = {OF_PROPERTY: field, OF_PARTS: field.get("items") or field.get("additionalProperties")}[len(choices[1])]
            place["enum"] = json.loads(f"[{choices[2]}]")
            found += 1
    if found < 100:
        sys.exit(f"{kubernetes}: only {found} enumerations")


GROUP = re.compile(r'^(?:const )?GroupName = "([^"]*)"', re.M)
METHOD = re.compile(r"^func \(in \*(\w+)\) APILifecycle(\w+)\(\)[^{]*\{\n\treturn (.*)\n\}", re.M)
REPLACEMENT = re.compile(r'Group: "([^"]*)", Version: "([^"]*)", Kind: "([^"]*)"')


def lifecycle_of(module):
    """[{group, version, kind, deprecated, removed, replacement}] of types that are going, or gone; minors of Kubernetes 1."""
    for file in sorted(module.glob("**/zz_generated.prerelease-lifecycle.go")):
        group = GROUP.search((file.parent / "register.go").read_text()) or sys.exit(f"{file}: its group has no name")
        types = {}
        for kind, what, value in METHOD.findall(file.read_text()):
            types.setdefault(kind, {})[what] = value
        for kind, said in sorted(types.items()):
            if "Deprecated" not in said or kind.endswith("List"):
                continue
            entry = {"group": group[1], "version": file.parent.name, "kind": kind,
                     "deprecated": int(said["Deprecated"].split(", ")[1])}
            if "Removed" in said:
                entry["removed"] = int(said["Removed"].split(", ")[1])
            if "Replacement" in said:
                other = REPLACEMENT.search(said["Replacement"])
                entry["replacement"] = dict(zip(("group", "version", "kind"), other.groups()))
                # IngressClass has its list's.
                entry["replacement"]["kind"] = entry["replacement"]["kind"].removesuffix("List")
            yield entry


def fetched():
    """[(name, version, directory)] of the modules in the lock file."""
    lines = (pathlib.Path(__file__).parent / "modules.lock").read_text().split("\n")
    wanted = [line.split() for line in lines if line and not line.startswith("#")]
    with tempfile.TemporaryDirectory() as empty:
        (pathlib.Path(empty) / "go.mod").write_text("module none\n")
        for name, version, checksum in wanted:
            found = subprocess.run(["go", "mod", "download", "-json", f"{name}@{version}"], cwd=empty, capture_output=True, text=True)
            if found.returncode:
                sys.exit(f"can't fetch {name} {version}: {json.loads(found.stdout or '{}').get('Error') or found.stderr}")
            module = json.loads(found.stdout)
            if module["Sum"] != checksum:
                sys.exit(f"{name} {version}: its checksum is {module['Sum']}, not {checksum} of modules.lock")
            yield name, version, pathlib.Path(module["Dir"])


def main():
    directory = pathlib.Path(sys.argv[1])
    modules = list(fetched())
    lifecycle = sorted((entry for name, _, module in modules if name != KUBERNETES for entry in lifecycle_of(module)),
                       key=lambda entry: (entry["group"], entry["version"], entry["kind"]))
    if len(lifecycle) < 50:
        sys.exit(f"only {len(lifecycle)} types have an end")
    for name, version, module in modules:
        if name == KUBERNETES:
            types = types_of(module)
            if len(types) < 500:
                sys.exit(f"{module}: only {len(types)} types")
            add_choices(module, types)
            check_scopes(module)
            text = json.dumps({"kubernetes": version, "lifecycle": lifecycle, "schemas": types}, separators=(",", ":"), sort_keys=True)
            minor = ".".join(version.removeprefix("v").split(".")[:2])
            (directory / f"kubernetes-{minor}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
