#include "kube/open_api.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "apimachinery/built_in_groups.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"

namespace mist::kube {
namespace {

constexpr auto kMaxIndexAge = std::chrono::minutes(10);
constexpr auto kIndexConfirmedFor = std::chrono::seconds(5);
constexpr std::uint64_t kLargestSchemas = 64 << 20;
const std::string kDocument = "application/json";

// Keywords that describe a field to people, or that only the server checks.
constexpr std::array<std::string_view, 7> kLeftOut{"description",
                                                   "example",
                                                   "externalDocs",
                                                   "title",
                                                   "x-kubernetes-validations",
                                                   "x-kubernetes-patch-strategy",
                                                   "x-kubernetes-patch-merge-key"};

std::int64_t unix_seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

void reduce(Value& schema) {
  if (!schema.is_object()) return;
  for (const std::string_view name : kLeftOut) schema.erase(name);
  if (Value* const properties = schema.find("properties"); properties != nullptr && properties->is_object()) {
    for (Value::Member& member : properties->as_object()) reduce(member.value);
  }
  for (const std::string_view name : {"items", "additionalProperties", "not"}) {
    if (Value* const below = schema.find(name)) reduce(*below);
  }
  for (const std::string_view name : {"allOf", "anyOf", "oneOf"}) {
    Value* const parts = schema.find(name);
    if (parts == nullptr || !parts->is_array()) continue;
    for (Value& part : parts->as_array()) reduce(part);
  }
}

// "/openapi/v3/apis/apps/v1?hash=AB12" → "AB12"; empty: the server names none.
std::string hash_in(std::string_view url) {
  constexpr std::string_view kName = "hash=";
  const auto at = url.find(kName);
  if (at == std::string_view::npos) return {};
  const std::string_view hash = url.substr(at + kName.size());
  return std::string(hash.substr(0, hash.find('&')));
}

// A server that has no such document, or doesn't let us see it, says nothing about its kinds.
bool means_none(const Error& failure) {
  return failure.kind == ErrorKind::NotFound || failure.kind == ErrorKind::Forbidden ||
         failure.kind == ErrorKind::Invalid || failure.kind == ErrorKind::Retryable ||
         failure.kind == ErrorKind::Gone;
}

}  // namespace

OpenApi::OpenApi(Dependencies dependencies, const DiscoveryCache& cache)
    : dependencies_(std::move(dependencies)), cache_(cache) {}

Result<std::shared_ptr<const Value>> OpenApi::schemas_of(const std::string& group, const std::string& version,
                                                         SchemaAge age, const Context& context) {
  const std::string path = group.empty() ? "api/" + version : fmt::format("apis/{}/{}", group, version);
  auto hash = hash_of(path, apimachinery::is_built_in_group(group), age, context);
  if (hash.ok() && !*hash) return std::shared_ptr<const Value>();
  Result<std::shared_ptr<const Value>> schemas = std::shared_ptr<const Value>();
  if (hash.ok()) {
    if (const auto text = kept(path, **hash)) {
      auto value = encoding::parse_json(*text);
      if (value.ok() && value->is_object()) return std::make_shared<const Value>(*std::move(value));
    }
    schemas = fetch(path, **hash, context);
  } else {
    schemas = std::move(hash).error();
  }
  if (schemas.ok() || !means_none(schemas.error())) return schemas;
  dependencies_.events.debug(
      fmt::format("the schemas of {} can't be read, so that objects are not compared with them: {}", path,
                  schemas.error().to_line()));
  return std::shared_ptr<const Value>();
}

// A group of somebody's CRDs may have come within the last minutes.
Result<std::optional<std::string>> OpenApi::hash_of(const std::string& path, bool built_in, SchemaAge age,
                                                    const Context& context) {
  const std::lock_guard lock(mutex_);
  const WallTime now = dependencies_.clock.now();
  if (!index_) index_ = read_index();
  const auto within = [&](Duration limit) {
    return index_ && now >= index_->confirmed && now - index_->confirmed < limit;
  };
  const bool missing = index_ && !built_in && !index_->hashes.contains(path);
  const Duration limit =
      age == SchemaAge::Current || missing ? Duration(kIndexConfirmedFor) : Duration(kMaxIndexAge);
  if (!within(limit)) {
    MIST_TRY(index_, ask(context));
    write_index();
  }
  const auto found = index_->hashes.find(path);
  return found == index_->hashes.end() ? std::nullopt : std::optional(found->second);
}

Result<OpenApi::Index> OpenApi::ask(const Context& context) const {
  const std::string known = index_ ? index_->etag : std::string();
  MIST_TRY(Discovery::Answer answer,
           dependencies_.get({.path = "/openapi/v3", .accept = kDocument, .known = known}, context));
  Index index;
  if (answer.value.is_null() && index_) {
    index = *index_;
  } else {
    const Value* const paths = answer.value.find("paths");
    if (paths == nullptr || !paths->is_object())
      return error(ErrorKind::Invalid, "the server's answer to /openapi/v3 is not an index of schemas");
    for (const Value::Member& member : paths->as_object())
      index.hashes.emplace(member.key, hash_in(member.value.string_at("serverRelativeURL")));
    index.etag = std::move(answer.etag);
  }
  index.confirmed = dependencies_.clock.now();
  return index;
}

Result<std::shared_ptr<const Value>> OpenApi::fetch(const std::string& path, const std::string& hash,
                                                    const Context& context) {
  MIST_TRY(Discovery::Answer answer,
           dependencies_.get({.path = "/openapi/v3/" + path, .accept = kDocument}, context));
  Value* const components = answer.value.find("components");
  Value* const schemas = components == nullptr ? nullptr : components->find("schemas");
  if (schemas == nullptr || !schemas->is_object())
    return error(ErrorKind::Invalid, "the server's answer to /openapi/v3/{} has no schemas", path);
  for (Value::Member& member : schemas->as_object()) reduce(member.value);
  if (!hash.empty()) {
    std::string text = encoding::to_json(*schemas, encoding::JsonStyle::Exact);
    if (cache_.directory.empty()) {
      const std::lock_guard lock(mutex_);
      memory_.insert_or_assign(path, Document{hash, std::move(text)});
    } else {
      write(file_of(path), hash + "\n" + text);
    }
  }
  return std::make_shared<const Value>(std::move(*schemas));
}

std::optional<std::string> OpenApi::kept(const std::string& path, const std::string& hash) {
  if (hash.empty()) return std::nullopt;
  if (cache_.directory.empty()) {
    const std::lock_guard lock(mutex_);
    const auto found = memory_.find(path);
    if (found == memory_.end() || found->second.hash != hash) return std::nullopt;
    return found->second.text;
  }
  auto text = dependencies_.fs.read(file_of(path), kLargestSchemas);
  if (!text || !text->starts_with(hash + "\n")) return std::nullopt;
  return text->substr(hash.size() + 1);
}

// The first line is the time of the server's answer, in seconds since 1970, and its ETag; each further one a
// path and its hash.
std::optional<OpenApi::Index> OpenApi::read_index() const {
  if (cache_.directory.empty()) return std::nullopt;
  const auto text = dependencies_.fs.read(file_of("index"), kLargestSchemas);
  if (!text) return std::nullopt;
  Index index;
  bool first = true;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty()) continue;
    const auto gap = line.find('\t');
    if (gap == std::string_view::npos) return std::nullopt;
    const std::string_view name = line.substr(0, gap);
    const std::string_view rest = line.substr(gap + 1);
    if (!first) {
      index.hashes.emplace(name, rest);
      continue;
    }
    first = false;
    std::int64_t asked = 0;
    const char* const end = name.data() + name.size();
    if (const auto [stop, failed] = std::from_chars(name.data(), end, asked);
        failed != std::errc() || stop != end)
      return std::nullopt;
    index.confirmed = WallTime(std::chrono::seconds(asked));
    index.etag = rest;
  }
  return first ? std::nullopt : std::optional(std::move(index));
}

void OpenApi::write_index() const {
  if (cache_.directory.empty()) return;
  std::string text = fmt::format("{}\t{}\n", unix_seconds(index_->confirmed), index_->etag);
  for (const auto& [path, hash] : index_->hashes) text += fmt::format("{}\t{}\n", path, hash);
  write(file_of("index"), text);
}

// Of another server, or user, there are other files: what one says must not reach the other.
Path OpenApi::file_of(std::string_view what) const {
  const std::string name = crypto::sha256(fmt::format("{}\n{}", cache_.identity, what)).hex();
  return cache_.directory / fmt::format("schemas-{}", name.substr(0, 32));
}

void OpenApi::write(const Path& file, const std::string& text) const {
  Status made = dependencies_.fs.make_directories(file.parent_path(), 0700);
  if (made) made = dependencies_.fs.write(file, text, {.mode = 0600, .durable = false, .exclusive = false});
  if (!made) dependencies_.events.debug("a schema can't be kept: " + made.error().to_line());
}

}  // namespace mist::kube
