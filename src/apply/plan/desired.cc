#include "apply/plan/desired.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "apimachinery/built_in_groups.h"
#include "apply/fields/keyed_lists.h"
#include "apply/fields/stored_forms.h"
#include "apply/plan/custom_schema.h"
#include "apply/reserved_metadata.h"
#include "apply/wait/waiting_rules.h"
#include "base/text.h"
#include "kube/api_down.h"

namespace mist::apply {

using apimachinery::GroupVersionKind;
using apimachinery::Object;
using apimachinery::RenderedObject;
using kube::ResourceInfo;

namespace {

// Resolves a kind that isn't defined by the release itself.
using Lookup = std::function<Result<ResourceInfo>(const GroupVersionKind&)>;

// `at`: the value of the object that is wrong, if it is one of them; without a line the file isn't what was
// parsed.
Error at_source(Error failure, const RenderedObject& rendered, const Value* at = nullptr) {
  failure.where = rendered.place(at == nullptr ? encoding::Position{} : at->position());
  return failure;
}

// Kinds that API servers serve under two groups from one storage: an object written under one is there under
// the other. Others are found by their uids once they are there (plan.h).
struct TwoGroups {
  std::string_view kind, other, group;
};
constexpr std::array kTwoGroups{TwoGroups{"Event", "events.k8s.io", ""},
                                TwoGroups{"Deployment", "extensions", "apps"},
                                TwoGroups{"DaemonSet", "extensions", "apps"},
                                TwoGroups{"ReplicaSet", "extensions", "apps"},
                                TwoGroups{"Ingress", "extensions", "networking.k8s.io"},
                                TwoGroups{"NetworkPolicy", "extensions", "networking.k8s.io"},
                                TwoGroups{"PodSecurityPolicy", "extensions", "policy"}};

// The key under one group for all that name the same object.
ObjectKey one_group(ObjectKey key) {
  const auto known = std::ranges::find_if(kTwoGroups, [&](const TwoGroups& each) {
    return each.kind == key.group_kind.kind && each.other == key.group_kind.group;
  });
  if (known != kTwoGroups.end()) key.group_kind.group = known->group;
  return key;
}

// The kinds that the objects of a release themselves bring.
class OwnKinds {
 public:
  OwnKinds() = default;
  explicit OwnKinds(const std::vector<RenderedObject>& objects) {
    for (const RenderedObject& rendered : objects) add(rendered);
  }

  void add(const RenderedObject& rendered) {
    const Value& object = rendered.object.value();
    const GroupKind kind = rendered.object.gvk().group_kind();
    if (kind == apimachinery::kCustomResourceDefinition) {
      ResourceInfo info;
      GroupKind defined = apimachinery::defined_kind(object);
      info.gvk = {defined.group, {}, defined.kind};
      info.resource = object.string_at({"spec", "names", "plural"});
      info.namespaced = object.string_at({"spec", "scope"}) != "Cluster";
      const Value* const versions = object.at_path({"spec", "versions"});
      if (versions != nullptr && versions->is_array()) {
        for (const Value& version : versions->as_array()) {
          if (version.at_path({"subresources", "status"}) != nullptr)
            with_status_.insert({defined.group, std::string(version.string_at("name")), defined.kind});
        }
      }
      defined_[std::move(defined)] = std::move(info);
    } else if (kind == GroupKind{"apiregistration.k8s.io", "APIService"}) {
      served_.emplace(object.string_at({"spec", "group"}), object.string_at({"spec", "version"}));
    }
  }

  /// As its CustomResourceDefinition says; null if none of them defines it.
  const ResourceInfo* defined(const GroupKind& kind) const {
    const auto found = defined_.find(kind);
    return found == defined_.end() ? nullptr : &found->second;
  }
  /// Whether a version of what it defines has a status subresource.
  bool has_status(const GroupVersionKind& gvk) const { return with_status_.contains(gvk); }
  /// By an APIService. Which kinds, and of what scope, only its server knows.
  bool serves(const GroupVersionKind& gvk) const { return served_.contains({gvk.group, gvk.version}); }

 private:
  std::map<GroupKind, ResourceInfo> defined_;
  std::set<GroupVersionKind> with_status_;
  std::set<std::pair<std::string, std::string>> served_;  // group and version
};

// A kind, as far as it is known before anything is written.
struct KnownKind {
  ResourceInfo resource;
  bool late = false;
  bool scope_known = true;
};

Result<KnownKind> known_kind(const GroupVersionKind& gvk, const OwnKinds& own, const Lookup& lookup) {
  auto served = lookup(gvk);
  const ResourceInfo* const defined = own.defined(gvk.group_kind());
  // These never change in a CRD: either it is replaced, or it was gone and discovery is out of date.
  const bool other = served.ok() && defined != nullptr &&
                     (served->namespaced != defined->namespaced || served->resource != defined->resource);
  if (served.ok() && !other) {
    // Written before its objects, so it is what counts for them.
    if (defined != nullptr) served->has_status = own.has_status(gvk);
    return KnownKind{.resource = *std::move(served)};
  }
  const bool unknown = other || served.error().kind == ErrorKind::NotFound;
  if (unknown && defined != nullptr) {
    ResourceInfo info = *defined;
    info.gvk = gvk;
    info.has_status = own.has_status(gvk);
    return KnownKind{.resource = std::move(info), .late = true};
  }
  if ((unknown || kube::is_api_down(served.error())) && own.serves(gvk))
    return KnownKind{
        .resource = {.gvk = gvk, .resource = {}, .verbs = {}}, .late = true, .scope_known = false};
  return std::move(served).error();
}

// A kind that isn't known is a fault of the object's; a cluster that doesn't answer is none.
Error unknown_kind(Error failure, const RenderedObject& rendered) {
  failure.frames.push_back(fmt::format("while preparing {}", rendered.object.key().display()));
  return failure.kind == ErrorKind::NotFound ? at_source(std::move(failure), rendered) : failure;
}

void fold_string_data(Object& object) {
  if (object.gvk().group_kind() != apimachinery::kSecret) return;
  Value& secret = object.mutable_value();
  const Value* texts = secret.find("stringData");
  if (texts == nullptr) return;
  const Value copy = *texts;
  secret.erase("stringData");
  if (!copy.is_object()) return;
  for (const Value::Member& member : copy.as_object()) {
    if (!member.value.is_string()) continue;
    Value encoded = base64_encode(member.value.as_string());
    encoded.set_position(member.value.position());
    secret["data"].set(member.key, std::move(encoded));
  }
}

// A value that isn't a string in stringData is the package's mistake; the server's message for it is obscure.
Status check_string_data(const RenderedObject& rendered) {
  const Value* texts = rendered.object.value().find("stringData");
  if (texts == nullptr || rendered.object.gvk().kind != "Secret") return {};
  if (!texts->is_object() && !texts->is_null())
    return at_source(
        error(ErrorKind::Invalid, "stringData of {} must be a mapping", rendered.object.key().display()),
        rendered, texts);
  if (texts->is_null()) return {};
  for (const Value::Member& member : texts->as_object()) {
    if (!member.value.is_string())
      return at_source(error(ErrorKind::Invalid, "stringData.{} of {} must be a string: put it in quotes",
                             member.key, rendered.object.key().display()),
                       rendered, &member.value);
  }
  return {};
}

// Server-side apply refuses such a list, and would do so when half of the release is written.
Status check_keyed_lists(const RenderedObject& rendered) {
  constexpr std::size_t kShown = 20;
  const std::vector<DuplicateItem> found = duplicate_items(rendered.object);
  if (found.empty()) return {};
  const auto words = [&](const DuplicateItem& item) {
    const bool known = rendered.line != 0 && item.first_line != 0;
    return fmt::format("{} has {} twice{}", item.list, escape_controls(item.key),
                       known ? fmt::format(" (first in line {})", item.first_line) : "");
  };
  Error failure =
      at_source(error(ErrorKind::Invalid, "{}: {}", rendered.object.key().display(), words(found.front()))
                    .with_hint("keep one of them: Kubernetes merges this list by key"),
                rendered, found.front().item);
  for (std::size_t i = 1; i < std::min(found.size(), kShown); ++i)
    failure.frames.push_back(
        fmt::format("also: {} ({})", words(found[i]), rendered.place({.line = found[i].line}).text()));
  if (found.size() > kShown) failure.frames.push_back(fmt::format("and {} more", found.size() - kShown));
  return failure;
}

// Before anything is written, and at its line.
Status check_waiting_rules(const RenderedObject& rendered) {
  auto rules = waiting_rules(rendered.object.value());
  if (rules.ok()) return {};
  Error failure =
      std::move(rules).error().with_frame(fmt::format("while preparing {}", rendered.object.key().display()));
  const std::optional<SourceLocation> place = failure.where;
  failure = at_source(std::move(failure), rendered);
  if (place && rendered.line != 0) failure.where->line = place->line, failure.where->column = place->column;
  return failure;
}

void take_namespace(Object& object, std::vector<LeftOut>& left_out) {
  Value& metadata = object.mutable_value()["metadata"];
  const Value* const ns = metadata.find("namespace");
  if (ns == nullptr) return;
  if (!object.ns().empty())
    left_out.push_back({.because = LeftOutBecause::ItsKindHasNoNamespace,
                        .path = "metadata.namespace",
                        .line = ns->position().line});
  metadata.erase("namespace");
}

// They may share an identity: a hook that is over when ordinary objects come, and one that runs twice.
enum class Place : std::uint8_t { Before, Ordinary, After };

Place place_of(const std::optional<HookRole>& role) {
  if (!role || role->phase == HookPhase::None) return Place::Ordinary;
  return role->phase == HookPhase::Before ? Place::Before : Place::After;
}

Result<std::vector<DesiredObject>> prepare_with(std::vector<RenderedObject> objects, const Owner& release,
                                                const Lookup& lookup,
                                                const std::vector<std::optional<HookRole>>& roles = {}) {
  const OwnKinds own(objects);
  std::map<GroupVersionKind, KnownKind> resolved;
  std::map<ObjectKey, std::size_t> places, places_before;
  const std::string part_of = apply_set_id(release);
  std::vector<DesiredObject> desired;
  desired.reserve(objects.size());

  for (RenderedObject& rendered : objects) {
    MIST_TRY_VOID(check_rendered(rendered));
    const GroupVersionKind gvk = rendered.object.gvk();
    auto known = resolved.find(gvk);
    if (known == resolved.end()) {
      auto kind = known_kind(gvk, own, lookup);
      if (!kind.ok()) return unknown_kind(std::move(kind).error(), rendered);
      known = resolved.emplace(gvk, *std::move(kind)).first;
    }
    const auto& [resource, late, scope_known] = known->second;
    if (resource.namespaced && rendered.object.ns().empty()) rendered.object.set_namespace(release.ns);
    std::vector<LeftOut> left_out = take_server_fields(
        rendered.object, resource.has_status || apimachinery::is_built_in_group(gvk.group));
    // As kubectl does.
    if (scope_known && !resource.namespaced) take_namespace(rendered.object, left_out);
    fold_string_data(rendered.object);
    drop_nulls(rendered.object.mutable_value());
    rendered.object.set_label(kPartOfLabel, part_of);
    rendered.object.set_label(kNameLabel, release.name);
    rendered.object.set_annotation(kReleaseAnnotation, release.display());

    DesiredObject object{std::move(rendered), resource, late, {}};
    object.left_out = std::move(left_out);
    object.key = object.rendered.object.key();
    if (!roles.empty()) object.hook = roles[desired.size()];
    auto& taken = place_of(object.hook) == Place::Before ? places_before : places;
    const auto [place, fresh] = taken.emplace(one_group(object.key), desired.size());
    if (!fresh) {
      const RenderedObject& first = desired[place->second].rendered;
      const std::string other = desired[place->second].key == object.key
                                    ? std::string()
                                    : fmt::format(", under two API groups of one kind ({} and {})",
                                                  first.object.gvk().api_version(), gvk.api_version());
      return at_source(error(ErrorKind::Invalid, "{} is there twice{}: first at {}", object.key.display(),
                             other, first.place().text())
                           .with_hint("keep one of them"),
                       object.rendered, object.rendered.object.value().at_path({"metadata", "name"}));
    }
    desired.push_back(std::move(object));
  }
  take_nulls_of_custom_resources(desired);
  return desired;
}

Result<WithHooks> prepare_with_hooks_by(std::vector<RenderedObject> objects,
                                        const std::vector<RenderedObject>& hooks, HookVerb verb,
                                        const Owner& release, const Lookup& lookup) {
  std::vector<RenderedObject> all;
  std::vector<std::optional<HookRole>> roles;
  std::vector<HookRun> runs = hook_runs(hooks, verb);
  const auto add_runs = [&](HookPhase phase) {
    for (HookRun& run : runs) {
      if (run.role.phase != phase) continue;
      all.push_back(run.rendered);
      roles.emplace_back(run.role);
    }
  };
  add_runs(HookPhase::Before);
  for (RenderedObject& rendered : objects) all.push_back(std::move(rendered));
  roles.resize(all.size());
  add_runs(HookPhase::After);
  WithHooks result;
  MIST_TRY(result.desired, prepare_with(std::move(all), release, lookup, roles));
  std::map<ObjectKey, bool> known;
  for (const RenderedObject& hook : hooks) {
    auto prepared = prepare_with({hook}, release, lookup);
    // A kind that isn't served has no objects; should it be when the hook runs, that says so.
    if (!prepared.ok() && prepared.error().kind == ErrorKind::NotFound) continue;
    if (!prepared.ok()) return std::move(prepared).error();
    const DesiredObject& object = prepared->front();
    if (!known.emplace(object.key, true).second) continue;
    result.waiting.push_back(
        {.key = object.key, .version = object.resource.gvk.version, .uid = {}, .hook = true});
  }
  return result;
}

// The kinds that the cluster serves.
Lookup served_by(kube::Client& client, const Context& context) {
  return [&](const GroupVersionKind& gvk) {
    return client.resource_for(gvk.group_kind(), gvk.version, context);
  };
}

// The kinds that are known without a cluster.
Lookup built_in_or_defined_by(const std::vector<RenderedObject>& objects) {
  return [own = OwnKinds(objects)](const GroupVersionKind& gvk) -> Result<ResourceInfo> {
    if (const ResourceInfo* const defined = own.defined(gvk.group_kind())) return *defined;
    return ResourceInfo{gvk, "", !apimachinery::is_cluster_scoped(gvk.group_kind()), {}};
  };
}

}  // namespace

Status refuse_reserved(const RenderedObject& rendered) {
  const auto reserved = find_reserved(rendered.object.value());
  if (!reserved) return {};
  return at_source(error(ErrorKind::Invalid, "{} {}", rendered.object.key().display(), reserved->words)
                       .with_hint("remove it from the package"),
                   rendered, reserved->at);
}

Status check_rendered(const RenderedObject& rendered) {
  MIST_TRY_VOID(refuse_reserved(rendered));
  MIST_TRY_VOID(check_string_data(rendered));
  MIST_TRY_VOID(check_keyed_lists(rendered));
  return check_waiting_rules(rendered);
}

Result<std::vector<DesiredObject>> prepare(std::vector<RenderedObject> objects, const Owner& release,
                                           kube::Client& client, const Context& context) {
  return prepare_with(std::move(objects), release, served_by(client, context));
}

Result<WithHooks> prepare_with_hooks(std::vector<RenderedObject> objects,
                                     const std::vector<RenderedObject>& hooks, HookVerb verb,
                                     const Owner& release, kube::Client& client, const Context& context) {
  return prepare_with_hooks_by(std::move(objects), hooks, verb, release, served_by(client, context));
}

Status renew_kinds(std::vector<DesiredObject>& desired, const std::set<GroupKind>& kinds,
                   kube::Client& client, const Context& context) {
  OwnKinds own;
  for (const DesiredObject& object : desired) own.add(object.rendered);
  const Lookup lookup = [&](const GroupVersionKind& gvk) -> Result<ResourceInfo> {
    if (own.defined(gvk.group_kind()) != nullptr || own.serves(gvk))
      return error(ErrorKind::NotFound, "it is to be written yet");
    return client.resource_for(gvk.group_kind(), gvk.version, context);
  };
  for (DesiredObject& object : desired) {
    if (!kinds.contains(object.key.group_kind)) continue;
    auto kind = known_kind(object.resource.gvk, own, lookup);
    if (!kind.ok()) return unknown_kind(std::move(kind).error(), object.rendered);
    // The object and its place would no longer be those that were looked at.
    if (kind->scope_known && kind->resource.namespaced == object.key.ns.empty())
      return at_source(
          error(ErrorKind::Conflict, "{} got another scope while the cluster was looked at: its kind {}",
                object.key.display(),
                kind->resource.namespaced ? "has namespaces now" : "has no namespaces any more")
              .with_detail(OtherScope())
              .with_hint("run the command again"),
          object.rendered);
    object.resource = std::move(kind->resource);
    object.late = kind->late;
  }
  return {};
}

Result<std::vector<DesiredObject>> prepare_offline(std::vector<RenderedObject> objects,
                                                   const Owner& release) {
  const Lookup lookup = built_in_or_defined_by(objects);
  return prepare_with(std::move(objects), release, lookup);
}

Result<WithHooks> prepare_with_hooks_offline(std::vector<RenderedObject> objects,
                                             const std::vector<RenderedObject>& hooks, HookVerb verb,
                                             const Owner& release) {
  const Lookup lookup = built_in_or_defined_by(objects);
  return prepare_with_hooks_by(std::move(objects), hooks, verb, release, lookup);
}

Value with_version(const RenderedObject& rendered, int revision) {
  Value value = rendered.object.value();
  value["metadata"]["labels"].set(kVersionLabel, fmt::format("v{}", revision));
  return value;
}

}  // namespace mist::apply
