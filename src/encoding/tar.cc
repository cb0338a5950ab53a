#include "encoding/tar.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace mist::encoding {
namespace {

constexpr std::size_t kMaxExtension = 64 << 10;  // pax records, a long name
constexpr std::size_t kLongestPath = 4096;       // of Linux

// Fields of a header (POSIX.1-2017, pax, "ustar Interchange Format"): offset and length.
struct Field {
  std::size_t offset, length;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kType{156, 1}, kMagic{257, 8}, kPrefix{345, 155};

std::string_view field(std::string_view header, Field where) {
  return header.substr(where.offset, where.length);
}

std::string_view text_of(std::string_view bytes) { return bytes.substr(0, bytes.find('\0')); }

std::optional<std::uint64_t> octal(std::string_view text) {
  text = trim(text_of(text));
  std::uint64_t number = 0;
  if (text.size() > 20) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    number = number << 3 | static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

std::uint64_t checksum_of(std::string_view header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool own = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.length;
    sum += own ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

std::size_t padded(std::uint64_t size) {
  return static_cast<std::size_t>((size + kTarBlock - 1) / kTarBlock * kTarBlock);
}

// The attributes that pax records and GNU's long name give the next file.
struct Overrides {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
};

class ArchiveReader {
 public:
  ArchiveReader(std::string_view archive, std::string_view name, const TarLimits& limits)
      : rest_(archive), name_(name), limits_(limits) {}

  Result<std::vector<TarFile>> read() {
    while (!rest_.empty()) {
      if (rest_.size() < kTarBlock) return bad("it ends in the middle of a header");
      const std::string_view header = rest_.substr(0, kTarBlock);
      if (header.find_first_not_of('\0') == std::string_view::npos) return std::move(files_);
      rest_.remove_prefix(kTarBlock);
      MIST_TRY_VOID(entry(header));
    }
    return bad("it has no end");
  }

 private:
  Error bad(std::string_view because) const {
    return error(ErrorKind::Invalid, "{} is damaged, or holds what no package may hold", name_)
        .with_because(std::string(because));
  }

  Status entry(std::string_view header) {
    if (octal(field(header, kChecksum)) != checksum_of(header)) return bad("a header's checksum is wrong");
    const std::optional<std::uint64_t> written = octal(field(header, kSize));
    if (!written) return bad("a header has no size");
    const char type = field(header, kType).front();
    const bool extension = type == 'x' || type == 'g' || type == 'L';
    const std::uint64_t size = extension ? *written : next_.size.value_or(*written);
    if (size > rest_.size() || padded(size) > rest_.size()) return bad("it ends in the middle of a file");
    const std::string_view content = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(padded(size));
    if (extension && size > kMaxExtension) return bad("an extended header is too long");
    switch (type) {
      case 'g':  // of all files: comments
        return {};
      case 'x':
        return pax(content);
      case 'L':
        next_.path = std::string(text_of(content));
        return {};
      case '5':
        next_ = {};
        return {};
      case '0':
      case '7':
      case '\0':
        return file(header, content);
      case '1':
      case '2':
        return bad(fmt::format("{} is a link", escape_controls(path_of(header))));
      default:
        return bad(fmt::format("{} is neither a file nor a directory", escape_controls(path_of(header))));
    }
  }

  std::string path_of(std::string_view header) const {
    if (next_.path) return *next_.path;
    const std::string_view name = text_of(field(header, kName));
    const bool ustar = field(header, kMagic).starts_with("ustar");
    const std::string_view prefix = ustar ? text_of(field(header, kPrefix)) : std::string_view();
    return prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
  }

  Status file(std::string_view header, std::string_view content) {
    std::string path = path_of(header);
    next_ = {};
    if (path.size() > kLongestPath) return bad("a file's path is too long");
    std::size_t dots = 0;
    while (std::string_view(path).substr(dots).starts_with("./")) dots += 2;
    path.erase(0, dots);
    if (path.ends_with('/')) return {};  // a directory of old archives
    used_ += content.size();
    if (used_ > limits_.bytes) return bad(fmt::format("it unpacks to more than {} bytes", limits_.bytes));
    if (files_.size() == limits_.files) return bad(fmt::format("it has more than {} files", limits_.files));
    files_.push_back({std::move(path), std::string(content)});
    return {};
  }

  // "<length> <key>=<value>\n" again and again.
  Status pax(std::string_view records) {
    while (!records.empty()) {
      const auto blank = records.find(' ');
      std::size_t length = 0;
      for (const char c : records.substr(0, blank)) {
        if (c < '0' || c > '9' || length > kMaxExtension) return bad("an extended header can't be read");
        length = length * 10 + static_cast<std::size_t>(c - '0');
      }
      if (blank == std::string_view::npos || length <= blank + 1 || length > records.size() ||
          records[length - 1] != '\n')
        return bad("an extended header can't be read");
      const std::string_view record = records.substr(blank + 1, length - blank - 2);
      records.remove_prefix(length);
      const auto equals = record.find('=');
      if (equals == std::string_view::npos) return bad("an extended header can't be read");
      const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
      if (key == "path") next_.path = std::string(value);
      if (key == "size") {
        std::uint64_t size = 0;
        if (value.empty() || value.size() > 15) return bad("a file's size can't be read");
        for (const char c : value) {
          if (c < '0' || c > '9') return bad("a file's size can't be read");
          size = size * 10 + static_cast<std::uint64_t>(c - '0');
        }
        next_.size = size;
      }
    }
    return {};
  }

  std::string_view rest_;
  std::string_view name_;
  const TarLimits& limits_;
  Overrides next_;
  std::vector<TarFile> files_;
  std::uint64_t used_ = 0;
};

void put(std::string& header, Field where, std::string_view text) {
  header.replace(where.offset, std::min(text.size(), where.length), text.substr(0, where.length));
}

std::string header_of(std::string_view name, char type, std::uint64_t size) {
  std::string header(kTarBlock, '\0');
  put(header, kName, name);
  put(header, kMode, "0000644");
  put(header, kUid, "0000000");
  put(header, kGid, "0000000");
  put(header, kSize, fmt::format("{:011o}", size));
  put(header, kTime, "00000000000");
  put(header, kType, std::string_view(&type, 1));
  put(header, kMagic,
      std::string_view("ustar\0"
                       "00",
                       8));
  put(header, kChecksum, fmt::format("{:06o}{}{}", checksum_of(header), '\0', ' '));
  return header;
}

void add_entry(std::string& archive, std::string_view name, char type, std::string_view content) {
  archive += header_of(name, type, content.size());
  archive += content;
  archive.append(padded(content.size()) - content.size(), '\0');
}

// The length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t without = key.size() + value.size() + 3;
  std::size_t length = without + 1;
  while (fmt::format("{}", length).size() + without != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace

Result<std::vector<TarFile>> read_tar(std::string_view archive, std::string_view name,
                                      const TarLimits& limits) {
  return ArchiveReader(archive, name, limits).read();
}

std::string write_tar(std::span<const TarFile> files) {
  std::string archive;
  for (const TarFile& file : files) {
    if (file.path.size() > kName.length) add_entry(archive, "pax", 'x', pax_record("path", file.path));
    add_entry(archive, file.path, '0', file.bytes);
  }
  archive += tar_end();
  return archive;
}

std::string tar_header(std::string_view path, std::uint64_t size) { return header_of(path, '0', size); }

std::size_t tar_padding(std::uint64_t size) {
  return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

std::string tar_end() { return std::string(2 * kTarBlock, '\0'); }

Result<std::optional<TarHeader>> read_tar_header(std::string_view block, std::string_view name) {
  const auto bad = [&](std::string_view because) {
    return error(ErrorKind::Invalid, "{} is damaged, or holds what it may not hold", name)
        .with_because(std::string(because));
  };
  if (block.size() < kTarBlock) return bad("it ends in the middle of a header");
  if (block.find_first_not_of('\0') == std::string_view::npos) return std::optional<TarHeader>();
  if (octal(field(block, kChecksum)) != checksum_of(block)) return bad("a header's checksum is wrong");
  const std::optional<std::uint64_t> size = octal(field(block, kSize));
  if (!size) return bad("a header has no size");
  std::string_view path = text_of(field(block, kName));
  while (path.starts_with("./")) path.remove_prefix(2);
  const char type = field(block, kType).front();
  if (type == '1' || type == '2') return bad(fmt::format("{} is a link", escape_controls(path)));
  const bool is_file = type == '0' || type == '7' || type == '\0';
  const bool is_skipped = type == '5' || type == 'x' || type == 'g' || type == 'L';
  if (!is_file && !is_skipped)
    return bad(fmt::format("{} is neither a file nor a directory", escape_controls(path)));
  return std::optional(TarHeader{std::string(path), *size, is_file});
}

}  // namespace mist::encoding
