//! Pre-initialised guests behind `mist_snapshot` and `mist_merge_data_segments`: `wasmtime-wizer` rewrites the module,
//! src/wasm runs it. Modules are untrusted: every failure, a panic included, becomes an error text.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::{ptr, slice};

use wasm_encoder::{ConstExpr, DataCountSection, DataSection, Module, RawSection};
use wasmparser::{DataKind, Operator, Parser, Payload, ValType};
use wasmtime_wizer::{InstanceState, SnapshotVal, Wizer};

use crate::schema::to_c;

/// Neighbours with fewer zeros than this between them become one segment: that costs less than a header and a copy.
const MERGE_GAP: u64 = 256;
/// Up to this size Wasmtime maps a memory however few of its pages have data (`memory_guaranteed_dense_image_size`).
const ALWAYS_MAPPED: u64 = 16 << 20;

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
        let snapshot = now(wizer.snapshot(&context, &mut host)).map_err(|e| format!("{e:#}"))?;
        make_dense(snapshot)
    });
    answer(result, out)
}

/// The active segments of memory 0 with constant offsets, by their addresses and without overlaps; before them in the
/// module there may be passive ones.
struct Segments<'a> {
    passive: Vec<&'a [u8]>,
    active: Vec<(u64, &'a [u8])>,
}

impl<'a> Segments<'a> {
    /// None: there are others, so that nothing can be moved.
    fn read(reader: wasmparser::DataSectionReader<'a>) -> Result<Option<Self>, String> {
        let mut found = Segments { passive: Vec::new(), active: Vec::new() };
        for segment in reader {
            let segment = segment.map_err(|e| e.to_string())?;
            match segment.kind {
                // Its index stays what it is.
                DataKind::Passive if found.active.is_empty() => found.passive.push(segment.data),
                DataKind::Active { memory_index: 0, offset_expr } => {
                    let mut operators = offset_expr.get_operators_reader();
                    let Operator::I32Const { value } = operators.read().map_err(|e| e.to_string())? else {
                        return Ok(None);
                    };
                    if !matches!(operators.read(), Ok(Operator::End)) {
                        return Ok(None);
                    }
                    found.active.push((u64::from(value as u32), segment.data));
                }
                _ => return Ok(None),
            }
        }
        // Segments that overlap would need the order of the module.
        found.active.sort_by_key(|(offset, _)| *offset);
        let overlapping = found.gaps().any(|gap| gap.is_none());
        Ok(if overlapping { None } else { Some(found) })
    }

    /// Between neighbours; None: they overlap.
    fn gaps(&self) -> impl Iterator<Item = Option<u64>> {
        self.active.windows(2).map(|pair| pair[1].0.checked_sub(pair[0].0 + pair[0].1.len() as u64))
    }

    fn merged(&self, gap: u64) -> Vec<(u64, Vec<u8>)> {
        let mut merged: Vec<(u64, Vec<u8>)> = Vec::new();
        for &(offset, data) in &self.active {
            if let Some((start, last)) = merged.last_mut() {
                if offset - (*start + last.len() as u64) < gap {
                    last.resize((offset - *start) as usize, 0);
                    last.extend_from_slice(data);
                    continue;
                }
            }
            merged.push((offset, data.to_vec()));
        }
        merged
    }

    /// Gaps smaller than this are to be filled so that most of the memory's image is data. Wasmtime then maps it from the
    /// file with the code, page by page as it is touched; else every start copies all of it
    /// (`ModuleTranslation::try_static_init`). None: it is so already, or more than half would be zeros of ours.
    fn gap_to_fill(&self) -> Option<u64> {
        let (first, last) = (self.active.first()?, self.active.last()?);
        let image = last.0 + last.1.len() as u64 - first.0;
        let data: u64 = self.active.iter().map(|(_, data)| data.len() as u64).sum();
        if image < ALWAYS_MAPPED || data > image / 2 {
            return None;
        }
        let mut gaps: Vec<u64> = self.gaps().flatten().collect();
        gaps.sort_unstable();
        let mut filled = data;
        let largest = *gaps.iter().find(|gap| {
            filled += *gap;
            filled > image / 2
        })?;
        let zeros: u64 = gaps.iter().filter(|gap| **gap <= largest).sum();
        (zeros <= data).then_some(largest + 1)
    }
}

/// The module with its data section replaced by `segments`, the passive ones first.
fn with_data(wasm: &[u8], passive: &[&[u8]], active: &[(u64, Vec<u8>)]) -> Result<Vec<u8>, String> {
    let mut module = Module::new();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(|e| e.to_string())? {
            // Only `memory.init` and `data.drop` need it, and without passive segments those do nothing useful; a
            // module that has them all the same fails validation, not silently.
            Payload::DataCountSection { .. } => {
                if !passive.is_empty() {
                    let count = (passive.len() + active.len()) as u32;
                    module.section(&DataCountSection { count });
                }
            }
            Payload::DataSection(_) => {
                let mut section = DataSection::new();
                for data in passive {
                    section.passive(data.iter().copied());
                }
                for (offset, data) in active {
                    section.active(0, &ConstExpr::i32_const(*offset as u32 as i32), data.iter().copied());
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

fn segments(wasm: &[u8]) -> Result<Option<Segments<'_>>, String> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::DataSection(reader) = payload.map_err(|e| e.to_string())? {
            return Segments::read(reader);
        }
    }
    Ok(None)
}

fn merge_data_segments(wasm: &[u8]) -> Result<Vec<u8>, String> {
    match segments(wasm)? {
        // Code may name the active ones that stand beside passive ones.
        Some(found) if found.passive.is_empty() => with_data(wasm, &[], &found.merged(MERGE_GAP)),
        _ => Ok(wasm.to_vec()),
    }
}

/// Of a snapshot: its active segments are new, and no code names them.
fn make_dense(snapshot: Vec<u8>) -> Result<Vec<u8>, String> {
    let Some(found) = segments(&snapshot)? else {
        return Ok(snapshot);
    };
    match found.gap_to_fill() {
        Some(gap) => with_data(&snapshot, &found.passive, &found.merged(gap)),
        None => Ok(snapshot),
    }
}

/// # Safety
/// As in `mist_runtime.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mist_merge_data_segments(wasm: *const u8, len: usize, out: *mut Bytes) -> *mut c_char {
    let wasm = unsafe { slice::from_raw_parts(wasm, len) };
    unsafe { *out = Bytes { data: ptr::null_mut(), len: 0 } };
    answer(guarded(|| merge_data_segments(wasm)), out)
}
