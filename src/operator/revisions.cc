#include "operator/revisions.h"

#include <algorithm>

#include "base/text.h"
#include "blueprint/parts.h"
#include "operator/controller.h"
#include "operator/executor.h"
#include "operator/finalizer.h"

namespace mist::operator_ {
namespace {

using apimachinery::GroupVersionKind;

// Of a blueprint with instances: their kind, for an operator that starts when it can't be evaluated.
constexpr std::string_view kKindAnnotation = apply::kInstanceKindAnnotation;
// Annotations of ConfigMaps are bounded together.
constexpr std::size_t kMostDiagnostic = 16384;

void drop_managed_fields(Value& object) {
  if (Value* metadata = object.find("metadata")) metadata->erase("managedFields");
}

// Of what another replica sees to it is only known that it is there.
void keep_identity(Value& object) {
  Value kept = identity(object);
  kept["metadata"].set("resourceVersion", object.string_at({"metadata", "resourceVersion"}));
  object = std::move(kept);
}

// The states of a revision.
constexpr std::string_view kInForce = "InForce", kRejected = "Rejected", kAwaiting = "AwaitingCRD",
                           kNotEvaluated = "NotEvaluated", kUnlabelled = "LabelMissing",
                           kNotWatched = "NotWatched";

// For the log.
MessageFields blueprint_fields(const std::string& name) { return {{"blueprint", name}}; }

// "example.com/v1/App".
ObjectId kind_from(std::string_view text) {
  const auto slash = text.rfind('/');
  if (slash == std::string_view::npos) return {};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1)), {}, {}};
}

// With Nickel's own words, which have lines.
std::string diagnostic_of(const Error& failure) {
  std::string text = failure.message;
  if (!failure.because.empty()) text += "\n" + failure.because;
  if (failure.where) text = fmt::format("{}: {}", failure.where->text(), text);
  if (!failure.hint.empty()) text += "\nhint: " + failure.hint;
  return text.substr(0, kMostDiagnostic);
}

}  // namespace

void Loaded::forget(const kube::Informer::Key& instance) { answers.forget(instance); }

Revisions::Revisions(Dependencies dependencies, std::string ns, Observer::Wake wake)
    : dependencies_(std::move(dependencies)), ns_(std::move(ns)), wake_(std::move(wake)) {}

Status Revisions::start(const Context& context) {
  MIST_TRY(const kube::ResourceInfo maps,
           dependencies_.client.resource_for({"", "ConfigMap"}, "v1", context));
  // Says at once what is wrong with server or permissions.
  const kube::ListOptions blueprints{
      .ns = ns_, .label_selector = fmt::format("{} in (true,{})", kBlueprintLabel, blueprint::kPartValue)};
  MIST_TRY_VOID(dependencies_.client.list(maps, blueprints, context));
  config_maps_ = std::make_unique<kube::Informer>(
      dependencies_.client, maps, blueprints, drop_managed_fields,
      [this](const std::optional<kube::Informer::Key>& key) { told(key); }, dependencies_.clock,
      dependencies_.events);
  dependencies_.events.info(fmt::format("watching blueprints in namespace {}", ns_));
  find_unlabelled(maps, context);
  return {};
}

// On the watch's thread.
void Revisions::told(const std::optional<kube::Informer::Key>& key) {
  if (key) return wake_({key->second});
  std::set<std::string> waiting;
  {
    const std::lock_guard lock(syncing_mutex_);
    waiting.swap(syncing_);
  }
  for (const std::string& name : waiting) wake_({name});
}

// Whether what a blueprint's parts lack is lacking: until all ConfigMaps were listed, it may only come later
// in the list. Then the blueprint is woken.
bool Revisions::knows_all_parts(const std::string& name) {
  const std::lock_guard lock(syncing_mutex_);
  syncing_.insert(name);
  if (!config_maps_->synced()) return false;
  syncing_.erase(name);
  return true;
}

// A part that changes or goes wakes the blueprints that name it. Whether it is, or was, nothing but a part.
bool Revisions::is_part_alone(const std::string& name) {
  for (const auto& [other, loaded] : blueprints_)
    if (std::ranges::find(loaded.parts, name) != loaded.parts.end()) wake_({other});
  const auto shown = config_maps_->get({ns_, name});
  const bool was_part = parts_.contains(name), is_part = shown && blueprint::is_part(*shown);
  if (is_part)
    parts_.insert(name);
  else
    parts_.erase(name);
  return (is_part || (was_part && !shown)) && !blueprints_.contains(name);
}

// Somebody took a label away while no operator ran: no watch shows these, and their instances would keep
// their finalizers for ever.
void Revisions::find_unlabelled(const kube::ResourceInfo& maps, const Context& context) {
  auto all = dependencies_.client.list(
      maps, {.ns = ns_, .label_selector = fmt::format("{}!=true", kBlueprintLabel), .metadata_only = true},
      context);
  if (!all.ok())
    return dependencies_.events.warn(fmt::format(
        "can't find out whether a blueprint in namespace {} lost its label: {}", ns_, all.error().to_line()));
  for (Value& map : all->items) {
    if (!has_finalizer(map) || map.string_at({"metadata", "annotations", kKindAnnotation}).empty()) continue;
    const std::string name(map.string_at({"metadata", "name"}));
    unlabelled_[name].map = std::move(map);
    wake_({name});
  }
}

// Of a blueprint whose ConfigMap the watch doesn't show.
Status Revisions::load_without(const std::string& name, Loaded& loaded, const Context& context) {
  // The operator may list ConfigMaps, and not get one.
  MIST_TRY(kube::ObjectList found,
           dependencies_.client.list(config_maps_->resource(),
                                     {.ns = ns_, .field_selector = fmt::format("metadata.name={}", name)},
                                     context));
  loaded.blueprint.reset();
  loaded.files.reset();
  loaded.rejected = loaded.for_its_crd = false;  // there is nothing to try again
  const Value* const left = found.items.empty() ? nullptr : &found.items.front();
  if (left == nullptr || !has_finalizer(*left)) {
    dependencies_.events.warn(
        fmt::format("blueprint {}/{} was deleted; its instances are only torn down", ns_, name),
        blueprint_fields(name));
    unlabelled_.erase(name);
    loaded.files_in_force.reset();
    loaded.untold.reset();
    dependencies_.metrics.rejected(name, std::nullopt);
    dependencies_.metrics.not_watched(name, std::nullopt);
    leave_account(name, loaded);
    leave_instances(name, loaded);
    try_rejected_again();
    return {};
  }
  Unlabelled& unlabelled = unlabelled_[name];
  unlabelled.map = *left;
  if (has_no_instances(name, loaded, *left)) return guard(name, false, context);
  const bool is_new = !std::exchange(unlabelled.is_told, true);
  const ObjectId kept = kind_from(left->string_at({"metadata", "annotations", kKindAnnotation}));
  const std::string words = fmt::format(
      "it has instances of {} and lost the label {}=true: they are only torn down when they are deleted; "
      "put the label back (kubectl label configmap {} -n {} {}=true), or delete them",
      kept.kind, kBlueprintLabel, name, ns_, kBlueprintLabel);
  if (is_new) {
    dependencies_.events.warn(fmt::format("blueprint {}/{}: {}", ns_, name, words), blueprint_fields(name));
    say(*left, kUnlabelled, words, context);
    try_rejected_again();
  } else {
    say_again(loaded, *left, context);
  }
  if (!loaded.instances && !kept.kind.empty()) {
    loaded.account = account_of(*left);
    return watch_instances(name, loaded, kept.gvk(), context);
  }
  if (loaded.instances && loaded.instances->synced())
    for (const kube::Informer::Key& key : loaded.instances->keys()) wake_({name, key});
  return {};
}

// Of a blueprint that is gone, once its instances are too: their watch, and a warning each minute where their
// CRD is gone, would stay as long as the operator runs, and so would its program.
void Revisions::leave_instances(const std::string& name, Loaded& loaded) {
  if (loaded.instances) {
    const auto failure = loaded.instances->failure();
    const bool is_unserved = failure && failure->kind == ErrorKind::NotFound;
    if (!loaded.instances->keys().empty() || !(loaded.instances->synced() || is_unserved)) return;
    dependencies_.events.debug(
        fmt::format("the deleted blueprint {}/{} has no instances any more", ns_, name),
        blueprint_fields(name));
  }
  loaded.instances.reset();
  loaded.evaluator.reset();
  loaded.answers.clear();
}

std::optional<Value> Revisions::labelled(const std::string& name) const {
  auto map = config_maps_->get({ns_, name});
  return map && blueprint::is_part(*map) ? std::nullopt : std::move(map);
}

std::optional<Value> Revisions::map_of(const std::string& name) const {
  if (auto map = labelled(name)) return map;
  const auto found = unlabelled_.find(name);
  return found == unlabelled_.end() ? std::nullopt : std::optional(found->second.map);
}

// The server's answer to a write.
void Revisions::keep(const std::string& name, Value map) {
  if (const auto unlabelled = unlabelled_.find(name); unlabelled != unlabelled_.end())
    unlabelled->second.map = std::move(map);
  else
    config_maps_->put(std::move(map));
}

Status Revisions::load(const std::string& name, std::unique_lock<std::mutex>& lock, const Context& context) {
  MIST_TRY_VOID(load_revision(name, lock, context));
  const auto loaded = blueprints_.find(name);
  return loaded != blueprints_.end() && loaded->second.untold ? Status(loaded->second.untold->failure)
                                                              : Status();
}

Status Revisions::load_revision(const std::string& name, std::unique_lock<std::mutex>& lock,
                                const Context& context) {
  if (is_part_alone(name)) return {};
  const auto map = labelled(name);
  Loaded& loaded = blueprints_[name];
  if (!map) return load_without(name, loaded, context);
  unlabelled_.erase(name);
  if (has_no_instances(name, loaded, *map)) MIST_TRY_VOID(guard(name, false, context));
  if (apimachinery::is_terminating(*map) && has_finalizer(*map))
    dependencies_.events.warn(
        fmt::format("blueprint {} is being deleted; it stays until its instances are gone", name),
        blueprint_fields(name));
  const ObjectId kept = kind_from(map->string_at({"metadata", "annotations", kKindAnnotation}));
  loaded.parts = blueprint::parts_of(*map);
  auto all_files = blueprint::files_of(*map, [this](const std::string& part) {
    auto found = config_maps_->get({ns_, part});
    return found && blueprint::is_part(*found) ? std::move(found) : std::nullopt;
  });
  if (!all_files.ok()) {
    if (!knows_all_parts(name)) return {};
    // The revision in force stays; the same files are a revision again when the part is back.
    loaded.files.reset();
    loaded.rejected = true;
    return reject(name, loaded, *map, all_files.error(), kept, context);
  }
  package::Files files = *std::move(all_files);
  const blueprint::Standing standing = standing_of(loaded, *map, files);
  Account account = account_of(*map);
  const bool same_account = loaded.account == account;
  const bool was_refused =
      map->string_at({"metadata", "annotations", apply::kStatusAnnotation}) == kNotWatched;
  const bool is_same = loaded.files == files && same_account && !loaded.for_its_crd;
  if (is_same) {
    say_again(loaded, *map, context);
    const bool is_unwatched = say_unwatched(name, loaded, *map, context);
    const bool is_in_force = loaded.blueprint && !loaded.rejected && loaded.instances;
    if (!is_unwatched && is_in_force && (was_refused || loaded.is_unsaid))
      say_in_force(name, loaded, *map, context);
    return restore_crd(name, loaded, context);
  }
  if (!is_dns1123_subdomain(account) && !account.empty()) {
    // So that the same files are read once more when the account is another one.
    loaded.files.reset();
    return reject(
        name, loaded, *map,
        error(ErrorKind::Invalid, "\"{}\" is not the name of a ServiceAccount", escape_controls(account))
            .with_hint(fmt::format("it is the annotation {}", apply::kServiceAccountAnnotation)),
        {}, context);
  }
  MIST_TRY(Actor* const actor, dependencies_.actors.of(account));
  if (!same_account) {
    leave_account(name, loaded);
    // The other account's watches end; this one begins its own. Until it has, nothing counts as the same.
    loaded.instances.reset();
    loaded.files.reset();
  }
  loaded.account = std::move(account);
  loaded.for_its_crd = false;
  lock.unlock();
  auto revision = revision_of(name, files, has_finalizer(*map) ? kept : ObjectId(), standing, context);
  lock.lock();
  // Nothing else that evaluating needs may be missing.
  const bool lacks_engine = !revision.ok() && revision.error().kind == ErrorKind::NotFound;
  dependencies_.metrics.lacks(lacks_engine ? revision.error().to_line() + "; " + revision.error().hint
                                           : std::string());
  if (!revision.ok()) {
    // A failure that isn't the blueprint's fault is tried again.
    const ErrorKind kind = revision.error().kind;
    if (kind != ErrorKind::Invalid && kind != ErrorKind::Trap) {
      if (lacks_engine) say(*map, kNotEvaluated, diagnostic_of(revision.error()), context);
      return std::move(revision).error();
    }
    loaded.files = std::move(files);
    loaded.rejected = true;
    return reject(name, loaded, *map, revision.error(), kept, context);
  }
  auto& [evaluator, described] = *revision;
  if (const auto keeper = keeper_beside(name, *map, described.instances().group_kind())) {
    loaded.files = std::move(files);
    loaded.rejected = true;
    // No watch shows whether it is still there: load_without() asks, and has this one tried again if it
    // isn't.
    if (unlabelled_.contains(*keeper)) wake_({*keeper});
    return reject(name, loaded, *map,
                  error(ErrorKind::Invalid, "{} of {} is the kind of the blueprint {} already",
                        described.instances().kind, described.instances().api_version(), *keeper)
                      .with_because("each would delete what the other one makes of the same instance")
                      .with_hint("write both graphs into one blueprint, or delete the other one first"),
                  kept, context);
  }
  const bool may_break = map->string_at({"metadata", "annotations", kBreakingAnnotation}) == "true";
  auto waits_for = actor->crds.see_to(name, described, files,
                                      may_break ? Crds::Breaking::Allowed : Crds::Breaking::Refused, context);
  if (!waits_for.ok()) {
    if (waits_for.error().kind == ErrorKind::Forbidden)
      say(*map, kRejected, diagnostic_of(waits_for.error()), context);
    if (waits_for.error().kind == ErrorKind::NotFound)
      say(*map, kAwaiting, diagnostic_of(waits_for.error()), context);
    if (waits_for.error().kind != ErrorKind::Invalid) return std::move(waits_for).error();
    loaded.files = std::move(files);
    loaded.rejected = loaded.for_its_crd = true;
    return reject(name, loaded, *map, waits_for.error(), kept, context);
  }
  if (!waits_for->empty()) {
    dependencies_.events.debug(fmt::format("blueprint {} waits: {}", name, *waits_for),
                               blueprint_fields(name));
    // After a start the CRD is as good as always there, and is known in a moment.
    if (actor->crds.has_seen(name)) say(*map, kAwaiting, *waits_for, context);
    return {};
  }
  const GroupVersionKind kind = described.instances();
  const bool same_kind = loaded.blueprint && loaded.blueprint->instances() == kind;
  const bool leaves_kind = loaded.blueprint && !same_kind;
  if (!same_kind || !loaded.instances) {
    if (Status watched = watch_instances(name, loaded, kind, context); !watched.ok()) {
      if (watched.error().kind == ErrorKind::Forbidden)
        say(*map, kRejected, diagnostic_of(watched.error()), context);
      return watched;
    }
  }
  loaded.files_in_force = files;
  loaded.files = std::move(files);
  loaded.rejected = false;
  loaded.evaluator = std::make_shared<blueprint::Evaluator>(std::move(evaluator));
  loaded.blueprint = std::make_shared<const blueprint::Blueprint>(std::move(described));
  loaded.answers.clear();
  take_instances_from_others(name, kind.group_kind());
  dependencies_.events.info(fmt::format("blueprint {} is in force for {}", name, kind.kind),
                            blueprint_fields(name));
  std::vector<std::string> found = loaded.blueprint->warnings();
  for (std::string& each : actor->crds.tolerated(name)) found.push_back(std::move(each));
  loaded.warnings.clear();
  for (const std::string& each : found) {
    dependencies_.events.warn(fmt::format("blueprint {}: {}", name, each), blueprint_fields(name));
    loaded.warnings += fmt::format("{}warning: {}", loaded.warnings.empty() ? "" : "\n", each);
  }
  say_in_force(name, loaded, *map, context);
  for (const kube::Informer::Key& key : loaded.instances->keys()) wake_({name, key});
  if (leaves_kind) try_rejected_again();
  return {};
}

// A new operator may look for faults that the one before it took, in a CRD that is there and serves: to
// reject such a revision at the start would leave its instances to nobody.
blueprint::Standing Revisions::standing_of(Loaded& loaded, const Value& map, const package::Files& files) {
  const auto has = [&](std::string_view annotation) {
    return map.string_at({"metadata", "annotations", annotation});
  };
  const bool has_served =
      has_finalizer(map) && !has(kKindAnnotation).empty() && has(apply::kStatusAnnotation) != kRejected;
  if (!std::exchange(loaded.is_known, true) && has_served) loaded.files_in_force = files;
  return loaded.files_in_force == files ? blueprint::Standing::InForce : blueprint::Standing::New;
}

// Whether the status is that the server lists no instances, in some namespaces at least. The others go on.
// Informers tell when that changes. Of a revision that is rejected its author has to know that.
bool Revisions::say_unwatched(const std::string& name, Loaded& loaded, const Value& map,
                              const Context& context) {
  Unwatched now = unwatched_instances(loaded.instances ? loaded.instances->list_failures() : Unwatched());
  for (const std::string& each : unwatched_news(loaded.unwatched, now))
    dependencies_.events.warn(fmt::format("blueprint {}: {}", name, each), blueprint_fields(name));
  loaded.unwatched = std::move(now);
  std::set<std::string> places;
  for (const auto& [ns, failure] : loaded.unwatched) places.insert(ns);
  dependencies_.metrics.not_watched(name, std::move(places));
  if (loaded.unwatched.empty() || loaded.rejected) return false;
  say(map, kNotWatched, unwatched_words(loaded.unwatched), context);
  return true;
}

// Once it is known whether its instances can be listed: each informer tells what becomes of its first try.
void Revisions::say_in_force(const std::string& name, Loaded& loaded, const Value& map,
                             const Context& context) {
  loaded.is_unsaid = false;
  if (say_unwatched(name, loaded, map, context)) return;
  loaded.is_unsaid = !loaded.instances->settled();
  if (!loaded.is_unsaid) say(map, kInForce, loaded.warnings, context);
}

// Somebody may have changed or deleted the CRD of the revision in force.
Status Revisions::restore_crd(const std::string& name, const Loaded& loaded, const Context& context) {
  if (!loaded.blueprint || loaded.rejected || !loaded.files) return {};
  MIST_TRY(Actor* const actor, dependencies_.actors.of(loaded.account));
  auto waits_for =
      actor->crds.see_to(name, *loaded.blueprint, *loaded.files, Crds::Breaking::Restored, context);
  if (waits_for.ok()) return {};
  if (waits_for.error().kind != ErrorKind::Invalid) return std::move(waits_for).error();
  dependencies_.events.warn(fmt::format("blueprint {}: {}", name, waits_for.error().to_line()),
                            blueprint_fields(name));
  return {};
}

// Ends the watches that were made as the account of a blueprint.
void Revisions::leave_account(const std::string& name, Loaded& loaded) {
  if (const auto actor = dependencies_.actors.of(loaded.account); actor.ok()) (*actor)->crds.forget(name);
}

// Evaluating the same once more gives the same: the next change of the ConfigMap is the next try.
Status Revisions::reject(const std::string& name, Loaded& loaded, const Value& map, const Error& failure,
                         const ObjectId& kept, const Context& context) {
  dependencies_.events.warn(
      fmt::format("blueprint {} is rejected{}: {}", name,
                  loaded.blueprint ? ", its last good revision stays in force" : "", failure.to_line()),
      blueprint_fields(name));
  say(map, kRejected, diagnostic_of(failure), context);
  // Instances of the last good revision can be torn down all the same.
  const bool is_watched = loaded.instances || kept.kind.empty();
  return is_watched || in_force_beside(name, kept.gvk().group_kind())
             ? Status()
             : watch_instances(name, loaded, kept.gvk(), context);
}

// The other blueprint of that kind that is in force.
std::optional<std::string> Revisions::in_force_beside(const std::string& name,
                                                      const apimachinery::GroupKind& kind) const {
  for (const auto& [other, loaded] : blueprints_)
    if (other != name && loaded.blueprint && loaded.blueprint->instances().group_kind() == kind) return other;
  return std::nullopt;
}

// Whether there are none, or another blueprint sees to those of its kind.
bool Revisions::has_no_instances(const std::string& name, const Loaded& loaded, const Value& map) const {
  if (loaded.instances) return loaded.instances->synced() && loaded.instances->keys().empty();
  const ObjectId kept = kind_from(map.string_at({"metadata", "annotations", kKindAnnotation}));
  return !kept.kind.empty() && in_force_beside(name, kept.gvk().group_kind());
}

// One that was deleted, or can't be evaluated, still watches them so that they can be torn down. Two that did
// it would write the status of each in turn, without end. They are forgotten there.
void Revisions::take_instances_from_others(const std::string& name, const apimachinery::GroupKind& kind) {
  for (auto& [other, loaded] : blueprints_) {
    if (other == name || loaded.blueprint || !loaded.instances ||
        loaded.instances->resource().gvk.group_kind() != kind)
      continue;
    const auto instances = std::exchange(loaded.instances, nullptr);
    for (const kube::Informer::Key& key : instances->keys()) wake_({other, key});
    if (map_of(other)) wake_({other});  // nothing keeps it any more
  }
}

// Another blueprint with that kind: one in force, or one with instances, whichever an operator that starts
// reads first, be it without its label. Where both have some, it is the older one.
std::optional<std::string> Revisions::keeper_beside(const std::string& name, const Value& map,
                                                    const apimachinery::GroupKind& kind) const {
  if (auto other = in_force_beside(name, kind)) return other;
  const auto keeps = [&](const Value& of) {
    return has_finalizer(of) &&
           kind_from(of.string_at({"metadata", "annotations", kKindAnnotation})).gvk().group_kind() == kind;
  };
  const auto age = [](const std::string& which, const Value& of) {
    return std::pair(std::string(of.string_at({"metadata", "creationTimestamp"})), which);
  };
  const bool is_kept = keeps(map);
  const auto is_first = [&](const std::string& which, const Value& of) {
    return which != name && keeps(of) && (!is_kept || age(which, of) < age(name, map));
  };
  for (const kube::Informer::Key& key : config_maps_->keys())
    if (const auto other = labelled(key.second); other && is_first(key.second, *other)) return key.second;
  for (const auto& [other, unlabelled] : unlabelled_)
    if (is_first(other, unlabelled.map)) return other;
  return std::nullopt;
}

void Revisions::wake_all() const {
  for (const kube::Informer::Key& key : config_maps_->keys()) wake_({key.second});
}

// The obstacle may be gone.
void Revisions::try_rejected_again() {
  for (auto& [name, loaded] : blueprints_) {
    if (!loaded.rejected) continue;
    loaded.files.reset();
    wake_({name});
  }
}

// Annotations, and an Event where they change. Another manager than that of guard(), whose apply would remove
// them.
void Revisions::say(const Value& map, std::string_view status, const std::string& message,
                    const Context& context) {
  const std::string name(map.string_at({"metadata", "name"}));
  dependencies_.metrics.rejected(name, status == kRejected);
  if (!dependencies_.share.is_first()) return;
  const auto has = [&](std::string_view annotation) {
    return map.string_at({"metadata", "annotations", annotation});
  };
  auto& untold = blueprints_[name].untold;
  untold.reset();
  if (has(apply::kStatusAnnotation) == status && has(apply::kMessageAnnotation) == message) return;
  Value object = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
  object["metadata"] = *identity(map).find("metadata");
  object["metadata"]["annotations"].set(apply::kStatusAnnotation, status);
  if (!message.empty()) object["metadata"]["annotations"].set(apply::kMessageAnnotation, message);
  auto answer = dependencies_.client.apply(
      {config_maps_->resource(), ns_, name}, object,
      {.field_manager = fmt::format("{}-status", kManager), .force = true}, context);
  if (!answer.ok()) {
    // Gone meanwhile, or made again under its name, which the watch tells.
    const ErrorKind kind = answer.error().kind;
    if (kind == ErrorKind::NotFound || kind == ErrorKind::Conflict) return;
    untold.emplace(std::string(status), message,
                   std::move(answer).error().with_frame(
                       fmt::format("while the status of blueprint {}/{} was written", ns_, name)));
    return;
  }
  keep(name, *std::move(answer));
  Value config_map = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
  config_map["metadata"] = *map.find("metadata");
  dependencies_.notices.tell(config_map, status != kInForce && status != kAwaiting, status,
                             message.empty() ? "this revision is in force" : message, context);
}

void Revisions::say_again(const Loaded& loaded, const Value& map, const Context& context) {
  if (!loaded.untold) return;
  const auto [status, message, failure] = *loaded.untold;
  say(map, status, message, context);
}

// `kept`: the kind of instances that are there, whose finalizers nobody would remove if it were another.
Result<Revisions::Revision> Revisions::revision_of(const std::string& name, const package::Files& files,
                                                   const ObjectId& kept, blueprint::Standing standing,
                                                   const Context& context) {
  MIST_TRY(blueprint::Evaluator evaluator, blueprint::Evaluator::of(name, files, dependencies_.renderer));
  MIST_TRY(blueprint::Blueprint described, evaluator.describe(context, standing));
  const GroupVersionKind& kind = described.instances();
  if (!kept.kind.empty() && kept.gvk().group_kind() != kind.group_kind())
    return error(ErrorKind::Invalid, "its kind became {} {}, and there are instances of {} {}",
                 kind.api_version(), kind.kind, kept.api_version, kept.kind)
        .with_hint("delete those first, or make another blueprint for the other kind");
  return std::pair(std::move(evaluator), std::move(described));
}

Status Revisions::watch_instances(const std::string& name, Loaded& loaded, const GroupVersionKind& kind,
                                  const Context& context) {
  loaded.instances.reset();
  MIST_TRY(Actor* const actor, dependencies_.actors.of(loaded.account));
  auto resource = actor->client.resource_for({kind.group, kind.kind}, kind.version, context);
  if (!resource.ok()) {
    loaded.files.reset();  // so that the next try is one
    actor->client.invalidate_discovery();
    return std::move(resource).error().with_frame(
        fmt::format("while looking up the kind of blueprint {}", name));
  }
  if (Status inside = dependencies_.namespaces.check_kind(resource->gvk.kind, resource->namespaced);
      !inside.ok()) {
    loaded.files.reset();  // as above
    return std::move(inside).error().with_frame(
        fmt::format("while listing the instances of blueprint {}", name));
  }
  loaded.instances = std::make_shared<kube::MultiNamespaceInformer>(
      actor->client, *resource, kube::ListOptions{}, dependencies_.namespaces.names(),
      [this](Value& instance) {
        drop_managed_fields(instance);
        if (!dependencies_.share.has(instance.string_at({"metadata", "namespace"}))) keep_identity(instance);
      },
      [this, name](const std::optional<kube::Informer::Key>& key) {
        // All are known: perhaps there are none, and the blueprint may go.
        wake_(key ? Item{name, *key} : Item{name});
      },
      dependencies_.clock, dependencies_.events, [this, name] { wake_({name}); });
  return {};
}

Account Revisions::account_of(const Value& map) const {
  const std::string_view named = map.string_at({"metadata", "annotations", apply::kServiceAccountAnnotation});
  return named.empty() ? dependencies_.default_account : Account(named);
}

Status Revisions::guard(const std::string& name, bool on, const Context& context) {
  const auto map = map_of(name);
  // It went before the last of its instances did.
  if (Loaded& loaded = blueprints_[name]; !map && !on && !loaded.blueprint) leave_instances(name, loaded);
  if (!map || has_finalizer(*map) == on) return {};
  if (!on && !dependencies_.share.is_first()) {
    // No watch will show that the first replica let it go.
    if (unlabelled_.erase(name) > 0) try_rejected_again();
    return {};
  }
  Value object = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
  object["metadata"] = *identity(*map).find("metadata");
  const kube::ObjectRef ref{config_maps_->resource(), ns_, name};
  const auto write = [&]() -> Result<Value> {
    if (!on) return remove_finalizer(dependencies_.client, ref, object, kKindAnnotation, context);
    object["metadata"].set("finalizers", Value::array({kFinalizer}));
    const GroupVersionKind& kind = blueprints_[name].instances->resource().gvk;
    object["metadata"]["annotations"].set(kKindAnnotation,
                                          fmt::format("{}/{}", kind.api_version(), kind.kind));
    return dependencies_.client.apply(ref, object, {.field_manager = std::string(kManager), .force = true},
                                      context);
  };
  auto answer = write();
  const bool is_other = !answer.ok() && (answer.error().kind == ErrorKind::Conflict ||
                                         answer.error().kind == ErrorKind::NotFound);
  if (!on && is_other && unlabelled_.erase(name) > 0) {
    wake_({name});  // it went unseen: load_without() asks what is there now
    return {};
  }
  if (!answer.ok())
    return std::move(answer).error().with_frame(
        fmt::format("while blueprint {} was {}", name, on ? "kept" : "let go"));
  keep(name, *std::move(answer));
  if (on) return {};
  unlabelled_.erase(name);
  // A revision that was rejected because of instances may be good without them; so may another blueprint.
  if (const Loaded& loaded = blueprints_[name]; loaded.rejected || !loaded.blueprint) try_rejected_again();
  return {};
}

}  // namespace mist::operator_
