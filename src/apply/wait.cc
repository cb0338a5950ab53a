#include "apply/wait.h"

#include <map>
#include <mutex>

#include "base/parallel.h"
#include "base/text.h"

namespace mist::apply {
namespace {

struct Group {
  kube::ResourceInfo resource;
  std::string ns;
  std::map<ObjectKey, std::string> open;  // what isn't ready yet, and why
};

class Waiter {
 public:
  Waiter(kube::Client& client, std::string selector, EventSink& events)
      : client_(client), selector_(std::move(selector)), events_(events) {}

  Status watch(Group& group, const Context& context) {
    kube::ListOptions options;
    options.ns = group.ns;
    options.label_selector = selector_;
    const GroupKind kind = group.resource.gvk.group_kind();
    std::optional<Error> failed;
    const auto look = [&](const kube::WatchEvent& event) {
      if (event.type == kube::WatchEventType::Bookmark) return true;
      const ObjectKey key{kind, std::string(event.object.string_at({"metadata", "namespace"})),
                          std::string(event.object.string_at({"metadata", "name"}))};
      const auto found = group.open.find(key);
      if (found == group.open.end()) return true;
      if (event.type == kube::WatchEventType::Deleted) {
        failed = error(ErrorKind::Invalid, "{} was deleted while it was waited for", key.display());
        return false;
      }
      const Readiness state = readiness(event.object);
      if (state.health == Health::Failed) {
        events_.object({key.display(), "failed", state.detail});
        failed = error(ErrorKind::Invalid, "{} failed", key.display()).with_because(state.detail);
        return false;
      }
      if (state.health == Health::Ready) {
        events_.object({key.display(), "ready", {}});
        group.open.erase(found);
        return !group.open.empty();
      }
      if (found->second != state.detail) events_.object({key.display(), "waiting", state.detail});
      found->second = state.detail;
      return true;
    };
    Status watched = client_.watch(group.resource, options, look, context);
    if (failed) return *std::move(failed);
    return watched;
  }

 private:
  kube::Client& client_;
  const std::string selector_;
  EventSink& events_;
};

}  // namespace

std::vector<AwaitedObject> awaited_objects(const Plan& plan) {
  std::vector<AwaitedObject> objects;
  for (const PlannedAction& action : plan.writes) {
    if (has_readiness_rule(action.key.group_kind)) objects.push_back({action.key, action.resource});
  }
  return objects;
}

Status wait_until_ready(kube::Client& client, const std::string& part_of,
                        const std::vector<AwaitedObject>& objects, EventSink& events,
                        const Context& context) {
  std::map<std::pair<GroupKind, std::string>, Group> by_place;
  for (const AwaitedObject& object : objects) {
    Group& group = by_place[{object.key.group_kind, object.key.ns}];
    group.resource = object.resource;
    group.ns = object.key.ns;
    group.open.emplace(object.key, "it is not there yet");
  }
  std::vector<Group*> groups;
  for (auto& [place, group] : by_place) groups.push_back(&group);
  if (groups.empty()) return {};

  Activity activity(events, fmt::format("waiting for {} to become ready", plural(objects.size(), "object")));
  Waiter waiter(client, fmt::format("{}={}", release::kPartOfLabel, part_of), events);
  // The first failure ends the other watches: nothing is gained by waiting for the rest of a broken release.
  std::stop_source stop;
  std::stop_callback forward(context.stop(), [&] { stop.request_stop(); });
  const Context joint = context.with_stop(stop.get_token());
  std::mutex mutex;
  std::optional<Error> cause;  // the first failure that isn't its echo; guarded by mutex
  (void)parallel_for(groups.size(), groups.size(), [&](std::size_t i) -> Status {
    Status watched = waiter.watch(*groups[i], joint);
    if (watched.ok()) return watched;
    const std::scoped_lock lock(mutex);
    const bool echo = watched.error().kind == ErrorKind::Cancelled && !context.stop().stop_requested();
    if (!cause && !echo) cause = watched.error();
    stop.request_stop();
    return watched;
  });
  if (!cause) return {};
  activity.fail();
  if (cause->kind != ErrorKind::Timeout && cause->kind != ErrorKind::Cancelled) return *std::move(cause);

  std::vector<std::string> open;
  for (const Group* group : groups) {
    for (const auto& [key, why] : group->open) open.push_back(fmt::format("{}: {}", key.display(), why));
  }
  Error failure =
      error(cause->kind, "{} {} not ready", plural(open.size(), "object"), open.size() == 1 ? "is" : "are");
  constexpr std::size_t kShown = 20;
  if (open.size() > kShown) {
    const std::size_t more = open.size() - kShown;
    open.resize(kShown);
    open.push_back(fmt::format("and {} more", more));
  }
  failure.because = join(open, "\n");
  if (cause->kind == ErrorKind::Timeout)
    failure.hint = "allow more time with --timeout, or look at the objects' events";
  return failure;
}

Status wait_for(kube::Client& client, const kube::ObjectRef& ref,
                const std::function<bool(const Value*)>& done, const Context& context) {
  kube::ListOptions options;
  options.ns = ref.ns;
  options.field_selector = "metadata.name=" + ref.name;
  auto got = client.get(ref, context);
  if (!got.ok() && got.error().kind != ErrorKind::NotFound) return std::move(got).error();
  if (done(got.ok() ? &*got : nullptr)) return {};
  bool satisfied = false, present = false;
  const Status watched = client.watch(
      ref.resource, options,
      [&](const kube::WatchEvent& event) {
        // A Bookmark ends a listing: what was not in it is not there.
        if (event.type == kube::WatchEventType::Bookmark && present) return true;
        present = event.type == kube::WatchEventType::Added || event.type == kube::WatchEventType::Modified;
        satisfied = done(present ? &event.object : nullptr);
        return !satisfied;
      },
      context);
  if (satisfied) return {};
  return watched;
}

}  // namespace mist::apply
