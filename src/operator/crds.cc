#include "operator/crds.h"

#include <algorithm>

#include "apimachinery/conditions.h"
#include "apply/fields/difference.h"
#include "base/text.h"
#include "blueprint/schema_change.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "operator/conversion_fit.h"
#include "operator/log_fields.h"

namespace mist::operator_ {
namespace {

using apimachinery::condition_of;
using blueprint::CrdMode;

// On CRDs: "namespace/name" of the blueprint that manages it.
constexpr std::string_view kBlueprintAnnotation = "mistletoe.dev/blueprint";
// On CRDs: of the spec as the operator last applied it.
constexpr std::string_view kDigestAnnotation = "mistletoe.dev/applied-digest";
constexpr std::string_view kPublishedKey = "crd.yaml";

// Empty: it is served.
Result<std::string> being_served(const Value& crd, const std::string& name) {
  if (const Value* names = condition_of(crd, "NamesAccepted");
      names != nullptr && names->string_at("status") == "False")
    return error(ErrorKind::Invalid, "the names of CustomResourceDefinition {} are taken", name)
        .with_because(std::string(names->string_at("message")));
  const Value* established = condition_of(crd, "Established");
  if (established == nullptr || established->string_at("status") != "True")
    return fmt::format("CustomResourceDefinition {} is being established", name);
  return std::string();
}

std::string_view digest_in(const Value& crd) {
  return crd.string_at({"metadata", "annotations", kDigestAnnotation});
}

void set_digest(Value& crd) {
  const std::string spec = encoding::to_json(*crd.find("spec"));
  crd["metadata"]["annotations"].set(kDigestAnnotation, crypto::sha256(crypto::as_bytes(spec)).str());
}

// The functions between the blueprint's versions; nullopt: its versions are alike.
std::optional<Conversion> conversion_of(const std::string& blueprint, const blueprint::Blueprint& described,
                                        const package::Files& files) {
  if (!described.resource()->converts()) return std::nullopt;
  Conversion found{blueprint, described.instances(), {}, files};
  for (const blueprint::ResourceVersion& each : described.resource()->versions)
    found.versions.push_back(each.name);
  return found;
}

std::string map_of_crd(const std::string& blueprint) { return fmt::format("{}-crd", blueprint); }

std::string name_in(const Value& object) { return std::string(object.string_at({"metadata", "name"})); }

}  // namespace

Crds::Crds(Dependencies dependencies, std::string ns, Observer::Wake wake)
    : dependencies_(dependencies), ns_(std::move(ns)), wake_(std::move(wake)) {}

Result<std::string> Crds::see_to(const std::string& blueprint, const blueprint::Blueprint& described,
                                 const package::Files& files, Breaking breaking, const Context& context) {
  if (!described.resource()) {
    forget(blueprint);
    return std::string();
  }
  const blueprint::CustomResource& resource = *described.resource();
  Value wanted = blueprint::crd_of(described.instances(), resource);
  const std::optional<Conversion> conversion = conversion_of(blueprint, described, files);
  if (conversion && dependencies_.webhook == nullptr)
    return error(ErrorKind::Invalid,
                 "versions of {} are converted by functions, and this operator serves no conversion webhook",
                 described.instances().kind)
        .with_hint("start it with --webhook-listen, as the package does with conversion=true");
  if (conversion) wanted["spec"].set("conversion", dependencies_.webhook->strategy(blueprint));
  if (resource.mode == CrdMode::Publish && dependencies_.role == Role::Writes)
    MIST_TRY_VOID(publish(blueprint, wanted, context));
  auto found = informer(blueprint, name_in(wanted), context);
  if (!found.ok() && found.error().kind == ErrorKind::Forbidden && resource.mode != CrdMode::Manage)
    return await_unseen(blueprint, described, name_in(wanted), found.error(), context);
  if (!found.ok() && found.error().kind == ErrorKind::Forbidden)
    return std::move(found).error().with_hint(
        "have somebody with that right apply what mistctl blueprint crd prints, and set kind.crd = 'await; "
        "or "
        "give the account the right");
  MIST_TRY(kube::Informer* const crds, std::move(found));
  if (!crds->synced()) return fmt::format("CustomResourceDefinition {} is being looked up", name_in(wanted));
  if (resource.mode == CrdMode::Manage)
    return manage(blueprint, resource, std::move(wanted), conversion, breaking, watched_[blueprint], context);
  auto fits = await(blueprint, resource, wanted, breaking, watched_[blueprint]);
  if (!conversion || dependencies_.role == Role::Waits) return fits;
  const auto live = crds->get({"", name_in(wanted)});
  // The server asks already, for the versions that the CRD has now: functions that don't fit it would be
  // asked in place of those that do. Where it doesn't yet, they have to be there before it does.
  const bool is_asked = live && live->string_at({"spec", "conversion", "strategy"}) == "Webhook";
  if (fits.ok() || !is_asked)
    MIST_TRY_VOID(dependencies_.webhook->publish(*conversion, live ? &*live : nullptr, context));
  return fits;
}

Result<kube::Informer*> Crds::informer(const std::string& blueprint, const std::string& crd,
                                       const Context& context) {
  Watched& watched = watched_[blueprint];
  if (watched.informer && watched.crd == crd) return watched.informer.get();
  MIST_TRY(
      const kube::ResourceInfo crds,
      dependencies_.client.resource_for({"apiextensions.k8s.io", "CustomResourceDefinition"}, "v1", context));
  watched.informer.reset();
  watched.crd = crd;
  const kube::ListOptions one{.field_selector = fmt::format("metadata.name={}", crd)};
  // An informer would try for ever, and nobody would be told why nothing happens.
  MIST_TRY_VOID(
      dependencies_.client.list(crds, {.field_selector = one.field_selector, .metadata_only = true}, context)
          .in(fmt::format("while looking for CustomResourceDefinition {}", crd)));
  watched.informer = std::make_unique<kube::Informer>(
      dependencies_.client, crds, one, nullptr,
      [this, blueprint](const std::optional<kube::Informer::Key>& /*key*/) { wake_({blueprint}); },
      dependencies_.clock, dependencies_.events);
  return watched.informer.get();
}

// An account without rights in the whole cluster: that the kind is served is all that it can see.
Result<std::string> Crds::await_unseen(const std::string& blueprint, const blueprint::Blueprint& described,
                                       const std::string& crd, const Error& refusal, const Context& context) {
  const apimachinery::GroupVersionKind& kind = described.instances();
  if (auto served = dependencies_.client.resource_for(kind.group_kind(), kind.version, context);
      !served.ok()) {
    dependencies_.client.invalidate_discovery();
    return std::move(served).error().with_frame(
        fmt::format("while CustomResourceDefinition {} was awaited", crd));
  }
  watched_[blueprint].tolerated = {fmt::format(
      "nobody knows whether CustomResourceDefinition {} fits the contract of the blueprint, because "
      "the operator can't see it: {}",
      crd, refusal.because.empty() ? refusal.message : refusal.because)};
  return std::string();
}

Result<std::string> Crds::manage(const std::string& blueprint, const blueprint::CustomResource& resource,
                                 Value wanted, const std::optional<Conversion>& conversion, Breaking breaking,
                                 Watched& watched, const Context& context) {
  kube::Informer& crds = *watched.informer;
  const std::string name = name_in(wanted);
  wanted["metadata"]["annotations"].set(kBlueprintAnnotation, owner_of(blueprint));
  set_digest(wanted);
  const auto live = crds.get({"", name});
  // Older operators wrote no rules, and objects that are there needn't meet them. The next revision adds
  // them.
  watched.tolerated.clear();
  const bool may_be_older =
      resource.standing == blueprint::Standing::InForce && breaking != Breaking::Allowed;
  if (live && may_be_older && digest_in(*live) != digest_in(wanted)) {
    watched.tolerated = blueprint::leave_out_late_rules(*live, wanted);
    set_digest(wanted);
  }
  if (!live && dependencies_.role == Role::Waits)
    return fmt::format("another replica makes CustomResourceDefinition {}", name);
  if (!live) {
    if (conversion) MIST_TRY_VOID(see_to_conversion(*conversion, wanted, nullptr, crds, context));
    MIST_TRY_VOID(write(blueprint, wanted, true, crds, context));
    return fmt::format("CustomResourceDefinition {} is being established", name);
  }
  if (apimachinery::is_terminating(*live))
    return fmt::format("CustomResourceDefinition {} is being deleted, and is made again when it is gone",
                       name);
  MIST_TRY_VOID(may_change(blueprint, resource, *live, wanted, breaking, context));
  if (dependencies_.role == Role::Waits)
    return digest_in(*live) == digest_in(wanted)
               ? being_served(*live, name)
               : fmt::format("another replica changes CustomResourceDefinition {}", name);
  if (conversion) MIST_TRY_VOID(see_to_conversion(*conversion, wanted, &*live, crds, context));
  if (!apply::differences(wanted, *live, kManager).empty()) {
    // It is the blueprint's: what others changed in it is restored.
    MIST_TRY_VOID(write(blueprint, wanted, false, crds, context));
    if (const auto written = crds.get({"", name})) return being_served(*written, name);
  }
  return being_served(*live, name);
}

// Before the CRD says so. From then on the server asks for the functions of all versions, and refuses every
// request to the kind where nobody answers; so they aren't replaced for a CRD that it would refuse.
Status Crds::see_to_conversion(const Conversion& conversion, const Value& wanted, const Value* live,
                               const kube::Informer& crds, const Context& context) {
  const Value* const before = live == nullptr ? nullptr : live->at_path({"spec", "conversion"});
  const Value& after = *wanted.at_path({"spec", "conversion"});
  if (live == nullptr || digest_in(*live) != digest_in(wanted)) {
    auto tried = dependencies_.client.apply(
        {crds.resource(), {}, name_in(wanted)}, wanted,
        {.field_manager = std::string(kManager), .force = true, .dry_run = kube::DryRun::Server}, context);
    if (!tried.ok()) return std::move(tried).error().with_frame("while the CRD was tried");
  }
  MIST_TRY_VOID(dependencies_.webhook->publish(conversion, live, context));
  return before != nullptr && *before == after ? Status()
                                               : dependencies_.webhook->check_answers(conversion, context);
}

Status Crds::may_change(const std::string& blueprint, const blueprint::CustomResource& resource,
                        const Value& live, const Value& wanted, Breaking breaking,
                        const Context& context) const {
  const std::string name = name_in(wanted);
  const std::string_view owner = live.string_at({"metadata", "annotations", kBlueprintAnnotation});
  if (owner.empty() && !resource.adopt)
    return error(ErrorKind::Invalid,
                 "CustomResourceDefinition {} exists already, and no blueprint manages it", name)
        .with_hint(
            "set kind.adopt = true to have this blueprint take it over, or kind.crd = 'await to leave it as "
            "it is");
  if (!owner.empty() && owner != owner_of(blueprint) && !(resource.adopt && is_gone(owner, context)))
    return error(ErrorKind::Invalid, "CustomResourceDefinition {} is managed by blueprint {}", name,
                 escape_controls(owner))
        .with_hint(
            "two blueprints can't manage one kind: let this one await it (kind.crd = 'await); or, once the "
            "other's ConfigMap is deleted, take it over (kind.adopt = true)");
  // Where this very spec was applied last, others have changed the CRD since, and it is restored.
  if (breaking != Breaking::Refused || digest_in(live) == digest_in(wanted)) return {};
  const std::vector<std::string> broken = blueprint::breaking_changes(live, wanted);
  if (broken.empty()) return {};
  return error(ErrorKind::Invalid, "this revision would break objects or clients of {}", name)
      .with_because(join(broken, "\n"))
      .with_hint(
          fmt::format("keep what was allowed, declare a kind of another name, or, if no object and no client "
                      "minds, annotate the blueprint with {}=true",
                      kBreakingAnnotation));
}

// Whether there surely is no ConfigMap any more of the blueprint that a CRD names: "namespace/name".
bool Crds::is_gone(std::string_view blueprint, const Context& context) const {
  const std::size_t slash = blueprint.find('/');
  const auto maps = dependencies_.client.resource_for({"", "ConfigMap"}, "v1", context);
  if (slash == std::string_view::npos || !maps.ok()) return false;
  const auto found = dependencies_.client.get(
      {*maps, std::string(blueprint.substr(0, slash)), std::string(blueprint.substr(slash + 1))}, context);
  return !found.ok() && found.error().kind == ErrorKind::NotFound;
}

Status Crds::write(const std::string& blueprint, const Value& wanted, bool create, kube::Informer& crds,
                   const Context& context) {
  Value object = wanted;
  // The server creates it, or answers 409 and writes nothing.
  if (create) object["metadata"].set("resourceVersion", "1");
  auto answer = dependencies_.client.apply({crds.resource(), {}, name_in(wanted)}, object,
                                           {.field_manager = std::string(kManager), .force = true}, context);
  if (!answer.ok()) return std::move(answer).error().with_frame("while the CRD was applied");
  crds.put(*std::move(answer));
  // Discovery was read before this change.
  dependencies_.client.invalidate_discovery();
  dependencies_.events.info(
      fmt::format("{} CustomResourceDefinition {}", create ? "created" : "changed", name_in(wanted)),
      fields_of({blueprint}, Named::No, id_of(wanted)));
  return {};
}

Result<std::string> Crds::await(const std::string& blueprint, const blueprint::CustomResource& resource,
                                const Value& wanted, Breaking breaking, Watched& watched) const {
  const std::string name = name_in(wanted);
  const auto live = watched.informer->get({"", name});
  if (!live) return fmt::format("CustomResourceDefinition {} isn't there yet", name);
  if (apimachinery::is_terminating(*live))
    return fmt::format("CustomResourceDefinition {} is being deleted", name);
  watched.tolerated.clear();
  const bool is_in_force = resource.standing == blueprint::Standing::InForce;
  std::vector<std::string> conversion_told;
  if (const Value* const conversion = wanted.at_path({"spec", "conversion"})) {
    ConversionFit fit = fit_of_conversion(live->at_path({"spec", "conversion"}), *conversion);
    // Instances in the stored version are read without any conversion: their work goes on.
    if (!fit.misfits.empty() && !is_in_force && breaking != Breaking::Restored)
      return error(
                 ErrorKind::Invalid,
                 "CustomResourceDefinition {} has the API server ask no conversion webhook of this operator",
                 name)
          .with_because(join(fit.misfits, "\n"))
          .with_hint(
              resource.mode == CrdMode::Publish
                  ? fmt::format("apply what ConfigMap {}/{} has in {}", ns_, map_of_crd(blueprint),
                                kPublishedKey)
                  : fmt::format("set spec.conversion of the CRD to {}", encoding::to_json(*conversion)));
    for (const auto* const all : {&fit.misfits, &fit.soon})
      for (const std::string& each : *all)
        conversion_told.push_back(fmt::format(
            "spec.conversion of CustomResourceDefinition {} needs to be changed: {}", name, each));
  }
  // A revision that begins has its warnings logged with it; while it is in force, each change is.
  if (breaking == Breaking::Restored && conversion_told != watched.conversion_told)
    for (const std::string& each : conversion_told)
      dependencies_.events.warn(fmt::format("blueprint {}: {}", blueprint, each),
                                fields_of({blueprint}, Named::Yes, id_of(wanted)));
  watched.conversion_told = conversion_told;
  const std::vector<std::string> apart = is_in_force
                                             ? blueprint::misfits_in_force(*live, wanted, watched.tolerated)
                                             : blueprint::misfits(*live, wanted);
  watched.tolerated.insert(watched.tolerated.end(), conversion_told.begin(), conversion_told.end());
  if (!apart.empty())
    return error(ErrorKind::Invalid, "CustomResourceDefinition {} doesn't fit the contract of the blueprint",
                 name)
        .with_because(join(apart, "\n"))
        .with_hint("mistctl blueprint crd prints one that does");
  return being_served(*live, name);
}

// As a person applies it: kubectl get configmap NAME-crd -o jsonpath='{.data.crd\.yaml}' | kubectl apply -f -
Status Crds::publish(const std::string& blueprint, const Value& wanted, const Context& context) {
  MIST_TRY(const kube::ResourceInfo maps,
           dependencies_.client.resource_for({"", "ConfigMap"}, "v1", context));
  const std::string name = map_of_crd(blueprint);
  const std::string text = encoding::to_yaml(wanted);
  const auto live = dependencies_.client.get({maps, ns_, name}, context);
  if (!live.ok() && live.error().kind != ErrorKind::NotFound) return live.error();
  const bool is_ours =
      live.ok() && live->string_at({"metadata", "annotations", kBlueprintAnnotation}) == owner_of(blueprint);
  if (live.ok() && !is_ours)
    return error(ErrorKind::Invalid, "ConfigMap {}/{} exists already, and isn't this blueprint's", ns_, name)
        .with_hint("remove it, or rename the blueprint");
  if (is_ours && live->string_at({"data", kPublishedKey}) == text) return {};
  Value map = Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
  map["metadata"] = Value::object({{"name", name}, {"namespace", ns_}});
  map["metadata"]["annotations"].set(kBlueprintAnnotation, owner_of(blueprint));
  if (!live.ok()) map["metadata"].set("resourceVersion", "1");
  map["data"].set(kPublishedKey, text);
  MIST_TRY_VOID(
      dependencies_.client
          .apply({maps, ns_, name}, map, {.field_manager = std::string(kManager), .force = true}, context)
          .in("while the CRD was published"));
  dependencies_.events.info(
      fmt::format("published the CRD of blueprint {} as ConfigMap {}/{}", blueprint, ns_, name),
      fields_of({blueprint}, Named::Yes, {"v1", "ConfigMap", ns_, name}));
  return {};
}

}  // namespace mist::operator_
