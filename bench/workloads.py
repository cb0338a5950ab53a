"""What is installed: ConfigMaps, a realistic mix of 60 objects, and the records of many releases.

Each workload is written three times: as one file for kubectl, as a directory for mistctl, as a chart for helm."""

import base64
import dataclasses
import gzip
import http.client
import json
import pathlib
import re
import ssl


@dataclasses.dataclass
class Package:
    """The same objects for each client."""
    objects: int
    directory: pathlib.Path  # for mistctl
    chart: pathlib.Path
    file: pathlib.Path  # all but definitions
    definitions: pathlib.Path | None  # CustomResourceDefinitions, which kubectl must wait for


def package(path, documents, definitions=()):
    path.mkdir(parents=True)
    text, first = ("".join(f"---\n{json.dumps(each)}\n" for each in part) for part in (documents, definitions))
    directory, chart = path / "plain", path / "chart"
    for each in (directory, chart / "templates", chart / "crds"):
        each.mkdir(parents=True)
    (directory / "all.yaml").write_text(first + text)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: bench\nversion: 0.1.0\n")
    (chart / "templates" / "all.yaml").write_text(text)
    (path / "all.yaml").write_text(text)
    if definitions:
        (chart / "crds" / "all.yaml").write_text(first)
        (path / "definitions.yaml").write_text(first)
    return Package(len(documents) + len(definitions), directory, chart, path / "all.yaml",
                   path / "definitions.yaml" if definitions else None)


def object_of(kind, name, api_version="v1", **members):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **members}


def config_maps(path, count, changed=False):
    return package(path, [object_of("ConfigMap", f"cm-{i}", data={"key": "changed" if changed and i == 0 else f"value {i}"})
                          for i in range(count)])


def mix(path, suffix, changed=False):
    """60 objects of 17 kinds. `suffix` makes the names of what has no namespace."""
    group = f"bench-{suffix}.example.com"
    definition = object_of("CustomResourceDefinition", f"widgets.{group}", "apiextensions.k8s.io/v1", spec={
        "group": group, "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}]})
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    role = {"apiGroup": "rbac.authorization.k8s.io"}
    documents = []
    for i in range(10):
        labels = {"app": f"web-{i}"}
        setting = "changed" if changed and i == 0 else f"value {i}"
        documents += [
            object_of("ConfigMap", f"web-{i}", data={"key": f"value {i}"}),
            object_of("Service", f"web-{i}", spec={"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}),
            object_of("Deployment", f"web-{i}", "apps/v1", spec={
                "replicas": 2, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
                    "serviceAccountName": f"web-{i % 5}",
                    "containers": [{"name": "web", "image": "example.com/web:1", "ports": [{"containerPort": 8080}],
                                    "env": [{"name": "SETTING", "value": setting}],
                                    "envFrom": [{"configMapRef": {"name": f"web-{i}"}}],
                                    "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]}}})]
    for i in range(6):
        documents.append(object_of("Secret", f"web-{i}", stringData={"password": f"secret {i}"}))
    for i in range(5):
        documents.append(object_of("ServiceAccount", f"web-{i}"))
        documents.append(object_of("Widget", f"web-{i}", f"{group}/v1", spec={"size": i}))
    for i in range(3):
        documents.append(object_of("Role", f"web-{i}", "rbac.authorization.k8s.io/v1", rules=rules))
        documents.append(object_of("RoleBinding", f"web-{i}", "rbac.authorization.k8s.io/v1",
                                   roleRef={**role, "kind": "Role", "name": f"web-{i}"},
                                   subjects=[{"kind": "ServiceAccount", "name": f"web-{i}"}]))
    done = {"restartPolicy": "Never", "containers": [{"name": "once", "image": "example.com/once:1"}]}
    documents += [
        object_of("ClusterRole", f"bench-{suffix}", "rbac.authorization.k8s.io/v1", rules=rules),
        object_of("ClusterRoleBinding", f"bench-{suffix}", "rbac.authorization.k8s.io/v1",
                  roleRef={**role, "kind": "ClusterRole", "name": f"bench-{suffix}"},
                  subjects=[{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "somebody"}]),
        object_of("Job", "once", "batch/v1", spec={"template": {"spec": done}}),
        object_of("CronJob", "nightly", "batch/v1", spec={"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": done}}}}),
        object_of("PersistentVolumeClaim", "data", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}),
        object_of("PodDisruptionBudget", "web", "policy/v1", spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web-0"}}}),
        object_of("NetworkPolicy", "web", "networking.k8s.io/v1", spec={"podSelector": {}, "policyTypes": ["Ingress"]}),
    ]
    return package(path, documents, [definition])


class Requests:
    """One kept-alive connection to the API server with the administrator's certificate, for what isn't measured."""

    def __init__(self, cluster):
        directory = cluster.kubeconfig.parent
        context = ssl.create_default_context(cafile=directory / "ca.crt")
        context.load_cert_chain(directory / "admin.crt", directory / "admin.key")
        host, port = re.search(r"server: \"?https://([^:]+):(\d+)", cluster.kubeconfig.read_text()).groups()
        self.connection = http.client.HTTPSConnection(host, int(port), context=context)

    def send(self, method, path, body=None):
        self.connection.request(method, path, body=None if body is None else json.dumps(body),
                                headers={"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text.decode()[:1000]}")
        return json.loads(text)


def copy_records(requests, namespace, release, count):
    """Makes `count` releases of one: copies of its record under other names, in mistctl's or helm's format."""
    path = f"/api/v1/namespaces/{namespace}/secrets"
    originals = [each for each in requests.send("GET", path)["items"] if release in each["metadata"]["name"]]
    for i in range(1, count):
        name = f"{release}-{i}"
        for secret in originals:
            metadata = secret["metadata"]
            copy = {"apiVersion": "v1", "kind": "Secret", "type": secret["type"], "data": dict(secret["data"]), "metadata": {
                "name": metadata["name"].replace(release, name), "annotations": metadata.get("annotations", {}),
                "labels": {key: value.replace(release, name) for key, value in metadata.get("labels", {}).items()}}}
            if secret["type"].startswith("helm.sh/"):
                record = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
                record["name"] = name
                packed = base64.b64encode(gzip.compress(json.dumps(record).encode()))
                copy["data"]["release"] = base64.b64encode(packed).decode()
            requests.send("POST", path, copy)
