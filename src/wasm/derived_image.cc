// StartImage::of_module(): what a module that was prepared from an engine begins with, read off its bytes.
// Core specification, "Binary Format", sections 5.3 to 5.5.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "wasm/binary.h"
#include "wasm/snapshot.h"

namespace mist::wasm {
namespace {

// Numbers of sections.
constexpr std::uint8_t kMemory = 5, kGlobal = 6, kExport = 7, kStart = 8, kData = 11, kDataCount = 12;
// Kinds of exports.
constexpr std::uint8_t kMemoryKind = 2, kGlobalKind = 3;
constexpr std::string_view kPreparedExports = "__wizer_";
constexpr std::string_view kStartUp = "_initialize";
constexpr std::size_t kGuestPage = 65536, kHostPage = 4096;
// More than any engine may have.
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 30;

std::optional<std::uint8_t> take_byte(std::string_view& bytes) {
  if (bytes.empty()) return std::nullopt;
  const auto byte = static_cast<std::uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  return byte;
}

// A signed LEB128 number of at most 64 bits.
std::optional<std::int64_t> take_signed(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    const auto byte = take_byte(bytes);
    if (!byte) return std::nullopt;
    if (shift < 64) value |= static_cast<std::uint64_t>(*byte & 0x7f) << shift;
    if ((*byte & 0x80) != 0) continue;
    if (shift + 7 < 64 && (*byte & 0x40) != 0) value |= ~std::uint64_t{0} << (shift + 7);
    return static_cast<std::int64_t>(value);
  }
  return std::nullopt;
}

struct ModuleExport {
  std::uint8_t kind = 0;
  std::uint32_t index = 0;
  friend bool operator==(const ModuleExport&, const ModuleExport&) = default;
};
using Exports = std::map<std::string, ModuleExport, std::less<>>;

std::optional<Exports> exports_in(std::string_view content) {
  const auto count = take_number(content);
  if (!count) return std::nullopt;
  Exports exports;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto length = take_number(content);
    const auto name = length ? take_bytes(content, *length) : std::nullopt;
    const auto kind = name ? take_byte(content) : std::nullopt;
    const auto index = kind ? take_number(content) : std::nullopt;
    if (!index || !exports.emplace(*name, ModuleExport{*kind, *index}).second) return std::nullopt;
  }
  return content.empty() ? std::optional(std::move(exports)) : std::nullopt;
}

struct Memory {
  std::uint32_t least = 0;  // in pages of 64 KiB
  std::optional<std::uint32_t> most = {};
};
// The only one that a module has.
std::optional<Memory> memory_in(std::string_view content) {
  const auto count = take_number(content);
  const auto flags = take_number(content);
  if (count != 1 || !flags || *flags > 1) return std::nullopt;
  const auto least = take_number(content);
  if (!least) return std::nullopt;
  Memory memory{*least, std::nullopt};
  if (*flags == 1) {
    memory.most = take_number(content);
    if (!memory.most) return std::nullopt;
  }
  return content.empty() ? std::optional(memory) : std::nullopt;
}

struct InitialGlobal {
  std::uint8_t type = 0;
  std::uint8_t is_mutable = 0;
  std::string_view initial;  // the expression, whose value `bits` has where it is a constant number
  std::optional<std::array<std::uint8_t, 16>> bits = {};
};

// A constant expression up to its end. False: of a kind that no engine has.
bool take_initial(std::string_view& content, InitialGlobal& global) {
  constexpr std::uint8_t kI32 = 0x41, kI64 = 0x42, kF32 = 0x43, kF64 = 0x44, kGlobalGet = 0x23,
                         kRefNull = 0xd0, kRefFunction = 0xd2, kEnd = 0x0b;
  const std::string_view begin = content;
  const auto opcode = take_byte(content);
  if (!opcode) return false;
  std::array<std::uint8_t, 16> bits{};
  std::optional<std::uint64_t> number;
  std::size_t size = 0;
  switch (*opcode) {
    case kI32:
    case kI64:
      if (const auto value = take_signed(content)) number = static_cast<std::uint64_t>(*value);
      size = *opcode == kI32 ? 4 : 8;
      if (!number) return false;
      std::memcpy(bits.data(), &*number, size);  // little endian, as WebAssembly and its hosts here are
      break;
    case kF32:
    case kF64: {
      const auto value = take_bytes(content, *opcode == kF32 ? 4 : 8);
      if (!value) return false;
      size = value->size();
      std::memcpy(bits.data(), value->data(), size);
      break;
    }
    case kGlobalGet:
    case kRefFunction:
      if (!take_number(content)) return false;
      break;
    case kRefNull:
      if (!take_byte(content)) return false;
      break;
    default:
      return false;
  }
  if (take_byte(content) != kEnd) return false;
  global.initial = begin.substr(0, begin.size() - content.size());
  if (size != 0) global.bits = bits;
  return true;
}

std::optional<std::vector<InitialGlobal>> globals_in(std::string_view content) {
  const auto count = take_number(content);
  if (!count || *count > content.size()) return std::nullopt;
  std::vector<InitialGlobal> globals(*count);
  for (InitialGlobal& global : globals) {
    const auto type = take_byte(content);
    const auto is_mutable = take_byte(content);
    if (!type || !is_mutable || !take_initial(content, global)) return std::nullopt;
    global.type = *type;
    global.is_mutable = *is_mutable;
  }
  return content.empty() ? std::optional(std::move(globals)) : std::nullopt;
}

struct Segment {
  std::size_t offset = 0;
  std::string_view bytes;
};

// Nullopt: one isn't put into the memory at a fixed place, or isn't within its first `size` bytes.
std::optional<std::vector<Segment>> segments_in(std::string_view content, std::size_t size) {
  const auto count = take_number(content);
  if (!count || *count > content.size()) return std::nullopt;
  std::vector<Segment> segments;
  segments.reserve(*count);
  for (std::uint32_t i = 0; i < *count; ++i) {
    constexpr std::uint32_t kActive = 0, kPassive = 1;  // active: of memory 0
    const auto kind = take_number(content);
    if (kind == kPassive) {
      // Not yet written into any module's memory; segments that were merged are empty.
      if (take_number(content) != 0) return std::nullopt;
      continue;
    }
    InitialGlobal offset;
    const bool fixed = kind == kActive && content.starts_with('\x41') && take_initial(content, offset);
    const auto length = fixed ? take_number(content) : std::nullopt;
    const auto bytes = length ? take_bytes(content, *length) : std::nullopt;
    if (!bytes) return std::nullopt;
    std::uint32_t at = 0;
    std::memcpy(&at, offset.bits->data(), sizeof at);
    if (at > size || bytes->size() > size - at) return std::nullopt;
    segments.push_back({at, *bytes});
  }
  return content.empty() ? std::optional(std::move(segments)) : std::nullopt;
}

// The sections of a module that preparing it may change, and those that it may not.
struct Parts {
  std::vector<NumberedSection> fixed;
  std::optional<std::string_view> memory, globals, exports, data;
};

std::optional<Parts> parts_of(std::span<const std::byte> wasm) {
  const auto sections = numbered_sections(wasm, "the module");
  if (!sections.ok()) return std::nullopt;
  Parts parts;
  for (const NumberedSection& section : *sections) {
    std::optional<std::string_view>* part = nullptr;
    if (section.id == kMemory) part = &parts.memory;
    if (section.id == kGlobal) part = &parts.globals;
    if (section.id == kExport) part = &parts.exports;
    if (section.id == kData) part = &parts.data;
    if (section.id == kStart) return std::nullopt;
    if (section.id == kDataCount) continue;  // it only announces `data`
    parts.fixed.push_back({section.id, part == nullptr ? section.content : std::string_view()});
    if (part == nullptr) continue;
    if (*part) return std::nullopt;
    *part = section.content;
  }
  // Without data there is nothing to share.
  const bool whole = parts.memory && parts.exports && parts.data;
  return whole ? std::optional(std::move(parts)) : std::nullopt;
}

struct FreeBytes {
  void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
};
// Of zeros, which take no memory until they are written.
using Image = std::unique_ptr<std::byte[], FreeBytes>;
Image image_of(const std::vector<Segment>& segments, std::size_t size, std::vector<bool>& touched) {
  Image image(static_cast<std::byte*>(std::calloc(std::max<std::size_t>(size, 1), 1)));
  if (!image) throw std::bad_alloc();
  for (const Segment& segment : segments) {
    if (segment.bytes.empty()) continue;
    std::memcpy(image.get() + segment.offset, segment.bytes.data(), segment.bytes.size());
    for (std::size_t page = segment.offset / kHostPage;
         page <= (segment.offset + segment.bytes.size() - 1) / kHostPage; ++page)
      touched[page] = true;
  }
  return image;
}

std::vector<StartImage::Page> changed(const Image& before, const Image& now,
                                      const std::vector<bool>& touched) {
  std::vector<StartImage::Page> pages;
  for (std::size_t page = 0; page < touched.size(); ++page) {
    const std::size_t at = page * kHostPage;
    if (!touched[page] || std::memcmp(before.get() + at, now.get() + at, kHostPage) == 0) continue;
    if (pages.empty() || pages.back().offset + pages.back().bytes.size() != at) pages.push_back({at, {}});
    pages.back().bytes.insert(pages.back().bytes.end(), now.get() + at, now.get() + at + kHostPage);
  }
  return pages;
}

bool same_sections(const std::vector<NumberedSection>& a, const std::vector<NumberedSection>& b) {
  return std::ranges::equal(a, b, [](const NumberedSection& x, const NumberedSection& y) {
    return x.id == y.id && x.content == y.content;
  });
}

}  // namespace

std::optional<StartImage> StartImage::of_module(std::span<const std::byte> wasm,
                                                std::span<const std::byte> base) {
  const auto own = parts_of(wasm), parent = parts_of(base);
  if (!own || !parent || own->globals.has_value() != parent->globals.has_value() ||
      !same_sections(own->fixed, parent->fixed))
    return std::nullopt;
  const auto memory = memory_in(*own->memory), before = memory_in(*parent->memory);
  if (!memory || !before || memory->most != before->most || memory->least < before->least)
    return std::nullopt;
  const std::uint64_t size = std::uint64_t{memory->least} * kGuestPage;
  if (size > kMostMemory) return std::nullopt;

  const auto exports = exports_in(*own->exports), all = exports_in(*parent->exports);
  if (!exports || !all || exports->contains(kStartUp)) return std::nullopt;
  for (const auto& [name, each] : *exports) {
    const auto same = all->find(name);
    if (same == all->end() || same->second != each) return std::nullopt;
  }
  StartImage image;
  std::map<std::uint32_t, std::string> global_names;
  for (const auto& [name, each] : *all) {
    if (!name.starts_with(kPreparedExports)) continue;
    if (each.kind == kMemoryKind) image.memory_ = name;
    if (each.kind == kGlobalKind) global_names.emplace(each.index, name);
  }
  if (image.memory_.empty()) return std::nullopt;

  const auto globals = globals_in(own->globals.value_or(std::string_view("\0", 1)));
  const auto old = globals_in(parent->globals.value_or(std::string_view("\0", 1)));
  if (!globals || !old || globals->size() != old->size()) return std::nullopt;
  for (std::uint32_t i = 0; i < globals->size(); ++i) {
    const InitialGlobal &now = (*globals)[i], &was = (*old)[i];
    if (now.type != was.type || now.is_mutable != was.is_mutable) return std::nullopt;
    if (now.initial == was.initial) continue;
    const auto name = global_names.find(i);
    if (now.is_mutable == 0 || !now.bits || !was.bits || name == global_names.end()) return std::nullopt;
    image.globals_.push_back({name->second, *now.bits});
  }

  const auto data = segments_in(*own->data, size);
  const auto data_before = segments_in(*parent->data, std::uint64_t{before->least} * kGuestPage);
  if (!data || !data_before) return std::nullopt;
  std::vector<bool> touched(size / kHostPage);
  const Image then = image_of(*data_before, size, touched), now = image_of(*data, size, touched);
  image.memory_size_ = size;
  image.pages_ = changed(then, now, touched);
  return image;
}

namespace {

constexpr std::string_view kImageMagic = "mistletoe start image 1\n";

void append(std::string& out, std::uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void append(std::string& out, std::string_view text) {
  append(out, text.size());
  out += text;
}

struct Reader {
  std::string_view rest;
  bool fine = true;

  std::uint64_t number() {
    std::uint64_t value = 0;
    const auto bytes = take_bytes(rest, sizeof value);
    fine = fine && bytes.has_value();
    if (fine) std::memcpy(&value, bytes->data(), sizeof value);
    return value;
  }
  std::string_view text() {
    const std::uint64_t size = number();
    const auto bytes = fine ? take_bytes(rest, size) : std::nullopt;
    fine = fine && bytes.has_value();
    return fine ? *bytes : std::string_view();
  }
};

}  // namespace

std::string StartImage::to_bytes() const {
  std::string out(kImageMagic);
  out.reserve(bytes() + 4096);
  append(out, memory_);
  append(out, memory_size_);
  append(out, globals_.size());
  for (const Global& each : globals_) {
    append(out, each.name);
    append(out, std::string_view(reinterpret_cast<const char*>(each.bits.data()), each.bits.size()));
  }
  append(out, pages_.size());
  for (const Page& each : pages_) {
    append(out, each.offset);
    append(out, std::string_view(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size()));
  }
  return out;
}

std::optional<StartImage> StartImage::from_bytes(std::string_view bytes) {
  if (!bytes.starts_with(kImageMagic)) return std::nullopt;
  Reader reader{bytes.substr(kImageMagic.size())};
  StartImage image;
  image.memory_ = reader.text();
  image.memory_size_ = reader.number();
  const std::uint64_t globals = reader.number();
  for (std::uint64_t i = 0; i < globals && reader.fine; ++i) {
    Global global{.name = std::string(reader.text()), .bits = {}};
    const std::string_view bits = reader.text();
    reader.fine = reader.fine && bits.size() == global.bits.size();
    if (reader.fine) std::memcpy(global.bits.data(), bits.data(), bits.size());
    image.globals_.push_back(std::move(global));
  }
  const std::uint64_t pages = reader.number();
  for (std::uint64_t i = 0; i < pages && reader.fine; ++i) {
    Page page{.offset = reader.number(), .bytes = {}};
    const auto content = std::as_bytes(std::span(reader.text()));
    page.bytes.assign(content.begin(), content.end());
    // A page must lie within the memory.
    reader.fine = reader.fine && page.offset <= image.memory_size_ &&
                  page.bytes.size() <= image.memory_size_ - page.offset;
    image.pages_.push_back(std::move(page));
  }
  return reader.fine && reader.rest.empty() ? std::optional(std::move(image)) : std::nullopt;
}

}  // namespace mist::wasm
