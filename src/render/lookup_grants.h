#pragma once
// Permissions of a release's user for its package to read objects of the cluster beside the release's own:
// remembered in the options of its revisions. Plain values; any thread.

#include <optional>
#include <string>
#include <vector>

#include "encoding/value.h"
#include "package/lookup_pattern.h"
#include "release/record.h"

namespace mist::render {

struct LookupGrants {
  std::vector<std::string> objects = {};  ///< --allow-lookup: patterns, ascending; no Secret is among them
  std::vector<std::string> secrets = {};  ///< --allow-lookup-secrets: NAMESPACE[/NAME], ascending

  bool empty() const { return objects.empty() && secrets.empty(); }
  /// Each once, ascending.
  void add(const LookupGrants& more);
  /// Whether an object that isn't the release's may be read.
  bool cover(const apimachinery::GroupKind& kind, std::string_view ns, std::string_view name,
             std::string_view release_namespace) const;

  friend bool operator==(const LookupGrants&, const LookupGrants&) = default;
};

/// The objects that a render may read.
struct LookupScope {
  release::ReleaseId release;
  LookupGrants grants = {};
  bool adopt = false;                                     ///< what belongs to nobody, if it becomes its own
  std::optional<release::ReleaseId> take_over_from = {};  ///< what belongs to that release, the same
};

struct LookupAnswer {
  encoding::Value value;  ///< null: there is no such object
  /// Objects that were shown because the release is about to take them: the render has to have them.
  std::vector<apimachinery::ObjectKey> to_be_taken = {};
};

/// Forbidden, naming object and flag.
Error lookup_not_granted(const apimachinery::GroupKind& kind, std::string_view ns, std::string_view name,
                         const LookupScope& scope);

}  // namespace mist::render
