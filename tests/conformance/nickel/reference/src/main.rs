//! Nickel itself, as its own command line uses the library: `reference DIRECTORY…` evaluates `main.ncl` of each, and prints
//! a line of JSON for it: `{"ok": value}`, or `{"error": diagnostics}` with paths below the directory.
//! `../compare.py` holds the engine beside it.

use std::io::stderr;

use serde_json::{Value, json};
use nickel_lang_core::error::Error;
use nickel_lang_core::error::report::{ColorOpt, report_as_str};
use nickel_lang_core::eval::cache::CacheImpl;
use nickel_lang_core::program::ProgramBuilder;
use nickel_lang_core::serialize::{ExportFormat, validate};

fn main() {
    for directory in std::env::args().skip(1) {
        // Its parser and compiler recurse: with the stack of a command line's main thread, some of its tests overflow.
        let work = std::thread::Builder::new().stack_size(64 << 20).spawn(move || evaluate(&directory));
        let answer = work.map(std::thread::JoinHandle::join);
        match answer {
            Ok(Ok(answer)) => println!("{answer}"),
            _ => println!("{}", json!({ "error": "it gave up" })),
        }
    }
}

fn evaluate(directory: &str) -> Value {
    let built = ProgramBuilder::new().add_path(format!("{directory}/main.ncl")).with_trace(stderr()).build::<CacheImpl>();
    let mut program = match built {
        Ok(program) => program,
        Err(error) => return json!({ "error": format!("{error:?}") }),
    };
    let value = program.eval_full_for_export().and_then(|value| {
        validate(ExportFormat::Json, &value).map_err(|data| Error::export_error(program.pos_table().clone(), data))?;
        serde_json::to_value(&value).map_err(|error| nickel_lang_core::error::IOError(error.to_string()).into())
    });
    match value {
        Ok(value) => json!({ "ok": value }),
        Err(error) => {
            let text = report_as_str(&mut program.files(), error, ColorOpt::Never);
            json!({ "error": text.replace(&format!("{directory}/"), "") })
        }
    }
}
