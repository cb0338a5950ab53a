#include "apply/wait/edge_wait.h"

#include <algorithm>
#include <map>

#include "apimachinery/conditions.h"
#include "apply/plan/finished_job.h"
#include "apply/plan/hooks.h"
#include "apply/reserved_metadata.h"
#include "apply/wait/earlier_failure.h"
#include "apply/wait/object_waits.h"
#include "apply/wait/readiness.h"
#include "apply/wait/root_cause.h"
#include "base/diagnosis.h"
#include "base/text.h"

namespace mist::apply {

using encoding::Value;
using graph::Edge;
using graph::Node;

namespace {

// A CRD that isn't established after this long never will be; the caller's limit may be shorter.
constexpr Duration kEstablishedLimit = std::chrono::seconds(60);

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
    // Declared edges and those of CRDs end at objects; those of hooks may end at a barrier, and hold
    // also if what comes after needs no change: a hook is there to be run.
    const PlannedAction* const after = edge.after < plan.writes.size() ? &plan.writes[edge.after] : nullptr;
    const bool served = (predicate == EdgePredicate::Established || predicate == EdgePredicate::Available) &&
                        after != nullptr && !after->late;
    const bool unchanged = after != nullptr && after->kind == ActionKind::Unchanged;
    const bool finished =
        !outside && edge.before < plan.writes.size() && plan.writes[edge.before].live.finished;
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
        edges_(waits),
        options_(options),
        events_(events),
        context_(context),
        begun_(waits.size()),
        waits_(client, plan.owner,
               {.changed = [this](std::size_t i, const std::string& detail) { announce(edges_[i], detail); },
                .ended = [this](std::size_t i, WaitEnd end) { finish(i, std::move(end)); }},
               context, options.pods_after) {}

  void begin(std::size_t index, WaitSource source, Done done) {
    const EdgeWait& edge = edges_[index];
    auto ref = reference(edge);
    if (!ref.ok()) return done(std::move(ref).error().with_frame(fmt::format("while {}", purpose(edge))));
    const EdgePredicate asked = edge.predicate;
    const bool asks_for_its_end = asked == EdgePredicate::Ready || asked == EdgePredicate::Done;
    // An API service may have to wait for the Pods that answer for it.
    const bool established = asked == EdgePredicate::Established;
    begun_[index] = {
        .key = {ref->resource.gvk.group_kind(), ref->resource.namespaced ? ref->ns : "", ref->name},
        .resource = ref->resource,
        .limit = established ? std::min(options_.limit, kEstablishedLimit) : options_.limit,
        .done = std::move(done)};
    ObjectWait wait{
        .key = begun_[index].key,
        .resource = ref->resource,
        .judge = [asked, optional = edge.outside.optional](
                     const Value* live) { return judge(asked, optional, live); },
        .ours = edge.write.has_value(),
        .asks_pods = asks_for_its_end,
        .version = std::move(source.version),
        .uid = std::move(source.uid),
        .removal_delay =
            edge.write && asks_for_its_end
                ? removal_delay(plan_.desired[plan_.writes[*edge.write].desired].rendered.object.value())
                : std::nullopt,
        .earlier_failure = EarlierFailure(std::move(source.earlier_failure)),
        .limit = begun_[index].limit};
    std::vector<std::pair<ObjectWaits::Id, ObjectWait>> waits;
    waits.emplace_back(index, std::move(wait));
    waits_.begin(std::move(waits));
  }

  std::string source_name(const EdgeWait& edge) const {
    return edge.write ? plan_.writes[*edge.write].key.display() : edge.outside.display();
  }
  std::string source_name(std::size_t index) const { return source_name(edges_[index]); }

 private:
  // Each is written before its wait begins, and read when it ends.
  struct Begun {
    ObjectKey key;
    kube::ResourceInfo resource;
    Duration limit{};
    Done done;
  };

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

  // A hook is waited for until it has ended, whatever comes after it.
  bool is_awaited_hook(const EdgeWait& edge) const {
    return edge.predicate == EdgePredicate::Done && edge.write &&
           hook_ends(plan_.writes[*edge.write].key.group_kind);
  }

  // Whom it keeps waiting, and why.
  void announce(const EdgeWait& edge, const std::string& why) {
    if (is_awaited_hook(edge)) events_.object({source_name(edge), "waiting", why});
    for (const Node node : edge.after)
      if (node < plan_.writes.size())
        events_.object(
            {plan_.writes[node].key.display(), "waiting", fmt::format("for {}: {}", source_name(edge), why)});
  }

  void finish(std::size_t index, WaitEnd end) {
    const EdgeWait& edge = edges_[index];
    const Begun& begun = begun_[index];
    if (is_awaited_hook(edge)) tell_of_hook(edge, end);
    Status status = status_of(edge, begun, end);
    // A wait for absence isn't helped by the reason why the object isn't ready.
    const bool has_state = end.how == WaitEnd::How::Failed ||
                           (end.how == WaitEnd::How::Late && edge.predicate != EdgePredicate::Absent);
    if (!status.ok() && has_state && !end.live.is_null())
      explain(status.error(), {begun.key, begun.resource, end.live,
                               end.how == WaitEnd::How::Failed ? end.detail : end.state});
    begun.done(std::move(status));
  }

  void tell_of_hook(const EdgeWait& edge, const WaitEnd& end) {
    if (end.how == WaitEnd::How::Met)
      events_.object({source_name(edge), "succeeded", end.detail});
    else if (end.how == WaitEnd::How::Failed || end.how == WaitEnd::How::Late)
      events_.object({source_name(edge), "failed", end.detail});
  }

  Status status_of(const EdgeWait& edge, const Begun& begun, const WaitEnd& end) const {
    const std::string purpose_frame = fmt::format("while {}", purpose(edge));
    switch (end.how) {
      case WaitEnd::How::Met:
        return {};
      case WaitEnd::How::Failed:
        return error(ErrorKind::Invalid, "{} failed", source_name(edge))
            .with_because(end.detail)
            .with_frame(purpose_frame);
      case WaitEnd::How::Lost:
        return error(ErrorKind::Invalid, "{} {}", source_name(edge), end.detail).with_frame(purpose_frame);
      case WaitEnd::How::Late:
        return timed_out(edge, begun, end.state);
      case WaitEnd::How::Stopped:
      case WaitEnd::How::Broken:
        return Error(*end.failure).with_frame(purpose_frame);
    }
    return {};
  }

  Error timed_out(const EdgeWait& edge, const Begun& begun, const std::string& state) const {
    const std::string because = fmt::format("{}: {}", source_name(edge), state);
    if (edge.predicate == EdgePredicate::Done)
      return error(ErrorKind::Timeout, "the hook {} has not ended after {}", source_name(edge),
                   limit_text(begun.limit))
          .with_because(because)
          .with_hint("allow more time with --timeout, or go without hooks with --no-hooks");
    return error(ErrorKind::Timeout, "{} is not {} after {}, and {} {} for it", source_name(edge),
                 to_string(edge.predicate), limit_text(begun.limit), followers(edge),
                 edge.after.size() == 1 ? "waits" : "wait")
        .with_because(because)
        .with_hint("allow more time with --timeout, or look at the object's events");
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
    failure.hint = with_remedy(std::move(failure.hint), tree);
    failure = diagnosed(std::move(failure), std::move(tree));
  }

  kube::Client& client_;
  const Plan& plan_;
  const std::vector<EdgeWait>& edges_;
  const EdgeWaitOptions options_;
  EventSink& events_;
  const Context& context_;
  std::vector<Begun> begun_;
  ObjectWaits waits_;  // last: it calls announce() and finish()
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
