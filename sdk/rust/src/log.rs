//! Lines for people, shown while a package is rendered.
//!
//! `debug` is shown with `-v`, `info` as progress, `warn` as a warning. A host shows at most 200 lines of a render, each
//! up to 4,096 bytes, with control characters escaped and secrets masked. Where nobody listens (ABI `v1alpha1`) the lines
//! are lost; a package's result never depends on them.

use serde_json::json;

use crate::host;

/// Logs a detail for the package's author.
pub fn debug(message: impl AsRef<str>) {
    line("debug", message.as_ref());
}

/// Logs something that the user may want to know.
pub fn info(message: impl AsRef<str>) {
    line("info", message.as_ref());
}

/// Logs something that the user should know.
pub fn warn(message: impl AsRef<str>) {
    line("warn", message.as_ref());
}

fn line(level: &str, message: &str) {
    let _ = host::ask(&json!({ "op": "log", "level": level, "message": message }));
}
