#include "wasm/wat_for_tests.h"

#include "wasm/engine.h"

namespace mist::wasm {

Result<std::string> wat_to_wasm(std::string_view wat) {
  wasm_byte_vec_t bytes;
  const FailureHandle failed(wasmtime_wat2wasm(wat.data(), wat.size(), &bytes));
  if (failed)
    return error(ErrorKind::Invalid, "this is no WebAssembly text").with_because(message_of(*failed));
  std::string wasm(bytes.data, bytes.size);
  wasm_byte_vec_delete(&bytes);
  return wasm;
}

}  // namespace mist::wasm
