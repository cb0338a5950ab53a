//! The Kubernetes objects.

use std::collections::BTreeMap;

use app_objects::{App, merged, restricted};
use certificates::ServerTls;
use mistletoe::secret::{SecretText, fingerprint};
use mistletoe::{Error, Value, json};

use crate::{Account, Inputs, PORT};

const DATA: &str = "/var/lib/mysql";
const RUN: &str = "/run/mysqld";
const CONFIG: &str = "/etc/mistletoe/config";
const USERS: &str = "/etc/mistletoe/users";
const TLS: &str = "/etc/mistletoe/tls";

pub fn root_secret_name(inputs: &Inputs) -> String {
    format!("{}-root", inputs.name)
}

pub fn user_secret_name(inputs: &Inputs, username: &str) -> String {
    format!("{}-user-{username}", inputs.name)
}

/// This server among the installs.
pub fn app(inputs: &Inputs) -> App<'_> {
    App { package: "mariadb", component: "database", install: &inputs.name }
}

/// The Secret with the password of root.
pub fn root_secret(inputs: &Inputs, password: &SecretText) -> Value {
    app(inputs).secret(&root_secret_name(inputs), &json!({ "username": "root", "password": password }))
}

/// The Secret with what the server does at each start.
pub fn users_secret(inputs: &Inputs, users_file: &str) -> Value {
    app(inputs).secret(&format!("{}-users", inputs.name), &json!({ "users.sql": users_file }))
}

/// The Secret with everything that a client needs to log in as this user.
pub fn user_secret(inputs: &Inputs, account: &Account, tls: Option<&ServerTls>) -> Value {
    let Account { username, password, database, .. } = account;
    let host = inputs.fqdn();
    let mut data = json!({
        "username": username,
        "password": password,
        "database": database,
        "host": host,
        "port": PORT.to_string(),
        "uri": format!("mysql://{username}:{}@{host}:{PORT}/{database}", password.reveal()),
    });
    if let Some(ca) = tls.and_then(|tls| tls.ca.as_deref()) {
        data["ca.crt"] = ca.into();
    }
    app(inputs).secret(&user_secret_name(inputs, username), &data)
}

/// The ConfigMap with the server's configuration, and with what makes its data directory.
pub fn config(inputs: &Inputs) -> Value {
    app(inputs).config_map(
        &config_name(inputs),
        &json!({ "my.cnf": my_cnf(inputs), "prepare.sh": include_str!("prepare.sh") }),
    )
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
    if inputs.tls.enabled {
        settings.insert("ssl-cert", format!("{TLS}/tls.crt"));
        settings.insert("ssl-key", format!("{TLS}/tls.key"));
        settings.insert("require-secure-transport", if inputs.tls.required { "ON" } else { "OFF" }.to_owned());
    }
    let given = crate::settings(inputs);
    settings.extend(given.iter().map(|(name, value)| (name.as_str(), value.clone())));
    let lines: String = settings.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    format!("[mariadbd]\n{lines}")
}

/// The server. It restarts when its configuration, its users or its certificate change.
pub fn server(inputs: &Inputs, users_file: &str, tls: Option<&ServerTls>) -> Result<Value, Error> {
    let mut volumes = vec![
        json!({ "name": "config", "configMap": { "name": config_name(inputs) } }),
        json!({ "name": "users", "secret": { "secretName": format!("{}-users", inputs.name), "defaultMode": 0o440 } }),
        json!({ "name": "run", "emptyDir": {} }),
        json!({ "name": "tmp", "emptyDir": {} }),
    ];
    volumes.extend(tls.map(ServerTls::volume));
    let mut spec = json!({
        "serviceName": inputs.name,
        "replicas": 1,
        "selector": { "matchLabels": app(inputs).selector() },
    });
    let persistence = &inputs.persistence;
    if persistence.enabled {
        spec["volumeClaimTemplates"] =
            json!([app(inputs).data_claim(&persistence.size, persistence.storage_class.as_deref())]);
    } else {
        volumes.push(json!({ "name": "data", "emptyDir": {} }));
    }
    spec["template"] = json!({
        "metadata": {
            "labels": app(inputs).labels(),
            "annotations": { "checksum/content": checksum(inputs, users_file, tls)? },
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
        json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": app(inputs).metadata(&inputs.name), "spec": spec }),
    )
}

/// Without a certificate, what it was before there could be one: no Pod rolls for a newer version of the package.
fn checksum(inputs: &Inputs, users_file: &str, tls: Option<&ServerTls>) -> Result<String, Error> {
    match tls {
        None => fingerprint(&(my_cnf(inputs), users_file)),
        Some(tls) => fingerprint(&(my_cnf(inputs), users_file, tls.content())),
    }
}

/// A container with `own` and everything that both containers share.
fn container(inputs: &Inputs, own: Value) -> Value {
    let memory = format!("{}Mi", inputs.memory_mib);
    let mut container = json!({
        "image": inputs.image,
        "resources": { "requests": { "cpu": inputs.cpu, "memory": memory }, "limits": { "memory": memory } },
        "securityContext": restricted(),
        "volumeMounts": [
            { "name": "data", "mountPath": DATA },
            { "name": "config", "mountPath": CONFIG, "readOnly": true },
            { "name": "users", "mountPath": USERS, "readOnly": true },
            { "name": "run", "mountPath": RUN },
            { "name": "tmp", "mountPath": "/tmp" },
        ],
    });
    if inputs.tls.enabled
        && let Some(mounts) = container["volumeMounts"].as_array_mut()
    {
        mounts.push(json!({ "name": "tls", "mountPath": TLS, "readOnly": true }));
    }
    merged(container, own)
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
