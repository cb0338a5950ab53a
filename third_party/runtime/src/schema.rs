//! JSON Schema (2020-12, and the drafts that a `$schema` names) behind `mist_schema_*`. Schemas and documents are
//! untrusted: every failure, a panic included, becomes an error text.

use std::ffi::{CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Value, json};

/// More messages than this help nobody, and a hostile document could cause millions.
const MAX_MESSAGES: usize = 100;
/// A message quotes the value that is wrong; this much of it is enough.
const MAX_MESSAGE_BYTES: usize = 4096;
/// Steps that one `pattern` may take on one string before it counts as not matching.
const BACKTRACK_LIMIT: usize = 100_000;

/// A text that C++ frees with `mist_string_free`.
pub(crate) fn to_c(text: String) -> *mut c_char {
    // An interior NUL can't come from JSON output, only from a message that quotes one.
    let text = if text.contains('\0') { text.replace('\0', "\\u0000") } else { text };
    CString::new(text).map_or(ptr::null_mut(), CString::into_raw)
}

/// # Safety
/// `data` is null with `len` 0, or addresses `len` readable bytes.
unsafe fn parse(data: *const c_char, len: usize) -> Result<Value, String> {
    let bytes = if len == 0 { &[][..] } else { unsafe { slice::from_raw_parts(data.cast::<u8>(), len) } };
    // serde_json refuses more than 128 levels by itself, so nothing below can recurse without end.
    serde_json::from_slice(bytes).map_err(|e| e.to_string())
}

fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(format!("the validator failed: {}", text.unwrap_or("no reason was given")))
    })
}

fn compile(schema: &Value) -> Result<Validator, String> {
    let mut options = jsonschema::options()
        // A schema may only refer to itself: never to the network or a file.
        .offline()
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(1 << 18))
        .should_validate_formats(true);
    if schema.get("$schema").is_none() {
        options = options.with_draft(Draft::Draft202012);
    }
    options.build(schema).map_err(|e| {
        let path = e.instance_path().to_string();
        if path.is_empty() { e.to_string() } else { format!("at {path}: {e}") }
    })
}

fn shorten(mut message: String) -> String {
    if message.len() > MAX_MESSAGE_BYTES {
        let end = (0..=MAX_MESSAGE_BYTES).rev().find(|&i| message.is_char_boundary(i)).unwrap_or(0);
        message.truncate(end);
        message.push('…');
    }
    message
}

fn messages(validator: &Validator, document: &Value) -> String {
    let list: Vec<Value> = validator
        .iter_errors(document)
        .take(MAX_MESSAGES)
        .map(|e| {
            json!({
                "instance_path": e.instance_path().to_string(),
                "schema_path": e.schema_path().to_string(),
                "message": shorten(e.to_string()),
            })
        })
        .collect();
    Value::Array(list).to_string()
}

/// # Safety
/// As in `mist_runtime.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mist_schema_new(schema: *const c_char, len: usize, out: *mut *mut c_void) -> *mut c_char {
    unsafe { *out = ptr::null_mut() };
    match guarded(|| compile(&unsafe { parse(schema, len) }?)) {
        Ok(validator) => {
            unsafe { *out = Box::into_raw(Box::new(validator)).cast() };
            ptr::null_mut()
        }
        Err(text) => to_c(shorten(text)),
    }
}

/// # Safety
/// As in `mist_runtime.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mist_schema_validate(
    validator: *const c_void,
    document: *const c_char,
    len: usize,
) -> *mut c_char {
    let validator = unsafe { &*validator.cast::<Validator>() };
    let result = guarded(|| Ok(messages(validator, &unsafe { parse(document, len) }?)));
    to_c(
        result.unwrap_or_else(|text| {
            json!([{"instance_path": "", "schema_path": "", "message": shorten(text)}]).to_string()
        }),
    )
}

/// # Safety
/// As in `mist_runtime.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mist_schema_free(validator: *mut c_void) {
    if !validator.is_null() {
        let validator = unsafe { Box::from_raw(validator.cast::<Validator>()) };
        // A destructor that panics must not unwind into C++.
        let _ = catch_unwind(AssertUnwindSafe(move || drop(validator)));
    }
}

/// # Safety
/// As in `mist_runtime.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mist_string_free(text: *mut c_char) {
    if !text.is_null() {
        drop(unsafe { CString::from_raw(text) });
    }
}
