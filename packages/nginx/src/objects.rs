//! The Kubernetes objects.

use app_objects::{App, clients, http_probe, pods_of, resources, restricted};
use certificates::ServerTls;
use mistletoe::{Error, Value, json};

use crate::config::{HTTP_PORT, HTTPS_PORT, STATUS_PORT, listens};
use crate::{Access, Inputs, PORT, TLS_PORT};

pub const CONFIG: &str = "/etc/mistletoe/config";
pub const TLS: &str = "/etc/mistletoe/tls";
pub const SITE: &str = "/srv/www";

/// These servers among the installs.
pub fn app(inputs: &Inputs) -> App<'_> {
    App { package: "nginx", component: "web", install: &inputs.name }
}

fn config_name(inputs: &Inputs) -> String {
    format!("{}-config", inputs.name)
}

fn site_name(inputs: &Inputs) -> String {
    format!("{}-site", inputs.name)
}

/// The ConfigMap with nginx' configuration and scripts.
pub fn config(inputs: &Inputs, files: &Value) -> Value {
    app(inputs).config_map(&config_name(inputs), files)
}

/// The ConfigMap with the site.
pub fn site(inputs: &Inputs) -> Value {
    let files: Value =
        inputs.site.files.iter().map(|(path, text)| (key_of(path), Value::from(text.as_str()))).collect();
    app(inputs).config_map(&site_name(inputs), &files)
}

/// A key can't have a slash; two paths never have one key.
fn key_of(path: &str) -> String {
    path.replace('_', "__").replace('/', "_.")
}

/// The Service in front of the servers.
pub fn service(inputs: &Inputs) -> Value {
    let mut service = app(inputs).service("http", PORT);
    if inputs.tls.enabled {
        service["spec"]["ports"] = json!([
            { "name": "http", "port": PORT, "targetPort": "http", "protocol": "TCP" },
            { "name": "https", "port": TLS_PORT, "targetPort": "https", "protocol": "TCP" },
        ]);
    }
    service["spec"]["type"] = inputs.service.as_str().into();
    service
}

/// Clients may connect to the servers; with proxies, the servers may connect anywhere, since upstreams can be anywhere.
pub fn network_policy(inputs: &Inputs) -> Value {
    let mut ports = vec![json!({ "port": "http", "protocol": "TCP" })];
    if inputs.tls.enabled {
        ports.push(json!({ "port": "https", "protocol": "TCP" }));
    }
    let mut rule = json!({ "ports": ports });
    match inputs.access {
        _ if !inputs.clients.is_empty() => rule["from"] = clients(&inputs.clients),
        Access::Namespace => rule["from"] = clients(&[]),
        Access::Cluster => rule["from"] = pods_of(None),
        Access::Everybody => {}
    }
    let mut ingress = vec![rule];
    if inputs.metrics.enabled {
        let from = pods_of(inputs.metrics.namespace.as_deref());
        ingress.push(json!({ "from": from, "ports": [{ "port": "status", "protocol": "TCP" }] }));
    }
    let asks_others = !inputs.proxies.is_empty() || passes(&inputs.snippets.http) || passes(&inputs.snippets.server);
    let egress = if asks_others { vec![json!({})] } else { Vec::new() };
    app(inputs).policy(&ingress, &egress)
}

/// Whether a snippet has requests answered by another server (`proxy_pass`, `fastcgi_pass`).
fn passes(snippet: &str) -> bool {
    snippet.contains("_pass")
}

/// The servers. They are replaced, one more before one less, when their configuration, site or certificate changes.
pub fn servers(inputs: &Inputs, files: &Value, tls: Option<&ServerTls>) -> Result<Value, Error> {
    let mut volumes = vec![
        json!({ "name": "config", "configMap": { "name": config_name(inputs) } }),
        json!({ "name": "tmp", "emptyDir": {} }),
    ];
    let mut mounts = vec![
        json!({ "name": "config", "mountPath": CONFIG, "readOnly": true }),
        json!({ "name": "tmp", "mountPath": "/tmp" }),
    ];
    if let Some(site) = site_source(inputs) {
        volumes.push(json!({ "name": "site", "configMap": site }));
        mounts.push(json!({ "name": "site", "mountPath": SITE, "readOnly": true }));
    }
    let mut ports = vec![
        json!({ "name": "http", "containerPort": HTTP_PORT, "protocol": "TCP" }),
        json!({ "name": "status", "containerPort": STATUS_PORT, "protocol": "TCP" }),
    ];
    if let Some(tls) = tls {
        volumes.push(tls.volume());
        mounts.push(json!({ "name": "tls", "mountPath": TLS, "readOnly": true }));
        ports.push(json!({ "name": "https", "containerPort": HTTPS_PORT, "protocol": "TCP" }));
    }
    let mut command = vec!["sh".to_owned(), format!("{CONFIG}/start.sh")];
    command.extend(listens(inputs));
    let container = json!({
        "name": "nginx",
        "image": inputs.image,
        "command": command,
        "ports": ports,
        "startupProbe": http_probe("status", "/healthz", 1, 60),
        "livenessProbe": http_probe("status", "/healthz", 10, 6),
        "readinessProbe": http_probe("status", "/healthz", 5, 3),
        "lifecycle": { "preStop": { "exec": { "command": ["sh", format!("{CONFIG}/stop.sh")] } } },
        "resources": resources(&inputs.cpu, inputs.memory_mib.into()),
        "securityContext": restricted(),
        "volumeMounts": mounts,
    });
    let app = app(inputs);
    let content = json!([files, inputs.site.files, tls.map(ServerTls::content)]);
    let template = app.pod_template(
        &content,
        inputs.run_as_user,
        json!({
            "terminationGracePeriodSeconds": 60,
            "topologySpreadConstraints": app.spread(),
            "containers": [container],
            "volumes": volumes,
        }),
    )?;
    Ok(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": app.metadata(&inputs.name),
        "spec": {
            "replicas": inputs.replicas,
            "selector": { "matchLabels": app.selector() },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": template,
        },
    }))
}

/// The ConfigMap of the site, with a file for each key.
fn site_source(inputs: &Inputs) -> Option<Value> {
    let site = &inputs.site;
    if let Some(name) = &site.config_map {
        return Some(json!({ "name": name }));
    }
    let items: Vec<Value> = site.files.keys().map(|path| json!({ "key": key_of(path), "path": path })).collect();
    (!items.is_empty()).then(|| json!({ "name": site_name(inputs), "items": items }))
}
