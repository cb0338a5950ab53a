//! The Kubernetes objects.

use std::collections::BTreeMap;

use mistletoe::secret::{SecretText, fingerprint};
use mistletoe::{Error, Value, json};

use crate::{Account, Inputs, PORT};

const DATA: &str = "/var/lib/mysql";
const RUN: &str = "/run/mysqld";
const CONFIG: &str = "/etc/mistletoe/config";
const USERS: &str = "/etc/mistletoe/users";

pub fn root_secret_name(inputs: &Inputs) -> String {
    format!("{}-root", inputs.name)
}

pub fn user_secret_name(inputs: &Inputs, username: &str) -> String {
    format!("{}-user-{username}", inputs.name)
}

/// The labels that find the Pod; a StatefulSet's selector can't change, so these stay as they are for ever.
pub fn selector(inputs: &Inputs) -> BTreeMap<String, String> {
    [("app.kubernetes.io/name", "mariadb"), ("app.kubernetes.io/instance", &inputs.name)]
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

/// The Secret with the password of root.
pub fn root_secret(inputs: &Inputs, password: &SecretText) -> Value {
    secret(inputs, &root_secret_name(inputs), json!({ "username": "root", "password": password }))
}

/// The Secret with what the server does at each start.
pub fn users_secret(inputs: &Inputs, users_file: &str) -> Value {
    secret(inputs, &format!("{}-users", inputs.name), json!({ "users.sql": users_file }))
}

/// The Secret with everything that a client needs to log in as this user.
pub fn user_secret(inputs: &Inputs, account: &Account) -> Value {
    let Account { username, password, database, .. } = account;
    let host = inputs.fqdn();
    secret(
        inputs,
        &user_secret_name(inputs, username),
        json!({
            "username": username,
            "password": password,
            "database": database,
            "host": host,
            "port": PORT.to_string(),
            "uri": format!("mysql://{username}:{}@{host}:{PORT}/{database}", password.reveal()),
        }),
    )
}

fn secret(inputs: &Inputs, name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata(inputs, name), "type": "Opaque", "stringData": data })
}

/// The ConfigMap with the server's configuration, and with what makes its data directory.
pub fn config(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(inputs, &config_name(inputs)),
        "data": { "my.cnf": my_cnf(inputs), "prepare.sh": include_str!("prepare.sh") },
    })
}

fn config_name(inputs: &Inputs) -> String {
    format!("{}-config", inputs.name)
}

fn my_cnf(inputs: &Inputs) -> String {
    let mut settings: BTreeMap<&str, String> = [
        ("bind-address", "*".to_owned()),
        ("character-set-server", "utf8mb4".to_owned()),
        ("datadir", format!("{DATA}/db")),
        ("init-file", format!("{USERS}/users.sql")),
        ("innodb-buffer-pool-size", format!("{}M", inputs.memory_mib / 2)),
        ("local-infile", "OFF".to_owned()),
        ("max-connections", inputs.max_connections.to_string()),
        ("pid-file", format!("{RUN}/mariadbd.pid")),
        ("port", PORT.to_string()),
        ("skip-name-resolve", "ON".to_owned()),
        ("socket", format!("{RUN}/mysqld.sock")),
        ("tmpdir", "/tmp".to_owned()),
    ]
    .into();
    let given = crate::settings(inputs);
    settings.extend(given.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let lines: String = settings.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    format!("[mariadbd]\n{lines}")
}

/// The server. It restarts when its configuration or its users change.
pub fn server(inputs: &Inputs, users_file: &str) -> Result<Value, Error> {
    let mut volumes = vec![
        json!({ "name": "config", "configMap": { "name": config_name(inputs) } }),
        json!({ "name": "users", "secret": { "secretName": format!("{}-users", inputs.name), "defaultMode": 0o440 } }),
        json!({ "name": "run", "emptyDir": {} }),
        json!({ "name": "tmp", "emptyDir": {} }),
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
            "annotations": { "checksum/content": fingerprint(&(my_cnf(inputs), users_file))? },
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
            "terminationGracePeriodSeconds": 120,
            "initContainers": [container(inputs, json!({
                "name": "prepare",
                "command": ["sh", format!("{CONFIG}/prepare.sh")],
            }))],
            "containers": [container(inputs, json!({
                "name": "mariadb",
                "command": ["mariadbd", format!("--defaults-file={CONFIG}/my.cnf")],
                "ports": [{ "name": "mariadb", "containerPort": PORT, "protocol": "TCP" }],
                "startupProbe": probe(&ask("mariadb-admin", &["--silent", "ping"]), 5, 120),
                "livenessProbe": probe(&ask("mariadb-admin", &["--silent", "ping"]), 10, 6),
                "readinessProbe": probe(&ask("mariadb", &["--execute=SELECT 1"]), 5, 3),
            }))],
            "volumes": volumes,
        },
    });
    Ok(
        json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata(inputs, &inputs.name), "spec": spec }),
    )
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

/// What both containers have beside `own`.
fn container(inputs: &Inputs, own: Value) -> Value {
    let memory = format!("{}Mi", inputs.memory_mib);
    let mut container = json!({
        "image": inputs.image,
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
            { "name": "run", "mountPath": RUN },
            { "name": "tmp", "mountPath": "/tmp" },
        ],
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut container, own) {
        all.extend(own);
    }
    container
}

/// A client that logs in through the socket, as the user without rights.
fn ask(program: &str, arguments: &[&str]) -> Vec<String> {
    let mut command =
        vec![program.to_owned(), "--no-defaults".into(), format!("--socket={RUN}/mysqld.sock"), "--user=health".into()];
    command.extend(arguments.iter().map(|&argument| argument.to_owned()));
    command
}

fn probe(command: &[String], period: u32, failures: u32) -> Value {
    json!({ "exec": { "command": command }, "periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures })
}

/// The Service in front of it.
pub fn service(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(inputs, &inputs.name),
        "spec": {
            "selector": selector(inputs),
            "ports": [{ "name": "mariadb", "port": PORT, "targetPort": "mariadb", "protocol": "TCP" }],
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
            "ingress": [{ "from": from, "ports": [{ "port": "mariadb", "protocol": "TCP" }] }],
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
