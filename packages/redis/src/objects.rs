//! The Kubernetes objects.

use app_objects::{App, DataVolume, exec_probe, resources, restricted};
use certificates::ServerTls;
use mistletoe::secret::SecretText;
use mistletoe::{Error, Value, json};

use crate::{Account, Inputs, PORT};

const DATA: &str = "/data";
const CONFIG: &str = "/etc/mistletoe/config";
const USERS: &str = "/etc/mistletoe/users";
const TLS: &str = "/etc/mistletoe/tls";
/// Where the server answers without encryption, if all others must use it: for probes, inside the Pod alone.
const SOCKET: &str = "/run/redis/redis.sock";

pub fn admin_secret_name(inputs: &Inputs) -> String {
    format!("{}-admin", inputs.name)
}

pub fn user_secret_name(inputs: &Inputs, username: &str) -> String {
    format!("{}-user-{username}", inputs.name)
}

/// This server among the installs.
pub fn app(inputs: &Inputs) -> App<'_> {
    App { package: "redis", component: "database", install: &inputs.name }
}

/// The Secret with the password of admin.
pub fn admin_secret(inputs: &Inputs, password: &SecretText) -> Value {
    app(inputs).secret(&admin_secret_name(inputs), &json!({ "username": "admin", "password": password }))
}

/// The Secret with the ACL file, which the server reads at each start.
pub fn users_secret(inputs: &Inputs, acl_file: &str) -> Value {
    app(inputs).secret(&format!("{}-users", inputs.name), &json!({ "users.acl": acl_file }))
}

/// The Secret with everything that a client needs to log in as this user.
pub fn user_secret(inputs: &Inputs, account: &Account, tls: Option<&ServerTls>) -> Value {
    let Account { username, password, .. } = account;
    let host = inputs.fqdn();
    let scheme = if tls.is_some() { "rediss" } else { "redis" };
    let mut data = json!({
        "username": username,
        "password": password,
        "host": host,
        "port": PORT.to_string(),
        "uri": format!("{scheme}://{username}:{}@{host}:{PORT}", password.reveal()),
    });
    if let Some(ca) = tls.and_then(|tls| tls.ca.as_deref()) {
        data["ca.crt"] = ca.into();
    }
    app(inputs).secret(&user_secret_name(inputs, username), &data)
}

/// The ConfigMap with the server's configuration.
pub fn config(inputs: &Inputs) -> Value {
    app(inputs).config_map(&config_name(inputs), &json!({ "redis.conf": redis_conf(inputs) }))
}

fn config_name(inputs: &Inputs) -> String {
    format!("{}-config", inputs.name)
}

fn redis_conf(inputs: &Inputs) -> String {
    let (append, save) = if inputs.persistence.enabled { ("yes", "3600 1 300 100 60 10000") } else { ("no", "\"\"") };
    let listen = if inputs.tls.enabled {
        format!(
            "port 0
tls-port {PORT}
tls-cert-file {TLS}/tls.crt
tls-key-file {TLS}/tls.key
tls-ca-cert-file {TLS}/ca.crt
tls-auth-clients no
unixsocket {SOCKET}
unixsocketperm 700"
        )
    } else {
        format!("port {PORT}")
    };
    format!(
        "bind * -::*
{listen}
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

/// The server. It restarts when its configuration, its users or its certificate change.
pub fn server(inputs: &Inputs, acl_file: &str, tls: Option<&ServerTls>) -> Result<Value, Error> {
    let mut volumes = vec![
        json!({ "name": "config", "configMap": { "name": config_name(inputs) } }),
        json!({ "name": "users", "secret": { "secretName": format!("{}-users", inputs.name), "defaultMode": 0o440 } }),
    ];
    if let Some(tls) = tls {
        volumes.extend([tls.volume(), json!({ "name": "run", "emptyDir": {} })]);
    }
    let template = app(inputs).pod_template(
        &content(inputs, acl_file, tls),
        inputs.run_as_user,
        json!({
            "terminationGracePeriodSeconds": 60,
            "containers": [container(inputs)],
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

/// Without a certificate, what it was before there could be one: this alone rolls no Pod.
fn content(inputs: &Inputs, acl_file: &str, tls: Option<&ServerTls>) -> Value {
    match tls {
        None => json!([redis_conf(inputs), acl_file]),
        Some(tls) => json!([redis_conf(inputs), acl_file, tls.content()]),
    }
}

fn container(inputs: &Inputs) -> Value {
    // While it saves, a second process has a copy of what changes.
    let memory = 2 * u64::from(inputs.memory_mib) + 32;
    let server = if inputs.tls.enabled { format!("-s {SOCKET}") } else { format!("-p {PORT}") };
    let ask = format!("$(redis-cli {server} --user health --pass none --no-auth-warning ping)");
    let says = |answers: &str| format!("case \"{ask}\" in {answers}) ;; *) exit 1 ;; esac");
    // PING is an error too while a save has failed, as on a full disk, where reads still work. A server that reads its
    // data or runs a long script answers nobody else, but it is alive.
    let answers = says("PONG | MISCONF*");
    let lives = says("PONG | MISCONF* | LOADING* | BUSY*");
    let mut mounts = vec![
        json!({ "name": "data", "mountPath": DATA }),
        json!({ "name": "config", "mountPath": CONFIG, "readOnly": true }),
        json!({ "name": "users", "mountPath": USERS, "readOnly": true }),
    ];
    if inputs.tls.enabled {
        mounts.push(json!({ "name": "tls", "mountPath": TLS, "readOnly": true }));
        mounts.push(json!({ "name": "run", "mountPath": "/run/redis" }));
    }
    json!({
        "name": "redis",
        "image": inputs.image,
        "command": ["redis-server", format!("{CONFIG}/redis.conf")],
        "ports": [{ "name": "redis", "containerPort": PORT, "protocol": "TCP" }],
        "startupProbe": exec_probe(&["sh", "-c", &lives], 2, 150),
        "livenessProbe": exec_probe(&["sh", "-c", &lives], 10, 6),
        "readinessProbe": exec_probe(&["sh", "-c", &answers], 5, 3),
        "resources": resources(&inputs.cpu, memory),
        "securityContext": restricted(),
        "volumeMounts": mounts,
    })
}
