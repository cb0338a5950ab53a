// What the Rust static library (third_party/runtime) adds to the C APIs of Wasmtime and libcurl. encoding/ uses
// the schema functions, wasm/ the limits. No function here throws or panics, whatever the bytes are.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Compiles a JSON Schema (draft 2020-12 unless `$schema` names another; a $ref can only point into the schema
// itself). Returns null and sets *out, to be freed with mist_schema_free; or returns why it is no schema, to be
// freed with mist_string_free, and sets *out to null. Any thread.
char* mist_schema_new(const char* schema_json, size_t len, void** out);

// Checks a JSON document. Returns a JSON array, empty when the document is valid, of at most 100 objects
// {"instance_path": "/a/0", "schema_path": "/properties/a/items/type", "message": "…"} (JSON pointers), to be
// freed with mist_string_free; a document that is no JSON, or nested deeper than 128, is one such object with empty
// paths. Any number of threads may share one schema.
char* mist_schema_validate(const void* schema, const char* json, size_t len);

void mist_schema_free(void* schema);
void mist_string_free(char* text);

// Replaces the limits that wasmtime_store_limiter set on this store (it must have been called): at most one instance,
// one memory of that many bytes, 16 tables of that many elements each; growing beyond is a trap whose text says
// "when growing memory to N bytes" or "when growing table to N elements".
struct wasmtime_context;
void mist_store_trap_on_limits(struct wasmtime_context* context, size_t memory_bytes, size_t table_elements);

#ifdef __cplusplus
}
#endif
