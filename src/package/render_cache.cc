#include "package/render_cache.h"

#include <algorithm>

#include "base/cache_bound.h"
#include "base/text.h"
#include "crypto/hkdf.h"
#include "encoding/json.h"

namespace mist::package {
namespace {

using encoding::Value;

constexpr std::string_view kCacheVersion = "mistletoe/render-cache/v8";
constexpr std::string_view kAsks = ".asks";
constexpr std::string_view kRender = ".render";
constexpr std::uint64_t kMaxEntry = std::uint64_t{256} << 20;

crypto::SealingKey sealing_key(const crypto::Seed& seed) {
  const std::vector<std::byte> derived =
      crypto::hkdf_sha256(seed, {}, crypto::as_bytes(kCacheVersion), crypto::SealingKey::kSize);
  std::array<std::byte, crypto::SealingKey::kSize> key{};
  std::ranges::copy(derived, key.begin());
  return crypto::SealingKey(key);
}

// The seed is in it, so that the names of files tell nothing of values that could be guessed.
crypto::Digest key_of(const RenderParts& parts) {
  return crypto::Hasher()
      .field(kCacheVersion)
      .update(parts.seed)
      .field(parts.code)
      .field(parts.files)
      .field(parts.input)
      .field(parts.settings)
      .finish();
}

crypto::Digest key_with(const crypto::Digest& key, const std::vector<crypto::Digest>& answers) {
  crypto::Hasher hasher;
  hasher.update(key.bytes());
  for (const crypto::Digest& answer : answers) hasher.update(answer.bytes());
  return hasher.finish();
}

Value numbers(const std::vector<std::uint32_t>& lines) {
  Value::Array list;
  list.reserve(lines.size());
  for (const std::uint32_t line : lines) list.emplace_back(line);
  return Value(std::move(list));
}

Value to_value(const CachedRender& render) {
  // All of it by name: a member that is new to Output and forgotten here would be lost in silence. Its log
  // isn't kept.
  const auto& [files, message, exports, print, missing, package, unknown, log, drawn] = render.output;
  Value::Array texts;
  for (const auto& [path, text, source, lines, others] : files) {
    Value elsewhere = Value::object();
    for (const auto& [other, other_lines] : others) elsewhere.set(other, numbers(other_lines));
    texts.push_back(Value::object({{"path", path},
                                   {"text", text},
                                   {"source", source},
                                   {"lines", numbers(lines)},
                                   {"others", std::move(elsewhere)}}));
  }
  Value::Array lines;
  for (const LoggedLine& line : render.lines)
    lines.push_back(Value::object({{"level", static_cast<int>(line.level)}, {"text", line.text}}));
  return Value::object({{"files", Value(std::move(texts))},
                        {"message", message},
                        {"exports", exports},
                        {"print", print ? Value(*print) : Value()},
                        {"missing", missing},
                        {"package", package},
                        {"unknown", unknown},
                        {"drawn", static_cast<std::int64_t>(drawn)},
                        {"lines", Value(std::move(lines))}});
}

const Value::Array& list_at(const Value& value, std::string_view key) {
  static const Value::Array kNone;
  const Value* const list = value.find(key);
  return list != nullptr && list->is_array() ? list->as_array() : kNone;
}

Value value_at(const Value& value, std::string_view key) {
  const Value* const found = value.find(key);
  return found == nullptr ? Value() : *found;
}

std::vector<std::uint32_t> numbers_of(const Value::Array& list) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(list.size());
  for (const Value& number : list)
    numbers.push_back(number.is_int() ? static_cast<std::uint32_t>(number.as_int()) : 0);
  return numbers;
}

// Sealed content was written by us: anything missing is simply empty.
CachedRender from_value(const Value& value) {
  CachedRender render;
  abi::Output& output = render.output;
  for (const Value& file : list_at(value, "files")) {
    output.files.push_back({std::string(file.string_at("path")), std::string(file.string_at("text")),
                            std::string(file.string_at("source"))});
    output.files.back().lines = numbers_of(list_at(file, "lines"));
    if (const Value* const others = file.find("others"); others != nullptr && others->is_object()) {
      for (const Value::Member& each : others->as_object())
        output.files.back().others.emplace(each.key, numbers_of(list_at(*others, each.key)));
    }
  }
  output.message = value.string_at("message");
  output.exports = value_at(value, "exports");
  output.missing = value_at(value, "missing");
  output.package = value_at(value, "package");
  output.unknown = value_at(value, "unknown");
  if (const Value print = value_at(value, "print"); print.is_string()) output.print = print.as_string();
  if (const Value drawn = value_at(value, "drawn"); drawn.is_int())
    output.drawn = static_cast<std::uint64_t>(drawn.as_int());
  for (const Value& line : list_at(value, "lines")) {
    const Value level = value_at(line, "level");
    if (level.is_int())
      render.lines.push_back({static_cast<EventLevel>(level.as_int()), std::string(line.string_at("text"))});
  }
  return render;
}

}  // namespace

std::optional<Value> RenderCache::read(const Path& file, const crypto::SealingKey& key) const {
  HostFileSystem files;
  const auto sealed = files.read(directory_ / file, kMaxEntry);
  if (!sealed.ok()) return std::nullopt;
  const auto plain = key.open(crypto::as_bytes(*sealed), crypto::as_bytes(file.string()));
  if (!plain.ok()) {
    [[maybe_unused]] const Status removed = files.remove(directory_ / file);
    return std::nullopt;
  }
  auto value = encoding::parse_json({reinterpret_cast<const char*>(plain->data()), plain->size()},
                                    {.max_depth = 1024});
  if (!value.ok() || !value->is_object()) return std::nullopt;
  mark_used(directory_ / file);
  return *std::move(value);
}

void RenderCache::write(const Path& file, const Value& value, const crypto::SealingKey& key) const {
  const std::string plain = encoding::to_json(value, encoding::JsonStyle::Exact);
  if (plain.size() > kMaxEntry || plain.size() > bytes_ / 4) return;
  const std::vector<std::byte> sealed =
      key.seal(crypto::as_bytes(plain), crypto::as_bytes(file.string()), random_);
  HostFileSystem files;
  [[maybe_unused]] const Status written =
      files.write(directory_ / file, {reinterpret_cast<const char*>(sealed.data()), sealed.size()},
                  {.mode = 0600, .durable = false});
}

void RenderCache::bound() const {
  std::vector<CacheEntry> entries;
  std::error_code failed;
  for (std::filesystem::directory_iterator each(directory_, failed), end; !failed && each != end;
       each.increment(failed)) {
    std::error_code gone;
    const std::uintmax_t bytes = each->file_size(gone);
    const auto used = each->last_write_time(gone);
    if (!gone) entries.push_back({each->path(), bytes, used});
  }
  HostFileSystem files;
  for (const CacheEntry& entry : surplus(std::move(entries), bytes_)) {
    [[maybe_unused]] const Status removed = files.remove(entry.path);
  }
}

std::optional<CachedRender> RenderCache::find(const RenderParts& parts, const Ask& ask,
                                              const Answers& answers) const {
  const crypto::SealingKey seal = sealing_key(parts.seed);
  const crypto::Digest key = key_of(parts);
  const std::optional<Value> asks = read(key.hex() + std::string(kAsks), seal);
  if (!asks) return std::nullopt;
  for (const Value& request : list_at(*asks, "asks")) {
    if (!ask(request).ok()) return std::nullopt;
  }
  const std::optional<Value> render = read(key_with(key, answers()).hex() + std::string(kRender), seal);
  if (!render) return std::nullopt;
  return from_value(*render);
}

void RenderCache::store(const RenderParts& parts, const std::vector<Value>& questions,
                        const std::vector<crypto::Digest>& answers, const CachedRender& render) const {
  HostFileSystem files;
  if (!files.make_directories(directory_, 0700).ok()) return;
  const crypto::SealingKey seal = sealing_key(parts.seed);
  const crypto::Digest key = key_of(parts);
  // The output first: questions without it would only cost their answers.
  write(key_with(key, answers).hex() + std::string(kRender), to_value(render), seal);
  write(key.hex() + std::string(kAsks),
        Value::object({{"asks", Value(Value::Array(questions.begin(), questions.end()))}}), seal);
  bound();
}

void RenderCache::forget(const RenderParts& parts) const {
  HostFileSystem files;
  [[maybe_unused]] const Status removed =
      files.remove(directory_ / (key_of(parts).hex() + std::string(kAsks)));
}

}  // namespace mist::package
