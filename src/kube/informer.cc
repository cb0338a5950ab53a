#include "kube/informer.h"

#include <algorithm>

#include "base/text.h"

namespace mist::kube {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(60);

Informer::Key key_of(const Value& object) {
  return {std::string(object.string_at({"metadata", "namespace"})),
          std::string(object.string_at({"metadata", "name"}))};
}

// Resource versions are numbers that grow (KEP-5504); one that isn't is taken as news.
bool is_older(const Value& object, const Value& than) {
  const std::string_view a = object.string_at({"metadata", "resourceVersion"});
  const std::string_view b = than.string_at({"metadata", "resourceVersion"});
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!is_number(a) || !is_number(b)) return false;
  return a.size() != b.size() ? a.size() < b.size() : a < b;
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

std::optional<Value> Informer::get(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = items_.find(key);
  return found == items_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Informer::Key> Informer::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<Key> keys;
  keys.reserve(items_.size());
  for (const auto& [key, item] : items_) keys.push_back(key);
  return keys;
}

void Informer::put(Value object) {
  if (prune_) prune_(object);
  const std::lock_guard lock(mutex_);
  store(std::move(object));
}

void Informer::store(Value object) {
  Key key = key_of(object);
  const auto known = items_.find(key);
  if (known == items_.end()) {
    items_.emplace(std::move(key), std::move(object));
  } else if (!is_older(object, known->second)) {
    known->second = std::move(object);
  }
}

void Informer::take(const WatchEvent& event) {
  std::optional<Key> key;
  {
    const std::lock_guard lock(mutex_);
    if (event.type == WatchEventType::Bookmark) {
      synced_ = true;
    } else {
      key = key_of(event.object);
      if (event.type == WatchEventType::Deleted) {
        const auto known = items_.find(*key);
        if (known != items_.end() && !is_older(event.object, known->second)) items_.erase(known);
      } else {
        Value object = event.object;
        if (prune_) prune_(object);
        store(std::move(object));
      }
    }
  }
  changed_(key);
}

void Informer::run(const std::stop_token& stop) {
  Duration pause = kFirstPause;
  while (!stop.stop_requested()) {
    const Status ended = client_.watch(
        resource_, options_,
        [&](const WatchEvent& event) {
          pause = kFirstPause;
          take(event);
          return !stop.stop_requested();
        },
        Context(stop));
    if (stop.stop_requested()) return;
    if (!ended.ok())
      events_.warn(fmt::format("the watch of {} ended, and begins again in {} s: {}", resource_.resource,
                               std::chrono::duration_cast<std::chrono::seconds>(pause).count(),
                               ended.error().to_line()));
    clock_.sleep(pause, stop);
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace mist::kube
