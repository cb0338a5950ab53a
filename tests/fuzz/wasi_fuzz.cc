// Calls of WASI as any guest may make them: a memory of its choice, then functions with arguments of its
// choice, a byte for each that is small, or more behind a mark.
#include "wasm/wasi.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "targets.h"

namespace mist::fuzz {
namespace {

constexpr std::size_t kMemory = 4096, kMostCalls = 200;

std::uint64_t argument(Input& input) {
  const std::uint8_t first = input.byte();
  switch (first) {
    case 0xfc:
      return input.number(2);
    case 0xfd:
      return input.number(4);
    case 0xfe:
      return input.number(8);
    case 0xff:
      return UINT64_MAX - input.byte();
    default:
      return first;
  }
}

wasm::GuestSystem system_of_files() {
  wasm::GuestSystem system;
  auto tree = wasm::FileTree::make(
      {{"Chart.yaml", "name: shop\n"}, {"templates/a.yaml", "a"}, {"templates/deep/b.yaml", "b"}});
  if (!tree.ok()) fail("the tree", tree.error().to_line());
  system.files = std::make_shared<const wasm::FileTree>(*std::move(tree));
  return system;
}

}  // namespace

void wasi(std::string_view bytes) {
  Input input(bytes);
  std::vector<std::byte> buffer(kMemory);
  const std::string_view image = input.take(std::min<std::size_t>(input.number(2), kMemory));
  std::ranges::copy(std::as_bytes(std::span(image)), buffer.begin());
  wasm::Limits limits;
  limits.output_bytes = 1 << 14;
  wasm::Wasi wasi(system_of_files(), limits, "the input", {"package", "x"});
  for (std::size_t calls = 0; calls < kMostCalls && !input.empty() && !wasi.stop; ++calls) {
    const auto functions = wasm::wasi_functions();
    const wasm::WasiFunction& function = functions[input.byte() % functions.size()];
    std::vector<std::uint64_t> arguments;
    for (const char type : function.parameters) {
      const std::uint64_t value = argument(input);
      arguments.push_back(type == 'I' ? value : value & 0xffffffff);
    }
    (void)function.call(wasi, wasm::GuestMemory(buffer), arguments);
  }
  if (wasi.out.size() + wasi.err.size() > limits.output_bytes) fail("more output than the limit", "");
}

}  // namespace mist::fuzz
