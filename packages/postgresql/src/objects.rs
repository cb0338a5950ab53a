//! The Kubernetes objects.

use std::collections::BTreeMap;

use app_objects::{App, DataVolume, exec_probe, merged, resources, restricted};
use certificates::ServerTls;
use mistletoe::{Error, Value, json};

use crate::{Account, Inputs, PORT};

const DATA: &str = "/var/lib/postgresql/data";
const RUN: &str = "/run/postgresql";
const CONFIG: &str = "/etc/mistletoe/config";
const USERS: &str = "/etc/mistletoe/users";
const TLS: &str = "/etc/mistletoe/tls";

pub fn user_secret_name(inputs: &Inputs, username: &str) -> String {
    format!("{}-user-{username}", inputs.name)
}

fn config_name(inputs: &Inputs) -> String {
    format!("{}-config", inputs.name)
}

fn users_name(inputs: &Inputs) -> String {
    format!("{}-users", inputs.name)
}

/// This server among the installs.
pub fn app(inputs: &Inputs) -> App<'_> {
    App { package: "postgresql", component: "database", install: &inputs.name }
}

/// The Secret with what the server does at each start.
pub fn users_secret(inputs: &Inputs, users_file: &str) -> Value {
    app(inputs).secret(&users_name(inputs), &json!({ "users.sql": users_file }))
}

/// The Secret with everything that a client needs to log in as this user.
pub fn user_secret(inputs: &Inputs, account: &Account, tls: Option<&ServerTls>) -> Value {
    let Account { username, password, database, .. } = account;
    let host = inputs.fqdn();
    let mode = if tls.is_some() { "?sslmode=require" } else { "" };
    let mut data = json!({
        "username": username,
        "password": password,
        "database": database,
        "host": host,
        "port": PORT.to_string(),
        "uri": format!("postgresql://{username}:{}@{host}:{PORT}/{database}{mode}", password.reveal()),
    });
    if let Some(ca) = tls.and_then(|tls| tls.ca.as_deref()) {
        data["ca.crt"] = ca.into();
    }
    app(inputs).secret(&user_secret_name(inputs, username), &data)
}

/// The ConfigMap with the server's configuration and its scripts.
pub fn config(inputs: &Inputs, files: &Value) -> Value {
    app(inputs).config_map(&config_name(inputs), files)
}

/// The files of the ConfigMap.
pub fn config_files(inputs: &Inputs) -> Value {
    json!({
        "postgresql.conf": postgresql_conf(inputs),
        "pg_hba.conf": pg_hba_conf(inputs),
        "passwd": passwd(inputs),
        "programs.sh": include_str!("programs.sh"),
        "prepare.sh": include_str!("prepare.sh"),
        "start.sh": include_str!("start.sh"),
        "stop.sh": include_str!("stop.sh"),
        "probe.sh": include_str!("probe.sh"),
        "database.sql": include_str!("database.sql"),
        "drop.sql": include_str!("drop.sql"),
    })
}

/// The image's own file doesn't have to know the user, and both `initdb` and the method `peer` ask for its name.
fn passwd(inputs: &Inputs) -> String {
    let user = inputs.run_as_user;
    format!("root:x:0:0:root:/root:/bin/sh\npostgres:x:{user}:{user}:PostgreSQL:{DATA}:/bin/sh\n")
}

/// The rules for logging in; the first line that matches counts.
fn pg_hba_conf(inputs: &Inputs) -> String {
    let host = if inputs.tls.enabled && inputs.tls.required { "hostssl" } else { "host" };
    format!(
        "# The administrator, inside the Pod alone.
local all postgres peer
local all all scram-sha-256
host all postgres all reject
{host} all all all scram-sha-256
"
    )
}

fn postgresql_conf(inputs: &Inputs) -> String {
    let memory = u64::from(inputs.memory_mib);
    let connections = u64::from(inputs.max_connections);
    let shared = memory / 4;
    // The share of each sort, if every connection runs three at once.
    let work_kb = ((memory - shared) * 1024 / (3 * connections)).max(1024);
    let mut settings: BTreeMap<&str, String> = [
        ("cluster_name", inputs.name.clone()),
        ("data_directory", format!("{DATA}/db")),
        ("effective_cache_size", format!("{}MB", memory * 3 / 4)),
        ("hba_file", format!("{CONFIG}/pg_hba.conf")),
        // A node's huge pages aren't the container's: using them would be a SIGBUS.
        ("huge_pages", "off".to_owned()),
        ("ident_file", format!("{DATA}/db/pg_ident.conf")),
        ("listen_addresses", "*".to_owned()),
        ("log_line_prefix", "%m [%p] %q%u@%d ".to_owned()),
        ("maintenance_work_mem", format!("{}MB", (memory / 16).clamp(16, 2048))),
        ("max_connections", connections.to_string()),
        ("password_encryption", "scram-sha-256".to_owned()),
        ("port", PORT.to_string()),
        ("shared_buffers", format!("{shared}MB")),
        ("unix_socket_directories", RUN.to_owned()),
        ("work_mem", format!("{work_kb}kB")),
    ]
    .into();
    if inputs.tls.enabled {
        settings.insert("ssl", "on".to_owned());
        settings.insert("ssl_cert_file", format!("{TLS}/tls.crt"));
        settings.insert("ssl_key_file", format!("{TLS}/tls.key"));
        settings.insert("ssl_min_protocol_version", "TLSv1.2".to_owned());
    }
    settings.extend(inputs.settings.iter().map(|(name, value)| (name.as_str(), value.clone())));
    settings
        .iter()
        .map(|(name, value)| format!("{name} = '{}'\n", value.replace('\\', "\\\\").replace('\'', "''")))
        .collect()
}

/// The server. It restarts when its configuration, its users or its certificate change.
pub fn server(inputs: &Inputs, files: &Value, users_file: &str, tls: Option<&ServerTls>) -> Result<Value, Error> {
    let mut volumes = vec![
        json!({ "name": "config", "configMap": { "name": config_name(inputs) } }),
        json!({ "name": "users", "secret": { "secretName": users_name(inputs), "defaultMode": 0o440 } }),
        json!({ "name": "run", "emptyDir": {} }),
        json!({ "name": "tmp", "emptyDir": {} }),
        // Parallel queries share memory there; a container's own has 64 MB.
        json!({ "name": "shm", "emptyDir": { "medium": "Memory" } }),
    ];
    volumes.extend(tls.map(ServerTls::volume));
    let script = |name: &str| format!("{CONFIG}/{name}.sh");
    let probe = |what: &str, period, failures| exec_probe(&["sh", &script("probe"), what], period, failures);
    let prepare = json!({
        "name": "prepare",
        "command": ["sh", script("prepare")],
        "env": [{ "name": "LOCALE", "value": inputs.locale }],
    });
    let postgresql = json!({
        "name": "postgresql",
        "command": ["sh", script("start")],
        "ports": [{ "name": "postgresql", "containerPort": PORT, "protocol": "TCP" }],
        "startupProbe": probe("alive", 5, 120),
        "livenessProbe": probe("alive", 10, 6),
        "readinessProbe": probe("ready", 5, 3),
        "lifecycle": { "preStop": { "exec": { "command": ["sh", script("stop")] } } },
    });
    let common = container(inputs, tls);
    let content = json!([files, users_file, tls.map(ServerTls::content)]);
    let template = app(inputs).pod_template(
        &content,
        inputs.run_as_user,
        json!({
            "terminationGracePeriodSeconds": 120,
            "initContainers": [merged(common.clone(), prepare)],
            "containers": [merged(common, postgresql)],
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

/// The fields that both containers share.
fn container(inputs: &Inputs, tls: Option<&ServerTls>) -> Value {
    let mut mounts = vec![
        json!({ "name": "data", "mountPath": DATA }),
        json!({ "name": "config", "mountPath": CONFIG, "readOnly": true }),
        json!({ "name": "config", "mountPath": "/etc/passwd", "subPath": "passwd", "readOnly": true }),
        json!({ "name": "users", "mountPath": USERS, "readOnly": true }),
        json!({ "name": "run", "mountPath": RUN }),
        json!({ "name": "tmp", "mountPath": "/tmp" }),
        json!({ "name": "shm", "mountPath": "/dev/shm" }),
    ];
    if tls.is_some() {
        mounts.push(json!({ "name": "tls", "mountPath": TLS, "readOnly": true }));
    }
    json!({
        "image": inputs.image,
        "resources": resources(&inputs.cpu, inputs.memory_mib.into()),
        "securityContext": restricted(),
        "volumeMounts": mounts,
    })
}
