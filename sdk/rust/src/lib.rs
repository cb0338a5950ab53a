//! Write Kubernetes packages for [Mistletoe](https://github.com/gsfraley/mistletoe) in Rust.
//!
//! A package is one function from typed inputs to Kubernetes YAML, compiled to WebAssembly:
//!
//! ```
//! use mistletoe::{MistOutput, MistResult, mistletoe_package};
//! use serde::Deserialize;
//!
//! mistletoe_package! {"
//!   name: namespace-example
//!   labels:
//!     mistletoe.dev/group: mistletoe-examples
//! "}
//!
//! #[derive(Deserialize)]
//! pub struct Inputs {
//!     name: String,
//! }
//!
//! pub fn generate(inputs: Inputs) -> MistResult {
//!     MistOutput::new().with_object("namespace.yaml", &mistletoe::json!({
//!         "apiVersion": "v1",
//!         "kind": "Namespace",
//!         "metadata": { "name": inputs.name },
//!     }))
//! }
//! # fn main() {}
//! ```
//!
//! The target decides the ABI; the source stays the same:
//!
//! | build | what it is |
//! |---|---|
//! | `cargo build --release --target wasm32-unknown-unknown` | ABI `v1alpha1`: imports nothing, runs in every Mistletoe |
//! | `cargo build --release --target wasm32-wasip1` | ABI `v1`: a command, JSON on standard input, a result document on standard output |
//! | `cargo run` | the same command natively, for debugging |
//!
//! `data.name` in the input is always the name of the install. Everything else in `data` is what the user gave with
//! `-f` and `--set`, and what [`mistletoe_package!`] declares as the `inputs` schema.

mod call;
mod document;
mod finite;
mod handler;
mod host;
mod input;
pub mod log;
mod lookup;
mod output;
pub mod secret;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
pub mod yaml;

/// Support for the code that the macros generate.
#[doc(hidden)]
pub mod export {
    pub use serde;
    pub use serde_json;
}

#[doc(hidden)]
pub mod abi;

pub use ::anyhow::{Context as ErrorContext, Error, anyhow, bail, ensure};
pub use call::{Answer, Called, call};
pub use handler::{Generate, render};
pub use input::{Capabilities, Context, MistInput, Release};
pub use lookup::{lookup, lookup_all};
pub use mistletoe_macros::{dependency, mistletoe_package, types};
pub use output::{Files, MistOutput, MistResult};
pub use serde_json::{Value, json};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
