//! The package; what it does is in the library, which other crates can call without a host.

use app_objects::check_namespace;
use mistletoe::{Context, MistResult};
use nginx::Inputs;

mistletoe::mistletoe_package! { file = "mistletoe.yaml" }

fn generate(inputs: Inputs, context: Context) -> MistResult {
    check_namespace(&inputs.name, &inputs.namespace, &context)?;
    nginx::generate(inputs)
}
