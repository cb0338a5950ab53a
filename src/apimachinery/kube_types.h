#pragma once
// All types of one minor version of Kubernetes, for whoever has no cluster to ask: their schemas, which kinds
// there are in which versions, and what becomes of those that are going. tools/kube-schemas makes the tables
// of Kubernetes' own sources; package/type_store.h finds them. Immutable once made; any thread.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/object_schema.h"

namespace mist::apimachinery {

/// A minor version of Kubernetes 1.
struct KubeMinor {
  int number = 0;
  /// Of "v1.36.3", "1.36", "1.36+"; nullopt for what is not a version of Kubernetes 1.
  static std::optional<KubeMinor> parse(std::string_view version);
  std::string text() const;  ///< "1.36"
  friend auto operator<=>(const KubeMinor&, const KubeMinor&) = default;
};

/// How a version of Kubernetes treats a kind.
enum class KindState : std::uint8_t {
  Known,
  Deprecated,  ///< it is served, and will not be
  Gone,        ///< it was served by an older one
  Unknown,     ///< of one of Kubernetes' own groups, which doesn't have it
  Foreign,     ///< of somebody else's group: only a CRD says what it is
};

struct KindFacts {
  KindState state = KindState::Known;
  std::string words;  ///< a sentence with what to use instead; empty for Known and Foreign
};

class KubeTypes {
 public:
  /// The text of a table. Invalid: it is none.
  static Result<KubeTypes> parse(std::string_view json);

  KubeMinor minor() const { return minor_; }
  bool has(const GroupVersionKind& gvk) const { return kinds_.contains(gvk); }
  KindFacts facts(const GroupVersionKind& gvk) const;
  /// Required fields too; of kinds that this table has.
  std::vector<SchemaProblem> problems(const Object& object) const;

 private:
  // How long a version of a kind is served; minors.
  struct Lifecycle {
    int deprecated = 0;
    std::optional<int> removed;
    std::optional<GroupVersionKind> replacement;
  };

  KubeTypes() = default;
  std::string instead_of(const GroupVersionKind& gvk) const;
  std::optional<GroupVersionKind> best_version(const GroupKind& kind, std::string_view other_than) const;
  std::vector<std::string_view> kinds_of(const std::string& group, const std::string& version) const;

  KubeMinor minor_;
  encoding::Value schemas_;
  std::set<GroupVersionKind> kinds_;
  std::set<std::string, std::less<>> groups_;  // whose kinds are Kubernetes' own, older ones included
  std::map<GroupVersionKind, Lifecycle> lifecycles_;
};

}  // namespace mist::apimachinery
