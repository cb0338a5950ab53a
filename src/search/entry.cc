#include "search/entry.h"

#include <algorithm>
#include <unordered_set>

#include "base/fnv.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::search {
namespace {

using encoding::Value;

constexpr std::string_view kApiVersion = "mistletoe.dev/v1alpha1";
constexpr std::string_view kKind = "PackageIndex";
constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostName = 255;
constexpr std::size_t kMostItems = 100;
constexpr std::size_t kMostValuesInLine = 2000;
constexpr std::size_t kMostLine = 256 << 10;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name_character(char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-' || c == '+'; }

// As references have it (docs/formats/registry.md): no empty, "." or ".." segment.
bool is_path(std::string_view text) {
  if (text.empty() || text.size() > kMostName) return false;
  return std::ranges::all_of(split(text, '/'), [](std::string_view segment) {
    return !segment.empty() && segment != "." && segment != ".." &&
           std::ranges::all_of(segment, is_name_character);
  });
}

bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= 128 && is_alphanumeric(text.front()) &&
         std::ranges::all_of(text, is_name_character);
}

// Whole characters only.
std::string cut(std::string_view text, std::size_t most) {
  if (text.size() > most) {
    text = text.substr(0, most);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.remove_suffix(1);
    if (!text.empty()) text.remove_suffix(1);
  }
  return std::string(text);
}

std::vector<std::string> texts_at(const Value& value, std::string_view key) {
  std::vector<std::string> texts;
  const Value* const list = value.find(key);
  if (list == nullptr || !list->is_array()) return texts;
  for (const Value& each : list->as_array()) {
    if (texts.size() == kMostItems) break;
    if (each.is_string() && !each.as_string().empty()) texts.push_back(cut(each.as_string(), kMostName));
  }
  return texts;
}

Value list_of(const std::vector<std::string>& texts) {
  return Value(Value::Array(texts.begin(), texts.end()));
}

Error no_index(std::string_view place, std::string because) {
  return error(ErrorKind::Invalid, "{} is not an index of packages", place)
      .with_because(std::move(because))
      .with_hint("mistctl registry index makes one");
}

}  // namespace

Value Entry::to_value() const {
  Value value = Value::object({{"path", path}, {"version", version}});
  const auto add = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) value.set(key, text);
  };
  const auto add_list = [&](std::string_view key, const std::vector<std::string>& texts) {
    if (!texts.empty()) value.set(key, list_of(texts));
  };
  add("digest", digest);
  add("title", title);
  add("description", description);
  add("home", home);
  add("format", format);
  add_list("versions", versions);
  add_list("keywords", keywords);
  add_list("maintainers", maintainers);
  add_list("kinds", kinds);
  return value;
}

Result<Entry> Entry::parse(const Value& value) {
  Entry entry{.path = std::string(value.string_at("path")),
              .version = std::string(value.string_at("version")),
              .digest = cut(value.string_at("digest"), kMostName),
              .title = cut(value.string_at("title"), kMostName),
              .description = cut(value.string_at("description"), kMostText),
              .home = cut(value.string_at("home"), kMostText),
              .format = cut(value.string_at("format"), kMostName),
              .versions = texts_at(value, "versions"),
              .keywords = texts_at(value, "keywords"),
              .maintainers = texts_at(value, "maintainers"),
              .kinds = texts_at(value, "kinds")};
  std::erase_if(entry.versions, [](const std::string& version) { return !is_version(version); });
  if (is_path(entry.path) && is_version(entry.version)) return entry;
  return error(ErrorKind::Invalid, "no reference can name {}:{}", escape_controls(entry.path.substr(0, 300)),
               escape_controls(entry.version.substr(0, 200)));
}

Status check_line(const Entry& entry) {
  const std::size_t bytes = encoding::to_json(entry.to_value()).size();
  if (bytes <= kMostLine) return {};
  return error(ErrorKind::Invalid, "the entry of {} has {} bytes; {} are allowed", entry.path, bytes,
               kMostLine);
}

Status check_size(std::size_t entries, std::uint64_t bytes, std::uint64_t most) {
  constexpr const char* kSplit = "divide the registry: each one has an index of its own";
  if (entries > kMostEntries)
    return error(ErrorKind::Invalid, "the index has {} packages; {} are allowed", entries, kMostEntries)
        .with_hint(kSplit);
  if (bytes > most)
    return error(ErrorKind::Invalid, "the index has {} bytes; {} are allowed", bytes, most).with_hint(kSplit);
  return {};
}

std::string to_index(std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, &Entry::path);
  std::string text = encoding::to_json(Value::object({{"apiVersion", kApiVersion}, {"kind", kKind}})) + "\n";
  for (const Entry& entry : entries) text += encoding::to_json(entry.to_value()) + "\n";
  return text;
}

Result<Index> parse_index(std::string_view text, std::string_view place) {
  if (text.size() > kMostIndexBytes)
    return no_index(place, fmt::format("it has {} bytes; {} are allowed", text.size(), kMostIndexBytes));
  Index index;
  std::unordered_set<std::string> paths;
  bool first = true;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const Result<Value> value =
        line.size() > kMostLine
            ? error(ErrorKind::Invalid, "the line is too long")
            : encoding::parse_json(line, {.max_depth = 8, .max_values = kMostValuesInLine});
    if (std::exchange(first, false)) {
      if (!value) return no_index(place, value.error().message);
      if (value->string_at("kind") != kKind) return no_index(place, "its first line doesn't say so");
      if (value->string_at("apiVersion") != kApiVersion)
        return error(ErrorKind::Invalid, "{} is an index of version {}", place,
                     escape_controls(value->string_at("apiVersion").substr(0, 100)))
            .with_hint("a newer mistctl reads it");
      continue;
    }
    if (index.entries.size() == kMostEntries)
      return no_index(place, fmt::format("it has more than {} packages", kMostEntries));
    Result<Entry> entry = value ? Entry::parse(*value) : Result<Entry>(value.error());
    if (entry && paths.insert(entry->path).second)
      index.entries.push_back(*std::move(entry));
    else
      ++index.left_out;
  }
  if (first) return no_index(place, "it is empty");
  return index;
}

std::size_t shard_of(std::string_view path, std::size_t count) {
  return static_cast<std::size_t>(fnv1a(path) % count);
}

}  // namespace mist::search
