#include "apply/edge_wait.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <thread>

#include "apimachinery/conditions.h"
#include "apply/earlier_failure.h"
#include "apply/finished_job.h"
#include "apply/hooks.h"
#include "apply/marks.h"
#include "apply/readiness.h"
#include "apply/root_cause.h"
#include "base/diagnosis.h"
#include "base/text.h"

namespace mist::apply {

using encoding::Value;
using graph::Edge;
using graph::Node;

namespace {

// A definition that isn't established after this long never will be; the caller's limit may be shorter.
constexpr Duration kEstablishedLimit = std::chrono::seconds(60);

// Whether a state is older than the one that we wrote. Resource versions are decimal numbers that grow
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

Readiness available(const Value& service) {
  const Value* const condition = apimachinery::condition_of(service, "Available");
  if (condition == nullptr) return {Health::InProgress, "it is not available yet"};
  if (condition->string_at("status") == "True") return {};
  return {Health::InProgress,
          fmt::format("{}: {}", condition->string_at("reason"), condition->string_at("message"))};
}

// How far a source is from what is asked of it; null: it isn't there.
Readiness judge(EdgePredicate predicate, bool optional, const Value* live) {
  if (predicate == EdgePredicate::Absent)
    return live == nullptr
               ? Readiness{}
               : Readiness{Health::InProgress,
                           apimachinery::is_terminating(*live) ? why_terminating(*live) : "it is there"};
  if (live == nullptr) return optional ? Readiness{} : Readiness{Health::InProgress, "it is not there"};
  if (apimachinery::is_terminating(*live) && !ended_job(*live))
    return {Health::InProgress, why_terminating(*live)};
  switch (predicate) {
    case EdgePredicate::Present:
    case EdgePredicate::Absent:
      return {};
    case EdgePredicate::Available:
      return available(*live);
    case EdgePredicate::Established:
    case EdgePredicate::Ready:
      return readiness(*live);
    case EdgePredicate::Done:
      return hook_state(*live);
  }
  return {};
}

std::string limit_text(Duration limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  if (seconds == 0)
    return fmt::format("{} ms", std::chrono::duration_cast<std::chrono::milliseconds>(limit).count());
  return seconds % 60 == 0 ? fmt::format("{} min", seconds / 60) : fmt::format("{} s", seconds);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_without_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

RunOrder run_order(const Plan& plan) {
  RunOrder run;
  const Order& order = plan.order;
  run.graph = graph::SequenceGraph(order.graph.size());
  run.first_wait = order.graph.size();
  std::map<std::pair<Node, int>, Node> waits;
  for (const Edge& edge : order.graph.edges()) {
    const EdgePredicate predicate = predicate_of(edge);
    const bool outside = order.role(edge.before) == NodeRole::Outside;
    if (!outside && predicate == EdgePredicate::Present) {
      run.graph.add(edge);
      continue;
    }
    // Declared edges and those of definitions end at objects; those of hooks may end at a barrier, and hold
    // also if what comes after needs no change: a hook is there to be run.
    const PlannedAction* const after = edge.after < plan.writes.size() ? &plan.writes[edge.after] : nullptr;
    const bool served = (predicate == EdgePredicate::Established || predicate == EdgePredicate::Available) &&
                        after != nullptr && !after->late;
    const bool unchanged = after != nullptr && after->kind == ActionKind::Unchanged;
    const bool finished = !outside && edge.before < plan.writes.size() && plan.writes[edge.before].finished;
    if (finished || (predicate != EdgePredicate::Done && (unchanged || served))) {
      run.graph.add(
          {edge.before, edge.after, static_cast<int>(EdgePredicate::Present), edge.reason, edge.strength});
      continue;
    }
    auto [place, fresh] = waits.emplace(std::pair(edge.before, edge.label), 0);
    if (fresh) {
      place->second = run.graph.add_node();
      EdgeWait wait{.predicate = predicate};
      if (outside)
        wait.outside = order.outside_at(edge.before);
      else
        wait.write = edge.before;
      run.waits.push_back(std::move(wait));
      run.graph.add({edge.before, place->second, edge.label, edge.reason, edge.strength});
    }
    run.waits[place->second - run.first_wait].after.push_back(edge.after);
    run.graph.add({place->second, edge.after, edge.label, edge.reason, edge.strength});
  }
  return run;
}

class EdgeWaiter::Impl {
 public:
  Impl(kube::Client& client, const Plan& plan, const std::vector<EdgeWait>& waits, EdgeWaitOptions options,
       EventSink& events, const Context& context)
      : client_(client),
        plan_(plan),
        waits_(waits),
        options_(options),
        events_(events),
        context_(context),
        pods_(
            client, [this](const ObjectKey& key, const PodTrouble& trouble) { explain(key, trouble); },
            context, options.pods_after) {}

  ~Impl() {
    // Every wait has ended by now, and with the last of them its watch.
    for (auto& [place, group] : groups_) {
      if (group.thread.joinable()) group.thread.join();
    }
  }

  void begin(std::size_t index, WaitSource source, Done done) {
    const EdgeWait& wait = waits_[index];
    auto ref = reference(wait);
    if (!ref.ok()) return done(std::move(ref).error().with_frame(fmt::format("while {}", purpose(wait))));
    // An API service may have to wait for the Pods that answer for it.
    const bool established = wait.predicate == EdgePredicate::Established;
    const Duration limit = established ? std::min(options_.limit, kEstablishedLimit) : options_.limit;
    Pending pending{
        .wait = &wait,
        .key = {ref->resource.gvk.group_kind(), ref->resource.namespaced ? ref->ns : "", ref->name},
        .version = std::move(source.version),
        .uid = std::move(source.uid),
        .earlier_failure = EarlierFailure(std::move(source.earlier_failure)),
        .removal_delay =
            wait.write
                ? removal_delay(plan_.desired[plan_.writes[*wait.write].desired].rendered.object.value())
                : std::nullopt,
        .deadline = context_.with_timeout(limit).deadline().value_or(SteadyTime::max()),
        .limit = limit,
        .detail = "nothing was seen of it",
        .done = std::move(done)};
    std::vector<Ended> ended;
    {
      const std::scoped_lock lock(mutex_);
      Group& group = groups_[{pending.key.group_kind, pending.key.ns, wait.write.has_value()}];
      group.pending.push_back(std::move(pending));
      if (!group.running) {
        if (group.thread.joinable()) group.thread.join();  // it has left the lock for the last time
        group.running = true;
        group.resource = ref->resource;
        group.thread = std::jthread([this, &group] { watch(group); });
      } else {
        const ObjectKey key = group.pending.back().key;
        const bool may_be_gone = group.pending.back().removal_delay.has_value();
        look(group, key, ended);
        // Look at more, or again: what was deleted before this is listed no more.
        if (may_be_gone || (!group.only.empty() && group.only != key.name)) group.stop.request_stop();
      }
    }
    tell(ended);
  }

  std::string source_name(const EdgeWait& wait) const {
    return wait.write ? plan_.writes[*wait.write].key.display() : wait.outside.display();
  }
  std::string source_name(std::size_t index) const { return source_name(waits_[index]); }

 private:
  struct Pending {
    const EdgeWait* wait = nullptr;
    ObjectKey key;
    std::string version;
    std::string uid;
    EarlierFailure earlier_failure = EarlierFailure();
    std::optional<Duration> removal_delay = {};
    SteadyTime deadline;
    Duration limit{};
    std::string detail;       // what it was like when it was last seen
    PodTrouble trouble = {};  // of its Pods
    std::string told = {};    // to those who wait
    Done done;
  };
  struct Ended {
    Done done;
    Status status;
    std::optional<Unready> source = {};  // of a failure: what to look into, without the lock
  };
  static GoneJob gone_job_of(const Pending& pending) {
    return {pending.key, pending.uid, pending.removal_delay.value_or(Duration())};
  }
  // One resource in one namespace; guarded by mutex_ but for `thread`.
  struct Group {
    kube::ResourceInfo resource;
    std::vector<Pending> pending;
    std::map<ObjectKey, Value> seen;  // of this watch
    bool listed = false;              // what isn't in `seen` isn't there
    bool running = false;
    std::string only;  // the one name that the watch asks for; empty: all
    std::stop_source stop;
    std::jthread thread;
  };
  using Place = std::tuple<GroupKind, std::string, bool>;  // kind, namespace, ours

  std::string followers(const EdgeWait& wait) const {
    const Node first = wait.after.front();
    std::string text = first < plan_.writes.size() ? plan_.writes[first].key.display() : "everything else";
    if (plan_.order.after_ended == first) return "the end of the release's hooks";
    if (wait.after.size() > 1) text += fmt::format(" and {}", plural(wait.after.size() - 1, "more object"));
    return text;
  }
  std::string purpose(const EdgeWait& wait) const {
    if (wait.predicate == EdgePredicate::Done) return fmt::format("running the hook {}", source_name(wait));
    return fmt::format("{} waits for {} to be {}", followers(wait), source_name(wait),
                       to_string(wait.predicate));
  }

  Result<kube::ObjectRef> reference(const EdgeWait& wait) {
    if (wait.write) {
      const PlannedAction& source = plan_.writes[*wait.write];
      if (!source.late) return kube::ObjectRef{source.resource, source.key.ns, source.key.name};
      auto served = client_.resource_for(source.key.group_kind, source.resource.gvk.version, context_);
      if (served.ok()) return place_of(plan_, source, *std::move(served));
      if (source.resource.resource.empty()) return std::move(served).error();
      return place_of(plan_, source, source.resource);
    }
    MIST_TRY(const std::vector<kube::ResourceInfo> all, client_.all_resources(context_));
    const kube::ResourceInfo* found = nullptr;
    for (const kube::ResourceInfo& resource : all) {
      if (!same_without_case(resource.gvk.kind, wait.outside.kind)) continue;
      if (wait.outside.group && *wait.outside.group != resource.gvk.group) continue;
      // Some kinds are served by two groups (Event): the older group has them all.
      if (found == nullptr || resource.gvk.group < found->gvk.group) found = &resource;
    }
    if (found == nullptr)
      return error(ErrorKind::NotFound, "the cluster has no kind {}{}{}", wait.outside.kind,
                   wait.outside.group ? " in group " : "", wait.outside.group.value_or(""))
          .with_hint("check the spelling in mistletoe.dev/after, or install what defines that kind first");
    return kube::ObjectRef{*found, wait.outside.ns, wait.outside.name};
  }

  // A thread of its own for each group, while somebody waits.
  void watch(Group& group) {
    while (true) {
      kube::ListOptions list;
      Context context;
      {
        const std::scoped_lock lock(mutex_);
        group.seen.clear();
        group.listed = false;
        if (group.pending.empty()) {
          group.running = false;
          return;
        }
        group.stop = std::stop_source();
        list = selection(group);
        const auto first = std::ranges::min_element(group.pending, {}, &Pending::deadline);
        context = context_.with_stop(group.stop.get_token()).with_deadline(first->deadline);
      }
      const std::stop_callback forward(context_.stop(), [&] {
        const std::scoped_lock lock(mutex_);
        group.stop.request_stop();
      });
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

  // One object is asked for by name, several by the release's mark, others' by nothing. Under the lock.
  kube::ListOptions selection(Group& group) const {
    kube::ListOptions list;
    const ObjectKey& first = group.pending.front().key;
    list.ns = first.ns;
    const bool one =
        std::ranges::all_of(group.pending, [&](const Pending& each) { return each.key == first; });
    group.only = one ? first.name : "";
    if (one) {
      list.field_selector = "metadata.name=" + first.name;
    } else if (const auto& write = group.pending.front().wait->write) {
      const std::string_view part_of =
          plan_.desired[plan_.writes[*write].desired].rendered.object.label(kPartOfLabel);
      list.label_selector = fmt::format("{}={}", kPartOfLabel, part_of);
    }
    return list;
  }

  bool handle(Group& group, const kube::WatchEvent& event) {
    std::vector<Ended> ended;
    std::vector<GoneJob> gone;
    bool more = false;
    {
      const std::scoped_lock lock(mutex_);
      if (event.type == kube::WatchEventType::Bookmark) {
        group.listed = true;
        std::vector<ObjectKey> keys;
        keys.reserve(group.pending.size());
        for (const Pending& pending : group.pending) keys.push_back(pending.key);
        for (const ObjectKey& key : keys) look(group, key, ended);
        for (const Pending& pending : group.pending) {
          if (is_gone(group, pending)) gone.push_back(gone_job_of(pending));
        }
      } else {
        const ObjectKey key{group.resource.gvk.group_kind(),
                            std::string(event.object.string_at({"metadata", "namespace"})),
                            std::string(event.object.string_at({"metadata", "name"}))};
        if (event.type == kube::WatchEventType::Deleted) {
          // As it was when it ended; after a break of the watch no more is known than that it is gone.
          if (ended_job(event.object)) {
            group.seen.insert_or_assign(key, event.object);
            look(group, key, ended);
          }
          group.seen.erase(key);
          for (const Pending& pending : group.pending) {
            if (pending.key == key && event.object.find("status") == nullptr && is_gone(group, pending))
              gone.push_back(gone_job_of(pending));
          }
          if (gone.empty()) deleted(group, key, ended);
        } else {
          group.seen.insert_or_assign(key, event.object);
        }
        look(group, key, ended);
      }
      more = !group.pending.empty();
    }
    for (const GoneJob& job : gone) more = end_gone(group, job, ended);
    tell(ended);
    return more;
  }

  // A Job that is waited for and that removed itself before it was seen. Under the lock.
  static bool is_gone(const Group& group, const Pending& pending) {
    const bool asks_for_its_end =
        pending.wait->predicate == EdgePredicate::Ready || pending.wait->predicate == EdgePredicate::Done;
    return pending.removal_delay && asks_for_its_end && group.listed && !group.seen.contains(pending.key);
  }

  // False: nobody waits any more.
  bool end_gone(Group& group, const GoneJob& job, std::vector<Ended>& ended) {
    const std::optional<Readiness> state = gone_job(client_, job, context_);
    const std::scoped_lock lock(mutex_);
    std::erase_if(group.pending, [&](Pending& pending) {
      if (pending.key != job.key || pending.uid != job.uid || !is_gone(group, pending)) return false;
      ended.push_back(state ? end_of(pending, group, *state, nullptr) : lost(pending));
      return true;
    });
    return !group.pending.empty();
  }

  // Of a source that somebody deleted.
  Ended lost(Pending& pending) const {
    return {
        .done = std::move(pending.done),
        .status = error(ErrorKind::Invalid, "{} was deleted while it was waited for", pending.key.display())
                      .with_frame(fmt::format("while {}", purpose(*pending.wait)))};
  }

  // Of a source that is as it is asked for, or never will be.
  Ended end_of(Pending& pending, const Group& group, Readiness state, const Value* live) const {
    Ended result{.done = std::move(pending.done), .status = {}};
    const bool failed = state.health == Health::Failed;
    if (is_awaited_hook(pending))
      events_.object({source_name(*pending.wait), failed ? "failed" : "succeeded", state.detail});
    if (!failed) return result;
    if (live != nullptr) result.source = Unready{pending.key, group.resource, *live, state.detail};
    result.status = error(ErrorKind::Invalid, "{} failed", source_name(*pending.wait))
                        .with_because(std::move(state.detail))
                        .with_frame(fmt::format("while {}", purpose(*pending.wait)));
    return result;
  }

  // Ends what waits for `key` and needs to wait no more. Under the lock.
  void look(Group& group, const ObjectKey& key, std::vector<Ended>& ended) {
    const auto seen = group.seen.find(key);
    const Value* live = seen == group.seen.end() ? nullptr : &seen->second;
    if (live == nullptr && !group.listed) return;
    std::erase_if(group.pending, [&](Pending& pending) {
      if (pending.key != key) return false;
      if (live != nullptr && older(live->string_at({"metadata", "resourceVersion"}), pending.version))
        return false;
      Readiness state = judge(pending.wait->predicate, pending.wait->outside.optional, live);
      if (live != nullptr) state = pending.earlier_failure.judge(std::move(state), *live);
      if (state.health == Health::InProgress) {
        pending.detail = std::move(state.detail);
        const EdgePredicate asked = pending.wait->predicate;
        if (live != nullptr && (asked == EdgePredicate::Ready || asked == EdgePredicate::Done)) {
          if (key.group_kind == GroupKind{"", "Pod"})
            pending.trouble = next_trouble(pending.trouble, trouble_of(*live));
          else
            pods_.follow(key, *live);
        }
        announce(pending);
        return false;
      }
      pods_.forget(key);
      ended.push_back(end_of(pending, group, std::move(state), live));
      return true;
    });
  }

  static std::string why_not_yet(const Pending& pending) {
    return pending.trouble.text.empty() ? pending.detail
                                        : fmt::format("{}; {}", pending.trouble.text, pending.detail);
  }

  // A hook is waited for until it has ended, whatever comes after it.
  static bool is_awaited_hook(const Pending& pending) {
    return pending.wait->predicate == EdgePredicate::Done && hook_ends(pending.key.group_kind);
  }

  // Whom it keeps waiting, and why. Under the lock.
  void announce(Pending& pending) {
    const std::string why = why_not_yet(pending);
    if (why == pending.told) return;
    pending.told = why;
    if (is_awaited_hook(pending)) events_.object({source_name(*pending.wait), "waiting", why});
    for (const Node node : pending.wait->after)
      if (node < plan_.writes.size())
        events_.object({plan_.writes[node].key.display(), "waiting",
                        fmt::format("for {}: {}", source_name(*pending.wait), why)});
  }

  // What the Pods of a source say; from a thread of pods_.
  void explain(const ObjectKey& key, const PodTrouble& trouble) {
    const std::scoped_lock lock(mutex_);
    for (auto& [place, group] : groups_) {
      for (Pending& pending : group.pending) {
        if (pending.key != key) continue;
        pending.trouble = next_trouble(pending.trouble, trouble);
        announce(pending);
      }
    }
  }

  // What we wrote and somebody deleted won't come back by waiting. Under the lock.
  void deleted(Group& group, const ObjectKey& key, std::vector<Ended>& ended) {
    std::erase_if(group.pending, [&](Pending& pending) {
      if (pending.key != key || !pending.wait->write) return false;
      ended.push_back(lost(pending));
      return true;
    });
  }

  // The watch ended: because time is up for some, because somebody joined, or for good. Under the lock.
  void end_after(Group& group, const Error& cause, std::vector<Ended>& ended) {
    const Status whole = context_.check();
    const SteadyTime now = std::chrono::steady_clock::now();
    std::erase_if(group.pending, [&](Pending& pending) {
      const bool late = pending.deadline <= now;
      if (whole.ok() && !late && (cause.kind == ErrorKind::Timeout || cause.kind == ErrorKind::Cancelled))
        return false;
      Error failure;
      std::optional<Unready> source;
      if (late || (!whole.ok() && whole.error().kind == ErrorKind::Timeout)) {
        failure = timed_out(pending);
        if (is_awaited_hook(pending))
          events_.object({source_name(*pending.wait), "failed", why_not_yet(pending)});
        const auto seen = group.seen.find(pending.key);
        // Who waits until something is gone isn't helped by why it isn't ready.
        if (pending.wait->predicate != EdgePredicate::Absent && seen != group.seen.end())
          source = Unready{pending.key, group.resource, seen->second, pending.detail};
      } else
        failure = Error(whole.ok() ? cause : whole.error())
                      .with_frame(fmt::format("while {}", purpose(*pending.wait)));
      pods_.forget(pending.key);
      ended.push_back({std::move(pending.done), std::move(failure), std::move(source)});
      return true;
    });
  }

  Error timed_out(const Pending& pending) const {
    const EdgeWait& wait = *pending.wait;
    if (wait.predicate == EdgePredicate::Done) {
      Error failure = error(ErrorKind::Timeout, "the hook {} has not ended after {}", source_name(wait),
                            limit_text(pending.limit));
      failure.because = fmt::format("{}: {}", source_name(wait), pending.detail);
      failure.hint = "allow more time with --timeout, or go without hooks with --no-hooks";
      return failure;
    }
    Error failure = error(ErrorKind::Timeout, "{} is not {} after {}, and {} {} for it", source_name(wait),
                          to_string(wait.predicate), limit_text(pending.limit), followers(wait),
                          wait.after.size() == 1 ? "waits" : "wait");
    failure.because = fmt::format("{}: {}", source_name(wait), pending.detail);
    failure.hint = "allow more time with --timeout, or look at the object's events";
    return failure;
  }

  void tell(std::vector<Ended>& ended) {
    for (Ended& each : ended) {
      if (each.source) explain(each.status.error(), *each.source);
      each.done(std::move(each.status));
    }
  }

  // Down to the container, where there is one.
  void explain(Error& failure, const Unready& source) {
    const std::string release =
        plan_.desired.empty()
            ? std::string()
            : std::string(plan_.desired.front().rendered.object.annotation(kReleaseAnnotation));
    Diagnosis tree = diagnose(client_, "Release", release, {source},
                              Context(context_.stop()).with_timeout(kDiagnosisLimit));
    if (!tree.children.empty()) failure.because = in_one_line(tree.children.front());
    failure = diagnosed(std::move(failure), std::move(tree));
  }

  kube::Client& client_;
  const Plan& plan_;
  const std::vector<EdgeWait>& waits_;
  const EdgeWaitOptions options_;
  EventSink& events_;
  const Context& context_;
  std::mutex mutex_;
  std::map<Place, Group> groups_;  // references stay good
  PodWatch pods_;                  // last: it calls explain()
};

EdgeWaiter::EdgeWaiter(kube::Client& client, const Plan& plan, const std::vector<EdgeWait>& waits,
                       EdgeWaitOptions options, EventSink& events, const Context& context)
    : impl_(std::make_unique<Impl>(client, plan, waits, options, events, context)) {}

EdgeWaiter::~EdgeWaiter() = default;

void EdgeWaiter::begin(std::size_t wait, WaitSource source, Done done) {
  impl_->begin(wait, std::move(source), std::move(done));
}

std::string EdgeWaiter::source_name(std::size_t wait) const { return impl_->source_name(wait); }

}  // namespace mist::apply
