//! The smallest package: one Namespace, named like the install.

use mistletoe::{MistOutput, MistResult, json, mistletoe_package};
use serde::Deserialize;

mistletoe_package! {"
  name: namespace-example
  labels:
    mistletoe.dev/group: mistletoe-examples
  inputs:
    $schema: https://json-schema.org/draft/2020-12/schema
    type: object
    properties:
      name:
        description: The install name, and so the Namespace's
        type: string
    additionalProperties: false
"}

#[derive(Deserialize)]
struct Inputs {
    name: String,
}

fn generate(inputs: Inputs) -> MistResult {
    MistOutput::new().with_object(
        "namespace.yaml",
        &json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": inputs.name },
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_namespace_like_the_install() {
        let output = generate(Inputs { name: "my-namespace".into() }).unwrap();
        assert_eq!(
            output.files().collect::<Vec<_>>(),
            [("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: my-namespace\n")]
        );
    }
}
