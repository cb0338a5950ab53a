//! Pre-initialised guests behind `mist_snapshot` and `mist_merge_data_segments`: `wasmtime-wizer` rewrites the module,
//! src/wasm runs it. Modules are untrusted: every failure, a panic included, becomes an error text.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::{ptr, slice};

use wasm_encoder::{ConstExpr, DataSection, Module, RawSection};
use wasmparser::{DataKind, Operator, Parser, Payload, ValType};
use wasmtime_wizer::{InstanceState, SnapshotVal, Wizer};

use crate::schema::to_c;

/// Neighbours closer than this become one segment: the zeros between cost less than a segment's header and copy.
const MERGE_GAP: u64 = 256;

#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    len: usize,
}

impl Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let boxed = bytes.into_boxed_slice();
        let len = boxed.len();
        Bytes { data: Box::into_raw(boxed).cast(), len }
    }
}

/// # Safety
/// As in `mist_runtime.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mist_bytes_free(bytes: Bytes) {
    if !bytes.data.is_null() {
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(bytes.data, bytes.len)) });
    }
}

/// `mist_runtime.h` says what each does. The instance lives on one thread, the one that calls `mist_snapshot`.
#[repr(C)]
pub struct Host {
    env: *mut c_void,
    run: unsafe extern "C" fn(env: *mut c_void, wasm: *const u8, len: usize) -> bool,
    global: unsafe extern "C" fn(env: *mut c_void, name: *const c_char, len: usize, bits: *mut u8) -> bool,
    memory: unsafe extern "C" fn(env: *mut c_void, name: *const c_char, len: usize, size: *mut usize) -> *const u8,
}

// Nothing here leaves the thread; the traits of wasmtime-wizer ask for it all the same.
unsafe impl Send for Host {}

impl InstanceState for Host {
    async fn global_get(&mut self, name: &str, type_hint: ValType) -> SnapshotVal {
        let mut bits = [0u8; 16];
        let known = unsafe { (self.global)(self.env, name.as_ptr().cast(), name.len(), bits.as_mut_ptr()) };
        assert!(known, "the instance has no global {name}");
        let value = u128::from_le_bytes(bits);
        match type_hint {
            ValType::I32 => SnapshotVal::I32(value as u32 as i32),
            ValType::I64 => SnapshotVal::I64(value as u64 as i64),
            ValType::F32 => SnapshotVal::F32(value as u32),
            ValType::F64 => SnapshotVal::F64(value as u64),
            ValType::V128 => SnapshotVal::V128(value),
            ValType::Ref(_) => panic!("global {name} holds a reference"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let mut size = 0usize;
        let data = unsafe { (self.memory)(self.env, name.as_ptr().cast(), name.len(), &mut size) };
        assert!(!data.is_null() || size == 0, "the instance has no memory {name}");
        contents(if size == 0 { &[] } else { unsafe { slice::from_raw_parts(data, size) } });
    }
}

/// `Host` never waits, so one poll is all it takes.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a snapshot waits for nothing"),
    }
}

fn guarded(work: impl FnOnce() -> Result<Vec<u8>, String>) -> Result<Vec<u8>, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(text.unwrap_or("no reason was given").to_owned())
    })
}

fn answer(result: Result<Vec<u8>, String>, out: *mut Bytes) -> *mut c_char {
    match result {
        Ok(bytes) => {
            unsafe { *out = Bytes::from(bytes) };
            ptr::null_mut()
        }
        Err(text) => to_c(text),
    }
}

/// # Safety
/// As in `mist_runtime.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mist_snapshot(
    wasm: *const u8,
    len: usize,
    prepare: *const c_char,
    prepare_len: usize,
    mut host: Host,
    out: *mut Bytes,
) -> *mut c_char {
    let wasm = unsafe { slice::from_raw_parts(wasm, len) };
    let prepare = String::from_utf8_lossy(unsafe { slice::from_raw_parts(prepare.cast(), prepare_len) }).into_owned();
    unsafe { *out = Bytes { data: ptr::null_mut(), len: 0 } };
    let result = guarded(|| {
        let mut wizer = Wizer::new();
        wizer.init_func(prepare);
        let (context, instrumented) = wizer.instrument(wasm).map_err(|e| format!("{e:#}"))?;
        if !unsafe { (host.run)(host.env, instrumented.as_ptr(), instrumented.len()) } {
            return Err("the guest could not be prepared".to_owned());
        }
        now(wizer.snapshot(&context, &mut host)).map_err(|e| format!("{e:#}"))
    });
    answer(result, out)
}

/// The active segments of memory 0 with constant offsets, in the order of their addresses, later ones over earlier.
struct Segments(Vec<(u64, Vec<u8>)>);

impl Segments {
    fn merged(mut self) -> Vec<(u64, Vec<u8>)> {
        // Segments that overlap would need the order of the module: a stable sort keeps it among equals, and
        // `overlapping` below refuses the rest.
        self.0.sort_by_key(|(offset, _)| *offset);
        let mut merged: Vec<(u64, Vec<u8>)> = Vec::new();
        for (offset, data) in self.0 {
            if let Some((start, last)) = merged.last_mut() {
                let end = *start + last.len() as u64;
                if offset >= end && offset - end < MERGE_GAP {
                    last.resize((offset - *start) as usize, 0);
                    last.extend_from_slice(&data);
                    continue;
                }
            }
            merged.push((offset, data));
        }
        merged
    }

    fn overlapping(&self) -> bool {
        let mut ranges: Vec<(u64, u64)> = self.0.iter().map(|(at, data)| (*at, *at + data.len() as u64)).collect();
        ranges.sort_unstable();
        ranges.windows(2).any(|pair| pair[1].0 < pair[0].1)
    }
}

/// None: the module has segments that can't be merged (passive ones, other memories, computed offsets, overlaps).
fn active_segments(reader: wasmparser::DataSectionReader<'_>) -> Result<Option<Segments>, String> {
    let mut segments = Vec::new();
    for segment in reader {
        let segment = segment.map_err(|e| e.to_string())?;
        let DataKind::Active { memory_index: 0, offset_expr } = segment.kind else {
            return Ok(None);
        };
        let mut operators = offset_expr.get_operators_reader();
        let Operator::I32Const { value } = operators.read().map_err(|e| e.to_string())? else {
            return Ok(None);
        };
        if !matches!(operators.read(), Ok(Operator::End)) {
            return Ok(None);
        }
        segments.push((u64::from(value as u32), segment.data.to_vec()));
    }
    let segments = Segments(segments);
    Ok(if segments.overlapping() { None } else { Some(segments) })
}

fn merge_data_segments(wasm: &[u8]) -> Result<Vec<u8>, String> {
    let mut module = Module::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.map_err(|e| e.to_string())?;
        match payload {
            // Only `memory.init` and `data.drop` need it, and without passive segments those do nothing useful; a
            // module that has them all the same fails validation, not silently.
            Payload::DataCountSection { .. } => continue,
            Payload::DataSection(reader) => {
                let Some(segments) = active_segments(reader)? else {
                    return Ok(wasm.to_vec());
                };
                let mut section = DataSection::new();
                for (offset, data) in segments.merged() {
                    section.active(0, &ConstExpr::i32_const(offset as u32 as i32), data);
                }
                module.section(&section);
            }
            other => {
                if let Some((id, range)) = other.as_section() {
                    module.section(&RawSection { id, data: &wasm[range] });
                }
            }
        }
    }
    Ok(module.finish())
}

/// # Safety
/// As in `mist_runtime.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mist_merge_data_segments(wasm: *const u8, len: usize, out: *mut Bytes) -> *mut c_char {
    let wasm = unsafe { slice::from_raw_parts(wasm, len) };
    unsafe { *out = Bytes { data: ptr::null_mut(), len: 0 } };
    answer(guarded(|| merge_data_segments(wasm)), out)
}
