//! ABI `v1alpha1`: four exported functions that pass texts by (pointer, length).

use std::alloc::{Layout, alloc as allocate, dealloc as deallocate};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::v1::panic_message;
use crate::document::{self, ApiVersion};
use crate::{Generate, MistInput};

/// A text as the host reads it: on wasm32 two little-endian u32, address and length.
#[repr(C)]
pub struct Text {
    address: AtomicPtr<u8>,
    length: AtomicUsize,
}

impl Text {
    /// No text.
    pub const fn empty() -> Self {
        Self { address: AtomicPtr::new(std::ptr::null_mut()), length: AtomicUsize::new(0) }
    }

    /// A text that lives as long as the module.
    pub const fn of(text: &'static str) -> Self {
        Self { address: AtomicPtr::new(text.as_ptr().cast_mut()), length: AtomicUsize::new(text.len()) }
    }

    /// Gives the text's memory away; who reads it frees it with [`dealloc`].
    fn hand_over(&self, text: String) {
        let text = Box::leak(text.into_boxed_str());
        self.length.store(text.len(), Ordering::Relaxed);
        self.address.store(text.as_mut_ptr(), Ordering::Relaxed);
    }
}

/// The latest result. One place is enough: the host copies a result before it asks for another.
static RESULT: Text = Text::empty();

/// Memory for `length` bytes, or null where there is none.
pub fn alloc(length: usize) -> *mut u8 {
    match layout(length) {
        // SAFETY: the layout isn't of size zero.
        Some(layout) => unsafe { allocate(layout) },
        None if length == 0 => std::ptr::dangling_mut(),
        None => std::ptr::null_mut(),
    }
}

/// Frees what [`alloc`] or [`generate`] gave.
///
/// # Safety
/// `address` and `length` are those that were given, and nobody uses the memory any more.
pub unsafe fn dealloc(address: *mut u8, length: usize) {
    if let Some(layout) = layout(length) {
        // SAFETY: by this function's contract.
        unsafe { deallocate(address, layout) }
    }
}

/// Renders the input document at `address`; the result's text belongs to the caller, who frees it with [`dealloc`].
///
/// A panic leaves its message in `last_words` before the trap, since modules can't unwind.
///
/// # Safety
/// `address` points to `length` bytes that nobody changes during the call.
pub unsafe fn generate<Args>(
    generate: impl Generate<Args>,
    address: *const u8,
    length: usize,
    last_words: &'static Text,
) -> *const Text {
    std::panic::set_hook(Box::new(|info| last_words.hand_over(panic_message(info))));
    // SAFETY: by this function's contract; an empty slice must not be made from null.
    let bytes = if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(address, length) } };
    let result = std::str::from_utf8(bytes)
        .map_err(|error| anyhow::anyhow!("the input document isn't UTF-8: {error}"))
        .and_then(MistInput::parse)
        .and_then(|input| generate.generate(input));
    RESULT.hand_over(document::write(ApiVersion::V1Alpha1, &result));
    &RESULT
}

fn layout(length: usize) -> Option<Layout> {
    if length == 0 { None } else { Layout::array::<u8>(length).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MistOutput, MistResult};

    #[derive(serde::Deserialize)]
    struct Inputs {
        name: String,
    }

    fn echo(inputs: Inputs) -> MistResult {
        Ok(MistOutput::new().with_message(inputs.name))
    }

    fn call(input: &[u8]) -> String {
        static LAST_WORDS: Text = Text::empty();
        // SAFETY: a host's calls, in a host's order.
        unsafe {
            let address = alloc(input.len());
            std::ptr::copy_nonoverlapping(input.as_ptr(), address, input.len());
            let text = &*generate(echo, address, input.len(), &LAST_WORDS);
            dealloc(address, input.len());
            let (address, length) = (text.address.load(Ordering::Relaxed), text.length.load(Ordering::Relaxed));
            let copy = String::from_utf8(std::slice::from_raw_parts(address, length).to_vec()).unwrap();
            dealloc(address, length);
            copy
        }
    }

    // One test: the place of the result is shared, as it may be in a module, which has one thread.
    #[test]
    fn answers_a_host() {
        let result = call(b"{apiVersion: mistletoe.dev/v1alpha1, kind: MistInput, data: {name: shop}}");
        assert!(result.contains(r#""result":"Ok","message":"shop""#), "{result}");
        assert!(call(b"").contains(r#""result":"Err","message":"the input document can't be read"#));
        assert!(call(b"\xff").contains("isn't UTF-8"));
    }

    #[test]
    fn allocates_nothing_for_nothing() {
        let address = alloc(0);
        assert!(!address.is_null());
        // SAFETY: as given.
        unsafe { dealloc(address, 0) };
    }

    #[test]
    fn answers_null_where_there_is_no_memory() {
        assert!(alloc(usize::MAX).is_null());
    }
}
