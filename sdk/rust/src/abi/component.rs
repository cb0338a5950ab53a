//! ABI `v1` as a component: the world of `schemas/wit/package.wit`, by the component model's canonical ABI. A crate that is
//! compiled for `wasm32-unknown-unknown` with the feature `component` exports it; a tool that knows the world makes a
//! component of the module (`tests/conformance/componentize`).

use std::alloc::{Layout, alloc, realloc};

use super::v1::panic_message;
use crate::document::{self, ApiVersion};
use crate::{Generate, MistInput, log};

/// A string, or a `result<string, string>`, as the canonical ABI returns it: by address of these words.
#[repr(C)]
pub struct Returned {
    is_err: u32,
    address: *const u8,
    length: usize,
}

impl Returned {
    fn leak(is_err: bool, text: String) -> *const Self {
        let text = Box::leak(text.into_boxed_str());
        Box::leak(Box::new(Self { is_err: u32::from(is_err), address: text.as_ptr(), length: text.len() }))
    }
}

/// `generate`. Nothing is freed: each call has an instance of its own.
///
/// A panic is logged before the trap, since modules can't unwind, and a component has no standard error.
///
/// # Safety
/// `address` points to `length` bytes that were allocated by [`reallocate`] for this call.
pub unsafe fn generate<Args>(generate: impl Generate<Args>, address: *mut u8, length: usize) -> *const Returned {
    std::panic::set_hook(Box::new(|info| log::warn(panic_message(info))));
    // SAFETY: by this function's contract; an empty slice must not be made from a wild address.
    let bytes = if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(address, length) } };
    let result = std::str::from_utf8(bytes)
        .map_err(|error| anyhow::anyhow!("the input document isn't UTF-8: {error}"))
        .and_then(MistInput::parse_json)
        .and_then(|input| generate.generate(input));
    // A failure is a document too, so that it holds the same words as that of a module.
    Returned::leak(false, document::write(ApiVersion::V1, &result))
}

/// A string that lives as long as the module, as the result of `info`.
pub fn text(text: &'static str) -> *const [usize; 2] {
    Box::leak(Box::new([text.as_ptr() as usize, text.len()]))
}

/// `cabi_realloc`: what the host's texts are written into.
///
/// # Safety
/// `old` is null, or was given by this function for `old_size` and `align`.
pub unsafe fn reallocate(old: *mut u8, old_size: usize, align: usize, new_size: usize) -> *mut u8 {
    if new_size == 0 {
        return std::ptr::without_provenance_mut(align);
    }
    let place = if old_size == 0 {
        // SAFETY: the size isn't zero; a host gives powers of two as alignment.
        unsafe { alloc(Layout::from_size_align_unchecked(new_size, align)) }
    } else {
        // SAFETY: by this function's contract.
        unsafe { realloc(old, Layout::from_size_align_unchecked(old_size, align), new_size) }
    };
    if place.is_null() {
        std::alloc::handle_alloc_error(Layout::new::<u8>());
    }
    place
}
