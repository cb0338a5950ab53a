//! Requests to the host: the imports `request` and `response` of `mistletoe_v1`.

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::answer::Failure;

/// As many as the host shows of a render.
const MOST_HELD: usize = 200;

thread_local! {
    /// Lines that were said while there was no host to hear them; none where there is one.
    static HELD: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// From now on lines are kept: while an engine is prepared there is nobody to ask.
pub fn hold_lines() {
    HELD.with_borrow_mut(|held| _ = held.get_or_insert_default());
}

/// Says what was kept, and from now on each line at once.
pub fn show_held() {
    for line in HELD.take().unwrap_or_default() {
        warn(&line);
    }
}

/// Says something to the user; at most a few lines are shown.
pub fn warn(message: &str) {
    let is_held = HELD.with_borrow_mut(|held| {
        let Some(lines) = held else { return false };
        if lines.len() < MOST_HELD {
            lines.push(message.to_owned());
        }
        true
    });
    if is_held {
        return;
    }
    // Who can't be told isn't told; a warning is no reason to fail.
    let _ = ask(&json!({ "op": "log", "level": "warn", "message": message }));
}

/// Asks the host; its answer, or its words why not.
pub fn ask(request: &Value) -> Result<Value, Failure> {
    answer(&exchange(&request.to_string()))
}

fn answer(text: &[u8]) -> Result<Value, Failure> {
    let mut answer: Value = serde_json::from_slice(text)
        .map_err(|error| Failure::new(format!("the host's answer can't be read: {error}")))?;
    if let Some(value) = answer.get_mut("ok") {
        return Ok(value.take());
    }
    let message = answer["error"]["message"].as_str().unwrap_or("the host gave no answer");
    Err(match answer["error"]["hint"].as_str() {
        Some(hint) => Failure::new(format!("{message} ({hint})")),
        None => Failure::new(message),
    })
}

#[cfg(target_family = "wasm")]
fn exchange(request: &str) -> Vec<u8> {
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
        answer
    }
}

/// Natively there is no host; its place is taken by one that agrees with everything.
#[cfg(not(target_family = "wasm"))]
fn exchange(request: &str) -> Vec<u8> {
    eprintln!("to the host: {request}");
    br#"{"ok":{}}"#.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_lines_until_somebody_hears_them() {
        hold_lines();
        warn("early");
        hold_lines();
        for _ in 0..MOST_HELD {
            warn("more");
        }
        let held = HELD.with_borrow(|held| held.clone().unwrap());
        assert_eq!((held.len(), held[0].as_str()), (MOST_HELD, "early"));
        show_held();
        warn("late");
        assert!(HELD.with_borrow(Option::is_none));
    }

    #[test]
    fn reads_answers_and_refusals() {
        assert_eq!(answer(br#"{"ok":{"value":7}}"#).unwrap()["value"], 7);
        let said = |text: &str| answer(text.as_bytes()).unwrap_err().message;
        assert_eq!(said(r#"{"error":{"message":"no"}}"#), "no");
        assert_eq!(said(r#"{"error":{"message":"no","hint":"try x"}}"#), "no (try x)");
        assert_eq!(said("{}"), "the host gave no answer");
        assert!(said("{").starts_with("the host's answer can't be read: "));
    }
}
