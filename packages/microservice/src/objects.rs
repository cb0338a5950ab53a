//! The Kubernetes objects.

use std::collections::BTreeMap;

use app_objects::{App, dns, restricted, selector};
use mistletoe::secret::fingerprint;
use mistletoe::{Error, Value, json};

use crate::{Inputs, PORT};

const PACKAGE: &str = "microservice";
const PROGRAM: &str = "/etc/mistletoe";

/// This service among the installs.
pub fn app(inputs: &Inputs) -> App<'_> {
    App { package: PACKAGE, component: "service", install: &inputs.name }
}

fn program_name(inputs: &Inputs) -> String {
    format!("{}-program", inputs.name)
}

fn credentials_name(inputs: &Inputs) -> String {
    format!("{}-credentials", inputs.name)
}

/// The ConfigMap with what the service runs.
pub fn program(inputs: &Inputs) -> Value {
    app(inputs).config_map(&program_name(inputs), &json!({ "serve.pl": include_str!("serve.pl") }))
}

/// The Secret with the variables that the service logs in with, if it uses anything.
pub fn credentials(inputs: &Inputs) -> Option<Value> {
    let mut variables = BTreeMap::new();
    if let Some(database) = &inputs.database {
        variables.insert("DATABASE_HOST", database.host.clone());
        variables.insert("DATABASE_PORT", database.port.to_string());
        variables.insert("DATABASE_NAME", database.database.clone());
        variables.insert("DATABASE_USERNAME", database.username.clone());
        variables.insert("DATABASE_PASSWORD", database.password.reveal().to_owned());
    }
    if let Some(cache) = &inputs.cache {
        variables.insert("CACHE_HOST", cache.host.clone());
        variables.insert("CACHE_PORT", cache.port.to_string());
        variables.insert("CACHE_USERNAME", cache.username.clone());
        variables.insert("CACHE_PASSWORD", cache.password.reveal().to_owned());
    }
    (!variables.is_empty()).then(|| app(inputs).secret(&credentials_name(inputs), &json!(variables)))
}

/// The service; it rolls when its program or what it logs in with changes.
pub fn deployment(inputs: &Inputs, credentials: Option<&Value>) -> Result<Value, Error> {
    let mut container = json!({
        "name": "service",
        "image": inputs.image,
        "command": ["perl", format!("{PROGRAM}/serve.pl")],
        "env": [
            { "name": "NAME", "value": inputs.name },
            { "name": "PORT", "value": PORT.to_string() },
            { "name": "PEERS", "value": inputs.peers.join(" ") },
        ],
        "ports": [{ "name": "http", "containerPort": PORT, "protocol": "TCP" }],
        "readinessProbe": probe("/ready", 3),
        "livenessProbe": probe("/name", 6),
        "resources": { "requests": { "cpu": "10m", "memory": "32Mi" }, "limits": { "memory": "128Mi" } },
        "securityContext": restricted(),
        "volumeMounts": [{ "name": "program", "mountPath": PROGRAM, "readOnly": true }],
    });
    if credentials.is_some() {
        container["envFrom"] = json!([{ "secretRef": { "name": credentials_name(inputs) } }]);
    }
    let content = (include_str!("serve.pl"), credentials.map(|secret| &secret["stringData"]));
    Ok(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": app(inputs).metadata(&inputs.name),
        "spec": {
            "replicas": inputs.replicas,
            "selector": { "matchLabels": app(inputs).selector() },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": {
                "metadata": {
                    "labels": app(inputs).labels(),
                    "annotations": { "checksum/content": fingerprint(&content)? },
                },
                "spec": {
                    "automountServiceAccountToken": false,
                    "enableServiceLinks": false,
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": 65534,
                        "runAsGroup": 65534,
                        "seccompProfile": { "type": "RuntimeDefault" },
                    },
                    "topologySpreadConstraints": app(inputs).spread(),
                    "containers": [container],
                    "volumes": [{ "name": "program", "configMap": { "name": program_name(inputs) } }],
                },
            },
        },
    }))
}

fn probe(path: &str, failures: u32) -> Value {
    json!({
        "httpGet": { "path": path, "port": "http" },
        "periodSeconds": 10,
        "timeoutSeconds": 10,
        "failureThreshold": failures,
    })
}

/// Peers may ask it; it may ask peers, names, and the servers that it logs in to.
pub fn network_policy(inputs: &Inputs) -> Value {
    let peers: Vec<Value> =
        inputs.peers.iter().map(|peer| json!({ "podSelector": { "matchLabels": selector(PACKAGE, peer) } })).collect();
    let mut ingress = Vec::new();
    let mut egress = vec![dns()];
    // A list without members would mean everybody.
    if !peers.is_empty() {
        ingress.push(json!({ "from": peers, "ports": [{ "port": "http", "protocol": "TCP" }] }));
        egress.push(json!({ "to": peers, "ports": [{ "port": PORT, "protocol": "TCP" }] }));
    }
    let servers =
        [inputs.database.as_ref().map(|database| database.port), inputs.cache.as_ref().map(|cache| cache.port)];
    for port in servers.into_iter().flatten() {
        egress.push(json!({ "ports": [{ "port": port, "protocol": "TCP" }] }));
    }
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": app(inputs).metadata(&inputs.name),
        "spec": {
            "podSelector": { "matchLabels": app(inputs).selector() },
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": egress,
        },
    })
}
