#include "apply/wait/object_waits.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

#include "apply/plan/finished_job.h"
#include "apply/reserved_metadata.h"

namespace mist::apply {
namespace {

const GroupKind kPodKind{"", "Pod"};
constexpr std::string_view kDeleted = "was deleted while it was waited for";

// Whether a state is older than the one that was written. Resource versions are decimal numbers that grow
// (KEP-5504); of others nothing is known.
bool older(std::string_view version, std::string_view written) {
  const auto number = [](std::string_view text) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  };
  const auto a = number(version), b = number(written);
  return a && b && *a < *b;
}

}  // namespace

class ObjectWaits::Impl {
 public:
  Impl(kube::Client& client, const Owner& owner, Listener listener, const Context& context,
       Duration pods_after)
      : client_(client),
        part_of_(apply_set_id(owner)),
        listener_(std::move(listener)),
        context_(context.with_stop(stop_.get_token())),
        forward_(context.stop(), [this] { stop_.request_stop(); }),
        pods_(
            client, [this](const ObjectKey& key, const PodTrouble& trouble) { explain(key, trouble); },
            context_, pods_after) {}

  ~Impl() {
    // Every wait has ended by then, and with the last of them its watch.
    for (auto& [place, group] : groups_)
      if (group.thread.joinable()) group.thread.join();
  }

  void begin(std::vector<std::pair<Id, ObjectWait>> waits) {
    std::vector<Ended> ended;
    {
      const std::scoped_lock lock(mutex_);
      std::set<Group*> idle;
      for (auto& [id, wait] : waits) {
        Group& group = groups_[{wait.key.group_kind, wait.key.ns, wait.ours}];
        const auto deadline = context_.with_timeout(wait.limit).deadline();
        group.pending.push_back({.id = id,
                                 .wait = std::move(wait),
                                 .deadline = deadline.value_or(SteadyTime::max()),
                                 .joined = group.listing});
        if (group.running)
          join(group, ended);
        else
          idle.insert(&group);
      }
      for (Group* const group : idle) {
        if (group->thread.joinable()) group->thread.join();  // it has left the lock for the last time
        group->running = true;
        group->resource = group->pending.front().wait.resource;
        group->thread = std::jthread([this, group] { watch(*group); });
      }
    }
    tell(ended);
  }

  void stop() { stop_.request_stop(); }

 private:
  struct Pending {
    Id id = 0;
    ObjectWait wait;
    SteadyTime deadline;
    int joined = 0;  // the listing that had begun by then: it may not have asked for this object
    std::string state = "nothing was seen of it";  // what it was like at last
    Value live = {};
    PodTrouble trouble = {};  // of its Pods
    std::string told = {};

    // The cause first: a line of progress may have room for no more.
    std::string detail() const {
      return trouble.text.empty() ? state : fmt::format("{}; {}", trouble.text, state);
    }
  };
  struct Ended {
    Id id = 0;
    WaitEnd end;
  };
  // One resource in one namespace; guarded by mutex_ but for `thread`.
  struct Group {
    kube::ResourceInfo resource;
    std::vector<Pending> pending;
    std::map<ObjectKey, Value> seen;  // of this watch
    int listing = 0;                  // counts them, from 1
    bool listed = false;              // what it asked for and isn't in `seen` isn't there
    bool running = false;
    std::string only;  // the one name that the watch asks for; empty: all
    std::stop_source stop;
    std::jthread thread;
  };
  using Place = std::tuple<GroupKind, std::string, bool>;  // kind, namespace, ours

  static GoneJob gone_job_of(const Pending& pending) {
    return {pending.wait.key, pending.wait.uid, pending.wait.removal_delay.value_or(Duration())};
  }

  // The newest wait of a group that is being watched. Under the lock.
  void join(Group& group, std::vector<Ended>& ended) {
    const ObjectKey key = group.pending.back().wait.key;
    const bool may_be_gone = group.pending.back().wait.removal_delay.has_value();
    const bool may_be_absent = !group.pending.back().wait.ours && !group.seen.contains(key);
    look(group, key, ended);
    // Look at more, or again: what was deleted before this is listed no more.
    if (may_be_gone || may_be_absent || (!group.only.empty() && group.only != key.name))
      group.stop.request_stop();
  }

  // Whether an object that wasn't seen isn't there: by a listing that began after somebody waited for it. An
  // earlier one may have asked for another name, or be older than the object.
  static bool knows_absence(const Group& group, const Pending& pending) {
    return group.listed && pending.joined < group.listing;
  }

  // A thread of its own for each group, while somebody waits.
  void watch(Group& group) {
    while (true) {
      kube::ListOptions list;
      Context context;
      std::stop_source own;  // of this watch
      {
        const std::scoped_lock lock(mutex_);
        group.seen.clear();
        group.listed = false;
        ++group.listing;
        if (group.pending.empty()) {
          group.running = false;
          return;
        }
        group.stop = own;
        list = selection(group);
        const auto first = std::ranges::min_element(group.pending, {}, &Pending::deadline);
        context = context_.with_stop(own.get_token()).with_deadline(first->deadline);
      }
      // Without the lock, which whoever stops may hold: the listener that is told of a change.
      const std::stop_callback forward(context_.stop(), [own]() mutable { own.request_stop(); });
      Status watched = client_.watch(
          group.resource, list, [&](const kube::WatchEvent& event) { return handle(group, event); }, context);
      if (watched.ok()) continue;  // nobody waits any more
      std::vector<Ended> ended;
      {
        const std::scoped_lock lock(mutex_);
        end_after(group, watched.error(), ended);
      }
      tell(ended);
    }
  }

  // One object is asked for by name, several of the owner's by its label, others' by nothing. Under the lock.
  kube::ListOptions selection(Group& group) const {
    kube::ListOptions list;
    const ObjectKey& first = group.pending.front().wait.key;
    list.ns = first.ns;
    const bool one =
        std::ranges::all_of(group.pending, [&](const Pending& each) { return each.wait.key == first; });
    group.only = one ? first.name : "";
    if (one)
      list.field_selector = "metadata.name=" + first.name;
    else if (group.pending.front().wait.ours)
      list.label_selector = fmt::format("{}={}", kPartOfLabel, part_of_);
    return list;
  }

  // False: nobody waits any more.
  bool handle(Group& group, const kube::WatchEvent& event) {
    std::vector<Ended> ended;
    std::vector<GoneJob> gone;
    std::set<ObjectKey> unlisted;
    bool more = false;
    {
      const std::scoped_lock lock(mutex_);
      if (event.type == kube::WatchEventType::Bookmark)
        take_listing(group, gone, unlisted, ended);
      else
        take(group, event, gone, unlisted, ended);
      more = !group.pending.empty();
    }
    for (const GoneJob& job : gone) more = end_gone(group, job, ended);
    for (const ObjectKey& key : unlisted) more = end_unlisted(group, key, ended);
    tell(ended);
    return more;
  }

  // A Bookmark ends a listing: what was not in it is not there. Under the lock.
  void take_listing(Group& group, std::vector<GoneJob>& gone, std::set<ObjectKey>& unlisted,
                    std::vector<Ended>& ended) {
    group.listed = true;
    std::set<ObjectKey> keys;
    for (const Pending& pending : group.pending) keys.insert(pending.wait.key);
    for (const ObjectKey& key : keys) look(group, key, ended);
    for (const Pending& pending : group.pending) {
      if (is_gone(group, pending))
        gone.push_back(gone_job_of(pending));
      else if (may_be_unlisted(group, pending) && !group.seen.contains(pending.wait.key))
        unlisted.insert(pending.wait.key);
    }
  }

  // Under the lock.
  void take(Group& group, const kube::WatchEvent& event, std::vector<GoneJob>& gone,
            std::set<ObjectKey>& unlisted, std::vector<Ended>& ended) {
    const ObjectKey key{group.resource.gvk.group_kind(),
                        std::string(event.object.string_at({"metadata", "namespace"})),
                        std::string(event.object.string_at({"metadata", "name"}))};
    if (event.type != kube::WatchEventType::Deleted) {
      group.seen.insert_or_assign(key, event.object);
      return look(group, key, ended);
    }
    // As it was when it ended; after a break of the watch no more is known than that it is gone.
    if (ended_job(event.object)) {
      group.seen.insert_or_assign(key, event.object);
      look(group, key, ended);
    }
    group.seen.erase(key);
    for (Pending& pending : group.pending) {
      if (pending.wait.key != key) continue;
      pending.joined = 0;  // this watch tells of it
      if (event.object.find("status") == nullptr && is_gone(group, pending))
        gone.push_back(gone_job_of(pending));
      else if (pending.wait.ours)
        unlisted.insert(key);
    }
    look(group, key, ended);
  }

  // A Job that removes itself may be gone; a listing that didn't ask for it tells nothing. Under the lock.
  static bool may_be_unlisted(const Group& group, const Pending& pending) {
    return pending.wait.ours && (!pending.wait.removal_delay || knows_absence(group, pending));
  }

  // A Job that is waited for and that removed itself before it was seen. Under the lock.
  static bool is_gone(const Group& group, const Pending& pending) {
    return pending.wait.removal_delay && knows_absence(group, pending) &&
           !group.seen.contains(pending.wait.key);
  }

  bool end_gone(Group& group, const GoneJob& job, std::vector<Ended>& ended) {
    const std::optional<Readiness> state = gone_job(client_, job, context_);
    const std::scoped_lock lock(mutex_);
    std::erase_if(group.pending, [&](Pending& pending) {
      if (pending.wait.key != job.key || pending.wait.uid != job.uid || !is_gone(group, pending))
        return false;
      if (!state) {
        end(pending, WaitEnd::How::Lost, std::string(kDeleted), ended);
        return true;
      }
      end(pending, state->health == Health::Failed ? WaitEnd::How::Failed : WaitEnd::How::Met, state->detail,
          ended);
      ended.back().end.gone = true;
      return true;
    });
    return !group.pending.empty();
  }

  bool has_label(const Value& live) const {
    return live.string_at({"metadata", "labels", kPartOfLabel}) == part_of_;
  }
  static std::string without_label() {
    return fmt::format("lost the label {}, by which it is the release's", kPartOfLabel);
  }

  // An object that the watch doesn't list, or no longer lists, was deleted, or lost the label by which the
  // watch selects; neither comes back by waiting.
  bool end_unlisted(Group& group, const ObjectKey& key, std::vector<Ended>& ended) {
    const auto there = client_.get({group.resource, key.ns, key.name}, context_);
    std::string how;
    if (!there.ok() && there.error().kind == ErrorKind::NotFound) how = kDeleted;
    if (there.ok() && !has_label(*there)) how = without_label();
    const std::scoped_lock lock(mutex_);
    if (!how.empty())
      std::erase_if(group.pending, [&](Pending& pending) {
        if (pending.wait.key != key || !pending.wait.ours) return false;
        end(pending, WaitEnd::How::Lost, how, ended);
        return true;
      });
    return !group.pending.empty();
  }

  // Ends what waits for `key` and needs to wait no more. Under the lock.
  void look(Group& group, const ObjectKey& key, std::vector<Ended>& ended) {
    const auto seen = group.seen.find(key);
    const Value* const live = seen == group.seen.end() ? nullptr : &seen->second;
    std::erase_if(group.pending, [&](Pending& pending) {
      if (pending.wait.key != key) return false;
      if (live == nullptr && (!knows_absence(group, pending) || pending.wait.ours)) return false;
      if (live != nullptr && older(live->string_at({"metadata", "resourceVersion"}), pending.wait.version))
        return false;
      if (live != nullptr) pending.live = *live;
      if (live != nullptr && pending.wait.ours && !has_label(*live)) {
        end(pending, WaitEnd::How::Lost, without_label(), ended);
        return true;
      }
      Readiness state = pending.wait.judge(live);
      if (live != nullptr) state = pending.wait.earlier_failure.judge(std::move(state), *live);
      if (state.health == Health::InProgress) {
        pending.state = std::move(state.detail);
        if (live != nullptr && pending.wait.asks_pods) ask_pods(pending, *live);
        announce(pending);
        return false;
      }
      const bool failed = state.health == Health::Failed;
      end(pending, failed ? WaitEnd::How::Failed : WaitEnd::How::Met, std::move(state.detail), ended);
      return true;
    });
  }

  void ask_pods(Pending& pending, const Value& live) {
    if (pending.wait.key.group_kind == kPodKind)
      pending.trouble = next_trouble(pending.trouble, trouble_of(live));
    else
      pods_.follow(pending.wait.key, live);
  }

  // Under the lock.
  void announce(Pending& pending) {
    std::string detail = pending.detail();
    if (detail == pending.told) return;
    listener_.changed(pending.id, detail);
    pending.told = std::move(detail);
  }

  // The trouble of an object's Pods; from a thread of pods_.
  void explain(const ObjectKey& key, const PodTrouble& trouble) {
    const std::scoped_lock lock(mutex_);
    for (auto& [place, group] : groups_) {
      for (Pending& pending : group.pending) {
        if (pending.wait.key != key) continue;
        pending.trouble = next_trouble(pending.trouble, trouble);
        announce(pending);
      }
    }
  }

  // Under the lock; the caller drops it from the pending ones.
  void end(Pending& pending, WaitEnd::How how, std::string detail, std::vector<Ended>& ended,
           std::optional<Error> failure = {}) {
    pods_.forget(pending.wait.key);
    ended.push_back({pending.id,
                     {.how = how,
                      .detail = std::move(detail),
                      .state = std::move(pending.state),
                      .live = std::move(pending.live),
                      .failure = std::move(failure)}});
  }

  // The watch ended: because time is up for some, because somebody joined, or for good. Under the lock.
  void end_after(Group& group, const Error& cause, std::vector<Ended>& ended) {
    const Status whole = context_.check();
    const SteadyTime now = context_.now();
    std::erase_if(group.pending, [&](Pending& pending) {
      const bool late = pending.deadline <= now || (!whole.ok() && whole.error().kind == ErrorKind::Timeout);
      std::string detail = pending.detail();
      if (late)
        end(pending, WaitEnd::How::Late, std::move(detail), ended);
      else if (!whole.ok())
        end(pending, WaitEnd::How::Stopped, std::move(detail), ended, whole.error());
      else if (cause.kind != ErrorKind::Timeout && cause.kind != ErrorKind::Cancelled)
        end(pending, WaitEnd::How::Broken, std::move(detail), ended, cause);
      else
        return false;
      return true;
    });
  }

  // Not under the lock.
  void tell(std::vector<Ended>& ended) {
    for (Ended& each : ended) listener_.ended(each.id, std::move(each.end));
  }

  kube::Client& client_;
  const std::string part_of_;
  const Listener listener_;
  std::stop_source stop_;
  const Context context_;
  const std::stop_callback<std::function<void()>> forward_;
  std::mutex mutex_;
  std::map<Place, Group> groups_;  // references stay good
  PodWatch pods_;                  // last: it calls explain()
};

ObjectWaits::ObjectWaits(kube::Client& client, const Owner& owner, Listener listener, const Context& context,
                         Duration pods_after)
    : impl_(std::make_unique<Impl>(client, owner, std::move(listener), context, pods_after)) {}
ObjectWaits::~ObjectWaits() = default;
void ObjectWaits::begin(std::vector<std::pair<Id, ObjectWait>> waits) { impl_->begin(std::move(waits)); }
void ObjectWaits::stop() { impl_->stop(); }

}  // namespace mist::apply
