#include "wasm/binary.h"

#include <cstdint>
#include <vector>

#include "base/text.h"

namespace mist::wasm {
namespace {

constexpr std::string_view kMagic{"\0asm", 4};
constexpr std::string_view kModuleVersion{"\1\0\0\0", 4};
constexpr std::string_view kComponentVersion{"\x0d\0\1\0", 4};
constexpr std::string_view kComponentLayer{"\1\0", 2};  // of the version field's second half
constexpr std::uint8_t kCustom = 0;
constexpr std::uint8_t kMemories = 5;
constexpr std::uint8_t kExports = 7;
constexpr std::uint64_t kWasmPage = 65536;

struct Section {
  std::uint8_t id = 0;
  std::string_view whole;    // with its id and length
  std::string_view name;     // of a custom section
  std::string_view content;  // of a custom section: what follows the name; of others all
};

void append_number(std::string& out, std::size_t value) {
  do {
    const auto low = static_cast<unsigned char>(value & 0x7f);
    value >>= 7;
    out.push_back(static_cast<char>(value != 0 ? low | 0x80 : low));
  } while (value != 0);
}

std::string_view view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The kind of file that we were most likely given in place of a module.
std::string_view describe(std::string_view bytes) {
  const std::string_view text = trim(bytes.substr(0, 4096));
  if (bytes.empty()) return "the file is empty";
  if (text.starts_with("(module") || text.starts_with(";;"))
    return "it looks like WebAssembly text, not binary";
  if (text.starts_with("version https://git-lfs")) return "it is a pointer of git LFS, not the file itself";
  if (text.starts_with("<")) return "it looks like an HTML or XML page";
  if (bytes.starts_with("\x1f\x8b")) return "it is a gzip archive";
  if (bytes.starts_with("PK\x03\x04")) return "it is a zip archive";
  if (bytes.starts_with("\x7f"
                        "ELF"))
    return "it is a native program";
  return "it does not begin with \\0asm";
}

Error not_a_module(std::string_view name, std::string_view because) {
  return error(ErrorKind::Invalid, "{} is not a WebAssembly module", name).with_because(std::string(because));
}

Error damaged(std::string_view name, std::size_t offset, std::string_view because) {
  return error(ErrorKind::Invalid, "the WebAssembly module {} is damaged at byte {}", name, offset)
      .with_because(std::string(because))
      .with_hint("fetch or build it again");
}

Result<BinaryKind> kind_of(std::string_view bytes, std::string_view name) {
  if (bytes.size() < 8 && !bytes.empty() && kMagic.starts_with(bytes.substr(0, 4)))
    return not_a_module(name, "it ends inside its header");
  if (!bytes.starts_with(kMagic)) return not_a_module(name, describe(bytes));
  const std::string_view version = bytes.substr(4, 4);
  if (version == kModuleVersion) return BinaryKind::Module;
  if (version == kComponentVersion) return BinaryKind::Component;
  if (version.substr(2) == kComponentLayer)
    return not_a_module(name, "it is a component, but its version of the binary format is unknown");
  return not_a_module(name, "its version of the binary format is unknown");
}

Result<std::vector<Section>> sections_of(std::span<const std::byte> wasm, std::string_view name) {
  const std::string_view bytes = view(wasm);
  MIST_TRY([[maybe_unused]] const BinaryKind kind, kind_of(bytes, name));
  std::vector<Section> sections;
  std::string_view rest = bytes.substr(8);
  while (!rest.empty()) {
    const std::size_t offset = bytes.size() - rest.size();
    const std::string_view begin = rest;
    Section section;
    section.id = static_cast<std::uint8_t>(rest.front());
    rest.remove_prefix(1);
    const auto size = take_number(rest);
    if (!size) return damaged(name, offset, "a section has no valid length");
    auto body = take_bytes(rest, *size);
    if (!body)
      return damaged(name, offset,
                     fmt::format("a section should have {} bytes, but only {} are left: it was truncated",
                                 *size, rest.size()));
    section.whole = begin.substr(0, begin.size() - rest.size());
    if (section.id == kCustom) {
      const auto length = take_number(*body);
      const auto section_name = length ? take_bytes(*body, *length) : std::nullopt;
      if (!section_name || !is_valid_utf8(*section_name))
        return damaged(name, offset, "a custom section has no valid name");
      section.name = *section_name;
    }
    section.content = *body;
    sections.push_back(section);
  }
  return sections;
}

// Pages with which the only memory of a memory section begins; nothing if it isn't one of at most 4 GiB.
std::optional<std::uint32_t> least_of_one_memory(std::string_view content) {
  const auto count = take_number(content);
  const auto flags = take_number(content);
  if (count != 1 || !flags || *flags > 1) return std::nullopt;
  return take_number(content);
}

// The content of an export section without those exports; nothing if it isn't one.
std::optional<std::string> remaining_exports(std::string_view content, std::string_view prefix) {
  const auto count = take_number(content);
  if (!count) return std::nullopt;
  std::string kept;
  std::size_t left = 0;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::string_view begin = content;
    const auto length = take_number(content);
    const auto name = length ? take_bytes(content, *length) : std::nullopt;
    if (!name || !take_bytes(content, 1) || !take_number(content)) return std::nullopt;
    if (name->starts_with(prefix)) continue;
    kept += begin.substr(0, begin.size() - content.size());
    ++left;
  }
  std::string all;
  append_number(all, left);
  return content.empty() ? std::optional(all + kept) : std::nullopt;
}

}  // namespace

std::optional<std::string_view> take_bytes(std::string_view& bytes, std::size_t count) {
  if (count > bytes.size()) return std::nullopt;
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

std::optional<std::uint32_t> take_number(std::string_view& bytes) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 5 && i < bytes.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    if (i == 4 && byte > 0x0f) return std::nullopt;  // more than 32 bits, or a sixth byte
    value |= static_cast<std::uint32_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

Result<BinaryKind> binary_kind(std::span<const std::byte> wasm, std::string_view name) {
  return kind_of(view(wasm), name);
}

Status check_module(std::span<const std::byte> wasm, std::string_view name) {
  MIST_TRY(const BinaryKind kind, binary_kind(wasm, name));
  if (kind == BinaryKind::Component)
    return not_a_module(name, "it is a component")
        .with_hint("only a package itself may be one; build it for wasm32-wasip1");
  MIST_TRY([[maybe_unused]] const auto sections, sections_of(wasm, name));
  return {};
}

Result<std::optional<std::string_view>> custom_section(std::span<const std::byte> wasm, std::string_view name,
                                                       std::string_view section) {
  MIST_TRY(const auto sections, sections_of(wasm, name));
  std::optional<std::string_view> found;
  for (const Section& each : sections) {
    if (each.id != kCustom || each.name != section) continue;
    if (found) return error(ErrorKind::Invalid, "{} has more than one custom section \"{}\"", name, section);
    found = each.content;
  }
  return found;
}

Result<std::vector<std::string_view>> contents_of_sections(std::span<const std::byte> wasm,
                                                           std::string_view name, std::uint8_t id) {
  MIST_TRY(const auto sections, sections_of(wasm, name));
  std::vector<std::string_view> contents;
  for (const Section& each : sections)
    if (each.id == id) contents.push_back(each.content);
  return contents;
}

Result<std::vector<NumberedSection>> numbered_sections(std::span<const std::byte> wasm,
                                                       std::string_view name) {
  MIST_TRY(const auto sections, sections_of(wasm, name));
  std::vector<NumberedSection> numbered;
  for (const Section& each : sections)
    if (each.id != kCustom) numbered.push_back({each.id, each.content});
  return numbered;
}

Result<std::string> without_exports(std::span<const std::byte> wasm, std::string_view name,
                                    std::string_view prefix) {
  MIST_TRY(const auto sections, sections_of(wasm, name));
  std::string out(view(wasm).substr(0, 8));
  for (const Section& each : sections) {
    if (each.id != kExports) {
      out += each.whole;
      continue;
    }
    const auto content = remaining_exports(each.content, prefix);
    if (!content)
      return damaged(name, static_cast<std::size_t>(each.whole.data() - view(wasm).data()),
                     "its exports can't be read");
    out.push_back(static_cast<char>(kExports));
    append_number(out, content->size());
    out += *content;
  }
  return out;
}

Result<std::string> with_memory_limit(std::span<const std::byte> wasm, std::string_view name,
                                      std::uint64_t most_bytes) {
  const std::uint64_t most = most_bytes / kWasmPage;
  const auto unfit = [&](std::string_view because) {
    return error(ErrorKind::Invalid, "the memory of {} can't be limited", name)
        .with_because(std::string(because));
  };
  MIST_TRY(const auto sections, sections_of(wasm, name));
  std::string out(view(wasm).substr(0, 8));
  bool found = false;
  for (const Section& each : sections) {
    if (each.id != kMemories) {
      out += each.whole;
      continue;
    }
    const auto least = least_of_one_memory(each.content);
    if (!least) return unfit("it has several memories, or one of an unknown kind");
    if (*least > most) return unfit(fmt::format("it begins with {} pages of 64 KiB", *least));
    found = true;
    std::string content{"\1\1", 2};  // one memory, with a least and a most
    append_number(content, *least);
    append_number(content, most);
    out.push_back(static_cast<char>(kMemories));
    append_number(out, content.size());
    out += content;
  }
  if (!found) return unfit("it has none");
  return out;
}

Result<std::string> with_custom_section(std::span<const std::byte> wasm, std::string_view name,
                                        std::string_view section, std::string_view content) {
  MIST_TRY(const auto sections, sections_of(wasm, name));
  std::string out(view(wasm).substr(0, 8));
  for (const Section& each : sections)
    if (each.id != kCustom || each.name != section) out += each.whole;
  std::string body;
  append_number(body, section.size());
  body += section;
  body += content;
  out.push_back(static_cast<char>(kCustom));
  append_number(out, body.size());
  out += body;
  return out;
}

}  // namespace mist::wasm
