#pragma once
// Reads the outer structure of a WebAssembly binary without running or compiling it: is it a core module or a
// component, and what is in a custom section (core specification, "Binary Format", sections 5.5.2 and 5.5.3;
// component model, "Binary.md"). The bytes are untrusted. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mist::wasm {

/// The section that holds a package's MistPackage document.
inline constexpr std::string_view kPackageSection = "mistletoe.package";

/// The section that holds the versions that a package's dependencies were resolved to (docs/formats/lock.md).
inline constexpr std::string_view kLockSection = "mistletoe.lock";

/// The section that holds the files that an engine renders, where the module doesn't contain its engine
/// (docs/formats/abi.md).
inline constexpr std::string_view kFilesSection = "mistletoe.files";

/// A core module without any content, to which sections can be added.
inline constexpr std::string_view kEmptyModule{"\0asm\1\0\0\0", 8};

enum class BinaryKind : std::uint8_t { Module, Component };
/// By the header alone. Invalid, saying what it is instead: text (WAT), another file, an empty one. `name`
/// stands in the messages.
Result<BinaryKind> binary_kind(std::span<const std::byte> wasm, std::string_view name);

/// Fine for a whole core module. Invalid as binary_kind, for a component, and for a truncated module.
Status check_module(std::span<const std::byte> wasm, std::string_view name);

/// The content of the custom section `section` of a module or component, or nothing if there is none. Invalid
/// as above but for components, and if there is more than one.
Result<std::optional<std::string_view>> custom_section(std::span<const std::byte> wasm, std::string_view name,
                                                       std::string_view section);

/// The module or component with `content` as its custom section `section`, any earlier one removed. Invalid
/// as above.
Result<std::string> with_custom_section(std::span<const std::byte> wasm, std::string_view name,
                                        std::string_view section, std::string_view content);

/// The module without its exports whose names begin with `prefix`; everything else stays byte for byte.
/// Invalid as above.
Result<std::string> without_exports(std::span<const std::byte> wasm, std::string_view name,
                                    std::string_view prefix);

/// The module whose own memory can't grow beyond `most_bytes`, a multiple of 64 KiB: where it runs, growing
/// fails then. Invalid as above, and if it has no memory of its own, or begins with more.
Result<std::string> with_memory_limit(std::span<const std::byte> wasm, std::string_view name,
                                      std::uint64_t most_bytes);

/// The number of the section that holds the functions' bodies.
inline constexpr std::uint8_t kCodeSection = 10;
/// In a component, the numbers of the sections that are a module, or a component, themselves.
inline constexpr std::uint8_t kModuleSection = 1;
inline constexpr std::uint8_t kComponentSection = 4;

/// The contents of all sections that have this number, in order; a valid module has at most one, unless it is
/// 0. Invalid as above.
Result<std::vector<std::string_view>> contents_of_sections(std::span<const std::byte> wasm,
                                                           std::string_view name, std::uint8_t id);

/// A section of a module, but for custom ones.
struct NumberedSection {
  std::uint8_t id;
  std::string_view content;
};
/// All of them, in order. Invalid as above.
Result<std::vector<NumberedSection>> numbered_sections(std::span<const std::byte> wasm,
                                                       std::string_view name);

/// Takes an unsigned LEB128 number of at most 32 bits off `bytes`; nothing if there is none.
std::optional<std::uint32_t> take_number(std::string_view& bytes);
/// Takes so many bytes off `bytes`; nothing if there are fewer.
std::optional<std::string_view> take_bytes(std::string_view& bytes, std::size_t count);

}  // namespace mist::wasm
