#include "abi/abi.h"

#include <array>

#include "abi/documents.h"
#include "abi/v1/command.h"
#include "abi/v1alpha1/library.h"
#include "base/text.h"
#include "wasm/binary.h"

namespace mist::abi {
namespace {

constexpr std::string_view kSectionSource = "the custom section mistletoe.package";

struct Row {
  std::string_view name;
  std::string_view needs;  ///< for the error that says what is missing
  bool (*recognises)(const wasm::Module&);
  Result<std::unique_ptr<Guest>> (*open)(wasm::Module);
};

// In order; the first row wins.
constexpr auto kAbis = std::to_array<Row>({
    {"v1alpha1", "exports __mistletoe_info, __mistletoe_alloc, __mistletoe_dealloc and __mistletoe_generate",
     &v1alpha1::recognises, &v1alpha1::open},
    {"v1 command", "exports _start (a WASI preview 1 command)", &v1::recognises_command, &v1::open_command},
    {"v1 reactor", "exports mistletoe_generate", &v1::recognises_reactor, &v1::open_reactor},
});

}  // namespace

Result<std::unique_ptr<Guest>> open(wasm::Module module) {
  for (const Row& row : kAbis)
    if (row.recognises(module)) return row.open(std::move(module));

  std::string exported;
  for (const wasm::Export& each : module.exports()) {
    if (!each.function) continue;
    if (!exported.empty()) exported += ", ";
    if (exported.size() > 200) {
      exported += "…";
      break;
    }
    exported += escape_controls(each.name);
  }
  std::string ways;
  for (const Row& row : kAbis)
    ways += fmt::format("{}{} ({})", ways.empty() ? "" : "; ", row.needs, row.name);
  return error(ErrorKind::Invalid, "{} is a WebAssembly module, but no package", module.name())
      .with_because(exported.empty() ? "it exports no function"
                                     : fmt::format("the functions it exports: {}", exported))
      .with_hint(fmt::format("a package {}", ways));
}

Result<std::optional<encoding::Value>> read_metadata(std::span<const std::byte> bytes,
                                                     std::string_view name) {
  MIST_TRY(const auto section, wasm::custom_section(bytes, name, wasm::kPackageSection));
  if (!section) return std::optional<encoding::Value>();
  MIST_TRY(auto document, parse_package(*section, name, kSectionSource));
  return std::optional(std::move(document));
}

Result<std::optional<encoding::Value>> section_metadata(const wasm::Module& module) {
  if (!module.package_section()) return std::optional<encoding::Value>();
  MIST_TRY(auto document, parse_package(*module.package_section(), module.name(), kSectionSource));
  return std::optional(std::move(document));
}

}  // namespace mist::abi
