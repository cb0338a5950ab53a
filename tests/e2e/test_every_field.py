"""No change is ever taken for none: one leaf at a time of objects of the built-in kinds, as their schemas have them, is
changed, and what `mistctl diff` says of each is compared with what a dry run of the server changes."""
import copy
import json

from harness import check, equal, test
from test_exact import QUANTITY, reference

LABELS = {"app": "x"}
POD = {"containers": [{"name": "main", "image": "nginx:1"}], "volumes": [{"name": "v", "emptyDir": {}}]}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": POD}
RULE = {"apiGroups": ["sweep.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["sweeps"]}
WEBHOOK = {"name": "a.sweep.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [RULE],
           "clientConfig": {"url": "https://127.0.0.1:1/"}}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}

# (address, kind, members of a small valid object, in the quick run too)
KINDS = [
    ("/api/v1/configmaps", "ConfigMap", {"data": {"a": "b"}}, True),
    ("/api/v1/secrets", "Secret", {"data": {"a": "aGk="}}, True),
    ("/api/v1/limitranges", "LimitRange", {"spec": {"limits": [{"type": "Container"}]}}, True),
    ("/api/v1/resourcequotas", "ResourceQuota", {"spec": {"hard": {"pods": "900"}}}, False),
    ("/api/v1/services", "Service", {"spec": {"ports": [{"port": 80}], "selector": LABELS}}, True),
    ("/api/v1/serviceaccounts", "ServiceAccount", {}, False),
    ("/api/v1/persistentvolumeclaims", "PersistentVolumeClaim",
     {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none",
               "resources": {"requests": {"storage": "1Gi"}}}}, False),
    ("/apis/apps/v1/deployments", "Deployment",
     {"spec": {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": TEMPLATE}}, True),
    ("/apis/apps/v1/statefulsets", "StatefulSet",
     {"spec": {"replicas": 0, "serviceName": "x", "selector": {"matchLabels": LABELS}, "template": TEMPLATE}}, False),
    ("/apis/apps/v1/daemonsets", "DaemonSet",
     {"spec": {"selector": {"matchLabels": LABELS},
               "template": {**TEMPLATE, "spec": {**POD, "nodeSelector": {"none": "such"}}}}}, False),
    ("/apis/batch/v1/cronjobs", "CronJob",
     {"spec": {"schedule": "0 0 1 1 *", "suspend": True,
               "jobTemplate": {"spec": {"template": {"spec": {**POD, "restartPolicy": "Never"}}}}}}, False),
    ("/apis/batch/v1/jobs", "Job",
     {"spec": {"suspend": True, "template": {"spec": {**POD, "restartPolicy": "Never"}}}}, False),
    ("/apis/networking.k8s.io/v1/networkpolicies", "NetworkPolicy",
     {"spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}]}]}},
     True),
    ("/apis/networking.k8s.io/v1/ingresses", "Ingress",
     {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}}, False),
    ("/apis/rbac.authorization.k8s.io/v1/roles", "Role",
     {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, True),
    ("/apis/rbac.authorization.k8s.io/v1/rolebindings", "RoleBinding",
     {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
      "subjects": [{"kind": "ServiceAccount", "name": "a"}]}, False),
    ("/apis/autoscaling/v2/horizontalpodautoscalers", "HorizontalPodAutoscaler",
     {"spec": {"scaleTargetRef": TARGET, "maxReplicas": 3, "metrics": [
         {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}}]}},
     True),
    ("/apis/autoscaling/v1/horizontalpodautoscalers", "HorizontalPodAutoscaler",
     {"spec": {"scaleTargetRef": TARGET, "maxReplicas": 3}}, False),
    ("/apis/policy/v1/poddisruptionbudgets", "PodDisruptionBudget",
     {"spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}}}, False),
    ("/apis/coordination.k8s.io/v1/leases", "Lease", {"spec": {"holderIdentity": "a"}}, False),
    ("/apis/discovery.k8s.io/v1/endpointslices", "EndpointSlice",
     {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]}, False),
    ("/apis/resource.k8s.io/v1/resourceclaimtemplates", "ResourceClaimTemplate",
     {"spec": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a.example.com"}}]}}}},
     False),
    ("/apis/resource.k8s.io/v1/resourceclaims", "ResourceClaim",
     {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a.example.com"}}]}}}, False),
    # No bare Pods: the LimitRanges above refuse them. Their fields are those of every template.
    ("/api/v1/podtemplates", "PodTemplate", {"template": TEMPLATE}, False),
    ("/api/v1/replicationcontrollers", "ReplicationController",
     {"spec": {"replicas": 0, "selector": LABELS, "template": TEMPLATE}}, False),
    ("/api/v1/endpoints", "Endpoints", {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
     False),
    ("/apis/apps/v1/replicasets", "ReplicaSet",
     {"spec": {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": TEMPLATE}}, False),
    ("/apis/apps/v1/controllerrevisions", "ControllerRevision", {"data": {"a": "b"}, "revision": 1}, False),
    ("/apis/storage.k8s.io/v1/csistoragecapacities", "CSIStorageCapacity", {"storageClassName": "sweep"}, False),
    # What nothing in the cluster can match: other tests run beside this one.
    ("/api/v1/persistentvolumes", "PersistentVolume",
     {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "sweep",
               "hostPath": {"path": "/sweep"}}}, False),
    ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRole",
     {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, False),
    ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "ClusterRoleBinding",
     {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"},
      "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "sweep"}]}, False),
    ("/apis/storage.k8s.io/v1/storageclasses", "StorageClass", {"provisioner": "sweep.example.com"}, False),
    ("/apis/storage.k8s.io/v1/csidrivers", "CSIDriver", {"spec": {"attachRequired": False}}, False),
    ("/apis/networking.k8s.io/v1/ingressclasses", "IngressClass", {"spec": {"controller": "example.com/sweep"}}, False),
    ("/apis/node.k8s.io/v1/runtimeclasses", "RuntimeClass", {"handler": "sweep"}, False),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass", {"value": 1}, False),
    ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "ValidatingWebhookConfiguration",
     {"webhooks": [WEBHOOK]}, False),
    ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
     {"webhooks": [WEBHOOK]}, False),
    ("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", "ValidatingAdmissionPolicy",
     {"spec": {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}}, False),
    ("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding",
     {"spec": {"policyName": "none", "validationActions": ["Audit"]}}, False),
    ("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", "PriorityLevelConfiguration",
     {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}},
     False),
    ("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "FlowSchema",
     {"spec": {"matchingPrecedence": 9999, "priorityLevelConfiguration": {"name": "none"}}}, False),
    ("/apis/resource.k8s.io/v1/deviceclasses", "DeviceClass",
     {"spec": {"selectors": [{"cel": {"expression": "true"}}]}}, False),
]
# Members that would concern what other tests do, or that a controller answers by taking our fields.
LEFT_OUT = [("PriorityClass", "globalDefault"), ("ClusterRole", "aggregationRule")]

SAMPLES = {"string": [("1.1", "1.10"), ("a", "b"), ("007", "7")], "boolean": [(True, False), (False, True)],
           "integer": [(1, 2), (3, 0)], "number": [(1, 2)],
           "quantity": [("1", "2"), ("1", "1000m"), ("1Gi", "1073741824")],
           "byte": [("aGk=", "aGo=")], "date-time": [("2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z")]}


def samples(schema):
    kind = schema.get("format") if schema.get("format") in ("byte", "date-time") else schema.get("type")
    values = SAMPLES.get(kind, [])
    words = schema.get("enum", [])
    return [(a, b) for a, b in zip(words, words[1:] + words[:1]) if a != b][:2] or values


SERVER_METADATA = ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "resourceVersion",
                   "selfLink", "uid")


def leaves(schema, types, seen=(), depth=0):
    """[(path, pairs of values)]: a path of member names, and "[]" for an item of a list."""
    name = reference(schema)
    if name == QUANTITY:
        return [((), SAMPLES["quantity"])]
    if name:
        if name in seen or depth > 14:
            return []
        return leaves(types[name], types, (*seen, name), depth + 1)
    found = []
    for member, each in schema.get("properties", {}).items():
        if member in ("status", "managedFields", "apiVersion", "kind"):
            continue
        if seen and seen[-1].endswith("ObjectMeta") and member in SERVER_METADATA:  # not applied, with a warning
            continue
        found += [((member, *path), pairs) for path, pairs in leaves(each, types, seen, depth + 1)]
    if schema.get("type") == "array":
        found += [(("[]", *path), pairs) for path, pairs in leaves(schema["items"], types, seen, depth + 1)]
        found.append(((), [([], None), (None, [])]))
    elif isinstance(schema.get("additionalProperties"), dict):
        found += [(("cpu", *path), pairs) for path, pairs in
                  leaves(schema["additionalProperties"], types, seen, depth + 1)]
        found.append(((), [({}, None), (None, {})]))
    elif "oneOf" in schema or schema.get("format") == "int-or-string":
        found.append(((), [(1, "1"), (80, 81)]))
    elif "properties" in schema:
        found.append(((), [({}, None), (None, {})]))
    else:
        found.append(((), samples(schema)))
    return found


def put(value, path, leaf):
    """A copy with `leaf` at that path; None: it can't be there."""
    if not path:
        return leaf
    step, rest = path[0], path[1:]
    if step == "[]":
        items = list(value) if isinstance(value, list) and value else [None]
        return [put(items[0], rest, leaf), *items[1:]]
    members = dict(value) if isinstance(value, dict) else {}
    members[step] = put(members.get(step), rest, leaf)
    if members[step] is None:
        del members[step]
    return members


def without_owners(value):
    value = copy.deepcopy(value)
    for member in ("managedFields", "resourceVersion", "generation"):
        value["metadata"].pop(member, None)
    value.pop("status", None)
    return value


def owners(value):
    return [{k: v for k, v in entry.items() if k != "time"} for entry in value["metadata"].get("managedFields", [])]


class Sweep:
    def __init__(self, t, full):
        self.t, self.full = t, full
        self.before, self.after, self.paths = {}, {}, {}
        self.scopes = {}  # of each group and version: which resources are namespaced

    def place(self, address, name):
        base, resource = address.rsplit("/", 1)
        if not self.namespaced(base, resource):
            return f"{address}/{name}"
        return f"{base}/namespaces/{self.t.ns}/{resource}/{name}"

    def namespaced(self, base, resource):
        if base not in self.scopes:
            served = self.t.kube.checked("GET", base)["resources"]
            self.scopes[base] = {each["name"]: each["namespaced"] for each in served}
        return self.scopes[base][resource]

    def dry_run(self, address, item):
        status, answer = self.t.kube.request(
            "PATCH", self.place(address, item["metadata"]["name"]) + "?dryRun=All&force=true&fieldManager=mistctl",
            item, "application/apply-patch+yaml")
        return answer if status < 300 else None

    def collect(self, address, kind, members, number):
        group = address.removeprefix("/").rsplit("/", 1)[0]
        types = self.t.kube.checked("GET", "/openapi/v3/" + group)["components"]["schemas"]
        version = group.removeprefix("apis/").removeprefix("api/")
        schema, = [s for s in types.values() if "metadata" in s.get("properties", {}) and any(
            k["kind"] == kind for k in s.get("x-kubernetes-group-version-kind", []))]
        step = 1 if self.full else 7
        pairs = [(path, a, b) for path, values in leaves(schema, types) for a, b in values
                 if path and path[0] != "metadata" and (kind, path[0]) not in LEFT_OUT]
        for index, (path, a, b) in enumerate(pairs):
            if index % step and not (not self.full and kind in ("LimitRange", "Role", "NetworkPolicy")):
                continue
            name = f"x{number}-{index}"
            frame = {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
            first, second = ({**frame, **put(members, path, leaf)} for leaf in (a, b))
            if first == second or self.dry_run(address, first) is None:
                continue
            key = (kind, name)
            self.before[key], self.after[key] = first, second
            self.paths[key] = (address, path, a, b)

    def judge(self):
        t = self.t
        t.cleanup(lambda: t.run("uninstall", "shop", "--yes", code=None))
        t.run("install", "shop", "-p", t.package("before", *self.before.values()))
        # A second time, nothing has changed.
        mark = t.mark()
        t.run("upgrade", "shop", "-p", t.package("before", *self.before.values()))
        equal([r for r in t.requests(mark) if r.writes], [], "writes without a change")
        changed, owned, wanted = {}, {}, []
        for key, item in self.after.items():
            address, *_ = self.paths[key]
            live = t.kube.checked("GET", self.place(address, key[1]))
            marks = {"labels": live["metadata"].get("labels"), "annotations": live["metadata"].get("annotations")}
            answer = self.dry_run(address, {**item, "metadata": {**item["metadata"], **marks}})
            if answer is None:
                continue
            wanted.append(item)
            changed[key] = without_owners(answer) != without_owners(live)
            # An object whose owners change alone may be shown: it is written, once.
            owned[key] = owners(answer) != owners(live)
        wanted += [item for key, item in self.before.items() if key not in changed]
        outcome = t.run("diff", "shop", "-p", t.package("after", *wanted), "-o", "json", "--exit-code", code=None)
        objects = {(o["kind"], o["name"]): o for o in json.loads(outcome.out)["objects"]}
        said = {key: key in objects and objects[key]["action"] != "unchanged" for key in changed}
        missed = {key: self.paths[key][1:] for key in changed if changed[key] and not said[key]}
        extra = {key: self.paths[key][1:] for key in changed if said[key] and not changed[key] and not owned[key]}
        t.note(f"{len(changed)} leaves, {sum(changed.values())} changed, {len(extra)} of the others shown as changes")
        equal(missed, {}, "changes that are taken for none")
        if extra:
            t.note(f"shown although the server changes nothing: {extra}")
        check(len(extra) <= len(changed) // 50, "shown as changes:", extra)
        check(sum(changed.values()) > 10, "too few leaves")


def sweep(t, full):
    run = Sweep(t, full)
    for number, (address, kind, members, quick) in enumerate(KINDS):
        if full or quick:
            run.collect(address, kind, members, number)
    run.judge()


@test
def some_leaves_of_some_kinds_are_what_the_server_sees(t):
    sweep(t, False)


@test(full=True)
def every_leaf_of_every_kind_is_what_the_server_sees(t):
    sweep(t, True)
