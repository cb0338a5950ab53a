//! ABI `v1`: the input document on standard input, the result document on standard output, the log on standard error.

use std::io::{Read, Write};
use std::panic::PanicHookInfo;

use anyhow::Context as _;

use crate::document::{self, ApiVersion};
use crate::{Generate, MistInput, MistResult};

/// Renders once. Ends the process with 1 if even the result can't be written.
///
/// A panic is answered like an error, as an `Err` result: modules can't unwind, but the panic hook still runs.
pub fn run<Args>(generate: impl Generate<Args>) {
    std::panic::set_hook(Box::new(|info| {
        answer(&Err(anyhow::anyhow!(panic_message(info))));
        std::process::exit(0);
    }));
    answer(&render(generate));
}

fn render<Args>(generate: impl Generate<Args>) -> MistResult {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("the input document can't be read from standard input")?;
    // Only JSON comes from a host; a person who debugs the native program may prefer to write YAML.
    let input = if cfg!(target_family = "wasm") { MistInput::parse_json(&text) } else { MistInput::parse(&text) };
    generate.generate(input?)
}

fn answer(result: &MistResult) {
    let mut text = document::write(ApiVersion::V1, result);
    text.push('\n');
    let mut stdout = std::io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        eprintln!("the result can't be written to standard output: {error}");
        std::process::exit(1);
    }
}

/// The message of a panic for the user, in one line.
pub(super) fn panic_message(info: &PanicHookInfo) -> String {
    let place =
        info.location().map(|at| format!(" at {}:{}:{}", at.file(), at.line(), at.column())).unwrap_or_default();
    format!("the package panicked{place}: {}", info.payload_as_str().unwrap_or("without a message"))
}
