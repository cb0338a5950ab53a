//! Looks up the objects that its values name, and gives what it found. What it may read, a test declares: `mistctl package build
//! looker.wasm -m mistletoe.yaml`.

use mistletoe::{MistOutput, MistResult, Value, json, lookup, lookup_all, mistletoe_package};
use serde::Deserialize;

mistletoe_package! {"
  name: looker
"}

#[derive(Deserialize)]
struct Inputs {
    name: String,
    reads: Vec<Read>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    api_version: String,
    kind: String,
    namespace: String,
    /// Without it all of them.
    name: Option<String>,
}

/// A ConfigMap with one key for each read: the JSON of what was found.
fn generate(inputs: Inputs) -> MistResult {
    let mut data = json!({});
    for (number, read) in inputs.reads.iter().enumerate() {
        let found = match &read.name {
            Some(name) => lookup(&read.api_version, &read.kind, &read.namespace, name)?.map_or(Value::Null, data_of),
            None => lookup_all(&read.api_version, &read.kind, &read.namespace)?.into_iter().map(data_of).collect(),
        };
        data[format!("read-{number}")] = found.to_string().into();
    }
    MistOutput::new().with_object(
        "found.yaml",
        &json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": format!("{}-found", inputs.name) },
            "data": data,
        }),
    )
}

/// The rest of an object changes by itself.
fn data_of(mut object: Value) -> Value {
    object["data"].take()
}
