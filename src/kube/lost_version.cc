#include "kube/lost_version.h"

#include <algorithm>
#include <map>
#include <set>

#include "apimachinery/built_in_groups.h"
#include "apimachinery/managed_fields.h"
#include "kube/api_failure.h"
#include "kube/crds.h"

namespace mist::kube {
namespace {

// The server names one version at a time where we may not read the CRD; and somebody may write
// meanwhile.
constexpr int kTries = 8;

// Whom an entry of managedFields is about: the server keeps one for each.
struct Identity {
  std::string manager, operation, version, subresource;
  friend auto operator<=>(const Identity&, const Identity&) = default;
};

Identity identity_of(const Value& entry) {
  Identity identity{std::string(entry.string_at("manager")), std::string(entry.string_at("operation")),
                    std::string(entry.string_at("apiVersion")), std::string(entry.string_at("subresource"))};
  if (identity.operation == "Apply") identity.version.clear();
  return identity;
}

Result<Value> crd_of(Client& client, const ResourceInfo& resource, const Context& context) {
  return client.get({kCrds, "", fmt::format("{}.{}", resource.resource, resource.gvk.group)}, context);
}

// The versions that the CRD of a kind has, served or not; empty: we can't know.
std::set<std::string> versions_of(Client& client, const ResourceInfo& resource, const Context& context) {
  const auto crd = crd_of(client, resource, context);
  std::set<std::string> names;
  if (!crd.ok()) return names;
  const Value* versions = crd->at_path({"spec", "versions"});
  if (versions == nullptr || !versions->is_array()) return names;
  for (const Value& version : versions->as_array())
    names.insert(fmt::format("{}/{}", resource.gvk.group, version.string_at("name")));
  return names;
}

// The versions in which fields of a live object were written and which its kind has lost. One is `named` at
// the end of what the server said. A write that leaves one of them makes the server forget all owners.
std::set<std::string> lost_versions(Client& client, const ResourceInfo& resource, const Value& entries,
                                    std::string_view named, const Context& context) {
  const std::string group = resource.gvk.group + "/";
  const bool others = std::ranges::any_of(entries.as_array(), [&](const Value& entry) {
    const std::string_view version = entry.string_at("apiVersion");
    return version.starts_with(group) && version != resource.gvk.api_version();
  });
  if (!others || apimachinery::is_built_in_group(resource.gvk.group)) return {};
  const std::set<std::string> known = versions_of(client, resource, context);
  std::set<std::string> seen, lost;
  for (const Value& entry : entries.as_array()) {
    const std::string version(entry.string_at("apiVersion"));
    if (!version.starts_with(group) || version == resource.gvk.api_version() || !seen.insert(version).second)
      continue;
    bool gone = named.ends_with(": " + version);
    if (!gone && !known.empty()) gone = !known.contains(version);
    if (!gone && known.empty()) {
      const auto served =
          client.resource_for(resource.gvk.group_kind(), version.substr(group.size()), context);
      gone = !served.ok() && served.error().kind == ErrorKind::NotFound;
    }
    if (gone) lost.insert(version);
  }
  return lost;
}

// The versions beside that of `resource` in which fields were written. Invalid, as `failure`: a webhook
// converts between them.
Result<std::set<std::string>> other_versions(Client& client, const ResourceInfo& resource,
                                             const Value& entries, const Error& failure,
                                             const Context& context) {
  const auto crd = crd_of(client, resource, context);
  if (crd.ok() && crd->string_at({"spec", "conversion", "strategy"}) == "Webhook")
    return Error(failure).with_hint(
        "its conversion webhook makes objects with fields that the schema of their version does not declare: "
        "declare them there, or have the webhook leave them out");
  const std::string group = resource.gvk.group + "/";
  std::set<std::string> others;
  for (const Value& entry : entries.as_array())
    if (const std::string_view version = entry.string_at("apiVersion");
        version.starts_with(group) && version != resource.gvk.api_version())
      others.emplace(version);
  return others;
}

// Each of `lost` becomes the present one. Fields that one manager wrote in both are then in one entry: of
// two, the server would believe the last.
Value with_present_version(const Value& entries, const std::set<std::string>& lost,
                           const std::string& present) {
  Value renewed = Value::array();
  std::map<Identity, std::size_t> places;
  for (Value entry : entries.as_array()) {
    if (lost.contains(std::string(entry.string_at("apiVersion")))) entry.set("apiVersion", present);
    const auto [place, fresh] = places.emplace(identity_of(entry), renewed.size());
    if (fresh) {
      renewed.push_back(std::move(entry));
      continue;
    }
    Value& first = renewed.as_array()[place->second];
    if (const Value* fields = entry.find("fieldsV1")) apimachinery::add_field_set(first["fieldsV1"], *fields);
    if (first.string_at("time") < entry.string_at("time")) first.set("time", entry.string_at("time"));
  }
  return renewed;
}

// Whether the server, asked to write `owners`, would keep any of them.
bool keeps_owners(const Value& answer, const Value& owners) {
  std::set<Identity> wanted;
  for (const Value& entry : owners.as_array()) wanted.insert(identity_of(entry));
  return std::ranges::any_of(apimachinery::managed_fields(answer),
                             [&](const Value& entry) { return wanted.contains(identity_of(entry)); });
}

// Makes `object`, if it names a version, name the one that this wrote.
Status renew_owners(Client& client, const ObjectRef& ref, Value& object, const Error& failure,
                    const Context& context) {
  MIST_TRY(const Value live, client.get(ref, context));
  Value patch = Value::object();
  for (const std::string_view guard : {"uid", "resourceVersion"}) {
    const std::string_view wanted = object.string_at({"metadata", guard});
    const std::string_view there = live.string_at({"metadata", guard});
    // It isn't the object that is meant: the apply can't change that.
    if (!wanted.empty() && wanted != there) return failure;
    patch["metadata"].set(guard, there);
  }
  const Value* entries = live.at_path({"metadata", "managedFields"});
  if (entries == nullptr || !entries->is_array()) return failure;
  std::set<std::string> lost;
  if (is_narrow_version(failure)) {
    MIST_TRY(lost, other_versions(client, ref.resource, *entries, failure, context));
  } else {
    lost = lost_versions(client, ref.resource, *entries, failure.because, context);
  }
  if (lost.empty()) return failure;
  const Value owners = with_present_version(*entries, lost, ref.resource.gvk.api_version());
  patch["metadata"].set("managedFields", owners);
  MIST_TRY(const Value tried, client.merge_patch(ref, patch, context, DryRun::Server));
  if (!keeps_owners(tried, owners)) return failure;
  MIST_TRY(const Value patched, client.merge_patch(ref, patch, context));
  if (!object.string_at({"metadata", "resourceVersion"}).empty())
    object["metadata"].set("resourceVersion", patched.string_at({"metadata", "resourceVersion"}));
  return {};
}

}  // namespace

Value with_present_owners(Client& client, const ResourceInfo& resource, Value live, const Context& context) {
  const Value* entries = live.at_path({"metadata", "managedFields"});
  if (entries == nullptr || !entries->is_array()) return live;
  const std::set<std::string> lost = lost_versions(client, resource, *entries, {}, context);
  if (lost.empty()) return live;
  Value owners = with_present_version(*entries, lost, resource.gvk.api_version());
  live["metadata"].set("managedFields", std::move(owners));
  return live;
}

Result<Value> apply_over_lost_version(Client& client, const ObjectRef& ref, const Value& object,
                                      const ApplyOptions& options, const Context& context) {
  auto applied = client.apply(ref, object, options, context);
  Value renewed = object;
  for (int i = 0; i < kTries && !applied.ok(); ++i) {
    const bool renews = is_lost_version(applied.error()) || is_narrow_version(applied.error());
    if (!renews || options.dry_run != DryRun::No) break;
    const Status done = renew_owners(client, ref, renewed, applied.error(), context);
    // Of a Conflict the next apply tells whether somebody else did it.
    if (!done.ok() && done.error().kind != ErrorKind::Conflict) return done.error();
    applied = client.apply(ref, renewed, options, context);
  }
  return applied;
}

}  // namespace mist::kube
