#include "apply/wait/pod_trouble.h"

#include <algorithm>
#include <vector>

#include "apply/wait/root_cause.h"
#include "base/text.h"

namespace mist::apply {

using apimachinery::ObjectKey;
using encoding::Value;

namespace {

const kube::ResourceInfo& pods_resource() {
  static const kube::ResourceInfo kResource{{"", "v1", "Pod"}, "pods", true, {}};
  return kResource;
}

bool is_about_images(std::string_view reason) {
  return reason.starts_with("ErrImage") || reason.starts_with("Image") || reason == "InvalidImageName";
}

// The mark that the Pods of one template share: a ReplicaSet's, a StatefulSet's and a DaemonSet's.
std::string template_of(const Value& pod) {
  for (const std::string_view label : {"pod-template-hash", "controller-revision-hash"})
    if (const std::string_view hash = pod.string_at({"metadata", "labels", label}); !hash.empty())
      return std::string(hash);
  return {};
}

// The Pods of one workload as they were last seen.
class SeenPods {
 public:
  void see(const kube::WatchEvent& event) {
    const std::string name(event.object.string_at({"metadata", "name"}));
    if (event.type == kube::WatchEventType::Deleted) {
      pods_.erase(name);
      return;
    }
    PodTrouble trouble = trouble_of(event.object);
    if (!trouble.text.empty()) trouble.text += fmt::format(" (Pod {})", name);
    Pod& pod = pods_[name];
    pod.created = event.object.string_at({"metadata", "creationTimestamp"});
    pod.made_from = template_of(event.object);
    pod.trouble = next_trouble(pod.trouble, std::move(trouble));
  }

  bool empty() const { return pods_.empty(); }

  // Of the newest template: what an earlier one's Pods suffer from ends with them.
  PodTrouble trouble() const {
    const auto newest = std::ranges::max_element(
        pods_, {}, [](const auto& each) -> const std::string& { return each.second.created; });
    if (newest == pods_.end()) return {};
    for (const auto& [name, pod] : pods_)
      if (pod.made_from == newest->second.made_from && !pod.trouble.text.empty()) return pod.trouble;
    return {};
  }

 private:
  struct Pod {
    std::string created, made_from;
    PodTrouble trouble;
  };
  std::map<std::string, Pod> pods_;
};

}  // namespace

PodTrouble trouble_of(const Value& pod) {
  const Diagnosis described = describe_pod(pod);
  for (const Diagnosis& container : described.children) {
    // One that is still starting has neither.
    if (container.reason.empty() && !container.exit_code) continue;
    const std::string_view cause = is_about_images(container.reason) ? "image"
                                   : container.exit_code             ? "end"
                                                                     : std::string_view(container.reason);
    return {.text = fmt::format("{} {}: {}", container.kind, container.name, container.state),
            .cause = fmt::format("{} {}", cause, container.name),
            .rank = container.state.find("BackOff") != std::string::npos ? 1 : 0};
  }
  if (described.reason.empty()) return {};
  return {.text = described.state, .cause = described.reason};
}

PodTrouble next_trouble(const PodTrouble& shown, PodTrouble now) {
  return !now.text.empty() && now.cause == shown.cause && now.rank < shown.rank ? shown : now;
}

std::string pod_selector(const Value& workload) {
  const Value* const selector = workload.at_path({"spec", "selector"});
  if (selector == nullptr || !selector->is_object() ||
      workload.at_path({"spec", "template", "spec", "containers"}) == nullptr)
    return {};
  std::vector<std::string> parts;
  const Value* labels = selector->find("matchLabels");
  const Value* const expressions = selector->find("matchExpressions");
  if (labels == nullptr && expressions == nullptr) labels = selector;  // of a ReplicationController
  if (labels != nullptr && labels->is_object())
    for (const Value::Member& label : labels->as_object())
      if (label.value.is_string()) parts.push_back(fmt::format("{}={}", label.key, label.value.as_string()));
  if (expressions == nullptr || !expressions->is_array()) return join(parts, ",");
  for (const Value& expression : expressions->as_array()) {
    const std::string key(expression.string_at("key"));
    const std::string_view sign = expression.string_at("operator");
    std::vector<std::string> values;
    if (const Value* const list = expression.find("values"); list != nullptr && list->is_array())
      for (const Value& value : list->as_array())
        if (value.is_string()) values.push_back(value.as_string());
    if (sign == "Exists") parts.push_back(key);
    if (sign == "DoesNotExist") parts.push_back("!" + key);
    if (sign == "In") parts.push_back(fmt::format("{} in ({})", key, join(values, ",")));
    if (sign == "NotIn") parts.push_back(fmt::format("{} notin ({})", key, join(values, ",")));
  }
  return join(parts, ",");
}

PodWatch::~PodWatch() {
  std::map<ObjectKey, std::jthread> running;
  std::list<std::jthread> ended;
  {
    const std::scoped_lock lock(mutex_);
    queue_.clear();
    running.swap(running_);
    ended.swap(ended_);
  }
  for (auto& [key, thread] : running) thread.request_stop();
}

void PodWatch::follow(const ObjectKey& key, const Value& workload) {
  std::string selector = pod_selector(workload);
  if (selector.empty()) return;
  const std::scoped_lock lock(mutex_);
  const bool known = running_.contains(key) || std::ranges::find(queue_, key, &Followed::key) != queue_.end();
  if (known) return;
  queue_.push_back({key, std::move(selector), std::string(workload.string_at({"metadata", "uid"}))});
  begin_next();
}

void PodWatch::forget(const ObjectKey& key) {
  const std::scoped_lock lock(mutex_);
  queue_.remove_if([&](const Followed& each) { return each.key == key; });
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  found->second.request_stop();
  ended_.push_back(std::move(found->second));
  running_.erase(found);
  begin_next();
}

void PodWatch::begin_next() {
  while (!queue_.empty() && running_.size() < kMost) {
    Followed next = std::move(queue_.front());
    queue_.pop_front();
    ObjectKey key = next.key;
    running_.emplace(
        std::move(key),
        std::jthread([this, next = std::move(next)](const std::stop_token& stop) { watch(next, stop); }));
  }
}

void PodWatch::watch(const Followed& followed, const std::stop_token& stop) {
  const Context context = context_.with_stop(stop);
  PodTrouble told;
  const auto tell = [&](PodTrouble now) {
    if (now != told) tell_(followed.key, told = std::move(now));
  };
  bool more = context.pause(patience_).ok();
  while (more) {
    SeenPods seen;
    bool listed = false;
    const Status watched = client_.watch(
        pods_resource(), {.ns = followed.key.ns, .label_selector = followed.selector},
        [&](const kube::WatchEvent& event) {
          // A Bookmark ends a listing, in which no order says what is newest.
          if (event.type == kube::WatchEventType::Bookmark)
            listed = true;
          else
            seen.see(event);
          if (!listed) return true;
          if (!seen.empty()) tell(seen.trouble());
          return !seen.empty();
        },
        context);
    if (!watched.ok() || !seen.empty()) return;
    // Another try of the same, with another generated name, is no news.
    PodTrouble now = last_warning(client_, followed.key.ns, followed.uid, context);
    if (now.cause != told.cause || now.text.empty()) tell(std::move(now));
    more = context.pause(kWithoutPods).ok();
  }
}

}  // namespace mist::apply
