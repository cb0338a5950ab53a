#include "kube/informer.h"

#include <algorithm>

#include "apimachinery/label_selector.h"
#include "apimachinery/managed_fields.h"
#include "base/text.h"
#include "encoding/json.h"
#include "http/unanswered.h"

namespace mist::kube {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);
// Somebody who gives a right back, or repairs what can't be listed, waits for that to be noticed.
constexpr Duration kLongestPause = std::chrono::seconds(15);
// A kind that comes is noticed by others, who begin a new watch.
constexpr Duration kLongestUnserved = std::chrono::seconds(60);
// The same words aren't told more often.
constexpr Duration kWarningEvery = std::chrono::seconds(60);

Informer::Key key_of(const Value& object) {
  return {std::string(object.string_at({"metadata", "namespace"})),
          std::string(object.string_at({"metadata", "name"}))};
}

std::string_view version_of(const Value& object) { return object.string_at({"metadata", "resourceVersion"}); }

// A text that was printed here.
Value parsed(std::string_view text) {
  Result<Value> value = encoding::parse_json(text);
  MIST_CHECK(value.ok());
  return *std::move(value);
}

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
                   std::function<void(Value&)> prune, Changed changed, Clock& clock, EventSink& events,
                   std::function<void()> unlisted)
    : client_(client),
      resource_(std::move(resource)),
      options_([&] {
        options.unlisted = [this](const Error& failure) { cannot_list(failure); };
        return std::move(options);
      }()),
      prune_(std::move(prune)),
      changed_(std::move(changed)),
      unlisted_(std::move(unlisted)),
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

std::optional<Error> Informer::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

std::optional<Error> Informer::list_failure() const {
  const std::lock_guard lock(mutex_);
  return list_failure_;
}

std::optional<Value> Informer::get(const Key& key) const {
  std::string text;
  SharedTexts::Text fields;
  {
    const std::lock_guard lock(mutex_);
    const auto found = items_.find(key);
    if (found == items_.end()) return std::nullopt;
    text = found->second.text;
    fields = found->second.fields;
  }
  Value object = parsed(text);
  if (fields) object["metadata"].set("managedFields", parsed(*fields));
  return object;
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
  // Nobody would tell that it goes, nor what it becomes.
  if (!apimachinery::selects(options_.label_selector, object)) return;
  if (prune_) prune_(object);
  const std::lock_guard lock(mutex_);
  // The watch has told of it, and that it went.
  if (!items_.contains(key_of(object)) && synced_ && !is_newer(version_of(object), complete_)) return;
  if (echo == Echo::Silent) silent_[key_of(object)] = version_of(object);
  Item& item = items_[key_of(object)];
  if (!is_newer(item.version, version_of(object))) fill(item, std::move(object));
}

void Informer::fill(Item& item, Value object) {
  item.version = version_of(object);
  item.fields.reset();
  if (!apimachinery::managed_fields(object).empty()) {
    Value& metadata = object["metadata"];
    item.fields =
        fields_.share(encoding::to_json(*metadata.find("managedFields"), encoding::JsonStyle::Exact));
    metadata.erase("managedFields");
  }
  item.text = encoding::to_json(object, encoding::JsonStyle::Exact);
  item.text.shrink_to_fit();
}

void Informer::take_object(const Key& key, Value object, WatchEventType type) {
  Item& item = items_[key];
  item.told = true;
  if (!is_newer(item.version, version_of(object))) {
    fill(item, std::move(object));
    refused_.erase(key);
  } else if (type == WatchEventType::Added) {
    fill(refused_[key], std::move(object));
  }
}

// A list is complete: of what it didn't name, only what was put in since is there; and what it named is as it
// says, unless it was put in since. If the watch told of later versions before, the server went back to an
// earlier state, in which versions begin again: nothing that was known counts any more. Gives what isn't as
// it was.
std::vector<Informer::Key> Informer::end_list(std::string_view version) {
  const bool went_back = is_newer(latest_, version);
  complete_ = latest_ = version;
  if (went_back) silent_.clear();
  std::vector<Key> changed;
  for (auto at = items_.begin(); at != items_.end();) {
    Item& item = at->second;
    const bool is_since = !went_back && is_newer(item.version, complete_);
    const auto listed = refused_.find(at->first);
    const bool is_older = listed != refused_.end() && !is_since;
    if (went_back || is_older || !(item.told || is_since)) changed.push_back(at->first);
    if (is_older) {
      item.version = std::move(listed->second.version);
      item.text = std::move(listed->second.text);
      item.fields = std::move(listed->second.fields);
    }
    at = item.told || is_since ? std::next(at) : items_.erase(at);
  }
  refused_.clear();
  return changed;
}

void Informer::take(const WatchEvent& event) {
  const Key key = key_of(event.object);
  std::vector<Key> others;
  bool is_news = true;
  {
    const std::lock_guard lock(mutex_);
    const std::string_view version = version_of(event.object);
    if (event.type != WatchEventType::Bookmark && (latest_.empty() || is_newer(version, latest_)))
      latest_ = version;
    switch (event.type) {
      case WatchEventType::Bookmark:
        synced_ = true;
        failure_.reset();
        refusal_.reset();
        list_failure_.reset();
        others = end_list(version);
        break;
      case WatchEventType::Deleted: {
        complete_ = version;
        silent_.erase(key);
        refused_.erase(key);
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
            silent != silent_.end() && !is_newer(version, silent->second)) {
          is_news = false;
          if (version == silent->second) silent_.erase(silent);
        }
        take_object(key, std::move(object), event.type);
        break;
      }
    }
  }
  for (const Key& each : others) changed_(each);
  if (!is_news) return;
  changed_(event.type == WatchEventType::Bookmark ? std::nullopt : std::optional(key));
}

// Whether that is news to those who read what is there. An account that may list and not watch is told of
// changes by one list after the other.
bool Informer::ended(const Error& failure, bool was_listed) {
  const std::lock_guard lock(mutex_);
  const bool is_unserved = failure.kind == ErrorKind::NotFound;
  const bool is_refused = failure.kind == ErrorKind::Forbidden && !was_listed;
  const bool was_unserved = failure_ && failure_->kind == ErrorKind::NotFound;
  const bool is_news = synced_ && ((is_unserved && !was_unserved) || (is_refused && !refusal_));
  failure_ = failure;
  if (is_refused && synced_) refusal_ = failure;
  if (is_unserved) refusal_.reset();
  return is_news;
}

// A server that doesn't answer is no news about the collection, and can't be told of either.
void Informer::cannot_list(const Error& failure) {
  if (http::is_unanswered(failure)) return;
  {
    const std::lock_guard lock(mutex_);
    const bool is_known = list_failure_ && list_failure_->to_line() == failure.to_line();
    list_failure_ = failure;
    if (is_known) return;
  }
  if (unlisted_) unlisted_();
}

void Informer::run(const std::stop_token& stop) {
  Duration pause = kFirstPause;
  std::string warning;
  SteadyTime warned_at{};
  while (!stop.stop_requested()) {
    {
      const std::lock_guard lock(mutex_);
      for (auto& [key, item] : items_) item.told = false;
      refused_.clear();
    }
    bool was_listed = false;
    const Status end = client_.watch(
        resource_, options_,
        [&](const WatchEvent& event) {
          pause = kFirstPause;
          was_listed |= event.type == WatchEventType::Bookmark;
          take(event);
          return !stop.stop_requested();
        },
        Context(stop));
    if (stop.stop_requested()) return;
    if (!end.ok()) {
      if (ended(end.error(), was_listed)) changed_(std::nullopt);
      if (!was_listed) cannot_list(end.error());
      const SteadyTime now = clock_.steady_now();
      const std::string line = end.error().to_line();
      if (line != warning || now - warned_at >= kWarningEvery) {
        events_.warn(fmt::format("the watch of {} ended, and begins again in {} s: {}", resource_.resource,
                                 std::chrono::duration_cast<std::chrono::seconds>(pause).count(), line));
        warning = line;
        warned_at = now;
      }
    }
    clock_.sleep(pause, stop);
    const bool is_unserved = !end.ok() && end.error().kind == ErrorKind::NotFound;
    pause = std::min(pause * 2, is_unserved ? kLongestUnserved : kLongestPause);
  }
}

}  // namespace mist::kube
