//! What Wasmtime's C API can't say: a refused `memory.grow` or `table.grow` is a trap and not a -1, so that a guest at
//! its limit ends with that reason instead of whatever its allocator makes of it.

use wasmtime_c_api::WasmtimeStoreContextMut;
use wasmtime_c_api::wasmtime::StoreLimitsBuilder;

/// # Safety
/// As in `mist_runtime.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mist_store_trap_on_limits(
    mut context: WasmtimeStoreContextMut<'_>,
    memory_bytes: usize,
    table_elements: usize,
) {
    context.data_mut().store_limits = StoreLimitsBuilder::new()
        .memory_size(memory_bytes)
        .table_elements(table_elements)
        .instances(1)
        .tables(16)
        .memories(1)
        .trap_on_grow_failure(true)
        .build();
}
