"""A small web server: a Deployment and its Service."""
from dataclasses import dataclass
from typing import Literal

from mistletoe import Output, value


@dataclass(kw_only=True)
class Inputs:
    """What users may set; the host has checked it and put the defaults in."""
    name: str = value(doc="The name of the release and its objects")
    replicas: int = value(2, minimum=0, maximum=100, doc="How many Pods serve")
    image: str = value("nginxinc/nginx-unprivileged:1.29-alpine", doc="Listens on 8080 and needs no root")
    serviceType: Literal["ClusterIP", "NodePort", "LoadBalancer"] = value("ClusterIP", doc="How it is reached")


def generate(inputs: Inputs) -> Output:
    return (Output()
            .with_object("deployment.yaml", deployment(inputs))
            .with_object("service.yaml", service(inputs)))


def deployment(inputs: Inputs) -> dict:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": inputs.name, "labels": labels(inputs)},
        "spec": {
            "replicas": inputs.replicas,
            "selector": {"matchLabels": labels(inputs)},
            "template": {
                "metadata": {"labels": labels(inputs)},
                "spec": {
                    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                    "containers": [{
                        "name": "web",
                        "image": inputs.image,
                        "ports": [{"name": "http", "containerPort": 8080}],
                        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
                        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
                    }],
                },
            },
        },
    }


def service(inputs: Inputs) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": inputs.name, "labels": labels(inputs)},
        "spec": {
            "type": inputs.serviceType,
            "selector": labels(inputs),
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        },
    }


def labels(inputs: Inputs) -> dict:
    """These find the Pods: a Deployment's selector can't change, so they stay as they are for ever."""
    return {"app.kubernetes.io/name": "my-package", "app.kubernetes.io/instance": inputs.name}
