#pragma once
// Kinds that a cluster serves: the answer of discovery as a small table, how it is read from the API server's
// documents, and how it is kept in a file. Plain values and pure functions; any thread for const use.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"
#include "kube/client.h"

namespace mist::kube {

struct ApiResource {
  ResourceInfo info;
  std::string singular;
  std::vector<std::string> short_names;
  friend bool operator==(const ApiResource& a, const ApiResource& b) {
    return a.info.gvk == b.info.gvk && a.info.resource == b.info.resource &&
           a.info.namespaced == b.info.namespaced && a.info.verbs == b.info.verbs &&
           a.info.has_status == b.info.has_status && a.singular == b.singular &&
           a.short_names == b.short_names;
  }
};

class ApiCatalog {
 public:
  /// Resources of one group stand with its preferred version first, and of those of one kind and version the
  /// one that is meant by the kind.
  std::vector<ApiResource> resources;
  /// "group/version" whose aggregated API server didn't answer.
  std::vector<std::string> stale;
  /// "v1", "apps/v1": those that are listed, also without any resource, and those of `stale`.
  std::set<std::string> group_versions;
  /// "apps/v1/Scale": the group version of the resource, and the kind of its subresource.
  std::set<std::string> subresource_kinds;

  /// An empty version: the preferred one that has the kind.
  const ApiResource* find(const GroupKind& kind, const std::string& version) const;
  /// The versions in which a kind is served, the preferred one first.
  std::vector<std::string> versions_of(const GroupKind& kind) const;
  /// As kubectl takes it: kind, plural, singular or short name, in any case, optionally followed by .group;
  /// core and built-in groups first.
  const ApiResource* find_alias(std::string_view word) const;
  /// One entry for each group and resource, in its preferred version.
  std::vector<ResourceInfo> preferred() const;
  /// In all versions. Of those of `stale`, what the aggregator still lists.
  ServedApis served() const;

  /// Adds an APIGroupDiscoveryList (v2 or v2beta1). Invalid if it isn't one.
  Status add_aggregated(const encoding::Value& list);
  /// Adds "group/version", which is registered and doesn't answer.
  void add_stale(const std::string& group_version);
  /// Adds an APIResourceList of one group version, as servers before 1.26 have it.
  Status add_group_version(const encoding::Value& list);

  /// A text of lines with tabs; parse gives nothing if it isn't that, whole.
  std::string to_text() const;
  static std::optional<ApiCatalog> parse(std::string_view text);

 private:
  void add_aggregated_version(const std::string& group, const encoding::Value& version);
  bool take_name(std::string_view of, std::string_view name);
  void add_subresources(const std::string& group_version, const encoding::Value& resource);
};

}  // namespace mist::kube
