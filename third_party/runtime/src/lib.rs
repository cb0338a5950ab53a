//! The one Rust static library of Mistletoe. It re-exports Wasmtime's C API, carries a static libcurl, and adds
//! the few `extern "C"` functions of `include/mist_runtime.h`. Nothing here may unwind into C++.

pub use wasmtime_c_api::*;

// Not used from Rust: named so that their native code becomes part of the library.
extern crate curl_sys;
extern crate openssl_sys;

mod limits;
mod schema;
mod snapshot;
