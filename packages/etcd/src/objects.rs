//! The Kubernetes objects.

use app_objects::{ANY_TIME, App, DataVolume, clients, dns, http_probe, pods_of, resources, restricted};
use mistletoe::{Error, Value, json};

use crate::credentials::Credentials;
use crate::flags::{METRICS_PORT, PEER_PORT, command};
use crate::{Inputs, PORT};

pub const DATA: &str = "/var/lib/etcd";
pub const TLS: &str = "/etc/mistletoe/tls";
pub const PEER_TLS: &str = "/etc/mistletoe/peer-tls";

/// This cluster among the installs.
pub fn app(inputs: &Inputs) -> App<'_> {
    App { package: "etcd", component: "database", install: &inputs.name }
}

pub fn user_secret_name(inputs: &Inputs, username: &str) -> String {
    format!("{}-user-{username}", inputs.name)
}

/// The name of the Service that gives members their names.
pub fn members_name(inputs: &Inputs) -> String {
    format!("{}-members", inputs.name)
}

/// The Service that gives members their names. Members must find one another to become ready.
pub fn members_service(inputs: &Inputs) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": app(inputs).metadata(&members_name(inputs)),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": app(inputs).selector(),
            "ports": [
                { "name": "client", "port": PORT, "targetPort": "client", "protocol": "TCP" },
                { "name": "peer", "port": PEER_PORT, "targetPort": "peer", "protocol": "TCP" },
            ],
        },
    })
}

/// Clients may ask members, and members one another.
pub fn network_policy(inputs: &Inputs) -> Value {
    let members = json!([{ "podSelector": { "matchLabels": app(inputs).selector() } }]);
    let mut ingress =
        vec![json!({ "from": clients(&inputs.clients), "ports": [{ "port": "client", "protocol": "TCP" }] })];
    let mut egress = Vec::new();
    if inputs.member_count() > 1 {
        ingress.push(json!({ "from": members, "ports": [
            { "port": "client", "protocol": "TCP" },
            { "port": "peer", "protocol": "TCP" },
        ]}));
        egress.push(dns());
        egress.push(json!({ "to": members, "ports": [
            { "port": PORT, "protocol": "TCP" },
            { "port": PEER_PORT, "protocol": "TCP" },
        ]}));
    }
    if inputs.metrics.enabled {
        let from = pods_of(inputs.metrics.namespace.as_deref());
        ingress.push(json!({ "from": from, "ports": [{ "port": "metrics", "protocol": "TCP" }] }));
    }
    app(inputs).policy(&ingress, &egress)
}

/// The members. They are replaced one after the other when their flags or certificates change.
pub fn members(inputs: &Inputs, credentials: &Credentials) -> Result<Value, Error> {
    let mut volumes = Vec::new();
    let mut mounts = vec![json!({ "name": "data", "mountPath": DATA })];
    if inputs.tls.enabled {
        for (name, secret, path) in
            [("tls", &credentials.server_secret, TLS), ("peer-tls", &credentials.peer_secret, PEER_TLS)]
        {
            volumes.push(json!({ "name": name, "secret": { "secretName": secret, "defaultMode": 0o440 } }));
            mounts.push(json!({ "name": name, "mountPath": path, "readOnly": true }));
        }
    }
    let container = json!({
        "name": "etcd",
        "image": inputs.image,
        "command": command(inputs),
        "env": [{ "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }],
        "ports": [
            { "name": "client", "containerPort": PORT, "protocol": "TCP" },
            { "name": "peer", "containerPort": PEER_PORT, "protocol": "TCP" },
            { "name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP" },
        ],
        "startupProbe": http_probe("metrics", "/livez", 5, ANY_TIME),
        "livenessProbe": http_probe("metrics", "/livez", 10, 6),
        "readinessProbe": http_probe("metrics", "/readyz", 5, 3),
        "resources": resources(&inputs.cpu, inputs.memory_mib.into()),
        "securityContext": restricted(),
        "volumeMounts": mounts,
    });
    let app = app(inputs);
    let template = app.pod_template(
        &Value::from(credentials.content.clone()),
        inputs.run_as_user,
        json!({
            "terminationGracePeriodSeconds": 60,
            "topologySpreadConstraints": app.spread(),
            "containers": [container],
            "volumes": volumes,
        }),
    )?;
    let persistence = &inputs.persistence;
    let data = DataVolume {
        persistent: persistence.enabled,
        size: &persistence.size,
        storage_class: persistence.storage_class.as_deref(),
    };
    let count = inputs.member_count();
    let mut object = app.stateful_set(&members_name(inputs), count, template, Some(&data));
    if count > 1 {
        // None becomes ready before most of them run. The field can't be changed: one member doesn't become three.
        object["spec"]["podManagementPolicy"] = "Parallel".into();
    }
    if inputs.metrics.enabled {
        let annotations = &mut object["spec"]["template"]["metadata"]["annotations"];
        annotations["prometheus.io/scrape"] = "true".into();
        annotations["prometheus.io/port"] = METRICS_PORT.to_string().into();
    }
    Ok(object)
}
