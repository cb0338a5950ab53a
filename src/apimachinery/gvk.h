#pragma once
// Group, version, kind and resource: how Kubernetes names types. Plain values; any thread.

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::apimachinery {

struct GroupKind {
  std::string group;  ///< empty: core
  std::string kind;
  friend auto operator<=>(const GroupKind&, const GroupKind&) = default;
};

struct GroupVersionKind {
  std::string group;
  std::string version;
  std::string kind;

  /// From "apps/v1" or "v1" and a kind; Invalid when either is malformed.
  static Result<GroupVersionKind> parse(std::string_view api_version, std::string_view kind);
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  GroupKind group_kind() const { return {group, kind}; }
  friend auto operator<=>(const GroupVersionKind&, const GroupVersionKind&) = default;
};

struct GroupVersionResource {
  std::string group;
  std::string version;
  std::string resource;  ///< plural, lower case: "deployments"
  friend auto operator<=>(const GroupVersionResource&, const GroupVersionResource&) = default;
};

/// "Deployment.apps", "Namespace": KEP-3659's form in `contains-group-kinds`.
std::string to_string(const GroupKind& gk);
GroupKind parse_group_kind(std::string_view text);

}  // namespace mist::apimachinery
