#include "abi/abi.h"

#include <array>

#include "abi/documents.h"
#include "abi/v1/command.h"
#include "abi/v1/component.h"
#include "abi/v1alpha1/library.h"
#include "base/text.h"

namespace mist::abi {
namespace {

constexpr std::string_view kSectionSource = "the custom section mistletoe.package";

struct Row {
  std::string_view name;
  std::string_view needs;  ///< what it exports, for the error that no row recognises a module
  bool (*recognises)(const wasm::Module&);
  Result<std::unique_ptr<Guest>> (*open)(wasm::Module);
};

// In order; the first row wins.
constexpr auto kAbis = std::to_array<Row>({
    {"v1alpha1", "__mistletoe_info, __mistletoe_alloc, __mistletoe_dealloc and __mistletoe_generate",
     &v1alpha1::recognises, &v1alpha1::open},
    {"v1 command", "_start, as a WASI preview 1 command does", &v1::recognises_command, &v1::open_command},
    {"v1 reactor", "mistletoe_generate", &v1::recognises_reactor, &v1::open_reactor},
});

}  // namespace

Result<std::unique_ptr<Guest>> open(wasm::Module module) {
  for (const Row& row : kAbis) {
    if (!row.recognises(module)) continue;
    if (!module.has_memory())
      return error(ErrorKind::Invalid, "{} breaks the package ABI {}", module.name(), row.name)
          .with_because("it exports no memory with the name \"memory\"");
    return row.open(std::move(module));
  }
  if (const std::string missing = v1alpha1::missing_functions(module); !missing.empty())
    return error(ErrorKind::Invalid, "{} breaks the package ABI v1alpha1", module.name())
        .with_because(fmt::format("it does not export the function {}", missing));

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
    ways += fmt::format("{}{} ({})", ways.empty() ? "" : "; or ", row.needs, row.name);
  return error(ErrorKind::Invalid, "{} is a WebAssembly module, but no package", module.name())
      .with_because(exported.empty() ? "it exports no function"
                                     : fmt::format("the functions it exports: {}", exported))
      .with_hint(fmt::format("a package exports {}", ways));
}

Result<std::unique_ptr<Guest>> open(wasm::Runtime& runtime, const wasm::ModuleBytes& bytes,
                                    std::string_view name) {
  MIST_TRY(const wasm::BinaryKind kind, bytes.kind(name));
  if (kind == wasm::BinaryKind::Component) {
    MIST_TRY(wasm::Component component, runtime.load_component(bytes, name));
    return v1::open_component(std::move(component));
  }
  MIST_TRY(wasm::Module module, runtime.load(bytes, name));
  return open(std::move(module));
}

Result<std::optional<encoding::Value>> read_metadata(const wasm::ModuleBytes& module, std::string_view name) {
  MIST_TRY(const auto section, module.package_section(name));
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
