"""Which level of the Pod Security Standards a Pod needs: the cases of tests/conformance/pod-security, by a real API server."""
import json

from harness import check, equal, test
from registries import ROOT

LEVELS = ("restricted", "baseline", "privileged")


@test
def a_server_admits_pods_at_the_levels_that_the_cases_say(t):
    document = json.loads((ROOT / "tests/conformance/pod-security/cases.json").read_text())
    namespaces = {level: t.namespace(level) for level in LEVELS}
    for level, namespace in namespaces.items():
        t.kube.patch("Namespace", None, namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level}}})
        # Admission refuses Pods until the account is there, whatever their level.
        t.kube.wait("its account", lambda namespace=namespace: t.kube.get("ServiceAccount", namespace, "default"))
    said = {}
    for case in document["cases"]:
        container = {**document["base"]["container"], **case.get("container", {})}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": case["name"]},
               "spec": {**document["base"]["pod"], **case.get("pod", {}), "containers": [container]}}
        for level in LEVELS:
            status, answer = t.kube.request("POST", f"/api/v1/namespaces/{namespaces[level]}/pods?dryRun=All", pod)
            if status == 201:
                said[case["name"]] = level
                break
            check(status == 403 and "violates PodSecurity" in answer["message"], f"{case['name']}: {answer}")
    equal(said, {case["name"]: case["level"] for case in document["cases"]})
