#pragma once
// Reads the outer structure of a WebAssembly binary without running or compiling it: is it a core module, and
// what is in a custom section (core specification, "Binary Format", sections 5.5.2 and 5.5.3). The bytes are
// untrusted. Pure; any thread.

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

/// Fine for a whole core module. Invalid, saying what it is instead: a component, text (WAT), another file, a
/// truncated module. `name` stands in the messages.
Status check_module(std::span<const std::byte> wasm, std::string_view name);

/// The content of the custom section `section`, or nothing if there is none. Invalid as above, and if there
/// is more than one.
Result<std::optional<std::string_view>> custom_section(std::span<const std::byte> wasm, std::string_view name,
                                                       std::string_view section);

/// The module with `content` as its custom section `section`, any earlier one removed. Invalid as above.
Result<std::string> with_custom_section(std::span<const std::byte> wasm, std::string_view name,
                                        std::string_view section, std::string_view content);

/// The number of the section that holds the functions' bodies.
inline constexpr std::uint8_t kCodeSection = 10;

/// The contents of all sections that have this number, in order; a valid module has at most one, unless it is
/// 0. Invalid as above.
Result<std::vector<std::string_view>> contents_of_sections(std::span<const std::byte> wasm,
                                                           std::string_view name, std::uint8_t id);

/// Takes an unsigned LEB128 number of at most 32 bits off `bytes`; nothing if there is none.
std::optional<std::uint32_t> take_number(std::string_view& bytes);

}  // namespace mist::wasm
