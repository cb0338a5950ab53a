"""A cluster with two API servers: each learns a moment later what was written through the other."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from harness import check, config_map, contains, definition, equal, kubeconfig_text, test, workload
from proxy import Proxy


def second_server(t):
    """The port of another API server on the same etcd, started as the first one was."""
    state = json.loads((t.cluster_directory / "state.json").read_text())
    first = next(child["pid"] for child in state["children"] if child["name"] == "kube-apiserver")
    command = pathlib.Path(f"/proc/{first}/cmdline").read_text().split("\0")[:-1]
    arguments = [word for word in command[1:] if not word.startswith("--audit-")]
    listener = socket.create_server(("127.0.0.1", 0))
    log = open(t.dir / "second-apiserver.log", "wb")

    def inherit():
        os.dup2(listener.fileno(), 3)

    process = subprocess.Popen(["kube-apiserver", *arguments], executable=t.devcluster, stdout=log, stderr=log,
                               env={**os.environ, "KUBECONFIG": "", "DEVCLUSTER_LISTENERS": "1"}, close_fds=False,
                               preexec_fn=inherit)

    def stop():
        process.send_signal(signal.SIGKILL)
        process.wait()

    t.cleanup(stop)
    port = listener.getsockname()[1]
    listener.close()
    began = time.monotonic()
    while not ready(t, port):
        check(process.poll() is None and time.monotonic() - began < 120, "the second API server does not start")
        time.sleep(0.2)
    return port


def ready(t, port):
    connection = http_connection(t, port)
    try:
        connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {t.token}"})
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def http_connection(t, port):
    return http.client.HTTPSConnection(t.kube.host, port, context=t.kube.tls_without_identity, timeout=10)


def balanced(t):
    """A kubeconfig whose requests go to both servers in turn."""
    ports = (int(t.kube.port), second_server(t))
    proxy = Proxy(t.kube, t.token, port_for=lambda number, method, path: ports[number % 2])
    t.cleanup(proxy.stop)

    return t.file("kubeconfig-balanced", kubeconfig_text(proxy.url, {}, namespace=t.ns))


def service(name, number):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": {"n": str(number)}},
            "spec": {"ports": [{"port": 80}]}}


@test(waits=True)
def two_api_servers(t):
    """New kinds, namespaces and policies are known to both in time; nothing is lost or done twice."""
    kubeconfig = balanced(t)
    group = f"{t.ns}.example.com"
    other = t.namespace("other", create=False)
    for kind, name in (("ValidatingAdmissionPolicyBinding", t.ns), ("ValidatingAdmissionPolicy", t.ns),
                       ("CustomResourceDefinition", f"gadgets.{group}")):
        t.cleanup(lambda kind=kind, name=name: t.kube.delete(kind, None, name))

    def package(number, extra=()):
        policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
                  "metadata": {"name": t.ns}, "spec": {
                      "matchConstraints": {
                          "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}},
                          "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["services"],
                                             "operations": ["CREATE", "UPDATE"]}]},
                      "validations": [{"expression": f"object.metadata.labels['n'] == '{number}'"}]}}
        binding = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
                   "metadata": {"name": t.ns}, "spec": {"policyName": t.ns, "validationActions": ["Deny"]}}
        return t.package(
            f"p{number}", definition(group, "gadgets", "Gadget"),
            {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"n": number}},
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}},
            config_map("there", {"n": str(number)}, namespace=other), policy, binding,
            *(service(f"s{i}", number) for i in range(20)), workload("Deployment", "web"), *extra)

    def number_of(name):
        return t.kube.get("Service", t.ns, name)["metadata"]["labels"]["n"]

    for _ in range(3):
        t.run("install", "shop", "-p", package(1), "--wait", kubeconfig=kubeconfig)
        for number in (2, 3):
            t.run("upgrade", "shop", "-p", package(number, [config_map(f"new{number}")]), "--wait", kubeconfig=kubeconfig)
            equal(number_of("s7"), str(number))
        contains(t.run("upgrade", "shop", "-p", package(3, [config_map("new3")]), kubeconfig=kubeconfig).out, "as wanted")
        t.run("drift", "shop", kubeconfig=kubeconfig)
        t.run("rollback", "shop", "0", "--wait", kubeconfig=kubeconfig)
        equal(number_of("s7"), "1")
        t.run("uninstall", "shop", "--yes", "--delete-crds", "--delete-namespaces", "--wait", kubeconfig=kubeconfig)
        equal((t.owned("shop"), t.record("shop")), (set(), []))
