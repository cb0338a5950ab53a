//! The Kubernetes objects.

use std::collections::BTreeMap;

use mistletoe::secret::{SecretText, fingerprint};
use mistletoe::{Error, Value, json};

use crate::{Account, Inputs, PORT};

const DATA: &str = "/data";
const CONFIG: &str = "/etc/mistletoe/config";
const USERS: &str = "/etc/mistletoe/users";

pub fn admin_secret_name(inputs: &Inputs) -> String {
    format!("{}-admin", inputs.name)
}

pub fn user_secret_name(inputs: &Inputs, username: &str) -> String {
    format!("{}-user-{username}", inputs.name)
}

/// The labels that find the Pod; a StatefulSet's selector can't change, so these stay as they are for ever.
pub fn selector(inputs: &Inputs) -> BTreeMap<String, String> {
    [("app.kubernetes.io/name", "redis"), ("app.kubernetes.io/instance", &inputs.name)]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn labels(inputs: &Inputs) -> BTreeMap<String, String> {
    let mut labels = selector(inputs);
    labels.insert("app.kubernetes.io/component".into(), "database".into());
    labels.insert("app.kubernetes.io/managed-by".into(), "mistletoe".into());
    labels
}

fn metadata(inputs: &Inputs, name: &str) -> Value {
    json!({ "name": name, "labels": labels(inputs) })
}

/// The Secret with the password of admin.
pub fn admin_secret(inputs: &Inputs, password: &SecretText) -> Value {
    secret(inputs, &admin_secret_name(inputs), json!({ "username": "admin", "password": password }))
}

/// The Secret with the ACL file, which the server reads at each start.
pub fn users_secret(inputs: &Inputs, acl_file: &str) -> Value {
    secret(inputs, &format!("{}-users", inputs.name), json!({ "users.acl": acl_file }))
}

/// The Secret with everything that a client needs to log in as this user.
pub fn user_secret(inputs: &Inputs, account: &Account) -> Value {
    let Account { username, password, .. } = account;
    let host = inputs.fqdn();
    secret(
        inputs,
        &user_secret_name(inputs, username),
        json!({
            "username": username,
            "password": password,
            "host": host,
            "port": PORT.to_string(),
            "uri": format!("redis://{username}:{}@{host}:{PORT}", password.reveal()),
        }),
    )
}

fn secret(inputs: &Inputs, name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata(inputs, name), "type": "Opaque", "stringData": data })
}

/// The ConfigMap with the server's configuration.
pub fn config(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(inputs, &config_name(inputs)),
        "data": { "redis.conf": redis_conf(inputs) },
    })
}

fn config_name(inputs: &Inputs) -> String {
    format!("{}-config", inputs.name)
}

fn redis_conf(inputs: &Inputs) -> String {
    let (append, save) = if inputs.persistence.enabled { ("yes", "3600 1 300 100 60 10000") } else { ("no", "\"\"") };
    format!(
        "bind * -::*
port {PORT}
protected-mode no
dir {DATA}
aclfile {USERS}/users.acl
appendonly {append}
appendfsync everysec
save {save}
maxmemory {}mb
maxmemory-policy {}
",
        inputs.memory_mib,
        inputs.when_full.as_str(),
    )
}

/// The server. It restarts when its configuration or its users change.
pub fn server(inputs: &Inputs, acl_file: &str) -> Result<Value, Error> {
    let mut volumes = vec![
        json!({ "name": "config", "configMap": { "name": config_name(inputs) } }),
        json!({ "name": "users", "secret": { "secretName": format!("{}-users", inputs.name), "defaultMode": 0o440 } }),
    ];
    let mut spec = json!({
        "serviceName": inputs.name,
        "replicas": 1,
        "selector": { "matchLabels": selector(inputs) },
    });
    if inputs.persistence.enabled {
        spec["volumeClaimTemplates"] = json!([claim(inputs)]);
    } else {
        volumes.push(json!({ "name": "data", "emptyDir": {} }));
    }
    spec["template"] = json!({
        "metadata": {
            "labels": labels(inputs),
            "annotations": { "checksum/content": fingerprint(&(redis_conf(inputs), acl_file))? },
        },
        "spec": {
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": inputs.run_as_user,
                "runAsGroup": inputs.run_as_user,
                "fsGroup": inputs.run_as_user,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            "terminationGracePeriodSeconds": 60,
            "containers": [container(inputs)],
            "volumes": volumes,
        },
    });
    Ok(
        json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata(inputs, &inputs.name), "spec": spec }),
    )
}

fn container(inputs: &Inputs) -> Value {
    // While it saves, a second process has a copy of what changes.
    let memory = format!("{}Mi", 2 * inputs.memory_mib + 32);
    let ask = format!("$(redis-cli -p {PORT} --user health --pass none --no-auth-warning ping)");
    let answers = format!("[ \"{ask}\" = PONG ]");
    // While it reads its data it is alive, and PING is an error.
    let lives = format!("case \"{ask}\" in PONG | LOADING*) ;; *) exit 1 ;; esac");
    json!({
        "name": "redis",
        "image": inputs.image,
        "command": ["redis-server", format!("{CONFIG}/redis.conf")],
        "ports": [{ "name": "redis", "containerPort": PORT, "protocol": "TCP" }],
        "startupProbe": probe(&lives, 2, 150),
        "livenessProbe": probe(&lives, 10, 6),
        "readinessProbe": probe(&answers, 5, 3),
        "resources": { "requests": { "cpu": inputs.cpu, "memory": memory }, "limits": { "memory": memory } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
        },
        "volumeMounts": [
            { "name": "data", "mountPath": DATA },
            { "name": "config", "mountPath": CONFIG, "readOnly": true },
            { "name": "users", "mountPath": USERS, "readOnly": true },
        ],
    })
}

fn probe(script: &str, period: u32, failures: u32) -> Value {
    json!({
        "exec": { "command": ["sh", "-c", script] },
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    })
}

fn claim(inputs: &Inputs) -> Value {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": { "requests": { "storage": inputs.persistence.size } },
    });
    if let Some(class) = &inputs.persistence.storage_class {
        spec["storageClassName"] = class.as_str().into();
    }
    json!({ "metadata": { "name": "data", "labels": selector(inputs) }, "spec": spec })
}

/// The Service in front of it.
pub fn service(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(inputs, &inputs.name),
        "spec": {
            "selector": selector(inputs),
            "ports": [{ "name": "redis", "port": PORT, "targetPort": "redis", "protocol": "TCP" }],
        },
    })
}

/// Only clients may connect; the server itself connects to nobody.
pub fn network_policy(inputs: &Inputs) -> Value {
    let from: Vec<Value> = if inputs.clients.is_empty() {
        vec![json!({ "podSelector": {} })]
    } else {
        inputs.clients.iter().map(|labels| json!({ "podSelector": { "matchLabels": labels } })).collect()
    };
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(inputs, &inputs.name),
        "spec": {
            "podSelector": { "matchLabels": selector(inputs) },
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{ "from": from, "ports": [{ "port": "redis", "protocol": "TCP" }] }],
        },
    })
}

/// One server can be moved to another node at any time; with none, a drain would wait for ever.
pub fn disruption_budget(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(inputs, &inputs.name),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": { "matchLabels": selector(inputs) },
        },
    })
}
