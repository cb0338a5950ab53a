#include "operator/late_kinds.h"

#include <algorithm>

#include "kube/crds.h"

namespace mist::operator_ {
namespace {

// Somebody may have given the operator the right.
constexpr Duration kForbiddenFor = std::chrono::minutes(10);

// The name of a CRD says its group; annotations may hold all of it once more.
void keep_name(Value& object) {
  Value metadata = Value::object();
  for (const std::string_view kept : {"name", "resourceVersion"})
    metadata.set(kept, std::string(object.string_at({"metadata", kept})));
  object = Value::object({{"metadata", std::move(metadata)}});
}

}  // namespace

LateKinds::LateKinds(kube::Client& client, Clock& clock, EventSink& events, Observer::Wake wake)
    : client_(client), clock_(clock), events_(events), wake_(std::move(wake)) {}

void LateKinds::set(const Item& item, const std::set<std::string>& groups) {
  const auto known = missed_.find(item);
  const std::set<std::string> before = known == missed_.end() ? std::set<std::string>() : known->second;
  if (groups != before) {
    {
      const std::lock_guard lock(mutex_);
      for (const std::string& group : before) {
        std::set<Item>& items = waiting_[group];
        items.erase(item);
        if (items.empty()) waiting_.erase(group);
      }
      for (const std::string& group : groups) waiting_[group].insert(item);
    }
    if (groups.empty())
      missed_.erase(item);
    else
      missed_[item] = groups;
    // It may have come after somebody looked for it.
    if (informer_ && informer_->synced() && std::ranges::any_of(informer_->keys(), [&](const auto& key) {
          return std::ranges::any_of(groups, [&](const std::string& group) {
            return !before.contains(group) && key.second.ends_with("." + group);
          });
        }))
      wake_(item);
  }

  const auto failure = informer_ ? informer_->failure() : std::nullopt;
  if (failure && failure->kind == ErrorKind::Forbidden) {
    refused_until_ = clock_.steady_now() + kForbiddenFor;
    informer_.reset();
  }
  if (missed_.empty()) {
    informer_.reset();
  } else if (!informer_ && (!refused_until_ || *refused_until_ <= clock_.steady_now())) {
    informer_ = std::make_unique<kube::Informer>(
        client_, kube::kCrds, kube::ListOptions{.metadata_only = true}, keep_name,
        [this](const std::optional<kube::Informer::Key>& key) { changed(key); }, clock_, events_);
  }
}

void LateKinds::changed(const std::optional<kube::Informer::Key>& key) {
  std::set<Item> woken;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [group, items] : waiting_)
      if (!key || key->second.ends_with("." + group)) woken.insert(items.begin(), items.end());
  }
  for (const Item& item : woken) wake_(item);
}

}  // namespace mist::operator_
