#include "registry/index_shards.h"

#include <algorithm>
#include <utility>

#include "base/fnv.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"

namespace mist::registry {
namespace {

using encoding::Value;

constexpr std::string_view kApiVersion = "mistletoe.dev/v1alpha1";
constexpr std::string_view kKind = "PackageIndexShards";

std::string path_in(std::string_view line) {
  const Result<Value> value = encoding::parse_json(line);
  return value && value->is_object() ? std::string(value->string_at("path")) : std::string();
}

// Without empty lines.
std::vector<std::string_view> lines_in(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  std::erase_if(lines, [](std::string_view line) { return line.empty(); });
  return lines;
}

}  // namespace

std::vector<std::string> index_shards(std::string_view index) {
  const std::vector<std::string_view> lines = lines_in(index);
  std::vector<std::string> shards(kIndexShards);
  if (lines.empty()) return shards;
  for (std::string& shard : shards) shard = fmt::format("{}\n", lines.front());
  for (const std::string_view line : std::span(lines).subspan(1)) {
    const std::string path = path_in(line);
    std::string& shard = shards[path.empty() ? 0 : static_cast<std::size_t>(fnv1a(path) % kIndexShards)];
    shard += line;
    shard += '\n';
  }
  return shards;
}

Result<std::string> joined_index(std::span<const std::string> shards) {
  std::string_view first;
  std::vector<std::pair<std::string, std::string_view>> packages;  // by path
  for (const std::string& shard : shards) {
    const std::vector<std::string_view> lines = lines_in(shard);
    if (lines.empty() || (!first.empty() && lines.front() != first))
      return error(ErrorKind::Invalid, "the shards are not of one index");
    first = lines.front();
    for (const std::string_view line : std::span(lines).subspan(1))
      packages.emplace_back(path_in(line), line);
  }
  std::ranges::stable_sort(packages, {}, &std::pair<std::string, std::string_view>::first);
  std::string index = fmt::format("{}\n", first);
  for (const auto& [path, line] : packages) {
    index += line;
    index += '\n';
  }
  return index;
}

std::string ShardList::to_text() const {
  Value digests{Value::Array{}};
  for (const std::string& each : shards) digests.push_back(Value(each));
  return encoding::to_json(Value::object({{"apiVersion", Value(kApiVersion)},
                                          {"kind", Value(kKind)},
                                          {"digest", Value(digest)},
                                          {"shards", std::move(digests)}})) +
         "\n";
}

Result<ShardList> ShardList::parse(std::string_view text) {
  MIST_TRY(const Value value, encoding::parse_json(text));
  if (!value.is_object() || value.string_at("apiVersion") != kApiVersion || value.string_at("kind") != kKind)
    return error(ErrorKind::Invalid, "this is no list of an index's shards");
  ShardList list{.digest = std::string(value.string_at("digest")), .shards = {}};
  for (const std::string& each : value.texts_at("shards")) list.shards.push_back(each);
  if (list.shards.size() != kIndexShards)
    return error(ErrorKind::Invalid, "the index has {} shards, not {}", list.shards.size(), kIndexShards);
  MIST_TRY_VOID(crypto::Digest::parse(list.digest));
  for (const std::string& each : list.shards) MIST_TRY_VOID(crypto::Digest::parse(each));
  return list;
}

}  // namespace mist::registry
