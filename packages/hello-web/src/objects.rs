//! The Kubernetes objects.

use mistletoe::{Value, json};
use sha2::{Digest, Sha256};

use crate::inputs::Inputs;

const CONTAINER_PORT: u16 = 8080;

/// The ConfigMap with the page.
pub fn content(inputs: &Inputs) -> Value {
    let page = page("Hello", &inputs.message);
    config_map(inputs, &format!("{}-content", inputs.name), json!({ "index.html": page }))
}

/// The ConfigMap with the second page.
pub fn extra(inputs: &Inputs) -> Value {
    let page = page("About", &format!("Served by {}, installed by Mistletoe.", inputs.name));
    config_map(inputs, &format!("{}-extra", inputs.name), json!({ "about.html": page }))
}

/// The Deployment, which serves the files of both ConfigMaps; their checksum makes a change of content roll the Pods.
pub fn deployment(inputs: &Inputs, content: &Value, extra: Option<&Value>) -> Value {
    let served: Vec<&Value> = std::iter::once(content).chain(extra).collect();
    let sources: Vec<Value> =
        served.iter().map(|map| json!({ "configMap": { "name": map["metadata"]["name"] } })).collect();
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": inputs.name, "labels": labels(inputs) },
        "spec": {
            "replicas": inputs.replicas,
            "selector": { "matchLabels": selector(inputs) },
            "template": {
                "metadata": {
                    "labels": labels(inputs),
                    "annotations": { "checksum/content": checksum(&served) },
                },
                "spec": {
                    "containers": [container(inputs)],
                    "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
                    "volumes": [
                        { "name": "content", "projected": { "sources": sources } },
                        { "name": "scratch", "emptyDir": {} },
                    ],
                },
            },
        },
    })
}

/// The Service in front of the Pods.
pub fn service(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": inputs.name, "labels": labels(inputs) },
        "spec": {
            "type": inputs.service_type,
            "selector": selector(inputs),
            "ports": [{ "name": "http", "port": inputs.port, "targetPort": "http", "protocol": "TCP" }],
        },
    })
}

fn container(inputs: &Inputs) -> Value {
    json!({
        "name": "web",
        "image": inputs.image,
        "ports": [{ "name": "http", "containerPort": CONTAINER_PORT, "protocol": "TCP" }],
        "readinessProbe": { "httpGet": { "path": "/", "port": "http" } },
        "resources": inputs.resources,
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
        "volumeMounts": [
            { "name": "content", "mountPath": "/usr/share/nginx/html", "readOnly": true },
            { "name": "scratch", "mountPath": "/tmp" },
        ],
    })
}

fn config_map(inputs: &Inputs, name: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "labels": labels(inputs) },
        "data": data,
    })
}

/// The labels that find the Pods; a Deployment's selector can't change, so these stay as they are for ever.
fn selector(inputs: &Inputs) -> Value {
    json!({ "app.kubernetes.io/name": "hello-web", "app.kubernetes.io/instance": inputs.name })
}

fn labels(inputs: &Inputs) -> Value {
    json!({
        "app.kubernetes.io/name": "hello-web",
        "app.kubernetes.io/instance": inputs.name,
        "app.kubernetes.io/component": "web",
        "app.kubernetes.io/managed-by": "mistletoe",
    })
}

fn page(title: &str, text: &str) -> String {
    let text = escape(text);
    format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n<p>{text}</p>\n")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn checksum(config_maps: &[&Value]) -> String {
    let mut hash = Sha256::new();
    for config_map in config_maps {
        hash.update(config_map["data"].to_string());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
