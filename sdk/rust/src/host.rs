//! Requests to the host: ABI `v1` for `wasm32-wasip1`, the imports `request` and `response` of `mistletoe_v1`.

use serde_json::Value;

/// Asks the host; its answer, or its words why not. Fails where there is no host to ask.
pub fn ask(request: &Value) -> anyhow::Result<Value> {
    answer(&exchange(&request.to_string())?)
}

fn answer(text: &[u8]) -> anyhow::Result<Value> {
    let mut answer: Value =
        serde_json::from_slice(text).map_err(|error| anyhow::anyhow!("the host's answer can't be read: {error}"))?;
    if let Some(value) = answer.get_mut("ok") {
        return Ok(value.take());
    }
    let message = answer["error"]["message"].as_str().unwrap_or("the host gave no answer");
    match answer["error"]["hint"].as_str() {
        Some(hint) => Err(anyhow::anyhow!("{message} ({hint})")),
        None => Err(anyhow::anyhow!("{message}")),
    }
}

#[cfg(target_os = "wasi")]
fn exchange(request: &str) -> anyhow::Result<Vec<u8>> {
    mod imports {
        #[link(wasm_import_module = "mistletoe_v1")]
        unsafe extern "C" {
            pub fn request(address: *const u8, length: usize) -> usize;
            pub fn response(address: *mut u8);
        }
    }
    // SAFETY: the host reads `length` bytes at `address`, and writes as many as it said into what has room for them.
    unsafe {
        let length = imports::request(request.as_ptr(), request.len());
        let mut answer = Vec::with_capacity(length);
        imports::response(answer.as_mut_ptr());
        answer.set_len(length);
        Ok(answer)
    }
}

#[cfg(all(target_arch = "wasm32", target_os = "unknown", feature = "component"))]
fn exchange(request: &str) -> anyhow::Result<Vec<u8>> {
    #[link(wasm_import_module = "mistletoe:package/host@1.0.0")]
    unsafe extern "C" {
        #[link_name = "request"]
        fn host_request(address: *const u8, length: usize, answer: *mut [usize; 2]);
    }
    let mut answer = [0; 2];
    // SAFETY: the host reads `length` bytes at `address`; the answer is in memory that `cabi_realloc` gave it, and that
    // nobody else knows.
    unsafe {
        host_request(request.as_ptr(), request.len(), &raw mut answer);
        Ok(std::slice::from_raw_parts(std::ptr::with_exposed_provenance(answer[0]), answer[1]).to_vec())
    }
}

#[cfg(all(target_family = "wasm", not(target_os = "wasi"), not(feature = "component")))]
fn exchange(_: &str) -> anyhow::Result<Vec<u8>> {
    anyhow::bail!("this package asks its host, which the ABI v1alpha1 can't; build it for wasm32-wasip1, the ABI v1")
}

#[cfg(not(target_family = "wasm"))]
fn exchange(request: &str) -> anyhow::Result<Vec<u8>> {
    let request = serde_json::from_str(request)?;
    let answer = crate::testing::answer(&request).unwrap_or_else(|| stand_in::answer(&request));
    Ok(answer.to_string().into_bytes())
}

/// Natively (a package's own tests, `cargo run`) there is no host: its place is taken by one that answers with values of
/// the right form which depend on the secret's name alone.
#[cfg(not(target_family = "wasm"))]
pub(crate) mod stand_in {
    use serde_json::{Value, json};

    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    pub fn answer(request: &Value) -> Value {
        match request["op"].as_str() {
            Some("log") => {
                eprintln!("{}: {}", text(request, "level"), text(request, "message"));
                json!({ "ok": {} })
            }
            Some("secret.get") => secret(request),
            // Without a cluster there are no objects, as in `mistctl generate`.
            Some("lookup") if text(request, "name").is_empty() => json!({ "ok": { "items": [] } }),
            Some("lookup") => json!({ "ok": null }),
            _ => refuse("there is no host here that could answer that"),
        }
    }

    fn secret(request: &Value) -> Value {
        let length = request["length"].as_u64().and_then(|length| usize::try_from(length).ok());
        let name = text(request, "name");
        let value = match text(request, "kind") {
            "password" => password(name, request, length.unwrap_or(24)),
            "alphanumeric" => characters(name, LETTERS, length.unwrap_or(32)),
            "hex" => characters(name, "0123456789abcdef", length.unwrap_or(64)),
            "base64" | "bytes" => {
                let length = length.unwrap_or(32);
                let padding = (3 - length % 3) % 3;
                characters(name, "ABCDEFGH", (length + padding) / 3 * 4 - padding - usize::from(padding > 0))
                    + if padding > 0 { "A" } else { "" }
                    + &"=".repeat(padding)
            }
            "uuid" => {
                let digits = characters(name, "0123456789abcdef", 32);
                format!(
                    "{}-{}-4{}-8{}-{}",
                    &digits[..8],
                    &digits[8..12],
                    &digits[13..16],
                    &digits[17..20],
                    &digits[20..]
                )
            }
            kind => return refuse(&format!("there is no host here that could give a secret of kind {kind}")),
        };
        json!({ "ok": { "value": value } })
    }

    fn password(name: &str, request: &Value, length: usize) -> String {
        let alphabet = request["alphabet"].as_str().unwrap_or(LETTERS);
        let mut text: Vec<char> = characters(name, alphabet, length).chars().collect();
        let required = request["require"].as_array().cloned().unwrap_or_default();
        for (place, class) in text.iter_mut().zip(required.iter().filter_map(Value::as_str)) {
            *place = alphabet.chars().find(|c| is_of(class, *c)).unwrap_or(*place);
        }
        text.into_iter().collect()
    }

    fn is_of(class: &str, c: char) -> bool {
        match class {
            "lower" => c.is_ascii_lowercase(),
            "upper" => c.is_ascii_uppercase(),
            "digit" => c.is_ascii_digit(),
            _ => !c.is_ascii_alphanumeric(),
        }
    }

    fn characters(name: &str, alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3) // FNV-1a
        });
        (0..length)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17; // xorshift64
                alphabet[(state % alphabet.len() as u64) as usize]
            })
            .collect()
    }

    fn text<'a>(request: &'a Value, key: &str) -> &'a str {
        request[key].as_str().unwrap_or_default()
    }

    fn refuse(message: &str) -> Value {
        json!({ "error": { "kind": "Invalid", "message": message } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_answers_and_refusals() {
        assert_eq!(answer(br#"{"ok":{"value":7}}"#).unwrap()["value"], 7);
        let said = |text: &str| answer(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(said(r#"{"error":{"kind":"Invalid","message":"no"}}"#), "no");
        assert_eq!(
            said(r#"{"error":{"kind":"NotFound","message":"no","hint":"did you mean x?"}}"#),
            "no (did you mean x?)"
        );
        assert_eq!(said("{}"), "the host gave no answer");
        assert!(said("{").starts_with("the host's answer can't be read: "));
    }
}
