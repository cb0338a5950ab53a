//! Calls the packages that its values name, and gives their files. What it may call, a test declares: `mistctl package build
//! caller.wasm -m mistletoe.yaml`.

use mistletoe::{MistOutput, MistResult, Value, call, json, mistletoe_package};
use serde::Deserialize;

mistletoe_package! {"
  name: caller
"}

#[derive(Deserialize)]
struct Inputs {
    name: String,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    package: String,
    #[serde(default)]
    input: Value,
}

/// Beside the files a ConfigMap with what the packages export.
fn generate(inputs: Inputs) -> MistResult {
    let mut output = MistOutput::new();
    let mut exports = Vec::new();
    for (number, each) in inputs.calls.iter().enumerate() {
        let called = call(&each.package, &each.input)?;
        output = output.with_files_from(&format!("{number}-{}", each.package), &called);
        exports.push(called.exports::<Value>()?);
    }
    output.with_object(
        "exports.yaml",
        &json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": format!("{}-exports", inputs.name) },
            "data": { "exports": Value::from(exports).to_string() },
        }),
    )
}
