//! The Kubernetes objects.

use mistletoe::{Value, json};

use crate::inputs::Inputs;

/// A user of the database; the password has only letters and digits, so it stands in a URI as it is.
pub struct User<'a> {
    pub name: &'a str,
    pub password: &'a str,
}

/// A Secret with everything that a client needs, in the forms that clients want it in.
pub fn credentials(inputs: &Inputs, name: &str, user: &User) -> Value {
    let (host, port) = (inputs.server_name(), inputs.port);
    let Inputs { database, ssl_mode, .. } = inputs;
    let User { name: login, password } = user;
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": name, "labels": labels(inputs) },
        "type": "Opaque",
        "stringData": {
            "username": login,
            "password": password,
            "database": database,
            "host": host,
            "port": port.to_string(),
            "uri": format!("postgresql://{login}:{password}@{host}:{port}/{database}?sslmode={ssl_mode}"),
            "pgpass": format!("{host}:{port}:{database}:{login}:{password}\n"),
        },
    })
}

/// The Secret with the superuser's password, which only the server reads.
pub fn superuser(inputs: &Inputs, password: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": superuser_name(inputs), "labels": labels(inputs) },
        "type": "Opaque",
        "stringData": { "password": password },
    })
}

/// The ConfigMap with what the server runs when its volume is empty: it makes the database and its users.
pub fn scripts(inputs: &Inputs) -> Value {
    let Inputs { user, database, .. } = inputs;
    let mut script = format!(
        "#!/bin/sh
set -eu
psql -v ON_ERROR_STOP=1 -v password=\"$APP_PASSWORD\" <<'SQL'
CREATE ROLE {user} LOGIN PASSWORD :'password';
CREATE DATABASE {database} OWNER {user};
SQL
"
    );
    if inputs.read_only_user {
        script += &format!(
            "psql -v ON_ERROR_STOP=1 -v password=\"$READ_ONLY_PASSWORD\" <<'SQL'
CREATE ROLE {user}_read_only LOGIN PASSWORD :'password';
GRANT CONNECT ON DATABASE {database} TO {user}_read_only;
GRANT pg_read_all_data TO {user}_read_only;
SQL
"
        );
    }
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": format!("{}-scripts", inputs.name), "labels": labels(inputs) },
        "data": { "users.sh": script },
    })
}

/// The server.
pub fn server(inputs: &Inputs) -> Value {
    let mut environment = vec![
        from_secret("POSTGRES_PASSWORD", &superuser_name(inputs)),
        from_secret("APP_PASSWORD", &inputs.name),
        json!({ "name": "PGDATA", "value": "/var/lib/postgresql/data/pgdata" }),
    ];
    if inputs.read_only_user {
        environment.push(from_secret("READ_ONLY_PASSWORD", &inputs.read_only_name()));
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": { "name": inputs.name, "labels": labels(inputs) },
        "spec": {
            "serviceName": inputs.name,
            "replicas": 1,
            "selector": { "matchLabels": selector(inputs) },
            "template": {
                "metadata": { "labels": labels(inputs) },
                "spec": {
                    "containers": [{
                        "name": "postgres",
                        "image": inputs.server.image,
                        "env": environment,
                        "ports": [{ "name": "postgres", "containerPort": 5432, "protocol": "TCP" }],
                        "readinessProbe": { "exec": { "command": ["pg_isready", "-U", "postgres"] } },
                        "volumeMounts": [
                            { "name": "data", "mountPath": "/var/lib/postgresql/data" },
                            { "name": "scripts", "mountPath": "/docker-entrypoint-initdb.d", "readOnly": true },
                        ],
                    }],
                    "volumes": [{ "name": "scripts", "configMap": { "name": format!("{}-scripts", inputs.name) } }],
                },
            },
            "volumeClaimTemplates": [{
                "metadata": { "name": "data" },
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": { "requests": { "storage": inputs.server.storage } },
                },
            }],
        },
    })
}

/// The Service in front of it.
pub fn service(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": inputs.name, "labels": labels(inputs) },
        "spec": {
            "selector": selector(inputs),
            "ports": [{ "name": "postgres", "port": inputs.port, "targetPort": "postgres", "protocol": "TCP" }],
        },
    })
}

fn superuser_name(inputs: &Inputs) -> String {
    format!("{}-superuser", inputs.name)
}

fn from_secret(variable: &str, secret: &str) -> Value {
    json!({ "name": variable, "valueFrom": { "secretKeyRef": { "name": secret, "key": "password" } } })
}

/// The labels that find the Pods; a StatefulSet's selector can't change, so these stay as they are for ever.
fn selector(inputs: &Inputs) -> Value {
    json!({ "app.kubernetes.io/name": "postgres", "app.kubernetes.io/instance": inputs.name })
}

fn labels(inputs: &Inputs) -> Value {
    json!({
        "app.kubernetes.io/name": "postgres",
        "app.kubernetes.io/instance": inputs.name,
        "app.kubernetes.io/component": "database",
        "app.kubernetes.io/managed-by": "mistletoe",
    })
}
