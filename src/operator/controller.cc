#include "operator/controller.h"

#include <map>
#include <mutex>
#include <set>

#include "apply/marks.h"
#include "apply/server_made.h"
#include "base/parallel.h"
#include "base/text.h"
#include "blueprint/evaluator.h"
#include "encoding/json.h"
#include "kube/informer.h"
#include "kube/lost_version.h"
#include "operator/reconcile.h"
#include "operator/work_queue.h"

namespace mist::operator_ {
namespace {

using apimachinery::GroupVersionKind;
using kube::Informer;

constexpr std::size_t kParallelWrites = 8;
// An informer that hasn't synced after that long is said to be the problem in the status.
constexpr Duration kSyncTime = std::chrono::seconds(5);

// Of a blueprint with instances: their kind, for an operator that starts when it can't be evaluated.
constexpr std::string_view kKindAnnotation = apply::kInstanceKindAnnotation;

// A blueprint (no instance named), or one of its instances.
struct Item {
  std::string blueprint;
  Informer::Key instance = {};
  bool is_blueprint() const { return instance.second.empty(); }
  friend auto operator<=>(const Item&, const Item&) = default;
};

void forget_managed_fields(Value& object) {
  if (Value* metadata = object.find("metadata")) metadata->erase("managedFields");
}

std::vector<Recorded> record_of(const Value& instance) {
  std::vector<Recorded> record;
  const std::string_view text = instance.string_at({"metadata", "annotations", kRecordAnnotation});
  const auto parsed = encoding::parse_json(text);
  if (text.empty() || !parsed.ok() || !parsed->is_array()) return record;
  for (const Value& each : parsed->as_array()) {
    Recorded entry{std::string(each.string_at("node")),
                   {std::string(each.string_at("apiVersion")), std::string(each.string_at("kind")),
                    std::string(each.string_at("namespace")), std::string(each.string_at("name"))},
                   {}};
    if (const Value* after = each.find("after"); after != nullptr && after->is_array())
      for (const Value& node : after->as_array())
        if (node.is_string()) entry.after.push_back(node.as_string());
    record.push_back(std::move(entry));
  }
  return record;
}

std::string to_text(const std::vector<Recorded>& record) {
  Value::Array list;
  for (const Recorded& each : record) {
    Value::Array after;
    for (const std::string& node : each.after) after.emplace_back(node);
    list.push_back(Value::object({{"node", each.node},
                                  {"apiVersion", each.id.api_version},
                                  {"kind", each.id.kind},
                                  {"namespace", each.id.ns},
                                  {"name", each.id.name},
                                  {"after", Value(std::move(after))}}));
  }
  return encoding::to_json(Value(std::move(list)));
}

GroupVersionKind gvk_of(const ObjectId& id) {
  const auto slash = id.api_version.find('/');
  if (slash == std::string::npos) return {"", id.api_version, id.kind};
  return {id.api_version.substr(0, slash), id.api_version.substr(slash + 1), id.kind};
}

bool has_finalizer(const Value& instance) {
  const Value* list = instance.at_path({"metadata", "finalizers"});
  return list != nullptr && list->is_array() &&
         std::ranges::any_of(list->as_array(), [](const Value& each) { return each == Value(kFinalizer); });
}

bool is_in(const std::vector<Recorded>& record, const Recorded& entry) {
  return std::ranges::find(record, entry) != record.end();
}

// What says the same but for its time isn't written again.
bool says(const Value& instance, const Value& status) {
  const Value* live = instance.at_path({"status", "conditions"});
  if (live == nullptr || !live->is_array()) return false;
  const Value& wanted = status.find("conditions")->as_array().front();
  return std::ranges::find(live->as_array(), wanted) != live->as_array().end();
}

}  // namespace

class Controller::State {
 public:
  State(World world, std::string ns) : world_(world), ns_(std::move(ns)), queue_(world.clock) {}

  Status run(const Context& context) {
    MIST_TRY(const kube::ResourceInfo maps, world_.client.resource_for({"", "ConfigMap"}, "v1", context));
    // Says at once what is wrong with server or permissions.
    const kube::ListOptions blueprints{.ns = ns_, .label_selector = fmt::format("{}=true", kBlueprintLabel)};
    MIST_TRY_VOID(world_.client.list(maps, blueprints, context));
    config_maps_ = std::make_unique<Informer>(
        world_.client, maps, blueprints, forget_managed_fields,
        [this](const std::optional<Informer::Key>& key) {
          if (key) queue_.add({key->second});
        },
        world_.clock, world_.events);
    world_.events.info(fmt::format("watching blueprints in namespace {}", ns_));
    while (const std::optional<Item> item = queue_.take(context.stop())) work(*item, context);
    world_.events.info("stopped");
    return {};
  }

 private:
  struct Loaded {
    std::optional<package::Files> files;  // as they were last read
    bool rejected = false;                // those files
    std::optional<blueprint::Evaluator> evaluator;
    std::optional<blueprint::Blueprint> blueprint;  // the last good one
    std::unique_ptr<Informer> instances;
    // What functions made: of each instance and node the last environment, and the object.
    std::map<std::pair<Informer::Key, std::string>, std::pair<Value, Value>> made;
  };

  void work(const Item& item, const Context& context) {
    const Status done = item.is_blueprint() ? load(item.blueprint, context) : reconcile_one(item, context);
    if (context.stop().stop_requested()) return;
    if (done.ok()) return queue_.succeeded(item);
    const Duration pause = queue_.failed(item);
    world_.events.warn(fmt::format(
        "{}{}: {}; next try in {} ms", item.blueprint,
        item.is_blueprint() ? "" : fmt::format(" {}/{}", item.instance.first, item.instance.second),
        done.error().to_line(), std::chrono::duration_cast<std::chrono::milliseconds>(pause).count()));
    queue_.add(item, pause);
  }

  Status load(const std::string& name, const Context& context) {
    const auto map = config_maps_->get({ns_, name});
    Loaded& loaded = blueprints_[name];
    if (!map) {
      world_.events.warn(fmt::format("blueprint {} was deleted; its instances are only torn down", name));
      loaded.blueprint.reset();
      loaded.files.reset();
      return {};
    }
    if (apimachinery::is_terminating(*map) && has_finalizer(*map))
      world_.events.warn(
          fmt::format("blueprint {} is being deleted; it stays until its instances are gone", name));
    package::Files files;
    if (const Value* data = map->find("data"); data != nullptr && data->is_object())
      for (const Value::Member& member : data->as_object())
        if (member.value.is_string()) files.emplace(member.key, member.value.as_string());
    if (loaded.files == files) return {};
    const ObjectId kept = kind_from(map->string_at({"metadata", "annotations", kKindAnnotation}));
    auto revision = revision_of(name, files, has_finalizer(*map) ? kept : ObjectId(), context);
    if (!revision.ok()) {
      // What is no fault of the blueprint is tried again.
      const bool is_its_fault =
          revision.error().kind == ErrorKind::Invalid || revision.error().kind == ErrorKind::Trap;
      if (!is_its_fault) return std::move(revision).error();
      loaded.files = std::move(files);
      loaded.rejected = true;
      // Evaluating the same once more gives the same: the next change of the ConfigMap is the next try.
      world_.events.warn(fmt::format("blueprint {} is rejected{}: {}", name,
                                     loaded.blueprint ? ", its last good revision goes on" : "",
                                     revision.error().to_line()));
      // Instances of the last good revision can be torn down all the same.
      return loaded.instances || kept.kind.empty() ? Status()
                                                   : watch_instances(name, loaded, gvk_of(kept), context);
    }
    auto& [evaluator, described] = *revision;
    const GroupVersionKind kind = described.instances();
    const bool same_kind = loaded.blueprint && loaded.blueprint->instances() == kind;
    if (!same_kind || !loaded.instances) MIST_TRY_VOID(watch_instances(name, loaded, kind, context));
    loaded.files = std::move(files);
    loaded.rejected = false;
    loaded.evaluator = std::move(evaluator);
    loaded.blueprint = std::move(described);
    loaded.made.clear();
    world_.events.info(fmt::format("blueprint {} is in force for {}", name, kind.kind));
    for (const Informer::Key& key : loaded.instances->keys()) queue_.add({name, key});
    return {};
  }

  // `kept`: the kind of instances that are there, whose finalizers nobody would remove if it were another.
  Result<std::pair<blueprint::Evaluator, blueprint::Blueprint>> revision_of(const std::string& name,
                                                                            const package::Files& files,
                                                                            const ObjectId& kept,
                                                                            const Context& context) {
    MIST_TRY(blueprint::Evaluator evaluator, blueprint::Evaluator::of(name, files, world_.renderer));
    MIST_TRY(blueprint::Blueprint described, evaluator.describe(context));
    const GroupVersionKind& kind = described.instances();
    if (!kept.kind.empty() && gvk_of(kept).group_kind() != kind.group_kind())
      return error(ErrorKind::Invalid, "its kind became {} {}, and there are instances of {} {}",
                   kind.api_version(), kind.kind, kept.api_version, kept.kind)
          .with_hint("delete those first, or make another blueprint for the other kind");
    return std::pair(std::move(evaluator), std::move(described));
  }

  Status watch_instances(const std::string& name, Loaded& loaded, const GroupVersionKind& kind,
                         const Context& context) {
    auto resource = world_.client.resource_for({kind.group, kind.kind}, kind.version, context);
    if (!resource.ok()) {
      loaded.files.reset();  // so that the next try is one
      world_.client.invalidate_discovery();
      return std::move(resource).error().with_frame(
          fmt::format("while looking up the kind of blueprint {}", name));
    }
    loaded.instances = informer(*resource, {}, [this, name](const std::optional<Informer::Key>& key) {
      if (key) queue_.add({name, *key});
    });
    return {};
  }

  // "example.com/v1/App".
  static ObjectId kind_from(std::string_view text) {
    const auto slash = text.rfind('/');
    if (slash == std::string_view::npos) return {};
    return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1)), {}, {}};
  }

  std::unique_ptr<Informer> informer(const kube::ResourceInfo& resource, kube::ListOptions options,
                                     Informer::Changed changed) {
    return std::make_unique<Informer>(world_.client, resource, std::move(options), nullptr,
                                      std::move(changed), world_.clock, world_.events);
  }

  Status reconcile_one(const Item& item, const Context& context) {
    Loaded& loaded = blueprints_[item.blueprint];
    const auto instance = loaded.instances ? loaded.instances->get(item.instance) : std::nullopt;
    if (!instance) {
      std::erase_if(loaded.made, [&](const auto& entry) { return entry.first.first == item.instance; });
      forget(item);
      return loaded.instances && loaded.instances->synced() && loaded.instances->keys().empty()
                 ? guard(item.blueprint, false, context)
                 : Status();
    }
    const std::vector<Recorded> recorded = record_of(*instance);
    std::optional<Error> trouble;
    const operator_::World world{
        .make = [&](const std::string& node,
                    const Value& environment) { return make(loaded, item, node, environment, context); },
        .observe =
            [&](const ObjectId& id, bool owned) {
              const bool known = std::ranges::find(recorded, id, &Recorded::id) != recorded.end();
              auto observed = observe(item, id, owned, owned && known, context);
              if (observed.ok()) {
                // No watch tells when somebody else's object goes.
                if (known && observed->state == Observation::State::There &&
                    !is_of(observed->object, *instance))
                  trouble = error(ErrorKind::Conflict, "{} exists already and belongs to somebody else",
                                  id.display());
                return *std::move(observed);
              }
              // Of a kind that isn't served any more there is nothing left to delete.
              if (apimachinery::is_terminating(*instance) && is_unserved(id, observed.error(), context))
                return Observation{Observation::State::Absent, {}, {}};
              trouble = observed.error();
              return Observation{};
            }};
    unsynced_ = false;
    observing_.clear();
    Plan plan = loaded.blueprint ? reconcile(*loaded.blueprint, *instance, recorded, world)
                                 : tear_down(*instance, recorded, world);
    // What isn't known yet would be said to be missing. The informer wakes this instance when it has synced.
    if (unsynced_) {
      observed_by_[item].insert(observing_.begin(), observing_.end());
      queue_.add(item, kSyncTime);
      return {};
    }
    if (!trouble)
      forget_others(item);
    else
      observed_by_[item].insert(observing_.begin(), observing_.end());
    MIST_TRY_VOID(carry_out(item, *instance, recorded, plan, *loaded.instances, context));
    return trouble ? Status(*std::move(trouble)) : Status();
  }

  Result<Value> make(Loaded& loaded, const Item& item, const std::string& node, const Value& environment,
                     const Context& context) {
    auto& [known, made] = loaded.made[{item.instance, node}];
    if (!known.is_null() && known == environment) return made;
    MIST_TRY(Value object, loaded.evaluator->make(node, environment, context));
    const ObjectId id{
        std::string(object.string_at("apiVersion")), std::string(object.string_at("kind")), {}, {}};
    const GroupVersionKind gvk = gvk_of(id);
    if (object.string_at({"metadata", "namespace"}).empty() && !id.kind.empty()) {
      const auto resource = world_.client.resource_for({gvk.group, gvk.kind}, gvk.version, context);
      // Its kind may come later: then it is made anew, with what that kind is like.
      if (!resource.ok()) return object;
      if (resource->namespaced) object["metadata"].set("namespace", item.instance.first);
    }
    known = environment;
    made = object;
    return object;
  }

  bool is_unserved(const ObjectId& id, const Error& failure, const Context& context) const {
    if (failure.kind != ErrorKind::NotFound) return false;
    const auto down = world_.client.apis_down(context);
    return down.ok() && std::ranges::find(*down, gvk_of(id).group, &kube::DownApi::group) == down->end();
  }

  // `known`: it was created, or was about to be. Then what the informer doesn't have is asked for: somebody
  // may have removed the label by which informers select.
  Result<Observation> observe(const Item& item, const ObjectId& id, bool owned, bool known,
                              const Context& context) {
    const Informer::Key key{id.ns, id.name};
    observing_.insert(id);
    {
      const std::lock_guard lock(owners_mutex_);
      owners_[id].insert(item);
    }
    MIST_TRY(Informer* const store, store_of(id, owned, context));
    Observation observed;
    if (!store->synced()) {
      unsynced_ |= world_.clock.steady_now() - store_began_.at(store) < kSyncTime;
      return observed;
    }
    auto object = store->get(key);
    if (!object && known) {
      auto asked = world_.client.get({store->resource(), id.ns, id.name}, context);
      if (!asked.ok() && asked.error().kind != ErrorKind::NotFound) return std::move(asked).error();
      if (asked.ok()) object = *std::move(asked);
    }
    observed.state = object ? Observation::State::There : Observation::State::Absent;
    if (object) observed.object = *std::move(object);
    if (const auto made = server_made_.find(id); made != server_made_.end()) observed.made = made->second;
    return observed;
  }

  // Of owned objects one informer for a kind, of others one each. It wakes whoever asked for what changes.
  Result<Informer*> store_of(const ObjectId& id, bool owned, const Context& context) {
    auto& store = owned ? stores_[kind_of(id)] : reads_[id];
    if (!store) {
      const GroupVersionKind gvk = gvk_of(id);
      auto resource = world_.client.resource_for({gvk.group, gvk.kind}, gvk.version, context);
      if (!resource.ok()) {
        world_.client.invalidate_discovery();
        return std::move(resource).error().with_frame(fmt::format("while looking for {}", id.display()));
      }
      kube::ListOptions options;
      if (owned) {
        options.label_selector = kInstanceLabel;
      } else {
        options.ns = id.ns;
        options.field_selector = fmt::format("metadata.name={}", id.name);
      }
      store = informer(*resource, std::move(options),
                       [this, api_version = id.api_version, name = id.kind](
                           const std::optional<Informer::Key>& key) { changed(api_version, name, key); });
      store_began_.emplace(store.get(), world_.clock.steady_now());
    }
    return store.get();
  }
  static std::string kind_of(const ObjectId& id) { return id.api_version + "/" + id.kind; }

  void forget(const Item& item) {
    observing_.clear();
    forget_others(item);
    observed_by_.erase(item);
  }

  // What an instance names no more is watched no more, or whoever writes instances could have us watch
  // without end.
  void forget_others(const Item& item) {
    std::set<ObjectId>& before = observed_by_[item];
    for (const ObjectId& id : before)
      if (!observing_.contains(id)) leave(id, item);
    before = observing_;
  }

  void leave(const ObjectId& id, const Item& item) {
    {
      const std::lock_guard lock(owners_mutex_);
      const auto owner = owners_.find(id);
      if (owner == owners_.end()) return;
      owner->second.erase(item);
      if (!owner->second.empty()) return;
      owners_.erase(owner);
    }
    server_made_.erase(id);
    const auto read = reads_.find(id);
    if (read == reads_.end()) return;
    store_began_.erase(read->second.get());
    reads_.erase(read);  // waits for its thread, which may want the lock
  }

  void changed(const std::string& api_version, const std::string& kind,
               const std::optional<Informer::Key>& key) {
    const std::lock_guard lock(owners_mutex_);
    if (key) {
      const auto owner = owners_.find({api_version, kind, key->first, key->second});
      if (owner != owners_.end())
        for (const Item& item : owner->second) queue_.add(item);
      return;
    }
    for (const auto& [id, items] : owners_)
      if (id.api_version == api_version && id.kind == kind)
        for (const Item& item : items) queue_.add(item);
  }

  Status carry_out(const Item& item, const Value& instance, const std::vector<Recorded>& recorded, Plan& plan,
                   Informer& instances, const Context& context) {
    const bool terminating = apimachinery::is_terminating(instance);
    const bool is_new =
        std::ranges::any_of(plan.record, [&](const Recorded& each) { return !is_in(recorded, each); });
    if (!terminating && !plan.record.empty() && !has_finalizer(instance))
      MIST_TRY_VOID(guard(item.blueprint, true, context));
    if (!terminating && (is_new || (!plan.record.empty() && !has_finalizer(instance))))
      MIST_TRY_VOID(claim(instances, instance, plan.record, context));
    std::mutex mutex;
    std::optional<Error> failure;
    const auto report = [&](const std::string& node, Error error) {
      const std::lock_guard lock(mutex);
      for (NodeReport& each : plan.nodes)
        if (each.node == node) {
          each.state = NodeState::Failed;
          each.detail = error.because.empty() ? error.message : error.because;
        }
      failure = std::move(error);
    };
    MIST_TRY_VOID(parallel_for(plan.applies.size(), kParallelWrites, [&](std::size_t i) {
      const operator_::Apply& each = plan.applies[i];
      auto answer = write(each, context);
      if (!answer.ok()) {
        report(each.node, std::move(answer).error());
        return context.check();
      }
      const std::lock_guard lock(mutex);
      server_made_[each.id] = apply::server_made(apply::differences(each.object, *answer, kManager));
      if (Informer* const store = stores_.at(kind_of(each.id)).get()) store->put(*answer);
      queue_.add(item);
      world_.events.info(fmt::format("{} {}", each.create ? "created" : "changed", each.id.display()));
      return Status();
    }));
    for (const operator_::Delete& each : plan.deletes) {
      if (Status gone = remove(each, context); !gone.ok()) report(each.what.node, std::move(gone).error());
    }
    if (terminating && plan.finished && has_finalizer(instance)) return release(instances, instance, context);
    MIST_TRY_VOID(write_status(instances, instance, plan, context));
    return failure ? Status(*std::move(failure)) : Status();
  }

  Result<Value> write(const operator_::Apply& each, const Context& context) const {
    const GroupVersionKind gvk = gvk_of(each.id);
    MIST_TRY(const kube::ResourceInfo resource,
             world_.client.resource_for({gvk.group, gvk.kind}, gvk.version, context));
    Value object = each.object;
    // The server creates it, or answers 409 and writes nothing.
    if (each.create) object["metadata"].set("resourceVersion", "1");
    return kube::apply_over_lost_version(world_.client, {resource, each.id.ns, each.id.name}, object,
                                         {.field_manager = std::string(kManager)}, context);
  }

  Status remove(const operator_::Delete& each, const Context& context) const {
    const GroupVersionKind gvk = gvk_of(each.what.id);
    MIST_TRY(const kube::ResourceInfo resource,
             world_.client.resource_for({gvk.group, gvk.kind}, gvk.version, context));
    const auto gone =
        world_.client.remove({resource, each.what.id.ns, each.what.id.name}, {.uid = each.uid}, context);
    if (!gone.ok() && gone.error().kind != ErrorKind::NotFound) return gone.error();
    world_.events.info(fmt::format("deleted {}", each.what.id.display()));
    return {};
  }

  static Value identity(const Value& instance) {
    Value metadata = Value::object({{"name", instance.string_at({"metadata", "name"})},
                                    {"uid", instance.string_at({"metadata", "uid"})}});
    if (const std::string_view ns = instance.string_at({"metadata", "namespace"}); !ns.empty())
      metadata.set("namespace", ns);
    return Value::object({{"apiVersion", instance.string_at("apiVersion")},
                          {"kind", instance.string_at("kind")},
                          {"metadata", std::move(metadata)}});
  }
  static kube::ObjectRef ref(const Informer& instances, const Value& instance) {
    return {instances.resource(), std::string(instance.string_at({"metadata", "namespace"})),
            std::string(instance.string_at({"metadata", "name"}))};
  }

  // A blueprint stays as long as it has instances: without it an operator that starts anew would not know
  // them, and their finalizers would never go.
  Status guard(const std::string& name, bool on, const Context& context) {
    const auto map = config_maps_->get({ns_, name});
    if (!map || has_finalizer(*map) == on) return {};
    Value object = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    object["metadata"] = *identity(*map).find("metadata");
    if (on) {
      object["metadata"].set("finalizers", Value::array({kFinalizer}));
      const apimachinery::GroupVersionKind& kind = blueprints_[name].instances->resource().gvk;
      object["metadata"]["annotations"].set(kKindAnnotation,
                                            fmt::format("{}/{}", kind.api_version(), kind.kind));
    }
    MIST_TRY(Value answer, world_.client
                               .apply({config_maps_->resource(), ns_, name}, object,
                                      {.field_manager = std::string(kManager), .force = true}, context)
                               .in(fmt::format("while blueprint {} was {}", name, on ? "kept" : "let go")));
    config_maps_->put(std::move(answer));
    // What was rejected because of instances may be good without them.
    if (Loaded& loaded = blueprints_[name]; !on && loaded.rejected) {
      loaded.files.reset();
      queue_.add({name});
    }
    return {};
  }

  Status claim(Informer& instances, const Value& instance, const std::vector<Recorded>& record,
               const Context& context) const {
    Value object = identity(instance);
    object["metadata"].set("finalizers", Value::array({kFinalizer}));
    object["metadata"]["annotations"].set(kRecordAnnotation, to_text(record));
    MIST_TRY(Value answer,
             world_.client.apply(ref(instances, instance), object,
                                 {.field_manager = std::string(kManager), .force = true}, context));
    instances.put(std::move(answer));
    return {};
  }

  Status release(Informer& instances, const Value& instance, const Context& context) const {
    MIST_TRY_VOID(world_.client
                      .apply(ref(instances, instance), identity(instance),
                             {.field_manager = std::string(kManager), .force = true}, context)
                      .in("while the finalizer was removed"));
    world_.events.info(fmt::format("{} {} is torn down", instance.string_at("kind"),
                                   instance.string_at({"metadata", "name"})));
    return {};
  }

  Status write_status(Informer& instances, const Value& instance, const Plan& plan, const Context& context) {
    const Value status = status_of(plan, instance, format_time(world_.clock.now()));
    if (says(instance, status)) return {};
    Value object = identity(instance);
    object.set("status", status);
    kube::ApplyOptions options{.field_manager = fmt::format("{}-status", kManager), .force = true};
    if (instances.resource().has_status) options.subresource = "status";
    MIST_TRY(Value answer, world_.client.apply(ref(instances, instance), object, options, context)
                               .in("while the status was written"));
    instances.put(std::move(answer));
    return {};
  }

  World world_;
  const std::string ns_;
  WorkQueue<Item> queue_;
  std::mutex owners_mutex_;
  std::map<ObjectId, std::set<Item>> owners_;  // whom a change of an object concerns
  std::map<ObjectId, std::vector<apply::ServerMade>> server_made_;
  std::map<std::string, Loaded> blueprints_;
  std::map<const Informer*, SteadyTime> store_began_;
  bool unsynced_ = false;  // of the instance that is looked at: something of it will be known in a moment
  // Their threads use what stands above.
  std::map<std::string, std::unique_ptr<Informer>> stores_;  // by kind
  std::map<ObjectId, std::unique_ptr<Informer>> reads_;
  std::map<Item, std::set<ObjectId>> observed_by_;
  std::set<ObjectId> observing_;  // by the instance that is looked at now
  std::unique_ptr<Informer> config_maps_;
};

Controller::Controller(World world, std::string ns) : state_(std::make_unique<State>(world, std::move(ns))) {}
Controller::~Controller() = default;

Status Controller::run(const Context& context) { return state_->run(context); }

}  // namespace mist::operator_
