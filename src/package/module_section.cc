#include "package/module_section.h"

#include <optional>

#include "encoding/json.h"
#include "encoding/yaml.h"
#include "package/metadata.h"

namespace mist::package {
namespace {

constexpr std::string_view kSection = "mistletoe.package";
constexpr std::string_view kHeader("\0asm\1\0\0\0", 8);

std::string leb128(std::uint64_t value) {
  std::string bytes;
  do {
    const auto low = static_cast<unsigned char>(value & 0x7f);
    value >>= 7;
    bytes += static_cast<char>(value != 0 ? low | 0x80 : low);
  } while (value != 0);
  return bytes;
}

// Reads an u32 in LEB128; nullopt when it is cut or too long.
std::optional<std::uint32_t> read_leb128(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (bytes.empty()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      if (value > UINT32_MAX) return std::nullopt;
      return static_cast<std::uint32_t>(value);
    }
  }
  return std::nullopt;
}

bool is_ours(std::string_view body) {
  const auto length = read_leb128(body);
  return length && *length == kSection.size() && body.starts_with(kSection);
}

}  // namespace

Result<std::string> with_metadata(std::string_view module, std::string_view metadata,
                                  std::string_view metadata_file) {
  encoding::YamlOptions options;
  options.strict = true;
  options.file = metadata_file;
  MIST_TRY(const encoding::Value document, encoding::parse_yaml(metadata, options));
  MIST_TRY_VOID([&]() -> Status {
    auto parsed = Metadata::parse(document, metadata_file);
    if (!parsed.ok()) return std::move(parsed).error();
    return {};
  }());
  if (module.starts_with(std::string_view("\0asm\x0d\0\1\0", 8)))
    return error(ErrorKind::Invalid,
                 "the module is a WebAssembly component; only core modules can be packages");
  if (!module.starts_with(kHeader))
    return error(ErrorKind::Invalid, "the module is no WebAssembly binary of version 1");

  std::string result(kHeader);
  std::string_view rest = module.substr(kHeader.size());
  while (!rest.empty()) {
    const std::string_view whole = rest;
    const char id = rest[0];
    rest.remove_prefix(1);
    const auto size = read_leb128(rest);
    if (!size || *size > rest.size())
      return error(ErrorKind::Invalid, "the module is damaged: a section at byte {} reaches beyond its end",
                   module.size() - whole.size());
    const std::string_view body = rest.substr(0, *size);
    rest.remove_prefix(*size);
    if (id == 0 && is_ours(body)) continue;
    result += whole.substr(0, whole.size() - rest.size());
  }
  const std::string content = encoding::to_json(document);
  const std::string body = leb128(kSection.size()) + std::string(kSection) + content;
  result += '\0';
  result += leb128(body.size());
  result += body;
  return result;
}

}  // namespace mist::package
