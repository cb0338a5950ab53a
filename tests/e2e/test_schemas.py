"""The check against the cluster's schemas is never stricter than the server: what that has made itself passes."""
import copy
import gzip
import itertools
import json
import os
import pathlib
import sys

from harness import check, contains, equal, test
from test_every_field import KINDS, Sweep, leaves, put

KEPT = ("name", "labels", "annotations")


def as_a_manifest(served, listed, name):
    """What the server answered, defaults and all, as somebody might write it."""
    metadata = {key: value for key, value in served["metadata"].items() if key in KEPT}
    metadata["annotations"] = {key: value for key, value in metadata.get("annotations", {}).items() if "mistletoe" not in key}
    body = {key: value for key, value in served.items() if key not in ("metadata", "status", "apiVersion", "kind")}
    return {**listed, "metadata": {**metadata, "name": name}, **body}


@test
def what_the_server_makes_of_every_kind_passes(t):
    objects = []
    for address, kind, members, _ in KINDS:
        group = address.split("/")[1:-1]
        version = {"apiVersion": "/".join(group[1:]), "kind": kind}
        names = json.loads(json.dumps({**version, "metadata": {"name": "sample"}, **members}))
        path = address
        listed = t.kube.checked("GET", "/" + "/".join(group))["resources"]
        if next(each for each in listed if each["kind"] == kind and "/" not in each["name"])["namespaced"]:
            path = f"/{'/'.join(group)}/namespaces/{t.ns}/{address.split('/')[-1]}"
        served = t.kube.checked("POST", path + "?dryRun=All", names)
        manifest = as_a_manifest(served, version, f"sample-{len(objects)}")
        manifest["metadata"].pop("labels", None)
        objects.append(manifest)
    # The server has objections of other kinds (an address that is out of range), which aren't the schemas'.
    checked = t.run("install", "shop", "-p", t.package("p", *objects), "--dry-run", code=None)
    check("does not fit the cluster's schema" not in checked.err, checked)
    for each in objects:
        each["wrong"] = 1
    refused = t.refused("install", "shop", "-p", t.package("q", *objects), says=["wrong: there is no such field"])
    check(f"and {len(objects) - 20} more" in refused.err, refused)


@test
def a_diff_names_the_fields_that_do_not_fit(t):
    """Of a first install and of an upgrade: the line of the field, and what was meant; not the server's words."""
    def files(*lines):
        return t.files("p", {"web.yaml": "\n".join(["apiVersion: v1", "kind: Service", "metadata: {name: web}", "spec:", *lines]) + "\n"})
    wrong = ["  typ: ClusterIP", "  ports:", "  - port: 80", "    targtPort: 80"]
    says = ["conflict Service", "it does not fit the cluster's schema: spec.typ: there is no such field (did you mean type?) (web.yaml:5",
            "spec.ports[0].targtPort: there is no such field (did you mean targetPort?) (web.yaml:8", "explain services.spec"]
    contains(t.run("diff", "shop", "-p", files(*wrong)).out, *says)
    t.run("install", "shop", "-p", files("  ports: [{port: 80}]"))
    contains(t.run("diff", "shop", "-p", files(*wrong)).out, *says)


@test
def what_is_in_the_cluster_passes(t):
    """Its own objects, with all that controllers and defaults have put there."""
    found = 0
    groups = ["/api/v1"] + ["/apis/" + version["groupVersion"] for group in t.kube.checked("GET", "/apis")["groups"]
                            for version in group["versions"] if group["name"].endswith(".k8s.io") or "." not in group["name"]]
    objects = []
    for group in groups:
        for each in t.kube.checked("GET", group)["resources"]:
            if "/" in each["name"] or not {"list", "create", "patch"} <= set(each["verbs"]) or each["kind"] in ("Event", "Namespace"):
                continue
            if each["kind"] == "CustomResourceDefinition":
                continue  # of other tests, which come and go
            version = {"apiVersion": group.split("/", 2)[2], "kind": each["kind"]}
            for served in t.kube.checked("GET", f"{group}/{each['name']}?limit=25").get("items", []):
                if not served["metadata"]["name"].startswith(("system:", "system-", "kube", "cluster-", "v1.", "admin", "edit", "view")):
                    continue
                found += 1
                manifest = as_a_manifest(served, version, f"copy-{found}")
                manifest["metadata"].pop("labels", None)
                manifest["metadata"].pop("annotations", None)
                objects.append(manifest)
    check(found > 30, f"only {found} objects")
    t.note(f"{found} objects of {len({o['kind'] for o in objects})} kinds")
    checked = t.run("install", "shop", "-p", t.package("p", *objects), "--dry-run", code=None)
    check("does not fit the cluster's schema" not in checked.err, checked)


# What people write where something else belongs.
ODD = ["Nonsense", "", "80", 1, 1.5, 2.0, True, [], {}, ["a"], [1], {"a": "b"}, {"a": 1}, [{"name": "a"}]]


def never_stricter(t, kinds, step):
    """Odd values at every leaf of every kind: whatever the server takes, in a dry run, the check takes too."""
    sweep = Sweep(t, False)
    taken, asked = [], 0
    for number, (address, kind, members, _) in enumerate(kinds):
        group = address.removeprefix("/").rsplit("/", 1)[0]
        types = t.kube.checked("GET", "/openapi/v3/" + group)["components"]["schemas"]
        schema, = [s for s in types.values() if "metadata" in s.get("properties", {}) and any(
            k["kind"] == kind for k in s.get("x-kubernetes-group-version-kind", []))]
        version = group.removeprefix("apis/").removeprefix("api/")
        paths = sorted({path for path, _ in leaves(schema, types) if path and path[0] != "metadata"})
        for index, (path, value) in enumerate(itertools.product(paths, ODD)):
            if index % step:
                continue
            item = {"apiVersion": version, "kind": kind, "metadata": {"name": f"x{number}-{index}"}, **put(members, path, value)}
            asked += 1
            if sweep.dry_run(address, item) is not None:
                taken.append(item)
    outcome = t.run("install", "shop", "-p", t.package("odd", *taken), "--dry-run", code=None)
    t.note(f"{asked} odd objects, of which the server takes {len(taken)}")
    check(len(taken) > 20, "hardly one of them is taken")
    check("does not fit the cluster's schema" not in outcome.err, outcome.err)


@test
def the_check_is_never_stricter_than_the_server(t):
    never_stricter(t, KINDS, 97)


@test(full=True)
def the_check_is_never_stricter_than_the_server_at_any_leaf(t):
    never_stricter(t, KINDS, 5)


def table_of(t, minor):
    """What tools/kube-schemas made of a Kubernetes: beside the program, as installed."""
    directory = pathlib.Path(os.path.realpath(t.mistctl)).parent.parent / "share/mistletoe/schemas"
    return json.loads(gzip.decompress((directory / f"kubernetes-{minor}.json.gz").read_bytes()))


def minor_of(t):
    version = t.kube.checked("GET", "/version")
    return f"{version['major']}.{version['minor'].rstrip('+')}"


@test
def the_schemas_that_come_along_are_the_servers(t):
    """Field by field, of each type that the server publishes."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/kube-schemas"))
    import make
    ours = table_of(t, minor_of(t))["schemas"]
    compared = 0
    for path in t.kube.checked("GET", "/openapi/v3")["paths"]:
        if not path.startswith("api") or path in ("api", "apis") or "example" in path:
            continue
        served = t.kube.checked("GET", "/openapi/v3/" + path)["components"].get("schemas", {})
        for name, schema in served.items():
            if name in ours and name.startswith("io.k8s."):
                compared += 1
                wanted = {key: value for key, value in ours[name].items() if key != make.GROUP_KINDS}
                equal(make.table_entry(name, schema), wanted, name)
    check(compared > 500, f"only {compared} types")
    t.note(f"{compared} types")


def required_places(schema, types, value, path=()):
    """The paths of fields in a value that its schema requires."""
    while "$ref" in schema:
        schema = types[schema["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from required_places(schema.get("items", {}), types, item, path + (index,))
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name in value:
                yield path + (name,)
        for name, below in value.items():
            yield from required_places(schema.get("properties", {}).get(name, {}), types, below, path + (name,))


@test
def what_the_schemas_require_the_server_requires(t):
    """A field that lint misses is one that the server misses too."""
    sweep = Sweep(t, False)
    types = table_of(t, minor_of(t))["schemas"]
    asked, taken = 0, []
    for number, (address, kind, members, _) in enumerate(KINDS):
        group = address.removeprefix("/").rsplit("/", 1)[0]
        version = group.removeprefix("apis/").removeprefix("api/")
        group_name, _, plain = version.rpartition("/")
        schema, = [each for each in types.values() if {"group": group_name, "version": plain, "kind": kind}
                   in each.get("x-kubernetes-group-version-kind", [])]
        whole = {"apiVersion": version, "kind": kind, "metadata": {"name": f"r{number}"}, **members}
        for path in required_places(schema, types, whole):
            item = copy.deepcopy(whole)
            at = item
            for step in path[:-1]:
                at = at[step]
            del at[path[-1]]
            asked += 1
            if sweep.dry_run(address, item) is not None:
                taken.append(f"{kind}: {'.'.join(map(str, path))}")
    t.note(f"{asked} required fields")
    check(asked > 40, f"only {asked} fields")
    equal(taken, [], "fields that the server does without")
