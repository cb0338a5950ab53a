//! The Kubernetes objects.

use std::collections::BTreeMap;

use mistletoe::secret::fingerprint;
use mistletoe::{Error, Value, json};

use crate::{Inputs, PORT};

const PROGRAM: &str = "/etc/mistletoe";

/// The labels that find the Pods; a Deployment's selector can't change, so these stay as they are for ever.
fn selector(install: &str) -> BTreeMap<&'static str, &str> {
    [("app.kubernetes.io/name", "microservice"), ("app.kubernetes.io/instance", install)].into()
}

fn labels(inputs: &Inputs) -> BTreeMap<&'static str, &str> {
    let mut labels = selector(&inputs.name);
    labels.insert("app.kubernetes.io/component", "service");
    labels.insert("app.kubernetes.io/managed-by", "mistletoe");
    labels
}

fn metadata(inputs: &Inputs, name: &str) -> Value {
    json!({ "name": name, "labels": labels(inputs) })
}

fn program_name(inputs: &Inputs) -> String {
    format!("{}-program", inputs.name)
}

fn credentials_name(inputs: &Inputs) -> String {
    format!("{}-credentials", inputs.name)
}

/// The ConfigMap with what the service runs.
pub fn program(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(inputs, &program_name(inputs)),
        "data": { "serve.pl": include_str!("serve.pl") },
    })
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
    (!variables.is_empty()).then(|| {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata(inputs, &credentials_name(inputs)),
            "type": "Opaque",
            "stringData": variables,
        })
    })
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
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
        "volumeMounts": [{ "name": "program", "mountPath": PROGRAM, "readOnly": true }],
    });
    if credentials.is_some() {
        container["envFrom"] = json!([{ "secretRef": { "name": credentials_name(inputs) } }]);
    }
    let content = (include_str!("serve.pl"), credentials.map(|secret| &secret["stringData"]));
    Ok(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(inputs, &inputs.name),
        "spec": {
            "replicas": inputs.replicas,
            "selector": { "matchLabels": selector(&inputs.name) },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": {
                "metadata": {
                    "labels": labels(inputs),
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
                    "topologySpreadConstraints": [{
                        "maxSkew": 1,
                        "topologyKey": "kubernetes.io/hostname",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": { "matchLabels": selector(&inputs.name) },
                    }],
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

/// The Service in front of it.
pub fn service(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(inputs, &inputs.name),
        "spec": {
            "selector": selector(&inputs.name),
            "ports": [{ "name": "http", "port": PORT, "targetPort": "http", "protocol": "TCP" }],
        },
    })
}

/// Peers may ask it; it may ask peers, names, and the servers that it logs in to.
pub fn network_policy(inputs: &Inputs) -> Value {
    let peers: Vec<Value> =
        inputs.peers.iter().map(|peer| json!({ "podSelector": { "matchLabels": selector(peer) } })).collect();
    let mut ingress = Vec::new();
    let mut egress = vec![json!({ "ports": [{ "port": 53, "protocol": "UDP" }, { "port": 53, "protocol": "TCP" }] })];
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
        "metadata": metadata(inputs, &inputs.name),
        "spec": {
            "podSelector": { "matchLabels": selector(&inputs.name) },
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": egress,
        },
    })
}

/// One Pod at a time may be moved.
pub fn disruption_budget(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(inputs, &inputs.name),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": { "matchLabels": selector(&inputs.name) },
        },
    })
}
