//! A small web server: a Deployment and its Service.

use mistletoe::{MistOutput, MistResult, Value, json, mistletoe_package};
use serde::Deserialize;

mistletoe_package! { file = "mistletoe.yaml" }

/// As `mistletoe.yaml` describes them; the host has checked them and put the defaults in.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Inputs {
    name: String,
    replicas: u32,
    image: String,
    service_type: String,
}

fn generate(inputs: Inputs) -> MistResult {
    MistOutput::new()
        .with_object("deployment.yaml", &deployment(&inputs))?
        .with_object("service.yaml", &service(&inputs))
}

fn deployment(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": inputs.name, "labels": labels(inputs) },
        "spec": {
            "replicas": inputs.replicas,
            "selector": { "matchLabels": labels(inputs) },
            "template": {
                "metadata": { "labels": labels(inputs) },
                "spec": {
                    "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
                    "containers": [{
                        "name": "web",
                        "image": inputs.image,
                        "ports": [{ "name": "http", "containerPort": 8080 }],
                        "readinessProbe": { "httpGet": { "path": "/", "port": "http" } },
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "capabilities": { "drop": ["ALL"] },
                        },
                        "resources": {
                            "requests": { "cpu": "10m", "memory": "16Mi" },
                            "limits": { "memory": "64Mi" },
                        },
                    }],
                },
            },
        },
    })
}

fn service(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": inputs.name, "labels": labels(inputs) },
        "spec": {
            "type": inputs.service_type,
            "selector": labels(inputs),
            "ports": [{ "name": "http", "port": 80, "targetPort": "http" }],
        },
    })
}

/// They find the Pods: a Deployment's selector can't change, so these stay as they are for ever.
fn labels(inputs: &Inputs) -> Value {
    json!({ "app.kubernetes.io/name": "my-package", "app.kubernetes.io/instance": inputs.name })
}
