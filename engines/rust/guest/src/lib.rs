//! What the engines written in Rust share.
//!
//! An engine is a guest of ABI `v1`: a WASI preview 1 reactor that reads one MistInput from standard input, finds its
//! package at `/package`, and answers with one MistResult. It implements [`Engine`] and calls [`reactor!`]; everything
//! that isn't its template language is here.
//!
//! | module | what |
//! |---|---|
//! | [`engine`] | the trait, and the doors that the host calls |
//! | [`input`] | what the host asks for |
//! | [`answer`] | what it is told: files, a description, or a [`Failure`] with its place |
//! | [`tree`] | the package's files |
//! | [`package`] | what K3.yaml, mistletoe.yaml, values.yaml and values.schema.json say |
//! | [`templates`] | which files of a package are templates, which pass as they are |
//! | [`yaml`] | YAML as kubectl reads it, with places; and its writer |
//! | [`lines`] | a template's output, and which of its lines wrote each line of that |
//! | [`text`] | digests, base64, indenting: what both template languages offer |
//! | [`host`], [`random`] | requests to the host; random bytes from keyed streams |
//! | [`testing`] | what the engines' tests share |

pub mod answer;
pub mod engine;
pub mod host;
pub mod input;
pub mod lines;
pub mod package;
pub mod random;
pub mod templates;
pub mod testing;
pub mod text;
pub mod tree;
pub mod yaml;

// An engine has one thread, as this allocator wants it.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::TalckWasm = unsafe { talc::TalckWasm::new_global() };

pub use answer::{Failure, Origin, Place, Rendered};
pub use engine::Engine;
pub use input::Input;
pub use package::Package;
pub use serde_json::{Map, Value, json};
pub use tree::Tree;

/// An object of values: keys keep the order in which they were written.
pub type Object = Map<String, Value>;
