//! The Kubernetes objects.

use app_objects::{App, resources, restricted};
use certificates::ServerTls;
use mistletoe::{Error, Value, json};

use crate::{Inputs, PORT, WhenFull};

const TLS: &str = "/etc/mistletoe/tls";

/// These servers among the installs.
pub fn app(inputs: &Inputs) -> App<'_> {
    App { package: "memcached", component: "cache", install: &inputs.name }
}

/// The Service that gives servers their names.
pub fn service(inputs: &Inputs) -> Value {
    let mut service = app(inputs).service("memcached", PORT);
    service["spec"]["clusterIP"] = "None".into();
    service
}

fn command(inputs: &Inputs) -> Vec<String> {
    let mut command = vec![
        "memcached".to_owned(),
        format!("--port={PORT}"),
        "--udp-port=0".into(),
        format!("--memory-limit={}", inputs.memory_mib),
        format!("--conn-limit={}", inputs.max_connections),
        format!("--max-item-size={}k", inputs.max_item_kib),
        format!("--threads={}", inputs.threads),
    ];
    if inputs.when_full == WhenFull::Refuse {
        command.push("--disable-evictions".into());
    }
    let mut extended = Vec::new();
    if inputs.tls.enabled {
        command.push("--enable-ssl".into());
        extended.extend([format!("ssl_chain_cert={TLS}/tls.crt"), format!("ssl_key={TLS}/tls.key")]);
    }
    extended.extend(inputs.extended_options.iter().cloned());
    if !extended.is_empty() {
        command.push(format!("--extended={}", extended.join(",")));
    }
    command
}

/// The servers. They are replaced one after the other when their options or certificate change.
pub fn servers(inputs: &Inputs, tls: Option<&ServerTls>) -> Result<Value, Error> {
    let probe = |period: u32, failures: u32| json!({ "tcpSocket": { "port": "memcached" }, "periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures });
    let memory = u64::from(inputs.memory_mib);
    let mut container = json!({
        "name": "memcached",
        "image": inputs.image,
        "command": command(inputs),
        "ports": [{ "name": "memcached", "containerPort": PORT, "protocol": "TCP" }],
        "livenessProbe": probe(10, 6),
        "readinessProbe": probe(5, 3),
        // Tables, threads and connections take memory besides the items.
        "resources": resources(&inputs.cpu, memory + memory / 4 + 64),
        "securityContext": restricted(),
    });
    let mut spec = json!({ "terminationGracePeriodSeconds": 30, "topologySpreadConstraints": app(inputs).spread() });
    if let Some(tls) = tls {
        container["volumeMounts"] = json!([{ "name": "tls", "mountPath": TLS, "readOnly": true }]);
        spec["volumes"] = json!([tls.volume()]);
    }
    spec["containers"] = json!([container]);
    let content = json!(tls.map(ServerTls::content));
    let template = app(inputs).pod_template(&content, inputs.run_as_user, spec)?;
    Ok(app(inputs).stateful_set(&inputs.name, inputs.servers.into(), template, None))
}
