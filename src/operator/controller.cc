#include "operator/controller.h"

#include <algorithm>
#include <map>

#include "apply/give_namespaces.h"
#include "base/text.h"
#include "operator/actors.h"
#include "operator/revisions.h"
#include "operator/work_queue.h"
#include "reconcile/release_node.h"

namespace mist::operator_ {

using apimachinery::GroupVersionKind;

class Controller::State {
 public:
  State(World world, std::string ns)
      : world_(std::move(world)),
        ns_(ns),
        queue_(world_.clock),
        notices_(world_.client, world_.clock, world_.events),
        actors_(world_.client_of, ns, world_.clock, world_.events,
                [this](const Item& item) { queue_.add(item); }),
        revisions_({world_.client, world_.renderer, world_.clock, world_.events, notices_, actors_,
                    world_.default_account},
                   std::move(ns), [this](const Item& item) { queue_.add(item); }) {}

  Status run(const Context& context) {
    MIST_TRY_VOID(revisions_.start(context));
    world_.metrics.watch_queue([this] {
      const auto [depth, additions] = queue_.state();
      return QueueState{depth, additions};
    });
    world_.metrics.is_ready(true);
    while (const std::optional<Item> item = queue_.take(context.stop())) work(*item, context);
    world_.metrics.is_ready(false);
    world_.metrics.watch_queue({});
    world_.events.info("stopped");
    return {};
  }

 private:
  void work(const Item& item, const Context& context) {
    const SteadyTime began = world_.clock.steady_now();
    const Status done =
        item.is_blueprint() ? revisions_.load(item.blueprint, context) : reconcile_one(item, context);
    if (context.stop().stop_requested()) return;
    world_.metrics.reconciled(item.blueprint, done.ok(), world_.clock.steady_now() - began);
    if (done.ok()) return queue_.succeeded(item);
    const Duration pause = queue_.failed(item);
    world_.events.warn(fmt::format("{}: {}; next try in {} ms", label_of(item), done.error().to_line(),
                                   std::chrono::duration_cast<std::chrono::milliseconds>(pause).count()));
    queue_.add(item, pause);
  }

  static std::string label_of(const Item& item) {
    return item.is_blueprint()
               ? item.blueprint
               : fmt::format("{} {}/{}", item.blueprint, item.instance.first, item.instance.second);
  }

  Status reconcile_one(const Item& item, const Context& context) {
    Loaded& loaded = revisions_.of(item.blueprint);
    const auto instance = loaded.instances ? loaded.instances->get(item.instance) : std::nullopt;
    if (!instance) return forget(item, loaded, context);
    const Record recorded =
        reconcile::record_from(instance->string_at({"metadata", "annotations", kRecordAnnotation}));
    MIST_TRY(Actor* const actor, actors_.of(loaded.account));
    actors_.looks_as(item, loaded.account);
    Observer& observer = actor->observer;
    Memory& memory = memories_[item];
    for (const ObjectId& id : observer.take_changed(item)) memory.changed(id);
    std::optional<Error> trouble;
    const reconcile::World world =
        world_of(*actor, item, loaded, *instance, recorded, memory, trouble, context);
    observer.begin(item);
    actor->sources.begin();
    Plan plan = loaded.blueprint ? reconcile::decide(*loaded.blueprint, *instance, recorded, world)
                                 : reconcile::tear_down(*instance, recorded, world);
    // What isn't known yet would be said to be missing. The informer wakes this instance when it has synced.
    if (observer.unsynced()) {
      observer.finish(true);
      queue_.add(item, kSyncTime);
      return {};
    }
    observer.finish(trouble.has_value());
    if (!trouble) actor->sources.finish(item);
    const SteadyTime now = world_.clock.steady_now();
    for (const NodeReport& each : plan.nodes)
      if (each.state != NodeState::Deleting) memory.wanted(each.node, each.wanted, now);
    if (!apimachinery::is_terminating(*instance) && !plan.record.objects.empty())
      MIST_TRY_VOID(revisions_.guard(item.blueprint, true, context));
    MIST_TRY(const Executor::Outcome outcome,
             actor->executor.carry_out(*loaded.instances, *instance,
                                       loaded.blueprint ? &*loaded.blueprint : nullptr, recorded, plan,
                                       memory, label_of(item), context));
    if (outcome.wrote) queue_.add(item);
    if (const auto next = memory.next(world_.clock.steady_now()))
      queue_.add(item, *next - world_.clock.steady_now());
    return trouble ? Status(*std::move(trouble)) : Status();
  }

  Status forget(const Item& item, Loaded& loaded, const Context& context) {
    loaded.forget(item.instance);
    actors_.forget(item);
    memories_.erase(item);
    return loaded.instances && loaded.instances->synced() && loaded.instances->keys().empty()
               ? revisions_.guard(item.blueprint, false, context)
               : Status();
  }

  // `trouble`: why something isn't known, for a later try.
  reconcile::World world_of(Actor& actor, const Item& item, Loaded& loaded, const Value& instance,
                            const Record& recorded, const Memory& memory, std::optional<Error>& trouble,
                            const Context& context) {
    return {
        .make =
            [&, this](const std::string& node, const Value& environment) {
              return make(actor, loaded, item, node, environment, context);
            },
        .observe =
            [&, this](const ObjectId& id, bool owned) {
              const bool known = recorded.find(id) != nullptr;
              auto observed = actor.observer.observe(id, owned, owned && known, context);
              if (observed.ok()) {
                // No watch tells when somebody else's object goes.
                if (owned && known && observed->there() && !reconcile::is_of(observed->object, instance))
                  trouble = error(ErrorKind::Conflict, "{} exists already and belongs to somebody else",
                                  id.display());
                return *std::move(observed);
              }
              // Of a kind that isn't served any more there is nothing left to delete.
              if (apimachinery::is_terminating(instance) && is_unserved(actor, id, observed.error(), context))
                return Observation{Observation::State::Absent, {}, {}};
              trouble = observed.error();
              return not_told(id, observed.error());
            },
        .list =
            [&](const Collection& collection) {
              auto listed = actor.observer.list(collection, context);
              if (listed.ok()) return *std::move(listed);
              trouble = listed.error();
              return std::optional<Value::Array>();
            },
        .check_node =
            [&](const std::string& node, const Value& object) {
              return checked(loaded, item, node, object,
                             [&] { return loaded.evaluator->check(node, object, context); });
            },
        .check_edge =
            [&](std::size_t edge, const Value& object) {
              return checked(loaded, item, fmt::format("#{}", edge), object,
                             [&] { return loaded.evaluator->check(edge, object, context); });
            },
        .check_spec =
            [&](const Value& spec) {
              return checked(loaded, item, "#spec", spec,
                             [&] { return loaded.evaluator->check_spec(spec, context); });
            },
        .check_status =
            [&](const Value& status) {
              return checked(loaded, item, "#status", status,
                             [&] { return loaded.evaluator->check_status(status, context); });
            },
        .ask =
            [&, this](const std::string& node, const reconcile::HttpQuestion& question) {
              return actor.sources.ask(item, node, question);
            },
        .held = [&, this](
                    const std::string& node,
                    const std::string& hash) { return memory.held(node, hash, world_.clock.steady_now()); },
        .not_kept = world_.not_kept,
        .immutable = [&](const ObjectId& id, const std::string& hash) { return memory.immutable(id, hash); },
        .frozen = [&,
                   this](const std::string& node) { return memory.frozen(node, world_.clock.steady_now()); }};
  }

  template <typename Check>
  static Status checked(Loaded& loaded, const Item& item, const std::string& what, const Value& object,
                        const Check& check) {
    const auto [entry, is_new] = loaded.checked.try_emplace({item.instance, what});
    auto& [known, said] = entry->second;
    if (is_new || known != object) {
      said = check();
      known = object;
    }
    return said;
  }

  Result<Value> make(Actor& actor, Loaded& loaded, const Item& item, const std::string& node,
                     const Value& environment, const Context& context) {
    auto& [known, made] = loaded.made[{item.instance, node}];
    if (!known.is_null() && known == environment) return made;
    MIST_TRY(Value result, loaded.evaluator->make(node, environment, context));
    const auto told = std::ranges::find(loaded.blueprint->nodes(), node, &blueprint::Node::name);
    // A kind may come later, and then they are recreated, with what that kind is like.
    const bool is_known =
        !told->names_objects() || apply::give_namespaces(result, item.instance.first, actor.client, context);
    if (told->keeps_objects()) reconcile::give_account(result, {ns_, loaded.account});
    if (!is_known) return result;
    known = environment;
    made = result;
    return result;
  }

  // A kind that isn't served may come; what may not be read stays so until somebody allows it.
  static Observation not_told(const ObjectId& id, const Error& failure) {
    Observation observed;
    if (failure.kind == ErrorKind::Forbidden)
      observed.why = failure.because.empty() ? failure.message : failure.because;
    if (failure.kind == ErrorKind::NotFound && reconcile::is_release(id))
      observed.why = reconcile::kNoReleases;
    return observed;
  }

  static bool is_unserved(Actor& actor, const ObjectId& id, const Error& failure, const Context& context) {
    if (failure.kind != ErrorKind::NotFound) return false;
    const auto down = actor.client.apis_down(context);
    return down.ok() && std::ranges::find(*down, id.gvk().group, &kube::DownApi::group) == down->end();
  }

  // An informer that hasn't synced after that long is said to be the problem in the status.
  static constexpr Duration kSyncTime = std::chrono::seconds(5);

  World world_;
  const std::string ns_;
  WorkQueue<Item> queue_;
  std::map<Item, Memory> memories_;
  Notices notices_;
  // Their informers' threads use what stands above.
  Actors actors_;
  Revisions revisions_;
};

Controller::Controller(World world, std::string ns)
    : state_(std::make_unique<State>(std::move(world), std::move(ns))) {}
Controller::~Controller() = default;

Status Controller::run(const Context& context) { return state_->run(context); }

}  // namespace mist::operator_
