// What the Rust static library (third_party/runtime) adds to the C APIs of Wasmtime and libcurl. encoding/ uses
// the schema functions, wasm/ the limits and snapshots. No function here throws or panics, whatever the bytes are.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

// Bytes that this library made; freed with mist_bytes_free.
typedef struct mist_bytes {
  uint8_t* data;
  size_t len;
} mist_bytes;
void mist_bytes_free(mist_bytes bytes);

// How mist_snapshot reaches an instance. All are called on the thread that called mist_snapshot.
typedef struct mist_snapshot_host {
  void* env;
  // Instantiates this module and calls what prepares it. False: it failed, and env knows why.
  bool (*run)(void* env, const uint8_t* wasm, size_t len);
  // Writes the bits of the exported global of that name, little-endian, at most 16 bytes. False: there is none.
  bool (*global)(void* env, const char* name, size_t len, uint8_t* bits);
  // The exported memory of that name, valid until the next call; null: there is none.
  const uint8_t* (*memory)(void* env, const char* name, size_t len, size_t* size);
} mist_snapshot_host;

// Runs a core module once through the host and makes a module that starts with the memory and the globals it was left
// with. The exports `prepare` and `_initialize` are not in it. Returns null and sets *out; or returns why it can't be
// (to be freed with mist_string_free), with *out empty.
char* mist_snapshot(const uint8_t* wasm, size_t len, const char* prepare, size_t prepare_len, mist_snapshot_host host,
                    mist_bytes* out);

// The same module with neighbouring data segments joined: Go writes a hundred thousand, and Wasmtime takes no more.
// A module whose segments can't be joined comes back as it was. Answers as mist_snapshot does.
char* mist_merge_data_segments(const uint8_t* wasm, size_t len, mist_bytes* out);

#ifdef __cplusplus
}
#endif
