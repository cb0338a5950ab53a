#include "operator/shared_watch.h"

#include <algorithm>

#include "apimachinery/label_selector.h"

namespace mist::operator_ {
namespace {

// Of an object that is kept without its content. No field of an object has such a name.
constexpr std::string_view kStripped = "mistletoe.dev/stripped";

bool is_stripped(const Value& object) { return object.find(kStripped) != nullptr; }

SharedWatch::Key key_of(const Value& object) {
  return {std::string(object.string_at({"metadata", "namespace"})),
          std::string(object.string_at({"metadata", "name"}))};
}

}  // namespace

SharedWatch::SharedWatch(kube::Client& client, const kube::ResourceInfo& resource, const std::string& ns,
                         const std::vector<std::string>& namespaces, Told told, Clock& clock,
                         EventSink& events)
    : client_(client),
      told_(std::move(told)),
      informer_(
          client, resource, {.ns = ns}, namespaces, [this](Value& object) { prune(object); },
          [this](const std::optional<Key>& key) { changed(key); }, clock, events,
          // An instance that waits for its objects learns why.
          [this] { changed(std::nullopt); }) {}

SharedWatch::Label SharedWatch::first_label(std::string_view selector) {
  const std::string_view first = selector.substr(0, selector.find(','));
  const auto sign = first.find('=');
  return sign == std::string_view::npos ? Label() : Label(first.substr(0, sign), first.substr(sign + 1));
}

bool SharedWatch::selects(const Collection& collection, const Value& object) {
  if (!collection.ns.empty() && object.string_at({"metadata", "namespace"}) != collection.ns) return false;
  return apimachinery::selects(collection.label_selector, object);
}

template <typename Take>
void SharedWatch::each_selecting(const Value& object, const Take& take) const {
  const auto look_up = [&](const Label& label) {
    const auto found = listed_.find(label);
    if (found == listed_.end()) return;
    for (const Collection& collection : found->second)
      if (selects(collection, object)) take(collection);
  };
  look_up({});
  const Value* const labels = object.at_path({"metadata", "labels"});
  if (labels == nullptr || !labels->is_object()) return;
  for (const Value::Member& each : labels->as_object())
    if (each.value.is_string()) look_up({each.key, each.value.as_string()});
}

void SharedWatch::prune(Value& object) const {
  {
    const std::lock_guard lock(wanted_mutex_);
    bool is_kept = wanted_.contains(key_of(object));
    if (!is_kept) each_selecting(object, [&](const Collection&) { is_kept = true; });
    if (is_kept) return;
  }
  Value metadata = Value::object();
  for (const std::string_view kept : {"name", "namespace", "uid", "resourceVersion", "labels"})
    if (const Value* value = object.at_path({"metadata", kept})) metadata.set(kept, *value);
  object = Value::object({{"metadata", std::move(metadata)}, {kStripped, true}});
}

// The collections that the object is in, or was.
std::vector<Collection> SharedWatch::sort_in(const Key& key) {
  const std::lock_guard lock(members_mutex_);
  {
    const std::lock_guard wanted(wanted_mutex_);
    if (listed_.empty() && member_of_.empty()) return {};
  }
  const std::optional<Value> object = informer_.get(key);
  std::set<Collection> now;
  if (object) {
    const std::lock_guard wanted(wanted_mutex_);
    each_selecting(*object, [&](const Collection& each) { now.insert(each); });
  }
  const auto known = member_of_.find(key);
  const std::set<Collection> before = known == member_of_.end() ? std::set<Collection>() : known->second;
  for (const Collection& each : before)
    if (!now.contains(each)) members_[each].erase(key);
  for (const Collection& each : now) members_[each].insert(key);
  std::vector<Collection> concerned;
  std::ranges::set_union(before, now, std::back_inserter(concerned));
  if (!now.empty())
    member_of_[key] = std::move(now);
  else if (known != member_of_.end())
    member_of_.erase(known);
  return concerned;
}

void SharedWatch::changed(const std::optional<Key>& key) {
  if (key) {
    for (const Collection& each : sort_in(*key)) told_.list(each);
    return told_.object(key);
  }
  for (const Collection& each : collections()) told_.list(each);
  told_.object(std::nullopt);
}

Result<std::optional<Value>> SharedWatch::get(const Key& key, const Context& context) {
  std::optional<Value> object = informer_.get(key);
  if (!object || !is_stripped(*object)) return object;
  auto answer = client_.get({informer_.resource(), key.first, key.second}, context);
  // The watch will tell.
  if (!answer.ok() && answer.error().kind == ErrorKind::NotFound) return std::optional<Value>();
  MIST_TRY(Value whole, std::move(answer));
  informer_.put(whole);
  return std::optional(std::move(whole));
}

Result<Value::Array> SharedWatch::list(const Collection& collection, const Context& context) {
  std::set<Key> members;
  {
    const std::lock_guard lock(members_mutex_);
    if (const auto found = members_.find(collection); found != members_.end()) members = found->second;
  }
  Value::Array objects;
  for (const Key& key : members) {
    MIST_TRY(std::optional<Value> object, get(key, context));
    // It may have changed since it was sorted in.
    if (object && selects(collection, *object)) objects.push_back(*std::move(object));
  }
  return objects;
}

void SharedWatch::want(const Key& key) {
  const std::lock_guard lock(wanted_mutex_);
  wanted_.insert(key);
}

void SharedWatch::want(const Collection& collection) {
  const Label label = first_label(collection.label_selector);
  {
    const std::lock_guard lock(wanted_mutex_);
    if (!listed_[label].insert(collection).second) return;
  }
  // Objects are kept as JSON without spaces; neither part of a label has anything to escape.
  const std::lock_guard lock(members_mutex_);
  const std::vector<Key> candidates =
      label.first.empty() ? informer_.keys()
                          : informer_.keys_with(fmt::format(R"("{}":"{}")", label.first, label.second));
  for (const Key& key : candidates) {
    const std::optional<Value> object = informer_.get(key);
    if (!object || !selects(collection, *object)) continue;
    members_[collection].insert(key);
    member_of_[key].insert(collection);
  }
}

// Nobody wants it any more, unless somebody else does.
void SharedWatch::strip(const Key& key) {
  if (std::optional<Value> object = informer_.get(key)) informer_.put(*std::move(object));
}

void SharedWatch::leave(const Key& key) {
  {
    const std::lock_guard lock(wanted_mutex_);
    if (wanted_.erase(key) == 0) return;
  }
  strip(key);
}

void SharedWatch::leave(const Collection& collection) {
  {
    const std::lock_guard lock(wanted_mutex_);
    const auto alike = listed_.find(first_label(collection.label_selector));
    if (alike == listed_.end() || alike->second.erase(collection) == 0) return;
    if (alike->second.empty()) listed_.erase(alike);
  }
  std::set<Key> members;
  {
    const std::lock_guard lock(members_mutex_);
    if (const auto found = members_.find(collection); found != members_.end()) {
      members = std::move(found->second);
      members_.erase(found);
    }
    for (const Key& key : members) {
      const auto in = member_of_.find(key);
      in->second.erase(collection);
      if (in->second.empty()) member_of_.erase(in);
    }
  }
  for (const Key& key : members) strip(key);
}

std::vector<Collection> SharedWatch::collections() const {
  std::vector<Collection> all;
  const std::lock_guard lock(wanted_mutex_);
  for (const auto& [label, collections] : listed_)
    all.insert(all.end(), collections.begin(), collections.end());
  return all;
}

bool SharedWatch::is_wanted() const {
  const std::lock_guard lock(wanted_mutex_);
  return !wanted_.empty() || !listed_.empty();
}

}  // namespace mist::operator_
