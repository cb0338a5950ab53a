#include "kube/informer.h"

#include <algorithm>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::kube {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(60);

Informer::Key key_of(const Value& object) {
  return {std::string(object.string_at({"metadata", "namespace"})),
          std::string(object.string_at({"metadata", "name"}))};
}

std::string_view version_of(const Value& object) { return object.string_at({"metadata", "resourceVersion"}); }

// Resource versions are numbers that grow (KEP-5504). One that isn't tells nothing: what comes later is news.
bool is_newer(std::string_view version, std::string_view than) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!is_number(version) || !is_number(than)) return false;
  return version.size() != than.size() ? version.size() > than.size() : version > than;
}

}  // namespace

Informer::Informer(Client& client, ResourceInfo resource, ListOptions options,
                   std::function<void(Value&)> prune, Changed changed, Clock& clock, EventSink& events)
    : client_(client),
      resource_(std::move(resource)),
      options_(std::move(options)),
      prune_(std::move(prune)),
      changed_(std::move(changed)),
      clock_(clock),
      events_(events),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Informer::~Informer() {
  thread_.request_stop();
  thread_.join();
}

bool Informer::synced() const {
  const std::lock_guard lock(mutex_);
  return synced_;
}

std::optional<Error> Informer::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::optional<Value> Informer::get(const Key& key) const {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const auto found = items_.find(key);
    if (found == items_.end()) return std::nullopt;
    text = found->second.text;
  }
  Result<Value> object = encoding::parse_json(text);
  MIST_CHECK(object.ok());  // it was printed here
  return *std::move(object);
}

std::vector<Informer::Key> Informer::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<Key> keys;
  keys.reserve(items_.size());
  for (const auto& [key, item] : items_) keys.push_back(key);
  return keys;
}

std::vector<Informer::Key> Informer::keys_with(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  std::vector<Key> keys;
  for (const auto& [key, item] : items_)
    if (item.text.find(text) != std::string::npos) keys.push_back(key);
  return keys;
}

void Informer::put(Value object, Echo echo) {
  if (prune_) prune_(object);
  const std::lock_guard lock(mutex_);
  // The watch has told of it, and that it went; or it isn't selected.
  if (!items_.contains(key_of(object)) && synced_ && !is_newer(version_of(object), complete_)) return;
  if (echo == Echo::Silent) silent_[key_of(object)] = version_of(object);
  store(object);
}

Informer::Item& Informer::store(const Value& object) {
  Item& item = items_[key_of(object)];
  const std::string_view version = version_of(object);
  if (is_newer(item.version, version)) return item;
  item.version = version;
  item.text = encoding::to_json(object, encoding::JsonStyle::Exact);
  item.text.shrink_to_fit();
  return item;
}

// A list is complete: of what it didn't name, only what was put in since is there.
std::vector<Informer::Key> Informer::drop_unlisted() {
  std::vector<Key> gone;
  for (auto item = items_.begin(); item != items_.end();) {
    if (item->second.told || is_newer(item->second.version, complete_)) {
      ++item;
      continue;
    }
    gone.push_back(item->first);
    item = items_.erase(item);
  }
  return gone;
}

void Informer::take(const WatchEvent& event) {
  const Key key = key_of(event.object);
  std::vector<Key> gone;
  bool is_news = true;
  {
    const std::lock_guard lock(mutex_);
    switch (event.type) {
      case WatchEventType::Bookmark:
        synced_ = true;
        failure_.reset();
        complete_ = version_of(event.object);
        gone = drop_unlisted();
        break;
      case WatchEventType::Deleted: {
        complete_ = version_of(event.object);
        silent_.erase(key);
        const auto known = items_.find(key);
        if (known == items_.end()) break;
        known->second.told = false;
        if (!is_newer(known->second.version, complete_)) items_.erase(known);
        break;
      }
      case WatchEventType::Added:
      case WatchEventType::Modified: {
        Value object = event.object;
        if (prune_) prune_(object);
        if (const auto silent = silent_.find(key);
            silent != silent_.end() && !is_newer(version_of(object), silent->second)) {
          is_news = false;
          if (version_of(object) == silent->second) silent_.erase(silent);
        }
        store(object).told = true;
        break;
      }
    }
  }
  for (const Key& each : gone) changed_(each);
  if (!is_news) return;
  changed_(event.type == WatchEventType::Bookmark ? std::nullopt : std::optional(key));
}

void Informer::run(const std::stop_token& stop) {
  Duration pause = kFirstPause;
  while (!stop.stop_requested()) {
    {
      const std::lock_guard lock(mutex_);
      for (auto& [key, item] : items_) item.told = false;
    }
    const Status ended = client_.watch(
        resource_, options_,
        [&](const WatchEvent& event) {
          pause = kFirstPause;
          take(event);
          return !stop.stop_requested();
        },
        Context(stop));
    if (stop.stop_requested()) return;
    if (!ended.ok()) {
      bool is_unserved = ended.error().kind == ErrorKind::NotFound;
      {
        const std::lock_guard lock(mutex_);
        is_unserved &= synced_ && (!failure_ || failure_->kind != ErrorKind::NotFound);
        failure_ = ended.error();
      }
      if (is_unserved) changed_(std::nullopt);
      events_.warn(fmt::format("the watch of {} ended, and begins again in {} s: {}", resource_.resource,
                               std::chrono::duration_cast<std::chrono::seconds>(pause).count(),
                               ended.error().to_line()));
    }
    clock_.sleep(pause, stop);
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace mist::kube
