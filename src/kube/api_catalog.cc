#include "kube/api_catalog.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"

namespace mist::kube {
namespace {

constexpr std::string_view kHeading = "mistletoe-discovery-4";
constexpr std::string_view kStatus = "status";
constexpr std::string_view kEnd = "end";

bool has_status(const Value& resource) {
  const Value* const subresources = resource.find("subresources");
  return subresources != nullptr && subresources->is_array() &&
         std::ranges::any_of(subresources->as_array(),
                             [](const Value& each) { return each.string_at("subresource") == kStatus; });
}

// A field that would break the file's format is not a name of Kubernetes either.
bool plain(std::string_view text) { return text.find_first_of("\t\n,") == std::string_view::npos; }

bool plain(const ApiResource& entry) {
  const auto all_plain = [](const std::vector<std::string>& texts) {
    return std::ranges::all_of(texts, [](const std::string& text) { return plain(text) && !text.empty(); });
  };
  const GroupVersionKind& gvk = entry.info.gvk;
  return plain(gvk.group) && plain(gvk.version) && plain(gvk.kind) && plain(entry.info.resource) &&
         plain(entry.singular) && all_plain(entry.info.verbs) && all_plain(entry.short_names) &&
         !gvk.kind.empty() && !gvk.version.empty() && !entry.info.resource.empty();
}

std::vector<std::string> list_of(std::string_view joined) {
  std::vector<std::string> result;
  if (joined.empty()) return result;
  for (const std::string_view part : split(joined, ',')) result.emplace_back(part);
  return result;
}

bool keeps_objects(const ApiResource& entry) {
  const std::vector<std::string>& verbs = entry.info.verbs;
  return std::ranges::find(verbs, "get") != verbs.end() && std::ranges::find(verbs, "patch") != verbs.end();
}

// Of the resources of one version, which begin at `from`, several may answer to one kind, as OpenShift's
// processedtemplates and templates. The one that keeps the objects comes first, where all look for it; if
// none does, or more than one, the last of them, as in client-go's restmapper.
void put_first_what_a_kind_means(std::vector<ApiResource>& resources, std::size_t from) {
  std::map<std::string, std::size_t> first_of;
  for (std::size_t i = from; i < resources.size(); ++i) {
    const auto [known, is_first] = first_of.emplace(resources[i].info.gvk.kind, i);
    if (is_first) continue;
    ApiResource& first = resources[known->second];
    if (keeps_objects(resources[i]) || !keeps_objects(first)) std::swap(first, resources[i]);
  }
}

}  // namespace

const ApiResource* ApiCatalog::find(const GroupKind& kind, const std::string& version) const {
  for (const ApiResource& entry : resources)
    if (entry.info.gvk.kind == kind.kind && entry.info.gvk.group == kind.group &&
        (version.empty() || entry.info.gvk.version == version))
      return &entry;
  return nullptr;
}

std::vector<std::string> ApiCatalog::versions_of(const GroupKind& kind) const {
  std::vector<std::string> versions;
  for (const ApiResource& entry : resources)
    if (entry.info.gvk.group_kind() == kind &&
        std::ranges::find(versions, entry.info.gvk.version) == versions.end())
      versions.push_back(entry.info.gvk.version);
  return versions;
}

const ApiResource* ApiCatalog::find_alias(std::string_view word) const {
  const std::string wanted = lower_case(word);
  const auto dot = wanted.find('.');
  const std::string name = wanted.substr(0, dot);
  const std::string group = dot == std::string::npos ? std::string() : wanted.substr(dot + 1);
  for (const ApiResource& entry : resources) {
    if (!group.empty() && entry.info.gvk.group != group) continue;
    if (name == lower_case(entry.info.gvk.kind) || name == entry.info.resource || name == entry.singular ||
        std::ranges::find(entry.short_names, name) != entry.short_names.end())
      return &entry;
  }
  return nullptr;
}

std::vector<ResourceInfo> ApiCatalog::preferred() const {
  std::vector<ResourceInfo> result;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const ApiResource& entry : resources)
    if (seen.emplace(entry.info.gvk.group, entry.info.resource).second) result.push_back(entry.info);
  return result;
}

ServedApis ApiCatalog::served() const {
  std::set<std::string> kinds = subresource_kinds;
  for (const ApiResource& entry : resources)
    kinds.insert(entry.info.gvk.api_version() + "/" + entry.info.gvk.kind);
  return {{group_versions.begin(), group_versions.end()}, {kinds.begin(), kinds.end()}};
}

// A scale is of the group autoscaling, and stands with the version of what it scales, as client-go has it.
void ApiCatalog::add_subresources(const std::string& group_version, const Value& resource) {
  const Value* const subresources = resource.find("subresources");
  if (subresources == nullptr || !subresources->is_array()) return;
  for (const Value& each : subresources->as_array())
    if (const std::string_view kind = each.string_at({"responseKind", "kind"}); !kind.empty() && plain(kind))
      subresource_kinds.insert(fmt::format("{}/{}", group_version, kind));
}

void ApiCatalog::add_aggregated_version(const std::string& group, const Value& version) {
  const std::string name(version.string_at("version"));
  const std::string group_version = GroupVersionKind{group, name, ""}.api_version();
  const bool is_name = plain(group_version) && !name.empty();
  if (version.string_at("freshness") == "Stale") stale.push_back(fmt::format("{}/{}", group, name));
  if (is_name) group_versions.insert(group_version);
  const Value* const served = version.find("resources");
  if (served == nullptr || !served->is_array()) return;
  const std::size_t before = resources.size();
  for (const Value& resource : served->as_array()) {
    ApiResource entry;
    entry.info.gvk = {group, name, std::string(resource.string_at({"responseKind", "kind"}))};
    entry.info.resource = resource.string_at("resource");
    entry.info.namespaced = resource.string_at("scope") == "Namespaced";
    entry.info.verbs = resource.texts_at("verbs");
    entry.info.has_status = has_status(resource);
    entry.singular = resource.string_at("singularResource");
    entry.short_names = resource.texts_at("shortNames");
    if (plain(entry)) resources.push_back(std::move(entry));
    if (is_name) add_subresources(group_version, resource);
  }
  put_first_what_a_kind_means(resources, before);
}

Status ApiCatalog::add_aggregated(const Value& list) {
  const Value* groups = list.find("items");
  if (list.string_at("kind") != "APIGroupDiscoveryList" || groups == nullptr || !groups->is_array())
    return error(ErrorKind::Invalid, "the server's answer is no APIGroupDiscoveryList");
  for (const Value& group : groups->as_array()) {
    const std::string group_name(group.string_at({"metadata", "name"}));
    const Value* versions = group.find("versions");
    if (versions == nullptr || !versions->is_array()) continue;
    for (const Value& version : versions->as_array()) add_aggregated_version(group_name, version);
  }
  return {};
}

void ApiCatalog::add_stale(const std::string& group_version) {
  stale.push_back(group_version);
  if (plain(group_version) && !group_version.empty()) group_versions.insert(group_version);
}

Status ApiCatalog::add_group_version(const Value& list) {
  const Value* served = list.find("resources");
  const auto gv = apimachinery::GroupVersionKind::parse(list.string_at("groupVersion"), "APIResourceList");
  if (list.string_at("kind") != "APIResourceList" || served == nullptr || !served->is_array() || !gv)
    return error(ErrorKind::Invalid, "the server's answer is no APIResourceList");
  const std::string group_version(list.string_at("groupVersion"));
  const bool is_name = plain(group_version) && !gv->version.empty();
  if (is_name) group_versions.insert(group_version);
  const std::size_t before = resources.size();
  std::set<std::string_view> names;
  for (const Value& resource : served->as_array()) names.insert(resource.string_at("name"));
  for (const Value& resource : served->as_array()) {
    ApiResource entry;
    entry.info.resource = resource.string_at("name");
    entry.info.has_status = names.contains(fmt::format("{}/{}", entry.info.resource, kStatus));
    entry.info.gvk = {gv->group, gv->version, std::string(resource.string_at("kind"))};
    if (entry.info.resource.find('/') != std::string::npos) {  // a subresource
      const std::string& kind = entry.info.gvk.kind;
      if (is_name && !kind.empty() && plain(kind))
        subresource_kinds.insert(fmt::format("{}/{}", group_version, kind));
      continue;
    }
    entry.info.namespaced = resource.is_true_at("namespaced");
    entry.info.verbs = resource.texts_at("verbs");
    entry.singular = resource.string_at("singularName");
    entry.short_names = resource.texts_at("shortNames");
    if (plain(entry)) resources.push_back(std::move(entry));
  }
  put_first_what_a_kind_means(resources, before);
  return {};
}

std::string ApiCatalog::to_text() const {
  std::string text(kHeading);
  text += '\n';
  for (const std::string& name : stale)
    if (plain(name)) text += fmt::format("stale\t{}\n", name);
  for (const std::string& name : group_versions) text += fmt::format("version\t{}\n", name);
  for (const std::string& name : subresource_kinds) text += fmt::format("subresource\t{}\n", name);
  for (const ApiResource& entry : resources)
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", entry.info.gvk.group, entry.info.gvk.version,
                        entry.info.gvk.kind, entry.info.resource,
                        entry.info.namespaced ? "namespaced" : "cluster", join(entry.info.verbs, ","),
                        entry.singular, join(entry.short_names, ","),
                        entry.info.has_status ? kStatus : std::string_view());
  text += kEnd;
  text += '\n';
  return text;
}

bool ApiCatalog::take_name(std::string_view of, std::string_view name) {
  if (of == "stale")
    stale.emplace_back(name);
  else if (of == "version")
    group_versions.emplace(name);
  else if (of == "subresource")
    subresource_kinds.emplace(name);
  else
    return false;
  return true;
}

std::optional<ApiCatalog> ApiCatalog::parse(std::string_view text) {
  ApiCatalog catalog;
  std::vector<std::string_view> lines = split(text, '\n');
  // The last line shows that nothing is missing.
  if (lines.size() < 3 || lines.front() != kHeading || lines[lines.size() - 2] != kEnd ||
      !lines.back().empty())
    return std::nullopt;
  for (std::size_t i = 1; i + 2 < lines.size(); ++i) {
    const std::vector<std::string_view> fields = split(lines[i], '\t');
    if (fields.size() == 2) {
      if (!catalog.take_name(fields[0], fields[1])) return std::nullopt;
      continue;
    }
    if (fields.size() != 9) return std::nullopt;
    ApiResource entry;
    entry.info.gvk = {std::string(fields[0]), std::string(fields[1]), std::string(fields[2])};
    entry.info.resource = fields[3];
    entry.info.namespaced = fields[4] == "namespaced";
    entry.info.verbs = list_of(fields[5]);
    entry.singular = fields[6];
    entry.short_names = list_of(fields[7]);
    entry.info.has_status = fields[8] == kStatus;
    catalog.resources.push_back(std::move(entry));
  }
  return catalog;
}

}  // namespace mist::kube
