#include "operator/controller.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "apimachinery/conditions.h"
#include "apply/plan/give_namespaces.h"
#include "apply/wait/root_cause.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "operator/actors.h"
#include "operator/evaluations.h"
#include "operator/late_kinds.h"
#include "operator/log_fields.h"
#include "operator/other_version.h"
#include "operator/resync.h"
#include "operator/revisions.h"
#include "operator/work_queue.h"
#include "reconcile/release_node.h"

namespace mist::operator_ {

using apimachinery::GroupVersionKind;

class Controller::State {
 public:
  State(Dependencies dependencies, std::string ns)
      : dependencies_(std::move(dependencies)),
        ns_(ns),
        queue_(dependencies_.clock, static_cast<std::size_t>(std::max(1, dependencies_.workers / 2)),
               [](const Item& item) { return item.is_blueprint() ? std::string() : item.blueprint; }),
        notices_(dependencies_.client, dependencies_.clock, dependencies_.events),
        actors_(
            dependencies_.client_of, ns, dependencies_.namespaces, dependencies_.clock, dependencies_.events,
            [this](const Item& item) { queue_.add(item); }, mutex_,
            dependencies_.share.is_first() ? Crds::Role::Writes : Crds::Role::Waits, dependencies_.webhook),
        revisions_({dependencies_.client, dependencies_.renderer, dependencies_.clock, dependencies_.events,
                    notices_, actors_, dependencies_.default_account, dependencies_.share,
                    dependencies_.metrics, dependencies_.namespaces},
                   std::move(ns),
                   [this](const Item& item) {
                     if (item.is_blueprint() || dependencies_.share.is_first() || is_ours(item))
                       queue_.add(item);
                   }),
        evaluations_(
            revisions_, mutex_, dependencies_.clock, dependencies_.events,
            [this](const Item& item) { queue_.add(item); },
            [this](const Item& item) { queue_.add(item, kLongestBegun); }),
        late_kinds_(dependencies_.client, dependencies_.clock, dependencies_.events,
                    [this](const Item& item) {
                      // Its failures were about another time; and it takes a moment until the server serves
                      // the kind.
                      queue_.forgive(item);
                      queue_.add(item);
                    }) {}

  Status run(const Context& context) {
    MIST_TRY_VOID(revisions_.start(context));
    dependencies_.metrics.watch_queue(kQueue, [this] { return queue_.state(); });
    dependencies_.metrics.is_ready(true);
    if (dependencies_.webhook != nullptr) dependencies_.webhook->watch([this] { revisions_.wake_all(); });
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < dependencies_.workers; ++i)
        workers.emplace_back([this, &context] {
          while (const std::optional<Item> item = queue_.take(context.stop())) work(*item, context);
        });
      workers.emplace_back([this, &context] { evaluations_.run_slow(context); });
    }
    if (dependencies_.webhook != nullptr) dependencies_.webhook->watch({});
    dependencies_.metrics.is_ready(false);
    dependencies_.metrics.watch_queue(kQueue, {});
    dependencies_.metrics.keeps_no_blueprints();
    dependencies_.events.info("stopped");
    return {};
  }

 private:
  void work(const Item& item, const Context& context) {
    const Metrics::Working working(dependencies_.metrics, item.blueprint);
    const SteadyTime began = dependencies_.clock.steady_now();
    const Status done = traced(item, context);
    count(item);
    if (context.stop().stop_requested()) return;
    dependencies_.metrics.reconciled(item.blueprint, done.ok(), dependencies_.clock.steady_now() - began);
    if (done.ok()) {
      queue_.succeeded(item);
      if (is_kept(item)) queue_.resync(item, resync_pause(item));
      return;
    }
    const Duration pause = queue_.failed(item);
    dependencies_.events.warn(
        fmt::format("{}: {}; next try in {} ms", label_of(item), done.error().to_line(),
                    std::chrono::duration_cast<std::chrono::milliseconds>(pause).count()),
        fields_of(item, Named::Yes));
    queue_.add(item, pause);
  }

  // Whether there is such a blueprint, or an instance of it that is seen to here.
  bool is_kept(const Item& item) {
    const std::lock_guard lock(mutex_);
    return item.is_blueprint() ? revisions_.has(item.blueprint) : memories_.contains(item);
  }

  Status traced(const Item& item, const Context& context) {
    Span span = begin_trace(dependencies_.traces, item.is_blueprint() ? "load blueprint" : "reconcile");
    span.set("mistletoe.blueprint", item.blueprint);
    if (!item.is_blueprint()) {
      span.set("k8s.namespace.name", item.instance.first);
      span.set("mistletoe.instance", item.instance.second);
    }
    Status done = item.is_blueprint() ? load(item.blueprint, context) : reconcile_one(item, span, context);
    if (!done) span.fails(done.error().to_line());
    return done;
  }

  // For metrics, what the last look found.
  void count(const Item& item) {
    const std::lock_guard lock(mutex_);
    const auto found = memories_.find(item);
    if (found == memories_.end()) return;
    Memory& memory = found->second;
    if (const bool is_stalled = memory.stalled(); memory.is_counted_stalled != is_stalled) {
      dependencies_.metrics.stalled(item.blueprint, item.instance.first, is_stalled);
      memory.is_counted_stalled = is_stalled;
    }
    if (const auto since = memory.pending_deletes.oldest(); memory.counted_pending != since) {
      dependencies_.metrics.pending_delete(item.blueprint, item.instance.first, memory.counted_pending,
                                           since);
      memory.counted_pending = since;
    }
    const std::string& reason = memory.ready_reason();
    if (memory.counted_reason == reason) return;
    dependencies_.metrics.instance(item.blueprint, item.instance.first, memory.counted_reason, reason);
    memory.counted_reason = reason;
  }

  // Whether a node's value flows or the default that stands in for it may depend on an open question.
  static bool has_no_defaults(const blueprint::Blueprint& blueprint) {
    return std::ranges::none_of(blueprint.sequence(), [](const blueprint::SequenceEdge& edge) {
      return std::ranges::any_of(edge.extract, [](const auto& each) { return each.fallback.has_value(); });
    });
  }

  bool is_ours(const Item& item) const { return dependencies_.share.has(item.instance.first); }

  // One at a time, so that revisions that take long leave the other workers to the instances.
  Status load(const std::string& blueprint, const Context& context) {
    std::unique_lock lock(mutex_);
    if (is_loading_) {
      queue_.add({blueprint}, kLoadPause);
      return {};
    }
    is_loading_ = true;
    Status done = revisions_.load(blueprint, lock, context);
    is_loading_ = false;
    return done;
  }

  // Decides with the lock, writes without.
  Status reconcile_one(const Item& item, const Span& span, const Context& context) {
    std::unique_lock lock(mutex_);
    const SteadyTime began = dependencies_.clock.steady_now();
    Loaded& loaded = revisions_.of(item.blueprint);
    const auto instance = loaded.instances ? loaded.instances->get(item.instance) : std::nullopt;
    if (!instance) return forget(item, loaded, lock, context);
    if (!is_ours(item)) return revisions_.guard(item.blueprint, true, context);
    const auto blueprint = loaded.blueprint;
    const auto instances = loaded.instances;
    MIST_TRY(Actor* const actor, actors_.of(loaded.account));
    actors_.looks_as(item, loaded.account);
    Observer& observer = actor->observer;
    Memory& memory = memories_[item];
    if (memory.ready_reason().empty()) {
      const Value* const ready = apimachinery::condition_of(*instance, "Ready");
      memory.is_ready_for(ready == nullptr ? kNoReason : ready->string_at("reason"));
    }
    const std::string_view stored = instance->string_at({"metadata", "annotations", kRecordAnnotation});
    const auto known = memory.record(stored, instance->string_at({"metadata", "uid"}));
    if (!known.ok()) {
      const bool is_new = memory.is_new_damage(stored);
      lock.unlock();
      if (is_new)
        notices_.tell(*instance, true, "RecordDamaged",
                      fmt::format("{}; {}", known.error().message, known.error().hint), context);
      return known.error();
    }
    const Record& recorded = *known;
    for (const ObjectId& id : observer.take_changed(item)) memory.changed(id);
    std::optional<Error> trouble;
    Open open{.others = OtherVersions(actor->client)};
    const reconcile::Queries queries =
        queries_of(*actor, item, loaded, *instance, recorded, memory, trouble, open, context);
    observer.begin(item);
    actor->sources.begin();
    loaded.answers.begin(item.instance, wish_of(*instance));
    memory.unready_causes.begin();
    Plan plan = blueprint ? reconcile::decide(*blueprint, *instance, recorded, queries)
                          : reconcile::tear_down(*instance, recorded, queries);
    for (const apimachinery::GroupKind& kind : open.unplaced) open.unserved.insert(kind.group);
    // Only an account with rights in the whole cluster sees CRDs come.
    if (dependencies_.namespaces.are_all()) late_kinds_.set(item, open.unserved);
    if (!open.unplaced.empty() && !trouble)
      trouble = error(ErrorKind::NotFound, "it isn't known whether objects of kind {} are in a namespace",
                      apimachinery::to_string(*open.unplaced.begin()));
    if (open.asks) {
      // As long as a contract isn't checked, nothing is written that depends on it.
      const bool is_ready =
          !observer.unsynced() && !trouble && !open.checks && blueprint && has_no_defaults(*blueprint);
      observer.finish(true);
      queue_.keep_place(item);
      if (is_ready) {
        lock.unlock();
        MIST_TRY(const Executor::Outcome ahead, timed(item, [&] {
                   return actor->executor.write_ahead(*instance, plan, memory, item, span, context);
                 }));
        lock.lock();
        if (ahead.wrote) {
          // The open questions are about a state that is gone.
          loaded.answers.drop_open(item.instance);
          queue_.add(item);
          return {};
        }
      }
      evaluations_.run(item.blueprint, lock, context);
      return {};
    }
    // Unknown objects would be reported as missing. The informer wakes this instance when it has synced.
    if (observer.unsynced()) {
      observer.finish(true);
      queue_.add(item, kSyncTime);
      return {};
    }
    // One that is wanted gets its label back, and is seen then.
    const bool deletes = !plan.deletes.empty() || std::ranges::find(plan.nodes, NodeState::Deleting,
                                                                    &NodeReport::state) != plan.nodes.end();
    const bool asks_again = observer.unseen() && (apimachinery::is_terminating(*instance) || deletes);
    observer.finish(trouble.has_value());
    loaded.answers.finish(item.instance, dependencies_.clock.steady_now());
    memory.unready_causes.finish();
    if (!trouble) actor->sources.finish(item, kept_sources(blueprint.get(), plan));
    const SteadyTime now = dependencies_.clock.steady_now();
    for (const NodeReport& each : plan.nodes)
      if (each.state != NodeState::Deleting) memory.wanted(each.node, each.wanted, now);
    if (!apimachinery::is_terminating(*instance) && !plan.record.objects.empty())
      MIST_TRY_VOID(revisions_.guard(item.blueprint, true, context));
    const std::optional<SteadyTime> rests_until = loaded.answers.next(item.instance, now);
    lock.unlock();
    MIST_TRY(const Executor::Outcome outcome, timed(item, [&] {
               return actor->executor.carry_out(*instances, *instance, blueprint.get(), plan, memory, item,
                                                span, context);
             }));
    if (outcome.wrote) {
      queue_.keep_place(item);
      queue_.add(item);
    }
    tell_of_pending(*instance, plan, memory, context);
    if (asks_again) queue_.add(item, kUnseenPause);
    if (look_into(memory.unready_causes, actor->client, context)) queue_.add(item);
    const SteadyTime after = dependencies_.clock.steady_now();
    // A pause that was over before the status was written counts too.
    for (const auto& next : {memory.next(began), memory.unready_causes.next(), rests_until})
      if (next) queue_.add(item, std::max<Duration>(*next - after, Duration()));
    if (!outcome.wrote) {
      lock.lock();
      Answers& answers = revisions_.of(item.blueprint).answers;
      answers.settle(item.instance);
      if (answers.waiting()) evaluations_.run(item.blueprint, lock, context);
    }
    return trouble ? Status(*std::move(trouble)) : Status();
  }

  // The HTTP nodes that may ask again: all but those that surely aren't wanted.
  static std::set<std::string> kept_sources(const blueprint::Blueprint* blueprint, const Plan& plan) {
    std::set<std::string> names;
    if (blueprint == nullptr) return names;
    for (const blueprint::Node& each : blueprint->nodes())
      if (each.type == blueprint::NodeType::Http) names.insert(each.name);
    for (const NodeReport& each : plan.nodes)
      if (each.wanted == graph::Truth::False && each.state != NodeState::Deleting) names.erase(each.node);
    return names;
  }

  // A server that takes long, as with a webhook that doesn't answer, must not keep all workers: for a while
  // at most half of them look at instances of that blueprint.
  template <typename Write>
  Result<Executor::Outcome> timed(const Item& item, const Write& write) {
    const SteadyTime begin = dependencies_.clock.steady_now();
    Result<Executor::Outcome> written = write();
    if (dependencies_.clock.steady_now() - begin >= kSlowWrite) queue_.slow(item, kSlowFor);
    return written;
  }

  // Whether the status has to say something else.
  bool look_into(UnreadyCauses& causes, kube::Client& client, const Context& context) const {
    const std::vector<apply::Unready> due = causes.due(dependencies_.clock.steady_now());
    if (due.empty()) return false;
    const Diagnosis all = apply::diagnose(client, "instance", "", due,
                                          context.with_timeout(apply::kDiagnosisLimit), apply::PodLogs::Left);
    bool is_new = false;
    for (std::size_t i = 0; i < due.size(); ++i)
      is_new |= causes.found(due[i].key, apply::cause_in_one_line(all.children[i]),
                             dependencies_.clock.steady_now());
    return is_new;
  }

  // Of what its author gives, and its functions see.
  static crypto::Digest wish_of(const Value& instance) {
    return crypto::sha256(encoding::to_json(reconcile::for_functions(instance), encoding::JsonStyle::Exact));
  }

  Status forget(const Item& item, Loaded& loaded, std::unique_lock<std::mutex>& lock,
                const Context& context) {
    loaded.forget(item.instance);
    actors_.forget(item);
    late_kinds_.set(item, {});
    if (const auto memory = memories_.find(item); memory != memories_.end()) {
      dependencies_.metrics.instance(item.blueprint, item.instance.first, memory->second.counted_reason, {});
      if (memory->second.is_counted_stalled)
        dependencies_.metrics.stalled(item.blueprint, item.instance.first, false);
      dependencies_.metrics.pending_delete(item.blueprint, item.instance.first,
                                           memory->second.counted_pending, {});
      memories_.erase(memory);
    }
    // Its place is free, and nobody else may come to see that.
    if (loaded.answers.waiting()) evaluations_.run(item.blueprint, lock, context);
    return loaded.instances && loaded.instances->synced() && loaded.instances->keys().empty()
               ? revisions_.guard(item.blueprint, false, context)
               : Status();
  }

  void tell_of_pending(const Value& instance, const Plan& plan, Memory& memory, const Context& context) {
    const SteadyTime now = dependencies_.clock.steady_now();
    memory.pending_deletes.take(plan, now, dependencies_.clock.now());
    if (const auto news = memory.pending_deletes.news(now))
      notices_.tell(instance, true, "DeletesPending", *news, context);
  }

  // Questions that have no answer yet.
  struct Open {
    bool asks = false;
    // Of objects that named no namespace: the server didn't serve them at first. It is left at that while one
    // instance is looked at.
    std::set<apimachinery::GroupKind> unplaced = {};
    OtherVersions others;
    std::set<apimachinery::GroupKind> nowhere = {};   // kinds that are served in no version
    std::set<std::string> unserved = {};              // groups of kinds that were asked for and aren't served
    std::map<Collection, std::string> unlisted = {};  // why the server refuses these lists
    bool checks = false;  // whether something matches its contract; until then it is taken to match
  };

  // `trouble`: why something isn't known, for a later try. `open`: what the program has to be asked first.
  reconcile::Queries queries_of(Actor& actor, const Item& item, Loaded& loaded, const Value& instance,
                                const Record& recorded, Memory& memory, std::optional<Error>& trouble,
                                Open& open, const Context& context) {
    return {
        .make =
            [&, this](const std::string& node, const Value& environment) {
              return make(actor, loaded, item, node, environment, open, context);
            },
        .unplaced =
            [&](const apimachinery::GroupKind& kind) { return open.unplaced.contains(kind); },
        .identities =
            [&](const std::string& node, const Value& environment, const std::vector<std::string>& unknown) {
              return identities(actor, loaded, item, node, environment, unknown, open, context);
            },
        .kinds =
            [&](const std::string& node, const Value& environment, const std::vector<std::string>& unknown) {
              const auto answer =
                  answered(loaded, item, "kinds of " + node,
                           blueprint::Evaluator::to_ask_kinds(node, environment, unknown), open);
              return answer && answer->ok() ? std::optional(**answer) : std::nullopt;
            },
        .observe =
            [&, this](const ObjectId& id, bool owned) {
              const bool known = recorded.find(id) != nullptr;
              const bool is_asked_for = known && !memory.is_gone(id);
              const bool is_ending = apimachinery::is_terminating(instance);
              const bool may_have_made = owned && (known || is_unaccounted(recorded, id));
              const Error* const before = open.others.failure(id.gvk(), owned);
              auto observed = before != nullptr
                                  ? Result<Observation>(*before)
                                  : actor.observer.observe(id, owned, is_asked_for, context);
              OtherVersion other;
              if (!observed.ok()) other = open.others.find(id.gvk(), owned, observed.error(), context);
              if (other.is_nowhere) open.nowhere.insert(id.gvk().group_kind());
              if (other.is_served() && may_have_made) {
                if (!is_ending) open.unserved.insert(id.gvk().group);
                observed = actor.observer.observe(other.of(id), owned, is_asked_for, context);
              }
              if (observed.ok()) {
                if (observed->there()) memory.there(id);
                if (observed->absent() && known) memory.gone(id);
                const bool is_foreign = owned && known && observed->there() &&
                                        !reconcile::is_of(observed->object, instance);
                // One that was let go stays in the record of an instance that ends, and is in nobody's way.
                if (is_foreign && is_ending) memory.gone(id);
                // No watch tells when somebody else's object goes.
                if (is_foreign && !is_ending)
                  trouble = error(ErrorKind::Conflict, "{} exists already and belongs to somebody else",
                                  id.display());
                return *std::move(observed);
              }
              // Of a kind that isn't served any more there is nothing left to delete.
              if (is_ending && other.is_nowhere)
                return Observation{Observation::State::Absent, {}, {}};
              // In which version it is looked for matters only if there is one.
              if (other.is_served() && !owned) {
                auto elsewhere = actor.observer.observe(other.of(id), false, false, context);
                if (elsewhere.ok() && elsewhere->absent()) return *std::move(elsewhere);
              }
              if (observed.error().kind == ErrorKind::NotFound) open.unserved.insert(id.gvk().group);
              trouble = observed.error();
              return not_told(id, observed.error(), other);
            },
        .marked = memory.accounted()
                      ? decltype(reconcile::Queries::marked)()
                      : [&](const std::set<reconcile::ObjectKind>& kinds) {
                          return actor.observer.marked(kinds, instance.string_at({"metadata", "uid"}), context);
                        },
        .list =
            [&](const Collection& collection) {
              const ObjectId any{collection.api_version, collection.kind, {}, {}};
              const Error* const before = open.others.failure(any.gvk(), false);
              auto listed = before != nullptr ? Result<std::optional<Value::Array>>(*before)
                                              : actor.observer.list(collection, context);
              if (listed.ok()) return *std::move(listed);
              if (listed.error().kind == ErrorKind::NotFound) open.unserved.insert(any.gvk().group);
              const OtherVersion other = open.others.find(any.gvk(), false, listed.error(), context);
              if (other.is_nowhere) open.nowhere.insert(any.gvk().group_kind());
              if (other.is_served()) {
                Collection elsewhere = collection;
                elsewhere.api_version = other.api_version;
                auto none = actor.observer.list(elsewhere, context);
                if (none.ok() && *none && (*none)->empty()) return *std::move(none);
                open.unlisted[collection] = served_words(other);
              }
              if (listed.error().kind == ErrorKind::Forbidden)
                open.unlisted[collection] = server_words(listed.error());
              trouble = listed.error();
              return std::optional<Value::Array>();
            },
        .unserved =
            [&](const apimachinery::GroupKind& kind) { return open.nowhere.contains(kind); },
        .unlisted =
            [&](const Collection& collection) {
              const auto found = open.unlisted.find(collection);
              return found == open.unlisted.end() ? std::string() : found->second;
            },
        .check_node =
            [&](const std::string& node, const Value& object) {
              return checked(loaded, item, "is ready " + node, blueprint::Evaluator::to_check(node, object),
                             open);
            },
        .check_edge =
            [&](std::size_t edge, const Value& object) {
              return checked(loaded, item, fmt::format("is in shape {}", edge),
                             blueprint::Evaluator::to_check(edge, object), open);
            },
        .check_spec =
            [&](const Value& spec) {
              return checked(loaded, item, "is the spec good", blueprint::Evaluator::to_check_spec(spec),
                             open);
            },
        .check_status =
            [&](const Value& status) {
              return checked(loaded, item, "is the status good",
                             blueprint::Evaluator::to_check_status(status), open);
            },
        .ask =
            [&, this](const std::string& node, const reconcile::HttpQuestion& question) {
              return actor.sources.ask(item, node, question);
            },
        .answered = [&](const std::string& node) { return actor.sources.answered(item, node); },
        .held = [&, this](
                    const ObjectId& id,
                    const std::string& hash) { return memory.held(id, hash, dependencies_.clock.steady_now()); },
        .not_kept = dependencies_.not_kept,
        .trouble = [&, this](
                       const ObjectId& id,
                       const Value& live) { return memory.unready_causes.of(id, live, dependencies_.clock.steady_now()); },
        .immutable = [&](const ObjectId& id, const std::string& hash) { return memory.immutable(id, hash); },
        .frozen = [&,
                   this](const std::string& node) { return memory.frozen(node, dependencies_.clock.steady_now()); }};
  }

  // The answer to a question. Nothing: it isn't known yet, and `open` says that somebody has to find it.
  std::optional<Result<Value>> answered(Loaded& loaded, const Item& item, const std::string& what,
                                        const Value& question, Open& open) {
    auto answer = loaded.answers.find(item.instance, what, question, dependencies_.clock.steady_now());
    open.asks |= !answer;
    return answer;
  }

  Result<Value> make(Actor& actor, Loaded& loaded, const Item& item, const std::string& node,
                     const Value& environment, Open& open, const Context& context) {
    auto answer =
        answered(loaded, item, "make " + node, blueprint::Evaluator::to_make(node, environment), open);
    if (!answer) return error(ErrorKind::Internal, "the node {} is being evaluated", node);
    if (!answer->ok())
      return Error(answer->error()).with_frame(fmt::format("while the node {} was evaluated", node));
    Value result = **std::move(answer);
    const blueprint::Node& told = loaded.blueprint->nodes()[*loaded.blueprint->node_called(node)];
    // A kind may come later, and then they have what that kind is like.
    if (told.names_objects())
      open.unplaced.merge(apply::give_namespaces(result, item.instance.first, actor.client, context));
    if (told.keeps_objects()) reconcile::give_account(result, {ns_, loaded.account});
    return result;
  }

  Status checked(Loaded& loaded, const Item& item, const std::string& what, const Value& question,
                 Open& open) {
    const auto answer = answered(loaded, item, what, question, open);
    open.checks |= !answer;
    if (!answer || answer->ok()) return {};
    return answer->error();
  }

  // A failure here occurs once more when the object is made, where it can be reported.
  std::optional<Value> identities(Actor& actor, Loaded& loaded, const Item& item, const std::string& node,
                                  const Value& environment, const std::vector<std::string>& unknown,
                                  Open& open, const Context& context) {
    auto answer = answered(loaded, item, "name " + node,
                           blueprint::Evaluator::to_identify(node, environment, unknown), open);
    if (!answer || !answer->ok()) return std::nullopt;
    Value named = **std::move(answer);
    if (!apply::give_namespaces(named, item.instance.first, actor.client, context).empty())
      return std::nullopt;
    return named;
  }

  static std::string served_words(const OtherVersion& other) {
    return fmt::format("the kind is served in {} only", other.api_version);
  }

  // A kind that isn't served may come; what may not be read stays so until somebody allows it, and what the
  // server can't list, as it can't convert it, until somebody repairs that.
  static Observation not_told(const ObjectId& id, const Error& failure, const OtherVersion& other) {
    Observation observed;
    const bool may_be_repaired = failure.kind == ErrorKind::Retryable || failure.kind == ErrorKind::Invalid;
    if (failure.kind == ErrorKind::Forbidden || (may_be_repaired && !failure.because.empty()))
      observed.why = server_words(failure);
    if (other.is_served()) observed.why = served_words(other);
    if (failure.kind == ErrorKind::NotFound && reconcile::is_release(id))
      observed.why = reconcile::kNoReleases;
    return observed;
  }

  static bool is_unaccounted(const Record& recorded, const ObjectId& id) {
    return std::ranges::find(recorded.unaccounted, id) != recorded.unaccounted.end();
  }

  static constexpr const char* kQueue = "operator";
  static constexpr std::string_view kNoReason = "Unknown";  // no status was written yet
  static constexpr Duration kUnseenPause = std::chrono::seconds(1);
  static constexpr Duration kSlowWrite = std::chrono::seconds(2);
  static constexpr Duration kSlowFor = std::chrono::minutes(1);
  static constexpr Duration kLoadPause = std::chrono::milliseconds(50);

  Dependencies dependencies_;
  const std::string ns_;
  WorkQueue<Item> queue_;
  std::mutex mutex_;  // of all below, but what belongs to an item and what is written with
  std::map<Item, Memory> memories_;
  Notices notices_;
  // Their informers' threads use what stands above.
  Actors actors_;
  Revisions revisions_;
  Evaluations evaluations_;
  LateKinds late_kinds_;
  bool is_loading_ = false;
};

Controller::Controller(Dependencies dependencies, std::string ns)
    : state_(std::make_unique<State>(std::move(dependencies), std::move(ns))) {}
Controller::~Controller() = default;

Status Controller::run(const Context& context) { return state_->run(context); }

}  // namespace mist::operator_
