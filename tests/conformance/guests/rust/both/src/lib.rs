//! One source that is built as a reactor and as a component; a test holds the two beside each other, byte for byte.

use mistletoe::{MistOutput, MistResult, Value, json, log, mistletoe_package, secret};
use serde::Deserialize;

mistletoe_package! {"
  name: both
  version: 0.1.0
  inputs:
    type: object
    properties:
      name: {type: string}
      size: {type: integer, default: 3}
      fail: {type: string}
      panic: {type: string}
      values: {}
    additionalProperties: false
  exports:
    type: object
    required: [size]
"}

#[derive(Deserialize)]
pub struct Inputs {
    name: String,
    size: usize,
    fail: Option<String>,
    panic: Option<String>,
    #[serde(default)]
    values: Value,
}

/// Secrets, a log line, an error, a panic, numbers and texts of all kinds.
pub fn generate(inputs: Inputs) -> MistResult {
    log::info(format!("{} is rendered", inputs.name));
    if let Some(reason) = inputs.fail {
        mistletoe::bail!("it fails: {reason}");
    }
    if let Some(reason) = inputs.panic {
        panic!("{reason}");
    }
    let mut output = MistOutput::new();
    for number in 0..inputs.size {
        output = output.with_object(
            format!("{number}.yaml"),
            &json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": { "name": format!("{}-{number}", inputs.name) },
                "stringData": {
                    "password": secret::password(&format!("p{number}"))?,
                    "values": inputs.values.to_string(),
                },
            }),
        )?;
    }
    output.with_message(format!("Merry Christmas, {} ❄", inputs.name)).with_exports(&json!({ "size": inputs.size }))
}
