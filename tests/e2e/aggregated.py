"""An aggregated API server: what an APIService points to, here on 127.0.0.1 behind a Service of type ExternalName.

It serves two kinds of one group, `Tally` (namespaced) and `Region` (not), with merge patches, and server-side apply as mistctl
needs it:
`resourceVersion: "1"` creates or conflicts, uid is a precondition, managed fields tell who set what.
"""
import json
import ssl
import threading
import urllib.parse
import uuid

from quiet_server import QuietHandler, QuietServer

KINDS = {"tallies": ("Tally", True), "regions": ("Region", False)}
VERBS = ["get", "list", "patch", "delete"]


def fields_of(value):
    """As managed fields name them; lists are taken whole."""
    if not isinstance(value, dict):
        return {}
    return {f"f:{key}": fields_of(inner) for key, inner in value.items()}


def merged(value, patch):
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, inner in patch.items():
        if inner is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), inner)
    return result


class Refused(Exception):
    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code = code
        self.status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                       "message": message}


class AggregatedServer:
    """before(method, path) is called before a request that writes is done, and may be slow."""

    def __init__(self, group, certificate, key, kinds=("tallies", "regions"), before=None):
        self.group, self.version, self.kinds = group, f"{group}/v1", kinds
        self.objects, self.written = {}, []  # by (resource, namespace, name); (method, path) of each write
        self._lock, self._count = threading.RLock(), 1
        outer = self

        class Handler(QuietHandler):
            def handle_any(self):
                body = json.loads(self.body() or b"null")
                writes = self.command != "GET" and "dryRun=All" not in self.path
                if writes and before:
                    before(self.command, self.path)
                try:
                    merges = self.headers.get("Content-Type", "").startswith("application/merge-patch+json")
                    code, answer = outer.answer("MERGE" if merges else self.command, self.path, body)
                except Refused as refusal:
                    code, answer = refusal.code, refusal.status
                try:
                    self.answer_json(answer, code)
                except OSError:
                    self.close_connection = True

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        self._server = QuietServer(Handler, tls)
        self.port, self.stop = self._server.port, self._server.stop

    def names(self):
        with self._lock:
            return sorted("/".join(part for part in key if part) for key in self.objects)

    def registration(self, service="tally"):
        """The objects by which a cluster finds this server."""
        return [
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": service},
             "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": self.port}]}},
            {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"v1.{self.group}"},
             "spec": {"group": self.group, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
                      "insecureSkipTLSVerify": True,
                      "service": {"name": service, "namespace": "NAMESPACE", "port": self.port}}}]

    # -- the API

    def answer(self, method, address, body):
        path = urllib.parse.urlsplit(address).path
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)
        if path == "/apis":
            return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [self._group()]}
        if path == f"/apis/{self.group}":
            return 200, {"kind": "APIGroup", "apiVersion": "v1", **self._group()}
        if path == f"/apis/{self.version}":
            return 200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": self.version, "resources": [
                {"name": resource, "singularName": "", "kind": KINDS[resource][0], "namespaced": KINDS[resource][1],
                 "verbs": VERBS} for resource in self.kinds]}
        parts = path.removeprefix(f"/apis/{self.version}/").split("/")
        namespace = parts[1] if parts[0] == "namespaces" and len(parts) > 2 else ""
        rest = parts[2:] if namespace else parts
        if not path.startswith(f"/apis/{self.version}/") or rest[0] not in self.kinds:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        if KINDS[rest[0]][1] != bool(namespace) and len(rest) > 1:
            raise Refused(404, "NotFound", f"{rest[0]} are {'' if KINDS[rest[0]][1] else 'not '}namespaced")
        with self._lock:
            if len(rest) == 1:
                return 200, self._list(rest[0], namespace, query)
            return self._one(method, path, (rest[0], namespace, rest[1]), body, query)

    def _group(self):
        version = {"groupVersion": self.version, "version": "v1"}
        return {"name": self.group, "versions": [version], "preferredVersion": version}

    def _list(self, resource, namespace, query):
        wanted = query.get("labelSelector", [""])[0]
        labels = dict(part.split("=", 1) for part in wanted.split(",") if part)
        items = [value for (kind, ns, _), value in self.objects.items()
                 if kind == resource and namespace in ("", ns)
                 and all(value["metadata"].get("labels", {}).get(k) == v for k, v in labels.items())]
        return {"kind": KINDS[resource][0] + "List", "apiVersion": self.version,
                "metadata": {"resourceVersion": str(self._count)}, "items": items}

    def _one(self, method, path, key, body, query):
        there = self.objects.get(key)
        if there is None and method != "PATCH":
            raise Refused(404, "NotFound", f"{key[0]} \"{key[2]}\" not found")
        if method == "GET":
            return 200, there
        if method == "DELETE":
            wanted = ((body or {}).get("preconditions") or {}).get("uid")
            if wanted and wanted != there["metadata"]["uid"]:
                raise Refused(409, "Conflict", "the uid in the precondition does not match")
            self.written.append((method, path))
            del self.objects[key]
            return 200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        metadata = body.get("metadata", {})
        if there is not None and metadata.get("resourceVersion", there["metadata"]["resourceVersion"]) != \
                there["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict", "the object has been modified")
        if metadata.get("uid", there and there["metadata"]["uid"]) != (there and there["metadata"]["uid"]):
            raise Refused(409, "Conflict", "the uid in the precondition does not match")
        if metadata.get("namespace", key[1]) != key[1]:
            raise Refused(400, "BadRequest", "the namespace of the object does not match that of the request")
        if method == "MERGE":
            self._count += 1
            stored = merged(there, body)
            stored["metadata"]["resourceVersion"] = str(self._count)
            if "dryRun" not in query:
                self.written.append(("PATCH", path))
                self.objects[key] = stored
            return 200, stored
        applied = {name: value for name, value in body.items() if name not in ("apiVersion", "kind", "metadata")}
        applied["metadata"] = {name: metadata[name] for name in ("labels", "annotations") if name in metadata}
        manager = query.get("fieldManager", ["unknown"])[0]
        self._count += 1
        stored = {"apiVersion": self.version, "kind": KINDS[key[0]][0], **applied, "metadata": {
            **applied["metadata"], "name": key[2], **({"namespace": key[1]} if key[1] else {}),
            "uid": there["metadata"]["uid"] if there else str(uuid.uuid4()), "resourceVersion": str(self._count),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"manager": manager, "operation": "Apply", "apiVersion": self.version,
                               "fieldsType": "FieldsV1", "fieldsV1": fields_of(applied)}]}}
        if "dryRun" not in query:
            self.written.append((method, path))
            self.objects[key] = stored
        return 200 if there else 201, stored
