#include "catalog/browser_module.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "crypto/digest.h"
#include "wasm/binary.h"
#include "wasm/compile_limits.h"

namespace mist::catalog {
namespace {

// Core specification, "Binary Format".
constexpr std::uint8_t kTypes = 1, kTables = 4, kExports = 7, kLastSection = 12;
constexpr char kFunctionType = 0x60;
constexpr std::string_view kValueTypes = "\x7f\x7e\x7d\x7c\x7b\x70\x6f";  // numbers, vectors, references

// A browser lets each grow to ten million elements.
constexpr std::uint32_t kMostTables = 4;

bool take_value_types(std::string_view& content) {
  const auto count = wasm::take_number(content);
  const auto types = count ? wasm::take_bytes(content, *count) : std::nullopt;
  return types && types->find_first_not_of(kValueTypes) == std::string_view::npos;
}

bool has_function_types_only(std::string_view content) {
  const auto count = wasm::take_number(content);
  for (std::uint32_t i = 0; count && i < *count; ++i) {
    const auto form = wasm::take_bytes(content, 1);
    if (!form || form->front() != kFunctionType || !take_value_types(content) || !take_value_types(content))
      return false;
  }
  return count.has_value();
}

bool exports_function(std::string_view content, std::string_view name) {
  const auto count = wasm::take_number(content);
  for (std::uint32_t i = 0; count && i < *count; ++i) {
    const auto length = wasm::take_number(content);
    const auto found = length ? wasm::take_bytes(content, *length) : std::nullopt;
    const auto kind = wasm::take_bytes(content, 1);
    if (!found || !kind || !wasm::take_number(content)) return false;
    if (*found == name && kind->front() == '\0') return true;
  }
  return false;
}

Error beyond_packages(std::string_view what) {
  return error(ErrorKind::Invalid, "its module has {}, which packages can't use", what);
}

}  // namespace

Status check_for_browsers(std::string_view module, const std::string& name) {
  const auto code = crypto::as_bytes(module);
  MIST_TRY(const std::vector<wasm::NumberedSection> sections, wasm::numbered_sections(code, name));
  bool has_entry = false;
  for (auto [id, content] : sections) {
    if (id > kLastSection) return beyond_packages("exceptions or sections of another kind");
    if (id == kTypes && !has_function_types_only(content))
      return beyond_packages("types of other things than functions");
    if (id == kTables && wasm::take_number(content).value_or(kMostTables + 1) > kMostTables)
      return error(ErrorKind::Invalid, "its module has more than {} tables", kMostTables);
    if (id == kExports)
      has_entry = exports_function(content, "_start") || exports_function(content, "mistletoe_generate");
  }
  if (!has_entry)
    return error(
        ErrorKind::Invalid,
        "its module exports neither _start nor mistletoe_generate, and a preview calls nothing else");
  return wasm::check_shape(code, name);
}

}  // namespace mist::catalog
