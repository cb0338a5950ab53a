"""The plan is exact: real changes are written, what others emptied or filled is put back, and what the server makes of
our own objects is not a change."""
import pathlib
import re

from harness import check, config_map, contains, equal, test

TABLE = pathlib.Path(__file__).parents[2] / "src/apply/fields/stored_forms.cc"


def writes(t, *command, **options):
    mark = t.mark()
    t.run(*command, **options)
    return [r for r in t.requests(mark) if r.writes]


def deployment(name="web", **container):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}},
                     "spec": {"containers": [{"name": "main", "image": "nginx:1", **container}]}}}}


@test
def texts_that_mean_the_same_number_are_changes(t):
    def package(env, data):
        return t.package("p", deployment(env=[{"name": "APP_VERSION", "value": env}]),
                         config_map("settings", {"max": data, "value": data, "default": data}))
    t.run("install", "shop", "-p", package("1.1", "007"))
    changed = package("1.10", "7")
    contains(t.run("diff", "shop", "-p", changed).out, "1.10", "3 fields differ")
    t.run("upgrade", "shop", "-p", changed)
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"max": "7", "value": "7", "default": "7"})
    container = t.kube.get("Deployment", t.ns, "web")["spec"]["template"]["spec"]["containers"][0]
    equal(container["env"], [{"name": "APP_VERSION", "value": "1.10"}])
    equal(writes(t, "upgrade", "shop", "-p", changed), [], "writes without a change")


@test
def what_is_wanted_empty_and_was_filled_is_put_back(t):
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny"},
              "spec": {"podSelector": {}, "ingress": [], "policyTypes": ["Ingress"]}}
    chosen = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "some"},
              "spec": {"podSelector": {"matchLabels": {"a": "b"}}, "policyTypes": ["Ingress"]}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "none"}, "rules": []}
    null = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "null"}, "rules": None}
    labels = config_map("labels", {})
    labels["metadata"]["labels"] = {}
    package = t.package("p", policy, chosen, role, null, labels)
    t.run("install", "shop", "-p", package)
    equal(writes(t, "upgrade", "shop", "-p", package), [], "writes without a change")
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    t.kube.patch("NetworkPolicy", t.ns, "deny", {"spec": {"ingress": [{}]}})
    t.kube.patch("NetworkPolicy", t.ns, "some", {"spec": {"podSelector": {"matchLabels": {"c": "d"}}}})
    t.kube.patch("Role", t.ns, "none", {"rules": everything})
    t.kube.patch("Role", t.ns, "null", {"rules": everything})
    t.kube.patch("ConfigMap", t.ns, "labels", {"metadata": {"labels": {"theirs": "x"}}, "data": {"theirs": "x"}})
    release, = t.run("drift", "shop", "-o", "json", "--exit-code", code=3).json["releases"]
    equal({f"{o['kind']}/{o['name']}": o["drift"] for o in release["objects"]},
          {"NetworkPolicy/deny": "changed", "NetworkPolicy/some": "changed", "Role/none": "changed",
           "Role/null": "changed", "ConfigMap/labels": "foreign"})
    t.refused("upgrade", "shop", "-p", package, says=["ingress", "rules"])
    t.run("drift", "shop", "--fix")
    check(not t.kube.get("NetworkPolicy", t.ns, "deny")["spec"].get("ingress"), "ingress is still open")
    equal(t.kube.get("NetworkPolicy", t.ns, "some")["spec"]["podSelector"], {"matchLabels": {"a": "b"}})
    check(not t.kube.get("Role", t.ns, "none")["rules"], "the role still allows everything")
    check(not t.kube.get("Role", t.ns, "null")["rules"], "the role still allows everything")
    equal(t.kube.get("ConfigMap", t.ns, "labels")["metadata"]["labels"]["theirs"], "x")
    equal(writes(t, "upgrade", "shop", "-p", package), [], "writes without a change")


def rewrite_images(t):
    """Admission that gives each Deployment of the namespace another image."""
    name = f"mirror-{t.ns}"
    t.kube.create("MutatingAdmissionPolicy", None, {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"failurePolicy": "Fail", "reinvocationPolicy": "Never",
                 "matchConstraints": {
                     "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}},
                     "resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"],
                                        "operations": ["CREATE", "UPDATE"]}]},
                 "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression":
                     '[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", '
                     'value: "mirror.local/" + object.spec.template.spec.containers[0].image'
                     '.replace("mirror.local/", "")}]'}}]}})
    t.cleanup(lambda: t.kube.delete("MutatingAdmissionPolicy", None, name))
    t.kube.create("MutatingAdmissionPolicyBinding", None, {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name}, "spec": {"policyName": name}})
    t.cleanup(lambda: t.kube.delete("MutatingAdmissionPolicyBinding", None, name))

    def works():
        answer = t.kube.checked("POST", t.kube.path("Deployment", t.ns) + "?dryRun=All",
                                deployment("probe"))
        return answer["spec"]["template"]["spec"]["containers"][0]["image"].startswith("mirror.local/")
    t.kube.wait("admission rewrites images", works)


def image(t):
    return t.kube.get("Deployment", t.ns, "web")["spec"]["template"]["spec"]["containers"][0]["image"]


@test
def what_admission_makes_of_our_own_values_is_no_change(t):
    rewrite_images(t)
    package = t.package("p", deployment())
    t.run("install", "shop", "-p", package)
    equal(image(t), "mirror.local/nginx:1")
    equal(writes(t, "upgrade", "shop", "-p", package), [], "writes without a change")
    t.run("drift", "shop", "--exit-code")
    t.run("diff", "shop", "-p", package, "--exit-code")
    # Another live value is a difference, and so is another wanted one.
    t.kube.patch("Deployment", t.ns, "web", {"metadata": {"labels": {"x": "y"}}, "spec": {"template": {"spec": {
        "containers": [{"name": "main", "image": "evil:1"}]}}}})
    t.run("drift", "shop", "--exit-code", code=3)
    t.run("drift", "shop", "--fix")
    equal(image(t), "mirror.local/nginx:1")
    other = t.package("other", deployment(image="nginx:2"))
    t.run("upgrade", "shop", "-p", other)
    equal(image(t), "mirror.local/nginx:2")
    t.run("rollback", "shop")
    equal(image(t), "mirror.local/nginx:1")
    t.run("drift", "shop", "--exit-code")
    # The policy goes, and what is wanted can be written at last.
    t.kube.delete("MutatingAdmissionPolicyBinding", None, f"mirror-{t.ns}")

    def stays():
        answer = t.kube.checked("POST", t.kube.path("Deployment", t.ns) + "?dryRun=All", deployment("probe"))
        return not answer["spec"]["template"]["spec"]["containers"][0]["image"].startswith("mirror.local/")
    t.kube.wait("admission rewrites nothing", stays)
    t.run("drift", "shop", "--exit-code", code=3)
    t.run("upgrade", "shop", "-p", package)
    equal(image(t), "nginx:1", "the wanted image once nothing rewrites it")
    equal(writes(t, "upgrade", "shop"), [], "writes without a change")


@test
def nulls_and_two_versions_of_a_kind_settle(t):
    web = deployment(resources={"limits": {"cpu": None, "memory": "64Mi"}},
                     ports=[{"containerPort": 80, "protocol": None}])
    web["spec"]["replicas"] = None

    def scaler(version, name, spec):
        return {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
                "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                         "maxReplicas": 3, **spec}}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization",
                                                                       "averageUtilization": 50}}}
    package = t.package("p", web, scaler("v1", "one", {"targetCPUUtilizationPercentage": 60}),
                        scaler("v2", "two", {"metrics": [metric]}))
    t.run("install", "shop", "-p", package)
    equal(writes(t, "upgrade", "shop", "-p", package), [], "writes without a change")
    changed = t.package("p", web, scaler("v1", "one", {"targetCPUUtilizationPercentage": 70}),
                        scaler("v2", "two", {"metrics": [metric]}))
    t.run("upgrade", "shop", "-p", changed)
    equal(writes(t, "upgrade", "shop", "-p", changed), [], "writes without a change")
    container = t.kube.get("Deployment", t.ns, "web")["spec"]["template"]["spec"]["containers"][0]
    equal(len(container["ports"]), 1)


def gates(t):
    """A kind whose lists and map have defaults; returns what makes an object of it."""
    group = f"{t.ns}.ex.com"
    text = {"type": "string"}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "allow": {"type": "array", "items": text, "x-kubernetes-list-type": "set", "default": ["everyone"]},
        "plain": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "rules": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                  "items": {"type": "object", "required": ["name"], "properties": {"name": text}},
                  "default": [{"name": "all"}]},
        "sel": {"type": "object", "additionalProperties": text, "default": {"b": "all"}},
        "labels": {"type": "object", "additionalProperties": text}}}}}
    t.kube.create("CustomResourceDefinition", None, {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gates.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Gate", "plural": "gates"},
                 "versions": [{"name": "v1", "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": schema}}]}})
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"gates.{group}"))
    path = f"/apis/{group}/v1/namespaces/{t.ns}/gates"
    t.kube.wait("the kind Gate is served", lambda: t.kube.request("GET", path)[0] == 200)

    def gate(**spec):
        return {"apiVersion": f"{group}/v1", "kind": "Gate", "metadata": {"name": "g"}, "spec": spec}
    return path + "/g", gate


EMPTY = {"allow": [], "plain": [], "rules": [], "sel": {}, "labels": {}}


@test
def what_a_custom_resource_wants_empty_becomes_empty(t):
    path, gate = gates(t)
    full = t.package("full", gate(allow=["alice"], plain=["p"], rules=[{"name": "r"}], sel={"a": "x"},
                                  labels={"k": "v"}))
    empty = t.package("empty", gate(**EMPTY))
    t.run("install", "shop", "-p", full)
    t.run("upgrade", "shop", "-p", empty)
    live = t.kube.checked("GET", path)
    equal(live["spec"], EMPTY)
    equal([(e["manager"], e["operation"]) for e in live["metadata"]["managedFields"]], [("mistctl", "Apply")])
    equal(writes(t, "upgrade", "shop", "-p", empty), [], "writes without a change")
    t.run("drift", "shop", "--exit-code")
    t.run("upgrade", "shop", "-p", full)
    equal(t.kube.checked("GET", path)["spec"]["allow"], ["alice"])


@test
def what_was_emptied_and_is_wanted_no_longer_goes(t):
    path, gate = gates(t)
    t.run("install", "shop", "-p", t.package("full", gate(plain=["p"], rules=[{"name": "r"}], labels={"k": "v"})))
    t.run("upgrade", "shop", "-p", t.package("empty", gate(**EMPTY)))
    dropped = t.package("dropped", gate(labels={"k": "w"}))
    shown = t.run("diff", "shop", "-p", dropped, code=0).out
    for gone in ("plain", "rules", "allow", "labels"):
        contains(shown, f"-  {gone}: []" if gone != "labels" else "-  labels: {}")
    contains(shown, "+  - everyone")
    check("-  sel" not in shown, "what has the default already is no change")
    t.run("upgrade", "shop", "-p", dropped)
    defaults = {"allow": ["everyone"], "rules": [{"name": "all"}], "sel": {"b": "all"}}
    live = t.kube.checked("GET", path)
    equal(live["spec"], defaults | {"labels": {"k": "w"}})
    equal([(e["manager"], e["operation"]) for e in live["metadata"]["managedFields"]], [("mistctl", "Apply")])
    equal(writes(t, "upgrade", "shop", "-p", dropped), [], "writes without a change")
    # With the last field that anybody owns, nothing else goes, and what is wanted empty comes.
    bare = t.package("bare", gate(plain=[]))
    t.run("upgrade", "shop", "-p", bare)
    equal(t.kube.checked("GET", path)["spec"], defaults | {"plain": []})
    equal(writes(t, "upgrade", "shop", "-p", bare), [], "writes without a change")
    nothing = t.package("nothing", gate())
    t.run("upgrade", "shop", "-p", nothing)
    equal(t.kube.checked("GET", path)["spec"], defaults)
    equal(writes(t, "upgrade", "shop", "-p", nothing), [], "writes without a change")
    t.run("drift", "shop", "--exit-code")


@test
def what_others_add_to_an_empty_list_of_a_custom_resource_is_drift(t):
    path, gate = gates(t)
    empty = t.package("empty", gate(**EMPTY))
    t.run("install", "shop", "-p", empty)
    equal(t.kube.checked("GET", path)["spec"], EMPTY)

    def tamper():
        t.kube.checked("PATCH", path + "?fieldManager=mallory",
                       {"spec": {"allow": ["mallory"], "rules": [{"name": "m"}]}}, "application/merge-patch+json")
    tamper()
    t.run("drift", "shop", "--exit-code", code=3)
    t.refused("upgrade", "shop", "-p", empty, says=[".spec.allow (mallory)", ".spec.rules (mallory)"])
    t.run("upgrade", "shop", "-p", empty, "--force-conflicts")
    equal(t.kube.checked("GET", path)["spec"], EMPTY)
    tamper()
    t.run("drift", "shop", "--fix")
    equal(t.kube.checked("GET", path)["spec"], EMPTY)


@test
def an_object_that_admission_strips_of_our_label_is_an_error(t):
    name = f"strip-{t.ns}"
    t.kube.create("MutatingAdmissionPolicy", None, {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"failurePolicy": "Fail", "reinvocationPolicy": "Never",
                 "matchConstraints": {
                     "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}},
                     "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                                        "operations": ["CREATE", "UPDATE"]}]},
                 "matchConditions": [{"name": "ours", "expression":
                     "has(object.metadata.labels) && 'applyset.kubernetes.io/part-of' in object.metadata.labels"}],
                 "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression":
                     '[JSONPatch{op: "remove", path: "/metadata/labels/applyset.kubernetes.io~1part-of"}]'}}]}})
    t.cleanup(lambda: t.kube.delete("MutatingAdmissionPolicy", None, name))
    t.kube.create("MutatingAdmissionPolicyBinding", None, {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name}, "spec": {"policyName": name}})
    t.cleanup(lambda: t.kube.delete("MutatingAdmissionPolicyBinding", None, name))
    label = "applyset.kubernetes.io/part-of"

    def strips():
        probe = config_map("probe", {})
        probe["metadata"]["labels"] = {label: "x"}
        answer = t.kube.checked("POST", t.kube.path("ConfigMap", t.ns) + "?dryRun=All", probe)
        return label not in answer["metadata"].get("labels", {})
    t.kube.wait("admission removes the label", strips)
    package = t.package("p", config_map("a", {"x": "1"}))
    t.refused("install", "shop", "-p", package, says=["ConfigMap", "without the label", label, "admission"])
    t.refused("upgrade", "shop", "-p", package, says=["without the label", label])
    t.kube.delete("MutatingAdmissionPolicyBinding", None, name)
    t.kube.wait("admission leaves the label", lambda: not strips())
    t.run("upgrade", "shop", "-p", package)
    check(label in t.kube.get("ConfigMap", t.ns, "a")["metadata"]["labels"], "the label is back")
    t.run("uninstall", "shop", "--yes")
    equal(t.kube.get("ConfigMap", t.ns, "a"), None)


# -- the table of stored forms

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def reference(schema):
    if "$ref" in schema:
        return schema["$ref"].split("/")[-1]
    return reference(schema["allOf"][0]) if len(schema.get("allOf", [])) == 1 else None


def shape(schema, types):
    """(the form or the type that a schema is about, whether it is a map of those); lists don't count."""
    name = reference(schema)
    if name == QUANTITY:
        return "Quantity", False
    if name in types:
        return (name, False) if "properties" in types[name] else shape(types[name], types)
    form = {"byte": "Bytes", "date-time": "Time"}.get(schema.get("format"))
    if form:
        return form, False
    if schema.get("type") == "array":
        return shape(schema.get("items", {}), types)
    if isinstance(schema.get("additionalProperties"), dict):
        return shape(schema["additionalProperties"], types)[0], True
    return None, False


def places(types, name, leads, seen, found):
    if name in seen:
        return
    seen.add(name)
    for member, schema in types[name]["properties"].items():
        target, is_map = shape(schema, types)
        if member in ("status", "managedFields") or target not in leads:
            continue
        short = target.split(".")[-1]
        found.setdefault((name.split(".")[-1], member), set()).add((short, is_map))
        if target in types:
            places(types, target, leads, seen, found)


@test
def the_table_of_stored_forms_is_that_of_the_servers_schemas(t):
    paths = t.kube.checked("GET", "/openapi/v3")["paths"]
    source = TABLE.read_text()
    rows = {(a, b): (c, bool(d)) for a, b, c, d in
            re.findall(r'Row\{"(\w+)",\s*"(\w+)",\s*"(\w+)"(,\s*Row::kMap)?\}', source)}
    kinds = set(re.findall(r'Kind\{"([\w.]*)",\s*"(\w+)"\}', source))
    groups = set(re.findall(r'"([\w.]*)"', (TABLE.parents[2] / "apimachinery/built_in_groups.cc").read_text()))
    wanted, wanted_kinds = {}, set()
    for path in paths:
        group = "" if path.startswith("api/") else path.removeprefix("apis/").split("/")[0]
        if path.count("/") != (1 if path.startswith("api/") else 2) or group not in groups:
            continue
        types = {name: schema for name, schema in
                 t.kube.checked("GET", paths[path]["serverRelativeURL"])["components"]["schemas"].items()}
        leads = {"Quantity", "Bytes", "Time"}
        grown = True
        while grown:
            more = {name for name, schema in types.items() if name not in leads and any(
                shape(each, types)[0] in leads for member, each in schema.get("properties", {}).items()
                if member not in ("status", "managedFields"))}
            grown = bool(more)
            leads |= more
        for name, schema in types.items():
            for kind in schema.get("x-kubernetes-group-version-kind", []):
                own = {m for m, each in schema.get("properties", {}).items()
                       if m not in ("status", "metadata") and shape(each, types)[0] in leads}
                if "metadata" not in schema.get("properties", {}) or kind["group"] != group or "items" in schema[
                        "properties"] or not own:
                    continue
                wanted_kinds.add((group, kind["kind"]))
                places(types, name, leads, set(), wanted)
        # The one key of lists that is filled in where it isn't given.
        for name, schema in types.items():
            for member, each in schema.get("properties", {}).items():
                for key in each.get("x-kubernetes-list-map-keys", []):
                    item = types[reference(each["items"])]
                    value = item["properties"][key].get("default")
                    if value and key not in item.get("required", []):
                        equal((key, value), ("protocol", "TCP"), f"a key with a default in {name}.{member}")
    # The marks of an object are compared without its server's times.
    roots = {kind for _, kind in wanted_kinds} - {"PersistentVolumeClaim"}
    wanted = {place: forms for place, forms in wanted.items() if not (place[0] in roots and place[1] == "metadata")}
    missing = {place: forms for place, forms in wanted.items() if forms != {rows.get(place)}}
    equal(missing, {}, "the server's schemas say, and the table doesn't")
    lists = {place for place, (form, _) in rows.items() if form == "List"} | {("NetworkPolicy", "spec")}
    served = {place for place in rows if place in wanted or place in lists}
    t.note(f"{len(wanted)} places of {len(wanted_kinds)} kinds")
    equal(wanted_kinds - kinds, set(), "kinds that the table lacks")
    # Other versions of a server serve other alpha and beta types.
    extra = {place for place in set(rows) - served if place[0] in {p[0] for p in wanted}}
    equal({p for p in extra if not re.search("Device|Capacity|Resource|Counter|Certificate", p[0])}, set(),
          "the table says, and no schema does")


@test
def what_leaves_the_package_and_has_a_default_is_shown_as_that(t):
    web = deployment()
    web["spec"]["replicas"] = 8
    t.run("install", "shop", "-p", t.package("eight", web))
    del web["spec"]["replicas"]
    less = t.package("less", web)
    contains(t.run("diff", "shop", "-p", less).out, "-  replicas: 8", "+  replicas: 1")
    t.run("upgrade", "shop", "-p", less)
    equal(t.kube.get("Deployment", t.ns, "web")["spec"]["replicas"], 1)
    equal(writes(t, "upgrade", "shop", "-p", less), [], "writes without a change")
    # What somebody else owns by then stays, and the diff says so.
    web["spec"]["replicas"] = 5
    t.run("upgrade", "shop", "-p", t.package("five", web))
    t.kube.apply("Deployment", t.ns, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                                      "spec": {"replicas": 5}}, manager="handover")
    check("replicas: 1" not in t.run("diff", "shop", "-p", less).out, "it would become the default")
    t.run("upgrade", "shop", "-p", less)
    equal(t.kube.get("Deployment", t.ns, "web")["spec"]["replicas"], 5)


@test
def another_strategy_takes_away_the_defaults_of_the_old_one(t):
    """The server refuses them beside another type, and no apply of ours owns them."""
    def package(name, strategy, update):
        web, store = deployment(), {**deployment("store"), "kind": "StatefulSet"}
        del store["spec"]["replicas"]
        web["spec"] |= {"strategy": strategy} if strategy else {}
        store["spec"] |= {"serviceName": "store"} | ({"updateStrategy": update} if update else {})
        return t.package(name, web, store)

    def strategies():
        return [t.kube.get("Deployment", t.ns, "web")["spec"]["strategy"],
                t.kube.get("StatefulSet", t.ns, "store")["spec"]["updateStrategy"]]

    t.run("install", "shop", "-p", package("first", None, None))
    other = package("other", {"type": "Recreate"}, {"type": "OnDelete"})
    contains(t.run("diff", "shop", "-p", other).out, "-    rollingUpdate", "+    type: Recreate", "+    type: OnDelete")
    t.run("upgrade", "shop", "-p", other)
    equal(strategies(), [{"type": "Recreate"}, {"type": "OnDelete"}])
    equal(writes(t, "upgrade", "shop", "-p", other), [], "writes without a change")
    owners = [m["manager"] for m in t.kube.get("Deployment", t.ns, "web")["metadata"]["managedFields"]
              if "f:strategy" in m["fieldsV1"].get("f:spec", {})]
    equal(owners, ["mistctl"], "owners of the strategy")
    # The apply removes a default that the package once set itself; one that another manager set is a conflict.
    ours = package("ours", {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}, None)
    t.run("upgrade", "shop", "-p", ours)
    t.run("upgrade", "shop", "-p", other)
    equal(strategies(), [{"type": "Recreate"}, {"type": "OnDelete"}])
    t.run("upgrade", "shop", "-p", package("back", {"type": "RollingUpdate"}, None))
    t.kube.apply("Deployment", t.ns, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                                      "spec": {"strategy": {"rollingUpdate": {"maxSurge": 3}}}}, "edit")
    refused = t.run("upgrade", "shop", "-p", other, code=None)
    contains(refused.err, "edit", ".spec.strategy.rollingUpdate", "--force-conflicts")
    t.run("upgrade", "shop", "-p", other, "--force-conflicts")
    equal(strategies(), [{"type": "Recreate"}, {"type": "OnDelete"}])
