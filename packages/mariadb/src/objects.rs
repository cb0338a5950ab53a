//! The Kubernetes objects.

use std::collections::BTreeMap;

use app_objects::{ANY_TIME, App, DataVolume, exec_probe, merged, resources, restricted};
use certificates::ServerTls;
use mistletoe::secret::SecretText;
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
    let template = app(inputs).pod_template(
        &content(inputs, users_file, tls),
        inputs.run_as_user,
        json!({
            "terminationGracePeriodSeconds": grace_seconds(inputs),
            "initContainers": [container(inputs, json!({
                "name": "prepare",
                "command": ["sh", format!("{CONFIG}/prepare.sh")],
            }))],
            "containers": [container(inputs, json!({
                "name": "mariadb",
                "command": ["mariadbd", format!("--defaults-file={CONFIG}/my.cnf")],
                "ports": [{ "name": "mariadb", "containerPort": PORT, "protocol": "TCP" }],
                "startupProbe": ask("mariadb-admin", &["--silent", "ping"], 5, ANY_TIME),
                "livenessProbe": ask("mariadb-admin", &["--silent", "ping"], 10, 6),
                "readinessProbe": ask("mariadb", &["--execute=SELECT 1"], 5, 3),
            }))],
            "volumes": volumes,
        }),
    )?;
    let persistence = &inputs.persistence;
    let data = DataVolume {
        persistent: persistence.enabled,
        size: &persistence.size,
        storage_class: persistence.storage_class.as_deref(),
    };
    Ok(app(inputs).stateful_set(&inputs.name, 1, template, Some(&data)))
}

/// The time for an orderly end: the buffer pool, half of the memory, is written at 8 MiB a second, as on a slow volume.
fn grace_seconds(inputs: &Inputs) -> u32 {
    (inputs.memory_mib / 2 / 8).clamp(120, 3600)
}

/// Without a certificate, what it was before there could be one: this alone rolls no Pod.
fn content(inputs: &Inputs, users_file: &str, tls: Option<&ServerTls>) -> Value {
    match tls {
        None => json!([my_cnf(inputs), users_file]),
        Some(tls) => json!([my_cnf(inputs), users_file, tls.content()]),
    }
}

/// A container with `own` and everything that both containers share.
fn container(inputs: &Inputs, own: Value) -> Value {
    let mut container = json!({
        "image": inputs.image,
        "resources": resources(&inputs.cpu, inputs.memory_mib.into()),
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

/// A probe by a client that logs in through the socket, as the user without rights.
fn ask(program: &str, arguments: &[&str], period: u32, failures: u32) -> Value {
    let socket = format!("--socket={RUN}/mysqld.sock");
    let command = [&[program, "--no-defaults", &socket, "--user=health"], arguments].concat();
    exec_probe(&command, period, failures)
}
