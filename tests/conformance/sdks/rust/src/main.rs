//! The package of the conformance table, in Rust; its siblings are in the other languages.

use std::collections::BTreeMap;

use mistletoe::{Error, MistOutput, MistResult, Value, bail, call, json, log, mistletoe_package, secret};
use serde::{Deserialize, Serialize};

mistletoe_package! { file = "mistletoe.yaml" }

#[derive(Deserialize)]
struct Port {
    name: String,
    port: u16,
    /// The host fills it in.
    protocol: String,
}

#[derive(Deserialize, Serialize)]
struct Backend {
    host: String,
    #[serde(default = "backend_port")]
    port: u16,
}

/// The host puts it in, unless the user takes it away with null.
const fn backend_port() -> u16 {
    5432
}

#[derive(Deserialize)]
struct Inputs {
    name: String,
    #[serde(default = "replicas")]
    replicas: u32,
    message: String,
    ports: Vec<Port>,
    labels: BTreeMap<String, String>,
    level: String,
    fail: String,
    call: bool,
    backend: Option<Backend>,
    #[serde(default)]
    values: Value,
}

const fn replicas() -> u32 {
    2
}

fn generate(inputs: Inputs) -> MistResult {
    log::info(format!("{} is rendered", inputs.name));
    fail_as_told(&inputs)?;
    let name = &inputs.name;
    let mut output = MistOutput::new()
        .with_object("web/deployment.yaml", &deployment(&inputs))?
        .with_object("web/service.yaml", &service(&inputs))?
        .with_object("secret.yaml", &secrets(name)?)?
        .with_object(
            "values.yaml",
            &json!({
                "apiVersion": "example.com/v1",
                "kind": "Anything",
                "metadata": { "name": name },
                "spec": {
                    "values": inputs.values,
                    "message": inputs.message,
                    "backend": inputs.backend,
                    "numbers": [100000.0, 2.5, -0.00001, 1e-7, 1e20, 1e21],
                },
            }),
        )?
        .after(format!("Deployment/{name}"), format!("Secret/{name}"))
        .with_message(format!("Merry Christmas, {name} ❄"))
        .with_exports(&json!({ "host": name, "ports": inputs.ports.len() }))?;
    if inputs.call {
        output = output.with_files_from("called", &call("called", &json!({ "size": inputs.replicas }))?);
    }
    Ok(output)
}

fn fail_as_told(inputs: &Inputs) -> Result<(), Error> {
    match inputs.fail.as_str() {
        "" => Ok(()),
        "cause" => Err(Error::msg("no port").context("can't make the Service")),
        "secret" => secret::password("not a name!").map(|_| ()),
        "undeclared" => call("nobody", &json!({})).map(|_| ()),
        "called" => call("called", &json!({ "size": -1 })).map(|_| ()),
        "nan" => {
            // No json!, which would make it null.
            let object = BTreeMap::from([("spec", BTreeMap::from([("replicas", f64::NAN)]))]);
            MistOutput::new().with_object("x.yaml", &object).map(|_| ())
        }
        "yaml" => {
            let object = BTreeMap::from([("spec", BTreeMap::from([("replicas", f64::NAN)]))]);
            mistletoe::yaml::to_string(&object).map(|_| ())
        }
        "infinity" => MistOutput::new().with_exports(&BTreeMap::from([("size", f64::NEG_INFINITY)])).map(|_| ()),
        other => bail!("it fails: {other}"),
    }
}

fn deployment(inputs: &Inputs) -> Value {
    let labels = json!({ "app": inputs.name });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": inputs.name, "labels": inputs.labels, "annotations": { "level": inputs.level } },
        "spec": {
            "replicas": inputs.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{
                    "name": "web",
                    "image": "registry.example/web:1.2",
                    "args": ["--port=80", "-v", "", "a: b", "yes", "0777", "1e3", "12:30:45"],
                    "command": ["sh", "-c", "set -e\nexec web\n"],
                    "resources": { "requests": { "cpu": "250m", "memory": "64Mi" }, "limits": {} },
                    "env": [],
                }] },
            },
        },
    })
}

fn service(inputs: &Inputs) -> Value {
    let ports: Vec<Value> = inputs
        .ports
        .iter()
        .map(|port| json!({ "name": port.name, "port": port.port, "protocol": port.protocol }))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": inputs.name },
        "spec": { "selector": { "app": inputs.name }, "ports": ports },
    })
}

fn secrets(name: &str) -> Result<Value, Error> {
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": name },
        "stringData": {
            "password": secret::password("db")?,
            "pin": secret::Password::new("pin").length(8).alphabet("0123456789").require(&[secret::Class::Digit]).get()?,
            "token": secret::hex("token", 40)?,
            "salt": secret::base64("salt", 16)?,
            "id": secret::uuid("id")?,
            "key": secret::ed25519("key")?.private_key,
        },
    }))
}
