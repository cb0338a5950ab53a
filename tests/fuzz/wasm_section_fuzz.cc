// libFuzzer target: the section reader of src/wasm/binary.h on arbitrary bytes.
#include <cstdint>
#include <cstdlib>

#include "wasm/binary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto section = mist::wasm::custom_section(bytes, "fuzz", mist::wasm::kPackageSection);
  const auto rewritten = mist::wasm::with_custom_section(bytes, "fuzz", mist::wasm::kPackageSection, "x");
  if (section.ok() && !rewritten.ok()) std::abort();
  if (!rewritten.ok()) return 0;
  const auto again =
      mist::wasm::custom_section(std::as_bytes(std::span(*rewritten)), "fuzz", mist::wasm::kPackageSection);
  if (!again.ok() || !*again || **again != "x") std::abort();
  return 0;
}
