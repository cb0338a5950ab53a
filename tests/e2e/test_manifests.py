"""What manifests of others contain: exports of a cluster, keys that repeat themselves, nulls, a status, and what a webhook is
to fill in. Nothing of it may stop a release half way, and nothing that the server takes may be refused."""
import json

from harness import check, config_map, contains, definition, equal, test, workload

MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
BINDING = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"


# -- lists that are merged by key

def schemas_of(t):
    """{name: schema} of Kubernetes' own types, as the server describes them."""
    found = {}
    for address in t.kube.checked("GET", "/openapi/v3")["paths"].values():
        document = t.kube.checked("GET", address["serverRelativeURL"])
        found.update({name: schema for name, schema in document.get("components", {}).get("schemas", {}).items()
                      if name.startswith("io.k8s.")})
    return found


def reference(schema):
    for part in [schema, *schema.get("allOf", [])]:
        if "$ref" in part:
            return part["$ref"].rsplit("/", 1)[-1]
    return None


def keyed_lists(schemas, name, path=(), above=()):
    """Of a type: (path of a list, its keys with an example of each; () for a set). Deeper types that contain themselves are
    followed once."""
    if name in above:
        return
    for field, schema in schemas[name].get("properties", {}).items():
        if field in ("managedFields", "status"):  # never applied
            continue
        if reference(schema):
            yield from keyed_lists(schemas, reference(schema), (*path, field), (*above, name))
        if schema.get("type") != "array":
            continue
        items, kind = schema["items"], schema.get("x-kubernetes-list-type")
        item = reference(items)
        if kind == "map":
            types = schemas[item]["properties"]
            yield (*path, field), {key: 7 if types[key].get("type") == "integer" else "x"
                                   for key in schema["x-kubernetes-list-map-keys"]}
        elif kind == "set":
            yield (*path, field), {}
        if item:
            yield from keyed_lists(schemas, item, (*path, field, 0), (*above, name))


def with_duplicates(api_version, kind, path, keys):
    """An object in which that list, and nothing else, has an item twice."""
    value = [dict(keys), dict(keys)] if keys else ["x", "x"]
    for step in reversed(path):
        value = [value] if step == 0 else {step: value}
    value.setdefault("metadata", {})["name"] = "some"
    return {"apiVersion": api_version, "kind": kind, **value}


def path_text(path):
    return ".".join(str(step) for step in path).replace(".0", "[0]")


@test
def keys_that_repeat_themselves_are_found_in_every_list_that_the_server_merges_by_key(t):
    schemas = schemas_of(t)
    seen, pods = 0, set()
    for name, schema in sorted(schemas.items()):
        if "metadata" not in schema.get("properties", {}) or name.endswith("List"):
            continue
        for kind in schema.get("x-kubernetes-group-version-kind", []):
            if kind["kind"] == "ComponentStatus":
                continue  # nobody writes it
            api_version = "/".join(part for part in (kind["group"], kind["version"]) if part)
            for path, keys in keyed_lists(schemas, name):
                # The type of what Pods are made from is the same everywhere: once all of it, then its first list.
                if "containers" in path or "volumes" in path or "initContainers" in path or "ephemeralContainers" in path:
                    if kind["kind"] != "Pod" and path[-1] != "containers":
                        continue
                    pods.add(kind["kind"])
                if path.count("metadata") > (path[0] == "metadata"):
                    continue  # of claims inside of Pods: they have no owners
                package = t.package("p", with_duplicates(api_version, kind["kind"], path, keys))
                refused = t.refused("generate", "a", "-r", "-p", package)
                contains(refused.err, f"{path_text(path)} has ", " twice")
                seen += 1
    check({"Pod", "Deployment", "CronJob", "Job", "PodTemplate"} <= pods, "kinds with Pods:", pods)
    check(seen > 80, seen, "lists")
    t.note(f"{seen} lists")


@test
def repeated_keys_are_refused_before_anything_is_written(t):
    web = workload("Deployment", "web")
    web["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    mark = t.mark()
    t.refused("install", "shop", "-p", t.package("p", config_map("first"), web),
              says=["00001.yaml:", "spec.template.spec.containers[0].env has name=A twice"])
    equal([r for r in t.requests(mark) if r.verb not in ("get", "list", "watch")], [], "writes")


# -- exports

@test
def an_exported_manifest_can_be_applied(t):
    t.run("install", "shop", "-p", t.package("p", config_map("settings"), workload("Deployment", "web")), "--wait")
    exported = [t.kube.get(kind, t.ns, name) for kind, name in [("ConfigMap", "settings"), ("Deployment", "web")]]
    other = t.namespace("other")
    for item, (api_version, kind) in zip(exported, [("v1", "ConfigMap"), ("apps/v1", "Deployment")]):
        item.update({"apiVersion": api_version, "kind": kind})
        metadata = item["metadata"]
        metadata["namespace"] = other
        metadata["labels"] = {}
        metadata["annotations"] = {}
    exported[1]["spec"]["template"]["metadata"].update({"creationTimestamp": None, "uid": "1234"})
    package = t.package("exported", *exported)
    installed = t.run("install", "copy", "-n", other, "-p", package, "--wait")
    contains(installed.err, f"ConfigMap {other}/settings (00000.yaml:", "is applied without ", "metadata.uid", "metadata.managedFields",
             f"Deployment {other}/web (00001.yaml:", "spec.template.metadata.uid", "status (only the server sets them)")
    equal(t.kube.get("ConfigMap", other, "settings")["data"], {"key": "settings"})
    mark = t.mark()
    t.run("upgrade", "copy", "-n", other, "-p", package)
    equal([r for r in t.requests(mark) if r.verb not in ("get", "list", "watch")], [], "writes of an upgrade with nothing new")
    equal(t.run("drift", "copy", "-n", other, "-o", "json").json["releases"][0]["drifted"], False)


@test
def a_cluster_role_with_a_namespace_is_applied_without_it(t):
    name = f"{t.ns}-view"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name, "namespace": t.ns},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]}
    package = t.package("p", role)
    contains(t.run("install", "shop", "-p", package).err, f"ClusterRole {name} (00000.yaml:",
             "is applied without metadata.namespace (its kind has no namespace)")
    check(t.kube.get("/apis/rbac.authorization.k8s.io/v1/clusterroles", None, name), "it is not there")
    mark = t.mark()
    t.run("upgrade", "shop", "-p", package)
    equal([r for r in t.requests(mark) if r.verb not in ("get", "list", "watch")], [], "writes")
    t.run("uninstall", "shop", "--yes")


# -- custom resources

def widget(name, group, **members):
    return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name}, **members}


def widgets(t, suffix, schema=None, status=False):
    """A definition of this test's own: (group, definition, address)."""
    group = f"{suffix}.{t.ns}.example.com"
    crd = definition(group, "widgets", "Widget", schema)
    if status:
        crd["spec"]["versions"][0]["subresources"] = {"status": {}}
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"widgets.{group}"))
    return group, crd, f"/apis/{group}/v1/widgets"


@test
def a_status_is_written_where_it_has_no_subresource(t):
    for suffix, subresource in [("plain", False), ("with", True)]:
        group, crd, address = widgets(t, suffix, status=subresource)
        first = t.package("p", crd, widget("w", group, status={"phase": "one"}))
        second = t.package("q", crd, widget("w", group, status={"phase": "two"}))
        t.run("install", suffix, "-p", first)
        t.run("upgrade", suffix, "-p", second)
        live = t.kube.get(address, t.ns, "w").get("status")
        equal(live, None if subresource else {"phase": "two"}, f"status, {suffix}")
        mark = t.mark()
        t.run("upgrade", suffix, "-p", second)
        equal([r for r in t.requests(mark) if r.verb not in ("get", "list", "watch")], [], "writes")
        if not subresource:
            t.kube.patch(address, t.ns, "w", {"status": {"phase": "three"}})
            drifted = t.run("drift", suffix, "-o", "json").json["releases"][0]
            equal([f["path"] for f in drifted["objects"][0]["fields"]], [".status.phase"])
        t.run("uninstall", suffix, "--yes", "--delete-crds")


NULLS = {
    "plain": {"type": "string"}, "nullable": {"type": "string", "nullable": True},
    "defaulted": {"type": "string", "default": "d"},
    "both": {"type": "string", "default": "d", "nullable": True},
    "needed": {"type": "string"},
    "list": {"type": "array", "items": {"type": "string"}},
    "nullableItems": {"type": "array", "items": {"type": "string", "nullable": True}},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    "nested": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "d"}}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


@test
def nulls_of_custom_resources_are_taken_as_the_server_takes_them(t):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "required": ["needed"], "properties": NULLS}}}
    specs = [{"needed": "x", name: None} for name in NULLS if name != "needed"]
    specs += [{"needed": None}, {"needed": "x", "list": [None]}, {"needed": "x", "nullableItems": [None]},
              {"needed": "x", "map": {"a": None}}, {"needed": "x", "nested": {"a": None, "b": None}},
              {"needed": "x", "free": {"a": None}}]
    there, crd, address = widgets(t, "there", schema)
    t.run("install", "definition", "-p", t.package("p", crd))
    for number, spec in enumerate(specs):
        # The server's word on what kubectl sends for a new object, where the definition is there already …
        path = t.kube.path(address, t.ns) + "?fieldValidation=Strict"
        status, answer = t.kube.request("POST", path, widget("direct", there, spec=spec))
        # … and ours, where the release brings it.
        group, own, own_address = widgets(t, f"own{number}", schema)
        ours = t.run("install", f"own{number}", "-p", t.package("q", own, widget("w", group, spec=spec)), code=None)
        equal(ours.code == 0, status < 300, f"{spec}: the server says {status} {str(answer)[:300]}, and we\n{ours}")
        if status < 300:
            equal(t.kube.get(own_address, t.ns, "w")["spec"], answer["spec"], f"what came of {spec}")
        else:
            contains(ours.err, "does not match its CRD")
        t.kube.delete(address, t.ns, "direct")
        if status < 300:
            again = t.run("upgrade", f"own{number}", "-p", t.package("q", own, widget("w", group, spec=spec)))
            contains(again.out, "nothing was written")


METADATA = [
    {"labels": {"a": "b"}, "annotations": {"a.b/c": ""}, "finalizers": []}, {"creationTimestamp": None}, {"labls": {"a": "b"}},
    {"labels": None}, {"finalizers": "a.b/c"}, {"finalizers": None}, {"ownerReferences": [{"apiversion": "v1"}]},
    {"generation": "1"}, {"clusterName": "x"}, {"selfLink": "x"}, {"deletionGracePeriodSeconds": "1"}]


# Fields that only the server sets: an object of the release is applied without them.
LEFT_OUT = {"creationTimestamp", "generation", "selfLink", "deletionGracePeriodSeconds"}


@test
def metadata_of_custom_resources_is_taken_as_the_server_takes_it(t):
    """No definition describes it. Half of a release would be written before the server refused it."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "template": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}}}}}
    there, crd, address = widgets(t, "metadata", schema)
    t.run("install", "definition", "-p", t.package("p", crd))
    for number, members in enumerate(METADATA):
        for embedded in (False, True):
            if not embedded and set(members) & LEFT_OUT:
                continue
            def item(group):
                result = widget("w", group, spec={})
                if embedded:
                    result["spec"]["template"] = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", **members}}
                else:
                    result["metadata"].update(members)
                return result
            path = f"{t.kube.path(address, t.ns, 'w')}?fieldManager=e2e&dryRun=All"
            status, answer = t.kube.request("PATCH", path, item(there), content_type="application/apply-patch+yaml")
            group, own, _ = widgets(t, f"metadata{number}{embedded}".lower(), schema)
            ours = t.run("install", f"own{number}", "-p", t.package("q", own, item(group)), "--dry-run", code=None)
            said = f"{members} {embedded}: the server says {status} {str(answer)[:300]}, and we\n{ours}"
            equal(ours.code == 0, status < 300, said)
            if status >= 300:
                check("does not match its CRD" in ours.err or "must be" in ours.err, said)


@test
def every_misfit_of_custom_resources_is_found_by_lint(t):
    group, crd, _ = widgets(t, "lint", {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}})
    wrong = widget("w", group, spec={"sise": 1, "size": "x"})
    wrong["metadata"]["labls"] = {}
    found = t.run("package", "lint", t.package("p", crd, wrong), code=1).out
    contains(found, "spec.sise: the schema has no such field (did you mean size?)", "spec.size: must be integer",
             "metadata.labls: the schema has no such field (did you mean labels?)", "3 errors")


def mutation(t, group, name, expression):
    """Fills something into Widgets of that group before the server looks at them: (policy, binding)."""
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": name},
              "spec": {"matchConstraints": {"resourceRules": [{
                  "apiGroups": [group], "apiVersions": ["v1"], "resources": ["widgets"], "operations": ["CREATE", "UPDATE"]}]},
                  "failurePolicy": "Fail", "reinvocationPolicy": "Never",
                  "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]}}
    binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
               "metadata": {"name": name}, "spec": {"policyName": name}}
    t.cleanup(lambda: t.kube.delete(BINDING, None, name))
    t.cleanup(lambda: t.kube.delete(MUTATING, None, name))
    return policy, binding


@test
def what_admission_fills_in_is_not_missed_in_custom_resources(t):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1}, "color": {"type": "string"}}}}}
    group, crd, address = widgets(t, "mutated", schema)
    small = widget("w", group, spec={"color": "red"})
    package = t.package("p", crd, small)
    t.refused("install", "shop", "-p", package, says=["does not match its CRD", "size"])

    policy, binding = mutation(t, group, f"{t.ns}-size", "Object{spec: Object.spec{size: 3}}")
    t.kube.create(MUTATING, None, policy)
    t.kube.create(BINDING, None, binding)
    # Policies begin to count a moment later.
    t.run("install", "definition", "-p", t.package("d", crd))

    def filled_in():
        status, answer = t.kube.request("POST", t.kube.path(address, t.ns) + "?dryRun=All", small)
        return status < 300 and answer["spec"].get("size") == 3
    t.kube.wait("the policy counts", filled_in)
    t.run("uninstall", "definition", "--yes", "--delete-crds")
    t.kube.wait("the definition is gone", lambda: not t.kube.get("CustomResourceDefinition", None, f"widgets.{group}"))
    t.run("install", "shop", "-p", package)
    equal(t.kube.get(address, t.ns, "w")["spec"], {"color": "red", "size": 3})
    # What the server finds before it calls anybody is still found before anything is written.
    group, crd, address = widgets(t, "others", schema)
    policy, binding = mutation(t, group, f"{t.ns}-own", "Object{spec: Object.spec{size: 3}}")
    mark = t.mark()
    t.refused("install", "other", "-p", t.package("q", crd, policy, binding, widget("w", group, spec={"colour": "red"})),
              says=["spec.colour: the schema has no such field"])
    equal([r for r in t.requests(mark) if r.verb not in ("get", "list", "watch")], [], "writes")
