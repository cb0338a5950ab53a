//! The namespace package in the shape that packages had from the beginning: a library, a text template, `v1alpha1`.
//! For `wasm32-wasip1` the same library is a `v1` reactor.

use indoc::formatdoc;
use mistletoe::{MistOutput, MistResult, mistletoe_package};
use serde::Deserialize;

mistletoe_package! {"
  name: namespace-example
  labels:
    mistletoe.dev/group: mistletoe-examples
"}

#[derive(Deserialize)]
pub struct Inputs {
    name: String,
}

pub fn generate(inputs: Inputs) -> MistResult {
    let name = inputs.name;

    let output = MistOutput::new().with_file(
        "namespace.yaml".to_string(),
        formatdoc!(
            "
            apiVersion: v1
            kind: Namespace
            metadata:
              name: {name}
            "
        ),
    );

    Ok(output)
}
