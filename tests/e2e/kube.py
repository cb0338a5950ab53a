"""A small client of an API server, and a reader of the devcluster's audit log."""
import http.client
import json
import os
import re
import socket
import ssl
import threading
import time
import urllib.parse

import ending

RESOURCES = {
    "Namespace": ("/api/v1", "namespaces", False),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Secret": ("/api/v1", "secrets", True),
    "Service": ("/api/v1", "services", True),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "Pod": ("/api/v1", "pods", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "StatefulSet": ("/apis/apps/v1", "statefulsets", True),
    "ReplicaSet": ("/apis/apps/v1", "replicasets", True),
    "Event": ("/api/v1", "events", True),
    "ResourceQuota": ("/api/v1", "resourcequotas", True),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", True),
    "Job": ("/apis/batch/v1", "jobs", True),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", True),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "APIService": ("/apis/apiregistration.k8s.io/v1", "apiservices", False),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", False),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies", True),
    "MutatingAdmissionPolicy": ("/apis/admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", False),
    "MutatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings", False),
    "ValidatingAdmissionPolicy": ("/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", False),
}


class ApiError(Exception):
    def __init__(self, method, path, status, body):
        super().__init__(f"{method} {path}: {status} {body[:300]!r}")
        self.status = status


class Kube:
    """Works as the administrator; any thread."""

    def __init__(self, directory):
        self.directory = str(directory)
        text = open(os.path.join(self.directory, "kubeconfig")).read()
        self.server = re.search(r"server: (\S+)", text)[1].strip('"')
        self.host, self.port = urllib.parse.urlsplit(self.server).netloc.split(":")
        self.ca = os.path.join(self.directory, "ca.crt")
        self.tls = ssl.create_default_context(cafile=self.ca)
        self.tls.load_cert_chain(os.path.join(self.directory, "admin.crt"), os.path.join(self.directory, "admin.key"))
        self.tls_without_identity = ssl.create_default_context(cafile=self.ca)
        self._local = threading.local()

    def request(self, method, path, body=None, content_type="application/json", accept=None):
        """(status, parsed JSON)"""
        headers = {"Content-Type": content_type} if body is not None else {}
        if accept:
            headers["Accept"] = accept
        data = None if body is None else json.dumps(body)
        for attempt in range(3):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = http.client.HTTPSConnection(self.host, int(self.port), context=self.tls, timeout=30)
                self._local.connection = connection
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                text = answer.read()
                return answer.status, (json.loads(text) if text.startswith(b"{") else text)
            except (http.client.HTTPException, OSError):
                connection.close()
                self._local.connection = None
                if attempt == 2:
                    raise

    def checked(self, method, path, body=None, content_type="application/json"):
        status, answer = self.request(method, path, body, content_type)
        if status >= 300:
            raise ApiError(method, path, status, json.dumps(answer) if isinstance(answer, dict) else repr(answer))
        return answer

    @staticmethod
    def path(kind, namespace=None, name=None):
        """`kind`: one of RESOURCES, or an address like "/apis/example.com/v1/widgets"."""
        base, resource, namespaced = RESOURCES.get(kind) or (*kind.rsplit("/", 1), True)
        place = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{base}{place}/{resource}" + (f"/{name}" if name else "")

    def get(self, kind, namespace, name):
        """None: it isn't there."""
        status, answer = self.request("GET", self.path(kind, namespace, name))
        if status == 404:
            return None
        if status >= 300:
            raise ApiError("GET", self.path(kind, namespace, name), status, json.dumps(answer))
        return answer

    def list(self, kind, namespace=None, selector=None):
        query = "?labelSelector=" + urllib.parse.quote(selector) if selector else ""
        return self.checked("GET", self.path(kind, namespace) + query)["items"]

    def create(self, kind, namespace, body, manager=None):
        query = f"?fieldManager={manager}" if manager else ""
        return self.checked("POST", self.path(kind, namespace) + query, body)

    def patch(self, kind, namespace, name, body):
        return self.checked("PATCH", self.path(kind, namespace, name), body, "application/merge-patch+json")

    def apply(self, kind, namespace, body, manager):
        path = self.path(kind, namespace, body["metadata"]["name"])
        return self.checked("PATCH", f"{path}?fieldManager={manager}", body, "application/apply-patch+yaml")

    def delete(self, kind, namespace, name):
        """Missing is fine."""
        status, answer = self.request("DELETE", self.path(kind, namespace, name))
        if status >= 300 and status != 404:
            raise ApiError("DELETE", self.path(kind, namespace, name), status, json.dumps(answer))

    def namespace(self, name):
        """Makes it; it is ready when its ServiceAccount is there, as whatever makes Pods needs."""
        self.create("Namespace", None, {"metadata": {"name": name}})

    def wait(self, what, condition, seconds=180):
        """For what a controller does later; returns the condition's value. A webhook or an API that is down in another test holds
        the end of every namespace up."""
        deadline = time.monotonic() + seconds
        while True:
            ending.go_on()
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"after {seconds} s it is still not so that {what}")
            time.sleep(0.05)


class Watcher:
    """Counts the changes of the objects of a kind in a namespace from now on, by a watch; any thread."""

    def __init__(self, kube, kind, namespace):
        self._kube, self._kind, self._namespace = kube, kind, namespace
        self._changes, self._seen = {}, threading.Condition()
        path = kube.path(kind, namespace)
        version = kube.checked("GET", path + "?limit=1")["metadata"]["resourceVersion"]
        self._connection = http.client.HTTPSConnection(kube.host, int(kube.port), context=kube.tls, timeout=3600)
        self._connection.connect()
        self._socket = self._connection.sock
        self._connection.request("GET", f"{path}?watch=1&resourceVersion={version}&timeoutSeconds=3500")
        self._answer = self._connection.getresponse()
        if self._answer.status != 200:
            raise ApiError("WATCH", path, self._answer.status, self._answer.read().decode())
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while line := self._answer.readline():
                event = json.loads(line)
                name = event["object"].get("metadata", {}).get("name", event["type"])
                with self._seen:
                    self._changes[name] = self._changes.get(name, 0) + 1
                    self._seen.notify_all()
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass  # stopped
        finally:
            self._connection.close()

    def changes(self, prefix):
        """{name: how often it was created, changed or deleted}, complete up to this call."""
        mark = f"mark-{prefix}{time.monotonic_ns()}"
        self._kube.create(self._kind, self._namespace, {"metadata": {"name": mark}})
        with self._seen:
            if not self._seen.wait_for(lambda: mark in self._changes, timeout=60):
                raise AssertionError(f"the watch of {self._kind} ended: {self._changes.get('ERROR')}")
            found = {name: count for name, count in self._changes.items() if name.startswith(prefix)}
        self._kube.delete(self._kind, self._namespace, mark)
        return found

    def stop(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads; closing would wait for it
        except OSError:
            pass  # the server was faster


class Request:
    """One request as the audit log has it."""

    def __init__(self, event):
        self.verb = event["verb"]
        self.uri = event["requestURI"]
        self.path = self.uri.split("?")[0]
        self.code = event.get("responseStatus", {}).get("code", 0)
        self.name = event.get("objectRef", {}).get("name", "")
        self.resource = event.get("objectRef", {}).get("resource", "")
        self.on_behalf_of = event.get("impersonatedUser", {}).get("username", "")

    @property
    def writes(self):
        return self.verb not in ("get", "list", "watch") and "dryRun=All" not in self.uri

    @property
    def of_record(self):
        return self.resource == "secrets" and ("/secrets/mistletoe." in self.path or self.verb == "create")

    def __repr__(self):
        return f"{self.verb} {self.uri} -> {self.code}"


class AuditLog:
    """A line is written before its request's answer ends, so what a finished command sent is all there."""

    def __init__(self, path):
        self.path = path

    def mark(self):
        return os.path.getsize(self.path)

    def since(self, mark, user):
        """Requests of one user, each once, in the order of their answers."""
        with open(self.path, "rb") as file:
            file.seek(mark)
            # Behind the last end of a line stands one that is being written, of a request nobody has the answer of: a client was
            # killed, or another one works meanwhile.
            lines = file.read().split(b"\n")[:-1]
        seen, requests = set(), []
        for line in lines:
            if user.encode() not in line:
                continue
            event = json.loads(line)
            if event["user"]["username"] == user and event["auditID"] not in seen:
                seen.add(event["auditID"])
                requests.append(Request(event))
        return requests
