//! Asks the host for secrets through the SDK and prints them as one Secret; the guests in C and Go print the same bytes.

use mistletoe::secret::{self, Class, Password};
use mistletoe::{MistOutput, MistResult, json, mistletoe_package};
use serde::Deserialize;

mistletoe_package! {"
  name: secrets
"}

#[derive(Deserialize)]
struct Inputs {
    name: String,
}

fn generate(inputs: Inputs) -> MistResult {
    let alphabet = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!#%+-_";
    let strong = Password::new("strong").length(12).alphabet(alphabet).require(&[
        Class::Lower,
        Class::Upper,
        Class::Digit,
        Class::Symbol,
    ]);
    let values = [
        ("db", secret::password("db")?),
        ("strong", strong.get()?),
        ("token", secret::hex("token", 40)?),
        ("salt", secret::base64("salt", 16)?),
        ("id", secret::uuid("id")?),
        ("key", secret::ed25519("key")?.private_key),
    ];
    let mut text = format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: {}\nstringData:\n", json!(inputs.name));
    for (key, value) in values {
        text += &format!("  {key}: {}\n", json!(value));
    }
    Ok(MistOutput::new().with_file("secret.yaml", text))
}
