#include "apply/execute/remove.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "apimachinery/conditions.h"
#include "apply/execute/conversion.h"
#include "apply/execute/retry_window.h"
#include "apply/execute/run_report.h"
#include "apply/order/order.h"
#include "apply/plan/admission_gates.h"
#include "apply/plan/observe.h"
#include "apply/plan/plan.h"
#include "apply/reserved_metadata.h"
#include "apply/wait/readiness.h"
#include "apply/wait/wait.h"
#include "base/one_line.h"
#include "base/parallel.h"
#include "kube/api_failure.h"
#include "kube/crds.h"
#include "kube/deletion.h"

namespace mist::apply {

using graph::Node;

namespace {

// For all that is still held together: what can't be read by then is not known to be gone.
constexpr auto kLookAtHeld = std::chrono::seconds(10);

// Finalizers that the API server or the controller-manager removes by itself.
bool is_of_kubernetes(std::string_view finalizer) {
  constexpr std::array<std::string_view, 5> kOwn{
      "customresourcecleanup.apiextensions.k8s.io", "kubernetes.io/pvc-protection",
      "kubernetes.io/pv-protection", "foregroundDeletion", "orphan"};
  return std::ranges::find(kOwn, finalizer) != kOwn.end();
}

bool waits_for_others(const Value& object) {
  const Value* const finalizers = object.at_path({"metadata", "finalizers"});
  return finalizers != nullptr && finalizers->is_array() &&
         std::ranges::any_of(finalizers->as_array(), [](const Value& each) {
           return each.is_string() && !is_of_kubernetes(each.as_string());
         });
}

// Its finalizer is in its spec. Its controller says in conditions that it can't go on for now, but begins to
// look only seconds after it was deleted.
bool is_held_namespace(const Value& object) {
  return std::ranges::any_of(kNamespaceRemains, [&](std::string_view type) {
    return apimachinery::true_condition(object, type) != nullptr;
  });
}

class Remover {
 public:
  Remover(kube::Client& client, const std::vector<Removal>& removals, const graph::SequenceGraph& order,
          std::string part_of, const RemovalOptions& options, EventSink& events, const Context& context)
      : client_(client),
        removals_(removals),
        order_(order),
        part_of_(std::move(part_of)),
        options_(options),
        events_(events),
        context_(context) {
    keys_.reserve(removals.size());
    for (const Removal& removal : removals) keys_.push_back(removal.key);
  }

  Status remove(Node node) {
    if (node >= removals_.size()) return {};  // a barrier
    const Removal& removal = removals_[node];
    Status removed = look_and_remove(node, removal);
    if (!removed) {
      events_.object(failed_progress(removal.key, removed.error()));
      return std::move(removed).error().with_frame(fmt::format("while deleting {}", removal.key.display()));
    }
    return {};
  }

  std::map<std::size_t, std::string> take_stayed() { return std::move(stayed_); }
  std::set<std::size_t> take_denied() { return std::move(denied_); }

  /// Looks for objects that are still there after all deletes were sent. Asked at the end, since controllers
  /// remove most finalizers within a retry.
  void look_at_held(RemovalReport& report) {
    const Context limited = context_.with_timeout(kLookAtHeld);
    const std::vector<std::pair<std::size_t, Held>> all(held_.begin(), held_.end());
    (void)parallel_for(all.size(), kMostAtOnce, [&](std::size_t i) -> Status {
      look_at(all[i].first, all[i].second, report, limited);
      return {};
    });
  }

 private:
  struct Held {
    kube::ObjectRef ref;
    std::string uid;
  };

  // Its kind's conversion webhook may be among what was just deleted, and the wait for an answer may have
  // been stopped: what can't be read counts as held.
  void look_at(std::size_t node, const Held& held, RemovalReport& report, const Context& context) {
    const ObjectKey& key = removals_[node].key;
    const auto now = client_.get(held.ref, context);
    const bool is_namespace = key.group_kind == apimachinery::kNamespace;
    const bool gone =
        now.ok() ? now->string_at({"metadata", "uid"}) != held.uid : kube::is_absent(now.error());
    if (gone || (now.ok() && !is_namespace && !apimachinery::has_finalizers(*now))) {
      events_.object({key.display(), "deleted", {}});
      return;
    }
    const bool emptied = now.ok() && is_namespace && !is_held_namespace(*now);
    RemovalReport::Held why{"whether it is gone can't be read", true};
    if (now.ok() && !emptied) why = what_holds(key, *now, context);
    const std::scoped_lock lock(mutex_);
    if (emptied)
      report.emptied.insert(node);
    else
      report.held.emplace(node, std::move(why));
  }

  RemovalReport::Held what_holds(const ObjectKey& key, const Value& now, const Context& context) {
    if (key.group_kind == apimachinery::kNamespace || waits_for_others(now))
      return {why_terminating(now), true};
    if (key.group_kind == apimachinery::kCustomResourceDefinition) {
      if (const std::string why = what_holds_instances(now, context); !why.empty())
        return {fmt::format("it is being deleted, after the objects of its kind, and {}", why), true};
    }
    return {why_terminating(now)};
  }

  // Empty: somebody has to take a finalizer from none of them.
  std::string what_holds_instances(const Value& crd, const Context& context) {
    constexpr std::string_view kUnknown = "whether finalizers hold any can't be read";
    const std::string version = kube::readable_version(crd);
    if (version.empty()) return std::string(kUnknown);
    const std::string kind(crd.string_at({"spec", "names", "kind"}));
    const kube::ResourceInfo resource{{std::string(crd.string_at({"spec", "group"})), version, kind},
                                      std::string(crd.string_at({"spec", "names", "plural"})),
                                      crd.string_at({"spec", "scope"}) == "Namespaced",
                                      {}};
    std::string found;
    // In place of a LIST, which reads all pages: this ends with the first that has one.
    const Status read = client_.watch(
        resource, {.metadata_only = true},
        [&](const kube::WatchEvent& event) {
          if (event.type != kube::WatchEventType::Added) return false;
          if (waits_for_others(event.object))
            found = ObjectKey{{resource.gvk.group, kind},
                              std::string(event.object.string_at({"metadata", "namespace"})),
                              std::string(event.object.string_at({"metadata", "name"}))}
                        .display();
          return found.empty();
        },
        context);
    if (!found.empty()) return fmt::format("finalizers hold {}", found);
    // The CRD went meanwhile, after all of them.
    const bool is_over = !read.ok() && (kube::is_absent(read.error()) || kube::is_not_served(read.error()));
    return read.ok() || is_over ? std::string() : std::string(kUnknown);
  }

  Status look_and_remove(Node node, const Removal& removal) {
    if (options_.last_check) {
      MIST_TRY(std::string why, options_.last_check(removal));
      if (!why.empty()) return stays(node, removal, std::move(why));
    }
    if (removal.unreadable) {
      MIST_TRY(std::string why, check_when_converted(removal));
      if (!why.empty()) return stays(node, removal, std::move(why));
    }
    std::string why;
    std::optional<Held> held;
    const bool until_gone = options_.wait || !order_.edges_out(node).empty();
    Status removed = remove(removal, until_gone, why, held);
    for (RetryWindow retry(context_);
         !removed.ok() && is_refused_by(removed.error(), options_.gone_gates) && retry.pause();)
      removed = remove(removal, until_gone, why, held);
    if (!why.empty()) return stays(node, removal, std::move(why));
    if (!removed.ok() && options_.leave_denied && kube::is_denied_by_admission(removed.error())) {
      {
        const std::scoped_lock lock(mutex_);
        denied_.insert(node);
      }
      return stays(node, removal,
                   fmt::format("the server forbids to delete it ({})", one_line(removed.error().because)));
    }
    if (held) {
      const std::scoped_lock lock(mutex_);
      held_.emplace(node, *std::move(held));
    }
    return removed;
  }

  Status stays(Node node, const Removal& removal, std::string why) {
    events_.object({removal.key.display(), "retained", why});
    const std::scoped_lock lock(mutex_);
    stayed_.emplace(node, std::move(why));
    return {};
  }

  // Nobody could say before whether it is marked to be kept.
  Result<std::string> check_when_converted(const Removal& removal) {
    const Context limited = context_.with_timeout(options_.timeout);
    const InventoryItem item{.key = removal.key, .version = removal.version, .uid = removal.uid};
    for (;;) {
      auto found = resource_of(client_, item, context_);
      if (!found.ok() && goes_with_its_crd(found.error())) return std::string();
      MIST_TRY(const std::optional<kube::ResourceInfo> resource, std::move(found));
      if (!resource) return std::string();
      const auto live = client_.get({*resource, removal.key.ns, removal.key.name}, limited);
      if (live.ok()) {
        const std::string_view kept = kept_because(removal.key, &*live, {});
        return kept.empty() ? stays_since(*live) : std::string(kept);
      }
      if (kube::is_absent(live.error())) return std::string();
      MIST_TRY_VOID(context_.check());
      const bool passes =
          live.error().kind == ErrorKind::Retryable || live.error().kind == ErrorKind::Timeout;
      if (passes && limited.pause(kPauseToConvert).ok()) continue;
      if (const auto webhook = conversion_webhook(client_, *resource, context_))
        return unconverted(live.error(), *webhook);
      return live.error();
    }
  }

  Error unconverted(const Error& failure, const ConversionWebhook& webhook) const {
    return Error(failure)
        .with_frame(conversion_words(webhook, failure))
        .with_hint(conversion_hint(client_, webhook));
  }

  // Objects of a kind that isn't served can only be deleted with its CRD, which this run deletes too.
  bool goes_with_its_crd(const Error& failure) const {
    const auto* const unserved = failure.detail<UnservedCrd>();
    return unserved != nullptr && std::ranges::find(keys_, ObjectKey{apimachinery::kCustomResourceDefinition,
                                                                     "", unserved->name}) != keys_.end();
  }

  // Since it was planned, the object may have become somebody else's, or may have been marked to be kept.
  std::string stays_since(const Value& now) const {
    const LiveOwner owner = live_owner_of(now);
    if (owner.part_of.empty()) return std::string(kUnmarked);
    if (owner.part_of != part_of_)
      return fmt::format("it belongs to {} by now", owner.release.empty()
                                                        ? fmt::format("ApplySet {}", owner.part_of)
                                                        : fmt::format("release {}", owner.release));
    const PruneRules all{.delete_crds = true, .delete_pvcs = true, .delete_namespaces = true};
    return std::string(kept_because({}, &now, all));
  }

  // The server reads objects from its cache, which was converted before the webhook went away, and deletes
  // them where they are stored. `why_it_stays` is set where it does: nothing was deleted then.
  Status remove(const Removal& removal, bool until_gone, std::string& why_it_stays,
                std::optional<Held>& held) {
    const Context limited = context_.with_timeout(options_.timeout);
    const InventoryItem item{.key = removal.key, .version = removal.version, .uid = removal.uid};
    for (;;) {
      Status removed = remove_where_served(removal, until_gone, why_it_stays, held);
      if (removed.ok() || removed.error().kind != ErrorKind::Retryable) return removed;
      MIST_TRY_VOID(context_.check());
      const auto resource = resource_of(client_, item, context_);
      if (!resource.ok() || !*resource) return removed;
      const auto webhook = conversion_webhook(client_, **resource, context_);
      if (!webhook) return removed;
      if (limited.pause(kPauseToConvert).ok()) continue;
      return unconverted(removed.error(), *webhook);
    }
  }

  Status remove_where_served(const Removal& removal, bool until_gone, std::string& why_it_stays,
                             std::optional<Held>& held) {
    for (int tries = 0;; ++tries) {
      Status removed = remove_as_served(removal, until_gone, why_it_stays, held);
      // Discovery was out of date: the kind is gone, or served in other versions.
      if (removed.ok() || !kube::is_not_served(removed.error()) || tries == kTriesToAgree) return removed;
      MIST_TRY_VOID(context_.pause(kPauseToAgree));
    }
  }

  Status remove_as_served(const Removal& removal, bool until_gone, std::string& why_it_stays,
                          std::optional<Held>& held) {
    const InventoryItem item{.key = removal.key, .version = removal.version, .uid = removal.uid};
    auto found = resource_of(client_, item, context_);
    if (!found.ok() && (never_seen(found.error(), item, keys_) || goes_with_its_crd(found.error())))
      return gone(removal);
    MIST_TRY(const std::optional<kube::ResourceInfo> resource, std::move(found));
    if (!resource) return gone(removal);  // its kind is gone, and it with it
    const kube::ObjectRef ref{*resource, removal.key.ns, removal.key.name};
    std::string uid = removal.uid, version = removal.resource_version;
    if (uid.empty()) {
      // Planned to be created by a run that died: ours if it carries our mark.
      auto there = client_.get(ref, context_);
      if (!there.ok())
        return kube::is_absent(there.error()) ? gone(removal) : Status(std::move(there).error());
      if (there->string_at({"metadata", "labels", kPartOfLabel}) != part_of_) return gone(removal);
      uid = there->string_at({"metadata", "uid"});
      version = there->string_at({"metadata", "resourceVersion"});
    }
    const auto recheck = [&](const Value& now) -> Status {
      why_it_stays = stays_since(now);
      if (why_it_stays.empty()) return {};
      return error(ErrorKind::Conflict, "{} stays", removal.key.display()).with_because(why_it_stays);
    };
    Value terminating;
    MIST_TRY(const kube::Deletion deletion,
             kube::delete_object(
                 client_, ref,
                 {.uid = uid, .resource_version = version, .recheck = recheck, .terminating = &terminating},
                 context_));
    // Another uid under that name: ours is gone, and this one isn't ours to delete.
    if (deletion != kube::Deletion::Terminating) return gone(removal);
    events_.object({removal.key.display(), "deleting", {}});
    if (!until_gone) {
      const bool is_namespace = removal.key.group_kind == apimachinery::kNamespace;
      if (apimachinery::has_finalizers(terminating) ||
          (is_namespace && apimachinery::is_terminating(terminating)))
        held = Held{ref, uid};
      return {};
    }
    MIST_TRY_VOID(wait_until_gone(client_, ref, uid, options_.timeout, context_)
                      .in(fmt::format("while waiting until {} is gone", removal.key.display())));
    return gone(removal);
  }

  Status gone(const Removal& removal) {
    events_.object({removal.key.display(), "deleted", {}});
    return {};
  }

  kube::Client& client_;
  const std::vector<Removal>& removals_;
  const graph::SequenceGraph& order_;
  const std::string part_of_;
  const RemovalOptions& options_;
  EventSink& events_;
  const Context& context_;
  std::vector<ObjectKey> keys_;
  std::mutex mutex_;
  std::map<std::size_t, std::string> stayed_;  // guarded by mutex_
  std::set<std::size_t> denied_;               // guarded by mutex_
  std::map<std::size_t, Held> held_;           // guarded by mutex_
};

// The order of what is known of the objects; those of which only the key is known still follow namespaces.
Result<graph::SequenceGraph> order_of(const std::vector<Removal>& removals) {
  std::vector<apimachinery::Object> placeholders;
  placeholders.reserve(removals.size());
  std::vector<const apimachinery::Object*> objects;
  for (const Removal& removal : removals) {
    if (removal.object != nullptr) {
      objects.push_back(removal.object);
      continue;
    }
    const std::string api_version = removal.key.group_kind.group.empty()
                                        ? removal.version
                                        : removal.key.group_kind.group + "/" + removal.version;
    Value metadata = Value::object({{"name", removal.key.name}});
    if (!removal.key.ns.empty()) metadata.set("namespace", removal.key.ns);
    MIST_TRY(auto object,
             apimachinery::Object::from_value(Value::object({{"apiVersion", api_version},
                                                             {"kind", removal.key.group_kind.kind},
                                                             {"metadata", std::move(metadata)}})));
    placeholders.push_back(std::move(object));
    objects.push_back(&placeholders.back());
  }
  return removal_order(objects);
}

}  // namespace

Removal removal_of(const PlannedAction& action, const apimachinery::Object* object) {
  return {.key = action.key,
          .version = action.resource.gvk.version,
          .uid = action.uid,
          .object = object,
          .unreadable = action.live.unreadable,
          .resource_version = action.live.resource_version};
}

RemovalReport execute_removals(kube::Client& client, const std::vector<Removal>& removals,
                               const std::string& part_of, const RemovalOptions& options, EventSink& events,
                               const Context& context) {
  RemovalReport report;
  auto order = order_of(removals);
  if (!order.ok()) {
    report.outcomes.assign(removals.size(), Outcome::NotStarted);
    report.failure = std::move(order).error();
    return report;
  }
  Remover remover(client, removals, *order, part_of, options, events, context);
  const GraphRun run =
      run_graph(*order, kMostAtOnce, [&](Node node) { return remover.remove(node); }, context);
  report.outcomes = outcomes_of(run, removals.size());
  report.stayed = remover.take_stayed();
  report.denied = remover.take_denied();
  remover.look_at_held(report);
  for (const auto& [position, why] : report.stayed) report.outcomes[position] = Outcome::NotStarted;
  const auto name_of = [&](Node node) {
    return node < removals.size() ? removals[node].key.display() : std::string();
  };
  report.failure = failure_of(run, *order, removals.size(), name_of, "are deleted", context);
  return report;
}

}  // namespace mist::apply
