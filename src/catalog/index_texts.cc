#include "catalog/index_texts.h"

#include <fmt/format.h>

#include "crypto/digest.h"
#include "encoding/gzip.h"
#include "encoding/json.h"
#include "registry/index_shards.h"
#include "search/entry.h"

namespace mist::catalog {
namespace {

using encoding::Value;

// Between two, so many times as long as the first one took.
constexpr int kRest = 9;
// Of a file (docs/formats/index.md).
constexpr std::uint64_t kMostSearchIndex = std::uint64_t{64} << 20;

Status add_shards(IndexText& text, const IndexText* before) {
  registry::ShardList list{.digest = crypto::sha256(text.plain).str(), .shards = {}};
  for (std::string& plain : registry::index_shards(text.plain)) {
    std::string digest = crypto::sha256(plain).str();
    std::shared_ptr<const IndexShard>& shard = text.shard_of[digest];
    if (before != nullptr && shard == nullptr)
      if (const auto known = before->shard_of.find(digest); known != before->shard_of.end())
        shard = known->second;
    if (shard == nullptr) {
      MIST_TRY(std::string packed, encoding::gzip(plain));
      shard = std::make_shared<const IndexShard>(IndexShard{std::move(plain), std::move(packed)});
    }
    list.shards.push_back(std::move(digest));
  }
  text.shards = list.to_text();
  return {};
}

}  // namespace

Result<std::shared_ptr<const IndexText>> IndexTexts::now() {
  MIST_TRY(const std::int64_t revision, store_.index_revision());
  std::unique_lock lock(mutex_);
  while (true) {
    // Not `>=`: a database that was restored, or gave way to a standby, may have a smaller number.
    if (made_ && (made_->revision == revision || is_making_ || clock_.steady_now() < not_before_))
      return made_;
    if (!is_making_) break;
    made_one_.wait(lock);
  }
  is_making_ = true;
  const std::shared_ptr<const IndexText> before = made_;
  lock.unlock();
  const SteadyTime began = clock_.steady_now();
  Result<std::shared_ptr<const IndexText>> made = make(before.get());
  const SteadyTime ended = clock_.steady_now();
  lock.lock();
  is_making_ = false;
  if (made.ok()) {
    made_ = *made;
    not_before_ = ended + kRest * (ended - began);
  }
  made_one_.notify_all();
  return made;
}

Result<std::shared_ptr<const IndexText>> IndexTexts::make(const IndexText* before) const {
  MIST_TRY(auto written, write_(store_));
  auto text = std::make_shared<IndexText>();
  text->revision = written.first;
  text->plain = std::move(written.second);
  text->etag = fmt::format("\"{}\"", crypto::sha256(text->plain).hex().substr(0, 24));
  MIST_TRY(text->packed, encoding::gzip(text->plain));
  if (sharded_ == Sharded::Yes) MIST_TRY_VOID(add_shards(*text, before));
  return std::shared_ptr<const IndexText>(std::move(text));
}

Result<std::pair<std::int64_t, std::string>> index_for_kpm(Store& store) {
  MIST_TRY(auto index, store.index());
  // Not as one value, which would take several times the memory of its text.
  std::string text = R"({"kubes":[)";
  for (IndexEntry& each : index.second) {
    if (!text.ends_with('[')) text += ',';
    text += encoding::to_json(
        Value::object({{"name", Value(std::move(each.package))},
                       {"version", Value(std::move(each.version))},
                       {"digest", Value(std::move(each.digest))},
                       {"yanked", Value(each.yanked.has_value())},
                       {"yankReason", each.yanked ? Value(*std::move(each.yanked)) : Value()},
                       {"k3", Value(std::move(each.k3))}}));
    each = {};
  }
  text += "]}\n";
  return std::pair(index.first, std::move(text));
}

Result<std::pair<std::int64_t, std::string>> index_for_search(Store& store) {
  MIST_TRY(auto index, store.search_index());
  std::erase_if(index.second, [](const search::Entry& each) { return !search::check_line(each).ok(); });
  const std::size_t packages = index.second.size();
  std::string text = search::to_index(std::move(index.second));
  if (const Status fits = search::check_size(packages, text.size(), kMostSearchIndex); !fits.ok())
    return error(ErrorKind::Internal, "{} can't be served", search::kIndexFile)
        .with_because(fits.error().message);
  return std::pair(index.first, std::move(text));
}

}  // namespace mist::catalog
